"""Mixtures of labelings on rows in blocks, against cvxpy, machines in memory and lists of all labelings."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.labelings import TIGHT, all_signs, relaxation
from weakly.rows._blocks import ArrayBlocks
from weakly.solvers import KernelMachine, solve_cutting_plane, weigh_labels
from weakly.solvers._cutting_plane import cut_labels
from weakly.solvers._label_machine import supervised_scores
from weakly.solvers._label_sets import SignSet
from weakly.svm import _primal_labelings as labelings_module
from weakly.svm import _primal_mixture as mixture
from weakly.svm._primal_labelings import PrimalMixtures
from weakly.svm._primal_mixture import MixtureProblem, fit_mixture

OFFSET = 0.5


def clumps(n_rows=60, n_features=4, seed=0):
    """Rows in two clumps that overlap, their signs, and those of every sixth row as known ones."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n_rows) % 5 < 2, 1.0, -1.0)
    X = rng.normal(size=(n_rows, n_features)) + 0.6 * signs[:, None] + 2
    known = np.where(np.arange(n_rows) % 6 == 0, signs, 0.0)
    return X, signs, known, np.where(known != 0, 1.0, 0.3)


def blocked(X, known, costs, block_rows=17):
    dense = X.toarray() if sp.issparse(X) else X
    mean = dense.mean(axis=0)
    constant = np.sqrt(OFFSET * np.mean(np.sum((dense - mean) ** 2, axis=1)))
    return MixtureProblem(ArrayBlocks(X, block_rows), mean, constant, costs, known)


def in_memory(X, known, costs, n_positive, tol=1e-10):
    labeled = np.flatnonzero(known)
    label_set = SignSet(labeled, known[labeled], len(known), n_positive, n_positive)
    dense = X.toarray() if sp.issparse(X) else X
    return KernelMachine(dense @ dense.T, label_set, costs, center=True, offset=OFFSET, tol=tol)


def labelings(signs, known, n_labels=5, seed=1):
    """More and more signs are wrong, but for the known ones."""
    rng = np.random.default_rng(seed)
    wrong = rng.random((n_labels, len(signs))) < 0.15 * (1 + np.arange(n_labels))[:, None]
    return np.where(wrong & (known == 0), -signs, signs)


def convex(problem, X, labels, weights=None):
    """The same problem given to cvxpy: the objective and the vectors."""
    Z = np.column_stack([X - problem.mean, np.full(len(X), problem.constant)])
    W = cp.Variable((len(labels), Z.shape[1]))
    margins = sum(cp.multiply(label, Z @ w) for label, w in zip(labels, W, strict=True))
    loss = problem.costs @ cp.square(cp.pos(1 - margins)) / 2
    if weights is None:
        norms = cp.square(sum(cp.norm(w) for w in W)) / 2
    else:
        norms = sum(cp.sum_squares(w) / (2 * weight) for w, weight in zip(W, weights, strict=True))
    program = cp.Problem(cp.Minimize(norms + loss))
    program.solve(**TIGHT)
    return program.value, W.value


@pytest.mark.parametrize("most_columns", [mixture.MOST_MODEL_COLUMNS, 1])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_machine_for_given_weights_is_the_minimum(most_columns, is_sparse, monkeypatch):
    monkeypatch.setattr(mixture, "MOST_MODEL_COLUMNS", most_columns)
    X, signs, known, costs = clumps()
    X = X * (np.random.default_rng(3).random(X.shape) < 0.6) if is_sparse else X
    labels, weights = labelings(signs, known), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    problem = blocked(sp.csr_array(X) if is_sparse else X, known, costs)
    fit = fit_mixture(problem, labels.T.astype(np.int8), np.zeros((5, 5)), weights=weights, tol=1e-11)
    value, W = convex(problem, X, labels, weights)
    assert fit.is_solved
    assert fit.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(fit.W, W, rtol=0, atol=1e-4)
    machine = in_memory(X, known, costs, 20)
    dual, norms, _ = machine.solve(labels, weights, np.zeros(60))
    in_dual = dual.sum() - (weights @ norms + machine.ridge @ dual**2) / 2
    assert fit.objective == pytest.approx(in_dual, rel=1e-9)
    np.testing.assert_allclose(fit.norms, norms, rtol=1e-4)


