"""What "unlabeled" looks like: the only place that knows.

===========================  =====================================================
type of ``y``                a sample is unlabeled when its entry is
===========================  =====================================================
integers                     ``-1`` (in a pandas column also missing)
floats                       ``NaN``; of classes without any ``NaN``, -1.0
strings and other objects    ``None`` (``NaN`` and ``pandas.NA`` too)
booleans                     never (in a pandas column missing)
===========================  =====================================================

A parameter ``unlabeled`` overrides the rule: a value marks the samples equal to it (missing entries stay
unlabeled), and ``unlabeled=None`` leaves only missing entries unlabeled, so that ``-1`` is a class like any
other. Without it, what other packages and file formats use as a marker is never silently a class: -1.0 is
taken as scikit-learn takes it, with a warning, and -1.0 beside ``NaN``, "", "-1", "-1.0" and, where no entry
is missing, the text that ``str`` makes of one are errors that name the parameter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from weakly.rows._device import to_host

# Text that stands for a missing label elsewhere; behind the first three, what str makes of missing entries.
_TEXT_MARKERS = ("", "-1", "-1.0", "None", "nan", "NaN", "NaT", "<NA>")


@dataclass(frozen=True, slots=True)
class Column:
    """Targets as one plain array, meaningless where missing; ``kind`` is that of the container."""

    values: np.ndarray
    missing: np.ndarray
    kind: str


def read_column(y: Any) -> Column:
    """Read targets of any container, telling missing entries apart by type and never by guessing."""
    y = to_host(y)
    if hasattr(y, "isna"):  # pandas
        if getattr(y, "ndim", 1) == 2:
            if y.shape[1] != 1:
                raise ValueError(f"y has {y.shape[1]} columns: pass the one that holds the labels.")
            y = y.iloc[:, 0]
        missing = np.asarray(y.isna(), dtype=bool)
        return Column(
            _spread(_plain(np.asarray(y[~missing])), missing), missing, getattr(y.dtype, "kind", "O")
        )
    array = y if isinstance(y, np.ndarray) else array_of(y)
    array = column_or_1d(array, warn=array.ndim == 2)
    if array.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, array), dtype=bool, count=len(array))
        return Column(_spread(_plain(array[~missing]), missing), missing, "O")
    missing = array != array if array.dtype.kind in "fM" else np.zeros(len(array), dtype=bool)
    return Column(array, missing, array.dtype.kind)


def array_of(y: Any) -> np.ndarray:
    """Array of a list; one that holds strings or gaps stays a list of objects, which NumPy would convert."""
    if not isinstance(y, list | tuple):
        return np.asarray(y)
    if any(entry is None or isinstance(entry, str) or type(entry).__name__ == "NAType" for entry in y):
        array = np.empty(len(y), dtype=object)
        array[:] = y
        return array
    return np.asarray(y)


def _is_missing(entry: Any) -> bool:
    return (
        entry is None
        or type(entry).__name__ in ("NAType", "NaTType")
        or (isinstance(entry, float | np.floating) and entry != entry)
    )


def _plain(known: np.ndarray) -> np.ndarray:
    """Objects of one type as an array of that type."""
    if known.dtype.kind != "O" or not len(known):
        return known
    families = {
        str if isinstance(v, str) else float if isinstance(v, int | float | np.number) else type(v)
        for v in known
    }
    if len(families) > 1:
        names = ", ".join(sorted({type(v).__name__ for v in known}))
        raise ValueError(f"y mixes labels of types {names}: use one type.")
    return np.asarray(known.tolist())


def _spread(known: np.ndarray, missing: np.ndarray) -> np.ndarray:
    values = np.zeros(len(missing), dtype=known.dtype)
    values[~missing] = known
    return values


def find_unlabeled(
    y: Any, *, unlabeled: Any = "auto", continuous: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Split targets into plain values and the mask of unlabeled samples.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Targets, some of them unlabeled.
    unlabeled : "auto", None or a label, default="auto"
        The marker; the module's documentation has the table.
    continuous : bool, default=False
        Whether targets are numbers, among which -1.0 is one like any other, and not classes.

    Returns
    -------
    values : ndarray of shape (n_samples,)
        The targets; entries of unlabeled samples mean nothing.
    mask : ndarray of bool, shape (n_samples,)
        True for unlabeled samples.

    Examples
    --------
    >>> from weakly.rows._unlabeled import find_unlabeled
    >>> find_unlabeled([1.5, float("nan")])[1].tolist()
    [False, True]
    """
    column = read_column(y)
    mask = column.missing.copy()
    if isinstance(unlabeled, str) and unlabeled == "auto":
        if column.kind == "i":
            mask |= column.values == -1
        elif not continuous:
            mask |= _foreign_markers(column)
    elif np.ndim(unlabeled):
        raise ValueError(
            f"unlabeled is {unlabeled!r}: use one label that marks unlabeled samples, 'auto' or None."
        )
    elif not _is_missing(unlabeled):
        known = np.flatnonzero(~mask)
        mask[known] = [entry == unlabeled for entry in column.values[known].tolist()]
    return column.values, mask


