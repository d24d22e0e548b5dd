"""The Cheeger iteration against all cuts and all labelings of small graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.variation import cut_ratio, labelings, median_ratio
from weakly.graphs import affinity_graph, neighbor_graph
from weakly.kernels import Kernel
from weakly.manifold._cheeger_solver import solve_cheeger
from weakly.manifold._resplit import sweep_cut
from weakly.solvers import solve_poisson
from weakly.spaces import KernelSpace, build_smoother


def planted(sizes, seed, *, between=0.05, spread=0.7):
    """Blobs with a few weak edges between them: graph, rows, classes and one labelled row of each."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    X = 3 * np.eye(len(sizes))[codes] + spread * rng.normal(size=(len(codes), len(sizes)))
    weights = rng.uniform(0.5, 1, (len(codes), len(codes)))
    weights *= np.where(codes[:, None] == codes, 1, between * (rng.random(weights.shape) < 0.5))
    lower = np.tril(weights, -1)
    labeled = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return affinity_graph(lower + lower.T), X, codes, labeled


def signs_of(codes, n_classes):
    columns = np.arange(n_classes) if n_classes > 2 else [1]
    return np.where(codes[:, None] == columns, 1.0, -1.0)


def solve(graph, X, rows, targets, *, start=None, shares=None, **options):
    smoother = build_smoother(KernelSpace(Kernel("rbf", gamma=0.2)(X)), 0.1)
    n_columns = targets.shape[1]
    shares = np.full(n_columns, 1 / max(n_columns, 2)) if shares is None else np.asarray(shares)
    start = solve_poisson(graph, rows, targets).x if start is None else start
    options = {"step": 1.0 if n_columns == 1 else 0.1, "shares": shares} | options
    return solve_cheeger(smoother, graph, rows, targets, np.ones(len(rows)), start, **options)


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("sizes", [(6, 6), (4, 8), (8, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_no_cut_with_these_labels_is_better(sizes, seed, loss):
    graph, X, codes, rows = planted(sizes, seed)
    W = graph.affinity.toarray()
    result = solve(graph, X, rows, signs_of(codes[rows], 2), loss=loss)
    cut = sweep_cut(graph, result.detail.graph_side[:, 0], rows, np.array([-1, 1]))
    best = min(cut_ratio(W, labels == 1) for labels in labelings(len(codes), 2, rows, codes[rows]))
    assert cut.ratio == pytest.approx(best)
    assert cut.n_wrong == 0


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("sizes", [(6, 5), (4, 4, 3)])
def test_energies_are_ratios_of_the_scores(sizes, loss):
    graph, X, codes, rows = planted(sizes, 1)
    W, targets = graph.affinity.toarray(), signs_of(codes[rows], len(sizes))
    for max_iter in (1, 2, 7):
        result = solve(graph, X, rows, targets, loss=loss, max_iter=max_iter, tol=0.0)
        assert (result.status, result.n_iter) == ("max_iter", max_iter)
        assert len(result.objective) == len(result.criterion) == max_iter + 1
        energy = sum(median_ratio(W, f) for f in result.detail.graph_side.T)
        assert result.objective[-1] == pytest.approx(energy)
    np.testing.assert_allclose(result.objective[:2], solve(
        graph, X, rows, targets, loss=loss, max_iter=1, tol=0.0
    ).objective)  # fmt: skip


def test_a_single_column_keeps_the_signs_of_labels():
    graph, X, codes, rows = planted((6, 6), 0)
    start = np.linspace(-1, 1, 12)[::-1, None].copy()  # against the labels
    result = solve(graph, X, rows, signs_of(codes[rows], 2), start=start)
    assert np.sign(result.detail.graph_side[rows, 0]).tolist() == [-1, 1]
    assert np.linalg.norm(result.detail.graph_side) == pytest.approx(np.sqrt(12))


def test_several_columns_are_indicators():
    graph, X, codes, rows = planted((5, 4, 3), 0)
    result = solve(graph, X, rows, signs_of(codes[rows], 3), shares=[0.5, 0.3, 0.2])
    np.testing.assert_array_equal(result.detail.graph_side[rows] > 0, np.eye(3, dtype=bool))
    assert result.detail.graph_side.min() >= 0
    np.testing.assert_allclose(
        np.linalg.norm(result.detail.graph_side, axis=0), np.sqrt(12 * np.array([0.5, 0.3, 0.2]))
    )


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("seed", range(2))
def test_no_labeling_in_three_classes_is_better(seed, loss):
    graph, X, codes, rows = planted((4, 4, 3), seed)
    W = graph.affinity.toarray()
    result = solve(graph, X, rows, signs_of(codes[rows], 3), loss=loss)

    def energy(labels):
        indicators = labels[:, None] == np.arange(3)
        cuts = np.einsum("ik,ij,jk->k", indicators, W, ~indicators)
        return (cuts / np.minimum(indicators.sum(axis=0), (~indicators).sum(axis=0))).sum()

    best = min(map(energy, labelings(len(codes), 3, rows, codes[rows])))
    assert energy(result.detail.graph_side.argmax(axis=1)) == pytest.approx(best)


@pytest.mark.parametrize("tol", [0.0, 1e-3, 0.1])
def test_converged_means_that_no_step_of_twenty_gained_more_than_the_tolerance(tol):
    graph, X, codes, rows = planted((8, 8, 8), 0)
    start = signs_of(np.arange(24) % 3, 3)  # against the classes
    result = solve(graph, X, rows, signs_of(codes[rows], 3), start=start, tol=tol)
    energies = result.objective
    gains = np.maximum(1 - energies[1:] / np.minimum.accumulate(energies)[:-1], 0)
    assert result.converged
    assert result.criterion[-1] == pytest.approx(gains[-20:].max())
    assert result.criterion[-1] <= tol
    assert (result.criterion[:20] == 1).all()


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_cut_for_nothing_ends_the_iteration(n_classes, loss):
    """No edge between the classes: the ratio is 0."""
    graph, X, codes, rows = planted((4,) * n_classes, 0, between=0.0)
    targets = signs_of(codes[rows], n_classes)
    result = solve(graph, X, rows, targets, start=signs_of(codes, n_classes), loss=loss)
    assert (result.status, result.n_iter) == ("converged", 0)
    assert result.objective.tolist() == [0.0]
    found = solve(graph, X, rows, targets, loss=loss)
    labels = found.detail.graph_side[:, 0] > 0 if n_classes == 2 else found.detail.graph_side.argmax(axis=1)
    np.testing.assert_array_equal(labels, codes)


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_isolated_rows_and_constant_starts(n_classes, loss):
    graph, X, codes, rows = planted((4,) * n_classes, 0)
    alone = affinity_graph(sp.block_diag([graph.affinity, np.zeros((2, 2))]))
    X, codes = np.vstack([X, X[:2] + 1]), np.append(codes, [0, 1])
    targets = signs_of(codes[rows], n_classes)
    for where, start in ((alone, None), (alone, np.zeros((len(codes), targets.shape[1])))):
        result = solve(where, X, rows, targets, start=start, loss=loss)
        assert all(np.isfinite(a).all() for a in (result.x, result.detail.graph_side, result.criterion))
        assert np.isfinite(result.objective[-1])
    empty = affinity_graph(np.zeros((len(codes), len(codes))))
    result = solve(empty, X, rows, targets, loss=loss, start=np.zeros((len(codes), targets.shape[1])))
    assert result.converged
    assert np.isfinite(result.detail.graph_side).all()


def test_the_callback_stops_and_so_does_an_interrupt():
    graph, X, codes, rows = planted((6, 6), 0)
    calls = []

    def stop(how):
        calls.append(1)
        if len(calls) % 4 == 0:
            return how()
        return False

    def interrupt():
        raise KeyboardInterrupt

    for how, status in ((lambda: True, "stopped"), (interrupt, "interrupted")):
        result = solve(graph, X, rows, signs_of(codes[rows], 2), tol=0.0, callback=lambda how=how: stop(how))
        assert (result.status, result.n_iter, len(result.objective)) == (status, 4, 5)


@pytest.mark.parametrize("loss", [None, "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_bad_start_is_left(n_classes, loss):
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(n_classes), 40)
    X = 6 * np.eye(n_classes)[codes] + rng.normal(size=(len(codes), n_classes))
    graph, rows = neighbor_graph(X, n_neighbors=8), np.arange(0, len(codes), 40)
    targets = signs_of(codes[rows], n_classes)
    start = signs_of(codes, n_classes) + 2 * rng.normal(size=(len(codes), targets.shape[1]))
    result = solve(graph, X, rows, targets, start=start, loss=loss)
    W = graph.affinity.toarray()
    energy = sum(median_ratio(W, f) for f in result.detail.graph_side.T)
    assert energy == pytest.approx(result.objective[-1])
    assert energy < 0.2 * result.objective[0]


def test_inputs_are_untouched():
    graph, X, codes, rows = planted((6, 6), 0)
    targets, start = signs_of(codes[rows], 2), np.linspace(-1, 1, 12)[:, None]
    copies = X.copy(), rows.copy(), targets.copy(), start.copy()
    solve(graph, X, rows, targets, start=start)
    for array, copy in zip((X, rows, targets, start), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
