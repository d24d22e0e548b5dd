"""What claims about speed are made of: rows, and tasks to run on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import rbf_kernel

from weakly.datasets import load, make_sparse_text
from weakly.model_selection import LabelDraws

N_DRAWS = 10

Task = Callable[
    [int], float | None
]  # runs once, for a draw of labels; returns its error in per cent, if it has one


@dataclass(frozen=True)
class Claim:
    """A limit on time relative to a rival, on memory, on the error, or on several of them."""

    name: str
    statement: str
    dataset: str
    rows: Callable[[], tuple[np.ndarray, np.ndarray]]
    ours: Callable[[np.ndarray, np.ndarray], Task]
    rival: Callable[[np.ndarray, np.ndarray], Task] | None = None
    ratio_limit: float | None = None
    memory_limit_gb: float | None = None
    lower_error: bool = False
    error_slack: float | None = None  # points by which the error may be above the rival's
    repeats: int = 7
    needs: str = ""  # module of the rival, which is no dependency of the project


def usps() -> tuple[np.ndarray, np.ndarray]:
    data = load("usps")
    keep = np.isin(data.y, [0, 1, 4, 9])
    return data.X[keep].astype(np.float64), data.y[keep]


def mnist(n_rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    data = load("mnist")
    return data.X[:n_rows].astype(np.float32) / 255, data.y[:n_rows]


def text(n_rows: int, n_features: int, words: float) -> tuple[Any, np.ndarray]:
    """Documents of two topics in no order, as tf-idf."""
    bunch = make_sparse_text(
        n_rows, n_features, words_per_row=words, topic_strength=0.03, topic_size=100, random_state=0
    )
    order = np.random.default_rng(0).permutation(len(bunch.y))
    return TfidfTransformer(sublinear_tf=True).fit_transform(bunch.X)[order], bunch.y[order]


def draws(y: np.ndarray, n_per_class: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels with all but a few hidden, and the hidden rows, several times."""
    splits = LabelDraws(n_per_class=n_per_class, n_repeats=N_DRAWS).split(y, y)
    return [(split.mask(y), split.unlabeled) for split in splits]


def first_fit(make: Callable[[], Any], n_per_class: int, X: np.ndarray, y: np.ndarray) -> Task:
    """Fit a new estimator each time."""
    drawn = draws(y, n_per_class)

    def fit(repeat: int) -> float:
        targets, hidden = drawn[repeat % N_DRAWS]
        with warnings.catch_warnings():  # LabelSpreading stops at its default max_iter
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator = make().fit(X, targets)
        return 100.0 * float(np.mean(estimator.transduction_[hidden] != y[hidden]))

    return fit


def second_fit(make: Callable[..., Any], n_per_class: int, X: np.ndarray, y: np.ndarray) -> Task:
    """Fit an estimator that has seen the rows with other labels."""
    drawn = draws(y, n_per_class)
    estimator = make(warm_start=True).fit(X, drawn[-1][0])

    def fit(repeat: int) -> float:
        targets, hidden = drawn[repeat % (N_DRAWS - 1)]
        estimator.fit(X, targets)
        return 100.0 * float(np.mean(estimator.transduction_[hidden] != y[hidden]))

    return fit


def gram_and_cholesky(X: np.ndarray, y: np.ndarray) -> Task:
    """Do the least that any exact kernel method does on these rows."""
    gamma = 1.0 / (X.shape[1] * X.var())

    def factorise(repeat: int) -> None:
        gram = rbf_kernel(X, gamma=gamma)
        gram.flat[:: len(gram) + 1] += 1.0
        cho_factor(gram)

    return factorise


def fit_all(make: Callable[[], Any], X: Any, y: np.ndarray) -> Task:
    """Fit with all labels known."""

    def fit(repeat: int) -> None:
        make().fit(X, y)

    return fit
