"""Total variation on a graph with a loss on the labelled rows: the alternating direction method."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from weakly.graphs import Graph
from weakly.graphs._edge_list import Edges
from weakly.losses import Loss
from weakly.manifold._labeled_step import LabeledStep, norm, report
from weakly.solvers._result import SolverResult
from weakly.solvers._tv_prox import prox_total_variation
from weakly.spaces import Smoother

_INNER_ITER = 10  # steps of the prox, which starts where it ended: more of them change nothing that counts
_INNER_TOL = (1e-8, 1e-4)  # of the two parts of a step: that of the whole, within these bounds
_SETTLED = 1e-4  # share of the rows that may still change their class in a settled state
PATIENCE = 20  # settled steps that end the iteration


def solve_total_variation(
    smoother: Smoother,
    graph: Graph,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    *,
    loss: str | Loss = "squared",
    ambient: float = 0.01,
    graph_weight: float = 0.04,
    coupling: float = 0.1,
    normalize: Callable[[np.ndarray], np.ndarray] | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimise ``sum_labelled w_i loss(y_i, f_i) + a/2 ||f||^2 + g TV(f)`` over functions ``f`` of a space.

    ``f`` and its copy ``q`` on the graph take turns, held together by multipliers: ``f`` is the function
    near to ``q`` that suits the labels, ``q`` the values near to ``f`` with little variation along edges
    ([tvsvm] Eqs. (12) to (27) and (102) to (106), (128) to (136); the multipliers of the latter are not
    printed there). The minimum itself is all but constant when labels are few, so ``normalize`` gives
    ``q`` a level and a spread after every step. That makes the problem one of finding a good cut, with local
    minima: the start matters. Without ``normalize`` the problem is convex and solved as it stands.

    Parameters
    ----------
    smoother : Smoother
        Of the space, with the penalty ``ambient / coupling``. The iteration runs where it lives, on the host
        or on a device.
    graph : Graph
        The graph.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_columns)
        Targets ``y``, +1 or -1.
    weights : ndarray of shape (n_labeled,)
        Weights ``w`` of the labelled rows.
    start : ndarray of shape (n_rows, n_columns)
        First values of ``q``, before they are normalised.
    loss : str or Loss, default="squared"
        A loss of :mod:`weakly.losses`; the hinge has an intercept.
    ambient : float, default=0.01
        Weight ``a`` of the norm.
    graph_weight : float, default=0.04
        Weight ``g`` of the total variation.
    coupling : float, default=0.1
        Weight ``r`` of ``||f - q||^2 / 2``.
    normalize : callable, optional
        From values to normalised values.
    tol : float, default=1e-3
        Relative change of ``q`` in a step at which the iteration ends; with ``normalize`` so does it when
        fewer than one row in 10,000 changed its class in each of 20 steps.
    max_iter : int, default=100
        Most steps.
    callback : callable, optional
        Called after every step; the iteration stops where it returns True.

    Returns
    -------
    SolverResult
        ``x`` holds the parameters of ``f``, ``detail.graph_side`` the values ``q``. ``criterion`` is the
        relative change of ``q``. With ``normalize``, once at most one row in 10,000 changed its class in each
        of the last 20 steps, it is the largest such share, in units in which one in 10,000 is the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.manifold._total_variation_solver import solve_total_variation
    >>> from weakly.spaces import KernelSpace, build_smoother
    >>> path = affinity_graph(np.diag([1.0, 0.1, 1.0], 1) + np.diag([1.0, 0.1, 1.0], -1))
    >>> smoother = build_smoother(KernelSpace(np.eye(4)), penalty=0.1)
    >>> result = solve_total_variation(
    ...     smoother, path, np.array([0, 3]), np.array([[-1.0], [1.0]]), np.ones(2), np.zeros((4, 1)),
    ...     tol=1e-6, max_iter=1000,
    ... )
    >>> np.sign(result.detail.graph_side).ravel().tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    # A normalised cut is settled when classes are; a convex problem is not.
    shares: deque[float] = deque([np.inf] * PATIENCE, PATIENCE)
    is_cut = normalize is not None
    normalize = normalize or (lambda values: values)
    inner_tol = float(np.clip(tol, *_INNER_TOL))
    step = LabeledStep(smoother, rows, targets, weights, loss=loss, coupling=coupling, tol=inner_tol)
    edges = Edges.of(graph).to(smoother.device)  # and so all that follows
    q = normalize(edges.place(start))
    multipliers = 0 * q  # of f = q, divided by r
    dual, status = None, "max_iter"
    point = step(q)
    history = [(step.objective(point, ambient) + graph_weight * float(edges.variations(q).sum()), 1.0)]
    try:
        for _ in range(max_iter):
            point = step(q - multipliers)
            smooth = prox_total_variation(
                edges,
                point.scores + multipliers,
                weight=graph_weight / coupling,
                dual=dual,
                tol=inner_tol,
                max_iter=_INNER_ITER,
            )
            dual, before, q = smooth.detail.dual, q, normalize(smooth.x)
            multipliers += point.scores - q
            criterion = norm(q - before) / (norm(before) or 1.0)
            if is_cut:
                shares.append(_share_moved(before, q))
                settled = max(shares) / _SETTLED
                criterion = min(criterion, tol * settled) if settled <= 1 else criterion
            variation = float(edges.variations(q).sum())
            history.append((step.objective(point, ambient) + graph_weight * variation, criterion))
            if criterion <= tol:
                status = "converged"
                break
            if callback is not None and callback():
                status = "stopped"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    return report(smoother, point, q, history, status)


def _share_moved(before: np.ndarray, after: np.ndarray) -> float:
    """Share of the rows whose class differs between two states."""
    moved = (before > 0) != (after > 0) if before.shape[1] == 1 else before.argmax(1) != after.argmax(1)
    return float(moved.sum() / len(moved))
