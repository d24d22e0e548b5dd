"""The problem of a transductive SVM on samples in blocks, by sums over them.

Scores and labels are aligned values that stay where the samples are. What has to be known of all scores at
once, the level that balances probabilities and the rank that divides labels, is found by counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import entr, expit

from weakly.losses._transductive import squared_hinge
from weakly.solvers._row_newton import RowFit
from weakly.svm._order_statistics import kth_largest, level_of_blocks
from weakly.svm._summed_rows import SummedRows, centered, two_sided
from weakly.svm._transduction_problem import Found


@dataclass(frozen=True, eq=False)
class SummedTransduction:
    """The problem of one class against the others, as a ``TransductionProblem``.

    The samples are centered on the unlabeled ones, of which each has the cost ``C*``. ``share`` is that of
    positive labels among them, and ``least`` and ``most`` bound their number. ``labeled_cost`` is the sum of
    the costs of the labeled samples.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._summed_rows import SummedRows
    >>> from weakly.svm._summed_transduction import SummedTransduction
    >>> rows = SummedRows(ArrayBlocks(np.zeros((4, 1))), np.zeros(1), known=np.array([1.0, 0, 0, 0]))
    >>> problem = SummedTransduction(rows, 1.0, 1 / 3, least=1, most=1, n_unlabeled=3, labeled_cost=1.0)
    >>> problem.best_labels(np.array([9.0, 0.1, 0.3, 0.2]), offset=0.0).tolist()
    [0, -1, 1, -1]
    """

    rows: SummedRows
    cost: float
    share: float
    least: int
    most: int
    n_unlabeled: int
    labeled_cost: float

    @property
    def n_coordinates(self) -> int:
        return self.rows.n_params

    @property
    def total_cost(self) -> float:
        return self.labeled_cost + self.cost * self.n_unlabeled

    def best_labels(self, values: Any, offset: float = 0.0) -> Any:
        """The labels with the least loss, by rank of the scores: 1 and -1, and 0 where they are known."""
        blocks, known = self.rows.blocks, self.rows.known
        free = self.rows.kept(blocks.of(values), _free, known)
        n_positive = int(blocks.of(free).reduce(partial(_count_above, limit=-offset)))
        n_positive = int(np.clip(n_positive, self.least, self.most))
        limit, last = np.inf, -1
        if n_positive:
            rank = kth_largest(blocks.of(free), n_positive)
            limit, n_more = rank.value, n_positive - rank.n_above
            last = blocks.shape[0] if n_more == rank.n_equal else self._last_of_equal(free, limit, n_more)
        function = partial(_ranked, limit=limit, last=last)
        return blocks.keep(blocks.of(free).map(function, blocks.numbers(), width=None, dtype=np.int8))

    def _last_of_equal(self, free: Any, limit: float, n_more: int) -> int:
        """Of samples whose scores are equal, so many of the first: the number of the last of them."""
        blocks = self.rows.blocks
        function = partial(_number_of_equal, limit=limit)
        numbers = blocks.of(free).map(function, blocks.numbers(), width=None, dtype=np.float64)
        return -int(kth_largest(blocks.of(numbers), n_more).value)

    def differ(self, labels: Any, others: Any) -> bool:
        """Whether two labelings do anywhere."""
        return bool(self.rows.blocks.of(labels).reduce(_n_different, others))

    def machine_of(self, labels: Any, start: RowFit | None, tol: float, factor: float = 1.0) -> RowFit:
        """The SVM for given labels."""
        return self.rows.fit(labels, factor * self.cost, start=start, tol=tol)

    def supervised(self, tol: float) -> RowFit:
        """The SVM of the labeled samples."""
        return self.rows.fit(self.rows.zeros(), 0.0, tol=tol)

    def annealed(self, temperature: float) -> _AnnealedSums:
        """The loss at a temperature in units of ``C*``."""
        return _AnnealedSums(self, temperature * self.cost)

    def publish(self, machine: RowFit, labels: Any) -> tuple[np.ndarray, float, None]:
        """Weights and offset for samples that are not centered; labels stay where the samples are."""
        return machine.theta, float(machine.offset - self.rows.mean @ machine.theta), None


class _AnnealedSums:
    """Sums of the loss in which unlabeled samples have both labels, with balanced probabilities."""

    def __init__(self, problem: SummedTransduction, temperature: float) -> None:
        self.problem, self.temperature = problem, temperature
        self.level: float | None = None  # where probabilities were balanced last

    def values(self, theta: np.ndarray) -> Any:
        return self.problem.rows.values(theta)

    def sums(self, theta: np.ndarray, offset: float) -> tuple[float, np.ndarray, float]:
        rows, values = self.problem.rows, self.values(theta)
        settings = self._balanced(values, offset)
        function = partial(_annealed_sums, mean=rows.mean, cost=self.problem.cost, **settings)
        loss, entropy, pull, slope = rows.blocks.reduce(function, values, rows.known)
        return loss - self.temperature * entropy, pull, slope

    def mean_entropy(self, found: Found) -> float:
        rows = self.problem.rows
        function = partial(_entropy, **self._balanced(found.values, found.offset))
        return float(rows.blocks.of(found.values).reduce(function, rows.known)) / self.problem.n_unlabeled

    def _balanced(self, values: Any, offset: float) -> dict[str, Any]:
        rows, factor = self.problem.rows, self.problem.cost / self.temperature
        gains_of = partial(_free_gains, offset=offset, factor=factor)
        blocks = rows.blocks.of(values)
        self.level = level_of_blocks(blocks, gains_of, self.problem.share, rows.known, start=self.level)
        return {"offset": offset, "factor": factor, "level": self.level}


def _free(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Values of unlabeled samples; those of the others are not finite."""
    return np.where(known == 0, values, -np.inf)


