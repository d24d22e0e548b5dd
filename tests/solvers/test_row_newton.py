"""Newton's method over rows against a convex solver, closed forms and itself in other spaces."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.oracles.exact import solve_exactly
from weakly.losses._transductive import Bump, TwoSided
from weakly.solvers import fit_rows
from weakly.solvers._centered_rows import CenteredRows, far_means, less_means
from weakly.solvers._row_kernels import curved_product, row_arrays, row_products, row_sum
from weakly.solvers._row_steps import solve_shifted
from weakly.spaces import FeatureSpace, KernelSpace

TIGHT = 1e-10  # more than rounding leaves to some problems, which then end without convergence


def compressed(X, entries=np.float64, index=np.int32):
    """Sparse rows with entries and indices of these types."""
    X = sp.csr_array(X)
    arrays = X.data.astype(entries), X.indices.astype(index), X.indptr.astype(index)
    X = sp.csr_array(arrays, shape=X.shape)
    X.indices, X.indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return X


SPACES = {
    "kernel": lambda X: KernelSpace(X @ X.T),
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(compressed(X)),
}
MORE_SPACES = SPACES | {
    "sparse, int64": lambda X: FeatureSpace(compressed(X, index=np.int64)),
    "sparse, float32": lambda X: FeatureSpace(compressed(X, np.float32)),
    "sparse, float32, int64": lambda X: FeatureSpace(compressed(X, np.float32, np.int64)),
}


def rows_of(rng, n_rows=25, n_features=4):
    """Half of the entries are 0, one row has none, and all are numbers of single precision."""
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    X[n_rows // 2] = 0
    return X.astype(np.float32).astype(np.float64)


def loss_of(kind, rng, X):
    """Signs follow the first column but for some, so that rows end on both sides of the margins."""
    cost = rng.choice([0.1, 1.0, 20.0])
    signs = np.where(X[:, 0] + rng.normal(scale=0.3, size=len(X)) > 0.1, 1, -1)
    positive, negative = cost * (signs > 0), cost * (signs < 0)
    if kind != "labels":
        positive, negative = [positive, negative] + cost * rng.uniform(0.05, 0.5, (2, len(X)))
    tilt = 0.0
    if kind == "tilted":  # some rows have a slope and no curvature
        tilt = cost * rng.normal(scale=0.3, size=len(X))
        positive[1::5] = negative[1::5] = 0
    return TwoSided(positive, negative, tilt)


def fit_convex(X, loss, offset):
    """The same problem by a general solver: its value, the function and the offset."""
    theta, b = cp.Variable(X.shape[1]), cp.Variable() if offset is None else cp.Constant(offset)
    scores = X @ theta + b
    sides = loss.positive @ cp.square(cp.pos(1 - scores)) + loss.negative @ cp.square(cp.pos(1 + scores))
    tilted = np.broadcast_to(loss.tilt, len(X)) @ scores
    problem = cp.Problem(cp.Minimize(cp.sum_squares(theta) / 2 + sides / 2 + tilted))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return SimpleNamespace(value=problem.value, theta=theta.value, offset=float(b.value))


def slopes_of(X, loss, theta, offset):
    """Gradient in the function and in the offset, written out; the loss knows its own slope elsewhere."""
    slope = loss.slope(X @ theta + offset)
    return theta + X.T @ slope, slope.sum()


@pytest.mark.parametrize("space", MORE_SPACES)
@pytest.mark.parametrize("kind", ["labels", "two sides", "tilted"])
@pytest.mark.parametrize("offset", [None, 0.3])
def test_the_same_as_a_convex_solver(space, kind, offset):
    rng = np.random.default_rng(len(kind))
    X = rows_of(rng)
    loss = loss_of(kind, rng, X)
    expected = fit_convex(X, loss, offset)
    fit = fit_rows(MORE_SPACES[space](X), loss, offset=offset, tol=TIGHT)
    assert fit.criterion <= 1e-5
    assert fit.objective == pytest.approx(expected.value, rel=1e-8)
    theta = X.T @ fit.theta if space == "kernel" else fit.theta
    np.testing.assert_allclose(theta, expected.theta, atol=1e-4)
    assert fit.offset == pytest.approx(expected.offset, abs=1e-4)
    np.testing.assert_allclose(fit.scores, X @ theta + fit.offset, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["labels", "two sides", "tilted"]),
    offset=st.sampled_from([None, 0.0, -1.5]),
    n_rows=st.integers(1, 30),
    n_features=st.integers(1, 8),
)
@settings(max_examples=80, deadline=None)
def test_all_spaces_end_where_the_gradient_is_zero(seed, kind, offset, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rows_of(rng, n_rows, n_features)
    loss = loss_of(kind, rng, X)
    fits = {name: fit_rows(build(X), loss, offset=offset, tol=TIGHT) for name, build in MORE_SPACES.items()}
    scale = 1 + np.sum(loss.positive + loss.negative)
    for name, fit in fits.items():
        theta = X.T @ fit.theta if name == "kernel" else fit.theta
        gradient, pull = slopes_of(X, loss, theta, fit.offset)
        assert np.linalg.norm(gradient) <= 1e-7 * scale
        assert offset is not None or abs(pull) <= 1e-7 * scale
        assert fit.objective == pytest.approx(
            theta @ theta / 2 + loss.value(X @ theta + fit.offset), rel=1e-9
        )
        assert fit.objective == pytest.approx(fits["dense"].objective, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_one_row_in_closed_form(space):
    """The minimum of ``f^2 / (2 k) + C (1 - f - b)^2 / 2``."""
    fit = fit_rows(SPACES[space](np.array([[2.0]])), TwoSided(np.array([3.0]), np.zeros(1)), offset=-0.5)
    np.testing.assert_allclose(fit.scores, -0.5 + 4 * 3 * 1.5 / (1 + 4 * 3), rtol=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("is_free", [False, True])
def test_between_the_margins_it_is_ridge_regression(space, is_free):
    """``c V(t) + c V(-t) - 2 c y t`` is ``c (t - y)^2`` but for a constant while scores are small."""
    rng = np.random.default_rng(0)
    X, targets, cost = rng.normal(size=(12, 3)), rng.uniform(-0.3, 0.3, 12), 0.7
    loss = TwoSided(np.full(12, cost), np.full(12, cost), -2 * cost * targets)
    fit = fit_rows(SPACES[space](X), loss, offset=None if is_free else 0.1, tol=TIGHT)
    design = np.column_stack([X, np.ones(12)]) if is_free else X
    penalty = np.diag([1.0] * 3 + [0.0] * is_free)
    rest = targets if is_free else targets - 0.1
    weights = np.linalg.solve(2 * cost * design.T @ design + penalty, 2 * cost * design.T @ rest)
    expected = design @ weights + (0 if is_free else 0.1)
    assert np.abs(expected).max() < 1
    np.testing.assert_allclose(fit.scores, expected, atol=1e-9)
    if space != "sparse":
        assert fit.n_iter == 1


def labeled_rows(space, n_rows, n_features):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_features))
    return SPACES[space](X), loss_of("labels", rng, X)


@pytest.mark.parametrize("space", SPACES)
def test_a_start_saves_steps(space):
    space, loss = labeled_rows(space, 60, 5)
    first = fit_rows(space, loss, tol=TIGHT)
    again = fit_rows(space, loss, start=first, tol=1e-6)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.theta, first.theta)
    near = replace(loss, positive=1.05 * loss.positive)
    cold, warm = fit_rows(space, near, tol=TIGHT), fit_rows(space, near, start=first, tol=TIGHT)
    assert 0 < warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-8)


@pytest.mark.parametrize("space", SPACES)
def test_a_start_with_another_offset(space):
    space, loss = labeled_rows(space, 20, 3)
    free = fit_rows(space, loss, tol=TIGHT)
    held = fit_rows(space, loss, start=free, offset=0.8, tol=TIGHT)
    assert held.offset == 0.8
    np.testing.assert_allclose(held.scores, fit_rows(space, loss, offset=0.8, tol=TIGHT).scores, atol=1e-8)
    assert free.objective < held.objective
    released = fit_rows(space, loss, start=held, tol=TIGHT)
    np.testing.assert_allclose(released.scores, free.scores, atol=1e-8)
    at_best = fit_rows(space, loss, offset=free.offset, tol=TIGHT)
    assert at_best.objective == pytest.approx(free.objective, rel=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("offset", [None, 0.2])
def test_rows_that_cost_nothing_do_not_matter(space, offset):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 4))
    loss, is_free = loss_of("two sides", rng, X), rng.random(30) < 0.4
    positive, negative = loss.positive * ~is_free, loss.negative * ~is_free
    everything = fit_rows(SPACES[space](X), TwoSided(positive, negative), offset=offset, tol=TIGHT)
    kept = TwoSided(positive[~is_free], negative[~is_free])
    fit = fit_rows(SPACES[space](X[~is_free]), kept, offset=offset, tol=TIGHT)
    assert everything.objective == pytest.approx(fit.objective, rel=1e-10)
    np.testing.assert_allclose(everything.scores[~is_free], fit.scores, atol=1e-8)
    if space == "kernel":
        np.testing.assert_allclose(everything.theta[is_free], 0, atol=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("offset", [None, 0.4])
def test_rows_given_twice_cost_double(space, offset):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 6))
    loss = loss_of("two sides", rng, X)
    twice = TwoSided(np.tile(loss.positive, 2), np.tile(loss.negative, 2))
    double = TwoSided(2 * loss.positive, 2 * loss.negative)
    expected = fit_rows(SPACES[space](X), double, offset=offset, tol=TIGHT)
    fit = fit_rows(SPACES[space](np.vstack([X, X])), twice, offset=offset, tol=TIGHT)
    assert fit.objective == pytest.approx(expected.objective, rel=1e-10)
    np.testing.assert_allclose(fit.scores, np.tile(expected.scores, 2), atol=1e-8)


@pytest.mark.parametrize("cost", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("offset", [None, 0.1])
def test_a_kernel_of_low_rank(cost, offset):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    loss = TwoSided(cost * (signs > 0), cost * (signs < 0))
    kernel = fit_rows(KernelSpace(X @ X.T), loss, offset=offset, tol=1e-6)
    features = fit_rows(FeatureSpace(X), loss, offset=offset, tol=1e-10)
    assert kernel.converged
    assert kernel.objective == pytest.approx(features.objective, rel=1e-9)
    np.testing.assert_allclose(kernel.scores, features.scores, atol=1e-6)


def test_kernels_of_constants():
    """With a free offset nothing is left to a constant function; without, it is one parameter."""
    loss = TwoSided(np.array([2.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    for level in (0.0, 1.0, 100.0):
        fit = fit_rows(KernelSpace(np.full((3, 3), level)), loss, tol=TIGHT)
        np.testing.assert_allclose(fit.scores, 0, atol=1e-8)  # 2 (1 - t) = 2 (1 + t)
        assert fit.objective == pytest.approx(2, rel=1e-12)
    lopsided = TwoSided(np.array([3.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    fit = fit_rows(KernelSpace(np.full((3, 3), 0.5)), lopsided, offset=0.0, tol=TIGHT)
    np.testing.assert_allclose(fit.scores, (3 - 2) / (2 + 3 + 2), rtol=1e-9)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("offset", [None, 0.5])
def test_no_costs_at_all(space, offset):
    rng = np.random.default_rng(5)
    X, nothing = rng.normal(size=(10, 3)), TwoSided(np.zeros(10), np.zeros(10))
    space = SPACES[space](X)
    start = fit_rows(space, loss_of("two sides", rng, X))
    for fit in (
        fit_rows(space, nothing, offset=offset),
        fit_rows(space, nothing, start=start, offset=offset),
    ):
        assert fit.converged
        assert fit.objective == 0
        np.testing.assert_array_equal(fit.theta, 0)


@pytest.mark.parametrize("space", SPACES)
def test_nothing_but_a_tilt(space):
    """No curvature anywhere: the function is minus the adjoint of the tilt."""
    rng = np.random.default_rng(6)
    X, tilt = rng.normal(size=(10, 3)), rng.normal(size=10)
    fit = fit_rows(SPACES[space](X), TwoSided(np.zeros(10), np.zeros(10), tilt), offset=0.5)
    assert fit.converged
    np.testing.assert_allclose(fit.scores, 0.5 - X @ X.T @ tilt, atol=1e-10)
    assert fit.objective == pytest.approx(0.5 * tilt.sum() - np.sum((X.T @ tilt) ** 2) / 2, rel=1e-10)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("offset", [None, 0.0])
def test_a_start_beyond_all_margins(space, offset):
    """Neither slope nor curvature there, and the way back leads past all rows."""
    rng = np.random.default_rng(7)
    signs = np.repeat([-1.0, 1.0], 10)
    X = rng.normal(size=(20, 3)) * 0.3 + signs[:, None]
    space = SPACES[space](X)
    loss = TwoSided(5.0 * (signs > 0), 5.0 * (signs < 0))
    expected = fit_rows(space, loss, offset=offset, tol=TIGHT)
    far = replace(expected, theta=50 * expected.theta, offset=0.0)
    far = replace(far, values=space.scores(far.theta))
    assert (signs * far.scores > 1).all()
    fit = fit_rows(space, loss, start=far, offset=offset, tol=TIGHT)
    assert fit.objective == pytest.approx(expected.objective, rel=1e-10)
    np.testing.assert_allclose(fit.scores, expected.scores, atol=1e-7)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("offset", [None, 0.3])
def test_a_single_step_lowers_the_objective(space, offset):
    rng = np.random.default_rng(8)
    X = 3 * rng.normal(size=(50, 4))
    loss = loss_of("labels", rng, X)
    space = SPACES[space](X)
    none = fit_rows(space, loss, offset=offset, max_iter=0)
    assert none.n_iter == 0
    assert none.objective == loss.value(np.full(50, offset or 0.0))
    values, point = [none.objective], none
    for _ in range(3):
        point = fit_rows(space, loss, start=point, offset=offset, max_iter=1, tol=TIGHT)
        assert point.n_iter == 1
        assert not point.converged
        values.append(point.objective)
    assert (np.diff(values) < 0).all()
    three = fit_rows(space, loss, offset=offset, max_iter=3, tol=TIGHT)
    assert three.n_iter == 3
    assert three.objective == pytest.approx(values[-1], rel=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_it_ends_when_nothing_is_left_to_gain(space):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(50, 4))
    loss = loss_of("labels", rng, X)
    fit = fit_rows(SPACES[space](X), loss, tol=0.0)
    assert fit.n_iter < 30
    assert fit.criterion <= 1e-4
    assert fit.objective == pytest.approx(fit_convex(X, loss, None).value, rel=1e-9)


def hilly(seed, cost):
    """Two clouds with a label or two and a hill for all other rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X[:, 0] += np.where(rng.random(40) < 0.5, 1.5, -1.5)
    labeled = np.arange(40) < 4
    signs = np.sign(X[:, 0])
    known = TwoSided(2.0 * (labeled & (signs > 0)), 2.0 * (labeled & (signs < 0)))
    return X, Bump(known, cost * ~labeled), rng


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("cost", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_hills_end_in_a_minimum(space, cost, seed):
    X, loss, rng = hilly(seed, cost)
    theta = rng.normal(size=3)
    kernel = space == "kernel"
    start = fit_rows(FeatureSpace(X), loss, offset=0.1, max_iter=0)
    start = replace(start, theta=np.linalg.pinv(X.T) @ theta if kernel else theta, offset=0.1)
    start = replace(start, values=X @ theta)
    fit = fit_rows(SPACES[space](X), loss, start=start, offset=0.1, tol=1e-7)
    assert fit.criterion <= 1e-5
    found = X.T @ fit.theta if kernel else fit.theta

    def objective(point):
        return point @ point / 2 + loss.value(X @ point + 0.1)

    assert fit.objective == pytest.approx(objective(found), rel=1e-10)
    moves = 1e-5 * np.eye(3)
    gradient = np.array([objective(found + move) - objective(found - move) for move in moves]) / 2e-5
    assert np.linalg.norm(gradient) <= 1e-5 * max(1, cost)
    assert fit.objective < objective(theta)
    lower = minimize(objective, found, method="Nelder-Mead", options={"fatol": 1e-12, "xatol": 1e-6}).fun
    assert fit.objective == pytest.approx(lower, rel=1e-9)


def test_nothing_is_written_to():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20, 3))
    loss = loss_of("tilted", rng, X)
    gram = X @ X.T
    sparse = compressed(X)
    given = [X, gram, loss.positive, loss.negative, loss.tilt, sparse.data, sparse.indices, sparse.indptr]
    for array in given:
        array.flags.writeable = False
    for space in (KernelSpace(gram), FeatureSpace(X), FeatureSpace(sparse)):
        fit = fit_rows(space, loss)
        for array in (fit.theta, fit.values):
            array.flags.writeable = False
        fit_rows(space, replace(loss, positive=2 * loss.positive), start=fit)


