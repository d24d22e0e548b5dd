"""Claims about the classifier for few labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla

import weakly
from benchmarks.speed.tasks import Claim, Task, first_fit, mnist, second_fit
from weakly.auto import build_bank
from weakly.datasets import load
from weakly.graphs import neighbor_graph

EIGH_ROWS = 2000


def digits_2000() -> tuple[np.ndarray, np.ndarray]:
    X, y = mnist(EIGH_ROWS)
    return X.astype(np.float64), y


def news() -> tuple[Any, np.ndarray]:
    data = load("news20")
    return data.X.astype(np.float64), data.y


def eigh(X: np.ndarray, y: np.ndarray) -> Task:
    """Decompose one dense symmetric matrix of as many rows as there are; the rows have no part in it."""
    matrix = np.random.default_rng(0).normal(size=(EIGH_ROWS, EIGH_ROWS))
    matrix += matrix.T

    def decompose(repeat: int) -> None:
        sla.eigh(matrix)

    return decompose


def bank(X: np.ndarray, y: np.ndarray) -> Task:
    def build(repeat: int) -> None:
        build_bank(X, n_classes=10, random_state=repeat)

    return build


def search(X: Any, y: np.ndarray) -> Task:
    """Find neighbours as every graph of the library does, weights included."""

    def find(repeat: int) -> None:
        neighbor_graph(X, n_neighbors=10, random_state=repeat)

    return find


def few(**params: Any) -> Any:
    return weakly.FewLabelClassifier(random_state=0, **params)


FEW = [
    Claim(
        name="few-bank",
        statement="all kernels of a FewLabelClassifier against one scipy.linalg.eigh of 2000 x 2000; MNIST, "
        "2000 rows",
        dataset="mnist",
        rows=digits_2000,
        ours=bank,
        rival=eigh,
        ratio_limit=12.0,
    ),
    Claim(
        name="few-again",
        statement="FewLabelClassifier on rows it has kernels of, with other 100 labels, against one "
        "scipy.linalg.eigh of 2000 x 2000; MNIST, 2000 rows",
        dataset="mnist",
        rows=digits_2000,
        ours=partial(second_fit, few, 10),
        rival=eigh,
        ratio_limit=0.5,
    ),
    Claim(
        name="few-large",
        statement="FewLabelClassifier(effort='fast') with 10 labels per class against the library's "
        "neighbour search alone; MNIST, 70,000 rows",
        dataset="mnist",
        rows=mnist,
        ours=partial(first_fit, few, 10),
        rival=search,
        ratio_limit=2.5,
        memory_limit_gb=3.0,
        repeats=3,
    ),
    Claim(
        name="few-news",
        statement="FewLabelClassifier with 10 labels per class; 20 newsgroups as counts, 18,774 x 61,188, 20 "
        "classes, sparse",
        dataset="news20",
        rows=news,
        ours=partial(first_fit, few, 10),
        memory_limit_gb=3.0,
    ),
]
