"""The machine of Weston and Watkins on rows in blocks, by cutting planes.

The losses of all rows together are a convex function ``R(W)`` of the weights and intercepts ``W`` of the
classes. One pass over the rows gives its value and a slope, and so a plane below it. The planes make a small
quadratic program, whose dual value is below the optimum: the gap to the best point is a certificate. As in
[ocas] the best point of the line to the newest one is looked for, and planes are taken near there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from weakly.rows._blocks import BLOCK_ROWS, RowBlocks
from weakly.solvers._interior import solve_interior
from weakly.solvers._result import SolverResult
from weakly.svm._bundle_kernels import line_losses, pair_losses

_SHARES = np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0, 1.3, 1.7])  # of a line
_AHEAD = 0.1  # how far from the best point towards the newest one the next plane is taken
_FORGOTTEN = 1e-9  # weight below which a plane has none
_MOST_IDLE, _MOST_PLANES = 20, 250  # steps without weight before a plane leaves, and planes at once
_MOST_STALE = 30  # steps in a row that lower neither the objective nor the gap
_ROUNDING = 1e-12


def solve_block_weston_watkins(
    blocks: RowBlocks,
    costs: Any,
    *,
    n_classes: int,
    n_params: int,
    feature_map: Callable[[Any], Any] | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    callback: Callable[[], object] | None = None,
) -> SolverResult:
    """Find the functions of all classes with two passes over the rows in every step.

    Costs are aligned values, a column per class, and not negative; a row of zeros has no part in it.
    ``feature_map`` gives the ``n_params`` features of a block of rows; by default the rows are their own.
    ``tol`` is the largest duality gap relative to the objective; the method stops where ``callback()``, after
    every step, returns True.

    The result is as by :func:`solve_weston_watkins`, which has all rows in memory and takes fewer passes, but
    without a ``dual``. "stalled" is where rounding of the quadratic program allows no smaller gap.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._bundle import solve_block_weston_watkins
    >>> rows = ArrayBlocks(np.array([[-2.0], [0.0], [2.0]]), block_rows=2)
    >>> costs = np.array([[9.0, 0.0], [0.5, 0.5], [0.0, 9.0]])
    >>> solve_block_weston_watkins(rows, costs, n_classes=2, n_params=1, tol=1e-9).x.round(2).tolist()
    [[-0.25, 0.25]]
    """
    best = np.zeros((n_params + 1, n_classes))  # the last line holds the intercepts
    loss, slope = blocks.reduce(partial(_plane, W=best, feature_map=feature_map), costs)
    planes = _Planes(best, loss, slope)
    value, n_iter, n_stale, status = loss, 0, 0, None
    history = [(value, 1.0 if value > 0 else 0.0)]
    try:
        while history[-1][1] > tol and n_iter < max_iter and status is None:
            newest, bound = planes.weigh(value)
            best, value = _search(blocks, costs, feature_map, best, value, newest)
            gap = max(value - bound, 0.0) / (value or 1.0)
            n_iter += 1
            is_stale = value >= history[-1][0] * (1 - _ROUNDING) and gap >= history[-1][1] * (1 - _ROUNDING)
            n_stale = n_stale + 1 if is_stale else 0
            history.append((value, min(gap, history[-1][1]) if value == history[-1][0] else gap))
            if n_stale == _MOST_STALE:
                status = "stalled"
            elif callback is not None and callback():
                status = "stopped"
            elif gap > tol:
                ahead = best + _AHEAD * (newest - best)
                planes.add(ahead, *blocks.reduce(partial(_plane, W=ahead, feature_map=feature_map), costs))
    except KeyboardInterrupt:
        status = "interrupted"
    objectives, gaps = np.array(history).T
    best = best - best.mean(axis=1, keepdims=True)
    return SolverResult(
        x=best[:-1],
        objective=objectives,
        criterion=gaps,
        n_iter=n_iter,
        status=status or ("converged" if gaps[-1] <= tol else "max_iter"),
        intercept=best[-1],
    )


class _Planes:
    """Planes ``<slope, W> + level`` below the losses, besides 0."""

    def __init__(self, point: np.ndarray, loss: float, slope: np.ndarray) -> None:
        self.slopes, self.levels = np.zeros((0, slope.size)), np.zeros(0)
        self.gram, self.idle = np.zeros((0, 0)), np.zeros(0, dtype=int)
        self._shape = slope.shape
        self.add(point, loss, slope)

    def add(self, point: np.ndarray, loss: float, slope: np.ndarray) -> None:
        self._drop()
        flat = slope.ravel()
        self.slopes = np.vstack([self.slopes, flat])
        self.levels = np.append(self.levels, loss - flat @ point.ravel())
        beside = self.slopes @ flat
        self.gram = np.block([[self.gram, beside[:-1, None]], [beside[None]]])
        self.idle = np.append(self.idle, 0)

    def weigh(self, value: float) -> tuple[np.ndarray, float]:
        """The minimum over the planes, and a bound of the optimum from below.

        The dual is to maximise ``l'a - a'Ga / 2`` over ``a >= 0``, ``sum a <= 1``.
        """
        n_planes, unit = len(self.levels), 1 / (value or 1.0)
        Q = np.zeros((n_planes + 1, n_planes + 1))
        Q[:-1, :-1] = unit * self.gram
        q = np.append(-unit * self.levels, 0.0)
        found = solve_interior(Q, q, np.ones((1, n_planes + 1)), np.ones(1), tol=1e-12)
        weights = np.maximum(found.x[:-1], 0)
        weights /= max(weights.sum(), 1.0)
        self.idle = np.where(weights > _FORGOTTEN, 0, self.idle + 1)
        bound = self.levels @ weights - weights @ self.gram @ weights / 2
        return -(weights @ self.slopes).reshape(self._shape), max(float(bound), 0.0)

    def _drop(self) -> None:
        kept = self.idle < _MOST_IDLE
        kept[np.argsort(-self.idle, kind="stable")[: max(len(kept) - _MOST_PLANES + 1, 0)]] = False
        if not kept.all():
            self.slopes, self.levels, self.idle = self.slopes[kept], self.levels[kept], self.idle[kept]
            self.gram = self.gram[np.ix_(kept, kept)]


def _search(
    blocks: RowBlocks,
    costs: Any,
    feature_map: Callable[[Any], Any] | None,
    best: np.ndarray,
    value: float,
    newest: np.ndarray,
) -> tuple[np.ndarray, float]:
    """The best of a few points of the ray from one point to another, in one pass."""
    step = newest - best
    losses = blocks.reduce(partial(_along, W=best, step=step, feature_map=feature_map), costs)
    norms = np.vdot(best, best) + 2 * _SHARES * np.vdot(best, step) + _SHARES**2 * np.vdot(step, step)
    values = losses + norms / 2
    least = int(values.argmin())
    if values[least] >= value:
        return best, value
    return best + _SHARES[least] * step, float(values[least])


def _scores(rows: Any, W: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows @ W[:-1] + W[-1])


def _plane(
    rows: Any, costs: np.ndarray, W: np.ndarray, feature_map: Callable[[Any], Any] | None
) -> tuple[float, np.ndarray]:
    """Loss of a block, and its slope by the weights and intercepts."""
    total, slope = 0.0, np.zeros(W.shape)
    for part in gen_batches(rows.shape[0], BLOCK_ROWS):
        features = rows[part] if feature_map is None else feature_map(rows[part])
        scores = _scores(features, W)
        by_scores = np.empty(scores.shape)
        total += pair_losses(scores, np.ascontiguousarray(costs[part]), by_scores)
        slope[:-1] += features.T @ by_scores
        slope[-1] += by_scores.sum(axis=0)
    return total, slope


def _along(
    rows: Any, costs: np.ndarray, W: np.ndarray, step: np.ndarray, feature_map: Callable[[Any], Any] | None
) -> np.ndarray:
    """Losses of a block at points of a line."""
    totals = np.zeros(len(_SHARES))
    for part in gen_batches(rows.shape[0], BLOCK_ROWS):
        features = rows[part] if feature_map is None else feature_map(rows[part])
        start, change = _scores(features, W), _scores(features, step)
        totals += line_losses(start, change, np.ascontiguousarray(costs[part]), _SHARES)
    return totals
