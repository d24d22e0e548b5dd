"""The data of the paper: rows for training and testing, and draws of labels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from weakly.datasets import load, make_clustered_classes

SHARE = 0.05  # of the training rows that are labelled
HELD_OUT = 3  # one row of so many, of sets without a customary test part
N_TRAIN, N_TEST = 78823, 19705  # rows of SensIt (combined), [rmsboost] Table 1
FILES = {"Letter": "letter", "USPS": "usps"}


class Rows(NamedTuple):
    """All rows of a set; which are for training, or None where that is drawn too."""

    X: np.ndarray
    y: np.ndarray
    is_train: np.ndarray | None


class Draw(NamedTuple):
    """Training rows with their classes, -1 in ``partial`` where hidden, and the rows held out."""

    X: np.ndarray
    y: np.ndarray
    partial: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@lru_cache(maxsize=1)
def rows_of(name: str) -> Rows:
    """All rows of a set, raw."""
    if name == "digits":
        return Rows(*load_digits(return_X_y=True), None)
    if name == "generated":
        data = make_clustered_classes(N_TRAIN + N_TEST, random_state=0)
        return Rows(data.X, data.y, np.arange(len(data.y)) < N_TRAIN)
    bunch = load(FILES[name])
    return Rows(bunch.X.astype(float), bunch.y, bunch.is_train if name == "Letter" else None)


@lru_cache(maxsize=1)
def draw(name: str, seed: int) -> Draw:
    """Hide the classes of all training rows but a share, taken at random whatever their class."""
    rows, rng = rows_of(name), np.random.default_rng(seed)
    is_train = rows.is_train
    if is_train is None:
        is_train = rng.permutation(len(rows.y)) >= len(rows.y) // HELD_OUT
    X, y = rows.X[is_train], rows.y[is_train]
    shown = rng.permutation(len(y)) < round(SHARE * len(y))
    return Draw(X, y, np.where(shown, y, -1), rows.X[~is_train], rows.y[~is_train])