def _foreign_markers(column: Column) -> np.ndarray:
    """Samples that scikit-learn would leave unlabeled; entries that may be markers or classes are errors."""
    values = column.values
    if values.dtype.kind in "if":  # whole numbers kept as objects, too
        marked = ~column.missing & (values == -1)
        if marked.any():
            _take_as_unlabeled(column)
        return marked
    if values.dtype.kind in "UO":
        # Where entries are missing, nobody made text of them: "None" is a class beside None.
        suspects = _TEXT_MARKERS[:3] if column.missing.any() else _TEXT_MARKERS
        labels = dict.fromkeys(values[~column.missing].tolist())
        found = [label for label in labels if isinstance(label, str) and label.strip() in suspects]
        if found:
            raise ValueError(
                f"y has the label {found[0]!r}, which may mark unlabeled samples or be a class: set "
                f"unlabeled={found[0]!r} if it marks them, unlabeled=None if it is a class."
            )
    return np.zeros(len(values), dtype=bool)


def _take_as_unlabeled(column: Column) -> None:
    """Say that -1 is taken as a marker; refuse it beside missing entries, which are one too."""
    if column.missing.any():
        raise ValueError(
            "y has both missing entries and -1, which may mark unlabeled samples too or be a class: set "
            "unlabeled=-1 if it marks them, unlabeled=None if it is a class."
        )
    kind = "float" if column.kind == "f" else "object"
    warnings.warn(
        f"y is of type {kind} and has entries -1: taken as unlabeled, as scikit-learn does. Set unlabeled=-1 "
        "to say so, or unlabeled=None if -1 is a class.",
        UserWarning,
        stacklevel=2,
    )


def take_labeled(
    X: Any, y: Any, sample_weight: Any = None, *, unlabeled: Any = "auto", continuous: bool = False
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Select the labeled samples, to score them.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets, some of them unlabeled.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    unlabeled : "auto", None or a label, default="auto"
        The marker.
    continuous : bool, default=False
        Whether targets are numbers and not classes.

    Returns
    -------
    X : {array-like, sparse matrix, data frame} of shape (n_labeled, n_features)
        The labeled samples.
    y : ndarray of shape (n_labeled,)
        Their targets.
    sample_weight : ndarray of shape (n_labeled,) or None
        Their weights.

    Examples
    --------
    >>> from weakly.rows._unlabeled import take_labeled
    >>> take_labeled([[1], [2], [3]], [0, -1, 1])[1].tolist()
    [0, 1]
    """
    values, mask = find_unlabeled(y, unlabeled=unlabeled, continuous=continuous)
    labeled = np.flatnonzero(~mask)
    if not len(labeled):
        raise ValueError("y has no labeled sample to score: use PartiallyLabeledKFold as cv.")
    weights = None if sample_weight is None else np.asarray(sample_weight)[labeled]
    known = values[labeled]
    # Metrics refuse whole numbers kept as objects: let NumPy infer their type again.
    known = np.asarray(known.tolist()) if known.dtype.kind == "O" else known
    return samples_of(X, labeled), known, weights


def samples_of(X: Any, rows: np.ndarray) -> Any:
    """Some samples of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def marker_hint(values: np.ndarray, unlabeled: Any) -> str:
    """What to say when -1 was taken for a marker and labels are too few."""
    if (
        isinstance(unlabeled, str)
        and unlabeled == "auto"
        and values.dtype.kind in "if"
        and (values == -1).any()
    ):
        return " (-1 means unlabeled; if it is a class here, set unlabeled=None)"
    return ""
