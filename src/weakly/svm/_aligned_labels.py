"""Labels beside samples in blocks: from known ones to problems, and from linear SVMs to lazy ones of all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.estimators._calibration import class_codes, probabilities
from weakly.rows._blocks import RowBlocks
from weakly.rows._labels import LabelList
from weakly.svm._border_quotas import assign_block_quotas
from weakly.svm._primal_mixture import MixtureProblem, Shift
from weakly.svm._summed_rows import SummedRows


@dataclass(frozen=True, eq=False)
class AlignedLabels:
    """Samples in blocks, the labels that are known, and the cost of the loss of each labeled sample.

    ``is_sparse`` says whether SVMs are solved by products with the samples alone.
    """

    blocks: RowBlocks
    labels: LabelList
    costs: np.ndarray
    is_sparse: bool = False

    def known(self, signs: np.ndarray) -> Any:
        """Cost times sign of labeled samples, 0 on the others."""
        return self.blocks.keep(self.blocks.spread(self.labels.labeled, self.costs * signs, 0.0))

    def free_mean(self) -> np.ndarray:
        """Mean of the unlabeled samples, or of all if there are none."""
        known = self.known(np.ones(len(self.costs)) if self.labels.n_unlabeled else np.zeros(len(self.costs)))
        return self.blocks.reduce(_free_sum, known) / (self.labels.n_unlabeled or self.labels.n_rows)

    def problem(self, mean: np.ndarray, signs: np.ndarray) -> SummedRows:
        """The samples of the problem of one class against the others."""
        return SummedRows(self.blocks, mean, self.known(signs), self.is_sparse)

    def shift(self, center: bool, offset: float) -> Shift:
        """Mean sample, and the column that stands for the constant of a kernel."""
        n_rows = self.blocks.shape[0]
        mean = self.blocks.reduce(_total) / n_rows
        mean = mean if center else np.zeros_like(mean)
        if not offset:
            return mean, 0.0
        return mean, float(np.sqrt(offset * self.blocks.reduce(partial(_squares, mean=mean)) / n_rows))

    def mixture_problem(self, shift: Shift, signs: np.ndarray, unlabeled_cost: float) -> MixtureProblem:
        """Labelings of one class against the others."""
        blocks, labeled = self.blocks, self.labels.labeled
        costs, known = blocks.spread(labeled, self.costs, unlabeled_cost), blocks.spread(labeled, signs, 0.0)
        return MixtureProblem(blocks, *shift, blocks.keep(costs), blocks.keep(known))

    def balance(self, coef: np.ndarray, offset: np.ndarray, least: np.ndarray, most: np.ndarray) -> Any:
        """Prices, and aligned codes of the samples that prices leave at a border, -1 on the others."""
        function = partial(_columns, coef=coef, offset=offset)
        columns = self.blocks.keep(self.blocks.map(function, width=len(least), dtype=np.float64))
        known = self.known(np.ones(len(self.costs)))
        found = assign_block_quotas(self.blocks.of(columns), known, least, most)
        prices = np.diff(found.prices) if len(offset) == 1 else found.prices
        return prices, self.blocks.spread(found.rows, found.codes, -1)

    def transduction(self, coef: np.ndarray, offset: np.ndarray, border: Any) -> Any:
        """Lazy classes of all samples."""
        classes = self.labels.classes
        function = partial(_labels, coef=coef, offset=offset, classes=classes, dtype=self.blocks.dtype)
        return self.blocks.map(function, border, width=None, dtype=classes.dtype)

    def frequencies(self, coef: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Proportions of the classes of all samples."""
        settings = {"dtype": self.blocks.dtype, "n_classes": self.labels.n_classes}
        counts = self.blocks.reduce(partial(_counts, coef=coef, offset=offset, **settings))
        return counts / self.blocks.shape[0]

    def distributions(self, coef: np.ndarray, offset: np.ndarray, temperature: float) -> Any:
        """Lazy class probabilities of all samples."""
        dtype = self.blocks.dtype
        function = partial(_distributions, coef=coef, offset=offset, temperature=temperature, dtype=dtype)
        return self.blocks.map(function, width=self.labels.n_classes, dtype=dtype)


def _free_sum(rows: Any, known: np.ndarray) -> np.ndarray:
    return (known == 0).astype(np.float64) @ rows


def _total(rows: Any) -> np.ndarray:
    return np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()


def _squares(rows: Any, mean: np.ndarray) -> float:
    """Sum of the squared norms of the samples less the mean."""
    if not sp.issparse(rows):
        return float(np.sum((rows - mean) ** 2))
    rows = rows.astype(np.float64, copy=False)
    return float(rows.multiply(rows).sum() - 2 * (rows @ mean).sum() + rows.shape[0] * mean @ mean)


def _scores(rows: Any, coef: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return rows.astype(np.float64, copy=False) @ coef + offset


def _columns(rows: Any, coef: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Scores with a column per class, also for two."""
    scores = _scores(rows, coef, offset)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def _labels(
    rows: Any, border: np.ndarray, coef: np.ndarray, offset: np.ndarray, classes: np.ndarray, dtype: Any
) -> np.ndarray:
    codes = class_codes(_scores(rows, coef, offset).astype(dtype))
    return classes[np.where(border < 0, codes, border)]


def _counts(rows: Any, coef: np.ndarray, offset: np.ndarray, dtype: Any, n_classes: int) -> np.ndarray:
    return np.bincount(class_codes(_scores(rows, coef, offset).astype(dtype)), minlength=n_classes)


def _distributions(
    rows: Any, coef: np.ndarray, offset: np.ndarray, temperature: float, dtype: Any
) -> np.ndarray:
    return probabilities(_scores(rows, coef, offset).astype(dtype), temperature)
