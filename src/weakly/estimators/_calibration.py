"""Class proportions, and from scores to classes and their probabilities with very few labels.

**Class proportions** are given by the user, or shown by the labels.

**Class-mass normalisation.** With few labels the Laplacian solution orders the rows well but its level is
off: a class may lose every row though its scores are the highest of the column. A perfect score column of a
class with share ``p`` is +1 on that share of the rows and -1 elsewhere: mean ``2p - 1``, standard deviation
``2 sqrt(p (1 - p))``. Scores are shifted and scaled to have these moments over all training rows. With equal
shares this is the threshold at the mean, or the standardised argmax.

**Temperature.** Probabilities are ``softmax(c d)`` of the decisions ``d``. The one number ``c`` maximises the
likelihood of the labelled rows, each scored by the model that did not see it, times a log-normal prior; with
one label per class the prior speaks, with many the labels do.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.rows._arrays import cast, dtype_of, is_collection, namespace, to_host
from weakly.rows._device import follow
from weakly.rows._selection import take_labeled

PRIOR_SPREAD = 0.7  # of the logarithm of the temperature
# What the parameter ``class_prior`` of most classifiers takes; :func:`prior_of` reads it.
CLASS_PRIOR_CONSTRAINTS: list = [
    StrOptions({"labeled"}),
    Interval(Real, 0, 1, closed="neither"),
    "array-like",
    Mapping,
    None,
]


def check_class_prior(given: Any, classes: np.ndarray, name: str, otherwise: str = "None") -> np.ndarray:
    """Scale class proportions that a user gave, by class or in the order of sorted classes, to sum 1.

    ``name`` is the parameter that they were given as and ``otherwise`` what else it takes, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import check_class_prior
    >>> check_class_prior({"dog": 1, "cat": 3}, np.array(["cat", "dog"]), "class_prior").tolist()
    [0.75, 0.25]
    """
    by_class = _in_order(given, classes, name) if isinstance(given, Mapping) else given
    try:
        prior = np.asarray(by_class, dtype=float)
    except (TypeError, ValueError):
        prior = np.empty(0)
    if prior.shape != (len(classes),) or not (prior > 0).all() or not np.isfinite(prior).all():
        raise ValueError(
            f"{name} must be {otherwise}, {len(classes)} positive proportions (one per class in sorted "
            f"order) or a mapping from class to proportion, not {given!r}."
        )
    return prior / prior.sum()


def _in_order(given: Mapping, classes: np.ndarray, name: str) -> list:
    absent = [label for label in classes.tolist() if label not in given]
    if absent:
        raise ValueError(f"{name} has no proportion for {absent}: give one for every class.")
    warn_of_unseen(label for label in given if label not in classes)
    return [given[label] for label in classes.tolist()]


def warn_of_unseen(labels: Iterable) -> None:
    """Say that classes without a labeled sample will not be predicted."""
    names = ", ".join(map(repr, dict.fromkeys(labels)))
    if names:
        warnings.warn(
            f"no sample is labeled {names}: none will be. Label at least one sample of each class.",
            UserWarning,
            stacklevel=5,
        )


def prior_of(given: Any, labels: Any) -> np.ndarray | None:
    """Class proportions by the parameter ``class_prior``: those of the labels, given ones, or none."""
    if given is None:
        return None
    if isinstance(given, str):
        return labels.frequencies
    if np.ndim(given) == 0 and not isinstance(given, Mapping) and labels.n_classes == 2:
        return np.array([1 - given, given])
    return check_class_prior(
        given, labels.classes, "class_prior", "'labeled', None, the proportion of the second of two classes"
    )


def expected_prior(counts: np.ndarray) -> np.ndarray:
    """Proportions to expect of classes with these numbers of labels.

    If proportions are Dirichlet with a concentration, these are their means, averaged over concentrations by
    the likelihood of the counts. Few counts that differ a little are taken for equal classes, many that
    differ much at their word.
    """
    concentrations = 2.0 ** np.arange(-1, 7)[:, None]  # from nearly free to nearly equal proportions
    totals = len(counts) * concentrations
    evidence = gammaln(totals) - gammaln(counts.sum() + totals)
    evidence += (gammaln(counts + concentrations) - gammaln(concentrations)).sum(axis=1, keepdims=True)
    return softmax(evidence[:, 0]) @ ((counts + concentrations) / (counts.sum() + totals))


def prior_temperature(n_classes: int) -> float:
    """Temperature before any label is seen: about the best one on 14 data sets with 2 to 26 classes."""
    return float(np.log2(n_classes))


@dataclass(frozen=True, eq=False)
class Moments:
    """An affine map of each score column, scaled and then offset, fixed on the training rows."""

    scale: np.ndarray
    offset: np.ndarray

    @classmethod
    def identity(cls, scores: np.ndarray) -> Moments:
        """Leave scores as they are."""
        zeros = np.zeros(scores.shape[1], dtype=scores.dtype)
        return cls(zeros + 1, zeros)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Normalise scores of any rows."""
        return scores * self.scale + self.offset


