"""What a cell of a table is: a fit to one draw, its accuracy, gain and time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.papers._protocols import _class_of
from benchmarks.papers.rmsboost._sets import Draw, draw
from weakly.graphs import neighbor_graph

_FEW = 200  # rows of each kind in the fit before the clock


def accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the accuracy in per cent on the rows held out.

    Parameters
    ----------
    settings : mapping
        As for ``transductive_error``, without data; a random state is the seed.
    column : str
        The set.
    seed : int
        Which draw.

    Returns
    -------
    float
        Between 0 and 100.
    """
    return _accuracy(json.dumps(settings, sort_keys=True), column, seed)


def varied_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return ``accuracy`` on Letter, the column being the value of the parameter that is "varied"."""
    params = {**settings["params"], settings["varied"]: float(column)}
    return accuracy({"estimator": settings["estimator"], "params": params}, "Letter", seed)


def gain(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return by how many points of ``accuracy`` settings "ours" are above "theirs" on the same draw."""
    return accuracy(settings["ours"], column, seed) - accuracy(settings["theirs"], column, seed)


def seconds(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the seconds of a fit and of the predictions of the rows held out, with nothing to compile."""
    data = draw(column, seed)
    few = np.concatenate([np.flatnonzero(data.partial >= 0)[:_FEW], np.flatnonzero(data.partial < 0)[:_FEW]])
    small = data._replace(X=data.X[few], partial=data.partial[few], X_test=data.X_test[:_FEW])
    predict(settings, small, seed)
    neighbor_graph(small.X, search="cells", random_state=0)  # as among many rows, unlike few
    start = time.perf_counter()
    predict(settings, data, seed)
    return time.perf_counter() - start


def predict(settings: Mapping[str, Any], data: Draw, seed: int) -> np.ndarray:
    """Fit, and label the rows held out."""
    params = dict(settings["params"])
    if "random_state" in params:
        params["random_state"] = seed
    shown = data.partial >= 0 if settings.get("supervised") else slice(None)
    estimator = _class_of(settings["estimator"])(**params)
    return estimator.fit(data.X[shown], data.partial[shown]).predict(data.X_test)


@lru_cache(maxsize=512)  # a gain is between two cells of another table
def _accuracy(settings: str, column: str, seed: int) -> float:
    data = draw(column, seed)
    return 100.0 * float(np.mean(predict(json.loads(settings), data, seed) == data.y_test))
