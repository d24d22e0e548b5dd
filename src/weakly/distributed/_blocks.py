"""Rows of a Dask collection, a block per chunk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp

from weakly.rows._blocks import BlocksOf, add, scattered

_FAN_IN = 8  # sums that are added in one task


class DaskBlocks(BlocksOf):
    """Blocks of a Dask array: the same sums as in memory, by tasks that any scheduler runs.

    Parameters
    ----------
    X : dask.array.Array of shape (n_rows, n_features)
        Rows, chunked along the rows alone; chunks may be sparse, and none is empty.

    See Also
    --------
    rows_of : From any Dask collection, with the checks.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from weakly.distributed import DaskBlocks
    >>> blocks = DaskBlocks(da.from_array(np.arange(6.0).reshape(3, 2), chunks=(2, 2)))
    >>> blocks.reduce(lambda rows: rows.T @ rows).tolist()
    [[20.0, 26.0], [26.0, 35.0]]
    """

    def __init__(self, X: da.Array) -> None:
        self.X = X

    @cached_property
    def starts(self) -> np.ndarray:
        """First row of each block, and the number of rows."""
        return np.concatenate([[0], np.cumsum(self.X.chunks[0])])

    def reduce(self, function: Callable[..., Any], *aligned: Any) -> Any:
        """Sum a function of blocks, in an order that does not depend on which task ends first."""
        level = self._calls(function, aligned)
        while len(level) > 1:
            level = [
                dask.delayed(reduce)(add, level[start : start + _FAN_IN])
                for start in range(0, len(level), _FAN_IN)
            ]
        return level[0].compute()

    def map(self, function: Callable[..., Any], *aligned: Any, width: int | None, dtype: Any) -> da.Array:
        """Values of a function of blocks as a lazy array with the same chunks."""
        tail = () if width is None else (width,)
        parts = [
            da.from_delayed(call, shape=(n_rows, *tail), dtype=dtype)
            for call, n_rows in zip(self._calls(function, aligned), self.X.chunks[0], strict=True)
        ]
        return da.concatenate(parts)

    def take(self, rows: np.ndarray, function: Callable[..., Any] | None = None) -> Any:
        """Some rows, or a function of them, in the order asked for; nothing else leaves the workers."""
        owners = np.searchsorted(self.starts, rows, side="right") - 1
        used = np.unique(owners)
        blocks, shared = self._rows, dask.delayed(function, pure=False)
        pieces = dask.compute(
            *(
                dask.delayed(_pick)(blocks[owner], rows[owners == owner] - self.starts[owner], shared)
                for owner in used
            )
        )
        place = np.argsort(np.argsort(owners, kind="stable"), kind="stable")
        return _stack(pieces)[place]

    def spread(self, rows: np.ndarray, values: np.ndarray, fill: Any) -> da.Array:
        """Aligned values: those given on some rows, ascending, and ``fill`` on the others."""
        ends = np.searchsorted(rows, self.starts)
        parts = []
        for n_rows, start, low, high in zip(
            self.X.chunks[0], self.starts[:-1], ends[:-1], ends[1:], strict=True
        ):
            part = dask.delayed(scattered)(n_rows, rows[low:high] - start, values[low:high], fill)
            parts.append(da.from_delayed(part, shape=(n_rows,), dtype=values.dtype))
        return da.concatenate(parts)

    def numbers(self) -> da.Array:
        """Aligned numbers of the rows, from 0."""
        return da.arange(self.shape[0], chunks=(self.X.chunks[0],))

    def keep(self, aligned: da.Array) -> da.Array:
        """Aligned values that are not to be computed again: the workers hold them."""
        return aligned.persist()

    def of(self, aligned: da.Array) -> DaskBlocks:
        """The same blocks with aligned values in place of the rows, which then need not be read."""
        return DaskBlocks(aligned)

    @cached_property
    def _rows(self) -> list:
        return list(self.X.to_delayed().ravel())

    def _calls(self, function: Callable[..., Any], aligned: tuple) -> list:
        """One task per block. The function, which may hold large arrays, is a task of its own and so is sent
        to a worker once, not with every block.
        """
        shared = dask.delayed(function, pure=False)
        columns = [self._rows, *(self._parts(values) for values in aligned)]
        return [dask.delayed(_call)(shared, *block) for block in zip(*columns, strict=True)]

    def _parts(self, values: Any) -> Any:
        if not isinstance(values, da.Array):
            values = da.from_array(values, chunks=(self.X.chunks[0], *((-1,) * (np.ndim(values) - 1))))
        return values.to_delayed().ravel()


def _call(function: Callable[..., Any], *block: Any) -> Any:
    return function(*block)


def _pick(block: Any, rows: np.ndarray, function: Callable[..., Any] | None) -> Any:
    return block[rows] if function is None else function(block[rows])


def _stack(pieces: tuple) -> Any:
    return sp.vstack(pieces, format="csr") if sp.issparse(pieces[0]) else np.concatenate(pieces)
