"""Protocols that several papers share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from weakly.datasets import load
from weakly.model_selection import LabelDraws

_FAILURE = 15.0  # error in per cent beyond which a draw has failed
_NOT_OF_THE_METHOD = ("cache_size", "device", "n_jobs", "verbose")
_CAME_LATER = {"graph": "auto"}  # parameters that stored results do not have, and what these were taken with


def transductive_error(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the error in per cent on the unlabelled rows, with ``column`` labels of each class.

    Parameters
    ----------
    settings : mapping
        "data": name, and if wanted the classes to keep, the number of first rows to keep, the number to
        divide by and the dtype. "estimator": its dotted name. "params": its parameters. "supervised", if
        true: fit on the labelled rows alone.
    column : str
        Labels per class.
    seed : int
        Seed of the draw of labels.

    Returns
    -------
    float
        Between 0 and 100.
    """
    X, y = _rows(json.dumps(settings["data"]))
    draw = next(LabelDraws(n_per_class=int(column), n_repeats=1, random_state=seed).split(X, y))
    estimator = _estimator(settings["estimator"], json.dumps(settings["params"]))
    supervised = settings.get("supervised", False)
    predicted = predict_hidden(estimator, X, y, draw.labeled, draw.unlabeled, supervised)
    return 100.0 * float(np.mean(predicted != y[draw.unlabeled]))


def transductive_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return 100 minus what ``transductive_error`` does."""
    return 100.0 - transductive_error(settings, column, seed)


def transductive_failure(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return 100 where ``transductive_error`` is above 15 %, else 0: the mean is the share of failures."""
    return 100.0 * (transductive_error(settings, column, seed) > _FAILURE)


def published_split_error(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the error in per cent on the unlabelled rows of a published split.

    Parameters
    ----------
    settings : mapping
        "n_labels": labels of the split. "params_of", if given: data set to parameters that differ there.
        "true_shares", if true: the estimator's ``class_prior`` is the shares of the classes among the hidden
        rows, which nobody would know. The rest as in ``transductive_error``.
    column : str
        Name of the data set.
    seed : int
        Which split.

    Returns
    -------
    float
        Between 0 and 100.
    """
    bunch = _bunch(column)
    labeled = bunch.labeled_splits[settings["n_labels"]][seed]
    hidden = np.setdiff1d(np.arange(len(bunch.y)), labeled)
    params = settings["params"] | settings.get("params_of", {}).get(column, {})
    if settings.get("true_shares"):
        counts = np.bincount(bunch.y[hidden], minlength=len(bunch.target_names))
        params["class_prior"] = (counts / len(hidden)).tolist()
    estimator = _estimator(settings["estimator"], json.dumps(params))
    supervised = settings.get("supervised", False)
    predicted = predict_hidden(estimator, bunch.X, bunch.y, labeled, hidden, supervised)
    return 100.0 * float(np.mean(predicted != bunch.y[hidden]))


def predict_hidden(
    estimator: Any, X: Any, y: np.ndarray, labeled: np.ndarray, hidden: np.ndarray, supervised: bool
) -> np.ndarray:
    """Return the labels that an estimator gives to hidden rows, once it is fitted.

    ``X`` and ``y`` are all rows with the codes of their classes. A ``supervised`` one is fitted to the
    labelled rows alone, and predicts; else its ``transduction_`` counts.
    """
    if supervised:
        return estimator.fit(X[labeled], y[labeled]).predict(X[hidden])
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    return estimator.fit(X, partial).transduction_[hidden]


def default_params(estimator: str, **changed: Any) -> dict[str, Any]:
    """Return all parameters that decide a result, so that a changed default counts as a changed setting.

    The estimator is a dotted name; ``changed`` are the parameters that are not left at their defaults.
    """
    params = _class_of(estimator)(**changed).get_params(deep=False)
    return {
        name: value
        for name, value in params.items()
        if name not in _NOT_OF_THE_METHOD and _CAME_LATER.get(name, ...) != value
    }


def method_of(estimator: str, **changed: Any) -> dict[str, Any]:
    """Return the settings of a row: the name of an estimator, and what ``default_params`` has of it."""
    return {"estimator": estimator, "params": default_params(estimator, **changed)}


MAJORITY = {
    "estimator": "sklearn.dummy.DummyClassifier",
    "params": {"strategy": "most_frequent"},
    "supervised": True,
}
SVM = {
    "estimator": "sklearn.svm.SVC",
    "params": {"C": 10.0, "kernel": "rbf", "gamma": "scale"},
    "supervised": True,
}


@lru_cache(maxsize=1)
def _bunch(name: str) -> Any:
    return load(name)


@lru_cache(maxsize=1)
def _rows(data: str) -> tuple[np.ndarray, np.ndarray]:
    wanted = json.loads(data)
    bunch = None if wanted["name"] == "digits" else load(wanted["name"])
    X, y = load_digits(return_X_y=True) if bunch is None else (bunch.X, bunch.y)
    keep = np.isin(y, wanted["classes"]) if "classes" in wanted else np.ones(len(y), dtype=bool)
    keep = np.flatnonzero(keep)[: wanted.get("rows")]
    return X[keep].astype(wanted.get("dtype", "float64")) / wanted.get("divide_by", 1), y[keep]


@lru_cache(maxsize=1)
def _estimator(name: str, params: str) -> Any:
    """Keep the estimator from cell to cell: with ``warm_start`` it reuses what does not depend on labels."""
    return _class_of(name)(**json.loads(params))


def _class_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)
