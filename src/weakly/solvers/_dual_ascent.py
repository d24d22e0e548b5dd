"""Proximal map of total variation on a graph, by accelerated steps on the dual of all columns at once.

The steps are those of the compiled loops, column by column; a column that has converged stands still. Each is
a handful of operations on whole arrays of edges, which a device does in parallel.
"""

from __future__ import annotations

from typing import Any

from weakly.graphs._edge_list import Edges
from weakly.rows._arrays import cast
from weakly.rows._device import dtype_of, to_host, zeros
from weakly.solvers._result import DualPoint, SolverResult

_CHECK_EVERY = 10  # iterations between two looks at the gap, each of which waits for the device
_TINY = 1e-300


def ascend_columns(
    edges: Edges, values: Any, weight: float, dual: Any, tol: float, max_iter: int
) -> SolverResult:
    """Do the work of :func:`prox_total_variation`, with all arrays where the edges are.

    Parameters
    ----------
    edges : Edges
        The graph.
    values : {ndarray, tensor} of shape (n_rows, n_columns)
        The columns ``v``.
    weight : float
        Weight of the total variation, positive.
    dual : {ndarray, tensor} of shape (n_columns, n_edges) or None
        Where to start; zero by default.
    tol : float
        Largest duality gap relative to the objective, in every column.
    max_iter : int
        Most iterations.

    Returns
    -------
    SolverResult
        As of :func:`prox_total_variation`.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import Edges
    >>> from weakly.solvers._dual_ascent import ascend_columns
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
