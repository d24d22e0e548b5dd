"""The data of the paper: rows for training and testing, pairs of classes, and draws of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from weakly.datasets import load
from weakly.model_selection import LabelDraws

N_NEWS = 630  # training documents of each group
N_SPEAKERS = 30
SEEDS = 5  # of the tables of pairs; the paper's draws are shared out among them


@dataclass(frozen=True)
class Problem:
    """Rows for training and testing, their classes, and how labels are drawn.

    Parameters
    ----------
    X, y : {ndarray, csr_array} of shape (n_rows, n_features), ndarray of shape (n_rows,)
        Training rows and their classes, as integers from 0.
    X_test, y_test : {ndarray, csr_array}, ndarray
        Rows held out, in the paper's way; none for the sets of pictures.
    n_labels : int or None
        Labels of each class; None where all rows of one speaker are labelled.
    n_draws : int
        Draws of a seed.
    """

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    n_labels: int | None
    n_draws: int

    def draws(self, seed: int) -> Iterator[np.ndarray]:
        """Yield the classes of the training rows, with -1 where they are hidden, for each draw of a seed."""
        if self.n_labels is None:
            speakers = np.tile(np.arange(N_SPEAKERS).repeat(2), len(self.y) // (2 * N_SPEAKERS))
            for speaker in range(seed * self.n_draws, (seed + 1) * self.n_draws):
                yield np.where(speakers == speaker, self.y, -1)
            return
        draws = LabelDraws(n_per_class=self.n_labels, n_repeats=self.n_draws, random_state=seed)
        for draw in draws.split(self.X, self.y):
            yield draw.mask(self.y)

    def pair(self, first: int, second: int, partial: np.ndarray) -> tuple[Any, ...]:
        """Training rows of two classes, what is known of them, their classes; test rows and their classes."""
        train = np.flatnonzero(np.isin(self.y, (first, second)))
        test = np.flatnonzero(np.isin(self.y_test, (first, second)))
        return self.X[train], partial[train], self.y[train], self.X_test[test], self.y_test[test]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of classes."""
        return list(combinations(range(int(self.y.max()) + 1), 2))


@lru_cache(maxsize=7)  # all of them: the cells of a table come in any order
def problem(name: str) -> Problem:
    """Return a data set as the paper uses it.

    Parameters
    ----------
    name : {"USPS", "20NG", "Isolet", "Umist", "Coil20", "USPS 2358", "Umist 20"}
        The set, of ten classes in pairs but for Isolet, and the last two of several classes at once.

    Returns
    -------
    Problem
        Rows in double precision.
    """
    match name:
        case "USPS":
            return _usps(range(10), n_draws=1)
        case "USPS 2358":
            return _usps((2, 3, 5, 8), n_draws=1)
        case "Umist":
            X, y = _first_ten("umist")
            return _without_test(X / 255, y)
        case "Coil20":
            return _without_test(*_first_ten("coil20"))
        case "Umist 20":
            return _umist()
        case "Isolet":
            first, fifth = load("isolet1"), load("isolet5")
            parts = (first.X.astype(float), first.y // 13, fifth.X.astype(float), fifth.y // 13)
            return Problem(*parts, n_labels=None, n_draws=N_SPEAKERS // SEEDS)
        case "20NG":
            return _news()
    raise ValueError(f"name is {name!r}: no such data set.")


def _usps(classes: Any, n_draws: int) -> Problem:
    bunch = load("usps")
    kept = np.isin(bunch.y, list(classes))
    X, train = bunch.X[kept].astype(float), bunch.is_train[kept]
    y = np.searchsorted(list(classes), bunch.y[kept])
    return Problem(X[train], y[train], X[~train], y[~train], n_labels=2, n_draws=n_draws)


def _first_ten(name: str) -> tuple[np.ndarray, np.ndarray]:
    bunch = load(name)
    kept = bunch.y < 10
    return bunch.X[kept].astype(float), bunch.y[kept]


def _without_test(X: np.ndarray, y: np.ndarray) -> Problem:
    return Problem(X, y, X[:0], y[:0], n_labels=2, n_draws=2)


def _umist() -> Problem:
    """All persons: the first 80 % of the images of each are for training."""
    bunch = load("umist")
    X, y = bunch.X / 255, bunch.y
    rank = np.arange(len(y)) - np.searchsorted(y, y)
    train = rank < 0.8 * np.bincount(y)[y]
    return Problem(X[train], y[train], X[~train], y[~train], n_labels=2, n_draws=1)


def _news() -> Problem:
    """The first five groups; words are weighed by all documents of the twenty but those held out."""
    bunch = load("news20")
    rows = [np.flatnonzero(bunch.y == group) for group in range(5)]
    train = np.sort(np.concatenate([group[:N_NEWS] for group in rows]))
    test = np.sort(np.concatenate([group[N_NEWS:] for group in rows]))
    counts = sp.csr_array(bunch.X).astype(float)
    seen = np.setdiff1d(np.arange(len(bunch.y)), test)
    frequency = np.bincount(counts[seen].indices, minlength=counts.shape[1])
    weights = np.log(len(seen) / np.maximum(frequency, 1)) * (frequency > 0)
    X, X_test = (normalize(sp.csr_array(counts[part] * weights)) for part in (train, test))
    return Problem(X, bunch.y[train], X_test, bunch.y[test], n_labels=10, n_draws=2)
