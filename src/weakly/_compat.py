"""Where scikit-learn needs care: its threads in forks, and private names, which only this file touches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.metrics._pairwise_distances_reduction import ArgKmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight
from threadpoolctl import ThreadpoolController

__all__ = [
    "Interval",
    "StrOptions",
    "check_params",
    "check_sample_weight",
    "nearest_rows",
    "openmp_after_fork",
]

_LEAST_WEIGHT, _MOST_WEIGHT = 1e-30, 1e30  # of a sample that has one
_SEARCH_MB = 128  # for distances of a chunk of rows to all others; 1024 by default, and no faster


def nearest_rows(X: Any, n_nearest: int) -> np.ndarray:
    """Indices of the rows nearest to each row, itself included, nearest first; ties as with any threads."""
    index = NearestNeighbors(n_neighbors=n_nearest).fit(X)
    if index._fit_method == "brute" and ArgKmin.is_usable_for(X, X, "euclidean"):
        # The public search picks its strategy by the number of threads, and breaks ties differently with
        # each. Parallel over queries, every row meets the candidates in one order.
        return ArgKmin.compute(
            X, X, n_nearest, metric="euclidean", strategy="parallel_on_X", return_distance=False
        )
    with config_context(working_memory=_SEARCH_MB):
        return index.kneighbors(X, return_distance=False)


def check_params(estimator: Any) -> None:
    """Check constructor parameters against the declared constraints; errors name the parameter."""
    estimator._validate_params()
    for name, value in estimator.get_params(deep=False).items():
        constraints = estimator._parameter_constraints.get(name)
        # To Python, and so to scikit-learn, True is the number 1.
        if isinstance(value, bool | np.bool_) and _is_number(constraints):
            raise ValueError(
                f"The {name!r} parameter of {type(estimator).__name__} must be a number, or what else its "
                f"documentation lists. Got {value!r} instead."
            )


def _is_number(constraints: Any) -> bool:
    """Whether a parameter may be a number and may not be a boolean."""
    if not isinstance(constraints, list) or "boolean" in constraints or "verbose" in constraints:
        return False
    return any(isinstance(constraint, Interval) for constraint in constraints)


def check_sample_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of samples as an array, ones by default; negative, missing or too few are errors."""
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight cannot be used: {error}") from None
    positive = weights[weights > 0]
    if len(positive) and not (positive.min() >= _LEAST_WEIGHT and positive.max() <= _MOST_WEIGHT):
        raise ValueError(
            f"sample_weight has entries from {positive.min():.1g} to {positive.max():.1g}, whose products "
            "are beyond floating point numbers: divide them by their mean, and set the smallest to 0."
        )
    return weights.astype(X.dtype)


@contextmanager
def openmp_after_fork() -> Iterator[None]:
    """Let other libraries use OpenMP: on one thread in a forked child, elsewhere on all.

    scikit-learn searches for neighbors on the threads of GNU OpenMP. A child has none of its parent's, which
    that library does not notice: it waits for them without end, unless it is not to use any.

    Yields
    ------
    None
        While the limit holds.
    """
    if not _is_forked:
        yield
        return
    with _openmp().limit(limits=1, user_api="openmp"):
        yield


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all libraries of the process, which takes milliseconds


def _after_fork() -> None:
    global _is_forked
    _is_forked = True


_is_forked = False
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