SPARSE_ROWS = pytest.mark.parametrize(
    ("entries", "index", "shape"),
    list(product([np.float32, np.float64], [np.int32, np.int64], [(13, 7), (5, 40), (1, 1)])),
)


def sparse_rows(rng, n_rows, n_columns, entries, index):
    X = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.3)
    X[::4] = 0  # empty rows, the first among them
    X[-1] = 0
    X = X.astype(entries).astype(np.float64)
    return X, compressed(X, entries, index)


def some_of(rng, n_rows):
    """All rows, half of them in any order, and none."""
    return np.arange(n_rows), rng.permutation(n_rows)[: n_rows // 2], np.zeros(0, dtype=int)


@SPARSE_ROWS
def test_products_with_sparse_rows(entries, index, shape):
    rng = np.random.default_rng(shape)
    dense, X = sparse_rows(rng, *shape, entries, index)
    assert (X.data.dtype, X.indices.dtype, X.indptr.dtype) == (entries, index, index)
    rows = row_arrays(X)
    vector, weights = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    weights[::3] = 0
    products = row_products(*rows, vector)
    total = row_sum(*rows, weights, shape[1])
    assert products.dtype == total.dtype == np.float64
    np.testing.assert_allclose(products, dense @ vector, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(total, dense.T @ weights, rtol=1e-12, atol=1e-14)
    for some, shift in zip(some_of(rng, shape[0]), (0.0, 0.7, -1.0), strict=True):
        curvature = rng.uniform(0, 2, shape[0])
        values = curvature[some] * (dense[some] @ vector - shift)
        image, total = curved_product(*rows, some, curvature, vector, shift)
        assert image.dtype == np.float64
        np.testing.assert_allclose(image, dense[some].T @ values, rtol=1e-12, atol=1e-14)
        assert total == pytest.approx(values.sum(), rel=1e-12, abs=1e-14)


def test_products_with_repeated_and_unsorted_entries():
    X = sp.csr_array((np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])), (3, 3))
    rows = row_arrays(X)
    dense = np.array([[2.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 8.0, 0.0]])
    v = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(row_products(*rows, v), dense @ v)
    np.testing.assert_array_equal(row_sum(*rows, v, 3), v @ dense)
    h = np.array([1.0, 2.0, 0.5])
    image, total = curved_product(*rows, np.arange(3), h, v, 0.0)
    np.testing.assert_array_equal(image, dense.T @ (h * (dense @ v)))
    assert total == h @ dense @ v


