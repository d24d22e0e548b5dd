"""Compiled loops of branch and bound over the signs of rows.

A node of the tree is a vector of signs, 0 where they are open. The levels of the tree are the nodes on the
way from the root, each with two branches of which one or both are still to be explored. Between two calls of
`explore` all that it knows is in its arguments.
"""

from typing import NamedTuple

import numpy as np

from weakly._compile import njit
from weakly.svm._pivot_kernels import bend, distance, dual_of, fit, reach, turn_to

EVEN = 0.01  # share of the bound that makes up for the gains of a row that has none


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


@njit
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


@njit
def probe(rows, table, signs):
    """By how much each sign of each open row raises the dual at least, while the support stays as it is."""
    members, signed = np.flatnonzero(table.support), np.flatnonzero(signs)
    for i in np.flatnonzero(signs == 0.0):
        for side in range(2):
            sign, gain = 1.0 - 2.0 * side, 0.0
            lack, own = 1.0 - sign * table.scores[i], bend(table, i)
            if len(members) == 0:  # all have one sign, and the other brings about the dual of a pair
                for j in signed:
                    if signs[j] != sign:
                        gain = max(gain, 2.0 / distance(rows, i, j))
            elif lack > 0.0:
                step = min(lack / own, reach(table, members, signs, i, sign)[0])
                gain = step * (lack - step * own / 2)
            table.gains[i, side] = gain if gain > 0.0 else 0.0


@njit
def promise(rows, table, signs, bound, i, side):
    """The lower bound of a branch that gains announce, from ``M`` and not from the table."""
    members = np.flatnonzero(table.support)
    if len(members) == 0 or table.gains[i, side] == 0.0:
        return bound + table.gains[i, side]
    sign, line = 1.0 - 2.0 * side, table.entries[i]
    step = (1.0 - sign * table.scores[i]) / bend(table, i)
    step = sign * min(step, reach(table, members, signs, i, sign)[0])
    table.trial[:] = table.x
    for a in members:
        table.trial[a] -= step * line[a]
    table.trial[i] = step
    signs[i] = sign
    value = dual_of(rows, table.trial, signs)
    signs[i] = 0.0
    return max(bound, value)


@njit
def force(rows, table, signs, bound, cutoff):
    """Set open signs whose opposite exceeds the cutoff, and all that are left when one sign is used up.

    Returns how many have been set, or -1 where nothing is left to find: no sign was open, or too many want
    the same.
    """
    n_forced, n_left = 0, 0
    for i in np.flatnonzero(signs == 0.0):
        sign = 0.0
        for side in range(2):
            if (
                bound + table.gains[i, side] >= cutoff
                and promise(rows, table, signs, bound, i, side) >= cutoff
            ):
                if sign != 0.0:
                    return -1
                sign = 2.0 * side - 1.0
        signs[i] = sign
        n_forced += sign != 0.0
        n_left += sign == 0.0
    n_positive, n_negative = np.sum(signs[rows.is_open] > 0.0), np.sum(signs[rows.is_open] < 0.0)
    free_positive = rows.most - n_positive
    free_negative = len(signs) - np.sum(~rows.is_open) - rows.least - n_negative
    if n_forced + n_left == 0 or min(free_positive, free_negative) < 0:
        return -1
    if n_left > 0 and min(free_positive, free_negative) == 0:
        signs[signs == 0.0] = -1.0 if free_positive == 0 else 1.0
        n_forced += n_left
    return n_forced


@njit
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
        n_forced = force(rows, table, signs, bound, cutoff)
        if n_forced < 0:
            return np.inf
        if n_forced == 0:
            return bound


@njit
def branch(rows, table, tree, depth, bound):
    """Choose the row of which both signs cost most, by their product; the cheaper sign comes first."""
    chosen, largest, even = -1, -1.0, EVEN * bound
    for i in np.flatnonzero(tree.signs[depth] == 0.0):
        product = (table.gains[i, 0] + even) * (table.gains[i, 1] + even)
        if product > largest:
            largest, chosen = product, i
    cheaper = 0 if table.gains[chosen, 0] < table.gains[chosen, 1] else 1
    tree.rows[depth], tree.first[depth], tree.n_left[depth] = chosen, 1.0 - 2.0 * cheaper, 2
    for turn, side in enumerate((cheaper, 1 - cheaper)):
        tree.bounds[depth, turn] = promise(rows, table, tree.signs[depth], bound, chosen, side)
    tree.supports[depth] = table.support
    tree.depth[0] = depth


@njit
def explore(rows, table, tree, best, slack, n_nodes):
    """Visit nodes until all are, ``n_nodes`` are, or a better labeling is found; return how many.

    Where the table has no sweeps left, the node on hand is the last one.
    """
    n_visited, value = 0, best.value[0]
    while tree.depth[0] >= 0 and n_visited < n_nodes and best.value[0] == value and table.left[0] > 0:
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
            branch(rows, table, tree, depth + 1, bound)
    return n_visited
