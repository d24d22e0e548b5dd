"""Accuracy on rows held out, with a share of the others labelled, and a tuned machine to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers._protocols import _bunch, _class_of
from weakly.model_selection import LabelDraws


def held_out_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the accuracy in per cent on the rows held out.

    Means that fill missing values, and the scale of the columns, come from the training rows; the labels
    have no part in them.

    Parameters
    ----------
    settings : mapping
        "fraction": share of the training rows that are labelled. "test_size": share of rows held out. The
        rest as for ``transductive_error``.
    column : str
        Name of the data set.
    seed : int
        Seed of the draw.

    Returns
    -------
    float
        Between 0 and 100.
    """
    train, partial, test, y = _drawn(column, settings["fraction"], settings["test_size"], seed)
    estimator = _class_of(settings["estimator"])(**settings["params"])
    shown = partial >= 0 if settings.get("supervised") else slice(None)
    return 100.0 * float(np.mean(estimator.fit(train[shown], partial[shown]).predict(test) == y))


def standardiser() -> Any:
    """Fill missing values by means and standardise columns.

    A column without any value in the training rows becomes 0.
    """
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())


@lru_cache(maxsize=1)
def _drawn(name: str, fraction: float, test_size: float, seed: int) -> tuple[np.ndarray, ...]:
    """Prepared training rows, their labels with -1 where hidden, and the rows held out with theirs."""
    bunch = _bunch(name)
    draws = LabelDraws(fraction=fraction, test_size=test_size, n_repeats=1, random_state=seed)
    draw = next(draws.split(bunch.X, bunch.y))
    prepare = standardiser()
    train = prepare.fit_transform(np.asarray(bunch.X, dtype=float)[draw.train])
    test = prepare.transform(np.asarray(bunch.X, dtype=float)[draw.test])
    return train, draw.mask(bunch.y)[draw.train], test, bunch.y[draw.test]


class TunedSVC(ClassifierMixin, BaseEstimator):
    """Support vector machine of the labelled rows, its parameters chosen on them by cross-validation.

    Unlabelled rows only set the scale of the widths: that is the root of the mean squared distance.

    Parameters
    ----------
    C : sequence of float, default=(1.0,)
        Costs to try; the first is taken where a class has a single label.
    widths : sequence of float, default=(1.0, 0.5, 2.0, 0.25, 4.0)
        Widths of the RBF kernel to try, as factors of that scale, beside a linear kernel. The earlier of
        equal ones wins.
    n_splits : int, default=5
        Most folds; no more than the labels of a class.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    machine_ : SVC
        The machine chosen, fitted to all labelled rows.
    """

    def __init__(self, C=(1.0,), widths=(1.0, 0.5, 2.0, 0.25, 4.0), n_splits=5):
        self.C = C
        self.widths = widths
        self.n_splits = n_splits

    def fit(self, X, y):
        """Choose and fit; -1 in ``y`` is unlabelled."""
        labeled = y >= 0
        self.classes_, counts = np.unique(y[labeled], return_counts=True)
        mean_squared = 2 * X.var(axis=0).sum()  # of the distance between two rows
        gammas = [1 / (2 * width**2 * mean_squared) for width in self.widths]
        if counts.min() < 2:
            self.machine_ = SVC(C=self.C[0], gamma=gammas[0])
        else:
            grid = [
                {"kernel": ["rbf"], "gamma": gammas, "C": list(self.C)},
                {"kernel": ["linear"], "C": list(self.C)},
            ]
            folds = StratifiedKFold(min(self.n_splits, counts.min()), shuffle=True, random_state=0)
            search = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(X[labeled], y[labeled])
            self.machine_ = SVC(**search.best_params_)
        self.machine_.fit(X[labeled], y[labeled])
        return self

    def predict(self, X):
        """Predict the class of rows."""
        return self.machine_.predict(X)
