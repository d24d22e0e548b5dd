"""The door for Dask collections: rows of a fit, and decisions on new rows."""

from __future__ import annotations

import copy
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from weakly.distributed._blocks import DaskBlocks


def rows_of(X: Any) -> DaskBlocks:
    """Read the rows of a Dask collection, in one pass that checks them.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        Numbers, in dense or sparse chunks of rows. float32 stays; float16 becomes float32, and whole numbers
        become float64. Chunks without rows are left out.

    Returns
    -------
    DaskBlocks
        The rows. Every pass over them runs the tasks of ``X`` again: call ``X.persist()`` before a fit if
        the cluster can hold it.

    See Also
    --------
    labels_of : The labels that go with them.

    Examples
    --------
    >>> import dask.array as da
    >>> from weakly.distributed import rows_of
    >>> rows_of(da.ones((6, 2), chunks=(3, 2), dtype=int)).dtype
    dtype('float64')
    """
    rows = _numbers(X)
    if isinstance(X, da.Array) and np.isnan(rows.shape[0]):
        raise ValueError("X has chunks of unknown sizes: call X.compute_chunk_sizes().")
    lengths = _survey(rows)
    if not isinstance(X, da.Array):
        rows = _numbers(X, lengths)
    filled = np.flatnonzero(lengths)
    if not len(filled):
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return DaskBlocks(rows.blocks[filled.tolist()] if len(filled) < len(lengths) else rows)


def checked_rows(estimator: Any, X: Any) -> DaskBlocks:
    """Check rows for the fit of an estimator, which is told the number and the names of their columns.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and, from a dataframe, ``feature_names_in_``.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        Rows, at least two.

    Returns
    -------
    DaskBlocks
        The rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from weakly import TransductiveLinearSVC
    >>> from weakly.distributed import checked_rows
    >>> model = TransductiveLinearSVC()
    >>> checked_rows(model, da.ones((6, 2), chunks=(3, 2))).shape, model.n_features_in_
    ((6, 2), 2)
    """
    blocks = rows_of(X)
    if blocks.shape[0] < 2:
        raise ValueError("Found array with 1 sample(s) while a minimum of 2 is required.")
    _meet_columns(estimator, X, reset=True)
    return blocks


def map_method(estimator: Any, method: str, X: Any) -> da.Array:
    """Lazy values of a method of a fitted estimator, with the chunks of the rows.

    Parameters
    ----------
    estimator : estimator
        Fitted, on rows of any kind.
    method : str
        Name of a method that has a value, or a line of them, for each row.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        Rows; their number need not be known.

    Returns
    -------
    dask.array.Array
        The values.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from weakly import LaplacianSVC
    >>> from weakly.datasets import make_two_moons
    >>> from weakly.distributed import map_method
    >>> moons = make_two_moons(200, n_per_class=2, random_state=0)
    >>> model = LaplacianSVC().fit(moons.X, moons.y_partial)
    >>> lazy = map_method(model, "predict", da.from_array(moons.X, chunks=(100, 2)))
    >>> lazy.chunks, bool((lazy.compute() == model.predict(moons.X)).all())
    (((100, 100),), True)
    """
    check_is_fitted(estimator, estimator._last_published)
    _meet_columns(estimator, X, reset=False)
    rows = _numbers(X)
    sent = _light(estimator)
    like = getattr(sent, method)(np.zeros((1, rows.shape[1]), dtype=rows.dtype))[:0]
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (rows.chunks[0], (like.shape[1],))}
    settings = {"estimator": dask.delayed(sent, pure=False), "method": method, "like": like}
    return rows.map_blocks(_values, dtype=like.dtype, meta=like, **shape, **settings)


