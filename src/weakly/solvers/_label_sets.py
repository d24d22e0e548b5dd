"""Sets of label vectors that a cutting plane method chooses from, and the best of a set for given scores.

A label vector turns rows into the rows of a supervised problem: ``S phi`` with one line of ``S`` for each
dual coefficient. Signs make ``S = diag(y)``; with key instances a line is the mean of some rows of a bag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp


class LabelSet(Protocol):
    """What the method may ask of a set; ``labels`` are vectors of it, one to a line."""

    def gram(self, kernel: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray: ...
    def coefficients(self, dual: np.ndarray, labels: np.ndarray) -> np.ndarray: ...
    def best(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray: ...
    def relaxed(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class SignSet:
    """Signs of all rows: given on some, and with a number of positive ones among the others.

    For clustering no sign is given. ``least`` and ``most`` bound the number of positive signs among the other
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_sets import SignSet
    >>> halves = SignSet(np.array([0]), np.array([1.0]), n_rows=5, least=2, most=2)
    >>> halves.best(np.ones(5), np.array([-9.0, 0.3, 0.1, 0.2, -1.0])).tolist()
    [1.0, 1.0, -1.0, 1.0, -1.0]
    """

    known: np.ndarray
    signs: np.ndarray
    n_rows: int
    least: int
    most: int

    def gram(self, kernel: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of the Gram matrices that label vectors make."""
        products = labels.T @ (weights[:, None] * labels)
        products *= kernel
        return products

    def coefficients(self, dual: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Kernel expansions of the solutions for label vectors, one to a line."""
        return dual * labels

    def best(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The vector ``y`` with the largest ``sum_i dual_i y_i scores_i``."""
        free = np.ones(self.n_rows, dtype=bool)
        free[self.known] = False
        rows = np.flatnonzero(free)
        gains = dual[rows] * scores[rows]
        # [wellsvm] Prop. 5 orders by the gains; rows that are no support vectors tie at 0, and their scores
        # say where they belong.
        wanted = np.count_nonzero((gains > 0) | ((gains == 0) & (scores[rows] > 0)))
        labels = np.full(self.n_rows, -1.0)
        labels[rows[_largest(gains, scores[rows], int(np.clip(wanted, self.least, self.most)))]] = 1.0
        labels[self.known] = self.signs
        return labels

    def relaxed(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Kernel expansion of a step of the power method, were signs any numbers."""
        return dual**2 * scores


@dataclass(frozen=True, eq=False)
class KeyInstances:
    """Which rows of each positive bag make it positive; all rows of negative bags are negative.

    A vector has an entry per row: 0 or ``1 / n_keys`` in a positive bag, so that a line of ``S`` is the mean
    of its key instances, and -1 in a negative bag, whose rows have a line each. ``owner`` is the line that
    each row belongs to, from 0 and without gaps, and ``signs`` has +1 for a positive bag, -1 for a row of a
    negative one. All instances of a bag that has fewer than ``n_keys`` are keys.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_sets import KeyInstances
    >>> keys = KeyInstances(np.array([0, 0, 1, 1, 2]), np.array([1.0, 1.0, -1.0]))
    >>> keys.best(np.ones(3), np.array([0.1, 0.3, -2.0, -1.0, 5.0])).tolist()
    [0.0, 1.0, 0.0, 1.0, -1.0]
    """

    owner: np.ndarray
    signs: np.ndarray
    n_keys: int = 1

    @classmethod
    def of_bags(cls, bag_of: np.ndarray, is_positive: np.ndarray, n_keys: int = 1) -> KeyInstances:
        """Lines of bags: one for each positive bag that has rows, then one for each row of the others."""
        positive_rows = is_positive[bag_of]
        names = np.where(positive_rows, bag_of, len(is_positive) + np.arange(len(bag_of)))
        known, owner = np.unique(names, return_inverse=True)
        return cls(owner, np.where(known < len(is_positive), 1.0, -1.0), n_keys)

    def means(self) -> np.ndarray:
        """The vector that takes the mean of all rows of a positive bag."""
        shares = self.signs / np.where(self.signs > 0, np.bincount(self.owner), 1)
        return shares[self.owner]

    def lines(self, label: np.ndarray) -> sp.csr_array:
        """The matrix ``S`` of a label vector."""
        rows = np.flatnonzero(label)
        return sp.csr_array((label[rows], (self.owner[rows], rows)), shape=(len(self.signs), len(label)))

    def gram(self, kernel: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of the Gram matrices that label vectors make."""
        total = np.zeros((len(self.signs), len(self.signs)))
        for label, weight in zip(labels, weights, strict=True):
            lines = self.lines(label)
            total += weight * (lines @ (lines @ kernel).T)
        return total

    def coefficients(self, dual: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Kernel expansions of the solutions for label vectors, one to a line."""
        return dual[self.owner] * labels

    def best(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The vector ``s`` with the largest ``sum_i dual_owner(i) s_i scores_i``; the dual does not matter.

        [wellsvm] Eq. (25): within a bag the dual is one number, so the rows with the largest scores are best.
        """
        if self.n_keys == 1:
            return self._largest(scores)
        order = np.lexsort((-scores, self.owner))
        sizes = np.bincount(self.owner)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shares = self.signs / np.where(self.signs > 0, np.minimum(sizes, self.n_keys), 1)
        return np.where(rank < self.n_keys, shares[self.owner], 0.0)

    def _largest(self, scores: np.ndarray) -> np.ndarray:
        """The row with the largest score of each line, the first of several; no sorting of all."""
        largest = np.full(len(self.signs), -np.inf)
        np.maximum.at(largest, self.owner, scores)
        candidates = np.flatnonzero(scores == largest[self.owner])
        owners, firsts = np.unique(self.owner[candidates], return_index=True)
        label = np.zeros(len(scores))
        label[candidates[firsts]] = self.signs[owners]
        return label

    def relaxed(self, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Kernel expansion of a step of the power method, were shares any numbers."""
        return dual[self.owner] ** 2 * scores


def _largest(gains: np.ndarray, scores: np.ndarray, n_wanted: int) -> np.ndarray:
    """Where the largest gains are, of equal ones those with the largest scores; no sorting of all."""
    if n_wanted == 0:
        return np.zeros(0, dtype=np.intp)
    level = np.partition(gains, len(gains) - n_wanted)[len(gains) - n_wanted]
    above, level_with = np.flatnonzero(gains > level), np.flatnonzero(gains == level)
    n_more = n_wanted - len(above)
    chosen = np.argpartition(scores[level_with], len(level_with) - n_more)[len(level_with) - n_more :]
    return np.concatenate([above, level_with[chosen]])
