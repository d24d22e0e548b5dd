"""Compiled loops of branch and bound over the signs of rows.

With signed coefficients ``x_i = y_i a_i``, ``a_i >= 0``, the machine of all rows with a sign is dual to ::

    maximise  sum_i y_i x_i - x'Mx / 2  over  sum_i x_i = 0,   M = K + diag(1 / C_i)

All that the signs do not touch is kept in one symmetric matrix, the table: ``M`` with a border of ones for
the offset, in which the rows of the support ``A`` and the border have been swept (exchanged with their
equations). It holds the inverse of ``M_AA`` with its border, negative; what the support does when another row
enters; and between other rows, ``M`` with the support eliminated. One sweep takes a row in or out.

A node of the tree is a vector of signs, 0 where they are open. The levels of the tree are the nodes on the
way from the root, each with two branches of which one or both are still to be explored. Between two calls of
`explore` all that it knows is in its arguments.
"""

from typing import NamedTuple

import numba
import numpy as np

VIOLATION = 1e-9  # margin that a row may lack
DRIFT = 1e-9  # error of the equations, in units of the margin, at which the table is made anew
CAUTION = 1e-8  # by which probes understate what a row lacks, as they believe the table
MOST_SWEEPS = 2000  # after which the table is made anew whatever the error
MOST_ENTRIES = 50  # of a fit, per row; the bound holds wherever it ends
EVEN = 0.01  # share of the bound that makes up for the gains of a row that has none


class Rows(NamedTuple):
    """The problem: ``M``, costs, which rows are to get a sign, and how many of them a positive one."""

    matrix: np.ndarray
    costs: np.ndarray
    is_open: np.ndarray
    least: int
    most: int


class Table(NamedTuple):
    """The table and its support, and buffers for a point of the dual and its scores."""

    entries: np.ndarray
    support: np.ndarray
    x: np.ndarray
    scores: np.ndarray  # with x_i / C_i added on the support, where they are the signs
    gains: np.ndarray  # by which a sign raises the bound: of +1 and of -1
    pivots: np.ndarray
    age: np.ndarray  # sweeps since the table was made


class Tree(NamedTuple):
    """Nodes on the way from the root, and what is next in each."""

    depth: np.ndarray  # level of the deepest node, -1 when all is explored
    signs: np.ndarray
    supports: np.ndarray
    rows: np.ndarray  # that the branches of a node differ in
    first: np.ndarray  # its sign in the branch that is explored first
    n_left: np.ndarray  # branches to be explored
    bounds: np.ndarray  # of both branches, in the order of exploration


class Incumbent(NamedTuple):
    """The best labeling so far, and what its machine costs."""

    signs: np.ndarray
    value: np.ndarray


@numba.njit(cache=True)
def sweep(table, k):
    """Take row ``k`` into the support, or out of it; the last row is the border."""
    entries, pivots = table.entries, table.pivots
    size = len(entries)
    back = k < size - 1 and table.support[k]
    pivot = entries[k, k]
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


@numba.njit(cache=True)
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


@numba.njit(cache=True)
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


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def begin(rows, table, signs):
    """Put the nearest two rows of different signs into the support; return whether there are any."""
    least, pair = np.inf, (-1, -1)
    positive, negative = np.flatnonzero(signs > 0.0), np.flatnonzero(signs < 0.0)
    for i in positive:
        for j in negative:
            distance = rows.matrix[i, i] + rows.matrix[j, j] - 2 * rows.matrix[i, j]
            if distance < least:
                least, pair = distance, (i, j)
    if pair[0] < 0:  # one sign needs no more than the offset
        table.x[:] = 0.0
        table.scores[:] = np.sign(np.sum(signs * (rows.costs > 0.0)))
        return False
    support = np.zeros(len(signs), dtype=np.bool_)
    support[pair[0]] = support[pair[1]] = True
    renew(rows.matrix, table, support)
    return True