@pytest.mark.parametrize("most_columns", [mixture.MOST_MODEL_COLUMNS, 1])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_best(most_columns, seed, monkeypatch):
    monkeypatch.setattr(mixture, "MOST_MODEL_COLUMNS", most_columns)
    X, signs, known, costs = clumps(seed=seed)
    labels = labelings(signs, known, seed=seed)
    problem = blocked(X, known, costs)
    fit = fit_mixture(problem, labels.T.astype(np.int8), np.zeros((5, 5)), tol=1e-10)
    value, W = convex(problem, X, labels)
    assert fit.is_solved
    assert fit.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(fit.W, W, rtol=0, atol=1e-4)
    found = weigh_labels(in_memory(X, known, costs, 20), labels, np.full(5, 0.2), np.zeros(60), tol=1e-6)
    assert fit.objective == pytest.approx(found.objective, rel=1e-6)
    np.testing.assert_allclose(fit.weights, found.weights, rtol=0, atol=2e-3)


def test_bound_holds_on_the_way():
    X, signs, known, costs = clumps()
    labels = labelings(signs, known).T.astype(np.int8)
    problem, start = blocked(X, known, costs), np.random.default_rng(4).normal(size=(5, 5))
    best = fit_mixture(problem, labels, start, tol=1e-12)
    assert best.gap < 1e-9
    for n_steps in range(best.n_iter):
        fit = fit_mixture(problem, labels, start, tol=1e-12, max_iter=n_steps)
        assert -1e-12 <= fit.objective - best.objective <= fit.gap * fit.objective + 1e-12


def test_a_label_vector_that_does_not_help_gets_no_weight():
    X, signs, known, costs = clumps()
    labels = np.column_stack([signs, np.where(known != 0, known, -signs)]).astype(np.int8)
    problem = blocked(X + 2 * signs[:, None], known, costs)
    alone = fit_mixture(problem, labels[:, :1], np.zeros((1, 5)), tol=1e-10)
    both = fit_mixture(problem, labels, np.full((2, 5), 0.1), tol=1e-10)
    np.testing.assert_allclose(both.weights, [1, 0], rtol=0, atol=1e-12)
    assert both.objective == pytest.approx(alone.objective, rel=1e-10)


