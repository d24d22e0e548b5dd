"""Partially labeled targets, read and encoded once; the only place that knows what "unlabeled" looks like.

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

from weakly.rows._arrays import to_host

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
    """Split targets into plain values and the mask of unlabeled samples, where the values mean nothing.

    The module's documentation has the table of markers. Of ``continuous`` targets, which are numbers and not
    classes, -1.0 is one like any other.

    Examples
    --------
    >>> from weakly.rows._labels import find_unlabeled
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


class _LabelCounts:
    """What follows from the classes and the labelled rows alone."""

    __slots__ = ()

    classes: np.ndarray
    labeled: np.ndarray

    @property
    def n_rows(self) -> int:
        raise NotImplementedError

    @property
    def labeled_codes(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_unlabeled(self) -> int:
        return self.n_rows - len(self.labeled)

    @property
    def frequencies(self) -> np.ndarray:
        """Share of each class among the labelled rows."""
        counts = np.bincount(self.labeled_codes, minlength=self.n_classes)
        return counts / counts.sum()

    def targets(self, dtype: Any = np.float64) -> np.ndarray:
        """Targets +1 and -1 of the labelled rows, a column per class; two classes share one column."""
        if self.n_classes == 2:
            return np.where(self.labeled_codes == 1, 1, -1).astype(dtype)[:, None]
        return np.where(self.labeled_codes[:, None] == np.arange(self.n_classes), 1, -1).astype(dtype)


@dataclass(frozen=True, slots=True)
class LabelView(_LabelCounts):
    """Partially labelled targets, encoded once.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels that occur.
    codes : ndarray of shape (n_rows,), intp
        Index into ``classes``, and -1 on unlabelled rows.
    labeled : ndarray of shape (n_labeled,), intp
        Indices of the labelled rows, ascending.

    See Also
    --------
    encode_labels : Build a view from ``y``.

    Examples
    --------
    >>> from weakly import encode_labels
    >>> view = encode_labels(["cat", None, "dog", None])
    >>> view.classes.tolist(), view.codes.tolist(), view.labeled.tolist()
    (['cat', 'dog'], [0, -1, 1, -1], [0, 2])
    """

    classes: np.ndarray
    codes: np.ndarray
    labeled: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def labeled_codes(self) -> np.ndarray:
        """Class index of each labelled row."""
        return self.codes[self.labeled]


@dataclass(frozen=True, slots=True)
class LabelList(_LabelCounts):
    """The same without an entry for every row, where the rows are too many for that.

    ``labeled`` has the labelled rows, ascending, and ``labeled_codes`` their indices into ``classes``.

    Examples
    --------
    >>> from weakly.rows._labels import LabelList, encode_known
    >>> labels = LabelList(*encode_known(np.array(["dog", "cat"]), np.array([3, 90])), n_rows=100)
    >>> labels.classes.tolist(), labels.labeled_codes.tolist(), labels.n_unlabeled
    (['cat', 'dog'], [1, 0], 98)
    """

    classes: np.ndarray
    labeled: np.ndarray
    labeled_codes: np.ndarray
    n_rows: int


def encode_labels(y: Any, *, unlabeled: Any = "auto", weights: np.ndarray | None = None) -> LabelView:
    """Encode partially labelled classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of any type that sorts: integers, strings, booleans, floats with whole values, a pandas column.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled sample. "auto" is -1 for integers, ``NaN`` for floats (-1.0 where there is no
        ``NaN``, with a warning), ``None`` for strings and objects, a missing entry in a pandas column. With
        ``None`` only missing entries are unlabeled, so that -1 can be a class. Any other value marks the
        samples equal to it.
    weights : ndarray of shape (n_rows,), optional
        Rows of weight 0 count as unlabelled.

    Returns
    -------
    LabelView
        Classes, codes and the labelled rows.

    Raises
    ------
    ValueError
        If no row is labelled, if fewer than two classes occur, or if labels are of several types or
        continuous.

    Examples
    --------
    >>> from weakly import encode_labels
    >>> encode_labels([0, 1, -1, 1]).codes.tolist()
    [0, 1, -1, 1]
    >>> encode_labels([-1, 1, -1, 1], unlabeled=None).codes.tolist()
    [0, 1, 0, 1]
    """
    values, mask = find_unlabeled(y, unlabeled=unlabeled)
    if weights is not None:
        mask |= weights == 0
    labeled = np.flatnonzero(~mask)
    classes, labeled, known_codes = encode_known(values[labeled], labeled, marker_hint(values, unlabeled))
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[labeled] = known_codes
    return LabelView(classes=classes, codes=codes, labeled=labeled)


def encode_known(
    known: np.ndarray, labeled: np.ndarray, hint: str = ""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes, the labelled rows and their classes, from the labels of these rows; ``hint`` ends errors."""
    if not len(labeled):
        raise ValueError(f"y has no labelled row: give at least one label of each of two classes{hint}.")
    if known.dtype.kind == "f" and not (np.isfinite(known).all() and (known == np.floor(known)).all()):
        raise ValueError(
            "Unknown label type: y is continuous, its labels are not whole numbers. Use a regressor "
            "(and PartiallyLabeledKFold with stratify=False), or turn y into classes."
        )
    classes, codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()[0]!r}, among its labelled rows: a classifier needs "
            f"labels of at least two classes{hint}."
        )
    return classes, labeled, codes
