"""Cuts of a graph by Cheeger ratio: thresholds of a column of values, and new splits of pairs of classes.

The Cheeger ratio of a set ``S`` of rows is ``cut(S) / min(|S|, n - |S|)``, the weight of the edges that leave
it per row of the smaller side. With one label per class a start may cut a graph in the wrong place, and total
variation stays near its start. The lowest cuts do not need labels: eigenvectors of the random walk find them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from weakly.graphs import Graph
from weakly.solvers._result import SolverResult

_GAIN = 0.02  # part of the ratio that a new split must save
_CLEAR_TILT = 0.3  # difference of the start between two parts, of at most 2, that names them
_JOIN = 0.1  # part of the mean degree that joins all rows evenly, against stray tiny sets
_DENSE_ROWS = 200  # up to this many, all eigenvectors are as fast as a few


class SweepCut(NamedTuple):
    """A threshold of values on a graph: those above ``level`` are on the positive side.

    ``ratio`` is the Cheeger ratio of that side, infinite where values are constant; ``n_wrong`` counts
    labeled samples on the wrong side.
    """

    level: float
    ratio: float
    n_wrong: int


def sweep_cut(
    graph: Graph,
    values: np.ndarray,
    rows: np.ndarray | None = None,
    signs: np.ndarray | None = None,
    *,
    least_share: float = 0.0,
) -> SweepCut:
    """Find the threshold of a column of values with the lowest Cheeger ratio, midway between two of them.

    Of the levels, only those count that leave as few labeled samples as possible on the wrong side; positive
    ``signs`` belong above. ``least_share`` is the least fraction of the samples on either side; where ties
    allow no such level, any other is taken.
    """
    n_rows = graph.n_rows
    order = np.argsort(values, kind="stable")
    ordered, rank = values[order].astype(np.float64), np.empty(n_rows, dtype=np.intp)
    rank[order] = np.arange(n_rows)
    wrong = _count_wrong(rank, rows, signs)
    allowed = ordered[1:] > ordered[:-1]  # entry t: rows 0 .. t of the order are below the level
    if not allowed.any():
        return SweepCut(float(ordered[0]) if n_rows else 0.0, np.inf, int(wrong[-1]) if n_rows else 0)
    below = np.arange(1, n_rows)
    smaller = np.minimum(below, n_rows - below)
    large = allowed & (smaller >= least_share * n_rows)
    allowed = large if large.any() else allowed
    allowed = allowed & (wrong[:-1] == wrong[:-1][allowed].min())
    ratios = np.where(allowed, _cuts(graph, rank) / smaller, np.inf)
    best = int(ratios.argmin())
    middle = ordered[best] / 2 + ordered[best + 1] / 2
    level = middle if middle < ordered[best + 1] else ordered[best]  # between neighboring floats is nothing
    return SweepCut(float(level), float(ratios[best]), int(wrong[best]))


def _cuts(graph: Graph, rank: np.ndarray) -> np.ndarray:
    """Weight of the edges from the first ``t + 1`` rows of an order to the others, for all ``t``."""
    heads, tails, weights = graph.edges
    first, last = np.minimum(rank[heads], rank[tails]), np.maximum(rank[heads], rank[tails])
    changes = np.bincount(first, weights, len(rank)) - np.bincount(last, weights, len(rank))
    cuts = np.cumsum(changes)[:-1]
    return np.where(cuts > 1e-12 * weights.sum(), cuts, 0)  # what is left between components is rounding


def _count_wrong(rank: np.ndarray, rows: np.ndarray | None, signs: np.ndarray | None) -> np.ndarray:
    """Labeled rows on the wrong side when the first ``t + 1`` rows of an order are below the level."""
    if rows is None or signs is None:
        return np.zeros(len(rank), dtype=np.intp)
    up = np.bincount(rank[rows[signs > 0]], minlength=len(rank))
    down = np.bincount(rank[rows[signs <= 0]], minlength=len(rank))
    return np.cumsum(up - down) + down.sum()


def diffuse_codes(
    graph: Graph,
    codes: np.ndarray,
    rows: np.ndarray,
    row_codes: np.ndarray,
    n_classes: int,
    *,
    n_steps: int = 15,
) -> np.ndarray:
    """Soften classes by some steps of the random walk: the chance to be at a sample of each class after it.

    The classes of the labeled samples, ``row_codes``, override ``codes`` before the first step.
    """
    return _diffuse(graph.laplacian("random-walk"), codes, rows, row_codes, n_classes, n_steps)


def _diffuse(
    laplacian: sp.csr_array,
    codes: np.ndarray,
    rows: np.ndarray,
    row_codes: np.ndarray,
    n_classes: int,
    n_steps: int,
) -> np.ndarray:
    codes = codes.copy()
    codes[rows] = row_codes
    g = np.eye(n_classes, dtype=laplacian.dtype)[codes]
    for _ in range(n_steps):
        g -= laplacian @ g
    return g


def resplit_pairs(
    graph: Graph,
    codes: np.ndarray,
    rows: np.ndarray,
    row_codes: np.ndarray,
    *,
    n_vectors: int = 3,
    least_share: float = 0.2,
    n_steps: int = 15,
    max_iter: int = 5,
) -> SolverResult:
    """Split the union of two classes anew where that lowers its Cheeger ratio and the labels allow it.

    A round takes as many pairs of classes as there are classes, those with the highest ratio between them. A
    union is swept along the ``n_vectors`` leading eigenvectors of its own random walk, with a least fraction
    ``least_share`` of it on either side. The best cut replaces the split if its ratio is lower by 2 %, it
    gets no more labeled samples of the two classes wrong, and the given classes say clearly which part is
    which. Between rounds the classes are smoothed by :func:`diffuse_codes`. With two classes this starts
    from several eigenvectors.

    ``x`` holds the new classes; the old ones if no split was replaced. ``n_iter`` counts the splits that
    were. Histories start with the given classes and have an entry per round: ``objective`` is the sum of
    the Cheeger ratios of all classes, which need not fall with that of a pair, ``criterion`` the number
    of splits replaced in the round (of pairs, at the start).
    """
    n_classes = int(max(codes.max(initial=-1), row_codes.max(initial=-1))) + 1
    labels = np.full(graph.n_rows, -1)
    labels[rows] = row_codes
    given, laplacian, limits = codes, graph.laplacian("random-walk"), (n_vectors, least_share)
    history = [(_energy(graph, codes, n_classes), n_classes * (n_classes - 1) // 2)]
    while history[-1][1] and len(history) <= max_iter:
        if len(history) > 1:
            codes = _diffuse(laplacian, codes, rows, row_codes, n_classes, n_steps).argmax(axis=1)
        codes, n_moves = _pass_over_pairs(graph, codes, given, labels, n_classes, limits)
        history.append((_energy(graph, codes, n_classes), n_moves))
    energies, moves = np.array(history, dtype=float).T
    status = "max_iter" if moves[-1] else "converged"
    return SolverResult(codes, energies, moves, int(moves[1:].sum()), status)


def _mutual_cuts(graph: Graph, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Weight of the edges between each two classes, 0 on the diagonal."""
    heads, tails, weights = graph.edges
    between = np.bincount(codes[heads] * n_classes + codes[tails], weights, n_classes**2)
    cuts = between.reshape(n_classes, n_classes)
    return (cuts + cuts.T) * (1 - np.eye(n_classes))


