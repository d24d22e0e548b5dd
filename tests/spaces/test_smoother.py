"""The function nearest to given values, against the dense closed form."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.kernels import Kernel
from weakly.spaces import CorrectedSpace, KernelSpace, build_smoother

KINDS = ["kernel", "features", "csr"]


def make_space(rng, kind, n_rows):
    """Return a space and its dense kernel."""
    Z = rng.normal(size=(n_rows, 3))
    if kind == "kernel":
        gram = Kernel("rbf", gamma=0.3)(Z)
        return KernelSpace(gram), gram
    Z *= rng.random(Z.shape) < 0.7
    return CorrectedSpace(sp.csr_array(Z) if kind == "csr" else Z, 0.4), Z @ Z.T + 0.4 * np.eye(n_rows)


@given(
    seed=st.integers(0, 2**16),
    kind=st.sampled_from(KINDS),
    n_rows=st.integers(2, 30),
    penalty=st.sampled_from([0.01, 0.1, 1.0, 30.0]),
    n_columns=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_smoother_is_its_closed_form(seed, kind, n_rows, penalty, n_columns):
    rng = np.random.default_rng(seed)
    space, K = make_space(rng, kind, n_rows)
    smooth = build_smoother(space, penalty)
    G = K @ np.linalg.inv(K + penalty * np.eye(n_rows))
    values = rng.normal(size=(n_rows, n_columns))
    scores, rows = smooth(values), rng.permutation(n_rows)[: n_rows // 2 + 1]
    assert scores.dtype == values.dtype
    np.testing.assert_allclose(scores, G @ values, atol=1e-5)
    near, pull = [], rng.normal(size=(len(rows), n_columns))
    moved, moved_scores = smooth.adapt(values, rows, lambda scores: near.append(scores) or pull)
    np.testing.assert_allclose(near[0], (G @ values)[rows], atol=1e-5)
    expected = values.copy()
    expected[rows] += pull
    np.testing.assert_array_equal(moved, expected)
    np.testing.assert_allclose(moved_scores, G @ expected, atol=1e-5)
    np.testing.assert_allclose(smooth.block(rows), G[np.ix_(rows, rows)], atol=1e-5)
    # In float32 inside, and divided by the penalty.
    theta = smooth.parameters(values, scores)
    np.testing.assert_allclose(K @ theta, scores, atol=1e-5 * max(1, np.abs(K).sum(axis=1).max() / penalty))
    np.testing.assert_allclose(
        theta, np.linalg.solve(K + penalty * np.eye(n_rows), values), atol=1e-5 / penalty
    )


@pytest.mark.parametrize("kind", KINDS)
def test_smoother_minimises_distance_and_norm(kind):
    """The sum it stands for has no gradient at its answer."""
    rng = np.random.default_rng(0)
    space, K = make_space(rng, kind, 15)
    values = rng.normal(size=(15, 2))
    smooth = build_smoother(space, 0.5)
    scores = smooth(values)
    np.testing.assert_allclose(scores - values + 0.5 * np.linalg.solve(K, scores), 0, atol=1e-3)


def test_halves_of_a_large_matrix_are_mirrored_in_blocks(monkeypatch):
    monkeypatch.setattr("weakly.rows._arrays._BLOCK", 7)
    space, K = make_space(np.random.default_rng(1), "kernel", 31)
    matrix = build_smoother(space, 0.2).block(np.arange(31))
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, K @ np.linalg.inv(K + 0.2 * np.eye(31)), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_values_and_features(kind):
    rng = np.random.default_rng(2)
    space, K = make_space(rng, kind, 12)
    if kind != "kernel":
        space = CorrectedSpace(space.features.astype(np.float32), space.variance)
    values = rng.normal(size=(12, 2)).astype(np.float32)
    scores = build_smoother(space, 0.5)(values)
    np.testing.assert_allclose(scores, K @ np.linalg.solve(K + 0.5 * np.eye(12), values), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_untouched(kind):
    space, K = make_space(np.random.default_rng(3), kind, 10)
    values = np.ones((10, 1))
    smooth = build_smoother(space, 0.5)
    smooth(values), smooth.adapt(values, np.array([1]), np.ones_like), smooth.block(np.array([0]))
    np.testing.assert_array_equal(values, 1)
    after = space.gram if kind == "kernel" else (space.features @ space.features.T) + 0.4 * np.eye(10)
    np.testing.assert_allclose(after, K, atol=1e-14)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.inf, np.nan])
def test_the_penalty_must_be_positive(penalty):
    with pytest.raises(ValueError, match=f"penalty is {penalty}"):
        build_smoother(KernelSpace(np.eye(2)), penalty)


def test_an_indefinite_kernel_is_named():
    with pytest.raises(ValueError, match="kernel is not positive semi-definite"):
        build_smoother(KernelSpace(np.array([[1.0, 3.0], [3.0, 1.0]])), 0.5)
