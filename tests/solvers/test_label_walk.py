"""Probabilities of classes along a walk, against dense algebra and against walks themselves."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.exact import solve_exactly
from tests.solvers.test_poisson import random_graph
from weakly.graphs import Graph, neighbor_graph
from weakly.solvers import solve_label_walk


def walk_densely(graph, codes, n_classes, alpha_labeled, alpha_unlabeled):
    """[plsvm] Eq. (6), third line; the walk from a row without edges ends there."""
    W = graph.affinity.toarray().astype(float)
    degrees = W.sum(axis=1)
    scaled = W / np.sqrt(np.outer(np.where(degrees > 0, degrees, 1), np.where(degrees > 0, degrees, 1)))
    sums = scaled.sum(axis=1, keepdims=True)
    P = np.divide(scaled, sums, out=np.zeros_like(scaled), where=sums > 0)
    alpha = np.where(codes >= 0, alpha_labeled, alpha_unlabeled) * (degrees > 0)
    Y = np.eye(n_classes + 1)[np.where(codes >= 0, codes, n_classes)]
    return np.linalg.solve(np.eye(len(W)) - alpha[:, None] * P, (1 - alpha)[:, None] * Y)


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 4),
    alpha_labeled=st.sampled_from([0.0, 1e-4, 0.5]),
    alpha_unlabeled=st.sampled_from([0.0, 0.6, 0.9999]),
    method=st.sampled_from(["direct", "iterative"]),
)
@settings(max_examples=60, deadline=None)
def test_the_same_as_dense_algebra(seed, n_classes, alpha_labeled, alpha_unlabeled, method):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, density=rng.choice([0.08, 0.15, 0.4]))  # from crumbs to one component
    codes = np.where(rng.random(14) < 0.4, rng.integers(n_classes, size=14), -1)
    alphas = {"alpha_labeled": alpha_labeled, "alpha_unlabeled": alpha_unlabeled}
    result = solve_label_walk(graph, codes, n_classes, **alphas, method=method, tol=1e-12)
    assert result.converged
    np.testing.assert_allclose(result.x, walk_densely(graph, codes, n_classes, **alphas), atol=1e-8)
    assert result.x.min() >= 0
    np.testing.assert_allclose(result.x.sum(axis=1), 1, rtol=1e-14)


def test_walks_end_as_often_as_it_says():
    """Ten thousand walks from one row of a small graph."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, n_rows=6, density=0.7)
    codes = np.array([-1, 0, 1, -1, -1, -1])
    W = graph.affinity.toarray()
    scaled = W / np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1)))
    P = scaled / scaled.sum(axis=1, keepdims=True)
    ends = np.zeros(3)
    for _ in range(10_000):
        at = 0
        while rng.random() < (0.3 if codes[at] >= 0 else 0.9):
            at = rng.choice(6, p=P[at])
        ends[codes[at] if codes[at] >= 0 else 2] += 1
    F = solve_label_walk(graph, codes, 2, alpha_labeled=0.3, alpha_unlabeled=0.9).x
    np.testing.assert_allclose(ends / 10_000, F[0], atol=0.02)


def test_labels_stand_or_are_overruled():
    """Twenty rows in one clump, a wrong label among nine right ones."""
    rng = np.random.default_rng(1)
    graph = neighbor_graph(rng.normal(size=(20, 2)), n_neighbors=6)
    codes = np.full(20, -1)
    codes[:10] = 0
    codes[0] = 1
    standing = solve_label_walk(graph, codes, 2).x
    np.testing.assert_array_equal(standing[:10, :2], np.eye(2)[codes[:10]])
    corrected = solve_label_walk(graph, codes, 2, alpha_labeled=0.9).x
    assert corrected[0].argmax() == 0
    assert (corrected[1:10].argmax(axis=1) == 0).all()


def test_a_large_graph_by_iterations():
    """More rows than are factored: the same as power iteration on Eq. (6)."""
    X = np.random.default_rng(0).normal(size=(2500, 3))
    graph, codes = neighbor_graph(X.astype(np.float32)), np.full(2500, -1)
    codes[:6] = [0, 0, 1, 1, 2, 2]
    result = solve_label_walk(graph, codes, 3, alpha_unlabeled=0.9)
    assert result.n_iter > 5
    W = graph.affinity.astype(float)
    root = sp.diags_array(1 / np.sqrt(np.asarray(W.sum(axis=1)).ravel()))
    scaled = root @ W @ root
    P = sp.diags_array(1 / np.asarray(scaled.sum(axis=1)).ravel()) @ scaled
    alpha, Y = np.where(codes >= 0, 0, 0.9)[:, None], np.eye(4)[np.where(codes >= 0, codes, 3)]
    F = Y
    for _ in range(300):
        F = alpha * (P @ F) + (1 - alpha) * Y
    np.testing.assert_allclose(result.x, F, atol=1e-7)
    cut = solve_label_walk(graph, codes, 3, max_iter=3)
    assert cut.status == "max_iter"
    np.testing.assert_allclose(cut.x.sum(axis=1), 1)


def test_what_is_wrong_is_said():
    graph, codes = neighbor_graph(np.arange(8.0)[:, None], n_neighbors=2), np.array([0, 1] + [-1] * 6)
    with pytest.raises(ValueError, match=r"alpha_unlabeled is 1\.0"):
        solve_label_walk(graph, codes, 2, alpha_unlabeled=1.0)
    with pytest.raises(ValueError, match="method is 'fast'"):
        solve_label_walk(graph, codes, 2, method="fast")
    negative = Graph(sp.csr_array(np.array([[0, 5, -4.0], [5, 0, 0], [-4.0, 0, 0]])))
    with pytest.raises(ValueError, match="weights of the graph must be positive"):
        solve_label_walk(negative, np.array([-1, 0, 1]), 2)


@pytest.mark.parametrize("method", ["direct", "iterative"])
@pytest.mark.parametrize("ends", [2.0**-20, 2.0**-40, 2.0**-50])
def test_walks_that_hardly_ever_end(method, ends):
    """Two rings of rows, one with labels of two classes, the other with one label."""
    sizes = 8, 5
    ring = sp.block_diag([np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0) for n in sizes])
    codes = np.full(13, -1)
    codes[[0, 1, 4, 9]] = 0, 0, 1, 1
    alpha = 1 - ends
    result = solve_label_walk(
        Graph(sp.csr_array(ring)), codes, 2, alpha_labeled=alpha, alpha_unlabeled=alpha, method=method
    )
    step = [[Fraction(alpha) * int(weight) / 2 for weight in row] for row in ring.toarray()]
    matrix = [[int(i == j) - part for j, part in enumerate(row)] for i, row in enumerate(step)]
    sides = [[Fraction(ends) * int(kind == column) for column in (0, 1, -1)] for kind in codes]
    np.testing.assert_allclose(result.x, solve_exactly(matrix, sides), rtol=1e-6, atol=1e-9)
