"""L-BFGS from many starts at once: one call of the function serves all that are still on their way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

ManyFunction = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

_ARMIJO = 1e-4  # share of the promised fall that a step must keep
_MOST_TRIALS = 30  # steps along one direction
_ROUNDING = 1e-10  # least cosine between the two sides of a pair


class ManyMinima(NamedTuple):
    """Where many starts led.

    ``criteria`` are norms of the gradient relative to the absolute value of the function, or to 1 where that
    is less; ``stopped`` is "stopped" by the callback, "interrupted" by the user, or empty.
    """

    points: np.ndarray
    values: np.ndarray
    criteria: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    stopped: str


def minimize_many(
    function: ManyFunction,
    starts: np.ndarray,
    *,
    tol: float,
    max_iter: int | np.ndarray,
    memory: int = 10,
    callback: Callable[[np.ndarray], object] | None = None,
) -> ManyMinima:
    """Minimize a smooth function from many starts by L-BFGS with Armijo's rule.

    ``function(points, which)`` returns the values and gradients at points of the starts with these numbers;
    points whose value is not finite are never taken. ``max_iter`` may be an array with a limit for each
    start. ``callback`` sees the values of all starts.
    """
    points = np.array(starts, dtype=np.float64)
    n_starts = len(points)
    n_iter, stopped = np.zeros(n_starts, dtype=np.intp), ""
    limits = np.broadcast_to(max_iter, n_starts)
    values, gradients = function(points, np.arange(n_starts))
    values, criteria = np.array(values, dtype=np.float64), relative_norms(values, gradients)
    batch = _Batch(np.arange(n_starts), points.copy(), values.copy(), gradients, _Pairs(n_starts, memory))
    try:
        while not stopped:
            at = batch.which
            goes_on = (criteria[at] > tol) & (n_iter[at] < limits[at]) & ~batch.pairs.is_stuck
            batch = batch if goes_on.all() else batch.keep(goes_on)
            if not len(batch.which):
                break
            batch.step(function)
            at = batch.which
            n_iter[at] += 1
            points[at], values[at] = batch.points, batch.values
            criteria[at] = relative_norms(batch.values, batch.gradients)
            stopped = "stopped" if callback is not None and callback(values) else ""
    except KeyboardInterrupt:
        stopped = "interrupted"
    return ManyMinima(points, values, criteria, n_iter, criteria <= tol, stopped)


def relative_norms(values: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Norms of gradients, relative to the absolute values or to 1 where these are less."""
    return np.linalg.norm(gradients, axis=1) / np.maximum(np.abs(values), 1.0)


@dataclass(eq=False)
class _Batch:
    """The starts that are still on their way."""

    which: np.ndarray
    points: np.ndarray
    values: np.ndarray
    gradients: np.ndarray
    pairs: _Pairs

    def keep(self, chosen: np.ndarray) -> _Batch:
        points, values, gradients = self.points[chosen], self.values[chosen], self.gradients[chosen]
        return _Batch(self.which[chosen], points, values, gradients, self.pairs.keep(chosen))

    def step(self, function: ManyFunction) -> None:
        """One step from each start, downhill or none at all."""
        directions = self.pairs.directions(self.gradients)
        before, slopes = (self.points, self.gradients), np.minimum(np.vecdot(self.gradients, directions), 0.0)
        self.points, self.gradients = self.points.copy(), self.gradients.copy()
        steps, left = np.ones(len(slopes)), np.arange(len(slopes))
        for _ in range(_MOST_TRIALS):
            trial = before[0][left] + steps[left, None] * directions[left]
            values, gradients = function(trial, self.which[left])
            good = values <= self.values[left] + _ARMIJO * steps[left] * slopes[left]  # not where it is nan
            taken, left, rise = left[good], left[~good], (values - self.values[left])[~good]
            self.points[taken], self.values[taken] = trial[good], values[good]
            self.gradients[taken] = gradients[good]
            if not len(left):
                break
            steps[left] *= _shrinkage(steps[left] * slopes[left], rise)
        self.pairs.add(self.points - before[0], self.gradients - before[1], left)


class _Pairs:
    """Differences of points and gradients over the last steps, from which directions come.

    A pair that is of no use has the weight 0 instead of one over its product.
    """

    def __init__(self, n_starts: int, memory: int) -> None:
        self.memory = memory
        self.moves: list[np.ndarray] = []
        self.turns: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []
        self.lengths = np.zeros(n_starts)  # inverse curvature by the last pair; 0 where there is none
        self.is_stuck = np.zeros(n_starts, dtype=bool)

    def keep(self, chosen: np.ndarray) -> _Pairs:
        kept = _Pairs(0, self.memory)
        kept.moves = [move[chosen] for move in self.moves]
        kept.turns = [turn[chosen] for turn in self.turns]
        kept.weights = [weight[chosen] for weight in self.weights]
        kept.lengths, kept.is_stuck = self.lengths[chosen], self.is_stuck[chosen]
        return kept

    def directions(self, gradients: np.ndarray) -> np.ndarray:
        """Downhill by the two loops over the pairs; along the gradient, and at most 1, without any."""
        ways, shares = -gradients, []
        pairs = list(zip(self.moves, self.turns, self.weights, strict=True))
        for move, turn, weight in reversed(pairs):
            shares.append(weight * np.vecdot(move, ways))
            ways -= shares[-1][:, None] * turn
        first = 1 / np.maximum(np.linalg.norm(gradients, axis=1), 1.0)
        ways *= np.where(self.lengths > 0, self.lengths, first)[:, None]
        for (move, turn, weight), share in zip(pairs, reversed(shares), strict=True):
            ways += (share - weight * np.vecdot(turn, ways))[:, None] * move
        return ways

    def add(self, move: np.ndarray, turn: np.ndarray, failed: np.ndarray) -> None:
        """Learn from a step; starts that could not take it forget all, or are stuck if that was nothing."""
        product, bend = np.vecdot(move, turn), np.vecdot(turn, turn)
        is_useful = product > _ROUNDING * np.sqrt(np.vecdot(move, move) * bend)
        weight = np.divide(1.0, product, where=is_useful, out=np.zeros(len(product)))
        self.lengths = np.divide(product, bend, where=is_useful, out=self.lengths)
        self.moves, self.turns = [*self.moves, move], [*self.turns, turn]
        self.weights.append(weight)
        if len(self.weights) > self.memory:
            for part in (self.moves, self.turns, self.weights):
                del part[0]
        self.is_stuck[failed] = self.lengths[failed] == 0
        self.lengths[failed] = 0
        for weight in self.weights:
            weight[failed] = 0


def _shrinkage(promised: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """Factor to the minimum of the parabola through the values and the slope, between a tenth and a half."""
    with np.errstate(all="ignore"):
        factor = -promised / (2 * (rise - promised))
    return np.clip(np.nan_to_num(factor, nan=0.1), 0.1, 0.5)
