"""Claims about very many rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin

import weakly
from benchmarks.scale.surfaces import surfaces
from benchmarks.speed.tasks import Claim, Task, first_fit, mnist

N_ANCHORS = 1000


def anchored(**params: Any) -> Any:
    return weakly.LaplacianRLSClassifier(graph="anchor", n_neighbors=3, random_state=0, **params)


def k_means_and_a_pass(X: np.ndarray, y: np.ndarray) -> Task:
    """What anchors are made of: one mini-batch k-means on all rows, and the nearest centre of each."""

    def cluster(repeat: int) -> None:
        means = MiniBatchKMeans(min(N_ANCHORS, len(X) // 10), random_state=repeat).fit(X)
        pairwise_distances_argmin(X, means.cluster_centers_)

    return cluster


def tenth(X: np.ndarray, y: np.ndarray) -> Task:
    """Fit a tenth of the rows."""
    return first_fit(anchored, 10, X[: len(X) // 10], y[: len(y) // 10])


SCALE = [
    Claim(
        name="anchors-million",
        statement="LaplacianRLSClassifier with 1000 anchors and 100 labels against one "
        "MiniBatchKMeans(n_clusters=1000) and one pairwise_distances_argmin; ten surfaces, 1,000,000 x 100",
        dataset="mnist",
        rows=partial(surfaces, 1_000_000),
        ours=partial(first_fit, anchored, 10),
        rival=k_means_and_a_pass,
        ratio_limit=3.0,
        memory_limit_gb=3.0,
        repeats=3,
    ),
    Claim(
        name="anchors-growth",
        statement="the same fit of 1,000,000 rows against one of 100,000; the limit is the growth of n^1.1",
        dataset="mnist",
        rows=partial(surfaces, 1_000_000),
        ours=partial(first_fit, anchored, 10),
        rival=tenth,
        ratio_limit=10**1.1,
        repeats=3,
    ),
    Claim(
        name="anchors-mnist",
        statement="LaplacianRLSClassifier with 3000 anchors against the same with the neighbour graph, 10 "
        "labels per class; MNIST, 70,000 rows",
        dataset="mnist",
        rows=mnist,
        ours=partial(first_fit, partial(anchored, n_components=3000), 10),
        rival=partial(first_fit, partial(weakly.LaplacianRLSClassifier, random_state=0), 10),
        ratio_limit=0.2,
        error_slack=3.0,
        repeats=3,
    ),
]
