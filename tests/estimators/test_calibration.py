import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.estimators._calibration import (
    PRIOR_SPREAD,
    fit_temperature,
    match_confidence,
    match_moments,
    prior_temperature,
    probabilities,
)

SEEDS = st.integers(0, 2**16)


def shares(rng, n_classes):
    return rng.dirichlet(np.full(n_classes, 2.0))


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 6))
def test_matched_scores_have_the_moments_of_perfect_columns(seed, n_classes):
    rng = np.random.default_rng(seed)
    prior = shares(rng, n_classes)
    scores = rng.normal(rng.normal(), rng.lognormal(), (50, n_classes))
    matched = match_moments(scores, prior)(scores)
    np.testing.assert_allclose(matched.mean(axis=0), 2 * prior - 1, atol=1e-9)
    np.testing.assert_allclose(matched.std(axis=0), 2 * np.sqrt(prior * (1 - prior)), rtol=1e-9)


def test_a_perfect_column_is_a_fixed_point():
    perfect = np.repeat([[1.0], [-1.0]], [30, 70], axis=0)  # the second class has a share of 0.3
    np.testing.assert_allclose(match_moments(perfect, np.array([0.7, 0.3]))(perfect), perfect)


def test_a_single_column_is_that_of_the_second_class():
    scores = np.random.default_rng(0).normal(5, 2, (100, 1))
    matched = match_moments(scores, np.array([0.8, 0.2]))(scores)
    np.testing.assert_allclose([matched.mean(), matched.std()], [-0.6, 0.8])


def test_the_map_of_the_training_rows_serves_new_rows():
    rng = np.random.default_rng(1)
    scores, new = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    prior = shares(rng, 3)
    both = match_moments(scores, prior)(np.vstack([scores, new]))
    np.testing.assert_allclose(match_moments(scores, prior)(new), both[20:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, -700.7])
@pytest.mark.parametrize("n_rows", [1, 777, 10007])
def test_a_constant_column_stays_as_it_is(value, n_rows, dtype):
    varied = np.linspace(-1, 1, n_rows)
    scores = np.column_stack([varied, np.full(n_rows, value), varied]).astype(dtype)
    matched = match_moments(scores, np.array([0.2, 0.3, 0.5]))(scores)
    assert matched.dtype == dtype
    np.testing.assert_array_equal(matched[:, 1], scores[:, 1])


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 5), st.floats(0.05, 5))
def test_temperature_by_grid_search(seed, n_classes, size):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), np.arange(n_classes), rng.integers(n_classes, size=10)])
    decisions = size * (np.eye(n_classes)[codes] + rng.normal(size=(len(codes), n_classes)))
    if n_classes == 2:
        decisions = decisions[:, [1]] - decisions[:, [0]]
    columns = np.hstack([-decisions, decisions]) if n_classes == 2 else decisions
    lead = columns - columns[np.arange(len(codes)), codes][:, None]  # 0 for the class of the row
    grid = prior_temperature(n_classes) * np.exp(np.linspace(-4, 4, 4001))
    likelihood = -np.logaddexp.reduce(grid[:, None, None] * lead, axis=2).sum(axis=1)
    prior = -((np.log(grid / prior_temperature(n_classes)) / PRIOR_SPREAD) ** 2) / 2
    best = grid[np.argmax(likelihood + prior)]
    np.testing.assert_allclose(fit_temperature(decisions, codes), best, rtol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3, 26])
def test_without_repeated_classes_the_prior_speaks(n_classes):
    n_columns = 1 if n_classes == 2 else n_classes
    decisions = np.random.default_rng(0).normal(size=(n_classes, n_columns))
    alone = fit_temperature(decisions, np.arange(n_classes))
    none = fit_temperature(decisions[:0], np.arange(0))
    np.testing.assert_allclose([alone, none], np.log2(n_classes), rtol=1e-4)


def test_rows_that_are_the_only_one_of_their_class_are_passed_over():
    rng = np.random.default_rng(3)
    decisions, codes = rng.normal(size=(9, 3)), np.array([0, 0, 0, 0, 2, 2, 2, 2, 1])
    assert fit_temperature(decisions, codes) == fit_temperature(decisions[:-1], codes[:-1])


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 6), st.floats(0.01, 100), st.sampled_from([np.float32, np.float64]))
def test_probabilities_sum_to_one_and_keep_the_decision(seed, n_columns, temperature, dtype):
    n_columns = 1 if n_columns == 2 else n_columns
    decisions = np.random.default_rng(seed).normal(0, 10, (40, n_columns)).astype(dtype)
    shares = probabilities(decisions, temperature)
    assert shares.shape == (40, max(n_columns, 2))
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    decided = (decisions[:, 0] > 0).astype(int) if n_columns == 1 else decisions.argmax(axis=1)
    np.testing.assert_allclose(shares[np.arange(40), decided], shares.max(axis=1), rtol=1e-6)


def test_two_columns_of_probabilities_are_a_logistic_curve():
    decisions = np.linspace(-2, 2, 9)[:, None]
    np.testing.assert_allclose(
        probabilities(decisions, 1.5)[:, 1], 1 / (1 + np.exp(-2 * 1.5 * decisions[:, 0]))
    )


@pytest.mark.parametrize("n_columns", [1, 3])
def test_confidence_is_matched_where_it_can_be(n_columns):
    decisions = np.random.default_rng(0).normal(size=(50, n_columns))
    for confidence in (0.6, 0.8, 0.99):
        temperature = match_confidence(decisions, confidence)
        np.testing.assert_allclose(
            probabilities(decisions, temperature).max(axis=1).mean(), confidence, atol=1e-5
        )
    assert match_confidence(np.zeros((4, n_columns)), 0.9) == 1.0
    # surer than any, or less sure than a guess
    assert match_confidence(decisions, 1.0) == pytest.approx(1000)
    assert match_confidence(decisions, 0.0) == pytest.approx(1 / 1000)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200, 8e307])
def test_moments_of_scores_of_any_size(size):
    """Neither overflow nor underflow of squares: the decisions do not depend on the unit of the scores."""
    scores = np.array([[0.1], [0.2], [0.3], [0.4]])
    found = match_moments(size * scores, np.array([0.5, 0.5]))(size * scores)
    np.testing.assert_allclose(found, (scores - 0.25) / scores.std(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_too_small_to_be_scaled_are_taken_for_a_constant(dtype):
    least = np.finfo(dtype).smallest_subnormal
    moments = match_moments(np.array([[0], [least]], dtype=dtype), np.array([0.5, 0.5]))
    assert (moments.scale.tolist(), moments.offset.tolist()) == ([1.0], [0.0])
