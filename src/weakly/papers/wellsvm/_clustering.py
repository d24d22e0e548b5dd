"""Clustering of UCI data: table 11 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from weakly import WellClustering
from weakly.datasets import load
from weakly.papers._held_out import standardiser
from weakly.papers._model import Table
from weakly.papers._protocols import default_params
from weakly.papers.wellsvm._scale import two_groups
from weakly.papers.wellsvm._uci import SETS

WELL = "weakly.WellClustering"
N_LARGE = 2000  # rows from which the grid is a coarse one

PUBLISHED = {
    "WellSVM": (84, 90, 81, 74, 58, 73, 72, 87, 55, 83, 69, 70, 54, 94),
    "k-means": (76, 89, 68, 60, 55, 58, 70, 87, 54, 54, 67, 57, 52, 68),
}
# Where the paper's number is that of a single cluster, a method that keeps to a balance cannot reach it.
ONE_CLUSTER = ("haberman", "german", "sick")

GRID = {
    "C": (0.1, 0.5, 1.0, 5.0, 10.0, 100.0),
    "balance": (0.03, 0.3),
    "width": ("linear", 0.25, 0.5, 1.0, 2.0, 4.0),
}
COARSE = {"C": (0.1, 1.0), "balance": (0.03, 0.3), "width": ("linear", 1.0, 4.0)}


def clustering_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, Any]:
    """Return the share in per cent of rows whose cluster is their class, under the better of both matchings.

    Parameters
    ----------
    settings : mapping
        "method": "grid", "defaults", "k-means" or "one cluster". For the first two "params", those of the
        estimator. For the first "grid" and "coarse", values of ``C``, of the balance and of the width of the
        kernel in units of the root of the mean squared distance, for small and for large sets; the best entry
        is returned. "by_sign", if true: assign rows by the sign of the scores and not within the balance.
        For k-means "n_starts", over which it takes the mean.
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
    X = standardiser().fit_transform(bunch.X.astype(np.float64))
    match settings["method"]:
        case "one cluster":
            return _measures(bunch.y, np.zeros(len(bunch.y), dtype=int))
        case "k-means":
            starts = range(seed, seed + settings["n_starts"])
            fits = [KMeans(2, n_init=1, random_state=start).fit_predict(X) for start in starts]
            each = [_measures(bunch.y, labels) for labels in fits]
            return {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        case "defaults":
            return _measures(bunch.y, WellClustering(**settings["params"]).fit_predict(X))
    model = WellClustering(**{**settings["params"], "random_state": seed})
    grid = settings["coarse" if len(bunch.y) > N_LARGE else "grid"]
    entries = [
        {**_measures(bunch.y, labels), "setting": entry}
        for entry, labels in _entries(model, X, grid, settings["by_sign"])
    ]
    return max(entries, key=lambda entry: entry["value"])


def _entries(
    model: WellClustering, X: np.ndarray, grid: Mapping[str, Any], by_sign: bool
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Settings of a grid with the clusters of each; a kernel serves all settings of its width."""
    squared = euclidean_distances(X, squared=True)
    mean_squared = squared.sum() / (len(X) * (len(X) - 1))
    for width in grid["width"]:
        is_linear = width == "linear"
        rows = X if is_linear else np.exp(-squared / (2 * width**2 * mean_squared))
        fitted = clone(model).set_params(kernel="linear" if is_linear else "precomputed")
        for C, balance in product(grid["C"], grid["balance"]):
            fitted.set_params(C=C, balance=balance).fit(rows)
            labels = fitted.labels_
            if by_sign:
                labels = (fitted.decision_function(rows) + fitted.threshold_ > 0).astype(int)
            yield {"C": C, "balance": balance, "width": width}, labels


def _measures(y: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    share = float(np.mean(labels == y))
    return {
        "value": 100.0 * max(share, 1 - share),
        "adjusted_rand": float(adjusted_rand_score(y, labels)),
        "smaller_cluster": float(min(labels.mean(), 1 - labels.mean())),
    }


def _grid(
    by_sign: bool = False, grid: Mapping[str, Any] = GRID, coarse: Mapping[str, Any] = COARSE, **changed: Any
) -> dict[str, Any]:
    searched = ("C", "balance", "kernel", "gamma", "degree", "coef0", "random_state")
    params = default_params(WELL, loss="squared_hinge", **changed)
    return {
        "method": "grid",
        "params": {name: value for name, value in params.items() if name not in searched},
        "grid": grid,
        "coarse": coarse,
        "by_sign": by_sign,
    }


TABLE11 = Table(
    key="table11",
    caption="Clustering of UCI data into two clusters",
    rows=("WellSVM", "WellSVM, as published", "WellSVM, defaults", "k-means", "one cluster"),
    columns=SETS,
    evaluate=clustering_accuracy,
    settings={
        "WellSVM": _grid(),
        "WellSVM, as published": _grid(
            by_sign=True,
            grid={**GRID, "C": (0.1, 1.0, 10.0)},
            coarse={**COARSE, "balance": (0.3,)},
            assignment="mixture",
            center=False,
            init="alignment",
            oracle="step",
        ),
        "WellSVM, defaults": {"method": "defaults", "params": default_params(WELL, random_state=0)},
        "k-means": {"method": "k-means", "n_starts": 10},
        "one cluster": {"method": "one cluster"},
    },
    published={
        (row, column): float(value)
        for row, values in PUBLISHED.items()
        for column, value in zip(SETS, values, strict=True)
    },
    targets={
        ("WellSVM", column): value - 3.0
        for column, value in zip(SETS, PUBLISHED["WellSVM"], strict=True)
        if column not in ONE_CLUSTER
    },
    unit="accuracy %",
    column_title="data set",
    lower_is_better=False,
    repeats=1,
    quick_repeats=1,
    rivals=("k-means", "one cluster"),
    beside=("adjusted_rand", "smaller_cluster"),
    datasets=SETS,
    differs=(
        "As in the paper the grid is searched with the true classes: its rows say what the method can "
        "reach, not what a user would get, which is the row with defaults. The grid has the paper's "
        "squared hinge, the defaults have the hinge. The paper gives each data set one of two bounds of "
        "the balance, by hand; here both are in the grid. Features are standardised and missing values "
        "replaced by means, of which the paper says nothing. The two sets of more than 3000 rows have a "
        "coarse grid. The first row keeps all clusters within the balance and decides by the widest "
        "margin; the second is the paper's algorithm on a grid with fewer costs: no centring, a random "
        "start chosen by kernel alignment, one step per label vector, and the sign of the mixture's "
        "scores. Several published numbers are those of a single cluster (haberman, german, sick, and all "
        "but that spectf and liver disorders): without an offset scores can have one sign everywhere, and "
        "clusters within a balance cannot: the adjusted Rand index is 0 for one cluster. Heart and "
        "Isolet are not at hand as the paper uses them."
    ),
)


def news_clustering(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, Any]:
    """Return what ``clustering_accuracy`` does, for two main groups of 20 newsgroups.

    Parameters
    ----------
    settings : mapping
        "params": of the estimator, or None for k-means with 10 starts.
    column : str
        The groups, as "comp-rec".
    seed : int
        Seed of random starts.

    Returns
    -------
    dict
        The "value", the "adjusted_rand" index, and the share of rows in the "smaller_cluster".
    """
    X, y = two_groups(*column.split("-"))
    if settings["params"] is None:
        return _measures(y, KMeans(2, n_init=10, random_state=seed).fit_predict(X))
    return _measures(y, WellClustering(**settings["params"], random_state=seed).fit_predict(X))


_LINEAR = default_params(WELL, kernel="linear")
NEWS = Table(
    key="news-clusters",
    caption="Clustering of two main groups of 20 newsgroups, linear kernel",
    rows=("WellSVM", "k-means"),
    columns=("comp-rec", "rec-talk", "sci-talk", "comp-talk", "rec-sci", "comp-sci"),
    evaluate=news_clustering,
    settings={
        "WellSVM": {"params": {name: value for name, value in _LINEAR.items() if name != "random_state"}},
        "k-means": {"params": None},
    },
    targets={("WellSVM", "comp-rec"): 94.0},
    unit="accuracy %",
    column_title="groups",
    lower_is_better=False,
    repeats=3,
    rivals=("k-means",),
    beside=("adjusted_rand", "smaller_cluster"),
    datasets=("news20",),
    differs=(
        "The paper's large text sets are not at hand. Defaults but for the kernel; the default cost and loss "
        "were picked after a look at these pairs with their true groups, so this is no test of that choice."
    ),
)
