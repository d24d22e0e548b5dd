"""Classes with a least and a most number of rows, for rows in blocks.

Which class a row gets is in doubt for rows near a border alone. Prices of a sample of rows say where the
borders are; the rows near them are gathered and assigned exactly, and the new prices prove that no other row
was in doubt, or that more rows have to be gathered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weakly.rows._blocks import RowBlocks
from weakly.solvers._quotas import assign_quotas
from weakly.svm._order_statistics import Gathered, kth_largest

_SAMPLED = 20_000  # rows whose prices are a guess; as many are then gathered at least
_NEAR = 1e-6  # distance from a border, relative to the scores, at which rounding may decide


@dataclass(frozen=True, slots=True)
class BlockQuotas:
    """Prices to add to the scores of each class; rows left at a border, ascending, and their classes."""

    prices: np.ndarray
    rows: np.ndarray
    codes: np.ndarray


def assign_block_quotas(
    scores: RowBlocks, known: Any, least: np.ndarray, most: np.ndarray, n_sampled: int = _SAMPLED
) -> BlockQuotas:
    """Assign the unlabelled rows of blocks to classes that have a quota of rows, as ``assign_quotas`` does.

    Scores have a column per class, ``known`` is not 0 on labelled rows, which do not count, and ``least`` and
    ``most`` bound the number of rows of each class. ``n_sampled`` rows are gathered for a first guess, and
    near the borders at least. The class of all rows but those at a border is that of the largest score with
    its price.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._border_quotas import assign_block_quotas
    >>> scores = ArrayBlocks(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]), block_rows=2)
    >>> halves = np.array([2, 2])
    >>> assign_block_quotas(scores, np.zeros(4), halves, halves).prices.tolist()
    [1.25, -1.25]
    """
    prices = np.zeros(len(least))
    counts = scores.reduce(partial(_counts, prices=prices, width=-1.0), known)
    nothing = np.zeros(0, dtype=np.intp)
    if ((least <= counts) & (counts <= most)).all():
        return BlockQuotas(prices, nothing, nothing)
    n_free = int(counts.sum())
    n_gathered = n_sampled
    if n_free > n_sampled:
        prices = _sampled_prices(scores, known, least / n_free, most / n_free, n_sampled)
        # Shares of a sample are off by its root; twice that is rarely not enough.
        n_gathered = max(n_sampled, int(2 * n_free / np.sqrt(n_sampled)))
    while True:
        width = _width(scores, known, prices, n_gathered, n_free)
        sure = scores.reduce(partial(_counts, prices=prices, width=width), known)
        n_gathered *= 2
        if (least < sure).any() and width < np.inf:
            continue
        rows, near = _gather(scores, known, prices, width)
        found = assign_quotas(near, least - sure, most - sure)
        # Less than the width, or rows just beyond it would lie on the new border.
        if np.ptp(found.prices - prices) < width - _NEAR * np.abs(near).max(initial=1.0):
            lines = near + found.prices
            gaps = lines.max(axis=1) - np.partition(lines, -2, axis=1)[:, -2]
            border = (gaps <= _NEAR * np.abs(near).max()) | (lines.argmax(axis=1) != found.codes)
            return BlockQuotas(found.prices, rows[border], found.codes[border])
        prices = found.prices


def _sampled_prices(
    scores: RowBlocks, known: Any, least: np.ndarray, most: np.ndarray, n_sampled: int
) -> np.ndarray:
    rows = np.sort(np.random.default_rng(0).choice(scores.shape[0], n_sampled, replace=False, shuffle=False))
    lines = scores.take(rows)[scores.of(known).take(rows) == 0]
    bounds = np.floor(least * len(lines)).astype(int), np.ceil(most * len(lines)).astype(int)
    return assign_quotas(lines, *bounds).prices


def _width(scores: RowBlocks, known: Any, prices: np.ndarray, n_gathered: int, n_free: int) -> float:
    """Distance from the border within which there are so many rows."""
    if n_gathered >= n_free:
        return np.inf
    gaps = scores.map(partial(_nearness, prices=prices), known, width=None, dtype=np.float64)
    return -kth_largest(scores.of(scores.keep(gaps)), n_gathered).value


def _gather(scores: RowBlocks, known: Any, prices: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and scores of the rows within a distance of the border."""
    lines = scores.reduce(partial(_near, prices=prices, width=width), known, scores.numbers()).values
    return lines[:, 0].astype(np.intp), lines[:, 1:]


def _nearness(scores: np.ndarray, known: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Minus the distance of unlabelled rows from the border."""
    ordered = np.partition(scores + prices, -2, axis=1)
    return np.where(known == 0, ordered[:, -2] - ordered[:, -1], -np.inf)


def _counts(scores: np.ndarray, known: np.ndarray, prices: np.ndarray, width: float) -> np.ndarray:
    """Unlabelled rows of each class that are farther from the border than this."""
    is_far = (known == 0) & (_nearness(scores, known, prices) < -width)
    return np.bincount((scores[is_far] + prices).argmax(axis=1), minlength=len(prices))


def _near(
    scores: np.ndarray, known: np.ndarray, numbers: np.ndarray, prices: np.ndarray, width: float
) -> Gathered:
    chosen = (known == 0) & (_nearness(scores, known, prices) >= -width)
    return Gathered(np.column_stack([numbers[chosen].astype(np.float64), scores[chosen]]))
