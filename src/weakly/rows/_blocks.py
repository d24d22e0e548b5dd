"""Rows in blocks: exact sums over all rows, with one block in memory at a time.

What a method needs of very many rows is nearly always a sum over them (a Gram matrix of features, a gradient)
or a few numbers for each (features, scores). Both are functions of a block of rows. A method written against
:class:`RowBlocks` runs on an array, a memory-mapped file, a sparse matrix or, with
:class:`weakly.distributed.DaskBlocks`, on a collection that no machine holds.

Rows have an order as well that hangs on their contents only, whatever order they come in: that of a number
for each, its key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, gen_batches

from weakly._compile import njit
from weakly._random_kernels import mix
from weakly._threads import GRAIN, run_parallel
from weakly.rows._arrays import canonical

BLOCK_ROWS = 4096
_one_hash = Lock()  # the compiled loop has threads of its own, which several blocks at a time may not start


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


class BlocksOf:
    """Blocks of rows that are one array, of NumPy, SciPy or Dask."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def dtype(self) -> np.dtype:
        return self.X.dtype


class ArrayBlocks(BlocksOf):
    """Blocks of rows in memory, or of a memory-mapped file.

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


def sample_rows(blocks: RowBlocks, n_rows: int, random_state: Any) -> Any:
    """So many rows drawn without replacement, or all, in their order."""
    total = blocks.shape[0]
    if n_rows >= total:
        return blocks.take(np.arange(total))
    generator = np.random.default_rng(check_random_state(random_state).randint(2**31))
    return blocks.take(np.sort(generator.choice(total, n_rows, replace=False, shuffle=False)))


@njit(nogil=True)
def _dense_keys(start: int, stop: int, bits: Any, sign: Any, salts: Any, keys: Any) -> None:
    for i in range(start, stop):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            entry = np.uint64(bits[i, j])
            if entry != 0 and entry != sign:  # zeros of either sign count for nothing
                key += mix(entry + salts[j])
        keys[i] = key


@njit(nogil=True)
def _sparse_keys(
    start: int, stop: int, bits: Any, columns: Any, pointers: Any, sign: Any, salts: Any, keys: Any
) -> None:
    for i in range(start, stop):
        key = np.uint64(0)
        for e in range(pointers[i], pointers[i + 1]):
            entry = np.uint64(bits[e])
            if entry != 0 and entry != sign:
                key += mix(entry + salts[columns[e]])
        keys[i] = key


def row_keys(X: Any, seed: int = 0) -> np.ndarray:
    """Hash rows by their contents; another seed gives other numbers.

    They are equal for equal rows, dense or sparse, and all but surely different for others.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import row_keys
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    salts = np.random.default_rng(seed).integers(2**64, size=X.shape[1], dtype=np.uint64)
    unsigned = np.dtype(f"u{X.dtype.itemsize}")
    sign = np.uint64(1 << (8 * X.dtype.itemsize - 1))
    keys = np.empty(X.shape[0], np.uint64)
    if sp.issparse(X):
        bits = X.data.view(unsigned)
        run_parallel(_sparse_keys, len(keys), bits, X.indices, X.indptr, sign, salts, keys, grain=GRAIN)
    else:
        bits = np.ascontiguousarray(X).view(unsigned)
        run_parallel(_dense_keys, len(keys), bits, sign, salts, keys, grain=GRAIN)
    return keys


@dataclass(frozen=True)
class RowKeys:
    """Hash the samples of a block by their contents; another seed gives other numbers."""

    seed: int

    def __call__(self, rows: Any) -> np.ndarray:
        """Keys of samples."""
        with _one_hash:
            return row_keys(canonical(rows), self.seed)


@dataclass(frozen=True, eq=False)
class FirstKeys:
    """The ``most`` smallest keys of samples, and the numbers of these; sums keep the smallest of both."""

    keys: np.ndarray
    rows: np.ndarray
    most: int

    def __add__(self, other: FirstKeys) -> FirstKeys:
        """Merge with those of other samples."""
        keys, rows = np.concatenate([self.keys, other.keys]), np.concatenate([self.rows, other.rows])
        return FirstKeys(keys, rows, self.most).shortened()

    def shortened(self) -> FirstKeys:
        """The smallest alone, sorted."""
        order = np.argsort(self.keys, kind="stable")[: self.most]
        return FirstKeys(self.keys[order], self.rows[order], self.most)


def first_keys(blocks: RowBlocks, n_rows: int, seed: int) -> FirstKeys:
    """So many samples, or all, that come first in the order of the keys: the same from blocks of any kind.

    Keys rise; another seed gives another order.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks, first_keys
    >>> sorted(first_keys(ArrayBlocks(np.arange(6.0).reshape(3, 2), 2), 3, seed=0).rows.tolist())
    [0, 1, 2]
    """
    keys = RowKeys(seed)

    def of_block(rows: Any, numbers: np.ndarray) -> FirstKeys:
        return FirstKeys(keys(rows), numbers, n_rows).shortened()

    return blocks.reduce(of_block, blocks.numbers())
