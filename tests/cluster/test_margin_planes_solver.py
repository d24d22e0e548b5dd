"""Clustering by cutting planes, against cvxpy and all sign vectors."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import weakly.cluster._margin_planes
from tests.samples import interrupted_at
from weakly.cluster._margin_planes import solve_margin_planes
from weakly.solvers import KernelMachine, LinearMachine
from weakly.solvers._label_sets import SignSet

REACHES = [0.0, 0.2, np.inf]


def features(seed, n_rows=30, apart=1.0):
    """Two groups of rows that overlap, of different sizes."""
    rng = np.random.default_rng(seed)
    groups = np.where(np.arange(n_rows) % 3, 1.0, -1.0)
    return rng.normal(size=(n_rows, 3)) + apart * groups[:, None], groups, rng


def any_signs(n_rows):
    return SignSet(np.zeros(0, dtype=int), np.zeros(0), n_rows=n_rows, least=1, most=n_rows - 1)


def linear(Z):
    return LinearMachine(sp.csr_array(Z), any_signs(len(Z)), np.ones(len(Z)), "hinge", center=True)


def exact(kernel):
    return KernelMachine(kernel, any_signs(len(kernel)), np.ones(len(kernel)), "hinge", center=True)


class ByCvxpy:
    """The convex problem of given signs in its primal form, for features of any kernel."""

    def __init__(self, Z, C, reach):
        Z = Z - Z.mean(axis=0)
        self.signs, w, self.offset = cp.Parameter(len(Z)), cp.Variable(Z.shape[1]), cp.Variable()
        self.scores = Z @ w
        losses = cp.pos(1 - cp.multiply(self.signs, self.scores + self.offset))
        bounds = [] if np.isinf(reach) else [cp.abs(self.offset) <= reach]
        self.problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * cp.sum(losses)), bounds)

    def __call__(self, signs):
        self.signs.value = signs
        self.problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        return self.problem.value, self.scores.value, self.offset.value


def root_of(kernel):
    values, vectors = np.linalg.eigh(kernel)
    return vectors * np.sqrt(np.maximum(values, 0))


def formula(machine, result, C):
    scores = machine.scores(result.x[None])[0]
    return result.x @ scores / 2 + C * np.maximum(1 - np.abs(scores + result.intercept), 0).sum()


def one_round(machine, signs, C, reach):
    """A round for fixed signs: function, offset and the objective with those signs."""
    result = solve_margin_planes(machine, signs, C, reach, tol=1e-8, max_iter=1)
    scores = machine.scores(result.x[None])[0]
    losses = np.maximum(1 - signs * (scores + result.intercept), 0)
    return result, scores, result.x @ scores / 2 + C * losses.sum()


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("C", [1e-4, 0.05, 1.0, 100.0])
def test_one_round_matches_cvxpy_for_rows_and_for_their_kernel(C, reach):
    Z, groups, rng = features(0)
    signs = np.where(rng.random(len(Z)) < 0.1, -groups, groups)
    value, scores, _ = ByCvxpy(Z, C, reach)(signs)
    for machine in (linear(Z), exact(Z @ Z.T)):
        result, ours, objective = one_round(machine, signs, C, reach)
        assert result.criterion[-1] <= 1e-8
        assert objective == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(ours, scores, atol=1e-3)
        assert abs(result.intercept) <= reach


@pytest.mark.parametrize("reach", REACHES)
def test_one_round_matches_cvxpy_for_a_curved_kernel(reach):
    Z, groups, _ = features(1)
    kernel = rbf_kernel(Z, gamma=0.3)
    value, _, offset = ByCvxpy(root_of(kernel), 1.0, reach)(groups)
    result, _, objective = one_round(exact(kernel), groups, 1.0, reach)
    assert objective == pytest.approx(value, rel=1e-6)
    assert result.intercept == pytest.approx(offset, abs=1e-3)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_lower_the_objective_to_the_formula_and_end_where_signs_agree(seed, C, reach):
    Z, _, rng = features(seed, n_rows=60)
    machine = linear(Z)
    result = solve_margin_planes(machine, np.where(rng.random(60) < 0.5, 1.0, -1.0), C, reach, tol=1e-6)
    assert result.converged
    assert len(result.objective) == len(result.criterion) == result.n_iter
    assert (np.diff(result.objective) <= 1e-12 * result.objective[:-1]).all()
    assert result.objective[-1] == pytest.approx(formula(machine, result, C), rel=1e-9, abs=1e-9)
    assert result.criterion[-1] <= 1e-6
    assert abs(result.intercept) <= reach
    scores = machine.scores(result.x[None])[0] + result.intercept
    np.testing.assert_array_equal(result.detail.labels, np.sign(scores)[None])
    # The problem of its own signs has nothing better.
    value = ByCvxpy(Z, C, reach)(result.detail.labels[0])[0]
    assert result.objective[-1] == pytest.approx(value, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("seed", "reach"), [(0, 0.0), (1, 0.2), (2, 0.5), (3, 0.1)])
def test_several_starts_reach_the_best_of_all_signs_and_none_is_below(seed, reach):
    Z, _, rng = features(seed, n_rows=10)
    reference = ByCvxpy(Z, 0.5, reach)
    # The other half of all signs are these with the sign changed, of the same value.
    best = min(reference(np.array([1.0, *others]))[0] for others in product([1.0, -1.0], repeat=9))
    starts = np.where(rng.random((20, 10)) < 0.5, 1.0, -1.0)
    found = np.array([solve_margin_planes(linear(Z), s, 0.5, reach, tol=1e-8).objective[-1] for s in starts])
    assert found.min() == pytest.approx(best, rel=1e-5)


def test_groups_far_apart_are_found_from_poor_signs():
    Z, groups, rng = features(3, n_rows=90, apart=4.0)
    start = np.where(rng.random(90) < 0.3, -groups, groups)
    for machine in (linear(Z), exact(rbf_kernel(Z, gamma=0.02))):
        labels = solve_margin_planes(machine, start, 1.0, 0.5).detail.labels[0]
        assert abs(labels @ groups) == 90


def test_signs_that_are_all_the_same_cost_nothing_where_the_offset_is_free():
    Z, _, _ = features(0)
    result = solve_margin_planes(linear(Z), np.ones(30), 1.0, np.inf)
    assert result.converged
    assert result.objective[-1] == pytest.approx(0.0, abs=1e-9)
    assert result.intercept >= 1 - 1e-9


class Watched(LinearMachine):
    """Counts the expansions that are scored, and has rows that cannot be made dense."""

    n_scored = 0

    def scores(self, coefficients):
        self.n_scored += len(coefficients)
        return super().scores(coefficients)


def test_rows_stay_sparse_and_planes_stay_few():
    n_rows, n_features = 2000, 3_000_000  # dense rows would be 48 GB
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(n_rows) < 0.5, 1, 0)
    words = rng.integers(0, 40, (n_rows, 10)) + 20 * groups[:, None] + np.array([0] * 5 + [1000] * 5)
    spread = rng.integers(2000, n_features, (n_rows, 5))
    columns = np.hstack([words, spread]).ravel()
    X = sp.csr_array(
        (np.full(columns.size, 0.25), columns, np.arange(0, columns.size + 1, 15)), (n_rows, n_features)
    )
    X.sum_duplicates()
    machine = Watched(X, any_signs(n_rows), np.ones(n_rows), "hinge", center=True)
    start = np.where(rng.random(n_rows) < 0.35, -1.0, 1.0) * (2 * groups - 1)
    result = solve_margin_planes(machine, start, 0.1, 0.1)
    assert result.converged
    assert machine.n_scored < 100
    assert abs(result.detail.labels[0] @ (2 * groups - 1)) > 0.9 * n_rows


def test_a_callback_ends_the_rounds():
    Z, _, rng = features(0, n_rows=60)
    start = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    whole = solve_margin_planes(linear(Z), start, 1.0, 0.1)
    calls = iter([False, True])
    result = solve_margin_planes(linear(Z), start, 1.0, 0.1, callback=lambda: next(calls))
    assert whole.n_iter > 2
    assert (result.status, result.n_iter) == ("stopped", 2)
    np.testing.assert_array_equal(result.objective, whole.objective[:2])


def test_the_limit_of_rounds_is_said():
    Z, _, rng = features(0, n_rows=60)
    result = solve_margin_planes(linear(Z), np.where(rng.random(60) < 0.5, 1.0, -1.0), 1.0, 0.1, max_iter=1)
    assert (result.status, result.n_iter, len(result.objective)) == ("max_iter", 1, 1)
    assert result.criterion[-1] <= 1e-3


@pytest.mark.parametrize("reach", [2.0, np.inf])
def test_rows_that_a_kernel_cannot_tell_apart(reach):
    none = np.zeros(0)
    machine = KernelMachine(
        np.zeros((4, 4)), SignSet(none.astype(int), none, 4, 0, 4), np.ones(4), center=True
    )
    result = solve_margin_planes(machine, np.array([-1.0, 1.0, 1.0, 1.0]), 1.0, reach)
    assert result.objective[-1] == pytest.approx(0.0, abs=1e-9)  # an offset beyond 1 costs nothing
    assert (result.objective >= 0).all()
    assert abs(result.intercept) >= 1 - 1e-9


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    Z, groups, rng = features(0)
    start = rng.permutation(groups)
    once = solve_margin_planes(linear(Z), start, 0.3, 0.2, callback=lambda: True)
    interrupted = interrupted_at(2, weakly.cluster._margin_planes._Planes.solve)
    monkeypatch.setattr(weakly.cluster._margin_planes._Planes, "solve", interrupted)
    result = solve_margin_planes(linear(Z), start, 0.3, 0.2)
    assert (result.status, result.n_iter) == ("interrupted", 1)
    np.testing.assert_array_equal(result.x, once.x)
