"""Transductive machines by their optimisers: rows of tables 6 and 7, two moons and 20 newsgroups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer

from benchmarks.papers._model import ACCURACY, by_place, table_of
from benchmarks.papers._protocols import _bunch, _estimator, method_of, predict_hidden
from weakly.datasets import load
from weakly.model_selection import LabelDraws

SVC, LINEAR = "weakly.TransductiveSVC", "weakly.TransductiveLinearSVC"
OPTIMIZERS = {
    "TSVM": "switching",
    "nabla-S3VM": "gradient",
    "cS3VM": "continuation",
    "USVM": "cccp",
    "nabla-DA": "annealing",
    "Newton": "newton",
}
ORACLE = "nabla-DA, oracle shares, C 10"


def _transductive(linear_on: str, **changed: Any) -> dict[str, Any]:
    return {**method_of(SVC, **changed), "params_of": {linear_on: {"kernel": "linear"}}}


METHODS_10 = {row: _transductive("ssl_text", optimizer=OPTIMIZERS[row]) for row in ("TSVM", "nabla-DA")}
METHODS_50: dict[str, dict[str, Any]] = {
    **{row: _transductive("text1", optimizer=name) for row, name in OPTIMIZERS.items()},
    **{
        f"{row}, oracle shares": {**_transductive("text1", optimizer=name), "true_shares": True}
        for row, name in OPTIMIZERS.items()
    },
    ORACLE: {**_transductive("text1", optimizer="annealing", C=10.0), "true_shares": True},
}
# on g50c, text1 and uspst; the TSVM is among the numbers of the other rows
PUBLISHED_50 = {
    "nabla-S3VM": (8.3, 5.7, 14.1),
    "cS3VM": (8.3, 5.8, 15.6),
    "USVM": (8.5, 8.5, 14.9),
    "nabla-DA": (6.7, 6.5, 11.0),
    "Newton": (7.5, 14.5, 19.2),
}
TARGETS_50 = {
    **{(row, "g50c"): 8.5 for row in OPTIMIZERS},
    ("nabla-DA", "g50c"): 7.2,
    **{(row, "text1"): 9.0 for row in ("TSVM", "USVM", "nabla-S3VM", "nabla-DA")},
    **{(row, "uspst"): 20.7 for row in OPTIMIZERS},  # the paper's SVM, whose parameters are oracle ones
    **{(f"{row}, oracle shares", "uspst"): 20.7 for row in OPTIMIZERS},
}

DIFFERS = (
    " The transductive machines ({rows}) have their defaults too, but for a linear kernel on text, and the "
    "squared hinge whatever the optimiser. Their shares of the classes come from the labels, smoothed, and "
    "the labels that are scored are those of the fit, which keep to these shares."
)
DIFFERS_10 = DIFFERS.format(rows="TSVM by switching labels, nabla-DA by annealing")
DIFFERS_50 = (
    DIFFERS.format(
        rows="TSVM by switching labels, nabla-S3VM by gradients, cS3VM by continuation, USVM by cccp, "
        "nabla-DA by annealing, and Newton"
    )
    + " Their published numbers come from another study, where the shares of the classes were known and C "
    "and the width of the kernel were chosen with all labels ('oracle parameters'), as far as that can be "
    "told from this paper, which only quotes them. So the rows with *oracle shares*, which are told the "
    "shares of the hidden rows, are those to compare with it, and the last one has a higher C besides; they "
    "were added when those without had missed the target on uspst. On "
    "uspst 50 labels of ten classes miss these shares by a tenth of the rows, which is what the rows without "
    "them lose. The defaults were chosen on other draws of labels of these same three sets (NumPy seed "
    "1000), not on the published splits."
)


def moons_error(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Return the error in per cent on the unlabelled rows of two moons, with one label of each class.

    Parameters
    ----------
    settings : mapping
        As for ``transductive_error``, without data.
    column : str
        Name of the data set, of which the rows for training are taken.
    seed : int
        Seed of the draw of labels.

    Returns
    -------
    dict
        The "value"; of a transductive machine the "objective"; of branch and bound also the relative "gap"
        that is left.
    """
    bunch = _bunch(column.replace(" ", "_"))
    X, y = bunch.X[bunch.is_train], bunch.y[bunch.is_train]
    draw = next(LabelDraws(n_per_class=1, n_repeats=1, random_state=seed).split(X, y))
    model = _estimator(settings["estimator"], json.dumps(settings["params"]))
    predicted = predict_hidden(model, X, y, draw.labeled, draw.unlabeled, settings.get("supervised", False))
    measured = {"value": 100.0 * float(np.mean(predicted != y[draw.unlabeled]))}
    if not settings.get("supervised"):
        measured["objective"] = float(model.result_.objective[-1])
    if settings["params"].get("optimizer") == "branch_and_bound":
        measured["gap"] = float(model.result_.criterion[-1])
    return measured


