"""Order statistics of values in blocks, by counts: no place ever holds an entry for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from weakly.rows._blocks import RowBlocks

_BINS = 2048
_GATHERED = 4096  # values that are few enough to be sorted in one place
_FINE = 0.05  # width of bins, on the scale of a logistic function, from which Newton's method takes over
_NEWTON_STEPS = 8
_NEARLY = 1e-4  # error of a level whose next Newton step needs no check
_MOST_BISECTIONS = 200

Gains = Callable[..., np.ndarray]


@dataclass(frozen=True, slots=True)
class Range:
    """Smallest and largest of some numbers, which join by ``+``."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True, slots=True)
class Gathered:
    """Arrays that are put one after the other by ``+``."""

    values: np.ndarray

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(np.concatenate([self.values, other.values]))


@dataclass(frozen=True, slots=True)
class Rank:
    """A value by its rank, the number of larger ones and the number of equal ones."""

    value: float
    n_above: int
    n_equal: int


def range_of(values: RowBlocks) -> Range:
    """Smallest and largest finite value."""
    return values.reduce(_range)


def kth_largest(values: RowBlocks, k: int) -> Rank:
    """The ``k``-th largest of the finite values, exactly; ``k`` is from 1 to their number.

    Values that are ``-inf`` do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._order_statistics import kth_largest
    >>> kth_largest(ArrayBlocks(np.array([5.0, 1.0, 3.0, 3.0, -np.inf]), block_rows=2), 2)
    Rank(value=3.0, n_above=1, n_equal=2)
    """
    span = range_of(values)
    low, high, n_above = float(np.nextafter(span.low, -np.inf)), span.high, 0  # it is in (low, high]
    while True:
        edges = np.linspace(low, high, _BINS + 1)
        edges[0], edges[-1] = low, high
        counts = values.reduce(partial(_counts, edges=edges))
        if counts.sum() <= _GATHERED:
            inside = values.reduce(partial(_inside, low=low, high=high)).values
            value = float(np.sort(inside)[::-1][k - n_above - 1])
            return Rank(value, n_above + int((inside > value).sum()), int((inside == value).sum()))
        reached = n_above + np.cumsum(counts[::-1])
        place = int(np.searchsorted(reached, k))
        chosen = _BINS - 1 - place
        n_above = int(reached[place] - counts[chosen])
        low, high = float(edges[chosen]), float(edges[chosen + 1])
        if high <= np.nextafter(low, np.inf):  # nothing else fits in: they are all equal
            return Rank(high, n_above, int(counts[chosen]))


def level_of_blocks(
    values: RowBlocks, gains_of: Gains, share: float, *aligned: Any, start: float | None = None
) -> float:
    """The level at which the mean of ``1 / (1 + exp(level - gains))`` is ``share``, as ``balancing_level``.

    ``gains_of`` makes of a block of numbers, and of the aligned values, the gains of the rows that count.
    ``start`` is where to look first.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._order_statistics import level_of_blocks
    >>> round(level_of_blocks(ArrayBlocks(np.array([1.0, 2.0, 3.0]), block_rows=2), np.array, 0.5), 9)
    2.0
    """

    def tilt(level: float) -> tuple[float, float]:
        function = partial(_logistic_sums, gains_of=gains_of, level=level)
        total, steepness, n = values.reduce(function, *aligned)
        return total / n - share, steepness / n

    if start is not None:
        level = _newton(tilt, start)
        if level is not None:
            return level
    span = values.reduce(partial(_range, gains_of=gains_of), *aligned)
    odds = float(np.log((1 - share) / share))
    ends = span.low + odds, span.high + odds
    binned = partial(_bins, gains_of=gains_of)
    level = _newton(tilt, _binned_level(partial(_reduced, values, binned, aligned), share, span, ends))
    return _bisect(lambda level: tilt(level)[0], *ends) if level is None else level


def _newton(tilt: Callable[[float], tuple[float, float]], level: float) -> float | None:
    """Newton's method while it at least halves the error, from a point that is near."""
    before = np.inf
    for _ in range(_NEWTON_STEPS):
        excess, steepness = tilt(level)
        if abs(excess) <= 1e-12:
            return level
        if abs(excess) > before / 2 or steepness <= 1e-12:
            return None
        before, level = abs(excess), level + excess / steepness
        if before <= _NEARLY * min(steepness, 1e-2):
            return level  # the next error is the square of this one
    return None


def _bisect(excess: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_MOST_BISECTIONS):
        level = (low + high) / 2
        over = excess(level)
        low, high = (level, high) if over > 0 else (low, level)
        if abs(over) <= 1e-12 or high - low <= 1e-14 * max(abs(low), abs(high), 1.0):
            break
    return level


def _binned_level(
    bins_of: Callable[[np.ndarray], Any], share: float, span: Range, ends: tuple[float, float]
) -> float:
    """The level for gains that are rounded to the means of bins, which narrow around it."""
    low, high = span.low, span.high
    while True:
        counts, sums = bins_of(np.linspace(low, high, _BINS + 1))
        used = np.flatnonzero(counts)
        level = _bisect(partial(_binned_excess, sums[used] / counts[used], counts[used], share), *ends)
        width = (high - low) / _BINS
        if width <= _FINE or not low <= level <= high:
            return level
        low, high = level - 2 * width, level + 2 * width


def _reduced(values: RowBlocks, function: Callable[..., Any], aligned: tuple, edges: np.ndarray) -> Any:
    return values.reduce(partial(function, edges=edges), *aligned)


def _binned_excess(gains: np.ndarray, counts: np.ndarray, share: float, level: float) -> float:
    return float(counts @ expit(gains - level) / counts.sum() - share)


def _range(values: np.ndarray, *aligned: np.ndarray, gains_of: Gains = np.asarray) -> Range:
    gains = gains_of(values, *aligned)
    finite = gains[np.isfinite(gains)]
    return Range(float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf)))


def _counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Number of values in each ``(edges[j], edges[j + 1]]``."""
    inside = values[(values > edges[0]) & (values <= edges[-1])]
    return np.bincount(np.searchsorted(edges, inside) - 1, minlength=len(edges) - 1)


def _inside(values: np.ndarray, low: float, high: float) -> Gathered:
    return Gathered(values[(values > low) & (values <= high)])


def _logistic_sums(
    values: np.ndarray, *aligned: np.ndarray, gains_of: Gains, level: float
) -> tuple[float, float, int]:
    p = expit(gains_of(values, *aligned) - level)
    return float(p.sum()), float((p * (1 - p)).sum()), len(p)


def _bins(
    values: np.ndarray, *aligned: np.ndarray, gains_of: Gains, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number and sum of the gains in each bin, and in the two that are beyond the ends."""
    gains = gains_of(values, *aligned)
    place = np.searchsorted(edges, gains)
    return np.bincount(place, minlength=len(edges) + 1), np.bincount(place, gains, minlength=len(edges) + 1)
