"""Table IV: several classes at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from json import dumps, loads
from typing import Any

from benchmarks.papers._model import by_place, table_of
from benchmarks.papers._protocols import method_of
from benchmarks.papers.plsvm._fit import errors_of
from benchmarks.papers.plsvm._pairs import COSTS, GRAM, KERNELS, LITERAL, laplacian, walk
from benchmarks.papers.plsvm._problems import problem

PROBLEMS = {"USPS": "USPS 2358", "Umist": "Umist 20"}
WESTON, RLS = "weakly.WestonWatkinsSVC", "weakly.LaplacianRLSClassifier"


def several_error(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return what ``pair_error`` does, of all classes at once and one draw of labels."""
    data, _, part = column.rpartition(" ")
    return _errors(dumps(settings[data]), data, seed)[part]


@lru_cache(maxsize=64)  # train and test are two cells of one fit
def _errors(method: str, data: str, seed: int) -> dict[str, float]:
    rows = problem(PROBLEMS[data])
    (partial,) = rows.draws(seed)
    return errors_of(loads(method), rows.X, partial, rows.y, rows.X_test, rows.y_test)


COLUMNS = ("USPS train", "USPS test", "Umist train", "Umist test")
PUBLISHED = {
    "MCSVM": (32.5, 36.9, 28.4, 56.9),
    "LapSVM": (8.1, 32.4, 8.5, 48.4),
    "LapRLS": (8.1, 32.3, 8.8, 47.1),
    "PLSVM, literal": (9.5, 15.7, 7.9, 45.1),
}
TARGETS = (11.0, 16.0, 10.0, 42.0)
ROWS: dict[str, dict[str, Any]] = {
    "MCSVM": {
        data: {
            **method_of(WESTON, C=COSTS[data], **(KERNELS[data] if data == "USPS" else GRAM)),
            "supervised": True,
        }
        for data in PROBLEMS
    },
    "LapSVM": {data: laplacian(data, loss="hinge") for data in PROBLEMS},
    "LapRLS": {data: laplacian(data, RLS) for data in PROBLEMS},
    "LapSVM, defaults": {data: method_of("weakly.LaplacianSVC") for data in PROBLEMS},
    "PLSVM, literal": {data: walk(data, max_iter=1000, **LITERAL) for data in PROBLEMS},
    "PLSVM": {
        data: walk(data, **({"graph_weights": "self-tuning"} if data == "USPS" else {})) for data in PROBLEMS
    },
}
DIFFERS = (
    "The paper prints no settings for this table: these are those of table 2, with what differs there. Of "
    "Umist the first 80 % of the images of each person, rounded up, are for training. Laplacian machines are "
    "one class against the rest, and the largest score decides: on USPS those of LapRLS have the right order "
    "and the wrong level (on three other draws, normalising it took the error on training rows from 40 to 8 "
    "%). The row with defaults normalises the level; on other draws LapRLS with defaults was no different "
    "from it. PLSVM in the paper's form counts a row for all classes at once, by their probabilities. With "
    "more than two classes that loss is at odds with probabilities which are all below a half. It stops "
    "after 1000 passes, short of its optimum; the gaps are among the stored warnings. The last row scales "
    "the probabilities to the shares of the labels and counts a row for its most probable class only; on "
    "USPS its weights are self-tuning, as in table 2."
)

TABLE4 = table_of(
    ROWS,
    COLUMNS,
    PUBLISHED,
    key="table4",
    caption="USPS 2, 3, 5 and 8, and the 20 persons of Umist, two labels of each class",
    evaluate=several_error,
    targets=by_place({"PLSVM": TARGETS}, COLUMNS),
    column_title="data set and rows",
    repeats=10,
    datasets=("usps", "umist"),
    differs=DIFFERS,
)
