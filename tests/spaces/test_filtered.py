"""Weighted coordinates against explicit centred kernels."""

import numpy as np
import pytest
import scipy.sparse as sp

from weakly.spaces import Coordinates, FilteredSpace


def make(kind, rotated, seed=0, n_rows=12, n_values=5):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n_values)) * (rng.random((n_rows, n_values)) < 0.6) + 0.0
    rotation = rng.normal(size=(n_values, 3)) if rotated else None
    weights = rng.random(3 if rotated else n_values)
    weights[0] = 0.0
    held = sp.csr_array(values) if kind == "csr" else values
    Z = values - values.mean(axis=0)
    return (
        FilteredSpace(Coordinates(held, rotation=rotation), weights),
        Z @ rotation if rotated else Z,
        values,
    )


CASES = pytest.mark.parametrize(
    ("kind", "rotated"), [(k, r) for k in ("dense", "csr") for r in (False, True)]
)


@CASES
def test_kernel_is_that_of_centred_weighted_features(kind, rotated):
    space, Z, _ = make(kind, rotated)
    K = (Z * space.weights) @ Z.T
    rows = np.array([3, 0, 7])
    np.testing.assert_allclose(space.gram(rows), K[np.ix_(rows, rows)], atol=1e-12)
    np.testing.assert_allclose(space.coordinates.mean_squares, (Z**2).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(np.trace(space.scaled().gram(slice(None))) / space.n_rows, 1.0)


@CASES
def test_adjoint_and_norm_belong_to_the_kernel(kind, rotated):
    space, Z, _ = make(kind, rotated)
    K = (Z * space.weights) @ Z.T
    a = np.random.default_rng(1).normal(size=(space.n_rows, 2))
    theta = space.adjoint(a)
    np.testing.assert_allclose(space.scores(theta), K @ a, atol=1e-12)
    np.testing.assert_allclose(space.inner(theta, theta), np.einsum("ij,ij->j", a, K @ a), atol=1e-12)
    np.testing.assert_allclose(space.adjoint(a[:, 0]), theta[:, 0], atol=1e-12)
    rows = np.array([1, 4])
    np.testing.assert_allclose(
        space.representers(rows), space.adjoint(np.eye(space.n_rows)[:, rows]), atol=1e-12
    )
    np.testing.assert_allclose(space.scores(theta, rows), (K @ a)[rows], atol=1e-12)


@CASES
def test_new_rows_are_centred_by_the_training_rows(kind, rotated):
    space, Z, values = make(kind, rotated)
    theta = np.random.default_rng(1).normal(size=(space.n_params, 2))
    new = np.random.default_rng(2).normal(size=(4, values.shape[1]))
    given = sp.csr_array(new) if kind == "csr" else new
    centred = new - values.mean(axis=0)
    if rotated:
        centred = centred @ space.coordinates.rotation
    np.testing.assert_allclose(space.function(theta)(given), centred @ theta, atol=1e-12)
    np.testing.assert_allclose(space.induced(theta), Z @ theta, atol=1e-12)


def test_float32_values_stay_so():
    space, Z, values = make("dense", rotated=True)
    low = FilteredSpace(
        Coordinates(values.astype(np.float32), rotation=space.coordinates.rotation), space.weights
    )
    theta = np.ones((3, 1))
    assert low.scores(theta).dtype == np.float32
    assert low.gram([0, 1]).dtype == np.float64
    np.testing.assert_allclose(low.scores(theta), Z @ theta, atol=1e-5)


def test_a_kernel_of_zeros_is_not_scaled():
    space = FilteredSpace(Coordinates(np.ones((4, 2))), np.ones(2)).scaled()
    np.testing.assert_array_equal(space.gram(slice(None)), np.zeros((4, 4)))
