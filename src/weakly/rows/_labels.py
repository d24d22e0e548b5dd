"""Partially labeled targets, encoded once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weakly.rows._unlabeled import find_unlabeled, marker_hint, read_column


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

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels that occur.
    labeled : ndarray of shape (n_labeled,), intp
        Indices of the labelled rows, ascending.
    labeled_codes : ndarray of shape (n_labeled,), intp
        Their indices into ``classes``.
    n_rows : int
        Number of rows.

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


def mask_labels(y: Any, keep: Any) -> np.ndarray:
    """Hide all labels but some, with the marker that suits the type of ``y``.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, all known.
    keep : array-like of int or bool
        Rows that stay labelled.

    Returns
    -------
    ndarray of shape (n_rows,)
        A copy of ``y``: integers with -1, floats with ``NaN``, anything else as objects with ``None``
        where the label is hidden.

    Examples
    --------
    >>> from weakly.rows._labels import mask_labels
    >>> mask_labels([3, 4, 3], [0, 1]).tolist()
    [3, 4, -1]
    >>> mask_labels(["a", "b", "a"], [0, 1]).tolist()
    ['a', 'b', None]
    """
    column = read_column(y)
    values, hidden = column.values, np.ones(len(column.values), dtype=bool)
    try:
        hidden[keep] = False
    except IndexError as error:
        raise ValueError(f"keep does not fit the {len(values)} rows of y: {error}.") from None
    hidden |= column.missing
    if values.dtype.kind in "iu":
        if (values == -1).any():
            raise ValueError(
                "y has a class -1, which would read as unlabelled: use other integers or strings."
            )
        return np.where(hidden, -1, values.astype(np.int64))
    if values.dtype.kind == "f":
        return np.where(hidden, np.nan, values)
    masked = values.astype(object)
    masked[hidden] = None
    return masked