def match_moments(scores: np.ndarray, prior: np.ndarray) -> Moments:
    """Find the map that gives score columns of all training rows the moments of classes with these shares.

    A single column is that of the second of two classes; a constant column stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import match_moments
    >>> scores = np.array([[0.1], [0.2], [0.3], [0.4]])
    >>> match_moments(scores, np.array([0.5, 0.5]))(scores).ravel().round(2).tolist()
    [-1.34, -0.45, 0.45, 1.34]
    """
    xp, dtype = namespace(scores), dtype_of(scores)
    share = xp.place(prior[-1:] if scores.shape[1] == 1 else prior)
    # In float64, or rounding would give a constant column a spread; in units in which no square overflows.
    unit = float(np.exp2(np.frexp(xp.largest(scores))[1] - 1))
    columns = cast(scores, np.float64) / unit
    mean, spread = unit * columns.mean(axis=0), unit * xp.std(columns, axis=0, correction=0)
    least = float(np.finfo(dtype).tiny)  # its inverse is still a number
    informative = spread > xp.clip(1e-10 * unit * xp.amax(abs(columns), axis=0), least, None)
    scale = xp.where(informative, 2 * xp.sqrt(share * (1 - share)) / xp.where(informative, spread, 1), 1)
    offset = xp.where(informative, 2 * share - 1 - scale * mean, 0)
    return Moments(cast(scale, dtype), cast(offset, dtype))


def fit_temperature(decisions: np.ndarray, codes: np.ndarray) -> float:
    """Most probable temperature of the softmax for decisions on labelled rows by models without them.

    Rows that are the only one of their class are passed over; with no rows it is that of the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import fit_temperature
    >>> right = np.array([[1.0], [-1.0]] * 50)
    >>> bool(fit_temperature(right, np.array([1, 0] * 50)) > fit_temperature(right, np.array([0, 1] * 50)))
    True
    """
    # Without its only row a class is unknown, and the held-out decision wrong whatever the model is worth.
    repeated = np.bincount(codes)[codes] > 1
    columns, codes = _two_columns(decisions[repeated]), codes[repeated]
    centre = np.log(prior_temperature(columns.shape[1]))

    def loss(log_temperature: float) -> float:
        likelihood = log_softmax(np.exp(log_temperature) * columns, axis=1)[
            np.arange(len(codes)), codes
        ].sum()
        return -likelihood + ((log_temperature - centre) / PRIOR_SPREAD) ** 2 / 2

    reach = 6 * PRIOR_SPREAD
    return float(np.exp(minimize_scalar(loss, bounds=(centre - reach, centre + reach), method="bounded").x))


