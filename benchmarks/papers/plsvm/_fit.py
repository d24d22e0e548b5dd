"""Fitting one estimator of a table, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import paired_distances

from benchmarks.papers._protocols import _class_of
from weakly.graphs import Graph, affinity_graph, neighbor_graph


def errors_of(settings, train, partial, y, test, y_test) -> dict[str, float]:
    """Fit, and return errors in per cent on the unlabelled training rows and on those held out, if any."""
    estimator = fit(settings, train, partial)
    hidden = partial < 0
    on_train = estimator.predict(train) if settings.get("supervised") else estimator.transduction_
    errors = {"train": 100.0 * float(np.mean(on_train[hidden] != y[hidden]))}
    if len(y_test):
        errors["test"] = 100.0 * float(np.mean(estimator.predict(test) != y_test))
    return errors


def fit(settings: Mapping[str, Any], X: Any, partial: np.ndarray) -> Any:
    """Fit the estimator of a row of a table."""
    params = dict(settings["params"])
    if "graph" in settings:
        params["graph"] = gaussian_graph(X, params["n_neighbors"], **settings["graph"])
    estimator = _class_of(settings["estimator"])(**params)
    shown = partial >= 0 if settings.get("supervised") else slice(None)
    return estimator.fit(X[shown], partial[shown])


def gaussian_graph(X: np.ndarray, n_neighbors: int, bandwidth: float) -> Graph:
    """Neighbours with the weights of [plsvm] Eq. (1), as small as they are.

    ``neighbor_graph`` would hold them above 1e-7, and so make neighbours at a distance of six widths and more
    all alike; among objects on a turntable the nearest of those is still the next view.
    """
    i, j, _ = neighbor_graph(X, n_neighbors=n_neighbors, weights="binary").edges
    weights = np.exp(-(paired_distances(X[i], X[j]) ** 2) / (2 * bandwidth**2))
    upper = sp.coo_array((weights, (i, j)), shape=(len(X), len(X))).tocsr()
    return affinity_graph(upper + upper.T)
