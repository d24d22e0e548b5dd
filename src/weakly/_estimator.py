"""What estimators of every topic share: rows and kernels at the door, decisions at the exit."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from weakly._calibration import probabilities
from weakly._compat import Interval, StrOptions, check_params

_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class KernelEstimator(BaseEstimator):
    """Parameters of a kernel and its approximation, and checks of rows."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "linear", "poly", "chi2", "cosine", "precomputed"}), callable],
        "gamma": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scale", "median", "mean-distance"}),
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "approximation": [StrOptions({"auto", "nystroem", "fourier"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "unlabeled": "no_validation",
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel not in ("precomputed", "chi2")
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_rows(self, X, y):
        """Stage 1 of fit: parameters and rows, before any work."""
        if y is None:
            check_params(self)
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._check_features(X)
        check_consistent_length(X, y)
        return X

    def _check_features(self, X):
        """The same where there are no labels."""
        check_params(self)
        X = validate_data(self, X, ensure_min_samples=2, order="C", **_ROWS)
        return X.sorted_indices() if sp.issparse(X) and not X.has_sorted_indices else X

    def _score(self, X):
        """Values of the published function on new rows."""
        check_is_fitted(self, "_function")
        X = validate_data(self, X, reset=False, **_ROWS)
        return self._function(X).astype(X.dtype, copy=False)


class ScoredClassifier(ClassifierMixin):
    """The public methods of a classifier that has ``classes_``, ``temperature_`` and ``_decisions``."""

    def _labels_of(self, decisions):
        return self.classes_[class_codes(decisions)]

    def decision_function(self, X):
        """Score rows: positive for the second of two classes, else one column per class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows; bags as in ``fit``, of a classifier of bags.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; where the estimator normalises class masses, after that.
        """
        decisions = self._decisions(X)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X):
        """Predict the class of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows; bags as in ``fit``, of a classifier of bags.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels_of(self._decisions(X))

    def predict_proba(self, X):
        """Estimate class probabilities.

        They are the softmax of the decisions times ``temperature_``, a number fitted to the labelled rows
        where each can be scored by a model without it, under a prior that decides when labels are very few.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows; bags as in ``fit``, of a classifier of bags.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; the largest entry is the predicted class.
        """
        return probabilities(self._decisions(X), self.temperature_)


def class_codes(columns):
    """Class of each row: the largest of several columns, the sign of a single one."""
    return (columns[:, 0] > 0).astype(int) if columns.shape[1] == 1 else columns.argmax(axis=1)


def check_shares(given, n_classes, otherwise):
    """Scale class shares that a user gave to sum 1; ``otherwise`` begins the message if they are none."""
    shares = np.asarray(given, dtype=float)
    if shares.shape != (n_classes,) or not (shares > 0).all() or not np.isfinite(shares).all():
        raise ValueError(
            f"{otherwise} or {n_classes} positive shares, one per class in sorted order, not {given!r}."
        )
    return shares / shares.sum()
