"""Loops over rows and their nearest anchors. They run on one thread: blocks of rows may run side by side."""

from __future__ import annotations

import numpy as np

from weakly._compile import njit

_MOST_STEPS = 100  # of the descent to a reconstruction, which takes a few
_GAP = 1e-7  # of its objective, at which it ends


@njit(nogil=True)
def least_columns(excess, nearest):
    """Columns of the least entries of each line, least first; the first of equal ones comes first."""
    n_rows, n_columns = excess.shape
    width = nearest.shape[1]
    least = np.empty(width, excess.dtype)
    for i in range(n_rows):
        least[:] = np.inf
        nearest[i] = -1
        for j in range(n_columns):
            value = excess[i, j]
            if value < least[width - 1]:
                place = width - 1
                while place > 0 and value < least[place - 1]:
                    least[place] = least[place - 1]
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                least[place] = value
                nearest[i, place] = j


@njit(nogil=True)
def squared_lengths(rows, anchors, nearest, squared):
    """Squared distances of rows to some anchors from differences: 0 where a row is one."""
    for i in range(nearest.shape[0]):
        for place in range(nearest.shape[1]):
            total = 0.0
            for column in range(rows.shape[1]):
                difference = np.float64(rows[i, column]) - np.float64(anchors[nearest[i, place], column])
                total += difference * difference
            squared[i, place] = total


@njit(nogil=True)
def reconstruct(rows, anchors, nearest, weights):
    """Weights on the simplex with which the nearest anchors come nearest to each row.

    With ``G`` the Gram matrix of the anchors seen from the row the problem is ``min z'Gz / 2``. Weight goes
    from the worst anchor that has some to the best, as far as that gains.
    """
    width = nearest.shape[1]
    gram = np.empty((width, width))
    for i in range(nearest.shape[0]):
        for a in range(width):
            for b in range(a + 1):
                total = 0.0
                for column in range(rows.shape[1]):
                    x = np.float64(rows[i, column])
                    total += (np.float64(anchors[nearest[i, a], column]) - x) * (
                        np.float64(anchors[nearest[i, b], column]) - x
                    )
                gram[a, b] = gram[b, a] = total
        z = weights[i]
        z[:] = 1.0 / width
        for _ in range(_MOST_STEPS):
            slope = gram @ z
            best = slope.argmin()
            worst = best
            for a in range(width):
                if z[a] > 0 and slope[a] > slope[worst]:
                    worst = a
            gain = slope[worst] - slope[best]
            if gain <= _GAP * gram[0, 0]:
                break
            curvature = gram[best, best] + gram[worst, worst] - 2 * gram[best, worst]
            step = z[worst] if curvature * z[worst] <= gain else gain / curvature
            z[best] += step
            z[worst] = z[worst] - step if step < z[worst] else 0.0


@njit(nogil=True)
def add_gram(nearest, weights, gram):
    """Add ``Z'Z`` of rows with these weights on these anchors.

    Products are exact: differences between this and products with ``Z`` itself are taken, and matter.
    """
    width = nearest.shape[1]
    for i in range(nearest.shape[0]):
        for a in range(width):
            for b in range(width):
                gram[nearest[i, a], nearest[i, b]] += np.float64(weights[i, a]) * np.float64(weights[i, b])
