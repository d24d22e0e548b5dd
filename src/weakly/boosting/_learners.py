"""Weak learners: the library's own trees, or any scikit-learn classifier that takes weights.

Trees see features as small whole numbers, which are found once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from weakly.boosting._forest import TreeRules, grow_forest

_MOST_FEATURES = 2**16  # that the number of a feature in a node can tell apart
_DRAWS_PER_ROW = 2  # few enough that about one row in seven is not drawn, and can be held out
N_BINS = 255  # of values; with the one of missing entries they fill a byte
_MISSING = 0  # below all values, so that a split can set missing entries apart
_QUANTILE_ROWS = 200_000  # rows that quantiles are taken from


class Bins:
    """Cut points of every feature: between values while few, at quantiles beyond. ``NaN`` is missing."""

    def __init__(self, X: np.ndarray) -> None:
        step = -(-len(X) // _QUANTILE_ROWS)
        self._cuts = [_cut_points(column) for column in X[::step].T]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Bin of every entry, as bytes."""
        binned = np.empty(X.shape, dtype=np.uint8)
        for j, cuts in enumerate(self._cuts):
            binned[:, j] = np.searchsorted(cuts, X[:, j], side="left") + 1
        binned[np.isnan(X)] = _MISSING
        return binned


def _cut_points(column: np.ndarray) -> np.ndarray:
    values = np.unique(column[~np.isnan(column)])
    if len(values) > N_BINS:
        present = column[~np.isnan(column)]
        values = np.unique(np.quantile(present, np.linspace(0, 1, N_BINS), method="nearest"))
    return values[:-1] + (values[1:] - values[:-1]) / 2


class Weak(Protocol):
    """A classifier of one round."""

    def add_to(self, scores: np.ndarray, data: Any, scale: float) -> None:
        """Add probabilities of the classes, times a number, to the scores of rows."""

    def shares(self, data: Any) -> np.ndarray:
        """Probabilities of the classes of rows."""

    def free_shares(self, data: Any, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """The same for training rows, by what was grown without them; zeros where nothing was."""


class TreeLearner:
    """Forests of a few trees on samples binned once.

    At most ``most_draws`` samples are drawn for a tree in proportion to their weights; ``None`` takes all
    with their weights.
    """

    def __init__(self, X: np.ndarray, rules: TreeRules, most_draws: int | None) -> None:
        if X.shape[1] > _MOST_FEATURES:
            raise ValueError(
                f"X has {X.shape[1]} features and trees take at most {_MOST_FEATURES}: reduce them first, "
                "with PCA or TruncatedSVD say."
            )
        self._bins, self._rules, self._most_draws = Bins(X), rules, most_draws

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Samples as the weak classifiers read them."""
        return self._bins(X)

    def learn(self, data, labels, weights, n_classes, seed):
        """Fit to weighted samples; return the classifier, and on which samples each tree was grown."""
        seeds = seed.generate_state(self._rules.n_trees, np.uint64)
        n_draws = _n_draws(self._most_draws, data)
        return grow_forest(data, labels, weights, n_classes, self._rules, seeds, n_draws)


class EstimatorLearner:
    """Copies of a scikit-learn classifier whose ``fit`` takes ``sample_weight``; draws are those of trees."""

    def __init__(self, estimator: Any, most_draws: int | None) -> None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator is {type(estimator).__name__}, whose fit takes no sample_weight: use one whose "
                "fit does, a DecisionTreeClassifier say."
            )
        self._estimator, self._most_draws = estimator, most_draws

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Samples as they are."""
        return X

    def learn(self, data, labels, weights, n_classes, seed):
        """Fit to weighted samples; return the classifier, and which samples it was fitted to."""
        rng = np.random.default_rng(seed)
        n_draws = _n_draws(self._most_draws, data)
        if n_draws:
            weights = rng.multinomial(n_draws, weights / weights.sum()).astype(float)
        rows = np.flatnonzero(weights)
        estimator = clone(self._estimator)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=int(rng.integers(2**31)))
        estimator.fit(data[rows], labels[rows], sample_weight=weights[rows])
        return FittedEstimator(estimator, n_classes), (weights > 0)[None, :]


@dataclass(frozen=True, eq=False)
class FittedEstimator:
    """A scikit-learn classifier, fitted to codes of classes, that knows some of them."""

    estimator: Any
    n_classes: int

    def shares(self, data: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of rows, or 1 at the predicted class of an estimator without."""
        out = np.zeros((len(data), self.n_classes))
        if hasattr(self.estimator, "predict_proba"):
            out[:, self.estimator.classes_] = self.estimator.predict_proba(data)
        else:
            out[np.arange(len(data)), self.estimator.predict(data)] = 1.0
        return out

    def add_to(self, scores: np.ndarray, data: np.ndarray, scale: float) -> None:
        """Add the shares, times a number, to the scores of rows."""
        scores += scale * self.shares(data)

    def free_shares(self, data: np.ndarray, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Shares of some training rows, zeros for those it was fitted to."""
        out = np.zeros((len(rows), self.n_classes))
        free = ~drawn[0, rows]
        if free.any():
            out[free] = self.shares(data[rows[free]])
        return out


def _n_draws(most: int | None, data: np.ndarray) -> int:
    return 0 if most is None else min(most, _DRAWS_PER_ROW * len(data))
