"""Class proportions that a user gives, or that the labels show."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammaln, softmax

from weakly._compat import Interval, StrOptions

# What the parameter ``class_prior`` of most classifiers takes; :func:`prior_of` reads it.
CLASS_PRIOR_CONSTRAINTS: list = [
    StrOptions({"labeled"}),
    Interval(Real, 0, 1, closed="neither"),
    "array-like",
    Mapping,
    None,
]


def check_class_prior(given: Any, classes: np.ndarray, name: str, otherwise: str = "None") -> np.ndarray:
    """Scale class proportions that a user gave to sum 1.

    Parameters
    ----------
    given : array-like of shape (n_classes,) or mapping
        Proportions in the order of ``classes``, or by class.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    name : str
        Parameter that they were given as, for messages.
    otherwise : str, default="None"
        What else the parameter takes, for messages.

    Returns
    -------
    ndarray of shape (n_classes,)
        Proportions that sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._class_prior import check_class_prior
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
