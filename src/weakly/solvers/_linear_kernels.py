"""Compiled passes of coordinate descent on linear duals: cost in non-zeros.

``rows`` is (data, indices, indptr) of a CSR matrix. With ``m`` the mean row, or 0, and ``c`` a constant of
the kernel, scores are ``f_i = (v - s m)'(x_i - m) + s c``: ``v`` and ``s`` are kept apart, and with
``offset = v'm``, ``along_i = x_i'm`` and ``level = m'm + c`` a coordinate costs the non-zeros of its row and
nothing more. Passes return the largest derivative that a coordinate could follow, and what the dual
objective gained.
"""

import numpy as np

from weakly._compile import njit
from weakly.solvers._box_kernels import shuffle


@njit
def _slope(gradient, a, upper, limit):
    """The derivative that a coordinate may follow, and whether it is to be set aside (Hsieh et al., 2008)."""
    if a == 0.0 and gradient < 0.0:
        return 0.0, gradient < -limit
    if a == upper and gradient > 0.0:
        return 0.0, gradient > limit
    return gradient, False


@njit
def grouped_pass(rows, centre, groups, mixing, V, shifts, offsets, U, sums, problem, a, limit, state):
    """One pass over the active rows, group by group; rows of a group share the vector ``V[group]``.

    Rows of one pattern of signs meet label vectors that agree on them, so that inside a group this is the
    pass of a machine with one label vector. Between groups the change of a vector is mixed into the others.
    """
    data, indices, indptr = rows
    along, level = centre
    members, pointers, n_active = groups
    signs, upper, ridge, curvature = problem
    violation = gain = 0.0
    for g in range(len(n_active)):
        v, s, offset = V[g], shifts[g], offsets[g]
        before = v.copy()
        inside = members[pointers[g] : pointers[g + 1]]
        state = shuffle(inside[: n_active[g]], state)
        k = 0
        while k < n_active[g]:
            i = inside[k]
            f = (level * s) - s * along[i] - offset
            for e in range(indptr[i], indptr[i + 1]):
                f += v[indices[e]] * data[e]
            slope, aside = _slope(1.0 - signs[i] * f - ridge[i] * a[i], a[i], upper[i], limit)
            if aside:
                n_active[g] -= 1
                inside[k], inside[n_active[g]] = inside[n_active[g]], inside[k]
                continue
            k += 1
            if slope == 0.0:
                continue
            violation = max(violation, abs(slope))
            moved = min(max(a[i] + slope / curvature[i], 0.0), upper[i])
            step = moved - a[i]
            gain += step * (slope - curvature[i] * step / 2)
            change = step * signs[i]
            a[i] = moved
            s += change
            offset += change * along[i]
            for e in range(indptr[i], indptr[i + 1]):
                v[indices[e]] += change * data[e]
        _spread(g, before, s, offset, mixing, V, shifts, offsets, U, sums)
    return violation, gain, state


@njit
def _spread(g, before, s, offset, mixing, V, shifts, offsets, U, sums):
    """Mix the change of one group's vector into all others."""
    change = V[g] - before
    U[g] += change
    sums[g] += s - shifts[g]
    for h in range(len(V)):
        if h != g:
            V[h] += mixing[h, g] * change
            shifts[h] += mixing[h, g] * (s - shifts[g])
            offsets[h] += mixing[h, g] * (offset - offsets[g])
    shifts[g], offsets[g] = s, offset


@njit
def interleaved_pass(
    rows, centre, active, n_active, signs, weights, W, shifts, offsets, problem, a, limit, state
):
    """One pass over the active rows with a vector ``W[:, t]`` for every label vector, side by side."""
    data, indices, indptr = rows
    along, level = centre
    upper, ridge, curvature = problem
    n_labels = len(weights)
    change = np.empty(n_labels)
    violation = gain = 0.0
    state = shuffle(active[:n_active], state)
    k = 0
    while k < n_active:
        i = active[k]
        margin = 0.0
        for t in range(n_labels):
            margin += weights[t] * signs[i, t] * (shifts[t] * (level - along[i]) - offsets[t])
        for e in range(indptr[i], indptr[i + 1]):
            column, part = W[indices[e]], 0.0
            for t in range(n_labels):
                part += weights[t] * signs[i, t] * column[t]
            margin += part * data[e]
        slope, aside = _slope(1.0 - margin - ridge[i] * a[i], a[i], upper[i], limit)
        if aside:
            n_active -= 1
            active[k], active[n_active] = active[n_active], active[k]
            continue
        k += 1
        if slope == 0.0:
            continue
        violation = max(violation, abs(slope))
        moved = min(max(a[i] + slope / curvature[i], 0.0), upper[i])
        step = moved - a[i]
        gain += step * (slope - curvature[i] * step / 2)
        for t in range(n_labels):
            change[t] = step * signs[i, t]
            shifts[t] += change[t]
            offsets[t] += change[t] * along[i]
        a[i] = moved
        for e in range(indptr[i], indptr[i + 1]):
            column = W[indices[e]]
            for t in range(n_labels):
                column[t] += change[t] * data[e]
    return violation, gain, n_active, state
