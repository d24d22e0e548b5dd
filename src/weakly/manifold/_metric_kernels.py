"""Compiled sums of functions, off the threads of BLAS, which the products need."""

from weakly._compile import njit


@njit
def accumulate(total, other, factor):
    """Add a multiple of an array to another of the same shape, in place."""
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += factor * other[i, j]
