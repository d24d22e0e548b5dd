"""Clusters that regressions with the absolute loss fit best: regressions and new labels in turns.

With ``t_ic`` = 1 for the cluster ``c`` of row ``i`` and -1 for the others, functions and clusters minimize

    sum_c ||f_c||^2 / 2  +  C sum_i sum_c |t_ic - f_ic - b_c|

over clusters with a number of rows within bounds. Two clusters share one function, of their signs. The hinge
costs nothing beyond the margin, and labels that it has been given hardly move; the absolute loss also pulls
back rows that lie too far on the right side, and they do ([itersvr]).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weakly.cluster._absolute_machines import regression_of
from weakly.solvers._quotas import assign_quotas
from weakly.solvers._result import Labeling, SolverResult
from weakly.spaces import FeatureSpace, KernelSpace

_REGRESSION_PASSES = 10_000
_FIRST_GAP = 0.02
_ROUNDING = 1e-12  # of a loss, relative to it


class _Bounds(NamedTuple):
    least: np.ndarray
    most: np.ndarray

    def hold(self, codes: np.ndarray) -> bool:
        counts = np.bincount(codes, minlength=len(self.least))
        return bool(((self.least <= counts) & (counts <= self.most)).all())


def solve_iterative_svr(
    space: KernelSpace | FeatureSpace,
    start: np.ndarray,
    C: float,
    least: int | np.ndarray,
    most: int | np.ndarray,
    *,
    n_clusters: int = 2,
    tol: float = 1e-3,
    max_iter: int = 50,
    callback: Callable[[], object] | None = None,
) -> SolverResult:
    """Find clusters by support vector regression and new labels in turns, within bounds of their sizes.

    This is the method of [itersvr] with both steps on one objective, which never rises: for two clusters,
    labels and offset are the best together for the function at hand; for more, labels are the best for the
    functions and offsets at hand.

    The clusters of ``start``, 0 to ``n_clusters - 1``, may be out of bounds: the regression for them is only
    used to find the first that are not. ``tol`` is the relative duality gap of the last regression, and the
    relative gain of a round that is the last. Until labels settle for the first time, regressions may have a
    larger gap. ``max_iter`` counts regressions for clusters within the bounds.

    ``detail.labels`` has one line, the clusters; ``x``, ``intercept`` and ``detail.dual`` are of the
    regression for them, with one column for two clusters and otherwise one for each. ``objective`` and
    ``criterion``, the gap, have an entry for each regression that was kept: the last is given up if it
    gains nothing.
    """
    bounds = _Bounds(*(np.broadcast_to(bound, n_clusters) for bound in (least, most)))
    turns = _Turns(space, C, bounds, max_iter, callback)
    try:
        turns.begin(start, max(tol, _FIRST_GAP))
        turns.go_on(max(tol, _FIRST_GAP))  # labels will change: the first regressions need not be exact
        turns.go_on(tol)
    except KeyboardInterrupt:
        if not turns.history:
            raise
        turns.status = "interrupted"
    fit, (objectives, gaps) = turns.fit, np.array(turns.history).T
    return SolverResult(
        x=fit.x,
        objective=objectives,
        criterion=gaps,
        n_iter=turns.n_iter,
        status="stalled" if turns.status == "converged" and not turns.is_solved else turns.status,
        intercept=fit.intercept,
        detail=Labeling(turns.codes[None], fit.detail.dual),
    )


class _Turns:
    """Labels, the regression for them, and what became of them."""

    codes: np.ndarray
    fit: SolverResult
    is_solved: bool

    def __init__(
        self,
        space: KernelSpace | FeatureSpace,
        C: float,
        bounds: _Bounds,
        max_iter: int,
        callback: Callable[[], object] | None,
    ) -> None:
        self.regression, self.C, self.bounds = regression_of(space), C, bounds
        self.max_iter, self.callback = max_iter, callback
        self.n_iter, self.status = 0, "converged"
        self.history: list[tuple[float, float]] = []

    def regress(self, codes: np.ndarray, goal: float, dual: np.ndarray | None) -> SolverResult:
        targets = _targets(codes, len(self.bounds.least))
        self.n_iter += 1
        return self.regression.solve(targets, self.C, start=dual, tol=goal, max_iter=_REGRESSION_PASSES)

    def begin(self, codes: np.ndarray, goal: float) -> None:
        fit = self.regress(codes, goal, None)
        if not self.bounds.hold(codes):
            codes, _ = _relabel(self.regression.scores(fit.x), fit, self.bounds)
            fit, self.n_iter = self.regress(codes, goal, fit.detail.dual), 1
        self.keep(codes, fit)

    def keep(self, codes: np.ndarray, fit: SolverResult) -> None:
        self.codes, self.fit, self.is_solved = codes, fit, fit.converged
        self.history.append((float(fit.objective[-1]), float(fit.criterion[-1])))

    def go_on(self, goal: float) -> None:
        """Turns with regressions up to a gap, from one for the present labels, while they gain."""
        if self.status != "converged":
            return
        if self.history[-1][1] > goal:
            self.tighten(goal)
        while True:
            proposed = self.better()
            if proposed is None:
                return
            if self.n_iter >= self.max_iter:
                self.status = "max_iter"
                return
            if self.callback is not None and self.callback():
                self.status = "stopped"
                return
            trial = self.regress(proposed, goal, self.fit.detail.dual)
            before, after = self.fit.objective[-1], trial.objective[-1]
            if after < before:
                self.keep(proposed, trial)
            if before - after <= goal * before:
                return

    def tighten(self, goal: float) -> None:
        """Be exact about the present labels."""
        trial = self.regress(self.codes, goal, self.fit.detail.dual)
        if trial.objective[-1] < self.fit.objective[-1]:
            self.keep(self.codes, trial)
        else:  # for the same labels the new bound holds for the old function
            self.history[-1] = self.history[-1][0], float(trial.criterion[-1])
        self.is_solved = trial.converged

    def better(self) -> np.ndarray | None:
        """Labels with a lower loss for the present functions, if there are any."""
        scores = self.regression.scores(self.fit.x)
        proposed, loss = _relabel(scores, self.fit, self.bounds)
        targets = _targets(self.codes, len(self.bounds.least))
        present = np.abs(targets - scores - self.fit.intercept).sum()
        is_settled = (proposed == self.codes).all() or loss >= present * (1 - _ROUNDING)
        return None if is_settled else proposed


def _targets(codes: np.ndarray, n_clusters: int) -> np.ndarray:
    if n_clusters == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_clusters), 1.0, -1.0)


def _relabel(scores: np.ndarray, fit: SolverResult, bounds: _Bounds) -> tuple[np.ndarray, float]:
    """The best clusters for these functions, and what is left of the loss without its cost."""
    n_rows = len(scores)
    if scores.shape[1] == 1:
        fewest = max(bounds.least[1], n_rows - bounds.most[0])
        largest = min(bounds.most[1], n_rows - bounds.least[0])
        positive, _, loss = best_split(scores[:, 0], int(fewest), int(largest))
        return positive.astype(np.int64), loss
    f = scores + fit.intercept
    codes = assign_quotas(np.abs(1 + f) - np.abs(1 - f), *bounds).codes
    return codes, float(np.abs(_targets(codes, scores.shape[1]) - f).sum())


def best_split(values: np.ndarray, fewest: int, largest: int) -> tuple[np.ndarray, float, float]:
    """Labels and offset that minimize ``sum_i |y_i - g_i - b|`` with so many positive labels, exactly.

    For an offset, the rows of the largest values are positive, and as many as the signs of ``g + b`` say,
    within the bounds. For labels, the best offset is a median of ``y - g``: one of ``1 - g_i`` and
    ``-1 - g_i``. All of these are tried, in the time of sorting. Returns the positive rows, the offset and
    the loss.
    """
    order = np.argsort(values, kind="stable")
    g = values[order]
    n_rows = len(g)
    offsets = np.concatenate([1 - g, -1 - g])
    n_negative = np.clip(np.searchsorted(g, -offsets, side="right"), n_rows - largest, n_rows - fewest)
    sums = np.concatenate([[0.0], np.cumsum(g)])

    def loss_between(first: np.ndarray, last: np.ndarray, center: np.ndarray) -> np.ndarray:
        """Sums of ``|center - g|`` over some of the sorted values."""
        middle = np.clip(np.searchsorted(g, center), first, last)
        below = center * (middle - first) - (sums[middle] - sums[first])
        return below + (sums[last] - sums[middle]) - center * (last - middle)

    none, every = np.zeros_like(n_negative), np.full_like(n_negative, n_rows)
    losses = loss_between(none, n_negative, -1 - offsets) + loss_between(n_negative, every, 1 - offsets)
    best = int(np.argmin(losses))
    positive = np.zeros(n_rows, dtype=bool)
    positive[order[n_negative[best] :]] = True
    signs = np.where(positive, 1.0, -1.0)
    return positive, float(offsets[best]), float(np.abs(signs - values - offsets[best]).sum())
