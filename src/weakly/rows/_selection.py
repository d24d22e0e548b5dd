"""Choose which labels are seen: hide those of most samples, or select the samples that have one."""

from __future__ import annotations

from typing import Any

import numpy as np

from weakly.rows._labels import find_unlabeled, read_column


def mask_labels(y: Any, keep: Any) -> np.ndarray:
    """Hide all labels but those of the rows to keep, with the marker that suits the type of ``y``.

    In a copy, integers are -1, floats ``NaN`` and anything else, as objects, ``None`` where the label is
    hidden.

    Examples
    --------
    >>> from weakly.rows._selection import mask_labels
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


def take_labeled(
    X: Any, y: Any, sample_weight: Any = None, *, unlabeled: Any = "auto", continuous: bool = False
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Select the labeled samples, with their targets and weights, to score them.

    Markers are as in :func:`weakly.rows._labels.find_unlabeled`.

    Examples
    --------
    >>> from weakly.rows._selection import take_labeled
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
