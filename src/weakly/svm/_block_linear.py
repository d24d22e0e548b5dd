"""Linear machines on rows in blocks, from labels to problems and back to lazy labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weakly.estimators._base import class_codes
from weakly.estimators._calibration import probabilities
from weakly.rows._blocks import RowBlocks
from weakly.rows._labels import LabelList
from weakly.svm._border_quotas import assign_block_quotas
from weakly.svm._summed_rows import SummedRows


@dataclass(frozen=True, eq=False)
class LabeledBlocks:
    """Rows in blocks and the labels that are known.

    Parameters
    ----------
    blocks : RowBlocks
        The rows.
    labels : LabelList
        Their labels.
    costs : ndarray of shape (n_labeled,)
        Cost of the loss of each labelled row.
    is_sparse : bool
        Whether rows are solved by products with them alone.
    """

    blocks: RowBlocks
    labels: LabelList
    costs: np.ndarray
    is_sparse: bool

    def known(self, signs: np.ndarray) -> Any:
        """Cost times sign of labelled rows, 0 on the others."""
        return self.blocks.keep(self.blocks.spread(self.labels.labeled, self.costs * signs, 0.0))

    def free_mean(self) -> np.ndarray:
        """Mean of the unlabelled rows, or of all if there are none."""
        known = self.known(np.ones(len(self.costs)) if self.labels.n_unlabeled else np.zeros(len(self.costs)))
        return self.blocks.reduce(_free_sum, known) / (self.labels.n_unlabeled or self.labels.n_rows)

    def problem(self, mean: np.ndarray, signs: np.ndarray) -> SummedRows:
        """The rows of the problem of one class against the others."""
        return SummedRows(self.blocks, mean, self.known(signs), self.is_sparse)

    def balance(self, coef: np.ndarray, offset: np.ndarray, least: np.ndarray, most: np.ndarray) -> Any:
        """Prices, and aligned codes of the rows that prices leave at a border, -1 on the others."""
        function = partial(_columns, coef=coef, offset=offset)
        columns = self.blocks.keep(self.blocks.map(function, width=len(least), dtype=np.float64))
        known = self.known(np.ones(len(self.costs)))
        found = assign_block_quotas(self.blocks.of(columns), known, least, most)
        prices = np.diff(found.prices) if len(offset) == 1 else found.prices
        return prices, self.blocks.spread(found.rows, found.codes, -1)

    def publish(self, coef: np.ndarray, offset: np.ndarray, border: Any, classes: np.ndarray) -> Any:
        """Lazy labels of all rows."""
        function = partial(_labels, coef=coef, offset=offset, classes=classes, dtype=self.blocks.dtype)
        return self.blocks.map(function, border, width=None, dtype=classes.dtype)

    def distributions(self, coef: np.ndarray, offset: np.ndarray, temperature: float) -> Any:
        """Lazy class probabilities of all rows."""
        dtype = self.blocks.dtype
        function = partial(_distributions, coef=coef, offset=offset, temperature=temperature, dtype=dtype)
        return self.blocks.map(function, width=self.labels.n_classes, dtype=dtype)


def _free_sum(rows: Any, known: np.ndarray) -> np.ndarray:
    return (known == 0).astype(np.float64) @ rows


def linear_scores(rows: Any, coef: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return rows.astype(np.float64, copy=False) @ coef + offset


def _columns(rows: Any, coef: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Scores with a column per class, also for two."""
    scores = linear_scores(rows, coef, offset)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def _labels(
    rows: Any, border: np.ndarray, coef: np.ndarray, offset: np.ndarray, classes: np.ndarray, dtype: Any
) -> np.ndarray:
    codes = class_codes(linear_scores(rows, coef, offset).astype(dtype))
    return classes[np.where(border < 0, codes, border)]


def _distributions(
    rows: Any, coef: np.ndarray, offset: np.ndarray, temperature: float, dtype: Any
) -> np.ndarray:
    return probabilities(linear_scores(rows, coef, offset).astype(dtype), temperature)