def fitted_values(estimator: Any, method: str, blocks: DaskBlocks, *aligned: da.Array) -> da.Array:
    """Lazy values of a method on the rows of the fit itself, which were checked and have known lengths.

    Parameters
    ----------
    estimator, method : estimator, str
        As for :func:`map_method`.
    blocks : DaskBlocks
        The rows.
    *aligned : dask.array.Array of shape (n_rows,)
        More arguments of the method, with an entry for each row.

    Returns
    -------
    dask.array.Array
        The values.

    Examples
    --------
    >>> import dask.array as da
    >>> from weakly import LaplacianSVC
    >>> from weakly.datasets import make_two_moons
    >>> from weakly.distributed import fitted_values, rows_of
    >>> moons = make_two_moons(200, n_per_class=2, random_state=0)
    >>> model = LaplacianSVC().fit(moons.X, moons.y_partial)
    >>> fitted_values(model, "predict", rows_of(da.from_array(moons.X, chunks=(100, 2)))).chunks
    ((100, 100),)
    """
    sent = _light(estimator)
    row = np.zeros((1, blocks.shape[1]), dtype=blocks.dtype)
    like = getattr(sent, method)(row, *(np.zeros(1, dtype=values.dtype) for values in aligned))
    width = None if like.ndim == 1 else like.shape[1]
    return blocks.map(getattr(sent, method), *aligned, width=width, dtype=like.dtype)


def _light(estimator: Any) -> Any:
    """A copy that is good for new rows, and as small as can be."""
    sent = copy.copy(estimator)
    kept = [name for kind in type(estimator).__mro__ for name in vars(kind).get("_of_training", ())]
    for name in (*kept, "feature_names_in_"):  # chunks have no names
        vars(sent).pop(name, None)
    found = vars(sent).get("result_")
    if found is not None:
        sent.result_ = [one.summary() for one in found] if isinstance(found, list) else found.summary()
    return sent


def _values(rows: Any, estimator: Any, method: str, like: np.ndarray) -> np.ndarray:
    return getattr(estimator, method)(rows) if rows.shape[0] else like


def _numbers(X: Any, lengths: np.ndarray | None = None) -> da.Array:
    """A collection as floats in chunks of rows; a dataframe with chunks of these lengths, or unknown ones."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X needs rows and columns.")
        if np.isnan(X.shape[1]):
            raise ValueError("X has an unknown number of columns: call X.compute_chunk_sizes().")
        if len(X.chunks[1]) > 1:
            raise ValueError("X has several chunks along the columns: call X.rechunk({1: -1}).")
        dtype = _float_of([X.dtype])
        return X.map_blocks(_as_rows, dtype, dtype=dtype, meta=np.empty((0, 0), dtype=dtype))
    if not type(X).__module__.startswith("dask.dataframe") or X.ndim != 2:
        raise ValueError(f"X is a {type(X).__name__}: pass a two-dimensional dask array or a dataframe.")
    dtype = _float_of(list(X.dtypes))
    return X.astype(dtype).to_dask_array(lengths=None if lengths is None else lengths.tolist())


def _float_of(dtypes: list) -> np.dtype:
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    if not kinds <= set("biuf"):
        names = ", ".join(sorted({str(dtype) for dtype in dtypes}))
        raise ValueError(f"X has entries of type {names}: it needs numbers, as X.astype(float) makes them.")
    is_short = all(dtype.kind == "f" and dtype.itemsize <= 4 for dtype in dtypes)
    return np.dtype(np.float32 if is_short else np.float64)


def _as_rows(block: Any, dtype: np.dtype) -> Any:
    if hasattr(block, "to_scipy_sparse"):  # of the package `sparse`
        block = block.to_scipy_sparse()
    if not sp.issparse(block):
        return np.ascontiguousarray(block, dtype=dtype)
    rows = sp.csr_array(block).astype(dtype, copy=False)
    return rows if rows.has_sorted_indices else rows.sorted_indices()


def _survey(rows: da.Array) -> np.ndarray:
    """Lengths of the chunks; entries that are not finite are an error."""
    found = dask.compute(*(dask.delayed(_look)(block) for block in rows.to_delayed().ravel()))
    lengths, n_missing, n_infinite = np.array(found).T
    if n_missing.any():
        raise ValueError(f"Input X contains NaN: {n_missing.sum()} entries. Fill them, or drop their rows.")
    if n_infinite.any():
        raise ValueError(f"Input X contains infinity or a value too large for dtype('{rows.dtype}').")
    return lengths


def _look(block: Any) -> tuple[int, int, int]:
    entries = block.data if sp.issparse(block) else np.asarray(block)
    if np.isfinite(entries).all():
        return block.shape[0], 0, 0
    return block.shape[0], int(np.isnan(entries).sum()), int(np.isinf(entries).sum())


def _meet_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Note the columns of a fit, or compare with them."""
    columns = X if isinstance(X, da.Array) else X._meta
    validate_data(estimator, columns, reset=reset, skip_check_array=True)
