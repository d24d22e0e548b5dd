"""Losses of rows against differences, quadrature, a convex solver and lists of all labelings."""

from itertools import combinations, pairwise

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from weakly.losses._transductive import (
    Annealed,
    Blurred,
    Bump,
    TwoSided,
    _quantile,
    balancing_level,
    squared_hinge,
)

N_ROWS = 9
LABELED, UNLABELED = np.arange(3), np.arange(3, N_ROWS)
SEEDS = st.integers(0, 10_000)
SHARES = st.one_of(st.sampled_from([1e-3, 0.5, 1 - 1e-3]), st.floats(0.01, 0.99))


def hill(scores):
    """What an unlabelled row costs: the smaller loss of both signs."""
    return np.minimum(squared_hinge(scores), squared_hinge(-scores))


def labeled_loss(rng):
    """Costs of either sign on the first three rows; the third has both."""
    positive, negative = np.zeros((2, N_ROWS))
    positive[LABELED], negative[LABELED] = rng.uniform(0.1, 3, (2, 3)) * [[1, 0, 1], [0, 1, 1]]
    return TwoSided(positive, negative)


def free_costs(rng):
    costs = np.zeros(N_ROWS)
    costs[UNLABELED] = rng.uniform(0.1, 3, len(UNLABELED))
    return costs


LOSSES = {
    "labels": labeled_loss,
    "two sides": lambda rng: TwoSided(*rng.uniform(0, 3, (2, N_ROWS))),
    "tilted": lambda rng: TwoSided(*rng.uniform(0, 3, (2, N_ROWS)), rng.normal(size=N_ROWS)),
    "tilted alike": lambda rng: TwoSided(*rng.uniform(0, 3, (2, N_ROWS)), 0.7),
    "bump": lambda rng: Bump(labeled_loss(rng), free_costs(rng)),
    "blurred": lambda rng: Blurred(labeled_loss(rng), free_costs(rng), rng.uniform(0.1, 4, N_ROWS)),
    "annealed": lambda rng: Annealed(
        labeled_loss(rng), UNLABELED, rng.uniform(0.1, 3), rng.uniform(0.05, 0.95), rng.uniform(0.1, 10)
    ),
}


def scores_of(rng):
    """Scores of all sizes, away from the kinks of slopes at -1 and 1 and from the foot of the hill."""
    scores = rng.normal(scale=rng.choice([0.5, 2.0, 6.0]), size=N_ROWS)
    for kink in (1.0, np.sqrt(7 / 5)):
        is_near = np.abs(np.abs(scores) - kink) < 1e-3
        scores[is_near] *= 1.01
    return scores


def differences(function, scores, step):
    """Central differences, row by row."""
    moves = step * np.eye(len(scores))
    return np.array([np.subtract(function(scores + m), function(scores - m)) for m in moves]) / (2 * step)


@given(score=st.floats(-1e3, 1e3))
@settings(deadline=None)
def test_the_smaller_side_is_both_less_a_parabola_of_the_size(score):
    t = np.float64(score)
    both = squared_hinge(t) + squared_hinge(-t)
    assert both - (1 + abs(t)) ** 2 / 2 == pytest.approx(hill(t), abs=1e-15 * (1 + abs(t)) ** 2)


def test_squared_hinge_by_hand():
    assert squared_hinge(np.array([-2.0, 0.0, 0.5, 1.0, 3.0])).tolist() == [4.5, 0.5, 0.125, 0.0, 0.0]


def test_two_sides_by_hand():
    loss = TwoSided(np.array([2.0, 0.0, 1.0]), np.array([0.0, 3.0, 1.0]), np.array([0.0, 0.0, 0.5]))
    scores = np.array([-1.0, 1.0, 0.5])
    assert loss.value(scores) == 2 * 2 + 3 * 2 + (0.125 + 1.125) + 0.25
    assert loss.slope(scores).tolist() == [-4.0, 6.0, 1.5 - 0.5 + 0.5]
    assert loss.curvature(scores).tolist() == [2.0, 3.0, 2.0]


