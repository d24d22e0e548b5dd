"""Compiled products with the rows of a sparse matrix, in float64 whatever the type of its entries."""

import numba
import numpy as np


def row_arrays(X):
    """Entries, columns and row pointers; unsigned, for numba looks out for negative ones at every entry."""
    return X.data, *(a.view(np.uint32 if a.itemsize == 4 else np.uint64) for a in (X.indices, X.indptr))


@numba.njit(cache=True, fastmath=True)
def row_products(data, indices, indptr, vector):
    """``X v``."""
    out = np.empty(len(indptr) - 1)
    for i in range(len(out)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * vector[indices[k]]
        out[i] = total
    return out


@numba.njit(cache=True, fastmath=True)
def row_sum(data, indices, indptr, weights, n_columns):
    """``X' w``; rows of weight 0 cost nothing."""
    out = np.zeros(n_columns)
    for i in range(len(weights)):
        if weights[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += weights[i] * data[k]
    return out


@numba.njit(cache=True, fastmath=True)
def curved_product(data, indices, indptr, rows, curvature, vector):
    """``X' diag(h) X v`` over some rows, in one pass: a row is read twice while it is in the cache."""
    out = np.zeros(len(vector))
    for i in rows:
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * vector[indices[k]]
        total *= curvature[i]
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += total * data[k]
    return out
