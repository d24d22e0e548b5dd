"""The prox of total variation against cvxpy, closed forms and a NumPy twin."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.speed.primal_dual import prox_total_variation_reference
from weakly.graphs import Graph, affinity_graph, neighbor_graph
from weakly.solvers import Edges, project_simplex, prox_total_variation

PROXES = [prox_total_variation, prox_total_variation_reference]


def random_graph(seed, n_rows=12, density=0.3):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.1, 2, (n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < density), 1)
    return affinity_graph(weights + weights.T), rng


def solve_by_cvxpy(graph, v, weight):
    g = cp.Variable(len(v))
    objective = weight * cp.norm1(graph.incidence() @ g) + cp.sum_squares(g - v) / 2
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return g.value, problem.value


@pytest.mark.parametrize("prox", PROXES)
@pytest.mark.parametrize("weight", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_columns_match_cvxpy(prox, weight, seed):
    graph, rng = random_graph(seed)
    values = rng.normal(size=(12, 3))
    result = prox(Edges.of(graph), values, weight=weight, tol=1e-9, max_iter=200_000)
    assert result.status == "converged"
    assert 0 <= result.criterion[-1] <= 1e-9
    expected = [solve_by_cvxpy(graph, column, weight) for column in values.T]
    # Half the squared distance to the minimiser is at most the gap.
    distance = np.sqrt(2 * 1e-9 * result.objective[-1])
    np.testing.assert_allclose(result.x, np.column_stack([g for g, _ in expected]), atol=distance + 1e-5)
    assert result.objective[-1] == pytest.approx(sum(value for _, value in expected), rel=1e-6)


def test_dual_point_certifies_the_gap():
    graph, rng = random_graph(5)
    edges, values = Edges.of(graph), rng.normal(size=(12, 2))
    result = prox_total_variation(edges, values, weight=0.4, tol=1e-3)
    B = np.zeros((len(edges.heads), 12))
    B[np.arange(len(B)), edges.heads], B[np.arange(len(B)), edges.tails] = 1, -1
    assert (np.abs(result.detail.dual) <= 0.4 * edges.weights + 1e-12).all()
    np.testing.assert_allclose(result.x, values - B.T @ result.detail.dual.T, atol=1e-12)
    slopes = B @ result.x
    gaps = (0.4 * edges.weights[:, None] * np.abs(slopes) - result.detail.dual.T * slopes).sum(axis=0)
    objectives = 0.4 * edges.weights @ np.abs(B @ result.x) + ((result.x - values) ** 2).sum(axis=0) / 2
    assert result.criterion[-1] == pytest.approx(np.max(gaps / objectives), rel=1e-6)
    assert result.objective[-1] == pytest.approx(objectives.sum())


def numpy_twin(graph, v, weight, n_iter):
    """The same accelerated steps with dense matrices."""
    D = graph.incidence().toarray()
    weights = np.abs(D).max(axis=1)
    B = D / weights[:, None]
    bounds, steps = weight * weights, 1 / np.abs(B @ B.T).sum(axis=1)
    p = ahead = np.zeros(len(B))
    momentum = 1.0
    for _ in range(n_iter):
        moved = np.clip(ahead + steps * (B @ (v - B.T @ ahead)), -bounds, bounds)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        restart = ((ahead - moved) * (moved - p) / steps).sum() > 0
        ahead = moved if restart else moved + (momentum - 1) / following * (moved - p)
        p, momentum = moved, 1.0 if restart else following
    return v - B.T @ p


def test_compiled_steps_are_those_of_the_twin():
    graph, rng = random_graph(7)
    values = rng.normal(size=(12, 2))
    for n_iter in (1, 7, 40):
        result = prox_total_variation(Edges.of(graph), values, weight=0.7, tol=1e-300, max_iter=n_iter)
        twin = np.column_stack([numpy_twin(graph, column, 0.7, n_iter) for column in values.T])
        np.testing.assert_allclose(result.x, twin, atol=1e-12)
        assert (result.status, result.n_iter) == ("max_iter", n_iter)


def test_a_pair_meets_in_the_middle():
    """Each end moves by the weight until they meet."""
    pair = Edges.of(affinity_graph([[0, 2], [2, 0]]))
    for weight, expected in ((0.5, [1.0, 8.0]), (2.0, [4.0, 5.0]), (3.0, [4.5, 4.5])):
        result = prox_total_variation(pair, np.array([[0.0], [9.0]]), weight=weight, tol=1e-12)
        np.testing.assert_allclose(result.x.ravel(), expected, atol=1e-5)


@given(seed=st.integers(0, 10_000), shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_shifts_pass_through_and_scales_too(seed, shift, scale):
    graph, rng = random_graph(seed)
    edges, values = Edges.of(graph), rng.normal(size=(12, 1))
    plain = prox_total_variation(edges, values, weight=0.3, tol=1e-10, max_iter=20_000).x
    moved = prox_total_variation(
        edges, scale * values + shift, weight=scale * 0.3, tol=1e-12, max_iter=20_000
    ).x
    np.testing.assert_allclose(moved, scale * plain + shift, atol=1e-3)
    np.testing.assert_allclose(plain.mean(), values.mean(), atol=1e-10)


def test_parts_and_isolated_rows_keep_their_means():
    affinity = sp.block_diag([np.ones((3, 3)), np.ones((2, 2)), np.zeros((1, 1))], format="csr")
    values = np.arange(6.0)[:, None] ** 2
    smooth = prox_total_variation(
        Edges.of(affinity_graph(affinity)), values, weight=100.0, tol=1e-12
    ).x.ravel()
    np.testing.assert_allclose(smooth, [5 / 3] * 3 + [12.5] * 2 + [25.0], atol=1e-4)


def test_a_warm_start_has_little_left_to_do():
    X = np.random.default_rng(0).normal(size=(300, 3))
    edges, values = Edges.of(neighbor_graph(X)), X[:, :2]
    cold = prox_total_variation(edges, values, weight=0.2, tol=1e-6)
    warm = prox_total_variation(edges, values + 1e-4, weight=0.2, tol=1e-6, dual=cold.detail.dual)
    assert warm.n_iter < cold.n_iter / 2
    assert warm.criterion[0] < 1e-3 < cold.criterion[0]


def test_result_does_not_depend_on_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    edges = Edges.of(neighbor_graph(X))
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 3)
    several = prox_total_variation(edges, X, weight=0.2)
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 1)
    one = prox_total_variation(edges, X, weight=0.2)
    np.testing.assert_array_equal(one.x, several.x)


def test_awkward_graphs_and_types():
    values = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    nothing = prox_total_variation(Edges.of(Graph(sp.csr_array((4, 4)))), values, weight=1.0)
    np.testing.assert_array_equal(nothing.x, values)
    assert nothing.x.dtype == np.float32
    assert nothing.status == "converged"
    constant = prox_total_variation(Edges.of(random_graph(0)[0]), np.zeros((12, 1)))
    np.testing.assert_array_equal(constant.x, 0)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_bad_weights_are_named(weight):
    with pytest.raises(ValueError, match="weight"):
        prox_total_variation(Edges.of(random_graph(0)[0]), np.zeros((12, 1)), weight=weight)


def test_a_dual_of_another_graph_is_named():
    with pytest.raises(ValueError, match="dual has shape"):
        prox_total_variation(Edges.of(random_graph(0)[0]), np.zeros((12, 1)), dual=np.zeros((2, 3)))


def michelot(v):
    """Michelot's projection: drop negative entries and spread the rest, until none is negative."""
    kept = np.ones(len(v), dtype=bool)
    while True:
        shifted = np.where(kept, v - (v[kept].sum() - 1) / kept.sum(), 0)
        if (shifted >= 0).all():
            return shifted
        kept &= shifted > 0


@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_simplex_projection_is_michelots(seed, n_columns):
    values = np.random.default_rng(seed).normal(scale=2, size=(5, n_columns))
    projected = project_simplex(values)
    np.testing.assert_allclose(projected, [michelot(row) for row in values], atol=1e-12)
    np.testing.assert_allclose(projected.sum(axis=1), 1, atol=1e-12)


def test_simplex_projection_is_the_nearest_point():
    v = np.array([0.9, -0.3, 0.8, 0.1])
    x = cp.Variable(4)
    cp.Problem(cp.Minimize(cp.sum_squares(x - v)), [x >= 0, cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(project_simplex(v[None])[0], x.value, atol=1e-6)
