"""How clusters are measured: the best entry of a grid by the true classes, and means over runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.papers._held_out import standardiser
from benchmarks.papers._protocols import _class_of
from benchmarks.papers.wellsvm._scale import two_groups
from weakly.datasets import load

N_LARGE = 2000  # rows from which the grid is a coarse one


def clustering_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, Any]:
    """Return the share in per cent of rows whose cluster is their class, under the better of both matchings.

    Parameters
    ----------
    settings : mapping
        "estimator": its dotted name, or None for all rows in one cluster. "params": its parameters. "grid"
        and "coarse": values of some parameters, for small and for large sets, and of "width", that of the
        kernel in units of the root of the mean squared distance, or "linear"; the best entry is returned.
        "kernel": the parameter that says what a kernel is, if any. "n_runs": it takes the mean over as many
        random states. "by_sign", if true: assign rows by the sign of the scores and not within the balance.
        "mean_cost", if true: costs are those of the mean loss. "most_rows": fit as many rows, drawn at
        random, and find the clusters of the others by the function, if there are more.
    column : str
        Name of the data set.
    seed : int
        Seed of random starts.

    Returns
    -------
    dict
        The "value", the "adjusted_rand" index, the share of rows in the "smaller_cluster", and the "setting"
        that was the best.
    """
    bunch = load(column)
    if settings["estimator"] is None:
        return _measures(bunch.y, np.zeros(len(bunch.y), dtype=int))
    X = standardiser().fit_transform(bunch.X.astype(np.float64))
    grid = settings["coarse" if len(bunch.y) > N_LARGE else "grid"]
    entries = []
    for entry, rows, params in _settings_of(grid, X, settings):
        seeds = range(seed, seed + settings["n_runs"])
        runs = [_measures(bunch.y, _clusters(settings, rows, params, start)) for start in seeds]
        means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        entries.append({**means, "setting": entry})
    return max(entries, key=lambda entry: entry["value"])


def _settings_of(
    grid: Mapping[str, Any], X: np.ndarray, settings: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], np.ndarray, dict[str, Any]]]:
    """Entries of a grid, with the rows or the kernel to fit and the parameters that go with them."""
    squared = euclidean_distances(X, squared=True)
    mean_squared = squared.sum() / (len(X) * (len(X) - 1))
    names = [name for name in grid if name != "width"]
    for width in grid.get("width", (None,)):
        is_kernel = width not in (None, "linear")
        rows = np.exp(-squared / (2 * width**2 * mean_squared)) if is_kernel else X
        for values in product(*(grid[name] for name in names)):
            entry = dict(zip(names, values, strict=True))
            params = {**settings["params"], **entry}
            if settings.get("mean_cost"):
                params["C"] = params["C"] / len(X)
            if settings.get("kernel"):
                params[settings["kernel"]] = "precomputed" if is_kernel else "linear"
            yield entry if width is None else {**entry, "width": width}, rows, params


def _clusters(settings: Mapping[str, Any], rows: np.ndarray, params: Mapping[str, Any], seed: int) -> Any:
    kind = _class_of(settings["estimator"])
    model = kind(**params, **({"random_state": seed} if "random_state" in kind().get_params() else {}))
    most = settings.get("most_rows", len(rows))
    if len(rows) > most:
        drawn = np.random.default_rng(seed).choice(len(rows), most, replace=False)
        is_kernel = params.get("kernel") == "precomputed"
        model.fit(rows[np.ix_(drawn, drawn)] if is_kernel else rows[drawn])
        rows = rows[:, drawn] if is_kernel else rows
    elif settings.get("by_sign"):
        model.fit(rows)
    else:
        return model.fit_predict(rows)
    level = model.threshold_ if settings.get("by_sign") else 0.0
    return (model.decision_function(rows) + level > 0).astype(int)


def _measures(y: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    shares = np.bincount(labels, minlength=2) / len(labels)
    return {
        "value": matched_accuracy(y, labels),
        "adjusted_rand": float(adjusted_rand_score(y, labels)),
        "smaller_cluster": float(shares.min()),
    }


def matched_accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the share in per cent of rows whose cluster is their class, under the best matching."""
    common = contingency_matrix(y, labels)
    rows, columns = linear_sum_assignment(common, maximize=True)
    return 100.0 * float(common[rows, columns].sum()) / len(y)


def news_clustering(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, Any]:
    """Return what ``clustering_accuracy`` does, for two main groups of 20 newsgroups.

    Settings are "estimator" and "params" alone, the column names the groups, as "comp-rec".
    """
    X, y = two_groups(*column.split("-"))
    model = _class_of(settings["estimator"])(**settings["params"], random_state=seed)
    return _measures(y, model.fit_predict(X))


def many_clusters(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, Any]:
    """Return the share in per cent of rows whose cluster is their class, with as many clusters as classes.

    Settings are "estimator" and "params" alone, the column is "digits" or the name of a data set; the "value"
    comes with the "adjusted_rand" index.
    """
    if column == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        bunch = load(column)
        X, y = bunch.X.astype(np.float64), bunch.y
    kind = _class_of(settings["estimator"])
    labels = kind(len(np.unique(y)), **settings["params"], random_state=seed).fit_predict(X)
    return {"value": matched_accuracy(y, labels), "adjusted_rand": float(adjusted_rand_score(y, labels))}
