"""The classifier to start with, beside supervised machines and published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.papers._model import ACCURACY, Paper, Table, table_of
from benchmarks.papers._protocols import method_of
from benchmarks.papers.fewlabel import _differs
from benchmarks.papers.fewlabel._fit import FEW, per_class_accuracy, share_error, split_error
from benchmarks.papers.fewlabel._refits import REFITS
from benchmarks.papers.wellsvm import BOOK, OTHERS, PUBLISHED_BOOK, PUBLISHED_OTHERS
from benchmarks.papers.wellsvm._uci import SETS

RLS, SVC, TUNED = "weakly.LaplacianRLSClassifier", "sklearn.svm.SVC", "benchmarks.papers._held_out.TunedSVC"
AUTO, SAFE, SUPERVISED = "FewLabel", "FewLabel, safe", "FewLabel, supervised kernels"
FULL = "FewLabel, full effort"
CHOSEN, FIXED, LAPLACIAN = "SVM, 5-fold cross-validation", "SVM", "Laplacian RLS"

PUBLISHED_10 = {
    LAPLACIAN: (43.95, 45.68, 5.44, 18.99, 54.54, 48.97, 33.68),
    "LDS": (28.85, 50.63, 15.63, 17.57, 61.90, 49.27, 27.15),
    **{f"{row} (Li et al.)": values for row, values in PUBLISHED_BOOK.items()},
}
PUBLISHED_100 = {
    LAPLACIAN: (24.36, 26.46, 2.92, 4.68, 11.92, 31.36, 23.57),
    "LDS": (18.04, 23.74, 3.46, 4.96, 13.72, 43.97, 23.15),
}
PUBLISHED_50 = {f"{row} (Li et al.)": values for row, values in PUBLISHED_OTHERS.items()}


def _few(**changed: Any) -> dict[str, dict[str, Any]]:
    """Rows of the classifier; its kernels are kept from one draw of labels to the next."""
    auto, safe = (
        method_of(FEW, mode=mode, warm_start=True, random_state=0, **changed) for mode in ("auto", "safe")
    )
    return {AUTO: auto, SAFE: safe, SUPERVISED: {**auto, "read": "supervised_"}}


OTHER_ROWS = {
    CHOSEN: {
        **method_of(TUNED, C=[10.0, 1.0, 100.0], widths=[1.0, 0.5, 2.0, 0.25, 4.0]),
        "supervised": True,
    },
    FIXED: {**method_of(SVC), "supervised": True},
    LAPLACIAN: method_of(RLS, warm_start=True),
}


def _settings(standardize: bool = False, full: bool = False, **shared: Any) -> dict[str, dict[str, Any]]:
    """Settings of all rows; the classifier prepares rows by itself, for others they can be standardised."""
    prepared = {"standardize": True} if standardize else {}
    rows = _few() | {row: {**prepared, **method} for row, method in OTHER_ROWS.items()}
    if full:
        rows[FULL] = _few(effort="full")[AUTO]
    return {row: {**shared, **method} for row, method in rows.items()}


def _table(settings: Mapping[str, Any], columns: tuple[str, ...], **rest: Any) -> Table:
    """Both modes are held to the supervised rows."""
    held_to = tuple(row for row in (SUPERVISED, CHOSEN) if row in settings)
    return table_of(
        settings,
        columns,
        reference="published",
        rivals=tuple(row for row in (CHOSEN, FIXED) if row in settings),
        not_behind={AUTO: held_to, SAFE: held_to},
        **rest,
    )


def _sets(columns: tuple[str, ...], **rest: Any) -> Table:
    """A table whose columns are data sets."""
    return _table(columns=columns, datasets=columns, column_title="data set", baseline=SUPERVISED, **rest)


def _book(n_labels: int, target: float, published: dict[str, tuple[float, ...]], *notes: str) -> Table:
    return _sets(
        key=f"book{n_labels}",
        caption=f"Benchmarks of the book on semi-supervised learning, {n_labels} labels",
        columns=BOOK,
        evaluate=split_error,
        settings=_settings(n_labels=n_labels, full=True),
        published=published,
        mean_targets={AUTO: target},
        repeats=12,
        differs=_differs.book(published, *notes),
    )


def _uci(per_cent: int) -> Table:
    return _sets(
        key=f"uci{per_cent}",
        caption=f"UCI sets, {per_cent} % of all rows labelled",
        columns=SETS,
        evaluate=share_error,
        settings=_settings(standardize=True, fraction=per_cent / 100),
        differs=_differs.UCI,
    )


FIFTY = _sets(
    key="others",
    caption="Other sets with published splits, 50 labels",
    columns=OTHERS,
    evaluate=split_error,
    settings=_settings(n_labels=50, full=True),
    published=PUBLISHED_50,
    targets={(AUTO, "g50c"): 5.6, (AUTO, "text1"): 7.0, (AUTO, "uspst"): 11.5},
    differs=_differs.FIFTY,
)
_of_each_class = partial(_table, evaluate=per_class_accuracy, **ACCURACY)
DIGITS = _of_each_class(
    key="digits",
    caption="scikit-learn's digits",
    columns=("2",),
    settings=_settings(data={"name": "digits", "divide_by": 16}, full=True),
    targets={(AUTO, "2"): 91.5},
    differs=_differs.DIGITS,
)
MNIST = _of_each_class(
    key="mnist",
    caption="MNIST, all 70,000 rows",
    columns=("10",),
    settings={
        row: {"data": {"name": "mnist", "divide_by": 255, "dtype": "float32"}, **method}
        for row, method in _few(effort="fast").items()
    },
    targets={(AUTO, "10"): 93.0},
    repeats=3,
    quick_repeats=1,
    datasets=("mnist",),
    differs=_differs.MNIST,
)

PAPER = Paper(
    key="fewlabel",
    title="The classifier for few labels",
    reference="Our own method, beside published numbers",
    tables=(
        _book(10, 31.5, PUBLISHED_10, "all of them", _differs.TEN),
        _book(100, 14.0, PUBLISHED_100, "six of them"),
        _uci(5),
        _uci(10),
        FIFTY,
        DIGITS,
        MNIST,
        REFITS,
    ),
)
