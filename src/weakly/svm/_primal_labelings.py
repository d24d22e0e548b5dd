"""Mixtures of labelings in the primal, for the cutting plane method: samples in blocks, and sums over them.

Label vectors are bytes beside the samples. What is gathered are vectors with an entry per feature and, for
the thresholds of labels, some thousand scores of each block and the scores between two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from weakly.solvers._cutting_plane import FORGOTTEN, MOST_STEPS, ROUNDING
from weakly.svm._order_statistics import Gathered
from weakly.svm._primal_mixture import (
    MixtureFit,
    MixtureProblem,
    Shift,
    adjoint_rows,
    apply_rows,
    fit_mixture,
    margins_of,
)

_SHARE_OF_TOL = 0.1  # of the SVMs
_SAMPLES = 1024  # keys of a block that bound the ranks of all


@dataclass(frozen=True, eq=False)
class PrimalMixtures:
    """Mixtures for :func:`weakly.solvers._cutting_plane.cut_labels`, with ``oracle="ascent"``.

    ``least`` and ``most`` bound the number of positive labels among the unlabeled samples.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.solvers._cutting_plane import cut_labels
    >>> from weakly.svm._primal_labelings import PrimalMixtures
    >>> from weakly.svm._primal_mixture import MixtureProblem
    >>> blocks, known = ArrayBlocks(np.array([[-2.0], [-1.9], [1.9], [2.0]])), np.array([-1.0, 0, 0, 1])
    >>> problem = MixtureProblem(blocks, np.zeros(1), 0.0, np.ones(4), known)
    >>> result = cut_labels(PrimalMixtures(problem, 1, 1), np.array([-1, 1, -1, 1]), tol=1e-3, max_labels=20)
    >>> bool(result.x[0] > 0), result.status
    (True, 'converged')
    """

    problem: MixtureProblem
    least: int
    most: int
    is_exact = False
    slack = 0.0  # a fit goes on from the one before it: the last digits cost little

    def alone(self, label: Any, near: MixtureFit | None = None) -> MixtureFit:
        """One label vector, to be weighed from the function of a mixture."""
        blocks = self.problem.blocks
        labels = blocks.keep(blocks.of(label).map(as_column, width=1, dtype=np.int8))
        return MixtureFit(labels, near.x[None] if near else np.zeros((1, self.problem.n_params)))

    def join(self, mixture: MixtureFit, label: Any) -> MixtureFit:
        """A mixture with one more label vector, to be weighed."""
        blocks, width = self.problem.blocks, len(mixture.W) + 1
        labels = blocks.keep(blocks.of(mixture.labels).map(_append, label, width=width, dtype=np.int8))
        return MixtureFit(labels, np.vstack([mixture.W, np.zeros(self.problem.n_params)]))

    def weigh(self, mixture: MixtureFit, tol: float) -> MixtureFit:
        """The best weights; label vectors without any are left out."""
        blocks = self.problem.blocks
        fit = fit_mixture(self.problem, mixture.labels, mixture.W, tol=_SHARE_OF_TOL * tol)
        kept = fit.weights > FORGOTTEN
        if kept.all():
            return fit
        shares = fit.weights[kept] / fit.weights[kept].sum()
        columns = partial(_columns, kept=kept)
        labels = blocks.keep(blocks.of(fit.labels).map(columns, width=len(shares), dtype=np.int8))
        return replace(fit, labels=labels, W=fit.W[kept], weights=shares, vectors=fit.vectors[kept])

    def find_violated(self, mixture: MixtureFit) -> tuple[Any | None, float]:
        """Look for a label vector with a larger norm under the dual point, by steps ([wellsvm] Prop. 4)."""
        problem, blocks = self.problem, self.problem.blocks
        function = partial(_dual, shift=problem.shift, W=mixture.W)
        dual = blocks.keep(blocks.map(function, mixture.labels, problem.costs, width=None, dtype=np.float64))
        norm, vector = float(mixture.norms.max()), mixture.vectors[mixture.norms.argmax()]
        origin = None
        for _ in range(MOST_STEPS):
            limit = self._limit(dual, vector)
            function = partial(_pull, shift=problem.shift, vector=vector, limit=limit)
            proposed = blocks.reduce(function, *self._aligned(dual))
            gained = float(proposed @ proposed)
            if gained <= norm * (1 + ROUNDING):
                break
            origin, vector, norm = vector, proposed, gained
        return None if origin is None else self.best_labels(dual, origin), norm

    def nearest(self, mixture: MixtureFit) -> Any:
        """The label vector that fits the scores of a mixture best."""
        return self.best_labels(None, mixture.x)

    def is_only(self, mixture: MixtureFit, label: Any) -> bool:
        """Whether there is no other label vector in a mixture."""
        return len(mixture.W) == 1 and not self.problem.blocks.of(label).reduce(_n_different, mixture.labels)

    def publish(self, mixture: MixtureFit) -> tuple[np.ndarray, Any]:
        """The function, with that of the constant column last, and the label vectors."""
        return mixture.x, mixture.labels.T

    def best_labels(self, dual: Any, vector: np.ndarray) -> Any:
        """The label vector with the largest ``sum_i a_i y_i x_i v``, as ``SignSet.best``.

        No dual ``a`` is 1 for all. Labels are kept; samples that are equal in all are taken in their order.
        """
        blocks = self.problem.blocks
        limit = self._limit(dual, vector)
        function = partial(_labels, shift=self.problem.shift, vector=vector, limit=limit)
        return blocks.keep(blocks.map(function, *self._aligned(dual), width=None, dtype=np.int8))

    def _aligned(self, dual: Any) -> tuple:
        return (self.problem.known, self.problem.numbers, *(() if dual is None else (dual,)))

    def _limit(self, dual: Any, vector: np.ndarray) -> tuple[float, ...]:
        """The last keys of an unlabeled sample that gets a positive label.

        Some of the sorted keys of each block bound the ranks of all, so that a second pass need only gather
        the keys between two of them.
        """
        settings: dict[str, Any] = {"shift": self.problem.shift, "vector": vector}
        blocks, aligned = self.problem.blocks, self._aligned(dual)
        sampled, n_gains = blocks.reduce(partial(_sample, **settings), *aligned)
        k = int(np.clip(n_gains, self.least, self.most))
        if not k:
            return np.inf, np.inf, np.inf
        samples = _descending(sampled.values)
        fewest, most_above = np.cumsum(samples[:, 3]), np.cumsum(samples[:, 4])
        low = int(np.searchsorted(fewest, k))
        if most_above[low] == k:
            return tuple(samples[low, :3])
        high = int(np.searchsorted(most_above, k)) - 1  # the last one that is above for certain
        ends = tuple(samples[high, :3]) if high >= 0 else (np.inf,) * 3, tuple(samples[low, :3])
        between, n_above = blocks.reduce(partial(_between, ends=ends, **settings), *aligned)
        return tuple(_descending(between.values)[k - n_above - 1])


def _dual(rows: Any, labels: np.ndarray, costs: np.ndarray, shift: Shift, W: np.ndarray) -> np.ndarray:
    return costs * np.maximum(1 - margins_of(rows, labels, shift, W), 0)


def as_column(label: np.ndarray) -> np.ndarray:
    return label[:, None].astype(np.int8)


def _append(labels: np.ndarray, label: np.ndarray) -> np.ndarray:
    return np.column_stack([labels, label])


def _columns(labels: np.ndarray, kept: np.ndarray) -> np.ndarray:
    return labels[:, kept]


def _n_different(label: np.ndarray, labels: np.ndarray) -> int:
    return int(np.count_nonzero(label != labels[:, 0]))


def _keys(
    rows: Any, known: np.ndarray, numbers: np.ndarray, *dual: np.ndarray, shift: Shift, vector: np.ndarray
) -> np.ndarray:
    """What rows are ordered by: gains, of equal ones scores, of equal ones numbers, from the smallest."""
    scores = apply_rows(rows, shift, vector[None])[:, 0]
    return np.column_stack([dual[0] * scores if dual else scores, scores, -numbers.astype(np.float64)])


def _descending(keys: np.ndarray) -> np.ndarray:
    return keys[np.lexsort(keys.T[2::-1])[::-1]]


def _at_least(keys: np.ndarray, limit: tuple[float, ...]) -> np.ndarray:
    gains, scores, numbers = keys.T
    last = (scores == limit[1]) & (numbers >= limit[2])
    return (gains > limit[0]) | ((gains == limit[0]) & ((scores > limit[1]) | last))


def _sample(rows: Any, known: np.ndarray, *aligned: np.ndarray, **settings: Any) -> tuple[Gathered, int]:
    """Some sorted keys, what each adds to the fewest and the most rows up to it, and the rows that gain."""
    keys = _keys(rows, known, *aligned, **settings)[known == 0]
    n_gains = int(np.count_nonzero((keys[:, 0] > 0) | ((keys[:, 0] == 0) & (keys[:, 1] > 0))))
    n_rows = len(keys)
    places = np.unique(np.append(np.arange(0, n_rows, -(-n_rows // _SAMPLES) or 1), max(n_rows - 1, 0)))[
        :n_rows
    ]
    fewest = np.diff(places + 1, prepend=0)
    most = np.diff(np.append(places[1:], n_rows), prepend=0)[:n_rows]
    return Gathered(np.column_stack([_descending(keys)[places], fewest, most])), n_gains


def _between(
    rows: Any, known: np.ndarray, *aligned: np.ndarray, ends: tuple, **settings: Any
) -> tuple[Gathered, int]:
    """Keys below the first end down to the second, and the number of those before."""
    keys = _keys(rows, known, *aligned, **settings)[known == 0]
    above = _at_least(keys, ends[0])
    return Gathered(keys[~above & _at_least(keys, ends[1])]), int(np.count_nonzero(above))


def _labels(
    rows: Any, known: np.ndarray, *aligned: np.ndarray, limit: tuple[float, ...], **settings: Any
) -> np.ndarray:
    positive = _at_least(_keys(rows, known, *aligned, **settings), limit)
    return np.where(known != 0, np.sign(known), np.where(positive, 1, -1)).astype(np.int8)


def _pull(rows: Any, known: np.ndarray, numbers: np.ndarray, dual: np.ndarray, **settings: Any) -> np.ndarray:
    """Function of the dual point and the label vector that scores lead to."""
    labels = _labels(rows, known, numbers, dual, **settings)
    return adjoint_rows(rows, settings["shift"], (dual * labels)[:, None])[0]
