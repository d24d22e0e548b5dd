"""Proximal map of total variation on a graph.

For each column ``v`` of values the problem is ::

    min_g  weight * sum_edges w_ij |g_i - g_j|  +  ||g - v||^2 / 2

With ``B`` the incidence matrix (a row ``e_i - e_j`` per edge) the dual is to maximise
``||v||^2/2 - ||v - B'p||^2/2`` over ``|p_ij| <= weight * w_ij``, and the minimiser is ``g = v - B'p``.

Accelerated steps on the dual are compiled loops on the host, column by column. On a device the same steps are
taken on all columns at once, a handful of operations on whole arrays of edges; a column that has converged
stands still.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weakly._threads import run_parallel
from weakly.graphs._edge_list import Edges
from weakly.rows._arrays import cast, dtype_of, to_host, zeros
from weakly.solvers._result import DualPoint, SolverResult
from weakly.solvers._tv_kernels import accelerated

_CHECK_EVERY = 10  # iterations between two looks at the gap, each of which waits for the device
_TINY = 1e-300


def prox_total_variation(
    edges: Edges,
    values: np.ndarray,
    *,
    weight: float = 1.0,
    dual: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SolverResult:
    """Smooth columns of values over a graph by total variation, with accelerated steps on the dual.

    A step of the dual moves each edge by ``1 / (deg_i + deg_j)``, the inverse of the row sum of ``|BB'|``:
    edges between rows of few neighbours move far. Momentum starts anew when it points uphill.

    Parameters
    ----------
    edges : Edges
        The graph. Where :meth:`Edges.to` has moved it to a device, all arrays are tensors there.
    values : ndarray of shape (n_rows, n_columns)
        The columns ``v``.
    weight : float, default=1.0
        Weight of the total variation, positive.
    dual : ndarray of shape (n_columns, n_edges), optional
        Where to start, the ``detail.dual`` of an earlier result; zero by default.
    tol : float, default=1e-4
        Largest duality gap relative to the objective, in every column.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    SolverResult
        ``criterion`` is the largest relative gap, at the start and at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import Edges, prox_total_variation
    >>> path = Edges.of(affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> result = prox_total_variation(path, np.array([[0.0], [0.0], [9.0]]), tol=1e-9)
    >>> result.x.ravel().round(3).tolist()
    [0.5, 0.5, 8.0]
    """
    check_weight(weight)
    _check_dual(dual, (values.shape[1], len(edges.weights)))
    if edges.device is not None:  # compiled loops, a column for each thread, are the host's
        return ascend_columns(edges, values, weight, dual, tol, max_iter)
    steps = 1.0 / (edges.counts[edges.heads] + edges.counts[edges.tails])
    return solve_columns(accelerated, edges, values, weight, dual, tol, max_iter, steps)


def check_weight(weight: float) -> None:
    if not 0 < weight < np.inf:
        raise ValueError(f"weight is {weight}: it must be a positive number.")


def _check_dual(dual: np.ndarray | None, shape: tuple[int, int]) -> None:
    if dual is not None and tuple(dual.shape) != shape:
        raise ValueError(
            f"dual has shape {tuple(dual.shape)}: it must be {shape}, one row per column of values."
        )


def solve_columns(method, edges, values, weight, dual, tol, max_iter, steps):  # type: ignore[no-untyped-def]
    """Solve the columns, each to its own gap; results do not depend on the number of threads."""
    columns = np.ascontiguousarray(values.T, dtype=np.float64)
    bounds = weight * edges.weights
    shape = (columns.shape[0], len(bounds))
    dual = np.zeros(shape) if dual is None else np.clip(dual, -bounds, bounds)
    result = np.empty_like(columns)
    records = np.empty((columns.shape[0], 5))
    graph = (edges.heads, edges.tails)
    run_parallel(method, len(columns), graph, columns, bounds, steps, dual, result, records, tol, max_iter)
    n_iter = int(records[:, 4].max(initial=0))
    return SolverResult(
        x=result.T.astype(values.dtype),
        objective=records[:, :2].sum(axis=0),
        criterion=records[:, 2:4].max(axis=0, initial=0.0),
        n_iter=n_iter,
        status="converged" if (records[:, 3] <= tol).all() else "max_iter",
        detail=DualPoint(dual),
    )


def ascend_columns(
    edges: Edges, values: Any, weight: float, dual: Any, tol: float, max_iter: int
) -> SolverResult:
    """Do the work of :func:`prox_total_variation`, with all arrays where the edges are.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import Edges
    >>> from weakly.solvers._tv_prox import ascend_columns
    >>> pair = Edges.of(affinity_graph([[0, 1], [1, 0]]))
    >>> ascend_columns(pair, np.array([[0.0], [9.0]]), 1.0, None, 1e-6, 100).x.ravel().round(3).tolist()
    [1.0, 8.0]
    """
    xp, v = edges.xp, edges.place(values)
    bounds = (weight * edges.weights)[:, None]
    p = zeros(v, len(bounds), v.shape[1]) if dual is None else xp.clip(dual.T, -bounds, bounds)
    g = v - edges.pull_back(p)
    objectives, gaps = _assess(edges, v, bounds, g)
    first = _worst(xp, objectives, gaps)
    state = _Ascent(edges, v, bounds, p, g)
    active, n_iter = gaps > tol * objectives, 0
    is_moving = bool(active.any())
    while is_moving and n_iter < max_iter:
        state.step(active)
        n_iter += 1
        if n_iter % _CHECK_EVERY == 0 or n_iter == max_iter:
            g = v - edges.pull_back(state.p)
            objectives, gaps = _assess(edges, v, bounds, g)
            active = active & (gaps > tol * objectives)
            is_moving = bool(active.any())
    history = to_host(xp.stack([*first, *_worst(xp, objectives, gaps)]))
    return SolverResult(
        x=cast(g, dtype_of(values)),
        objective=history[::2],
        criterion=history[1::2],
        n_iter=n_iter,
        status="converged" if history[3] <= tol else "max_iter",
        detail=DualPoint(state.p.T),
    )


class _Ascent:
    """Accelerated steps on the dual, with a momentum for each column."""

    def __init__(self, edges: Edges, v: Any, bounds: Any, p: Any, g: Any) -> None:
        self._edges, self._v, self._bounds = edges, v, bounds
        costs = edges.counts[edges.heads] + edges.counts[edges.tails]
        self._costs = cast(costs, dtype_of(v))[:, None]
        self.p = self._ahead = p
        self._there = g  # v - B'ahead
        self._momentum = zeros(v, v.shape[1]) + 1

    def step(self, active: Any) -> None:
        xp = self._edges.xp
        moved = self._ahead + self._edges.differences(self._there) / self._costs
        moved = xp.clip(moved, -self._bounds, self._bounds)
        moved = xp.where(active, moved, self.p)
        change = moved - self.p
        uphill = ((self._ahead - moved) * change * self._costs).sum(axis=0) > 0
        following = (1 + xp.sqrt(1 + 4 * self._momentum**2)) / 2
        # Gradient restart, where the last move went against the momentum.
        share = xp.where(uphill, 0.0, (self._momentum - 1) / following)
        self._momentum = xp.where(uphill, 1.0, following)
        self.p, self._ahead = moved, moved + share * change
        self._there = self._v - self._edges.pull_back(self._ahead)


def _assess(edges: Edges, v: Any, bounds: Any, g: Any) -> tuple[Any, Any]:
    """Objective of each column at ``g = v - B'p``, and its excess over the dual objective at ``p``."""
    variations = (bounds * abs(edges.differences(g))).sum(axis=0)
    objectives = variations + ((g - v) ** 2).sum(axis=0) / 2
    dual_objectives = (v**2 - g**2).sum(axis=0) / 2
    return objectives, edges.xp.clip(objectives - dual_objectives, 0, None)


def _worst(xp: Any, objectives: Any, gaps: Any) -> tuple[Any, Any]:
    """Sum of the objectives, and the largest relative gap."""
    return objectives.sum(), xp.amax(gaps / xp.clip(objectives, _TINY, None))
