"""What the project claims about speed and memory, and against whom."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.semi_supervised import LabelSpreading

import weakly
from weakly.datasets import load
from weakly.model_selection import LabelDraws

N_DRAWS = 10

Task = Callable[
    [int], float | None
]  # runs once, for a draw of labels; returns its error in per cent, if it has one


@dataclass(frozen=True)
class Claim:
    """A limit on time relative to a rival, on memory, or on both; with ``lower_error``, on the error too."""

    name: str
    statement: str
    dataset: str
    rows: Callable[[], tuple[np.ndarray, np.ndarray]]
    ours: Callable[[np.ndarray, np.ndarray], Task]
    rival: Callable[[np.ndarray, np.ndarray], Task] | None = None
    ratio_limit: float | None = None
    memory_limit_gb: float | None = None
    lower_error: bool = False
    repeats: int = 7


def usps() -> tuple[np.ndarray, np.ndarray]:
    data = load("usps")
    keep = np.isin(data.y, [0, 1, 4, 9])
    return data.X[keep].astype(np.float64), data.y[keep]


def mnist(n_rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    data = load("mnist")
    return data.X[:n_rows].astype(np.float32) / 255, data.y[:n_rows]


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


def laplacian_rls(**params: Any) -> Any:
    return weakly.LaplacianRLSClassifier(**params)


def laplacian_svc(**params: Any) -> Any:
    return weakly.LaplacianSVC(**params)


def _claims_of(name: str, make: Callable[..., Any], first_limit: float) -> list[Claim]:
    nystroem = partial(make, approximation="nystroem", n_components=1000, random_state=0)
    return [
        Claim(
            name=f"{name}-exact",
            statement="exact fit, neighbour search included, against a Gram matrix and its Cholesky factor; "
            "USPS 0, 1, 4, 9 (4495 rows)",
            dataset="usps",
            rows=usps,
            ours=partial(first_fit, make, 5),
            rival=gram_and_cholesky,
            ratio_limit=first_limit,
        ),
        Claim(
            name=f"{name}-again",
            statement="second exact fit, other labels on the same rows, against a Gram matrix and its "
            "Cholesky factor; USPS 0, 1, 4, 9 (4495 rows)",
            dataset="usps",
            rows=usps,
            ours=partial(second_fit, make, 5),
            rival=gram_and_cholesky,
            ratio_limit=0.3,
        ),
        Claim(
            name=f"{name}-nystroem",
            statement="fit with 1000 Nystroem components against LabelSpreading(kernel='knn'); "
            "MNIST, 20,000 rows",
            dataset="mnist",
            rows=partial(mnist, 20_000),
            ours=partial(first_fit, nystroem, 10),
            rival=partial(first_fit, partial(LabelSpreading, kernel="knn"), 10),
            ratio_limit=2.0,
            memory_limit_gb=2.0,
            lower_error=True,
            repeats=3,
        ),
        Claim(
            name=f"{name}-large",
            statement="fit with approximation='auto'; MNIST, 70,000 rows",
            dataset="mnist",
            rows=mnist,
            ours=partial(first_fit, partial(make, approximation="auto", random_state=0), 10),
            memory_limit_gb=6.0,
        ),
    ]


CLAIMS = [*_claims_of("rls", laplacian_rls, 3.0), *_claims_of("svc", laplacian_svc, 4.0)]
