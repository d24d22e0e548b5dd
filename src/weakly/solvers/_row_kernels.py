"""Compiled products with the rows of a sparse matrix, in float64 whatever the type of its entries."""

import numpy as np

from weakly._compile import njit


def row_arrays(X):
    """Entries, columns and row pointers; unsigned, for numba looks out for negative ones at every entry."""
    return X.data, *(a.view(np.uint32 if a.itemsize == 4 else np.uint64) for a in (X.indices, X.indptr))


@njit(fastmath=True)
def row_products(data, indices, indptr, vector):
    """``X v``."""
    out = np.empty(len(indptr) - 1)
    for i in range(len(out)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * vector[indices[k]]
        out[i] = total
    return out


@njit(fastmath=True)
def row_squares(data, indices, indptr):
    """Squared norms of the rows."""
    out = np.empty(len(indptr) - 1)
    for i in range(len(out)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[k]) ** 2
        out[i] = total
    return out


@njit(fastmath=True)
def row_sum(data, indices, indptr, weights, n_columns):
    """``X' w``; rows of weight 0 cost nothing."""
    out = np.zeros(n_columns)
    for i in range(len(weights)):
        if weights[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += weights[i] * data[k]
    return out


@njit(fastmath=True)
def curved_product(data, indices, indptr, rows, curvature, vector, shift):
    """``X' w`` and the sum of ``w = h (X v - shift)`` over some rows.

    All in one pass: a row is read twice while it is in the cache.
    """
    out, total = np.zeros(len(vector)), 0.0
    for i in rows:
        value = -shift
        for k in range(indptr[i], indptr[i + 1]):
            value += data[k] * vector[indices[k]]
        value *= curvature[i]
        total += value
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += value * data[k]
    return out, total
