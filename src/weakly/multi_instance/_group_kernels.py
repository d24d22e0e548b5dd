"""Compiled loops of the hinge dual with groups that share a slack.

The coefficients of a group are at least 0 and sum to at most its cap. With signed coefficients
``x_i = y_i a_i`` the dual is to maximise ``x'y - x'Kx/2`` over ``sum x = 0``; ``residuals = y - Kx``. A
coefficient may grow (as a signed number) while its group has room, if it is positive, or while it is not 0,
if it is negative; so it is with shrinking. In a full group one coefficient may take over from another.
"""

import numpy as np

from weakly._compile import njit
from weakly.solvers._hinge_kernels import FLAT

ROUNDING = 1e-12  # relative


@njit
def pairwise_groups(gram, y, group, caps, a, residuals, tol, max_iter):
    """Move pairs, of two signs or of one group, until no pair gains; returns bias, violation, iterations."""
    diagonal, members = np.diag(gram).copy(), np.argsort(group, kind="mergesort")
    starts = np.searchsorted(group[members], np.arange(len(caps) + 1))
    shared = np.flatnonzero(np.diff(starts) > 1)
    used, grows, shrinks = np.zeros(len(caps)), np.empty(len(a), np.bool_), np.empty(len(a), np.bool_)
    for g in range(len(caps)):
        rows = members[starts[g] : starts[g + 1]]
        used[g] = a[rows].sum()
        _note(rows, g, y, caps, used, a, grows, shrinks)
    i, most, lowest = _follow(gram[0], gram[0], 0.0, grows, shrinks, residuals)
    n_iter = 0
    while True:
        taker, giver, within = _worst_takeover(shared, members, starts, y, caps, used, a, residuals)
        if max(most - lowest, within) <= tol or n_iter >= max_iter:
            break
        if within <= most - lowest:
            j = _best_partner(gram[i], diagonal, shrinks, residuals, i)
            taker, giver = (i, j) if y[i] > 0 else (j, i)
        if group[taker] == group[giver]:
            i, j = (taker, giver) if y[taker] > 0 else (giver, taker)
            room = a[giver]
        else:
            room = min(_room(i, y[i] > 0, group, caps, used, a), _room(j, y[j] < 0, group, caps, used, a))
        curvature = max(diagonal[i] + diagonal[j] - 2 * gram[i, j], FLAT)
        step = min((residuals[i] - residuals[j]) / curvature, room)
        for k, change in ((i, y[i] * step), (j, -y[j] * step)):
            a[k] = max(a[k] + change, 0.0)
            used[group[k]] += change
        for g in (group[i], group[j]):
            _note(members[starts[g] : starts[g + 1]], g, y, caps, used, a, grows, shrinks)
        i, most, lowest = _follow(gram[i], gram[j], step, grows, shrinks, residuals)
        n_iter += 1
    return _bias(grows, shrinks, residuals, most, lowest), max(most - lowest, within), n_iter


@njit
def _note(rows, g, y, caps, used, a, grows, shrinks):
    """Which way the coefficients of a group may go; what is full but for rounding is full."""
    if caps[g] - used[g] <= ROUNDING * caps[g]:
        used[g] = caps[g]
    for k in rows:
        rises, falls = used[g] < caps[g], a[k] > 0
        grows[k], shrinks[k] = (rises, falls) if y[k] > 0 else (falls, rises)


@njit
def _room(k, upward, group, caps, used, a):
    return caps[group[k]] - used[group[k]] if upward else a[k]


@njit
def _follow(row_i, row_j, step, grows, shrinks, residuals):
    """Residuals after a step; the largest of those that may grow, and the least of those that may shrink."""
    most, lowest, chosen = -np.inf, np.inf, 0
    for k in range(len(residuals)):
        residuals[k] -= step * (row_i[k] - row_j[k])
        if grows[k] and residuals[k] > most:
            most, chosen = residuals[k], k
        if shrinks[k] and residuals[k] < lowest:
            lowest = residuals[k]
    return chosen, most, lowest


@njit
def _best_partner(row, diagonal, shrinks, residuals, i):
    """Coefficient to shrink as ``i`` grows: the most gain, were there no bounds."""
    best, chosen = -np.inf, 0
    for k in range(len(residuals)):
        lead = residuals[i] - residuals[k]
        if shrinks[k] and lead > 0:
            gain = lead * lead / max(diagonal[i] + diagonal[k] - 2 * row[k], FLAT)
            if gain > best:
                best, chosen = gain, k
    return chosen


@njit
def _worst_takeover(shared, members, starts, y, caps, used, a, residuals):
    """In full groups, the pair with the largest gain per unit that one takes over from the other."""
    worst, taker, giver = -np.inf, 0, 0
    for g in shared:
        if used[g] < caps[g]:
            continue
        most, least, shortest, longest = -np.inf, np.inf, 0, 0
        for k in members[starts[g] : starts[g + 1]]:
            shortfall = y[k] * residuals[k]
            if shortfall > most:
                most, shortest = shortfall, k
            if a[k] > 0 and shortfall < least:
                least, longest = shortfall, k
        if most - least > worst:
            worst, taker, giver = most - least, shortest, longest
    return taker, giver, worst


@njit
def _bias(grows, shrinks, residuals, most, lowest):
    """Mean residual of those that may move both ways, else the middle of what the others allow."""
    total, n_free = 0.0, 0
    for k in range(len(residuals)):
        if grows[k] and shrinks[k]:
            total += residuals[k]
            n_free += 1
    return total / n_free if n_free > 0 else (most + lowest) / 2
