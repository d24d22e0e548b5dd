"""Machines over pairs of classes against a convex solver, the printed algorithm and themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.pairs import descend_literally, fit_pairs, pair_objective
from weakly.spaces import FeatureSpace, KernelSpace
from weakly.svm._weston_watkins_solver import solve_weston_watkins


def problem(seed, n_classes, *, hard=False, n_rows=20, n_features=3, scale=1.5):
    """Rows, and costs whose rows sum to less than ``scale``; the fourth row costs nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    shares = rng.dirichlet(np.ones(n_classes + 1), size=n_rows)[:, :-1]
    if hard:
        shares = np.eye(n_classes)[shares.argmax(axis=1)] * shares.sum(axis=1, keepdims=True)
    shares[3] = 0
    return X, scale * shares


def with_constant(X):
    return np.hstack([X, np.ones((len(X), 1))])


SPACES = {
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(sp.csr_array(X)),
    "kernel": lambda X: KernelSpace(X @ X.T),
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_same_as_a_convex_solver(n_classes, hard, space):
    X, costs = problem(n_classes, n_classes, hard=hard)
    value, scores = fit_pairs(with_constant(X), costs)
    space = SPACES[space](X)
    result = solve_weston_watkins(space, costs, tol=1e-9, max_iter=20_000)
    assert result.converged
    assert result.objective[-1] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(space.scores(result.x) + result.intercept, scores, atol=1e-4)
    np.testing.assert_allclose(result.x.sum(axis=1), 0, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 4),
    hard=st.booleans(),
    scale=st.sampled_from([0.1, 2]),
)
@settings(max_examples=30, deadline=None)
def test_the_gap_bounds_the_distance_to_the_optimum(seed, n_classes, hard, scale):
    """The objective is that of the function returned, and no function is better by more than the gap."""
    X, costs = problem(seed, n_classes, hard=hard, scale=scale)
    best = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-8, max_iter=20_000)
    rough = solve_weston_watkins(FeatureSpace(X), costs, tol=0.05)
    for result in (rough, best):
        W = np.vstack([result.x, result.intercept])
        assert result.objective[-1] == pytest.approx(pair_objective(with_constant(X), W, costs), rel=1e-9)
    assert rough.criterion[-1] <= 0.05
    assert best.objective[-1] <= rough.objective[-1] * (1 + 1e-8)
    assert rough.objective[-1] * (1 - rough.criterion[-1]) <= best.objective[-1] * (1 + 1e-9)
    assert len(best.objective) == len(best.criterion)


@pytest.mark.parametrize("hard", [False, True])
def test_the_printed_algorithm_comes_to_the_same_scores(hard):
    X, costs = problem(1, 3, hard=hard, n_rows=12, scale=0.3)
    scores = descend_literally(X @ X.T + 1, costs, 2000)
    result = solve_weston_watkins(KernelSpace(X @ X.T), costs, tol=1e-9, max_iter=20_000)
    np.testing.assert_allclose(X @ X.T @ result.x + result.intercept, scores, atol=1e-4)


def test_the_printed_algorithm_is_far_behind_where_costs_are_high():
    """Why it is not used: two variables of a pair rise together and hold each other."""
    X, costs = problem(0, 3, n_rows=30, n_features=40, scale=300)
    _, expected = fit_pairs(with_constant(X), costs)
    literal = np.abs(descend_literally(X @ X.T + 1, costs, 100) - expected).max()
    result = solve_weston_watkins(KernelSpace(X @ X.T), costs, tol=1e-12, max_iter=100)
    ours = np.abs(X @ X.T @ result.x + result.intercept - expected).max()
    assert ours < literal / 3


def test_rows_without_cost_have_no_part():
    X, costs = problem(5, 3)
    kept = np.arange(len(X)) != 3
    every = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-10, max_iter=20_000)
    fewer = solve_weston_watkins(FeatureSpace(X[kept]), costs[kept], tol=1e-10, max_iter=20_000)
    np.testing.assert_allclose(every.x, fewer.x, atol=1e-5)
    nothing = solve_weston_watkins(FeatureSpace(X), np.zeros_like(costs))
    assert nothing.converged
    np.testing.assert_array_equal(nothing.x, 0)


def test_sure_rows_have_a_variable_for_each_other_class():
    """Memory: n (C - 1) numbers for sure rows, n C (C - 1) / 2 for unsure ones."""
    _, hard = problem(0, 5, hard=True)
    X, soft = problem(0, 5)
    assert len(solve_weston_watkins(FeatureSpace(X), hard).detail.dual) == 19 * 4
    assert len(solve_weston_watkins(FeatureSpace(X), soft).detail.dual) == 19 * 10


def test_float32_features():
    X, costs = problem(2, 4, n_rows=60)
    wide = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-7)
    narrow = solve_weston_watkins(FeatureSpace(X.astype(np.float32)), costs, tol=1e-7)
    np.testing.assert_allclose(narrow.x, wide.x, atol=1e-3)


@pytest.mark.parametrize("space", SPACES)
def test_starting_from_an_earlier_dual(space):
    X, costs = problem(7, 4, n_rows=50, n_features=60)
    space = SPACES[space](X)
    first = solve_weston_watkins(space, costs, tol=1e-6)
    again = solve_weston_watkins(space, costs, start=first.detail.dual, tol=1e-6)
    assert first.n_iter > 5
    assert again.n_iter == 0
    np.testing.assert_allclose(again.x, first.x, atol=1e-9)
    too_high = first.detail.dual  # some of them, now
    lower = solve_weston_watkins(space, 0.9 * costs, start=too_high, tol=1e-6)
    assert lower.converged
    cold = solve_weston_watkins(space, 0.9 * costs, tol=1e-6)
    assert lower.n_iter < cold.n_iter
    assert lower.objective[-1] == pytest.approx(cold.objective[-1], rel=2e-6)
    with pytest.raises(ValueError, match="positive at the same places"):
        solve_weston_watkins(space, np.maximum(costs - 0.3, 0), start=first.detail.dual)


def test_stopping_early():
    X, costs = problem(3, 3, n_rows=40, scale=100)
    cut = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-12, max_iter=3)
    assert (cut.status, cut.n_iter) == ("max_iter", 3)
    assert cut.criterion[-1] > 1e-12
    stopped = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-12, callback=lambda: True)
    assert (stopped.status, stopped.n_iter) == ("stopped", 1)

    def interrupt():
        raise KeyboardInterrupt

    interrupted = solve_weston_watkins(KernelSpace(X @ X.T), costs, tol=1e-12, callback=interrupt)
    assert interrupted.status == "interrupted"
    W = np.vstack([X.T @ interrupted.x, interrupted.intercept])
    assert interrupted.objective[-1] == pytest.approx(pair_objective(with_constant(X), W, costs), rel=1e-9)


def test_costs_that_are_none():
    X, costs = problem(0, 3)
    for wrong in (costs[:, :1], costs[:-1], -costs, np.full_like(costs, np.nan)):
        with pytest.raises(ValueError, match="costs"):
            solve_weston_watkins(FeatureSpace(X), wrong)
