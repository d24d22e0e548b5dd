"""Regression with the absolute loss against a convex solver, its own certificate and itself."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.cluster import _absolute_machines
from weakly.spaces import FeatureSpace, KernelSpace

SPACES = {
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(sp.csr_array(X)),
    "kernel": lambda X: KernelSpace(X @ X.T),
}


def problem(seed, *, n_rows=24, n_features=4, n_columns=2):
    """Rows far from the origin with some zeros, a column of signs and columns of numbers."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n_rows, n_features)) + 2) * rng.binomial(1, 0.8, size=(n_rows, n_features))
    targets = rng.normal(size=(n_rows, n_columns))
    targets[:, 0] = np.where(X[:, 0] + rng.normal(size=n_rows) > 1, 1.0, -1.0)
    return X, targets


def solve_absolute(space, targets, C, *, start=None, tol=1e-3, max_iter=10_000):
    regression = _absolute_machines.regression_of(space)
    return regression.solve(targets, C, start=start, tol=tol, max_iter=max_iter)


def objectives(X, targets, C, W, b):
    return (W**2).sum(axis=0) / 2 + C * np.abs(targets - X @ W - b).sum(axis=0)


def fit_convex(X, targets, C):
    W, b = cp.Variable((X.shape[1], targets.shape[1])), cp.Variable((1, targets.shape[1]))
    loss = C * cp.sum(cp.abs(targets - X @ W - np.ones((len(X), 1)) @ b))
    value = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + loss)).solve(cp.CLARABEL)
    return value, W.value


@pytest.fixture
def passes_alone(monkeypatch):
    """Small problems as large ones are solved: passes and pairs to the end, and no interior points."""
    for limit in ("_MOST_ROWS", "_MOST_ENTRIES"):
        monkeypatch.setattr(_absolute_machines, limit, 0)


def weights_of(space, X, result):
    return result.x if isinstance(space, FeatureSpace) else X.T @ result.x


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("C", [0.003, 0.1, 5.0])
@pytest.mark.parametrize("n_features", [4, 40])
def test_the_same_as_a_convex_solver(n_features, C, space):
    X, targets = problem(n_features, n_features=n_features, n_columns=3)
    value, W = fit_convex(X, targets, C)
    space = SPACES[space](X)
    result = solve_absolute(space, targets, C, tol=1e-8, max_iter=100_000)
    assert result.converged
    assert result.objective[-1] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(weights_of(space, X, result), W, atol=2e-4)
    assert result.intercept.shape == (3,)


@given(
    seed=st.integers(0, 10_000),
    C=st.sampled_from([0.01, 0.3, 4.0]),
    space=st.sampled_from(sorted(SPACES)),
    tol=st.sampled_from([0.1, 1e-3]),
)
@settings(max_examples=40, deadline=None)
def test_the_gap_bounds_the_distance_to_the_optimum(seed, C, space, tol):
    """Objective and gap are of what is returned, computed here from its parts alone."""
    X, targets = problem(seed)
    space = SPACES[space](X)
    result = solve_absolute(space, targets, C, tol=tol)
    W, beta = weights_of(space, X, result), result.detail.dual
    primal = objectives(X, targets, C, W, result.intercept)
    assert result.objective[-1] == pytest.approx(primal.sum(), rel=1e-9)
    assert np.abs(beta).max() <= C
    np.testing.assert_allclose(beta.sum(axis=0), 0, atol=1e-9 * C * len(X))
    np.testing.assert_allclose(X.T @ beta, W, atol=1e-9)
    dual = (beta * targets).sum(axis=0) - (W**2).sum(axis=0) / 2
    assert (primal - dual <= tol * primal * (1 + 1e-9)).all()
    assert result.criterion[-1] == pytest.approx(((primal - dual) / primal).max(), rel=1e-4, abs=1e-9)


def test_kernel_and_features_agree_where_rows_are_many():
    X, targets = problem(3, n_rows=400, n_features=30)
    for C in (0.01, 0.3):
        linear = solve_absolute(FeatureSpace(sp.csr_array(X)), targets, C, tol=1e-6)
        kernel = solve_absolute(KernelSpace(X @ X.T), targets, C, tol=1e-6)
        assert linear.converged
        assert kernel.converged
        assert linear.objective[-1] == pytest.approx(kernel.objective[-1], rel=3e-6)
        scores = X @ linear.x + linear.intercept
        np.testing.assert_allclose(X @ X.T @ kernel.x + kernel.intercept, scores, atol=0.02)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("n_features", "scale"), [(3, 1.0), (3, 300.0), (80, 1.0)])
def test_a_high_cost_and_rows_that_are_the_same(n_features, scale, space):
    """Few coefficients are within their bounds, which passes and pairs are slow to find."""
    X, targets = problem(7, n_rows=30, n_features=n_features, n_columns=3)
    X, targets = np.vstack([scale * X] * 2), np.vstack([targets, targets[::-1]])
    value, _ = fit_convex(X, targets, 100.0)
    result = solve_absolute(SPACES[space](X), targets, 100.0, tol=1e-7)
    assert result.converged
    assert result.n_iter < 50
    assert result.objective[-1] == pytest.approx(value, rel=1e-6)


