"""The namespace of arrays: the same answers for NumPy and tensors, those of dense algebra."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from weakly.graphs import anchor_graph, neighbor_graph
from weakly.rows._arrays import cast, namespace, namespace_on, to_host
from weakly.solvers import Edges, prox_total_variation
from weakly.solvers._tv_prox import ascend_columns

both_kinds = pytest.mark.parametrize("device", [None, "cpu"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@both_kinds
def test_sums_of_stretches(rng, device):
    xp, values = namespace_on(device), rng.normal(size=(9, 2))
    starts = np.array([0, 0, 4, 4, 5, 9, 9])  # the first, the third and the last are empty
    wanted = [values[i:j].sum(axis=0) for i, j in pairwise(starts)]
    np.testing.assert_allclose(to_host(xp.segment_sums(xp.place(values), xp.place(starts))), wanted)
    none = xp.segment_sums(xp.place(values[:0]), xp.place(np.zeros(3, dtype=np.int64)))
    np.testing.assert_array_equal(to_host(none), np.zeros((2, 2)))


@both_kinds
def test_flows_are_pulled_back_by_the_incidence_matrix(rng, device):
    affinity = neighbor_graph(rng.normal(size=(30, 2)), n_neighbors=3).affinity.tolil()
    affinity[7], affinity[:, 7] = 0, 0  # a sample without edges
    heads, tails = np.nonzero(np.triu(affinity.toarray()))
    B = np.zeros((len(heads), 30))
    B[np.arange(len(B)), heads], B[np.arange(len(B)), tails] = 1, -1
    weights = affinity.toarray()[heads, tails]
    edges = Edges(heads, tails, weights, np.abs(B).sum(axis=0).astype(int)).to(device)
    values, flows = rng.normal(size=(30, 2)), rng.normal(size=(len(B), 2))
    np.testing.assert_allclose(to_host(edges.differences(edges.place(values))), B @ values)
    np.testing.assert_allclose(to_host(edges.pull_back(edges.place(flows))), B.T @ flows, atol=1e-14)
    np.testing.assert_allclose(
        to_host(edges.variations(edges.place(values))), weights @ np.abs(B @ values), rtol=1e-12
    )


def test_ascent_on_whole_arrays_takes_the_steps_of_compiled_loops(rng):
    edges, values = Edges.of(neighbor_graph(rng.normal(size=(40, 2)))), rng.normal(size=(40, 3))
    for dual in (None, rng.normal(size=(3, len(edges.heads)))):
        wanted = prox_total_variation(edges, values, weight=0.5, dual=dual, tol=1e-6)
        found = ascend_columns(edges, values, 0.5, dual, 1e-6, 1000)
        assert (found.n_iter, found.status) == (wanted.n_iter, wanted.status)
        np.testing.assert_allclose(found.x, wanted.x, atol=1e-10)
        np.testing.assert_allclose(found.detail.dual, wanted.detail.dual, atol=1e-10)


@both_kinds
@pytest.mark.parametrize("n_values", [4, 5])
def test_median_is_the_mean_of_the_two_in_the_middle(rng, device, n_values):
    values = rng.normal(size=(n_values, 3))
    xp = namespace_on(device)
    found = to_host(xp.median(xp.place(values), axis=0))
    np.testing.assert_array_equal(found, np.median(values, axis=0))


@both_kinds
def test_factorizations_solve_in_the_kind_they_are_asked_in(rng, device):
    xp, A = namespace_on(device), rng.normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    C = np.linalg.cholesky(A)
    solve, root_solve = xp.cholesky_factor(xp.place(A.copy()))
    for right in (rng.normal(size=5), rng.normal(size=(5, 2))):
        for matrix, found in ((A, solve), (C, root_solve), (A, xp.lu_factor(xp.place(A.copy())))):
            np.testing.assert_allclose(found(right), np.linalg.solve(matrix, right), atol=1e-10)
            if device is not None:
                assert isinstance(found(torch.from_numpy(right)), torch.Tensor)
    assert xp.cholesky_factor(xp.place(-A)) is None


@both_kinds
def test_resolvent_is_its_closed_form(rng, device):
    xp, A = namespace_on(device), rng.normal(size=(6, 6))
    A = A @ A.T
    found = to_host(xp.resolvent(xp.place(A), 0.3, scale=-0.2, dtype=np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.eye(6) - 0.2 * np.linalg.inv(A + 0.3 * np.eye(6)), atol=1e-6)
    assert xp.resolvent(xp.place(-A), 0.3, scale=1.0, dtype=np.float32) is None


@both_kinds
def test_products_take_the_wider_type(rng, device):
    xp = namespace_on(device)
    matrix = xp.place(rng.normal(size=(4, 3)).astype(np.float32))
    values = rng.normal(size=(3, 2))
    found = xp.product(matrix, values)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, to_host(matrix).astype(np.float64) @ values, rtol=1e-14)
    assert xp.long_product(matrix, values).dtype == np.float64


@both_kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laplacians_multiply_where_the_values_are(rng, device, dtype):
    X = rng.normal(size=(60, 2))
    anchored = anchor_graph(X, n_anchors=12, random_state=0)
    dense = (np.eye(60) - anchored.affinity.toarray(), neighbor_graph(X).laplacian().toarray())
    xp, atol = namespace_on(device), 1e-5 if dtype == np.float32 else 1e-12
    values = rng.normal(size=(60, 3)).astype(dtype)
    for matrix, laplacian in zip(dense, (anchored.laplacian(), sp.csr_array(dense[1])), strict=True):
        found = xp.operator(laplacian, dtype) @ xp.place(values)
        assert to_host(found).dtype == dtype or device is None
        np.testing.assert_allclose(to_host(found), matrix @ values, atol=atol)
    smoothness = to_host(anchored.laplacian().smoothness(xp.place(values)))
    assert smoothness.dtype == np.float64
    np.testing.assert_allclose(smoothness, values.T @ dense[0] @ values, atol=60 * atol)


def test_names_of_either_library(rng):
    values = rng.normal(size=(3, 2))
    for array in (values, torch.from_numpy(values)):
        xp = namespace(array)
        assert xp.largest(array) == np.abs(values).max()
        assert xp.largest(array[:0]) == 0
        assert to_host(cast(array, np.float32)).dtype == np.float32
        np.testing.assert_array_equal(to_host(xp.clip(array, 0, None)), values.clip(0))
