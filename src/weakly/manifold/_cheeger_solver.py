"""Balanced cuts of a graph that respect labels: the Cheeger iteration."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from weakly.graphs import Graph
from weakly.graphs._edge_list import Edges
from weakly.losses import Loss
from weakly.manifold._labeled_step import CutIterate, FunctionPoint, LabeledStep, follow_cut, norm
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
    """Lower the sum over columns of ``TV(f) / sum_i |f_i - median|`` with ``f`` fixed on labeled samples.

    A step moves ``f`` away from its median, which raises the denominator, makes it a function of the space,
    lowers its total variation, and restores the labels and the scale ([tvsvm] Eqs. (29) to (34), (82) to
    (87), (110) to (116) and (139) to (145)). Several columns are indicators of classes, with samples on the
    simplex; a single column is +1 and -1. ``targets`` and ``start`` are signs either way.

    ``coupling`` is the weight of the distance between the function and the values it follows, and
    ``smoother`` has the weight of the norm divided by it as penalty; the iteration runs where the smoother
    lives. ``step`` is the length ``c`` of a step away from the median: several columns want about 0.1.
    ``shares`` are the class proportions, which set the norms of several columns; that of a single column is
    ``sqrt(n)``. A ``loss`` is part of every step; ``None`` leaves labels to their fixed scores.

    Returns a result whose ``x`` holds the parameters of a function and ``detail.graph_side`` the scores.
    ``objective`` is the sum of the ratios, ``criterion`` the largest part by which one of the last 20 steps
    went below all before it: 1 before there are so many, 0 where there is nothing to lower.

    The zero-sum sign is a subgradient of the denominator: samples at the median share what balances the
    others. With the plain sign, as printed, the simplex takes the balance away.
    """
    edges = Edges.of(graph).to(smoother.device)  # and so all that follows
    nearest = _follower(smoother, rows, targets, weights, loss, coupling)
    restore = _Restoration(rows, edges.place(to_units(targets)), edges.place(np.sqrt(len(start) * shares)))

    def descend() -> Iterator[CutIterate]:
        gains: deque[float] = deque([1.0] * PATIENCE, PATIENCE)
        f = restore(edges.place(to_units(start)))
        point, dual, energy = nearest(f), None, _energy(edges, f)
        lowest = energy
        while True:
            is_cut = 0 < energy < np.inf  # and neither a cut for nothing nor no cut at all
            yield (point, f), energy, max(gains) if is_cut else 0.0
            point = nearest(f + step * _balanced_sign(f - _medians(f)))
            smooth = prox_total_variation(
                edges, point.scores, weight=step / energy, dual=dual, tol=_INNER_TOL, max_iter=_INNER_ITER
            )
            dual, f = smooth.detail.dual, restore(smooth.x - _medians(smooth.x))
            energy = _energy(edges, f)
            gains.append(max(1 - energy / lowest, 0.0))
            lowest = min(lowest, energy)

    return follow_cut(smoother, descend(), tol, max_iter, callback)


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
    """The function nearest to values, [tvsvm] Eq. (35), or with a loss on the labeled samples, Eq. (88)."""
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
