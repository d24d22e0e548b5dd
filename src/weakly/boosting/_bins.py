"""Features as small whole numbers, once for all trees."""

from __future__ import annotations

import numpy as np

N_BINS = 255  # of values; with the one of missing entries they fill a byte
_MISSING = 0  # below all values, so that a split can set missing entries apart
_QUANTILE_ROWS = 200_000  # rows that quantiles are taken from


class Bins:
    """Cut points of every feature: between values while few, at quantiles beyond. ``NaN`` is missing."""

    def __init__(self, X: np.ndarray) -> None:
        step = -(-len(X) // _QUANTILE_ROWS)
        self._cuts = [_cut_points(column) for column in X[::step].T]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Bin of every entry, as bytes."""
        binned = np.empty(X.shape, dtype=np.uint8)
        for j, cuts in enumerate(self._cuts):
            binned[:, j] = np.searchsorted(cuts, X[:, j], side="left") + 1
        binned[np.isnan(X)] = _MISSING
        return binned


def _cut_points(column: np.ndarray) -> np.ndarray:
    values = np.unique(column[~np.isnan(column)])
    if len(values) > N_BINS:
        present = column[~np.isnan(column)]
        values = np.unique(np.quantile(present, np.linspace(0, 1, N_BINS), method="nearest"))
    return values[:-1] + (values[1:] - values[:-1]) / 2
