"""A number for each row that hangs on its contents only: an order of rows, whatever order they come in."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly._compile import njit
from weakly._random_kernels import mix
from weakly._threads import GRAIN, run_parallel
from weakly.rows._blocks import RowBlocks, canonical

_one_hash = Lock()  # the compiled loop has threads of its own, which several blocks at a time may not start


@njit(nogil=True)
def _dense_keys(start, stop, bits, sign, salts, keys):
    for i in range(start, stop):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            entry = np.uint64(bits[i, j])
            if entry != 0 and entry != sign:  # zeros of either sign count for nothing
                key += mix(entry + salts[j])
        keys[i] = key


@njit(nogil=True)
def _sparse_keys(start, stop, bits, columns, pointers, sign, salts, keys):
    for i in range(start, stop):
        key = np.uint64(0)
        for e in range(pointers[i], pointers[i + 1]):
            entry = np.uint64(bits[e])
            if entry != 0 and entry != sign:
                key += mix(entry + salts[columns[e]])
        keys[i] = key


def row_keys(X: Any, seed: int = 0) -> np.ndarray:
    """Hash rows by their contents.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Rows, float32 or float64.
    seed : int, default=0
        Another seed gives other numbers.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
        Equal for equal rows, dense or sparse, and all but surely different for others.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._keys import row_keys
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
    """Hash the samples of a block by their contents.

    Parameters
    ----------
    seed : int
        Another seed gives other numbers.
    """

    seed: int

    def __call__(self, rows: Any) -> np.ndarray:
        """Keys of samples."""
        with _one_hash:
            return row_keys(canonical(rows), self.seed)


@dataclass(frozen=True, eq=False)
class FirstKeys:
    """The smallest keys of samples, and the numbers of these samples; sums keep the smallest of both.

    Parameters
    ----------
    keys : ndarray of uint64
        Keys.
    rows : ndarray of int
        Numbers of the samples.
    most : int
        How many are kept.
    """

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

    Parameters
    ----------
    blocks : RowBlocks
        Samples.
    n_rows : int
        How many are asked for.
    seed : int
        Another seed gives another order.

    Returns
    -------
    FirstKeys
        Keys and numbers of the samples, by rising key.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.rows._keys import first_keys
    >>> sorted(first_keys(ArrayBlocks(np.arange(6.0).reshape(3, 2), 2), 3, seed=0).rows.tolist())
    [0, 1, 2]
    """
    keys = RowKeys(seed)

    def of_block(rows: Any, numbers: np.ndarray) -> FirstKeys:
        return FirstKeys(keys(rows), numbers, n_rows).shortened()

    return blocks.reduce(of_block, blocks.numbers())
