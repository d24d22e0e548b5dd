"""Objectives of boosting against finite differences, and weights against gradients."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from weakly.boosting._objectives import ExpectationObjective, LogisticObjective, PriorObjective
from weakly.regularizers import PriorDivergence, TopMargin

BRIEFLY = settings(max_examples=40, deadline=None)
STEP = 1e-6


def difference(value, scores):
    """Gradient of a function of scores, entry by entry."""
    slopes = np.zeros_like(scores)
    for at in np.ndindex(scores.shape):
        moved = np.zeros_like(scores)
        moved[at] = STEP
        slopes[at] = (value(scores + moved) - value(scores - moved)) / (2 * STEP)
    return slopes


def value(objective, scores):
    """[rmsboost] Eq. (9) row by row."""
    total = 0.0
    for f, code, cost, p in zip(scores, objective.codes, objective.costs, objective.prior, strict=True):
        if code >= 0:
            total += cost * np.exp(-f[code])
        else:
            short = max(0.0, objective.margin - f.max())
            total += cost * (objective.alpha * (logsumexp(f) - p @ f) + objective.beta * short)
    return total


def prior_problem(seed, n_classes, alpha=0.3, beta=0.2, margin=0.8):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, n_classes, 12)
    codes[:2] = 0, -1
    objective = PriorObjective(
        codes, rng.uniform(0.5, 2, 12), rng.dirichlet(np.ones(n_classes), 12), alpha, beta, margin
    )
    return objective, rng.normal(size=(12, n_classes))


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 6))
def test_regularisers_have_the_gradients_they_say(seed, n_classes):
    """[rmsboost] Eqs. (13) and (14)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(8, n_classes))
    for term in (PriorDivergence(rng.dirichlet(np.ones(n_classes), 8)), TopMargin(0.8)):
        slopes = difference(lambda f, term=term: term.value(f).sum(), scores)
        np.testing.assert_allclose(term.gradient(scores), slopes, atol=1e-7)


def test_divergence_is_that_of_the_softmax_up_to_a_constant():
    """[rmsboost] Eqs. (11) and (12)."""
    rng = np.random.default_rng(0)
    prior, scores = rng.dirichlet(np.ones(4), 5), rng.normal(size=(5, 4))
    model = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    divergence = (prior * np.log(prior / model)).sum(axis=1)
    entropy = -(prior * np.log(prior)).sum(axis=1)
    np.testing.assert_allclose(PriorDivergence(prior).value(scores), divergence + entropy)


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 6))
def test_objective_has_the_gradient_it_says(seed, n_classes):
    """[rmsboost] Eqs. (9) and (17)."""
    objective, scores = prior_problem(seed, n_classes)
    np.testing.assert_allclose(
        objective.gradient(scores), difference(partial(value, objective), scores), atol=1e-6
    )


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 6), beta=st.sampled_from([0.0, 0.2]))
def test_targets_are_the_steepest_classes(seed, n_classes, beta):
    """[rmsboost] Lemma 2.1, by the gradient of all rows."""
    objective, scores = prior_problem(seed, n_classes, beta=beta)
    targets = objective.targets(scores, n_rounds=5)
    descent = -objective.gradient(scores)
    np.testing.assert_array_equal(targets.labels, descent.argmax(axis=1))
    np.testing.assert_allclose(np.exp(targets.log_weights), descent.max(axis=1), rtol=1e-9)
    assert (descent.max(axis=1) >= 0).all()
    np.testing.assert_allclose(targets.losses.sum(), value(objective, scores))


def test_margin_waits_for_the_warm_up():
    objective, scores = prior_problem(0, 3)
    late = PriorObjective(
        objective.codes, objective.costs, objective.prior, objective.alpha, objective.beta, 0.8, warm_up=4
    )
    without = PriorObjective(objective.codes, objective.costs, objective.prior, objective.alpha)
    np.testing.assert_array_equal(late.targets(scores, 3).log_weights, without.targets(scores, 3).log_weights)
    np.testing.assert_array_equal(
        late.targets(scores, 4).log_weights, objective.targets(scores, 0).log_weights
    )


