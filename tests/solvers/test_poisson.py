"""The Poisson solution against dense pseudo-inverses, component by component."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.brute_graph import reachable
from weakly.graphs import Graph, affinity_graph, neighbor_graph
from weakly.solvers import solve_poisson


def random_graph(rng, n_rows=14, density=0.25):
    weights = np.triu(rng.uniform(0.1, 2, (n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < density), 1)
    return affinity_graph(weights + weights.T)


def solve_densely(graph, rows, targets):
    """Potential of each component by its pseudo-inverse, with the moments of the component's targets."""
    W = graph.affinity.toarray().astype(float)
    joined, x = reachable(W), np.zeros((len(W), targets.shape[1]))
    for i in range(len(W)):
        part, labeled = np.flatnonzero(joined[i]), np.flatnonzero(joined[i][rows])
        if len(labeled) == 0:
            continue
        y = targets[labeled]
        sources = np.zeros_like(x)
        sources[rows[labeled]] = y - y.mean(axis=0)
        inside = W[np.ix_(part, part)]
        u = np.linalg.pinv(np.diag(inside.sum(axis=1)) - inside) @ sources[part]
        spread = u.std(axis=0)
        unit = (u - u.mean(axis=0)) / np.where(spread > 1e-12, spread, 1)
        x[part] = y.mean(axis=0) + y.std(axis=0) * unit - targets.mean(axis=0)
    return x


@given(
    seed=st.integers(0, 10_000), n_classes=st.integers(1, 4), n_labeled=st.integers(1, 8), signs=st.booleans()
)
@settings(max_examples=60, deadline=None)
def test_columns_match_the_pseudo_inverse(seed, n_classes, n_labeled, signs):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, density=rng.choice([0.08, 0.15, 0.4]))  # from crumbs to one component
    rows = rng.permutation(14)[:n_labeled]
    targets = np.eye(n_classes)[rng.integers(n_classes, size=n_labeled)]
    targets = 2 * targets[:, :1] - 1 if signs else targets
    result = solve_poisson(graph, rows, targets, tol=1e-10)
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, solve_densely(graph, rows, targets), atol=1e-7)


def test_histories_are_those_of_the_potential():
    rng = np.random.default_rng(3)
    graph, rows = neighbor_graph(rng.normal(size=(40, 2))), np.array([0, 5, 9])
    targets, L = np.eye(3), graph.laplacian("unnormalized").toarray()
    result = solve_poisson(graph, rows, targets, tol=1e-9)
    sources = np.zeros((40, 3))
    sources[rows] = targets - targets.mean(axis=0)
    least = -np.sum(sources * (np.linalg.pinv(L) @ sources)) / 2  # graph of one component
    assert graph.components.max() == 0
    assert result.objective[-1] == pytest.approx(least, rel=1e-9)
    assert (np.diff(result.objective) <= 0).all()
    assert result.criterion[0] == 1
    assert result.criterion[-1] <= 1e-9 < result.criterion[-2]
    assert len(result.criterion) == result.n_iter + 1


def test_a_run_cut_short_says_so():
    graph = neighbor_graph(np.random.default_rng(0).normal(size=(60, 2)))
    result = solve_poisson(graph, np.array([0, 1]), np.eye(2), max_iter=3)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    assert result.criterion[-1] > 1e-4
    assert np.isfinite(result.x).all()
    nothing = solve_poisson(graph, np.array([0, 1]), np.eye(2), max_iter=0)
    np.testing.assert_array_equal(nothing.x, 0)


def test_components_follow_their_labels():
    """Two blocks, a pair without labels and a lonely row, which at last has the only label of a class."""
    blocks = [np.ones((4, 4)), np.ones((3, 3)), np.ones((2, 2)), np.zeros((1, 1))]
    graph = affinity_graph(sp.block_diag(blocks, format="csr"))
    one_hot = solve_poisson(graph, np.array([0, 1, 4, 5]), np.eye(2)[[0, 0, 1, 1]])
    assert (one_hot.status, one_hot.n_iter) == ("converged", 0)  # no sources are left
    np.testing.assert_allclose(one_hot.x[:7, 0], [0.5] * 4 + [-0.5] * 3)
    np.testing.assert_array_equal(one_hot.x[7:], 0)
    signs = solve_poisson(graph, np.array([0, 1, 4]), np.array([[-1.0], [-1.0], [1.0]])).x
    assert (signs[:4] < 0).all()
    assert (signs[4:7] > 0).all()
    rare = solve_poisson(graph, np.array([0, 3, 9]), np.eye(3)).x
    assert rare.argmax(axis=1)[[0, 3, 9]].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(rare[4:9], 0)


def test_single_precision_keeps_its_type_and_the_answer():
    X = np.random.default_rng(0).normal(size=(500, 3))
    rows, targets = np.arange(4), np.eye(4)
    fine = solve_poisson(neighbor_graph(X), rows, targets, tol=1e-9)
    coarse = solve_poisson(neighbor_graph(X.astype(np.float32)), rows, targets.astype(np.float32))
    assert (fine.x.dtype, coarse.x.dtype) == (np.float64, np.float32)
    assert coarse.status == "converged"
    np.testing.assert_allclose(coarse.x, fine.x, atol=2e-3)
    whole_numbers = solve_poisson(neighbor_graph(X), rows, targets.astype(int), tol=1e-9)
    np.testing.assert_allclose(whole_numbers.x, fine.x, atol=1e-12)


def test_single_precision_does_not_drift():
    """The Laplacian does not hold constants back, to which the rounding of many steps would add up."""
    X = np.random.default_rng(1).normal(size=(80, 2)).astype(np.float32)
    graph, rows = neighbor_graph(X), np.arange(3)
    targets = np.eye(3, dtype=np.float32)
    drifting = solve_poisson(graph, rows, targets, tol=1e-12)
    assert drifting.status == "converged"
    np.testing.assert_allclose(drifting.x, solve_densely(graph, rows, targets), atol=1e-5)


def test_empty_graphs_and_no_labels():
    empty = Graph(sp.csr_array((3, 3)))
    result = solve_poisson(empty, np.array([0, 2]), np.eye(2))
    np.testing.assert_array_equal(result.x, [[0.5, -0.5], [0, 0], [-0.5, 0.5]])
    none = solve_poisson(empty, np.zeros(0, dtype=int), np.zeros((0, 2)))
    np.testing.assert_array_equal(none.x, 0)
