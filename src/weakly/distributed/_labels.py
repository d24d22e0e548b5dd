"""Labels of a Dask collection: only those that there are leave the workers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np

from weakly.distributed._blocks import DaskBlocks
from weakly.rows._arrays import is_collection
from weakly.rows._labels import LabelList, array_of, encode_known, find_unlabeled, marker_hint


def labels_of(
    y: Any, blocks: DaskBlocks, unlabeled: Any = "auto", sample_weight: Any = None
) -> tuple[LabelList, np.ndarray]:
    """Gather the labels of rows in blocks.

    Parameters
    ----------
    y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_rows,)
        Labels, in the chunks of the rows if it is a collection.
    blocks : DaskBlocks
        The rows.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows, as for ``encode_labels``.
    sample_weight : dask.array.Array, dask.dataframe.Series or array-like of shape (n_rows,), default=None
        Rows of weight 0 count as unlabelled.

    Returns
    -------
    labels : LabelList
        Classes, labelled rows and their classes.
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows, 1 by default.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from weakly.distributed import labels_of, rows_of
    >>> blocks = rows_of(da.ones((4, 1), chunks=(2, 1)))
    >>> labels, weights = labels_of(da.from_array(np.array([7, -1, -1, 5]), chunks=2), blocks)
    >>> labels.labeled.tolist(), labels.classes.tolist(), labels.labeled_codes.tolist()
    ([0, 3], [5, 7], [1, 0])
    """
    labeled, known, weights, hint = _gather(y, blocks, unlabeled, sample_weight)
    return LabelList(*encode_known(known, labeled, hint), n_rows=blocks.shape[0]), weights


def targets_of(
    y: Any, blocks: DaskBlocks, unlabeled: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gather the targets of rows in blocks, for regression.

    Parameters
    ----------
    y, blocks : collection, DaskBlocks
        As for :func:`labels_of`, with targets in place of labels.
    unlabeled : float or None, default=None
        Number that marks unlabelled rows; missing entries always do.
    sample_weight : collection or array-like of shape (n_rows,), default=None
        As for :func:`labels_of`.

    Returns
    -------
    labeled : ndarray of shape (n_labeled,)
        Rows with a target, ascending.
    known : ndarray of shape (n_labeled,)
        Their targets.
    weights : ndarray of shape (n_labeled,)
        Their weights, 1 by default.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from weakly.distributed import rows_of, targets_of
    >>> targets_of(np.array([0.5, np.nan, np.nan, 2.5]), rows_of(da.ones((4, 1), chunks=(2, 1))))[:2]
    (array([0, 3]), array([0.5, 2.5]))
    """
    return _gather(y, blocks, unlabeled, sample_weight)[:3]


def weights_of(sample_weight: Any, blocks: DaskBlocks) -> da.Array:
    """Align the weights of all rows with them, lazily.

    Parameters
    ----------
    sample_weight : dask.array.Array, dask.dataframe.Series, array-like of shape (n_rows,) or None
        Weights; ``None`` is 1 for all.
    blocks : DaskBlocks
        The rows.

    Returns
    -------
    dask.array.Array
        The weights, in the chunks of the rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from weakly.distributed import rows_of, weights_of
    >>> weights_of([1, 2, 0], rows_of(da.ones((3, 1), chunks=(2, 1)))).compute().tolist()
    [1.0, 2.0, 0.0]
    """
    lengths = blocks.X.chunks[0]
    if sample_weight is None:
        return da.ones(blocks.shape[0], chunks=(lengths,))
    parts = _parts_of(sample_weight, "sample_weight", blocks)
    return da.concatenate(
        [
            da.from_delayed(
                dask.delayed(np.asarray)(part, dtype=np.float64), shape=(length,), dtype=np.float64
            )
            for part, length in zip(parts, lengths, strict=True)
        ]
    )


def _gather(
    y: Any, blocks: DaskBlocks, unlabeled: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Labelled rows, their labels and weights, and what to say where labels are too few."""
    if y is None:
        raise ValueError("a fit on a Dask collection requires y to be passed, but the target y is None.")
    parts = _parts_of(y, "y", blocks)
    weights = (
        [None] * len(parts) if sample_weight is None else _parts_of(sample_weight, "sample_weight", blocks)
    )
    is_here = not is_collection(y) and not is_collection(sample_weight)
    read = _read if is_here else dask.delayed(_read)
    found = dask.compute(*(read(*pair, unlabeled) for pair in zip(parts, weights, strict=True)))
    if not all(block.is_weighed for block in found):
        raise ValueError("sample_weight has entries that are negative or not finite: set them to 0 or more.")
    labeled = [block.rows + start for block, start in zip(found, blocks.starts[:-1], strict=True)]
    known = _joined([block.known for block in found])
    hint = max(block.hint for block in found)
    return np.concatenate(labeled), known, np.concatenate([block.weights for block in found]), hint


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labelled rows of a block, counted from its first."""

    rows: np.ndarray
    known: np.ndarray
    weights: np.ndarray
    is_weighed: bool
    hint: str


def _read(y: Any, weights: Any, unlabeled: Any) -> _Labels:
    values, mask = find_unlabeled(y, unlabeled=unlabeled)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = np.flatnonzero(~mask & (weights != 0))
    is_weighed = bool((weights >= 0).all() and np.isfinite(weights).all())
    return _Labels(rows, values[rows], weights[rows], is_weighed, marker_hint(values, unlabeled))


def _joined(known: list[np.ndarray]) -> np.ndarray:
    """Labels of all blocks; a block without any has no say in their type."""
    known = [values for values in known if len(values)] or known[:1]
    families = {"number" if values.dtype.kind in "biuf" else values.dtype.kind for values in known}
    if len(families) > 1:
        names = ", ".join(sorted({str(values.dtype) for values in known}))
        raise ValueError(f"y mixes labels of types {names}: use one type.")
    return np.concatenate(known)


def _parts_of(values: Any, name: str, blocks: DaskBlocks) -> list:
    """Values of each block: tasks for those of a collection, slices of what is in memory."""
    n_rows, starts = blocks.shape[0], blocks.starts
    if not is_collection(values):
        values = values if hasattr(values, "isna") else array_of(values)
        if len(values) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows and {name} "
                f"has {len(values)}."
            )
        values = getattr(values, "iloc", values)
        return [values[start:stop] for start, stop in pairwise(starts)]
    if getattr(values, "ndim", 0) != 1 or not hasattr(values, "to_delayed"):
        raise ValueError(f"{name} is a collection of another shape: it needs one entry for each row.")
    parts = np.ravel(values.to_delayed())
    lengths = values.chunks[0] if isinstance(values, da.Array) else (np.nan,)
    if np.isnan(lengths).any():
        lengths = dask.compute(*(dask.delayed(len)(part) for part in parts))
    if tuple(length for length in lengths if length) != blocks.X.chunks[0]:
        remedy = f"call {name}.rechunk(X.chunks[0])" if isinstance(values, da.Array) else "take it from X"
        raise ValueError(f"{name} is not chunked as X is: {remedy}.")
    return [part for part, length in zip(parts, lengths, strict=True) if length]
