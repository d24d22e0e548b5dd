"""Errors on the unlabelled rows; one fit serves all rows of a table that it has an answer for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from benchmarks.papers._protocols import _bunch, _estimator, _rows
from weakly.model_selection import LabelDraws

FEW = "weakly.FewLabelClassifier"
Drawn = tuple[Any, np.ndarray, np.ndarray]  # rows, all their labels, and which of these are shown
Draw = Callable[[str, Any, int], Drawn]


def split_error(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Return the error in per cent on the unlabelled rows of a published split.

    Parameters are those of ``published_split_error``; and "standardize", if true: standardise columns over
    all rows; and "read": "supervised_", for what the supervised kernels of a FewLabelClassifier say.

    Returns
    -------
    dict
        The error as "value"; for a FewLabelClassifier also the "log_odds" of its evidence.
    """
    return _measured(settings, _published_split, column, settings["n_labels"], seed)


def share_error(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Return the error in per cent on the unlabelled rows, a share of all rows being labelled.

    Parameters
    ----------
    settings : mapping
        "fraction": the share. The rest as in ``split_error``.
    column : str
        Name of the data set; missing values become the mean over all rows.
    seed : int
        Seed of the draw.

    Returns
    -------
    dict
        As of ``split_error``.
    """
    return _measured(settings, _share, column, settings["fraction"], seed)


def per_class_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Return the accuracy in per cent on the unlabelled rows, with ``column`` labels of each class.

    Parameters
    ----------
    settings : mapping
        "data": as in ``transductive_error``. The rest as in ``split_error``.
    column : str
        Labels per class.
    seed : int
        Seed of the draw.

    Returns
    -------
    dict
        As of ``split_error``, with the accuracy in place of the error.
    """
    measured = _measured(settings, _per_class, json.dumps(settings["data"]), int(column), seed)
    return measured | {"value": 100.0 - measured["value"]}


def _measured(settings: Mapping[str, Any], draw: Draw, name: str, amount: Any, seed: int) -> dict[str, float]:
    params = dict(settings["params"])
    if settings["estimator"] == FEW:
        mode = params.pop("mode")
        found = _few_label(draw, name, amount, seed, json.dumps(params))
        return {"value": found[settings.get("read", mode)], "log_odds": found["log_odds"]}
    X, y, labeled = draw(name, amount, seed)
    if settings.get("standardize"):
        X = StandardScaler().fit_transform(X)
    estimator = _estimator(settings["estimator"], json.dumps(params))
    if not settings.get("supervised"):
        return {"value": _error(estimator.fit(X, _partial(y, labeled)).transduction_, y, labeled)}
    X = X.toarray() if sp.issparse(X) else X
    return {"value": _error(estimator.fit(X[labeled], y[labeled]).predict(X), y, labeled)}


@cache
def _few_label(draw: Draw, name: str, amount: Any, seed: int, params: str) -> dict[str, float]:
    """Errors of both modes and of the supervised kernels, on the same kernels and the same labels.

    The time stored with a cell is thus that of all three where it was the first to ask, else nothing.
    """
    X, y, labeled = draw(name, amount, seed)
    estimator = _estimator(FEW, params)
    found = {}
    modes = ("auto", "safe") if estimator.effort == "fast" else ("auto",)  # the other would be fitted twice
    for mode in modes:
        estimator.set_params(mode=mode).fit(X, _partial(y, labeled))  # the mode has no part in the kernels
        found[mode] = _error(estimator.transduction_, y, labeled)
    found["supervised_"] = _error(estimator.supervised_, y, labeled)
    return found | {"log_odds": float(estimator.evidence_.log_odds)}


def _partial(y: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    return partial


def _error(predicted: np.ndarray, y: np.ndarray, labeled: np.ndarray) -> float:
    hidden = np.setdiff1d(np.arange(len(y)), labeled)
    return 100.0 * float(np.mean(predicted[hidden] != y[hidden]))


def _published_split(name: str, n_labels: int, seed: int) -> Drawn:
    bunch = _bunch(name)
    return bunch.X, bunch.y, bunch.labeled_splits[n_labels][seed]


def _share(name: str, fraction: float, seed: int) -> Drawn:
    X, y = _filled(name)
    draw = next(LabelDraws(fraction=fraction, n_repeats=1, random_state=seed).split(X, y))
    return X, y, draw.labeled


def _per_class(data: str, n_per_class: int, seed: int) -> Drawn:
    X, y = _rows(data)
    draw = next(LabelDraws(n_per_class=n_per_class, n_repeats=1, random_state=seed).split(X, y))
    return X, y, draw.labeled


@lru_cache(maxsize=1)
def _filled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the mean of their column where a value is missing."""
    bunch = _bunch(name)
    X = SimpleImputer(keep_empty_features=True).fit_transform(np.asarray(bunch.X, dtype=float))
    return X, bunch.y
