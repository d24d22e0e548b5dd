"""Clusters by regression and new labels in turns, against all labelings of few rows."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import weakly.cluster._iterative_svr_solver
from tests.samples import interrupted_at
from weakly.cluster._iterative_svr_solver import best_split, solve_iterative_svr
from weakly.spaces import FeatureSpace, KernelSpace

SPACES = {
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(sp.csr_array(X)),
    "kernel": lambda X: KernelSpace(X @ X.T),
}


def labelings(n_rows, n_clusters, least, most):
    """All codes with bounds of the sizes, a line each."""
    codes = np.array(list(product(range(n_clusters), repeat=n_rows)))
    counts = (codes[:, :, None] == np.arange(n_clusters)).sum(axis=1)
    return codes[((counts >= least) & (counts <= most)).all(axis=1)]


def targets_of(codes, n_clusters):
    if n_clusters == 2:
        return 2.0 * codes[:, None] - 1
    return 2.0 * (codes[:, None] == np.arange(n_clusters)) - 1


def total(scores, W, b, codes, C, n_clusters):
    """The objective of functions, offsets and clusters."""
    return (W**2).sum() / 2 + C * np.abs(targets_of(codes, n_clusters) - scores - b).sum()


def blobs(seed, centers, n_each=40, spread=0.7):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(centers)), n_each)
    return np.array(centers)[codes] + spread * rng.normal(size=(len(codes), len(centers[0]))), codes


@given(
    seed=st.integers(0, 10_000),
    bounds=st.sampled_from([(0, 8), (4, 4), (3, 5), (2, 3), (6, 8), (0, 0)]),
    scale=st.sampled_from([0.1, 1.0, 4.0]),
    ties=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_labels_and_offset_are_the_best_together(seed, bounds, scale, ties):
    values = scale * np.random.default_rng(seed).normal(size=8) + 1
    values = np.round(values) if ties else values
    positive, offset, loss = best_split(values, *bounds)
    assert bounds[0] <= positive.sum() <= bounds[1]
    assert loss == pytest.approx(np.abs(np.where(positive, 1, -1) - values - offset).sum())
    signs = np.array(list(product([-1.0, 1.0], repeat=8)))
    n_positive = (signs > 0).sum(axis=1)
    residuals = signs[(n_positive >= bounds[0]) & (n_positive <= bounds[1])] - values
    every = np.abs(residuals - np.median(residuals, axis=1, keepdims=True)).sum(axis=1)
    assert loss == pytest.approx(every.min(), rel=1e-9, abs=1e-12)


@given(
    seed=st.integers(0, 10_000),
    n_clusters=st.integers(2, 4),
    C=st.sampled_from([0.02, 0.5, 5.0]),
    least=st.integers(0, 7),
    space=st.sampled_from(sorted(SPACES)),
    tol=st.sampled_from([1e-2, 1e-5]),
)
@settings(max_examples=60, deadline=None)
def test_the_objective_never_rises_and_bounds_hold(seed, n_clusters, C, least, space, tol):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6))
    space = SPACES[space](X)
    start = rng.integers(n_clusters, size=30)
    result = solve_iterative_svr(space, start, C, least, 30 - least, n_clusters=n_clusters, tol=tol)
    assert (np.diff(result.objective) < 0).all()
    assert len(result.objective) == len(result.criterion) <= result.n_iter
    assert result.detail.labels.shape == (1, 30)
    assert np.issubdtype(result.detail.labels.dtype, np.integer)
    assert np.bincount(result.detail.labels[0], minlength=n_clusters).min() >= least
    W = result.x if isinstance(space, FeatureSpace) else X.T @ result.x
    assert W.shape == (6, 1 if n_clusters == 2 else n_clusters)
    value = total(X @ W, W, result.intercept, result.detail.labels[0], C, n_clusters)
    assert result.objective[-1] == pytest.approx(value, rel=1e-9)
    assert result.converged
    assert result.criterion[-1] <= tol


def least_objective(X, C, n_clusters, least, most):
    """The minimum over all labelings: all of their regressions in one convex problem."""
    T = np.hstack([targets_of(codes, n_clusters) for codes in labelings(len(X), n_clusters, least, most)])
    W, b = cp.Variable((X.shape[1], T.shape[1])), cp.Variable((1, T.shape[1]))
    columns = cp.sum(cp.square(W), axis=0) / 2 + C * cp.sum(
        cp.abs(T - X @ W - np.ones((len(X), 1)) @ b), axis=0
    )
    cp.Problem(cp.Minimize(cp.sum(columns))).solve(cp.CLARABEL)
    n_functions = 1 if n_clusters == 2 else n_clusters
    return columns.value.reshape(-1, n_functions).sum(axis=1).min()


@pytest.mark.parametrize(("n_rows", "n_clusters", "least"), [(8, 2, 3), (9, 2, 4), (6, 3, 2)])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_no_labeling_is_better_than_the_best_and_some_start_finds_it(n_rows, n_clusters, least, C):
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 2))
    most = n_rows - least * (n_clusters - 1)
    best = least_objective(X, C, n_clusters, least, most)
    found = [
        solve_iterative_svr(
            FeatureSpace(X),
            rng.integers(n_clusters, size=n_rows),
            C,
            least,
            most,
            n_clusters=n_clusters,
            tol=1e-6,
        ).objective[-1]
        for _ in range(30)
    ]
    assert min(found) >= best * (1 - 1e-6)
    assert min(found) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "centers", [[(-3.0, 0.0), (3.0, 1.0)], [(-4.0, 0.0, 0.0), (4.0, 0.0, 0.0), (0.0, 6.0, 0.0)]]
)
def test_blobs_from_a_noisy_start(centers, space):
    X, codes = blobs(0, centers)
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(len(codes)) < 0.3, rng.integers(len(centers), size=len(codes)), codes)
    assert (noisy != codes).sum() > 8
    result = solve_iterative_svr(SPACES[space](X), noisy, 0.1, 30, 60, n_clusters=len(centers))
    assert result.converged
    np.testing.assert_array_equal(result.detail.labels[0], codes)


def test_a_start_out_of_bounds_is_not_counted():
    """Clusters of unequal sizes cost less: were they counted, the objective would rise."""
    X, codes = blobs(2, [(-2.0, 0.0), (2.0, 0.0)], n_each=20)
    start = np.zeros(40, dtype=int)
    start[:2] = 1
    free = solve_iterative_svr(FeatureSpace(X), start, 0.1, 0, 40, max_iter=1)
    bound = solve_iterative_svr(FeatureSpace(X), start, 0.1, 20, 20)
    assert free.objective[0] < bound.objective.min()
    assert np.bincount(bound.detail.labels[0]).tolist() == [20, 20]
    assert max(np.mean(bound.detail.labels[0] == codes), np.mean(bound.detail.labels[0] != codes)) > 0.9


def test_bounds_of_each_cluster():
    X, _ = blobs(3, [(-2.0, 0.0), (2.0, 0.0)], n_each=20)
    start = np.arange(40) % 2
    least, most = np.array([25, 0]), np.array([40, 10])
    result = solve_iterative_svr(FeatureSpace(X), start, 0.1, least, most)
    assert np.bincount(result.detail.labels[0], minlength=2)[1] <= 10


def test_stopping_early():
    X, codes = blobs(4, [(-1.0, 0.0), (1.0, 0.0)], spread=1.0)
    start = np.arange(len(codes)) % 2
    cut = solve_iterative_svr(FeatureSpace(X), start, 0.1, 20, 60, tol=1e-9, max_iter=2)
    assert (cut.status, cut.n_iter, len(cut.objective)) == ("max_iter", 2, 2)
    stopped = solve_iterative_svr(FeatureSpace(X), start, 0.1, 20, 60, callback=lambda: True)
    assert (stopped.status, stopped.n_iter) == ("stopped", 1)

    def interrupt():
        raise KeyboardInterrupt

    interrupted = solve_iterative_svr(FeatureSpace(X), start, 0.1, 20, 60, callback=interrupt)
    assert interrupted.status == "interrupted"
    np.testing.assert_array_equal(interrupted.detail.labels[0], start)


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    rng = np.random.default_rng(0)
    space, start = FeatureSpace(rng.normal(size=(40, 3))), rng.integers(2, size=40)
    whole = solve_iterative_svr(space, start, 0.5, 10, 30, tol=1e-6)
    interrupted = interrupted_at(2, weakly.cluster._iterative_svr_solver._relabel)
    monkeypatch.setattr(weakly.cluster._iterative_svr_solver, "_relabel", interrupted)
    result = solve_iterative_svr(space, start, 0.5, 10, 30, tol=1e-6)
    assert result.status == "interrupted"
    n_kept = len(result.objective)
    assert 0 < n_kept < len(whole.objective)
    np.testing.assert_array_equal(result.objective, whole.objective[:n_kept])
    monkeypatch.setattr(weakly.cluster._iterative_svr_solver, "regression_of", lambda space: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # nothing but an interrupt is caught
        solve_iterative_svr(space, start, 0.5, 10, 30)