def match_confidence(decisions: np.ndarray, confidence: float) -> float:
    """Temperature at which the probability of the predicted class has a given mean, above that of a guess.

    A single column of decisions is that of the second of two classes. It is between 1/1000 and 1000, and 1
    for decisions that are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import match_confidence, probabilities
    >>> decisions = np.array([[0.5], [-2.0]])
    >>> bool(np.isclose(probabilities(decisions, match_confidence(decisions, 0.8)).max(axis=1).mean(), 0.8))
    True
    """

    def excess(log_temperature: float) -> float:
        return float(probabilities(decisions, np.exp(log_temperature)).max(axis=1).mean()) - confidence

    reach = np.log(1000.0)
    if excess(-reach) >= 0 or excess(reach) <= 0:
        return 1.0 if np.ptp(decisions) == 0 else float(np.exp(-reach if excess(-reach) >= 0 else reach))
    return float(np.exp(brentq(excess, -reach, reach, xtol=1e-6)))


def probabilities(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """Class probabilities of rows, which sum to 1; the largest is that of the predicted class.

    A single column of decisions is that of the second of two classes. The temperature is a factor on them.
    """
    return softmax(temperature * _two_columns(decisions), axis=1)


def decisions_of(prior: np.ndarray, temperature: float) -> np.ndarray:
    """Decisions whose probabilities are given, one of two classes: the inverse of :func:`probabilities`."""
    logits = np.log(prior) / temperature
    return (logits[1:] - logits[:1]) / 2 if len(prior) == 2 else logits


def _two_columns(decisions: np.ndarray) -> np.ndarray:
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions


def lazy_on_collections(method):
    """Let a method of a fitted estimator answer lazily for a Dask collection, chunk by chunk."""

    @functools.wraps(method)
    def wherever_samples_are(self, X):
        if not is_collection(X):
            return method(self, X)
        from weakly.distributed import map_method

        return map_method(self, method.__name__, X)

    return wherever_samples_are


@fill_doc
class ScoredClassifier(ClassifierMixin):
    """The public methods of a classifier that has ``classes_``, ``temperature_`` and ``_decisions``."""

    def _labels_of(self, decisions):
        return self.classes_[class_codes(decisions)]

    @lazy_on_collections
    def decision_function(self, X):
        """Score samples: positive for the second of two classes, else one column per class.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples,) or (n_samples, n_classes)
            Scores; where the estimator normalizes them by class proportions, after that.
        """
        decisions = self._decisions(X)
        return follow(decisions[:, 0] if decisions.shape[1] == 1 else decisions, X)

    @lazy_on_collections
    def predict(self, X):
        """Predict the class of samples.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples,)
            Labels.
        """
        return follow(self._labels_of(self._decisions(X)), X)

    @lazy_on_collections
    def predict_proba(self, X):
        """Estimate class probabilities.

        They are the softmax of the decisions times ``temperature_``, a number fitted to the labeled
        samples where each can be scored by a model without it, under a prior that decides when labels are
        very few.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples, n_classes)
            Rows sum to 1; the largest entry is the predicted class.
        """
        return follow(probabilities(self._decisions(X), self.temperature_), X)

    def score(self, X, y, sample_weight=None):
        """Accuracy on the labeled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            Test samples; bags as in ``fit``, of a classifier of bags.
        y : array-like of shape (n_samples,)
            True labels. Samples with the marker of ``unlabeled`` are left out, where the estimator has it.
        %(accuracy)s
        """
        if not hasattr(self, "unlabeled"):
            return super().score(X, y, sample_weight)
        return score_labeled(self, accuracy_score, X, y, sample_weight)


def score_labeled(estimator, metric, X, y, sample_weight, continuous=False):
    """Metric of the predictions for labeled samples; a collection is predicted where it is, as a whole."""
    settings = {"unlabeled": estimator.unlabeled, "continuous": continuous}
    if is_collection(X):
        y = np.asarray(y)
        rows, known, weights = take_labeled(np.arange(len(y)), y, sample_weight, **settings)
        return float(metric(known, np.asarray(estimator.predict(X))[rows], sample_weight=weights))
    X, known, weights = take_labeled(X, y, sample_weight, **settings)
    return float(metric(known, to_host(estimator.predict(X)), sample_weight=weights))


def class_codes(columns):
    """Class of each row: the largest of several columns, the sign of a single one."""
    return (columns[:, 0] > 0).astype(int) if columns.shape[1] == 1 else columns.argmax(axis=1)
