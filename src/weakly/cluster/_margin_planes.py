"""Maximum margin clustering by turns of signs and cutting planes.

Over functions ``f`` whose scores of the rows sum to 0 and offsets ``|b| <= reach`` the objective is ::

    J(f, b) = ||f||^2 / 2  +  C sum_i max(1 - |f_i + b|, 0)

Signs ``s`` of the scores make it convex: ``s_i t`` in place of ``|t|`` makes no loss smaller, nor larger
where ``t`` has the sign, so a function that lowers the convex problem lowers ``J``. A plane of that problem
is a set of rows ``c`` that may lie inside the margin: all losses sum to ``sum_i c_i (1 - s_i (f_i + b))`` or
more. With planes ``c_t``, of weights ``a_t``, the function is the expansion ``sum_t a_t c_t s`` of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weakly.solvers._interior import solve_interior
from weakly.solvers._label_machine import LabelMachine
from weakly.solvers._result import Labeling, SolverResult

_FORGOTTEN = 1e-7  # share of the cost below which a plane has no weight
_MOST_IDLE, _MOST_PLANES = 10, 100  # steps without weight before a plane leaves, and planes at once
_MOST_STEPS = 500  # planes for one vector of signs
_AHEAD = 0.2  # how far from the best point towards the newest one the next plane is taken
_FIRST_GAP = 0.03  # signs will change: the first functions need not be exact
_SHARE_OF_GAIN = 0.1
_ROUNDING = 1e-13  # of the loss without any function: an objective that is 0 up to this
_TINY = 1e-200


def solve_margin_planes(
    machine: LabelMachine,
    start: np.ndarray,
    C: float,
    reach: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 50,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimize ``||f||^2 / 2 + C sum_i max(1 - |f_i + b|, 0)`` over functions ``f`` and ``|b| <= reach``.

    This is the method of [cpmmc], which bounds the sum of the scores so that not all samples fall on one
    side; for centered samples that is a bound of ``b``. Each round fixes the signs of the scores and solves
    the convex problem they make. Departures from the paper: planes keep their samples when signs change, and
    only their images are found anew; a search along the line from the best point to that of the planes saves
    some of them, and no step raises the objective; early rounds are solved roughly, the last one to ``tol``.

    Of the ``machine`` only the ``scores`` are used, which must be those of a centered kernel. ``reach`` may
    be 0 or infinite. ``tol`` is the relative gap of the convex problem of the last round, and the relative
    gain of a round that ends the method. The last round is not followed by a callback.

    ``x`` is the kernel expansion of ``f``, ``intercept`` is ``b``, ``detail.labels`` holds the signs of
    the scores. Histories have an entry per round: ``J``, and as ``criterion`` the relative duality gap of
    the round's convex problem. The status is "converged" where signs no longer change or ``J`` gains
    little, "stalled" where the same holds but rounding, or the number of planes, kept the gap above ``tol``.
    """
    signs = start.astype(np.float64)
    n_rows = len(signs)
    planes = _Planes(machine, signs, C, reach)
    point = _Point(np.zeros(n_rows), np.zeros(n_rows), 0.0)
    history: list[tuple[float, float]] = []
    status, goal = None, max(tol, _FIRST_GAP)
    while status is None:
        is_last = len(history) + 1 >= max_iter
        try:
            point, gap, is_stuck = planes.solve(point, tol if is_last else goal)
        except KeyboardInterrupt:
            if not history:
                raise
            status = "interrupted"
            break
        totals, before = point.scores + point.offset, signs
        signs = np.where(totals == 0, signs, np.sign(totals))
        history.append((point.objective(signs, C), gap))
        gain = 1.0 if len(history) == 1 else 1 - history[-1][0] / (history[-2][0] or 1.0)
        is_settled = gain < tol or bool((signs == before).all())
        if is_settled and (gap <= tol or is_stuck):
            status = "converged" if gap <= tol else "stalled"
        elif is_last:
            status = "max_iter"
        elif callback is not None and callback():
            status = "stopped"
        else:
            goal = tol if is_settled else max(tol, min(goal, _SHARE_OF_GAIN * gain))
            planes.turn(signs)
    objectives, criteria = np.array(history).T
    return SolverResult(
        x=point.coefficients,
        objective=objectives,
        criterion=criteria,
        n_iter=len(history),
        status=status,
        intercept=point.offset,
        detail=Labeling(signs[None]),
    )


