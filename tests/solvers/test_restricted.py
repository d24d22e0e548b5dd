"""Laplacian problems by way of the labeled samples: what the record says of the factorization."""

import numpy as np
import pytest

from weakly.graphs import anchor_graph, neighbor_graph
from weakly.solvers import solve_restricted
from weakly.spaces import FeatureSpace, KernelSpace, deform


@pytest.mark.parametrize(("graph", "status"), [(1.0, "converged"), (1e6, "stalled")])
@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_an_inexact_factorization_is_the_criterion(graph, status, loss):
    """The labeled samples are solved for exactly; what cannot be trusted is the way to all others."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 10)
    space = deform(KernelSpace(gram), neighbor_graph(X).laplacian(), ambient=1e-9, graph=graph)
    rows, y = np.arange(8), np.where(X[:8, :1] > 0, 1.0, -1.0)
    result = solve_restricted(space, rows, y, np.ones(8), loss=loss)
    assert result.status == status
    assert (result.criterion[-1] <= 1e-6) == (status == "converged")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_is_no_error_of_the_factorization(dtype):
    """Anchors of float32 samples under a heavy penalty: the same scores as in float64, and no complaint."""
    X = np.random.default_rng(0).normal(size=(150, 2)).astype(dtype)
    rows, y = np.arange(8), np.where(X[:8, :1] > 0, 1.0, -1.0)
    graph = anchor_graph(X, n_anchors=30, n_neighbors=3, random_state=0)
    Z = graph.weights.toarray().astype(np.float64)
    np.testing.assert_allclose(graph.gram, Z.T @ Z, rtol=1e-14)
    space = deform(FeatureSpace(graph.weights), graph.laplacian(), ambient=1e-3, graph=1e3)
    result = solve_restricted(space, rows, y, np.ones(8))
    laplacian = np.eye(150) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    normal = Z[rows].T @ Z[rows] + 1e-3 * np.eye(30) + 1e3 * Z.T @ laplacian @ Z
    expected = np.linalg.solve(normal, Z[rows].T @ y)
    np.testing.assert_allclose(result.x, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert (result.status, result.criterion[-1] <= 1e-6) == ("converged", True)
