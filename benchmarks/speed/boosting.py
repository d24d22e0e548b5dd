"""Claims about boosting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

import weakly
from benchmarks.speed.tasks import Claim, Task, fit_all
from weakly.datasets import load, make_clustered_classes

LETTER_ROWS, SENSOR_ROWS = 15_000, 78_823  # to train on; a third as many are there to test on


def letter() -> tuple[np.ndarray, np.ndarray]:
    data = load("letter")
    order = np.argsort(~data.is_train, kind="stable")
    return data.X[order].astype(np.float64), data.y[order]


def clustered() -> tuple[np.ndarray, np.ndarray]:
    bunch = make_clustered_classes(SENSOR_ROWS * 4 // 3 + 1, random_state=0)
    return bunch.X, bunch.y


def fit_twentieth(
    make: Callable[[], Any], most_rows: int, with_others: bool, X: np.ndarray, y: np.ndarray
) -> Task:
    """Fit to labels of one in twenty of the first rows, and to the others or not; test on further ones."""
    n_rows = min(most_rows, len(y) * 3 // 4)
    test = slice(n_rows, n_rows * 4 // 3)

    def fit(repeat: int) -> float:
        known = np.random.default_rng(repeat).permutation(n_rows)[: n_rows // 20]
        targets = np.full(n_rows, -1)
        targets[known] = y[known]
        rows = slice(n_rows) if with_others else known
        estimator = make().fit(X[rows], targets[rows])
        return 100.0 * float(np.mean(estimator.predict(X[test]) != y[test]))

    return fit


def extra_trees(X: np.ndarray, y: np.ndarray) -> Task:
    n_rows = len(y) * 3 // 4
    make = partial(ExtraTreesClassifier, n_estimators=500, n_jobs=-1, random_state=0)
    return fit_all(make, X[:n_rows], y[:n_rows])


def boost(**params: Any) -> Any:
    return weakly.RMSBoostClassifier(random_state=0, **params)


BOOSTING = [
    Claim(
        name="boost-letter",
        statement="RMSBoostClassifier, 50 rounds of 10 trees after its staged prior, 750 labels, against "
        "ExtraTreesClassifier(n_estimators=500) with all labels, on as many cores; Letter (15,000 rows)",
        dataset="letter",
        rows=letter,
        ours=partial(fit_twentieth, boost, LETTER_ROWS, True),
        rival=extra_trees,
        ratio_limit=3.0,
    ),
    Claim(
        name="boost-kmeans",
        statement="RMSBoostClassifier(prior='kmeans') with 750 labels and 14,250 rows without, against as "
        "many rounds on the labelled rows alone, both tested on 5000; Letter",
        dataset="letter",
        rows=letter,
        ours=partial(fit_twentieth, partial(boost, prior="kmeans"), LETTER_ROWS, True),
        rival=partial(fit_twentieth, boost, LETTER_ROWS, False),
        ratio_limit=6.0,
    ),
    Claim(
        name="boost-growth",
        statement="RMSBoostClassifier with 5 % labels, 78,823 rows of 100 features against half of "
        "them; generated clusters; the limit is a tenth more than the growth of the rows",
        dataset="letter",
        rows=clustered,
        ours=partial(fit_twentieth, boost, SENSOR_ROWS, True),
        rival=partial(fit_twentieth, boost, SENSOR_ROWS // 2, True),
        ratio_limit=2.2,
        memory_limit_gb=1.5,
        repeats=3,
    ),
]
