"""Proximal map of total variation on a graph.

For each column ``v`` of values the problem is ::

    min_g  weight * sum_edges w_ij |g_i - g_j|  +  ||g - v||^2 / 2

With ``B`` the incidence matrix (a row ``e_i - e_j`` per edge) the dual is to maximise
``||v||^2/2 - ||v - B'p||^2/2`` over ``|p_ij| <= weight * w_ij``, and the minimiser is ``g = v - B'p``.
"""

from __future__ import annotations

import numpy as np

from weakly._threads import run_parallel
from weakly.graphs._edge_list import Edges
from weakly.solvers._dual_ascent import ascend_columns
from weakly.solvers._result import DualPoint, SolverResult
from weakly.solvers._tv_kernels import accelerated


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
