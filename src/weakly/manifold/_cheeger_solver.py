"""Balanced cuts of a graph that respect labels: the Cheeger iteration."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from weakly.graphs import Graph
from weakly.graphs._edge_list import Edges
from weakly.losses import Loss
from weakly.manifold._labeled_step import FunctionPoint, LabeledStep, norm, report
from weakly.manifold._total_variation_solver import PATIENCE
from weakly.rows._arrays import namespace
from weakly.solvers._result import SolverResult
from weakly.solvers._simplex import project_simplex
from weakly.solvers._tv_prox import prox_total_variation
from weakly.spaces import Smoother

_INNER_ITER = 20  # steps of the prox, which starts where it ended
_INNER_TOL = 1e-4
_AT_MEDIAN = 1e-12  # rows this near to the median are at it: else rounding of the start would decide


def solve_cheeger(
    smoother: Smoother,
    graph: Graph,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    *,
    loss: str | Loss | None = None,
    coupling: float = 0.1,
    step: float = 1.0,
    shares: np.ndarray,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Lower the sum over columns of ``TV(f) / sum_i |f_i - median|`` with ``f`` fixed on labelled rows.

    A step moves ``f`` away from its median, which raises the denominator, makes it a function of the space,
    lowers its total variation, and restores the labels and the scale ([tvsvm] Eqs. (29) to (34), (82) to
    (87), (110) to (116) and (139) to (145)). Several columns are indicators of classes, with rows on the
    simplex; a single column is +1 and -1.

    Parameters
    ----------
    smoother : Smoother
        Of the space, with the weight of the norm divided by ``coupling`` as penalty. The iteration runs where
        it lives, on the host or on a device.
    graph : Graph
        The graph.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_columns)
        Signs ``y``, +1 or -1.
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows in the loss.
    start : ndarray of shape (n_rows, n_columns)
        First scores, in the units of ``targets``.
    loss : str, Loss or None, default=None
        A loss that the function of a step pays on labeled samples; ``None`` leaves it to the fixed labels.
    coupling : float, default=0.1
        Weight of the distance between the function and the values it follows.
    step : float, default=1.0
        Length ``c`` of a step away from the median. Several columns want about 0.1.
    shares : ndarray of shape (n_columns,)
        Share of each column's class among the rows, which sets its norm; that of a single column is
        ``sqrt(n)``.
    tol : float, default=1e-3
        The iteration ends when 20 steps have not lowered the objective by this part of it.
    max_iter : int, default=100
        Most steps.
    callback : callable, optional
        Called after every step; the iteration stops where it returns True.

    Returns
    -------
    SolverResult
        ``x`` holds the parameters of a function, ``detail.graph_side`` the scores: about +1 and -1 in a
        single column, indicators of classes in several. ``objective`` is the sum of the ratios, ``criterion``
        the largest part by which one of the last 20 steps went below all before it: 1 before there are so
        many, 0 where there is nothing to lower.

    Notes
    -----
    The zero-sum sign is a subgradient of the denominator: rows at the median share what balances the others.
    With the plain sign, as printed, the simplex takes the balance away.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.manifold._cheeger_solver import solve_cheeger
    >>> from weakly.spaces import KernelSpace, build_smoother
    >>> path = affinity_graph(np.diag([1.0, 0.1, 1.0], 1) + np.diag([1.0, 0.1, 1.0], -1))
    >>> smoother = build_smoother(KernelSpace(np.eye(4)), penalty=0.1)
    >>> result = solve_cheeger(
    ...     smoother, path, np.array([0, 3]), np.array([[-1.0], [1.0]]), np.ones(2),
    ...     np.array([[-1.0], [0.1], [0.2], [1.0]]), shares=np.array([0.5]),
    ... )
    >>> np.sign(result.detail.graph_side).ravel().tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    edges = Edges.of(graph).to(smoother.device)  # and so all that follows
    follow = _follower(smoother, rows, targets, weights, loss, coupling)
    restore = _Restoration(rows, edges.place(to_units(targets)), edges.place(np.sqrt(len(start) * shares)))
    f = restore(edges.place(to_units(start)))
    dual, history, status = None, [(_energy(edges, f), 1.0)], "max_iter"
    gains: deque[float] = deque([1.0] * PATIENCE, PATIENCE)
    point, lowest = follow(f), history[0][0]
    try:
        for _ in range(max_iter):
            energy = history[-1][0]
            if not 0 < energy < np.inf:  # a cut for nothing, or no cut at all
                history[-1], status = (energy, 0.0), "converged"
                break
            point = follow(f + step * _balanced_sign(f - _medians(f)))
            weight = step / energy
            smooth = prox_total_variation(
                edges, point.scores, weight=weight, dual=dual, tol=_INNER_TOL, max_iter=_INNER_ITER
            )
            dual, f = smooth.detail.dual, restore(smooth.x - _medians(smooth.x))
            energy = _energy(edges, f)
            gains.append(max(1 - energy / lowest, 0.0))
            history.append((energy, max(gains)))
            lowest = min(lowest, energy)
            if max(gains) <= tol:
                status = "converged"
                break
            if callback is not None and callback():
                status = "stopped"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    return report(smoother, point, f, history, status)


def to_units(signs: np.ndarray) -> np.ndarray:
    """Scores of the iteration: as they are in a single column, else from [-1, 1] to [0, 1]."""
    return signs.astype(np.float64) if signs.shape[1] == 1 else (signs.astype(np.float64) + 1) / 2


def _follower(
    smoother: Smoother,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    loss: str | Loss | None,
    coupling: float,
) -> Callable[[np.ndarray], FunctionPoint]:
    """The function nearest to values, [tvsvm] Eq. (35), or with a loss on the labelled rows, Eq. (88)."""
    if loss is None:
        return lambda values: FunctionPoint(values, smoother(values))
    return LabeledStep(smoother, rows, targets, weights, loss=loss, coupling=coupling)


class _Restoration:
    """Put labels in their place, rows on the simplex, and scale to the norm of a perfect column."""

    def __init__(self, rows: np.ndarray, labels: np.ndarray, norms: np.ndarray) -> None:
        self._rows, self._labels, self._norms = rows, labels, norms

    def __call__(self, values: np.ndarray) -> np.ndarray:
        values[self._rows] = self._labels
        if values.shape[1] == 1:
            return values * (np.sqrt(len(values)) / (norm(values) or 1.0))
        values = project_simplex(values)
        norms = (values * values).sum(0) ** 0.5
        # The paper scales columns to n, in which the labels drown, and all classes alike.
        return values * (self._norms / (norms + (norms == 0)))


def _medians(values: np.ndarray) -> np.ndarray:
    return namespace(values).median(values, axis=0)


def _balanced_sign(values: np.ndarray) -> np.ndarray:
    """Signs that sum to 0 in every column, where there are zeros to share out the rest."""
    xp = namespace(values)
    zeros = abs(values) <= _AT_MEDIAN
    signs = xp.where(zeros, 0.0, xp.sign(values))
    balance = -signs.sum(axis=0) / xp.clip(zeros.sum(axis=0), 1, None)
    return xp.where(zeros, xp.clip(balance, -1, 1), signs)


def _energy(edges: Edges, values: np.ndarray) -> float:
    """Sum of the ratios; a constant column is no cut and adds nothing."""
    ratios = np.array(edges.cheeger_ratios(values).tolist())
    return float(ratios[np.isfinite(ratios)].sum()) if np.isfinite(ratios).any() else np.inf
