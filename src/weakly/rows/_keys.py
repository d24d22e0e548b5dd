"""A number for each row that hangs on its contents only: an order of rows, whatever order they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly._compile import njit
from weakly._random_kernels import mix
from weakly._threads import GRAIN, run_parallel


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
