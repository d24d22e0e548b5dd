"""Sweeps, energies and new splits against loops over edges, levels and partitions."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.graphs import Graph, affinity_graph, neighbor_graph
from weakly.manifold import _resplit
from weakly.manifold._resplit import diffuse_codes, resplit_pairs, sweep_cut


def random_graph(rng, n_rows=10, density=0.4):
    weights = np.triu(rng.uniform(0.1, 2, (n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < density), 1)
    return affinity_graph(weights + weights.T)


def ratio_of(W, side):
    """Cheeger ratio of a set of rows, edge by edge."""
    n_rows = len(W)
    cut = sum(W[i, j] for i, j in product(range(n_rows), repeat=2) if side[i] and not side[j])
    return cut / min(sum(side), n_rows - sum(side))


def energy_of(W, codes):
    sides = [codes == k for k in np.unique(codes)]
    return sum(ratio_of(W, side) for side in sides if not side.all())


def sweep_by_loops(W, values, rows, signs, least_share):
    """Fewest wrong labels and lowest ratio among them, over the levels with enough rows on either side."""
    levels = sorted(set(values))[:-1]
    shares = [min(np.mean(values > level), np.mean(values <= level)) for level in levels]
    kept = [level for level, share in zip(levels, shares, strict=True) if share >= least_share] or levels
    wrong = [int(np.sum((values[rows] > level) != (signs > 0))) for level in kept]
    ratios = [ratio_of(W, values > level) for level, n in zip(kept, wrong, strict=True) if n == min(wrong)]
    return min(wrong), min(ratios)


@given(
    seed=st.integers(0, 10_000),
    n_values=st.integers(2, 12),
    n_labeled=st.integers(0, 6),
    least_share=st.sampled_from([0.0, 0.1, 0.3, 0.5]),
)
@settings(max_examples=100, deadline=None)
def test_sweep_tries_all_levels(seed, n_values, n_labeled, least_share):
    rng = np.random.default_rng(seed)
    graph, values = random_graph(rng), rng.integers(n_values, size=10) / 4  # with ties
    values[:2] = 0, 1
    rows, signs = rng.permutation(10)[:n_labeled], rng.choice([-1, 1], n_labeled)
    cut = sweep_cut(graph, values, rows, signs, least_share=least_share)
    W = graph.affinity.toarray()
    n_wrong, ratio = sweep_by_loops(W, values, rows, signs, least_share)
    assert cut.n_wrong == n_wrong == np.sum((values[rows] > cut.level) != (signs > 0))
    assert cut.ratio == pytest.approx(ratio, abs=1e-12)
    assert ratio_of(W, values > cut.level) == pytest.approx(ratio, abs=1e-12)
    assert not np.isin(cut.level, values)


def test_sweep_of_awkward_values():
    path = affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    constant = sweep_cut(path, np.full(3, 2.0), np.array([0, 1]), np.array([1, -1]))
    assert constant == (2.0, np.inf, 1)
    above = np.nextafter(1.0, 2)
    between = sweep_cut(path, np.array([1.0, above, above]))  # no float lies between the two values
    assert between == (1.0, 1.0, 0)
    assert sweep_cut(Graph(sp.csr_array((1, 1))), np.array([3.0])).ratio == np.inf
    assert sweep_cut(path, np.array([-1e308, 1e308, 1e308])).level == 0  # no overflow


def best_by_enumeration(W, rows, signs, least_share):
    """Lowest ratio of all partitions with the labels on their sides."""
    sides = (np.array(side) for side in product([False, True], repeat=len(W)))
    fair = (s for s in sides if min(s.mean(), 1 - s.mean()) >= least_share)
    return min(ratio_of(W, side) for side in fair if np.array_equal(side[rows], signs > 0))


@pytest.mark.parametrize("seed", range(5))
def test_two_blocks_are_cut_as_well_as_any_partition_does(seed):
    rng = np.random.default_rng(seed)
    weights = 0.02 * rng.random((11, 11))
    weights[:5, :5] += rng.uniform(0.5, 1, (5, 5))
    weights[5:, 5:] += rng.uniform(0.5, 1, (6, 6))
    graph = affinity_graph(np.tril(weights, -1) + np.tril(weights, -1).T)
    start, rows = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]), np.array([0, 10])
    result = resplit_pairs(graph, start, rows, np.array([0, 1]))
    W = graph.affinity.toarray()
    assert ratio_of(W, result.x == 1) == pytest.approx(best_by_enumeration(W, rows, np.array([-1, 1]), 0.2))
    assert result.x.tolist() == [0] * 5 + [1] * 6
    assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(result.objective, [energy_of(W, start)] + [energy_of(W, result.x)] * 2)
    np.testing.assert_array_equal(result.criterion, [1, 1, 0])


def blobs(n_per_blob, n_blobs, rng):
    centres = 6 * np.eye(n_blobs)
    codes = np.repeat(np.arange(n_blobs), n_per_blob)
    return neighbor_graph(centres[codes] + rng.normal(size=(len(codes), n_blobs)), n_neighbors=8), codes


def test_mixed_classes_are_told_apart():
    """Two blobs share a third of their rows, a third blob lost rows to a fourth."""
    rng = np.random.default_rng(0)
    graph, truth = blobs(150, 4, rng)
    start = np.where(truth < 2, (truth + (rng.random(600) < 0.35)) % 2, truth)
    start[(truth == 2) & (rng.random(600) < 0.4)] = 3
    rows = np.array([0, 150, 300, 450])
    start[rows] = truth[rows]
    result = resplit_pairs(graph, start, rows, truth[rows])
    assert result.status == "converged"
    assert np.mean(result.x == truth) > 0.99 > 0.8 > np.mean(start == truth)
    assert result.objective[-1] < 0.1 * result.objective[0]
    again = resplit_pairs(graph, start, rows, truth[rows])
    np.testing.assert_array_equal(result.x, again.x)


def test_a_good_start_stays():
    graph, truth = blobs(60, 3, np.random.default_rng(1))
    rows = np.array([0, 60, 120])
    result = resplit_pairs(graph, truth, rows, truth[rows])
    np.testing.assert_array_equal(result.x, truth)
    assert (result.status, result.n_iter) == ("converged", 0)


def test_labels_veto():
    """Each of two blobs holds labels of both classes: the cut between them would get half of them wrong."""
    rng = np.random.default_rng(2)
    graph, truth = blobs(60, 2, rng)
    start, rows = (truth + (rng.random(120) < 0.35)) % 2, np.arange(0, 120, 5)
    free = resplit_pairs(graph, start, rows[:0], start[rows[:0]])
    assert np.mean(free.x == truth) == 1
    bound = resplit_pairs(graph, start, rows, start[rows])
    np.testing.assert_array_equal(bound.x, start)


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 40),
    n_classes=st.integers(1, 26),
    density=st.sampled_from([0.0, 0.03, 0.1, 0.5]),
)
@settings(max_examples=80, deadline=None)
def test_any_small_graph_will_do(seed, n_rows, n_classes, density):
    rng = np.random.default_rng(seed)
    graph, codes = random_graph(rng, n_rows, density), rng.integers(n_classes, size=n_rows)
    rows = rng.permutation(n_rows)[:n_classes]
    row_codes = rng.integers(n_classes, size=len(rows))
    given_codes = codes.copy()
    result = resplit_pairs(graph, codes, rows, row_codes, max_iter=1)
    np.testing.assert_array_equal(codes, given_codes)
    assert np.isin(result.x, codes).all()
    assert np.sum(result.x[rows] != row_codes) <= np.sum(codes[rows] != row_codes)
    W = graph.affinity.toarray()
    expected = [energy_of(W, codes), energy_of(W, result.x)]
    np.testing.assert_allclose(result.objective[[0, -1]], expected, atol=1e-12)
    several = resplit_pairs(graph, codes, rows, row_codes)
    assert several.objective[-1] == pytest.approx(energy_of(W, several.x), abs=1e-12)


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_vectors_are_those_of_the_walk(n_parts, monkeypatch):
    """Dense and Lanczos vectors, and the non-symmetric walk itself, on graphs of one and more components."""
    rng = np.random.default_rng(0)
    parts = [neighbor_graph(rng.normal(size=(30 + 9 * k, 2))).affinity for k in range(n_parts)]
    graph = Graph(sp.csr_array(sp.block_diag(parts)))
    W = graph.affinity.toarray()
    joined = W + 0.1 * W.sum() / len(W) ** 2
    walk = joined / joined.sum(axis=1, keepdims=True)
    eigenvalues = np.sort(np.linalg.eigvals(walk).real)[::-1]
    for dense_rows, tol in ((1000, 1e-12), (0, 0.02)):
        monkeypatch.setattr(_resplit, "_DENSE_ROWS", dense_rows)
        vectors = _resplit._walk_vectors(graph, 3)
        misses = np.linalg.norm(walk @ vectors - vectors * eigenvalues[1:4], axis=0)
        assert (misses <= tol * np.linalg.norm(vectors, axis=0)).all()


def test_vectors_that_do_not_converge_are_left_out(monkeypatch):
    def give_up(*args, **kwargs):
        raise _resplit.ArpackNoConvergence("no", np.zeros(0), np.zeros((240, 0)))

    graph, truth = blobs(120, 2, np.random.default_rng(0))
    monkeypatch.setattr(_resplit, "eigsh", give_up)
    rows = np.array([0, 120])
    result = resplit_pairs(graph, 1 - truth, rows, truth[rows])
    assert result.n_iter == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_diffusion_is_a_power_of_the_walk(dtype):
    rng = np.random.default_rng(0)
    graph = affinity_graph(sp.block_diag([random_graph(rng).affinity, np.zeros((1, 1))]).astype(dtype))
    codes, rows, row_codes = rng.integers(3, size=11), np.array([2, 5]), np.array([0, 1])
    soft = diffuse_codes(graph, codes, rows, row_codes, 3, n_steps=4)
    W = graph.affinity.toarray()
    W[10, 10] = 1  # a row without neighbours stays where it is
    start = np.eye(3)[codes]
    start[rows] = np.eye(3)[row_codes]
    expected = np.linalg.matrix_power(W / W.sum(axis=1, keepdims=True), 4) @ start
    np.testing.assert_allclose(soft, expected, atol=1e-6)
    assert soft.dtype == dtype
    np.testing.assert_allclose(soft.sum(axis=1), 1, atol=1e-6)