def test_products_without_rows():
    rows = row_arrays(sp.csr_array((0, 3)))
    assert row_products(*rows, np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(row_sum(*rows, np.zeros(0), 3), np.zeros(3))


@SPARSE_ROWS
def test_centered_rows_are_rows_less_a_mean(entries, index, shape):
    rng = np.random.default_rng(shape)
    dense, X = sparse_rows(rng, *shape, entries, index)
    mean = rng.normal(size=shape[1])
    rows, Z = CenteredRows(X, mean), dense - mean
    assert (rows.n_rows, rows.n_params) == shape
    theta, values = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    close = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(rows.scores(theta), Z @ theta, **close)
    np.testing.assert_allclose(rows.adjoint(values), Z.T @ values, **close)
    single = 1e-6 if entries == np.float32 else 1e-12
    np.testing.assert_allclose(np.sqrt(rows.squared_norms()), np.linalg.norm(Z, axis=1), atol=single)
    np.testing.assert_allclose(rows.shifted_products(), Z @ Z.T, atol=1e-12)
    for some in some_of(rng, shape[0]):
        curvature = rng.uniform(0, 2, shape[0])
        expected = Z[some].T @ (curvature[some] * (Z[some] @ theta))
        np.testing.assert_allclose(rows.curved(some, curvature, theta), expected, **close)


@pytest.mark.parametrize("kind", ["labels", "two sides", "tilted"])
@pytest.mark.parametrize("offset", [None, 0.3])
def test_centered_rows_fit_like_the_dense_rows_they_are(kind, offset):
    rng = np.random.default_rng(len(kind))
    X = rows_of(rng) + 3.0
    loss, mean = loss_of(kind, rng, X - 3.0), X[5:].mean(axis=0)
    expected = fit_rows(FeatureSpace(X - mean), loss, offset=offset, tol=TIGHT)
    fit = fit_rows(CenteredRows(sp.csr_array(X), mean), loss, offset=offset, tol=TIGHT)
    assert fit.objective == pytest.approx(expected.objective, rel=1e-10)
    np.testing.assert_allclose(fit.scores, expected.scores, atol=1e-5)
    if offset is None:  # the same problem as that of rows as they were
        raw = fit_rows(FeatureSpace(X), loss, tol=TIGHT)
        assert raw.objective == pytest.approx(expected.objective, rel=1e-10)
        np.testing.assert_allclose(raw.scores, expected.scores, atol=1e-6)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("X", "signs"),
    [([[0.1, 0.7]] * 3, [1, -1, -1]), ([[1.1], [-1.1], [1.1], [-1.1]], [1, 1, -1, -1])],
)
def test_rows_that_say_nothing_are_no_failure(space, X, signs):
    """The best function is 0; what is left of it and of its gradient is rounding."""
    signs = np.array(signs)
    loss = TwoSided(0.7 * (signs > 0), 0.7 * (signs < 0))
    fit = fit_rows(SPACES[space](np.array(X)), loss)
    mean = signs.mean()
    np.testing.assert_allclose(fit.scores, mean, atol=1e-12)
    assert fit.objective == pytest.approx(0.35 * np.sum((1 - signs * mean) ** 2), rel=1e-12)
    assert fit.converged


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", ["as it is", "row", "column", "all"])
def test_normal_equations_with_huge_entries(change):
    """What is not in the direction of the huge entries is found to the last digits all the same."""
    rng = np.random.default_rng(0)
    A = rng.integers(-9, 10, size=(8, 4))
    side = rng.integers(-9, 10, size=4)
    if change == "row":
        A[5] = 10**12
    elif change == "column":
        A[:, 2] *= 10**12
    elif change == "all":
        A *= 10**9
    whole = A.astype(object)
    matrix = (whole.T @ whole + np.eye(4, dtype=int)).tolist()
    expected = solve_exactly(matrix, side[:, None].tolist())[:, 0]
    np.testing.assert_allclose(solve_shifted(A.astype(float), side.astype(float)), expected, rtol=1e-8)