@pytest.mark.parametrize("name", LOSSES)
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_slopes_are_differences_of_values(name, seed):
    rng = np.random.default_rng(seed)
    loss, scores = LOSSES[name](rng), scores_of(rng)
    before = scores.copy()
    size = 1 + abs(loss.value(scores))
    expected = differences(loss.value, scores, 1e-5)
    # Probabilities meet their mean to 1e-12, which the step divides and the level multiplies.
    rounding = 3e-5 if name == "annealed" else 1e-7
    np.testing.assert_allclose(loss.slope(scores), expected, atol=1e-9 * size + rounding)
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("name", ["labels", "two sides", "tilted", "bump", "blurred"])
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_curvatures_are_differences_of_slopes(name, seed):
    rng = np.random.default_rng(seed)
    loss, scores = LOSSES[name](rng), scores_of(rng)
    expected = differences(loss.slope, scores, 1e-5)
    np.testing.assert_allclose(expected - np.diag(np.diag(expected)), 0, atol=1e-9)  # rows do not interact
    expected = np.diag(expected).copy()
    if name == "bump":  # beyond its foot the hill counts as flat
        is_flat = (np.abs(scores) > np.sqrt(7 / 5)) & (loss.costs > 0)
        assert (np.abs(expected[is_flat]) <= 0.06 * loss.costs[is_flat]).all()
        expected[is_flat] = 0
    np.testing.assert_allclose(loss.curvature(scores), expected, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_curvatures_of_annealed_losses_are_differences_at_a_fixed_level(seed):
    rng = np.random.default_rng(seed)
    labeled, scores = TwoSided(*np.zeros((2, N_ROWS))), scores_of(rng)
    loss = Annealed(labeled, np.arange(N_ROWS), 1.3, 0.4, rng.uniform(0.5, 10))
    gains = 1.3 * (squared_hinge(-scores) - squared_hinge(scores)) / loss.temperature
    level = balancing_level(gains, 0.4)

    def slope_at_level(scores):
        gains = 1.3 * (squared_hinge(-scores) - squared_hinge(scores)) / loss.temperature
        p = expit(gains - level)
        return 1.3 * ((1 - p) * np.maximum(1 + scores, 0) - p * np.maximum(1 - scores, 0))

    np.testing.assert_allclose(slope_at_level(scores), loss.slope(scores), atol=1e-8)
    expected = np.diag(differences(slope_at_level, scores, 1e-5))
    np.testing.assert_allclose(loss.curvature(scores), expected, rtol=1e-5, atol=1e-6)


def test_the_bump_has_the_height_of_the_hill():
    bump = Bump(TwoSided(np.zeros(3), np.zeros(3)), np.array([0.0, 2.0, 5.0]))
    assert bump.value(np.zeros(3)) == 2 * hill(0.0) + 5 * hill(0.0)
    assert bump.value(np.array([0.0, 3.0, -3.0])) == pytest.approx(0, abs=1e-15)
    assert (bump.curvature(np.zeros(3))[1:] < 0).all()
    at = np.array([0.3, -0.7, 0.7])
    assert bump.value(at) == pytest.approx(bump.value(-at), rel=1e-14)


def mean_over_errors(function, score, width):
    """``E function(score + width e)``, piece by piece between the kinks."""
    kinks = [(kink - score) / width for kink in (-1.0, 0.0, 1.0)]
    ends = [-12.0, *(kink for kink in kinks if abs(kink) < 12), 12.0]

    def weighted(e):
        return function(score + width * e) * norm.pdf(e)

    return sum(quad(weighted, *piece, epsabs=1e-11, epsrel=1e-11)[0] for piece in pairwise(ends))


@pytest.mark.parametrize("width", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("score", [-6.0, -1.0, -0.4, 0.0, 0.05, 0.9, 2.5])
def test_a_blur_is_a_mean_over_errors(score, width):
    sides = {"right": squared_hinge, "left": lambda t: squared_hinge(-t), "hill": hill}
    for side, function in sides.items():
        positive, negative, cost = (np.array([2.0 * (side == name)]) for name in sides)
        loss = Blurred(TwoSided(positive, negative), cost, np.array([width]))
        expected = 2 * mean_over_errors(function, score, width)
        assert loss.value(np.array([score])) == pytest.approx(expected, rel=1e-9, abs=1e-9), side


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_narrow_blur_is_the_loss_itself(seed):
    rng = np.random.default_rng(seed)
    labeled, costs, scores = labeled_loss(rng), free_costs(rng), rng.normal(scale=2, size=N_ROWS)
    exact, total = labeled.value(scores) + costs @ hill(scores), 20.0
    for width in (1e-1, 1e-2, 1e-4, 1e-6):
        blurred = Blurred(labeled, costs, np.full(N_ROWS, width))
        assert blurred.value(scores) == pytest.approx(exact, abs=total * width)
    scores[np.abs(scores) < 1e-2] = 0.5  # the slope jumps at 0
    sign = np.sign(scores)
    slope = labeled.slope(scores) - costs * sign * np.maximum(1 - np.abs(scores), 0)
    np.testing.assert_allclose(blurred.slope(scores), slope, atol=1e-5)


def annealed_by_a_convex_solver(scores, cost, share, temperature):
    p = cp.Variable(len(scores))
    losses = squared_hinge(scores) @ p + squared_hinge(-scores) @ (1 - p)
    entropy = cp.sum(cp.entr(p) + cp.entr(1 - p))
    problem = cp.Problem(
        cp.Minimize(cost * losses - temperature * entropy), [cp.sum(p) == share * len(scores)]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    p.value = np.clip(p.value, 0, 1)  # cvxpy knows no entropy just below 0
    return problem.objective.value, p.value


@pytest.mark.parametrize("temperature", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
def test_annealed_loss_is_the_least_over_probabilities(temperature, share):
    rng = np.random.default_rng(int(100 * share))
    labeled, scores = labeled_loss(rng), rng.normal(scale=1.5, size=N_ROWS)
    loss = Annealed(labeled, UNLABELED, 1.7, share, temperature)
    value, p = annealed_by_a_convex_solver(scores[UNLABELED], 1.7, share, temperature)
    assert loss.value(scores) - labeled.value(scores) == pytest.approx(value, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(loss.probabilities(scores), p, atol=1e-4)


@given(seed=SEEDS, share=SHARES, temperature=st.floats(1e-4, 1e4), cost=st.floats(1e-3, 1e3))
@settings(max_examples=100, deadline=None)
def test_probabilities_have_the_given_mean_and_the_order_of_scores(seed, share, temperature, cost):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(scale=1.5, size=N_ROWS), rng.integers(1, 8))  # some tie
    loss = Annealed(labeled_loss(rng), UNLABELED, cost, share, temperature * cost)
    p = loss.probabilities(scores)
    assert p.shape == UNLABELED.shape
    assert p.mean() == pytest.approx(share, abs=1e-9)
    assert (np.diff(p[np.argsort(scores[UNLABELED])]) >= -1e-12).all()


@pytest.mark.parametrize("n_positive", range(1, len(UNLABELED)))
def test_cold_probabilities_are_the_best_labels(n_positive):
    rng = np.random.default_rng(n_positive)
    labeled, scores = labeled_loss(rng), rng.normal(scale=1.5, size=N_ROWS)
    share = n_positive / len(UNLABELED)
    free, values = scores[UNLABELED], {}
    for chosen in combinations(range(len(UNLABELED)), n_positive):
        signs = np.where(np.isin(np.arange(len(UNLABELED)), chosen), 1, -1)
        values[chosen] = 2.5 * squared_hinge(signs * free).sum()
    best = min(values, key=values.get)
    loss = Annealed(labeled, UNLABELED, 2.5, share, 1e-6)
    np.testing.assert_allclose(
        loss.probabilities(scores), np.isin(np.arange(len(UNLABELED)), best), atol=1e-9
    )
    assert loss.value(scores) - labeled.value(scores) == pytest.approx(values[best], rel=1e-6)


def test_hot_probabilities_are_all_the_share():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=N_ROWS)
    loss = Annealed(labeled_loss(rng), UNLABELED, 1.0, 0.3, 1e7)
    np.testing.assert_allclose(loss.probabilities(scores), 0.3, atol=1e-6)


def test_labeled_rows_do_not_feel_the_others():
    rng = np.random.default_rng(0)
    labeled, costs, scores = labeled_loss(rng), free_costs(rng), rng.normal(size=N_ROWS)
    expected = labeled.slope(scores)
    assert (expected[UNLABELED] == 0).all()
    for loss in (Bump(labeled, costs), Annealed(labeled, UNLABELED, 1.0, 0.3, 0.5)):
        np.testing.assert_array_equal(loss.slope(scores)[LABELED], expected[LABELED])
        assert (loss.slope(scores)[UNLABELED] != 0).all()


@st.composite
def all_gains(draw):
    size = draw(st.sampled_from([1e-3, 1.0, 30.0, 1e3, 1e6]))
    gains = np.array(draw(st.lists(st.floats(-size, size), min_size=1, max_size=12)))
    if draw(st.booleans()):
        gains = gains[np.random.default_rng(draw(SEEDS)).integers(len(gains), size=len(gains))]  # ties
    return gains


@given(gains=all_gains(), share=SHARES)
@settings(max_examples=300, deadline=None)
def test_the_level_brings_about_the_share(gains, share):
    level = balancing_level(gains, share)
    # The level is a number next to gains: their rounding is its own.
    assert expit(gains - level).mean() == pytest.approx(share, abs=1e-11 + 1e-14 * np.abs(gains).max())


@pytest.mark.parametrize("gain", [0.0, -3.0, 1e6, -1e6])
@pytest.mark.parametrize("share", [1e-3, 0.4, 1 - 1e-3])
def test_the_level_of_equal_gains(gain, share):
    expected = gain + np.log((1 - share) / share)
    assert balancing_level(np.full(7, gain), share) == pytest.approx(expected, abs=1e-8 + 1e-14 * abs(gain))


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_the_level_between_two_groups(size):
    level = balancing_level(np.array([size, -size, size, -size]), 0.5)
    assert expit(size - level) + expit(-size - level) == pytest.approx(1, abs=1e-11)
    # One and a half of two certain rows: the second is left in doubt.
    level = balancing_level(np.array([size, -size]), 0.25)
    pair = expit(np.array([size, -size]) - level)
    assert pair.sum() == pytest.approx(0.5, abs=1e-8)
    assert pair[0] > pair[1]


def test_next_to_no_steepness():
    """Halving leads to a level 709.5 above one gain and further from all others: a slope of 7e-310."""
    gains = np.array([-1e4] * 5 + [0.0, 0.0, 0.0, 1040.6, 4000.0])
    assert expit(gains - balancing_level(gains, 0.45)).mean() == pytest.approx(0.45, abs=1e-10)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 200])
def test_quantiles_are_those_of_numpy_to_the_last_digit(n_rows):
    rng = np.random.default_rng(0)
    for share in [0.0, 1.0, *rng.random(50)]:
        values = rng.normal(size=n_rows)
        assert _quantile(values, share) == np.quantile(values, share)