def _energy(graph: Graph, codes: np.ndarray, n_classes: int) -> float:
    sizes = np.bincount(codes, minlength=n_classes)
    smaller = np.maximum(np.minimum(sizes, len(codes) - sizes), 1)
    return float((_mutual_cuts(graph, codes, n_classes).sum(axis=1) / smaller).sum())


def _pass_over_pairs(
    graph: Graph,
    codes: np.ndarray,
    given: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    limits: tuple[int, float],
) -> tuple[np.ndarray, int]:
    codes, n_moves = codes.copy(), 0
    sizes = np.maximum(np.bincount(codes, minlength=n_classes), 1)
    ratios = np.tril(_mutual_cuts(graph, codes, n_classes) / np.minimum.outer(sizes, sizes))
    for pair in np.argsort(-ratios, axis=None, kind="stable")[:n_classes]:
        a, b = np.unravel_index(pair, ratios.shape)
        both = np.flatnonzero((codes == a) | (codes == b))
        inside = Graph(graph.affinity[both][:, both])
        known = np.flatnonzero((labels[both] == a) | (labels[both] == b))
        signs = np.where(labels[both[known]] == a, 1, -1)
        lean = (given[both] == a) * 1.0 - (given[both] == b)
        is_a = _split(inside, codes[both] == a, known, signs, lean, limits)
        if is_a is not None:
            codes[both] = np.where(is_a, a, b)
            n_moves += 1
    return codes, n_moves


def _split(
    inside: Graph,
    is_a: np.ndarray,
    known: np.ndarray,
    signs: np.ndarray,
    lean: np.ndarray,
    limits: tuple[int, float],
) -> np.ndarray | None:
    """Better split of a union into rows of the first class and others, or none; ``lean`` names the parts."""
    now = sweep_cut(inside, is_a.astype(float), known, signs)  # two values, so one level
    if not 0 < now.ratio < np.inf:
        return None
    n_vectors, least_share = limits
    least, better = (1 - _GAIN) * now.ratio, None
    for vector in _walk_vectors(inside, n_vectors).T:
        cut = sweep_cut(inside, vector, least_share=least_share)
        part = vector > cut.level
        if not least_share <= part.mean() <= 1 - least_share:  # so where many rows tie
            continue
        # The start names the parts, if it can; labels only veto. One that lies among rows of the other class
        # would swap the two.
        tilt = lean[part].mean() - lean[~part].mean()
        part = part if tilt > 0 else ~part
        n_wrong = np.count_nonzero(part[known] != (signs > 0))
        if cut.ratio < least and n_wrong <= now.n_wrong and abs(tilt) >= _CLEAR_TILT:
            least, better = cut.ratio, part
    return better


def _walk_vectors(graph: Graph, n_vectors: int) -> np.ndarray:
    """Leading eigenvectors of the random walk after the constant, with all rows weakly joined."""
    n_rows, affinity, join = graph.n_rows, graph.affinity.astype(np.float64), _JOIN * graph.degrees.mean()
    degrees = graph.degrees + join
    root, ground = 1 / np.sqrt(degrees), np.sqrt(degrees / degrees.sum())

    def walk(x: np.ndarray) -> np.ndarray:
        x = x.ravel()
        return root * (affinity @ (root * x) + join / n_rows * (root @ x)) - ground * (ground @ x)

    n_vectors = min(n_vectors, n_rows - 1)
    if n_rows <= _DENSE_ROWS:
        vectors = np.linalg.eigh(np.apply_along_axis(walk, 0, np.eye(n_rows)))[1][:, -n_vectors:]
    else:
        start = np.random.default_rng(0).normal(size=n_rows)
        operator = LinearOperator((n_rows, n_rows), matvec=walk, dtype=np.float64)
        try:
            _, vectors = eigsh(operator, k=n_vectors, which="LA", tol=1e-2, v0=start)
        except ArpackNoConvergence as error:
            vectors = error.eigenvectors
    return root[:, None] * vectors[:, ::-1]
