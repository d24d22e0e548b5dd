"""Rows in blocks: exact sums over all rows, with one block in memory at a time.

What a method needs of very many rows is nearly always a sum over them (a Gram matrix of features, a gradient)
or a few numbers for each (features, scores). Both are functions of a block of rows. A method written against
:class:`RowBlocks` runs on an array, a memory-mapped file, a sparse matrix or, with
:class:`weakly.distributed.DaskBlocks`, on a collection that no machine holds.

Memory is why there are blocks. Its limit is read here too: nothing n x n is allocated before it is known to
fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, gen_batches

BLOCK_ROWS = 4096
_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_DEFAULT = "2GB"


class RowBlocks(Protocol):
    """Rows that are seen a block at a time.

    ``aligned`` values have an entry, or a line, for every row, and come with the block: arrays in memory, or
    what ``map`` returned.
    """

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype: ...
    def reduce(self, function: Callable[..., Any], *aligned: Any) -> Any: ...
    def map(self, function: Callable[..., Any], *aligned: Any, width: int | None, dtype: Any) -> Any: ...
    def take(self, rows: np.ndarray, function: Callable[..., Any] | None = None) -> Any: ...
    def spread(self, rows: np.ndarray, values: np.ndarray, fill: Any) -> Any: ...
    def numbers(self) -> Any: ...
    def keep(self, aligned: Any) -> Any: ...
    def of(self, aligned: Any) -> RowBlocks: ...


class ArrayBlocks:
    """Blocks of rows in memory, or of a memory-mapped file.

    Parameters
    ----------
    X : {ndarray, memmap, csr matrix} of shape (n_rows, n_features)
        Rows.
    block_rows : int, default=4096
        Rows of a block.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> blocks = ArrayBlocks(np.arange(6.0).reshape(3, 2), block_rows=2)
    >>> blocks.reduce(lambda rows: rows.T @ rows).tolist()
    [[20.0, 26.0], [26.0, 35.0]]
    """

    def __init__(self, X: Any, block_rows: int = BLOCK_ROWS) -> None:
        self.X = X
        self.block_rows = block_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def dtype(self) -> np.dtype:
        return self.X.dtype

    def reduce(self, function: Callable[..., Any], *aligned: Any) -> Any:
        """Sum a function of blocks, which returns an array, a number or a tuple of them."""
        values = (function(self.X[block], *(part[block] for part in aligned)) for block in self._blocks())
        return reduce(add, values)

    def map(self, function: Callable[..., Any], *aligned: Any, width: int | None, dtype: Any) -> np.ndarray:
        """Values of a function of blocks, ``width`` for every row; one without an axis where ``None``."""
        out = np.empty((self.shape[0],) if width is None else (self.shape[0], width), dtype=dtype)
        for block in self._blocks():
            out[block] = function(self.X[block], *(part[block] for part in aligned))
        return out

    def take(self, rows: np.ndarray, function: Callable[..., Any] | None = None) -> Any:
        """Some rows, or a function of them, in the order asked for."""
        return self.X[rows] if function is None else function(self.X[rows])

    def spread(self, rows: np.ndarray, values: np.ndarray, fill: Any) -> np.ndarray:
        """Aligned values: those given on some rows, ascending, and ``fill`` on the others."""
        return scattered(self.shape[0], rows, values, fill)

    def numbers(self) -> np.ndarray:
        """Aligned numbers of the rows, from 0."""
        return np.arange(self.shape[0])

    def keep(self, aligned: np.ndarray) -> np.ndarray:
        """Aligned values that are not to be computed again; in memory none ever are."""
        return aligned

    def of(self, aligned: np.ndarray) -> ArrayBlocks:
        """The same blocks with aligned values in place of the rows, which then need not be read."""
        return ArrayBlocks(aligned, self.block_rows)

    def _blocks(self) -> Any:
        return gen_batches(self.shape[0], self.block_rows)


def add(a: Any, b: Any) -> Any:
    """Sum of two values of a function of blocks."""
    if isinstance(a, tuple):
        return tuple(add(left, right) for left, right in zip(a, b, strict=True))
    return a + b


def scattered(n_rows: int, rows: np.ndarray, values: np.ndarray, fill: Any) -> np.ndarray:
    """Values of some rows among so many, with ``fill`` on the others."""
    out = np.full(n_rows, fill, dtype=values.dtype)
    out[rows] = values
    return out


def canonical(X: Any) -> Any:
    """Sparse samples with every entry once, sorted, on a copy if need be; dense ones as they are."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def is_collection(X: Any) -> bool:
    """Whether something is a Dask collection; told by its type, so that Dask need not be there."""
    return any(kind.__module__.partition(".")[0] == "dask" for kind in type(X).__mro__)


def sample_rows(blocks: RowBlocks, n_rows: int, random_state: Any) -> Any:
    """So many rows drawn without replacement, or all, in their order."""
    total = blocks.shape[0]
    if n_rows >= total:
        return blocks.take(np.arange(total))
    generator = np.random.default_rng(check_random_state(random_state).randint(2**31))
    return blocks.take(np.sort(generator.choice(total, n_rows, replace=False, shuffle=False)))


def memory_limit() -> int:
    """Return the most bytes that dense matrices of one fit may take.

    The limit is a setting, not a reading of the machine, so that the same data give the same model
    everywhere. The environment variable ``WEAKLY_MEMORY_LIMIT`` sets it ("8GB", "500MB", plain bytes).

    Returns
    -------
    int
        Bytes; 2 GB unless set.

    Examples
    --------
    >>> from weakly.rows._blocks import memory_limit
    >>> memory_limit() > 0
    True
    """
    text = os.environ.get("WEAKLY_MEMORY_LIMIT", _DEFAULT).strip().upper()
    number = text.rstrip("BKMGT")
    unit = text[len(number) :].strip()
    try:
        n_bytes = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        n_bytes = -1
    if n_bytes < 0:
        raise ValueError(
            f"the environment variable WEAKLY_MEMORY_LIMIT is {text!r}: write a size like '8GB' or '500MB'."
        )
    return n_bytes


def dense_bytes(*shape: int, dtype: Any = np.float64, copies: int = 1) -> int:
    """Bytes that ``copies`` dense arrays of this shape take."""
    return copies * prod(map(int, shape)) * np.dtype(dtype).itemsize


def fits(n_bytes: int) -> bool:
    """Whether that much stays within the limit."""
    return n_bytes <= memory_limit()


def require_fit(n_bytes: int, what: str, remedy: str) -> None:
    """Raise an error that says the size, the limit and what to set, unless it fits."""
    if not fits(n_bytes):
        raise MemoryError(
            f"{what} needs {_readable(n_bytes)}, more than the limit of {_readable(memory_limit())}: "
            f"{remedy}, or raise the limit with the environment variable WEAKLY_MEMORY_LIMIT."
        )


def _readable(n_bytes: float) -> str:
    for unit in ("B", "KB", "MB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GB"
