"""Poisson learning: labels as sources and sinks of a flow on a graph.

The potential ``u`` of the flow solves ``L u = sum_j (y_j - mean y) delta_j`` with the unnormalised Laplacian
``L``, a column of targets at a time. Unlike a solution that is clamped at the labels, it does not decay to a
constant when labels are few. Sources of a component must sum to 0, so each is centred on its own labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.graphs import Graph
from weakly.solvers._graph_system import conjugate_gradients
from weakly.solvers._result import SolverResult


def solve_poisson(
    graph: Graph,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    device: Any = None,
) -> SolverResult:
    """Spread targets of some rows over a graph, by conjugate gradients on all columns at once.

    The potential is known up to a constant in each component, and its scale says little. So each column gets,
    in each component, the mean and the spread that the targets have there; a component of one class is
    constant. At last the mean of all targets is subtracted: 0 is no opinion, and components without labels
    hold just that.

    Parameters
    ----------
    graph : Graph
        The graph, of any number of components.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_columns)
        Their targets: one-hot classes, or one column of +1 and -1.
    tol : float, default=1e-4
        Largest residual relative to the sources, in the norm of the inverse degrees, in every column.
    max_iter : int, default=1000
        Most iterations.
    device : torch.device, str or None, default=None
        Where to iterate; ``None`` is NumPy.

    Returns
    -------
    SolverResult
        ``x`` has a row for each row of the graph and the type of ``targets``. Histories are those of the
        potential: ``objective`` is ``u'Lu / 2 - s'u`` with the sources ``s``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import solve_poisson
    >>> path = affinity_graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> result = solve_poisson(path, np.array([0, 3]), np.array([[1.0], [-1.0]]))
    >>> result.x.ravel().round(2).tolist()
    [1.34, 0.45, -0.45, -1.34]
    """
    components = graph.components
    members, labels = _indicators(components, components), _indicators(components, components[rows])
    means, spreads = _moments(labels, targets, components[rows])
    sources = np.zeros((graph.n_rows, targets.shape[1]))  # rounding in float32 would add up to drift
    sources[rows] = targets - means[components[rows]]
    exact = Graph(graph.affinity.astype(np.float64))  # so that rows of L sum to 0
    degrees = np.where(exact.degrees > 0, exact.degrees, 1)
    u, history = conjugate_gradients(exact.laplacian("unnormalized"), degrees, sources, tol, max_iter, device)
    u_means, u_spreads = _moments(members, u, components)
    scales = np.divide(spreads, u_spreads, out=np.zeros_like(spreads), where=u_spreads > 0)
    reached = labels.sum(axis=1) > 0
    constants = means - reached[:, None] * targets.sum(axis=0) / max(len(rows), 1)
    x = scales[components] * (u - u_means[components]) + constants[components]
    objectives, criteria = np.array(history).T
    status = "converged" if criteria[-1] <= tol else "max_iter"
    dtype = np.result_type(targets.dtype, np.float32)
    return SolverResult(x.astype(dtype), objectives, criteria, len(history) - 1, status)


def _indicators(components: np.ndarray, component_of: np.ndarray) -> sp.csr_array:
    """Matrix with a row per component, 1 for the columns that belong to it."""
    n_columns, n_components = len(component_of), int(components.max(initial=-1)) + 1
    ones = np.ones(n_columns)
    return sp.csr_array((ones, (component_of, np.arange(n_columns))), shape=(n_components, n_columns))


def _moments(
    indicators: sp.csr_array, values: np.ndarray, component_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of columns over each component, 0 over none."""
    counts = np.maximum(indicators.sum(axis=1), 1)[:, None]
    means = indicators @ values / counts
    variances = indicators @ (values - means[component_of]) ** 2 / counts
    return means, np.sqrt(variances)
