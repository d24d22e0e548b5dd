"""Tables II and III: two classes at a time, errors and times."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.papers._model import Table, by_place
from benchmarks.papers._protocols import method_of
from benchmarks.papers.plsvm._fit import errors_of, fit
from benchmarks.papers.plsvm._problems import SEEDS, problem

PL, LAP, SVM = "weakly.ProbabilisticLabelSVC", "weakly.LaplacianSVC", "sklearn.svm.SVC"


def pair_error(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the error in per cent, mean over all pairs of classes and the draws of a seed.

    Parameters
    ----------
    settings : mapping
        For each data set what ``fit`` takes.
    column : str
        Data set, and "train" for the unlabelled training rows or "test" for rows held out.
    seed : int
        Seed of the draws of labels.

    Returns
    -------
    float
        Between 0 and 100.
    """
    data, _, part = column.rpartition(" ")
    return _errors(json.dumps(settings[data]), data, seed)[part]


def pair_milliseconds(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the milliseconds of a fit with its graph, mean over all pairs of classes and draws of a seed.

    Parameters are those of ``pair_error``, but that the column is the data set alone. Nothing is left to
    compile.
    """
    rows = problem(column)
    problems = [rows.pair(*pair, partial)[:2] for partial in rows.draws(seed) for pair in rows.pairs]
    fit(settings[column], *problems[0])
    seconds = []
    for X, y in problems:
        start = time.perf_counter()
        fit(settings[column], X, y)
        seconds.append(time.perf_counter() - start)
    return 1000 * float(np.mean(seconds))


@lru_cache(maxsize=256)  # train and test are two cells of the same fits, and come in any order
def _errors(method: str, data: str, seed: int) -> dict[str, float]:
    rows, settings = problem(data), json.loads(method)
    errors = [
        errors_of(settings, *rows.pair(*pair, partial)) for partial in rows.draws(seed) for pair in rows.pairs
    ]
    return {part: float(np.mean([error[part] for error in errors])) for part in errors[0]}


KERNELS: dict[str, dict[str, Any]] = {
    "USPS": {"kernel": "poly", "gamma": 1.0, "degree": 3, "coef0": 1.0},
    "20NG": {"kernel": "linear"},
    "Isolet": {"kernel": "rbf", "gamma": 1 / (2 * 10**2)},
    "Umist": {"kernel": "linear"},
    "Coil20": {"kernel": "linear"},
}
# The linear kernel as a Gram matrix, which is far smaller than the rows where there are more columns.
GRAM = {"kernel": "poly", "gamma": 1.0, "degree": 1, "coef0": 0.0}
GRAPHS = {name: {"n_neighbors": 6, "graph_weights": "binary"} for name in KERNELS} | {
    "20NG": {"n_neighbors": 6, "graph_weights": "cosine"}
}
GAUSSIAN = {"graph": {"bandwidth": 1.0}}  # in place of those weights, for faces and objects
WIDTHS: dict[str, dict[str, Any]] = {"Umist": GAUSSIAN, "Coil20": GAUSSIAN}
# C, alpha of labelled rows, alpha of unlabelled rows
WALKS = {
    "USPS": (300.0, 1e-4, 0.9999),
    "20NG": (400.0, 0.0, 0.9),
    "Isolet": (200.0, 0.0, 0.6),
    "Umist": (300.0, 0.0, 0.9999),
    "Coil20": (300.0, 0.0, 0.9999),
}
COSTS = {"USPS": 10.0, "20NG": 1.2, "Isolet": 10.0, "Umist": 0.06, "Coil20": 0.02}
# weights of the norm and of the graph
GAMMAS = {
    "USPS": (1 / 9, 200 / 9),
    "20NG": (1.0, 10.0),
    "Isolet": (1.0, 200.0),
    "Umist": (0.1, 0.1),
    "Coil20": (0.01, 0.01),
}
TOL = 0.01  # a tenth of it takes ten times as long and changes hardly an error


def walk(data: str, **changed: Any) -> dict[str, Any]:
    """Settings of the paper's method; what is changed is a parameter of the estimator."""
    C, labeled, unlabeled = WALKS[data]
    params = {
        "C": C,
        "alpha_labeled": labeled,
        "alpha_unlabeled": unlabeled,
        "tol": TOL,
        "max_iter": 50000,
        **(GRAM if data in WIDTHS else KERNELS[data]),
        **GRAPHS[data],
        **changed,
    }
    return {**method_of(PL, **params), **WIDTHS.get(data, {})}


def laplacian(data: str, estimator: str = LAP, **changed: Any) -> dict[str, Any]:
    """Settings of the paper's Laplacian machines."""
    ambient, graph = GAMMAS[data]
    params = {
        "ambient_penalty": ambient,
        "graph_penalty": graph,
        "laplacian": "unnormalized",
        "class_prior": None,
        **KERNELS[data],
        **GRAPHS[data],
        **changed,
    }
    return {**method_of(estimator, **params), **WIDTHS.get(data, {})}


LITERAL = {"class_prior": None, "harden": False}
ROWS: dict[str, dict[str, Any]] = {
    "SVM": {
        data: {"estimator": SVM, "params": {"C": COSTS[data], **KERNELS[data]}, "supervised": True}
        for data in KERNELS
    },
    "LapSVM": {data: laplacian(data, loss="hinge") for data in KERNELS},
    "LapSVM, defaults": {data: method_of(LAP) for data in KERNELS},
    "PLSVM, literal": {data: walk(data, **LITERAL) for data in KERNELS},
    "PLSVM": {
        data: walk(data, **({"graph_weights": "self-tuning"} if data == "USPS" else {})) for data in KERNELS
    },
}

COLUMNS = (
    "USPS train",
    "USPS test",
    "20NG train",
    "20NG test",
    "Isolet train",
    "Isolet test",
    "Umist train",
    "Coil20 train",
)
PUBLISHED = {
    "SVM": (23.2, 21.6, 17.1, 17.5, 20.1, 25.9, 37.2, 13.6),
    "TSVM": (15.6, 36.8, 10.0, 21.2, 28.9, 31.0, 13.2, 8.5),
    "LapSVM": (7.4, 20.8, 13.5, 17.2, 16.9, 24.0, 6.7, 6.0),
    "PLSVM, literal": (2.4, 8.6, 11.6, 13.5, 14.5, 21.8, 1.1, 0.2),
}
TARGETS = (2.0, 3.0, 12.0, 13.5, 15.5, 22.0, 1.1, 0.6)
TIMES = ("USPS", "Umist", "Coil20", "20NG", "Isolet")
PUBLISHED_TIMES = {
    "SVM": (330.0, 10.0, 10.0, 170.0, 710.0),
    "TSVM": (330.0, 1.0, 2.0, 26000.0, 28100.0),
    "LapSVM": (2290.0, 20.0, 60.0, 6560.0, 3020.0),
    "PLSVM, literal": (45400.0, 600.0, 680.0, 19500.0, 38100.0),
}

DIFFERS = (
    "Settings are the paper's, which are the best of a grid search (it does not say on which rows), but for "
    "the last row and the one with defaults. Each entry is the mean over all pairs of classes: 45, and 10 of "
    "the five newsgroups, where the paper says 45. Draws of labels: 5 for USPS, 10 for 20NG, Umist and "
    "Coil20, and each of the 30 speakers of Isolet once; of all but USPS, several draws are in each of the n "
    "numbers. The paper does not print the constant of its polynomial (here 1), nor over which documents it "
    "counts words: here over all of the twenty groups but those held out. On four other draws the SVM then "
    "had errors of 17.0 and 17.4 %, as in the paper, and with words of the five groups alone, by "
    "scikit-learn's formula, 19.6 and 20.7 %; PLSVM gains as much by it. Weights of the graph of text are "
    "cosines. Of LapSVM it prints two weights but not what they multiply: here half the squared norm and "
    "half f'Lf, with L = D - W, beside the sum of the hinge losses, and the sign of the score decides. With "
    "a factor 1/n^2 on f'Lf, as in other papers, other draws gave 5.8 and 7.4 for USPS, 18 and 18 for 20NG, "
    "9.6 for Umist and 13.4 for Coil20, and the first six speakers of Isolet 28 and 33: sometimes better, "
    "but in table 4 it is far worse. The row with defaults is the library's LapSVM as it comes. PLSVM stops "
    "at a duality gap of 1 %: on USPS, a tenth of that changed no mean error by more than 0.03. In the "
    "paper's form of PLSVM, a class whose labels lie well takes rows from the other, and the more so the "
    "longer the walk: on USPS, draws 1000 to 1003, probabilities alone had errors of 4.9, 4.1 and 2.9 % at "
    "alphas of 0.9999, 0.999 and 0.99, and once scaled 2.1, 2.1 and 2.5 %. The last row scales probabilities "
    "to equal shares of both classes, as the labels have them, and on USPS has self-tuning weights, picked "
    "on draws 1000 to 1003 (1.8 and 2.6 %, against 2.0 and 2.8 with weights 1). All speakers of Isolet are "
    "reported, so that there was none to pick anything on; the first six were seen before, with these "
    "settings. No TSVM is measured yet."
)
DIFFERS_TIMES = (
    "The paper's times are of a Core 2 Quad at 2.4 GHz, in Matlab (quadprog for SVM and LapSVM), to a "
    "precision it does not say; here PLSVM stops at a duality gap of 1 %. Times have the graph in them, and "
    "not the compilation on first use. Settings as in table 2; mean over all pairs of the draws of one seed."
)
READ = ("usps", "news20", "isolet1", "isolet5", "umist", "coil20")


_of_pairs = partial(
    Table,
    rows=("SVM", "TSVM", "LapSVM", "LapSVM, defaults", "PLSVM, literal", "PLSVM"),
    settings=ROWS,
    rivals=("SVM",),
    quick_repeats=1,
    datasets=READ,
)
TABLE2 = _of_pairs(
    key="table2",
    caption="Pairs of classes, two labels of each (20NG: ten; Isolet: one speaker of thirty)",
    columns=COLUMNS,
    evaluate=pair_error,
    published=by_place(PUBLISHED, COLUMNS),
    targets=by_place({"PLSVM": TARGETS}, COLUMNS),
    column_title="data set and rows",
    repeats=SEEDS,
    differs=DIFFERS,
)
TABLE3 = _of_pairs(
    key="table3",
    caption="Time of a fit to a pair of classes",
    columns=TIMES,
    evaluate=pair_milliseconds,
    published=by_place(PUBLISHED_TIMES, TIMES),
    unit="milliseconds",
    column_title="data set",
    repeats=1,
    differs=DIFFERS_TIMES,
)