class _Point(NamedTuple):
    """A function as an expansion in rows, its scores of the rows, and an offset."""

    coefficients: np.ndarray
    scores: np.ndarray
    offset: float

    def toward(self, other: _Point, share: float) -> _Point:
        return _Point(
            self.coefficients + share * (other.coefficients - self.coefficients),
            self.scores + share * (other.scores - self.scores),
            self.offset + share * (other.offset - self.offset),
        )

    def objective(self, signs: np.ndarray, cost: float) -> float:
        losses = np.maximum(1 - signs * (self.scores + self.offset), 0)
        return max(float(self.coefficients @ self.scores), 0.0) / 2 + cost * float(losses.sum())


class _Planes:
    """Planes of the convex problem of some signs: rows that are members, and scores of their expansions."""

    def __init__(self, machine: LabelMachine, signs: np.ndarray, cost: float, reach: float) -> None:
        self._scores, self.signs, self.cost, self.reach = machine.scores, signs, cost, reach
        self.members = np.zeros((0, len(signs)), dtype=bool)
        self.images = np.zeros((0, len(signs)))
        self.gram = np.zeros((0, 0))
        self.idle = np.zeros(0, dtype=int)
        self._rounding = _ROUNDING * cost * len(signs)

    def solve(self, point: _Point, tol: float) -> tuple[_Point, float, bool]:
        """From a point to one within a relative gap of the optimum; the last entry says no plane helps."""
        if not len(self.members):
            self._add(self._inside(point))
        for _ in range(_MOST_STEPS):
            weights, offset, bound = self._weigh(point)
            share = weights * self.cost
            newest = _Point((share @ self.members) * self.signs, share @ self.images, offset)
            point = self._search(point, newest)
            value = point.objective(self.signs, self.cost)
            gap = max(value - bound, 0.0) / max(value, self._rounding)
            self.idle = np.where(weights > _FORGOTTEN, 0, self.idle + 1)
            if gap <= tol:
                return point, gap, False
            # A plane of the newest point that is known already says that this point solves the problem.
            ahead = self._inside(point.toward(newest, _AHEAD))
            if self._knows(ahead):
                ahead = self._inside(newest)
                if self._knows(ahead):
                    break
            self._drop(weights)
            self._add(ahead)
        return point, gap, True

    def turn(self, signs: np.ndarray) -> None:
        """Give the planes that had weight other signs: any set of rows makes a plane for any signs."""
        self._keep(self.idle == 0)
        flipped = np.flatnonzero(signs != self.signs)
        self.signs = signs
        if len(flipped) < len(self.members):
            changes = np.zeros((len(flipped), len(signs)))
            changes[np.arange(len(flipped)), flipped] = 2 * signs[flipped]
            self.images += self.members[:, flipped].astype(np.float64) @ self._scores(changes)
        elif len(self.members):
            self.images = self._scores(self.members * signs)
        self.gram = (self.members * signs) @ self.images.T

    def _inside(self, point: _Point) -> np.ndarray:
        return self.signs * (point.scores + point.offset) < 1

    def _knows(self, members: np.ndarray) -> bool:
        return bool((self.members == members).all(axis=1).any())

    def _add(self, members: np.ndarray) -> None:
        expansion = members * self.signs
        self.members = np.vstack([self.members, members])
        self.images = np.vstack([self.images, self._scores(expansion[None])])
        beside = self.images @ expansion
        self.gram = np.block([[self.gram, beside[:-1, None]], [beside[None]]])
        self.idle = np.append(self.idle, 0)

    def _drop(self, weights: np.ndarray) -> None:
        kept = self.idle < _MOST_IDLE
        kept[np.argsort(weights)[: max(len(weights) - _MOST_PLANES + 1, 0)]] = False
        self._keep(kept)

    def _keep(self, kept: np.ndarray) -> None:
        if not kept.all():
            self.members, self.images, self.idle = self.members[kept], self.images[kept], self.idle[kept]
            self.gram = self.gram[np.ix_(kept, kept)]

    def _weigh(self, point: _Point) -> tuple[np.ndarray, float, float]:
        """Weights of the planes in units of the cost, their offset, and a bound of the optimum from below.

        The dual is to maximize ``d'a - a'Ga / 2 - reach |k'a|`` over ``a >= 0``, ``sum a <= C``, with
        ``d_t = sum_i c_ti``, ``k_t = sum_i c_ti s_i``; the offset is the multiplier of ``k'a = p - m``.
        """
        # The best offset lies within 1 of the scores: a bound beyond them is no bound, but is finite.
        reach = min(self.reach, 2 * (1 + float(np.abs(point.scores).max())))
        n_planes, has_offset = len(self.members), reach > 0
        sizes, balances = self.members.sum(axis=1), self.members @ self.signs
        unit = self.cost / max(point.objective(self.signs, self.cost), self._rounding)
        A = np.zeros((1 + has_offset, n_planes + 1 + 2 * has_offset))
        A[0, : n_planes + 1] = 1  # one more variable for the cost that no plane takes
        q = np.append(-unit * sizes, np.zeros(1 + 2 * has_offset))
        if has_offset:
            A[1, :n_planes], A[1, n_planes + 1 :], q[n_planes + 1 :] = unit * balances, (-1, 1), reach
        Q = np.zeros((len(q), len(q)))
        Q[:n_planes, :n_planes] = unit * self.cost * self.gram
        found = solve_interior(Q, q, A, np.eye(len(A))[0])
        weights = np.maximum(found.x[:n_planes], 0)
        weights /= max(weights.sum(), 1.0)
        offset = float(np.clip(-found.multipliers[1], -reach, reach)) if has_offset else 0.0
        a = weights * self.cost
        bound = sizes @ a - a @ self.gram @ a / 2 - reach * abs(balances @ a)
        return weights, offset, max(float(bound), 0.0)

    def _search(self, old: _Point, new: _Point) -> _Point:
        """The best point of the ray from one to another: losses bend where rows enter or leave the margin."""
        violations = 1 - self.signs * (old.scores + old.offset)
        change, offset_change = new.scores - old.scores, new.offset - old.offset
        gains = self.signs * (change + offset_change)
        direction = new.coefficients - old.coefficients
        curvature = float(direction @ change)
        is_lossy = (violations > 0) | ((violations == 0) & (gains < 0))
        slope = direction @ old.scores - self.cost * gains[is_lossy].sum()
        if slope >= 0:
            return old
        rows = np.flatnonzero(violations * gains > _TINY)
        bends = violations[rows] / gains[rows]
        order = np.argsort(bends)
        bends = bends[order]
        slopes = slope + self.cost * np.append(0.0, np.cumsum(np.abs(gains[rows[order]])))
        part = int(np.searchsorted(slopes[:-1] + curvature * bends, 0.0))
        begin = bends[part - 1] if part else 0.0
        end = bends[part] if part < len(bends) else max(begin, 1.0)
        share = float(np.clip(-slopes[part] / max(curvature, _TINY), begin, end))
        if offset_change:
            share = min(
                share, max((np.copysign(self.reach, offset_change) - old.offset) / offset_change, 0.0)
            )
        best = old.toward(new, share)
        return best._replace(offset=float(np.clip(best.offset, -self.reach, self.reach)))