_WIDTH = 2.0  # sigma 0.5
_AS_PUBLISHED = {"C": 10.0, "C_unlabeled": 10.0, "gamma": _WIDTH, "class_prior": 0.52}
_MOONS: dict[str, dict[str, Any]] = {
    "SVM": {
        "estimator": "sklearn.svm.SVC",
        "params": {"C": 10.0, "kernel": "rbf", "gamma": _WIDTH},
        "supervised": True,
    },
    **{row: method_of(SVC, optimizer=name, **_AS_PUBLISHED) for row, name in OPTIMIZERS.items()},
    "BB": method_of(SVC, optimizer="branch_and_bound", max_seconds=60, **_AS_PUBLISHED),
}
_PUBLISHED_MOONS = (35.6, 68.7, 65.0, 49.8, 66.3, 30.0, 33.5, 0.0)
MOONS = table_of(
    _MOONS,
    ("two moons",),
    {row: (value,) for row, value in zip(_MOONS, _PUBLISHED_MOONS, strict=True)},
    key="moons",
    caption="Two moons, one label of each class",
    evaluate=moons_error,
    column_title="data set",
    rivals=("SVM",),
    beside=("objective", "gap"),
    datasets=("two_moons",),
    differs=(
        "The 200 rows for training of the two moons of Belkin, Niyogi and Sindhwani; whether they are the "
        "paper's is not known, nor is its pair of labels. Here the seed draws one label of each class, and "
        "some pairs are far easier than others. C and the cost of unlabelled rows are 10 and the width of "
        "the kernel is 0.5, and the shares of the classes are known (with a half instead of 0.52 two rows "
        "in a hundred would have to be wrong): what the study behind the published "
        "numbers has, as far as can be told. BB is branch and bound, stopped after 100,000 nodes or 60 "
        "seconds; the gap is what is then left between its bound and the objective, relative to it. The "
        "objective is that of the fitted machine with the squared hinge, the same for all rows."
    ),
)

N_TERMS = 10_000
N_LABELS_PER_CLASS = 10


def news_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the accuracy in per cent on the unlabelled rows of 20 newsgroups, comp and sci against the rest.

    Parameters
    ----------
    settings : mapping
        As for ``transductive_error``, without data.
    column : str
        How many rows to draw; as many as there are, or more, takes all.
    seed : int
        Seed of the draws of rows and labels.

    Returns
    -------
    float
        Between 0 and 100.
    """
    X, y = _drawn_news(int(column.removesuffix(" rows").replace(",", "")), seed)
    draw = next(LabelDraws(n_per_class=N_LABELS_PER_CLASS, n_repeats=1, random_state=seed).split(y, y))
    model = _estimator(settings["estimator"], json.dumps(settings["params"]))
    predicted = predict_hidden(model, X, y, draw.labeled, draw.unlabeled, settings.get("supervised", False))
    return 100.0 * float(np.mean(predicted == y[draw.unlabeled]))


def _drawn_news(n_rows: int, seed: int) -> tuple[Any, np.ndarray]:
    counts, y = technical_news(N_TERMS)
    if n_rows < len(y):
        rows = np.random.default_rng(seed).choice(len(y), n_rows, replace=False)
        counts, y = counts[rows], y[rows]
    return TfidfTransformer().fit_transform(counts), y


@lru_cache(maxsize=1)
def technical_news(n_terms: int | None) -> tuple[Any, np.ndarray]:
    """Counts of so many terms in 20 newsgroups, or of all, and which rows are of groups comp and sci.

    The terms are those in most documents that are no English stop words.
    """
    bunch = load("news20")
    y = np.array([str(name).startswith(("comp.", "sci.")) for name in bunch.target_names])[bunch.y]
    counts = bunch.X.astype(np.float64)
    if n_terms is not None:
        documents = np.bincount(counts.indices, minlength=counts.shape[1])
        documents[[str(term).lower() in ENGLISH_STOP_WORDS for term in bunch.feature_names]] = 0
        counts = counts[:, np.sort(np.argsort(-documents, kind="stable")[:n_terms])]
    return counts, y.astype(int)


_SIZES = ("5000 rows", "18,774 rows")
_REFERENCE = {"multi-switch": (82.6, 81.0), "annealing": (85.0, None)}
NEWSGROUPS = table_of(
    {
        "multi-switch": method_of(LINEAR, optimizer="multi_switch"),
        "annealing": method_of(LINEAR, optimizer="annealing"),
        "LinearSVC, labels only": {
            "estimator": "sklearn.svm.LinearSVC",
            "params": {"C": 1.0, "random_state": 0},
            "supervised": True,
        },
    },
    _SIZES,
    _REFERENCE,
    key="newsgroups",
    caption="20 newsgroups, comp and sci against the rest, 10 labels of each class",
    evaluate=news_accuracy,
    targets=by_place(_REFERENCE, _SIZES),
    reference="SVMlin",
    column_title="size",
    **ACCURACY,
    repeats=5,
    rivals=("LinearSVC, labels only",),
    datasets=("news20",),
    differs=(
        "This is no table of the paper. The published numbers are those of SVMlin, the program of the "
        "authors of both optimisers, on such rows; the draws behind them are not known. The rows are tf-idf "
        "of the 10,000 terms in most documents, without English stop words, and 5000 of them are drawn by "
        "the seed. TransductiveLinearSVC has its defaults; C and the cost of unlabelled rows were chosen "
        "after a look at seeds 100 to 105, which are other draws of the same documents. Accuracies are over "
        "the unlabelled rows, by the labels of the fit, which have equal shares as the labels do; 47 % of "
        "the documents are of comp and sci. SVMlin itself, run apart from this project on these very draws "
        "with an expected share of a half, had 81.6 % by multi-switch and 81.8 % by annealing of 5000 rows "
        "with its lambda at 0.001 (81.5 and 81.2 % at 0.01), and 82.5 and 81.4 % of all rows at 0.001 and "
        "0.01: so these draws, or its settings, are others than those behind the published numbers."
    ),
)