def _count_above(values: np.ndarray, limit: float) -> int:
    return int(np.count_nonzero(values > limit))


def _number_of_equal(values: np.ndarray, numbers: np.ndarray, limit: float) -> np.ndarray:
    """Numbers of the samples with this value, negative, so that the first are the largest."""
    return np.where(values == limit, -numbers.astype(np.float64), -np.inf)


def _ranked(values: np.ndarray, numbers: np.ndarray, limit: float, last: int) -> np.ndarray:
    positive = (values > limit) | ((values == limit) & (numbers <= last))
    return np.where(values == -np.inf, 0, np.where(positive, 1, -1)).astype(np.int8)


def _n_different(labels: np.ndarray, others: np.ndarray) -> int:
    return int(np.count_nonzero(labels != others))


def _free_gains(values: np.ndarray, known: np.ndarray, offset: float, factor: float) -> np.ndarray:
    """Gains of the unlabeled samples: how much better the positive label is, in units of the temperature."""
    return _gains(values[known == 0], offset, factor)


def _gains(values: np.ndarray, offset: float, factor: float) -> np.ndarray:
    scores = values + offset
    return factor * (squared_hinge(-scores) - squared_hinge(scores))


def _entropy(values: np.ndarray, known: np.ndarray, offset: float, factor: float, level: float) -> float:
    p = expit(_free_gains(values, known, offset, factor) - level)
    return float((entr(p) + entr(1 - p)).sum())


def _annealed_sums(
    rows: Any,
    values: np.ndarray,
    known: np.ndarray,
    mean: np.ndarray,
    cost: float,
    offset: float,
    factor: float,
    level: float,
) -> tuple:
    """Loss and entropy, the gradient by the weights and the sum of the slopes."""
    p = expit(_gains(values, offset, factor) - level)
    loss, scores = two_sided(known, 2 * p - 1, cost), values + offset
    slope = loss.slope(scores)
    entropy = _entropy(values, known, offset, factor, level)
    return loss.value(scores), entropy, centered(rows, mean).adjoint(slope), float(slope.sum())
