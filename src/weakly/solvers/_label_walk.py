"""Probabilities of classes for every row, from a walk on a graph that ends at labels or nowhere known.

From row ``i`` the walk goes on with probability ``alpha_i``, along the edges of the graph, and ends with
``1 - alpha_i``: in the class of the row if it is labelled, else in one more class, that of rows like none of
the labelled ones. Then ``F = (I - diag(alpha) P)^-1 diag(1 - alpha) Y``, [plsvm] Eq. (6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from weakly.graphs import AnchorGraph, Graph
from weakly.solvers._anchor_walk import require_ending, solve_anchor_walk
from weakly.solvers._graph_system import conjugate_gradients
from weakly.solvers._result import SolverResult

_DIRECT_ROWS = 2000  # beyond this the factor fills up
_SLACK = 1e-6  # of probabilities, for rounding


def solve_label_walk(
    graph: Graph | AnchorGraph,
    codes: np.ndarray,
    n_classes: int,
    *,
    alpha_labeled: float = 0.0,
    alpha_unlabeled: float = 0.999,
    method: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 5000,
    device: Any = None,
) -> SolverResult:
    """Find the probability that a walk from each row ends in each class, or in none.

    Parameters
    ----------
    graph : Graph or AnchorGraph
        The graph. On one of anchors the answer is in closed form, and none of the settings of methods counts.
    codes : ndarray of shape (n_rows,)
        Class of each labelled row, -1 elsewhere.
    n_classes : int
        Number of classes.
    alpha_labeled : float, default=0.0
        Probability that a walk goes on from a labelled row, below 1. With 0 labels stand; with more a label
        can be overruled by others nearby.
    alpha_unlabeled : float, default=0.999
        Probability that it goes on from any other row, below 1. The lower, the more rows far from all labels
        are taken for novel.
    method : {"auto", "direct", "iterative"}, default="auto"
        A sparse factorisation, or conjugate gradients on all columns at once; "auto" factors up to 2000 rows.
    tol : float, default=1e-9
        Relative residual of conjugate gradients.
    max_iter : int, default=5000
        Most iterations.
    device : torch.device, str or None, default=None
        Where conjugate gradients run; ``None`` is NumPy. A factorisation is the host's.

    Returns
    -------
    SolverResult
        ``x`` of shape (n_rows, n_classes + 1) is not negative and its rows sum to 1; the last column is that
        of no known class, which is sure for rows without edges or labels.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import solve_label_walk
    >>> path = affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> codes = np.array([0, -1, 1])
    >>> solve_label_walk(path, codes, 2, alpha_unlabeled=0.8).x.round(2).tolist()
    [[1.0, 0.0, 0.0], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0]]
    """
    require_ending(alpha_labeled, alpha_unlabeled)
    if method not in ("auto", "direct", "iterative"):
        raise ValueError(f"method is {method!r}: use 'auto', 'direct' or 'iterative'.")
    if isinstance(graph, AnchorGraph):
        alphas = {"alpha_labeled": alpha_labeled, "alpha_unlabeled": alpha_unlabeled}
        labeled = np.flatnonzero(codes >= 0)
        weights = graph.weights[labeled]
        walk = solve_anchor_walk(graph.masses, graph.gram, weights, codes[labeled], n_classes, **alphas)
        return SolverResult(walk(graph.weights, codes), np.zeros(1), np.zeros(1), 0, "converged")
    ends = np.where(codes >= 0, codes, n_classes)
    alpha = np.where(codes >= 0, alpha_labeled, alpha_unlabeled) * (graph.degrees > 0)
    F = np.zeros((graph.n_rows, n_classes + 1))
    F[np.arange(graph.n_rows), ends] = 1.0
    free = np.flatnonzero(alpha > 0)
    matrix, diagonal, sources, ending = _system(graph, alpha, free, F)
    if method == "direct" or (method == "auto" and graph.n_rows <= _DIRECT_ROWS):
        F[free] = splu(sp.csc_array(matrix)).solve(sources) if len(free) else sources
        history = [(0.0, 0.0)]
    else:
        F[free], history = conjugate_gradients(matrix, diagonal, sources, tol, max_iter, device)
    F[free] += _lost_constants(matrix, sources, ending, F[free])
    is_solved = history[-1][1] <= tol
    objectives, residuals = np.array(history).T
    status = "converged" if is_solved else "max_iter"
    return SolverResult(_distributions(F, is_solved), objectives, residuals, len(history) - 1, status)


def _system(
    graph: Graph, alpha: np.ndarray, free: np.ndarray, Y: np.ndarray
) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Symmetric positive definite ``(D / alpha - W) F = D (1 / alpha - 1) Y`` on the rows with ``alpha > 0``.

    The others are known, and move to the right. ``W`` is the affinity divided by the roots of its degrees
    (the paper prints one of the two twice), ``D`` holds its sums. The last value is the row sums of the right
    side, and of the matrix: the part of walks that end with the next step.
    """
    roots = np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1).astype(np.float64))
    scale = sp.diags_array(1 / roots)
    W = (scale @ graph.affinity.astype(np.float64) @ scale).tocsr()
    D = np.asarray(W.sum(axis=1)).ravel()[free]
    known = Y.copy()
    known[free] = 0
    going_on = alpha[free]
    sources = W[free] @ known + (D * (1 - going_on) / going_on)[:, None] * Y[free]
    matrix = (sp.diags_array(D / going_on) - W[free][:, free]).tocsr()
    return matrix, D / going_on, sources, sources.sum(axis=1)


def _lost_constants(
    matrix: sp.csr_array, sources: np.ndarray, ending: np.ndarray, F: np.ndarray
) -> np.ndarray:
    """What rounding has taken from the probabilities of each component, the same for all of its rows.

    Where walks hardly ever end, the matrix is nearly singular for values that are constant on a component.
    Summed over it, though, the equations say no more than that as much ends in a class as comes from it.
    """
    n_parts, part = connected_components(matrix, directed=False)
    totals = np.bincount(part, ending, n_parts)[:, None]
    residuals = sources - ending[:, None] * F
    missing = np.column_stack([np.bincount(part, column, n_parts) for column in residuals.T])
    return np.divide(missing, totals, out=np.zeros(missing.shape), where=totals > 0)[part]


def _distributions(F: np.ndarray, is_solved: bool) -> np.ndarray:
    """Check what the theory promises, then make it hold to the last digit."""
    if is_solved and (F.min(initial=0) < -_SLACK or np.abs(F.sum(axis=1) - 1).max(initial=0) > _SLACK):
        raise ValueError(
            "probabilities of the walk do not sum to 1: the weights of the graph must be positive and not "
            "too different in size; or lower alpha_labeled and alpha_unlabeled."
        )
    F = np.maximum(F, 0)
    return F / F.sum(axis=1, keepdims=True)
