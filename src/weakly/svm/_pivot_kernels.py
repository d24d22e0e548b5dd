"""Compiled loops of machines whose rows get their signs one by one.

With signed coefficients ``x_i = y_i a_i``, ``a_i >= 0``, the machine of all rows with a sign is dual to ::

    maximise  sum_i y_i x_i - x'Mx / 2  over  sum_i x_i = 0,   M = K + diag(1 / C_i)

All that the signs do not touch is kept in one symmetric matrix, the table: ``M`` with a border of ones for
the offset, in which the rows of the support ``A`` and the border have been swept (exchanged with their
equations). It holds the inverse of ``M_AA`` with its border, negative; what the support does when another row
enters; and between other rows, ``M`` with the support eliminated. One sweep takes a row in or out.
"""

from typing import NamedTuple

import numpy as np

from weakly._compile import njit

VIOLATION = 1e-9  # margin that a row may lack
DRIFT = 1e-9  # error of the equations, in units of the margin, at which the table is made anew
MOST_SWEEPS = 2000  # after which it is made anew whatever the error
MOST_ENTRIES = 50  # of a fit, per row; the bound holds wherever it ends


class Rows(NamedTuple):
    """The problem: ``M``, costs and their inverse, which rows are to get a sign, how many a positive one."""

    matrix: np.ndarray
    costs: np.ndarray
    ridge: np.ndarray
    is_open: np.ndarray
    least: int
    most: int


class Table(NamedTuple):
    """The table and its support, and buffers for a point of the dual and its scores."""

    entries: np.ndarray
    support: np.ndarray
    x: np.ndarray
    trial: np.ndarray  # another point
    scores: np.ndarray  # with x_i / C_i added on the support, where they are the signs
    gains: np.ndarray  # by which a sign raises the bound: of +1 and of -1
    pivots: np.ndarray
    age: np.ndarray  # sweeps since the table was made
    ridge: np.ndarray  # that of the problem
    left: np.ndarray  # sweeps after which fits end early


@njit
def bend(table, k):
    """What row ``k``, outside the support, has of ``M`` on its own: at least its ridge, but for rounding."""
    return max(table.entries[k, k], table.ridge[k])


@njit
def distance(rows, i, j):
    """Squared distance of two rows in ``M``: at least their ridges, but for rounding."""
    exact = rows.matrix[i, i] + rows.matrix[j, j] - 2 * rows.matrix[i, j]
    return max(exact, rows.ridge[i] + rows.ridge[j])


@njit
def sweep(table, k):
    """Take row ``k`` into the support, or out of it; the last row is the border."""
    entries, pivots = table.entries, table.pivots
    size = len(entries)
    back = k < size - 1 and table.support[k]
    pivot = entries[k, k] if back or k == size - 1 else bend(table, k)
    for j in range(size):
        pivots[j] = entries[k, j]
    for i in range(size):
        if i == k:
            continue
        line = entries[i]
        share = line[k] / pivot
        if share != 0.0:
            for j in range(size):
                line[j] -= share * pivots[j]
        line[k] = -share if back else share
        entries[k, i] = line[k]
    entries[k, k] = -1.0 / pivot
    if k < size - 1:
        table.support[k] = not back
    table.age[0] += 1
    table.left[0] -= 1


@njit
def renew(matrix, table, support):
    """The table of a support, from ``M``."""
    n = len(matrix)
    table.entries[:n, :n] = matrix
    table.entries[n] = 1.0
    table.entries[:, n] = 1.0
    table.entries[n, n] = 0.0
    wanted = support.copy()
    table.support[:] = False
    is_first = True
    for k in range(n):
        if wanted[k]:
            sweep(table, k)
            if is_first:  # the border has no pivot before there is a row
                sweep(table, n)
                is_first = False
    table.age[0] = 0


@njit
def turn_to(matrix, table, support):
    """Change the table to that of another support."""
    n_kept = 0
    for k in range(len(matrix)):
        n_kept += table.support[k] and support[k]
    if n_kept == 0:
        renew(matrix, table, support)
        return
    for k in range(len(matrix)):
        if table.support[k] != support[k]:
            sweep(table, k)


@njit
def read(table, signs):
    """Coefficients and scores of the support; return the offset."""
    n = len(signs)
    members = np.flatnonzero(table.support)
    for i in range(n + 1):
        line, total = table.entries[i], 0.0
        for a in members:
            total += line[a] * signs[a]
        if i == n:
            return -total
        table.x[i] = -total if table.support[i] else 0.0
        table.scores[i] = signs[i] if table.support[i] else total
    return 0.0