@numba.njit(cache=True)
def most_violated(table, signs):
    """The row with a sign that would raise the dual most, were the support to stay; -1 if there is none."""
    best, chosen = 0.0, -1
    for k in range(len(signs)):
        lack = 1.0 - signs[k] * table.scores[k]
        if signs[k] != 0.0 and not table.support[k] and lack > VIOLATION:
            gain = lack * lack / table.entries[k, k]
            if gain > best:
                best, chosen = gain, k
    return chosen


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def enter(table, signs, k):
    """Let the coefficient of ``k`` grow until its equation holds; rows whose own come to 0 leave."""
    while True:
        members = np.flatnonzero(table.support)
        longest, blocking = reach(table, members, signs, k, signs[k])
        line = table.entries[k]
        wanted = (1.0 - signs[k] * table.scores[k]) / line[k]
        step = signs[k] * min(wanted, longest)
        for j in range(len(signs)):
            if table.support[j]:
                table.x[j] -= step * line[j]
            else:
                table.scores[j] += step * line[j]
        table.x[k] += step
        if wanted <= longest:
            table.scores[k] = signs[k]
            sweep(table, k)
            return
        table.x[blocking] = 0.0
        sweep(table, blocking)


@numba.njit(cache=True)
def assess(rows, table, signs, offset):
    """The dual, of a feasible point next to ``x``; the primal of the rows with a sign; and the drift.

    Negative coefficients become 0, and those of the sign with the larger sum are scaled down to that of the
    other: so the dual is a lower bound whatever the errors of the table.
    """
    sums = np.zeros(2)
    members = np.flatnonzero(table.x)
    for a in members:
        size = max(signs[a] * table.x[a], 0.0)
        table.x[a] = signs[a] * size
        sums[int(signs[a] > 0)] += size
    dual = primal = drift = 0.0
    least = min(sums[0], sums[1])
    for a in members:
        table.x[a] *= least / sums[int(signs[a] > 0)]
    for a in members:
        line, product = rows.matrix[a], 0.0
        for c in members:
            product += line[c] * table.x[c]
        cushion = table.x[a] / rows.costs[a]
        dual += table.x[a] * (signs[a] - product / 2)
        lack = max(1.0 - signs[a] * (product - cushion + offset), 0.0)
        primal += (table.x[a] * (product - cushion) + rows.costs[a] * lack * lack) / 2
        drift = max(drift, abs(product + offset - signs[a]))
    for k in range(len(signs)):
        if signs[k] != 0.0 and table.x[k] == 0.0:
            lack = max(1.0 - signs[k] * table.scores[k], 0.0)
            primal += rows.costs[k] * lack * lack / 2
    return dual, primal, drift


@numba.njit(cache=True)
def fit(rows, table, signs, cutoff):
    """The machine of the rows with a sign, from the support as it is; return the dual and the primal.

    It ends early where the dual is at the cutoff.
    """
    if not table.support.any() and not begin(rows, table, signs):
        return 0.0, 0.0
    offset = read(table, signs)
    for _ in range(MOST_ENTRIES * len(signs)):
        k = most_violated(table, signs)
        if k < 0 or signs @ table.x / 2 >= cutoff:
            break
        enter(table, signs, k)
    offset = read(table, signs)
    dual, primal, drift = assess(rows, table, signs, offset)
    if drift > DRIFT or table.age[0] > MOST_SWEEPS:
        renew(rows.matrix, table, table.support)
        dual, primal, _ = assess(rows, table, signs, read(table, signs))
    return dual, primal


@numba.njit(cache=True)
def complete(rows, table, signs, full):
    """Give open rows the signs of their scores, as far as the balance allows; return what these cost."""
    full[:] = signs
    left = np.flatnonzero(signs == 0.0)
    n_positive = np.sum(signs[rows.is_open] > 0.0)
    wanted = np.sum(table.scores[left] > 0.0)
    allowed = min(max(wanted, rows.least - n_positive), rows.most - n_positive)
    if allowed == wanted:
        for i in left:
            full[i] = 1.0 if table.scores[i] > 0.0 else -1.0
    else:
        order = np.argsort(-table.scores[left])
        for rank in range(len(left)):
            full[left[order[rank]]] = 1.0 if rank < allowed else -1.0
    cost = 0.0
    for i in left:
        lack = max(1.0 - full[i] * table.scores[i], 0.0)
        cost += rows.costs[i] * lack * lack / 2
    return cost


@numba.njit(cache=True)
def probe(rows, table, signs):
    """By how much each sign of each open row raises the dual at least, while the support stays as it is."""
    members, signed = np.flatnonzero(table.support), np.flatnonzero(signs)
    for i in np.flatnonzero(signs == 0.0):
        for side in range(2):
            sign, gain = 1.0 - 2.0 * side, 0.0
            lack, bend = 1.0 - sign * table.scores[i] - CAUTION, table.entries[i, i]
            if len(members) == 0:  # all have one sign, and the other brings about the dual of a pair
                for j in signed:
                    if signs[j] != sign:
                        distance = rows.matrix[i, i] + rows.matrix[j, j] - 2 * rows.matrix[i, j]
                        gain = max(gain, 2.0 / distance - CAUTION)
            elif lack > 0.0:
                step = min(lack / bend, reach(table, members, signs, i, sign)[0])
                gain = step * (lack - step * bend / 2)
            table.gains[i, side] = gain