def test_rows_without_a_pull_have_no_weight():
    """A prior that is met exactly, and a row of cost 0."""
    prior = np.full((3, 4), 0.25)
    objective = PriorObjective(np.array([0, -1, -1]), np.array([1.0, 1.0, 0.0]), prior, alpha=1.0)
    scores = np.array([[0.0] * 4, [0.0] * 4, [1.0, 0.0, 0.0, -1.0]])
    assert np.exp(objective.targets(scores, 0).log_weights).tolist() == [1.0, 0.0, 0.0]


@BRIEFLY
@given(seed=st.integers(0, 2**16))
def test_expected_labels_by_finite_differences(seed):
    """[serboost] section 3: slopes of exp(-yF) and of alpha exp(-qF) cosh(F)."""
    rng = np.random.default_rng(seed)
    codes, expected = rng.integers(-1, 2, 10), rng.uniform(-1, 1, 10)
    objective = ExpectationObjective(codes, rng.uniform(0.5, 2, 10), expected, alpha=0.4)
    scores = rng.normal(size=(10, 2))
    F, signs = scores[:, 1] - scores[:, 0], 2 * codes - 1

    def losses(F):
        return objective.costs * np.where(
            codes >= 0, np.exp(-signs * F), 0.4 * np.exp(-expected * F) * np.cosh(F)
        )

    targets = objective.targets(scores, 0)
    np.testing.assert_allclose(targets.losses, losses(F))
    slopes = -(losses(F + STEP) - losses(F - STEP)) / (2 * STEP)
    np.testing.assert_allclose((2 * targets.labels - 1) * np.exp(targets.log_weights), slopes, atol=1e-6)
    known = codes >= 0
    np.testing.assert_allclose(
        objective.costs[known] * objective.labeled_losses(scores[known]), targets.losses[known]
    )


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 5))
def test_logistic_weights_and_steps(seed, n_classes):
    """[adaboostml] Algorithm 1: weights by finite differences, steps by a search of scipy's."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, 15)
    objective = LogisticObjective(codes, rng.uniform(0.5, 2, 15))
    scores, direction = rng.normal(size=(15, n_classes)), rng.normal(size=(15, n_classes))
    rows = np.arange(15)

    def loss(f):
        return (objective.costs * np.logaddexp(0, -f[rows, codes])).sum()

    targets = objective.targets(scores, 0)
    slopes = -difference(loss, scores)[rows, codes]
    np.testing.assert_allclose(np.exp(targets.log_weights), slopes, atol=1e-6)
    np.testing.assert_allclose(targets.losses.sum(), loss(scores))
    along = minimize_scalar(
        lambda s: loss(scores + s * direction), bounds=(0, 5), method="bounded", options={"xatol": 1e-9}
    )
    found = objective.best_step(scores, direction, 5.0)
    assert loss(scores + found * direction) <= along.fun + 1e-9
    assert 0 <= found <= 5


@pytest.mark.parametrize("size", [800.0, 1e4, 1e6])
def test_weights_of_any_scores_keep_their_ratio(size):
    """Scores of 10,000 rounds and more: no weight is negative, none overflows, and logarithms stay exact."""
    scores = np.array([[size, -size], [-size, size], [size, -size], [-size, size], [0.0, 0.0]])
    codes = np.array([0, 0, -1, -1, -1])
    prior = np.array([[0.5, 0.5]] * 3 + [[0.9, 0.1]] * 2)
    objective = PriorObjective(codes, np.ones(5), prior, alpha=0.5, beta=0.1, margin=10.0)
    targets = objective.targets(scores, 0)
    np.testing.assert_allclose(targets.log_weights, [-size, size, *np.log([0.25, 0.45, 0.3])])
    assert np.isfinite(targets.losses).all()
    assert np.isfinite(objective.gradient(scores)).all()
    two = ExpectationObjective(codes, np.ones(5), np.array([0, 0, 0.5, 0.5, 0.5]), alpha=1.0)
    found = two.targets(scores, 0)
    # F is -2 size and 2 size in turn; far out the slope is exp(|F| - qF) (1 -+ q) / 2
    far = [3 * size + np.log(0.75), size + np.log(0.25)]
    np.testing.assert_allclose(found.log_weights, [-2 * size, 2 * size, *far, np.log(0.5)])
    assert found.labels.tolist() == [0, 0, 1, 0, 1]
    assert np.isfinite(found.losses).all()
    weights = np.exp(found.log_weights - logsumexp(found.log_weights))
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(), 1)