@pytest.mark.parametrize("n_samples", [labelings_module._SAMPLES, 3, 1])
@pytest.mark.parametrize("digits", [8, 1, 0])
@pytest.mark.parametrize("is_free", [False, True])
def test_best_labels_are_those_in_memory(n_samples, digits, is_free, monkeypatch):
    monkeypatch.setattr(labelings_module, "_SAMPLES", n_samples)
    rng = np.random.default_rng(digits)
    vector = np.array([1.0, 0.5, 0.0])
    for n_rows, share in [(5, 0.0), (40, 0.3), (250, 0.5), (250, 1.0)]:
        X = np.round(rng.normal(size=(n_rows, 2)), digits)
        known = np.where(rng.random(n_rows) < 0.2, rng.choice([-1.0, 1.0], n_rows), 0.0)
        known[: n_rows // 4] = 1.0  # whole blocks without an unlabelled row
        labeled, scores = np.flatnonzero(known), X @ vector[:2]
        n_free = n_rows - len(labeled)
        least, most = (0, n_free) if is_free else (round(share * n_free),) * 2
        dual = np.maximum(np.round(rng.normal(size=n_rows), 1), 0)  # half of the gains are 0
        problem = MixtureProblem(ArrayBlocks(X, 13), np.zeros(2), 0.0, np.ones(n_rows), known)
        label_set = SignSet(labeled, known[labeled], n_rows, least, most)
        for a in (dual, None):
            factors = np.ones(n_rows) if a is None else a
            labels, expected = (
                PrimalMixtures(problem, least, most).best_labels(a, vector),
                label_set.best(factors, scores),
            )
            np.testing.assert_array_equal(labels[labeled], known[labeled])
            assert labels.sum() == expected.sum()
            assert (factors * labels) @ scores == pytest.approx((factors * expected) @ scores)
            ties = factors == 0
            assert labels[ties] @ scores[ties] == pytest.approx(expected[ties] @ scores[ties])
            if digits == 8:
                np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("seed", range(4))
def test_cutting_plane_ends_where_that_in_memory_does(seed):
    X, _, _, _ = clumps(9, 3, seed)
    known, costs = np.zeros(9), np.full(9, 0.7)
    known[:3], costs[:3] = [-1.0, 1.0, 1.0], 2.0
    machine = in_memory(X, known, costs, 3)
    listed = all_signs(np.arange(3), known[:3], 9, 3, 3)
    value, _ = relaxation([machine.kernel * np.outer(y, y) for y in listed], machine.upper, machine.ridge)
    problem = blocked(X, known, costs, block_rows=4)
    start = machine.label_set.best(np.ones(9), supervised_scores(machine, np.arange(3), known[:3]))
    result = cut_labels(PrimalMixtures(problem, 3, 3), start, tol=1e-6, max_labels=20)
    # All vectors of a mixture have the same norm, so that rounding decides where a search begins: two runs
    # that add many vectors part sooner or later. These add few.
    expected = solve_cutting_plane(machine, start, tol=1e-6)
    assert result.objective[-1] == pytest.approx(expected.objective[-1], rel=1e-6)
    assert result.status == expected.status
    assert result.objective[-1] >= value * (1 - 1e-6)


@pytest.mark.parametrize("n_positive", [120, 100])
def test_objective_is_that_in_memory_for_the_same_labels(n_positive):
    X, _, known, costs = clumps(360, 5, seed=2)
    problem, machine = blocked(X, known, costs, 100), in_memory(X, known, costs, n_positive, tol=1e-6)
    labeled = np.flatnonzero(known)
    scores = supervised_scores(machine, labeled, known[labeled])
    start = machine.label_set.best(np.ones(360), scores)
    result = cut_labels(PrimalMixtures(problem, n_positive, n_positive), start, tol=1e-4, max_labels=8)
    assert len(result.detail.labels) > 3
    assert ((result.detail.labels[:, known == 0] > 0).sum(axis=1) == n_positive).all()
    labels = np.array(result.detail.labels, dtype=np.float64)
    found = weigh_labels(machine, labels, result.detail.weights, np.zeros(360), tol=1e-5)
    assert result.objective[-1] == pytest.approx(found.objective, rel=1e-4)
    vector = problem.constant * result.x[-1] + (X - problem.mean) @ result.x[:-1]
    expected = machine.scores((found.weights @ (found.dual * labels))[None])[0]
    np.testing.assert_allclose(vector, expected, rtol=0, atol=0.02 * np.abs(expected).max())


def test_refined_labels_fit_their_own_scores():
    X, signs, known, costs = clumps(200, 4, seed=5)
    problem = blocked(X, known, costs, 60)
    result = cut_labels(PrimalMixtures(problem, 66, 67), signs, tol=1e-4, max_labels=20, refine=50)
    assert len(result.detail.labels) == 1
    np.testing.assert_array_equal(
        PrimalMixtures(problem, 66, 67).best_labels(None, result.x), result.detail.labels[0]
    )
    alone = fit_mixture(problem, result.detail.labels.T, np.zeros((1, 5)), tol=1e-10)
    np.testing.assert_allclose(result.x, alone.W[0], rtol=0, atol=1e-2 * np.abs(alone.W).max())
