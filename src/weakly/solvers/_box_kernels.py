"""Compiled loops of coordinate descent on box-constrained duals of a dense matrix."""

import numpy as np

from weakly._compile import njit

FLAT = 1e-12  # stands for a diagonal entry that is zero or, by rounding, negative
SEED = np.uint64(0x9E3779B97F4A7C15)


@njit
def shuffle(order, state):
    """Put indices in random order, in place; return the next state of the generator (xorshift, 64 bits)."""
    for last in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = np.int64(state % np.uint64(last + 1))
        order[last], order[other] = order[other], order[last]
    return state


@njit
def descend(matrix, signs, ridge, upper, a, lacking, state, tol, max_epochs):
    """Maximise ``1'a - a'(YQY + D)a/2`` over ``0 <= a <= upper``, with signs ``Y`` and a ridge ``D``.

    Kept is what scores lack, the gradient times the signs: then a step adds a row of ``Q`` as it is. A
    coordinate that stays at its bound costs nothing to look at, so none are set aside. Returns the epochs,
    and the largest gradient that a coordinate of the last one could follow.
    """
    order = np.arange(len(a))
    n_epochs, violation = 0, np.inf
    while violation > tol and n_epochs < max_epochs:
        violation = 0.0
        state = shuffle(order, state)
        for i in order:
            gradient = signs[i] * lacking[i]
            curvature = max(matrix[i, i] + ridge[i], FLAT)
            step = min(max(a[i] + gradient / curvature, 0.0), upper[i]) - a[i]
            if step == 0.0:
                continue
            violation = max(violation, abs(gradient))
            a[i] += step
            signed, row = signs[i] * step, matrix[i]
            for j in range(len(lacking)):
                lacking[j] -= signed * row[j]
            lacking[i] -= signed * (curvature - matrix[i, i])
        n_epochs += 1
    return n_epochs, violation