@numba.njit(cache=True)
def force(rows, table, signs, room):
    """Set open signs whose opposite costs at least ``room``, or all that are left when one sign is used up.

    Returns how many have been set, or -1 where nothing is left to find: no sign was open, or too many want
    the same.
    """
    n_forced, n_left = 0, 0
    for i in np.flatnonzero(signs == 0.0):
        if table.gains[i].min() >= room:
            return -1
        if table.gains[i].max() >= room:
            signs[i] = 1.0 if table.gains[i, 1] >= room else -1.0
            n_forced += 1
        else:
            n_left += 1
    n_positive, n_negative = np.sum(signs[rows.is_open] > 0.0), np.sum(signs[rows.is_open] < 0.0)
    free_positive = rows.most - n_positive
    free_negative = len(signs) - np.sum(~rows.is_open) - rows.least - n_negative
    if n_forced + n_left == 0 or min(free_positive, free_negative) < 0:
        return -1
    if n_left > 0 and min(free_positive, free_negative) == 0:
        signs[signs == 0.0] = -1.0 if free_positive == 0 else 1.0
        n_forced += n_left
    return n_forced


@numba.njit(cache=True)
def visit(rows, table, signs, best, slack):
    """Bound a node, force signs, look for a better labeling; return the bound, infinite if all is done."""
    full = np.empty_like(signs)
    while True:
        cutoff = best.value[0] * (1 - slack)
        bound, primal = fit(rows, table, signs, cutoff)
        if bound >= cutoff:
            return np.inf
        value = primal + complete(rows, table, signs, full)
        if value < cutoff:
            best.signs[:] = full
            best.value[0] = value
            cutoff = value * (1 - slack)
        probe(rows, table, signs)
        n_forced = force(rows, table, signs, cutoff - bound)
        if n_forced < 0:
            return np.inf
        if n_forced == 0:
            return bound


@numba.njit(cache=True)
def branch(table, tree, depth, bound):
    """Choose the row of which both signs cost most, by their product; the cheaper sign comes first."""
    chosen, largest, even = -1, -1.0, EVEN * bound
    for i in np.flatnonzero(tree.signs[depth] == 0.0):
        product = (table.gains[i, 0] + even) * (table.gains[i, 1] + even)
        if product > largest:
            largest, chosen = product, i
    gains = table.gains[chosen]
    tree.rows[depth] = chosen
    tree.first[depth] = 1.0 if gains[0] < gains[1] else -1.0
    tree.n_left[depth] = 2
    tree.bounds[depth, 0], tree.bounds[depth, 1] = bound + gains.min(), bound + gains.max()
    tree.supports[depth] = table.support
    tree.depth[0] = depth


@numba.njit(cache=True)
def explore(rows, table, tree, best, slack, n_nodes):
    """Visit nodes until all are, ``n_nodes`` are, or a better labeling is found; return how many."""
    n_visited, value = 0, best.value[0]
    while tree.depth[0] >= 0 and n_visited < n_nodes and best.value[0] == value:
        depth = tree.depth[0]
        if tree.n_left[depth] == 0:
            tree.depth[0] -= 1
            continue
        turn = 2 - tree.n_left[depth]
        tree.n_left[depth] -= 1
        if tree.bounds[depth, turn] >= value * (1 - slack):
            continue
        signs = tree.signs[depth + 1]
        signs[:] = tree.signs[depth]
        if tree.rows[depth] >= 0:
            signs[tree.rows[depth]] = tree.first[depth] * (1 - 2 * turn)
        turn_to(rows.matrix, table, tree.supports[depth])
        bound = visit(rows, table, signs, best, slack)
        n_visited += 1
        if bound < np.inf:
            branch(table, tree, depth + 1, bound)
    return n_visited


@numba.njit(cache=True)
def value_of(rows, table, labels):
    """What the machine of a full labeling costs."""
    table.support[:] = False
    return fit(rows, table, labels, np.inf)[1]