@njit
def begin(rows, table, signs):
    """Put the nearest two rows of different signs into the support; return whether there are any."""
    least, pair = np.inf, (-1, -1)
    positive, negative = np.flatnonzero(signs > 0.0), np.flatnonzero(signs < 0.0)
    for i in positive:
        for j in negative:
            between = distance(rows, i, j)
            if between < least:
                least, pair = between, (i, j)
    if pair[0] < 0:  # one sign needs no more than the offset
        table.x[:] = 0.0
        table.scores[:] = np.sign(np.sum(signs * (rows.costs > 0.0)))
        return False
    support = np.zeros(len(signs), dtype=np.bool_)
    support[pair[0]] = support[pair[1]] = True
    renew(rows.matrix, table, support)
    return True


@njit
def most_violated(table, signs):
    """The row with a sign that would raise the dual most, were the support to stay; -1 if there is none."""
    best, chosen = 0.0, -1
    for k in range(len(signs)):
        lack = 1.0 - signs[k] * table.scores[k]
        if signs[k] != 0.0 and not table.support[k] and lack > VIOLATION:
            gain = lack * lack / bend(table, k)
            if gain > best:
                best, chosen = gain, k
    return chosen


@njit
def reach(table, members, signs, k, sign):
    """How far the coefficient of ``k`` may grow before one of the support is 0, and whose that is."""
    line, longest, blocking = table.entries[k], np.inf, -1
    for a in members:
        rate = signs[a] * sign * line[a]
        if rate > 0.0:
            length = max(signs[a] * table.x[a], 0.0) / rate
            if length < longest:
                longest, blocking = length, a
    return longest, blocking


@njit
def enter(table, signs, k):
    """Let the coefficient of ``k`` grow until its equation holds; rows whose own come to 0 leave."""
    while True:
        members = np.flatnonzero(table.support)
        longest, blocking = reach(table, members, signs, k, signs[k])
        line = table.entries[k]
        wanted = (1.0 - signs[k] * table.scores[k]) / bend(table, k)
        step = signs[k] * min(wanted, longest)
        for j in range(len(signs)):
            if table.support[j]:
                table.x[j] -= step * line[j]
            else:
                table.scores[j] += step * line[j]
        table.x[k] += step
        if not wanted > longest:  # also where rounding has made it no number
            table.scores[k] = signs[k]
            sweep(table, k)
            return
        table.x[blocking] = 0.0
        sweep(table, blocking)


@njit
def make_feasible(x, signs):
    """Set coefficients of the wrong sign to 0, and scale those of one sign down to the sum of the other."""
    sums = np.zeros(2)
    members = np.flatnonzero(x)
    for a in members:
        x[a] = signs[a] * max(signs[a] * x[a], 0.0)
        sums[int(signs[a] > 0)] += abs(x[a])
    for a in members:
        if x[a] != 0.0:
            x[a] *= sums.min() / sums[int(signs[a] > 0)]
    return np.flatnonzero(x)


@njit
def dual_of(rows, x, signs):
    """The dual objective of a feasible point next to ``x``, or of 0: a lower bound, whatever ``x`` is."""
    members, value = make_feasible(x, signs), 0.0
    for a in members:
        line, product = rows.matrix[a], 0.0
        for c in members:
            product += line[c] * x[c]
        value += x[a] * (signs[a] - product / 2)
    return value if value > 0.0 else 0.0  # also where rounding has made it no number


@njit
def assess(rows, table, signs, offset):
    """The primal objective of the rows with a sign, and the error of the equations."""
    members = np.flatnonzero(table.x)
    primal = drift = 0.0
    for a in members:
        line, product = rows.matrix[a], 0.0
        for c in members:
            product += line[c] * table.x[c]
        score = product - table.x[a] / rows.costs[a]
        lack = max(1.0 - signs[a] * (score + offset), 0.0)
        primal += (table.x[a] * score + rows.costs[a] * lack * lack) / 2
        drift = max(drift, abs(product + offset - signs[a]))
    for k in range(len(signs)):
        if signs[k] != 0.0 and table.x[k] == 0.0:
            lack = max(1.0 - signs[k] * table.scores[k], 0.0)
            primal += rows.costs[k] * lack * lack / 2
    return primal, drift


@njit
def fit(rows, table, signs, cutoff):
    """The machine of the rows with a sign, from the support as it is; return the dual and the primal.

    It ends early where the dual is at the cutoff, or where no sweeps are left.
    """
    if not table.support.any() and not begin(rows, table, signs):
        return 0.0, 0.0
    read(table, signs)
    for _ in range(MOST_ENTRIES * len(signs)):
        k = most_violated(table, signs)
        if k < 0 or signs @ table.x / 2 >= cutoff or table.left[0] <= 0:
            break
        enter(table, signs, k)
    primal, drift = assess(rows, table, signs, read(table, signs))
    if drift > DRIFT or table.age[0] > MOST_SWEEPS:
        renew(rows.matrix, table, table.support)
        primal, _ = assess(rows, table, signs, read(table, signs))
    table.trial[:] = table.x
    return dual_of(rows, table.trial, signs), primal


@njit
def value_of(rows, table, labels):
    """What the machine of a full labeling costs."""
    table.support[:] = False
    return fit(rows, table, labels, np.inf)[1]
