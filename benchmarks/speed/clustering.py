"""Claims about clustering."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import weakly
from benchmarks.papers.wellsvm._scale import two_groups
from benchmarks.speed.tasks import Claim, Task

LINEAR = {
    "means": weakly.KernelKMeans,
    "svr": weakly.IterativeSVRClustering,
    "planes": weakly.CuttingPlaneMaxMarginClustering,
    "well": weakly.WellClustering,
}


def groups() -> tuple[Any, np.ndarray]:
    """The pair that the project's table of text begins with."""
    return two_groups("comp", "rec")


def fit_clusters(make: Callable[..., Any], X: Any, y: np.ndarray) -> Task:
    """Cluster anew each time; the error is under the better matching with the true groups."""

    def fit(repeat: int) -> float:
        wrong = float(np.mean(make(random_state=repeat).fit(X).labels_ != y))
        return 100 * min(wrong, 1 - wrong)

    return fit


CLUSTERS = [
    Claim(
        name=f"clusters-{name}",
        statement=f"{kind.__name__}(kernel='linear') against scikit-learn's KMeans(2), which has one start; "
        "comp and rec of 20 newsgroups as tf-idf (8820 x 61,188, sparse)",
        dataset="news20",
        rows=groups,
        ours=partial(fit_clusters, partial(kind, kernel="linear")),
        rival=partial(fit_clusters, partial(KMeans, 2)),
        ratio_limit=10.0,
        repeats=5,
    )
    for name, kind in LINEAR.items()
]