@pytest.mark.parametrize("entries", [np.float32, np.float64])
def test_features_far_from_zero_lose_their_means(entries):
    """Whatever the container; features with many zeros keep them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) + np.array([50, 0, -7, 0])
    X[:, 3] *= rng.random(30) < 0.1
    X = X.astype(entries)
    means = far_means(X)
    np.testing.assert_allclose(
        means, [X[:, 0].mean(dtype=float), 0, X[:, 2].mean(dtype=float), 0], rtol=1e-12
    )
    np.testing.assert_allclose(far_means(sp.csr_array(X)), means, rtol=1e-12)
    expected = X.astype(float) - means
    np.testing.assert_allclose(less_means(X, means), expected)
    sparse = less_means(sp.csr_array(X), means)
    np.testing.assert_allclose(sparse.toarray(), expected)
    assert sparse.nnz == np.count_nonzero(expected)
    assert less_means(sparse, np.zeros(4)) is sparse


def test_conjugate_gradients_end_where_rounding_takes_over():
    """One huge row, and a gradient whose square is no number beside it."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[7] = 1e12
    loss = TwoSided(1.0 * (np.arange(20) % 2 == 0), 1.0 * (np.arange(20) % 2 == 1))
    fit = fit_rows(FeatureSpace(sp.csr_array(X)), loss, tol=1e-6)
    assert np.isfinite(fit.objective)
    assert np.isfinite(fit.scores).all()
