"""Compiled loops of the hinge dual: one column of signs at a time.

With signed coefficients ``x_i = y_i beta_i`` between ``lower`` and ``upper`` the dual is to maximise
``x'(y - f0) - x' K x / 2`` over ``sum x = 0``. Its gradient ``residuals = y - f0 - K x`` is what the scores
lack without the bias; ``x`` and ``residuals`` change in place. ``record`` takes the bias at the start and at
the end, the violation at the end, and the iterations.
"""

import numpy as np

from weakly._compile import njit

FLAT = 1e-12  # stands for curvature that is zero or, by rounding, negative


@njit(nogil=True)
def each_column(start, stop, gram, diagonal, lower, upper, x, residuals, records, tol, max_iter):
    for k in range(start, stop):
        pairwise_column(gram, diagonal, lower[k], upper[k], x[k], residuals[k], records[k], tol, max_iter)


@njit
def pairwise_column(gram, diagonal, lower, upper, x, residuals, record, tol, max_iter):
    """Pairs by second-order choice (Fan, Chen and Lin, 2005): one coefficient grows as the other shrinks."""
    record[0] = _bias(lower, upper, x, residuals)
    n_iter = 0
    i, violation = _most_short(lower, upper, x, residuals)
    while violation > tol and n_iter < max_iter:
        j = _best_partner(gram[i], diagonal, lower, x, residuals, i)
        curvature = max(diagonal[i] + diagonal[j] - 2 * gram[i, j], FLAT)
        step = (residuals[i] - residuals[j]) / curvature
        room_i, room_j = upper[i] - x[i], x[j] - lower[j]
        step = min(step, room_i, room_j)
        # A coefficient that reaches its bound must equal it: the sets of the next choice depend on it.
        x[i] = upper[i] if step == room_i else x[i] + step
        x[j] = lower[j] if step == room_j else x[j] - step
        _follow(gram[i], gram[j], step, residuals)
        i, violation = _most_short(lower, upper, x, residuals)
        n_iter += 1
    record[1], record[2], record[3] = _bias(lower, upper, x, residuals), violation, n_iter


@njit
def _most_short(lower, upper, x, residuals):
    """Find the largest residual of those that may grow, and its lead over the least that may shrink."""
    most, least, chosen = -np.inf, np.inf, 0
    for k in range(len(x)):
        if x[k] < upper[k] and residuals[k] > most:
            most, chosen = residuals[k], k
        if x[k] > lower[k] and residuals[k] < least:
            least = residuals[k]
    return chosen, most - least


@njit
def _best_partner(row, diagonal, lower, x, residuals, i):
    """Coefficient to shrink as ``i`` grows: the most gain, were there no bounds."""
    best, chosen = -np.inf, 0
    for k in range(len(x)):
        lead = residuals[i] - residuals[k]
        if x[k] > lower[k] and lead > 0:
            gain = lead * lead / max(diagonal[i] + diagonal[k] - 2 * row[k], FLAT)
            if gain > best:
                best, chosen = gain, k
    return chosen


@njit
def _follow(row_i, row_j, step, residuals):
    for k in range(len(residuals)):
        residuals[k] -= step * (row_i[k] - row_j[k])


@njit
def _bias(lower, upper, x, residuals):
    """Mean residual within the bounds, else the middle of what the bounds allow, or its only end."""
    most, least, total, n_free = -np.inf, np.inf, 0.0, 0
    for k in range(len(x)):
        if x[k] < upper[k]:
            most = max(most, residuals[k])
        if x[k] > lower[k]:
            least = min(least, residuals[k])
        if lower[k] < x[k] < upper[k]:
            total += residuals[k]
            n_free += 1
    if n_free > 0:
        return total / n_free
    if most == -np.inf:
        return least
    if least == np.inf:
        return most
    return (most + least) / 2
