"""Proximal map of total variation on a graph.

For each column ``v`` of values the problem is ::

    min_g  weight * sum_edges w_ij |g_i - g_j|  +  ||g - v||^2 / 2

With ``B`` the incidence matrix (a row ``e_i - e_j`` per edge) the dual is to maximise
``||v||^2/2 - ||v - B'p||^2/2`` over ``|p_ij| <= weight * w_ij``, and the minimiser is ``g = v - B'p``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weakly._threads import run_parallel
from weakly.graphs import Graph
from weakly.rows._device import is_tensor
from weakly.solvers._result import SolverResult
from weakly.solvers._tv_kernels import accelerated, primal_dual

if TYPE_CHECKING:
    from weakly.solvers._torch_graph import DeviceEdges


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a graph.

    Parameters
    ----------
    heads, tails : ndarray of shape (n_edges,)
        Rows ``i < j`` of each edge.
    weights : ndarray of shape (n_edges,)
        Weights ``w_ij``.
    counts : ndarray of shape (n_rows,)
        Edges of each row.

    Examples
    --------
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import Edges
    >>> path = Edges.of(affinity_graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    >>> path.heads.tolist(), path.tails.tolist(), path.weights.tolist()
    ([0, 1], [1, 2], [1.0, 2.0])
    """

    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """List the edges of a graph.

        Parameters
        ----------
        graph : Graph
            The graph.

        Returns
        -------
        Edges
            In lexicographic order.
        """
        heads, tails, weights = graph.edges
        return cls(
            heads=heads.astype(np.int32),
            tails=tails.astype(np.int32),
            weights=weights.astype(np.float64),
            counts=np.bincount(np.concatenate([heads, tails]), minlength=graph.n_rows),
        )

    def to(self, device: Any) -> Edges | DeviceEdges:
        """Move the edges to a device, for values that are tensors there.

        Parameters
        ----------
        device : torch.device, str or None
            Where to; ``None`` is the host, and NumPy.

        Returns
        -------
        Edges or DeviceEdges
            These edges, or tensors of them.
        """
        if device is None:
            return self
        from weakly.solvers._torch_graph import DeviceEdges  # only now, to do without PyTorch elsewhere

        return DeviceEdges.of(self, device)

    # What iterations ask of edges on the host or on a device alike.

    def place(self, values: np.ndarray) -> np.ndarray:
        """Values in float64 beside the edges, not shared with the caller's."""
        return values.astype(np.float64)

    def variations(self, values: np.ndarray) -> np.ndarray:
        """Total variation of each column."""
        return self.weights @ np.abs(values[self.heads] - values[self.tails])

    def cheeger_ratios(self, values: np.ndarray) -> np.ndarray:
        """Total variation of each column over its distance from a constant; infinite for a constant."""
        distances = np.abs(values - np.median(values, axis=0)).sum(axis=0)
        infinite = np.full_like(distances, np.inf)
        return np.divide(self.variations(values), distances, out=infinite, where=distances > 0)


def prox_total_variation(
    edges: Edges | DeviceEdges,
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
    edges : Edges or DeviceEdges
        The graph. Where :meth:`Edges.to` has moved it to a device, all arrays are tensors there.
    values : ndarray of shape (n_rows, n_columns)
        The columns ``v``.
    weight : float, default=1.0
        Weight of the total variation, positive.
    dual : ndarray of shape (n_columns, n_edges), optional
        Where to start, the ``dual`` of an earlier result; zero by default.
    tol : float, default=1e-4
        Largest duality gap relative to the objective, in every column.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    SolverResult
        ``criterion`` is the largest relative gap, at the start and at the end.

    See Also
    --------
    prox_total_variation_reference : The method of Chambolle and Pock, which this one is measured against.

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
    _check_weight(weight)
    if not isinstance(edges, Edges):
        from weakly.solvers._torch_prox import prox_on_device

        placed = values if is_tensor(values) else edges.place(values)
        return prox_on_device(edges, placed, weight, dual, tol, max_iter)
    steps = 1.0 / (edges.counts[edges.heads] + edges.counts[edges.tails])
    return _run(accelerated, edges, values, weight, dual, tol, max_iter, steps)


def prox_total_variation_reference(
    edges: Edges, values: np.ndarray, *, weight: float = 1.0, tol: float = 1e-4, max_iter: int = 1000
) -> SolverResult:
    """Smooth columns of values over a graph by the accelerated primal-dual method ([tvsvm] section 2.3).

    Parameters
    ----------
    edges : Edges
        The graph.
    values : ndarray of shape (n_rows, n_columns)
        The columns ``v``.
    weight : float, default=1.0
        Weight of the total variation, positive.
    tol : float, default=1e-4
        Largest duality gap relative to the objective, in every column.
    max_iter : int, default=1000
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
    >>> from weakly.solvers._tv_prox import prox_total_variation_reference
    >>> pair = Edges.of(affinity_graph([[0, 1], [1, 0]]))
    >>> result = prox_total_variation_reference(pair, np.array([[0.0], [9.0]]), tol=1e-6)
    >>> result.x.ravel().round(1).tolist()
    [1.0, 8.0]
    """
    _check_weight(weight)
    norm_bound = np.sqrt(2.0 * max(edges.counts.max(initial=0), 1))  # of B
    return _run(primal_dual, edges, values, weight, None, tol, max_iter, np.array([norm_bound]))


def _check_weight(weight: float) -> None:
    if not 0 < weight < np.inf:
        raise ValueError(f"weight is {weight}: it must be a positive number.")


def _run(method, edges, values, weight, dual, tol, max_iter, steps):  # type: ignore[no-untyped-def]
    """Solve the columns, each to its own gap; results do not depend on the number of threads."""
    columns = np.ascontiguousarray(values.T, dtype=np.float64)
    bounds = weight * edges.weights
    shape = (columns.shape[0], len(bounds))
    if dual is not None and dual.shape != shape:
        raise ValueError(f"dual has shape {dual.shape}: it must be {shape}, one row per column of values.")
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
        dual=dual,
    )