def test_a_high_cost_of_a_kernel():
    X, targets = problem(8, n_rows=30, n_features=3)
    X, targets = np.vstack([X] * 2), np.vstack([targets, targets[::-1]])
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
    values, vectors = np.linalg.eigh(gram)
    roots = vectors * np.sqrt(np.maximum(values, 0))
    value, _ = fit_convex(roots, targets, 100.0)
    result = solve_absolute(KernelSpace(gram), targets, 100.0, tol=1e-6)
    assert result.converged
    assert result.n_iter < 50
    assert result.objective[-1] == pytest.approx(value, rel=3e-6)
    primal = objectives(roots, targets, 100.0, roots.T @ result.x, result.intercept)
    assert primal.sum() == pytest.approx(value, rel=3e-6)


def test_a_matrix_that_is_no_kernel_ends():
    """Interior points give up, and pairs go on."""
    gram = np.diag([1.0, 1.0, -1.0, 1.0])
    result = solve_absolute(KernelSpace(gram), np.array([[1.0, -1.0, 2.0, 0.0]]).T, 10.0, max_iter=50)
    assert result.n_iter <= 50
    assert np.isfinite(result.objective).all()


@pytest.mark.parametrize("space", SPACES)
def test_starting_from_an_earlier_dual(space, passes_alone):
    X, targets = problem(5, n_rows=200, n_features=60)
    space = SPACES[space](X)
    first = solve_absolute(space, targets, 0.05, tol=1e-4)
    again = solve_absolute(space, targets, 0.05, tol=1e-4, start=first.detail.dual)
    assert first.n_iter > 0
    assert again.n_iter == 0
    np.testing.assert_allclose(again.x, first.x, atol=1e-9)
    changed = targets.copy()
    changed[:4, 0] *= -1
    cold = solve_absolute(space, changed, 0.05, tol=1e-4)
    warm = solve_absolute(space, changed, 0.05, tol=1e-4, start=first.detail.dual)
    assert warm.criterion[0] < cold.criterion[0] / 2
    assert warm.n_iter < cold.n_iter
    assert warm.objective[-1] == pytest.approx(cold.objective[-1], rel=2e-4)
    outside = first.detail.dual + 0.002  # out of bounds and sum
    lower = solve_absolute(space, targets, 0.01, start=outside, tol=1e-4)
    assert lower.converged
    assert np.abs(lower.detail.dual).max() <= 0.01


@pytest.mark.parametrize("space", SPACES)
def test_problems_that_need_no_function(space):
    X, targets = problem(0)
    targets[:, 1] = 3.0
    same = solve_absolute(SPACES[space](X), targets, 1.0, tol=1e-6)
    assert same.converged
    assert same.intercept[1] == 3.0
    np.testing.assert_array_equal(same.x[:, 1], 0)
    assert same.objective[-1] == pytest.approx(fit_convex(X, targets[:, :1], 1.0)[0], rel=2e-6)
    equal_rows = solve_absolute(SPACES[space](np.ones((5, 2))), np.array([[0.0, 1, 2, 5, 9]]).T, 1.0)
    assert equal_rows.converged
    assert equal_rows.objective[-1] == pytest.approx(13.0, rel=1e-3)  # distances from the median


def test_float32_features():
    X, targets = problem(2, n_rows=60)
    wide = solve_absolute(FeatureSpace(X), targets, 0.3, tol=1e-7, max_iter=100_000)
    narrow = solve_absolute(FeatureSpace(X.astype(np.float32)), targets, 0.3, tol=1e-7, max_iter=100_000)
    assert narrow.objective[-1] == pytest.approx(wide.objective[-1], rel=1e-5)


def test_sparse_rows_are_never_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 200_000), density=1e-4, format="csr", rng=rng)

    as_dense = sp.csr_array.toarray

    def only_small(matrix, *args, **kwargs):
        assert matrix.shape[1] <= 300  # a Gram matrix of some rows, at most
        return as_dense(matrix, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", only_small)
    monkeypatch.setattr(sp.csr_array, "todense", None)
    tracemalloc.start()
    result = solve_absolute(FeatureSpace(X), rng.choice([-1.0, 1.0], size=(300, 1)), 1.0, tol=1e-7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.converged
    assert peak < 300 * 200_000 * 8 / 10


@pytest.mark.parametrize("space", SPACES)
def test_passes_alone_find_the_same(space, passes_alone):
    X, targets = problem(6, n_features=40)
    for C in (0.003, 0.1):
        result = solve_absolute(SPACES[space](X), targets, C, tol=1e-6)
        assert result.converged
        assert result.objective[-1] == pytest.approx(fit_convex(X, targets, C)[0], rel=3e-6)


def test_too_few_passes():
    X, targets = problem(1, n_rows=80)
    for space in (FeatureSpace(X), KernelSpace(X @ X.T)):
        cut = solve_absolute(space, targets, 50.0, tol=1e-9, max_iter=2)
        assert (cut.status, cut.n_iter) == ("max_iter", 2)
        assert cut.criterion[-1] > 1e-9


def test_passes_end_where_rounding_keeps_the_gap():
    """At a cost at which residuals are rounding, thousands of passes would change nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
    result = solve_absolute(KernelSpace(gram), np.sign(X[:, :1]), 1e12)
    assert result.status == "max_iter"
    assert result.n_iter < 3000
