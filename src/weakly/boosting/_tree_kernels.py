"""Compiled growing and reading of trees on binned features.

A node sends a row whose bin of ``feature`` is at most ``cut`` to the node ``child`` of its tree, and any
other to the one after it. A leaf sends all rows to itself, so that many can go down together, a level at a
time, without asking which have arrived. A leaf holds shares of classes, entries ``pointers[leaf]`` to
``pointers[leaf + 1]`` of ``classes`` and ``shares``: few, since most leaves are pure.
"""

import numpy as np

from weakly._compile import njit
from weakly._random_kernels import below, uniform

NODE = np.dtype(
    [("child", np.uint32), ("leaf", np.uint32), ("feature", np.uint16), ("cut", np.uint8)], align=True
)

_BLOCK = 512  # rows that pass through a tree together
_NEGLIGIBLE = 1e-12  # share of a weight


@njit
def _draw_rows(cumulated, n_draws, state, counts):
    """Draw rows in proportion to weights, with replacement; count how often each came.

    Spacings of a Poisson process are uniform numbers in order, so that one walk along the cumulated weights
    finds all rows without a search.
    """
    spacings = np.empty(n_draws)
    total = 0.0
    for i in range(n_draws):
        total -= np.log(1.0 - uniform(state))
        spacings[i] = total
    total -= np.log(1.0 - uniform(state))
    scale = cumulated[-1] / total
    row, last = 0, len(cumulated) - 1
    for i in range(n_draws):
        while row < last and cumulated[row] <= spacings[i] * scale:
            row += 1
        counts[row] += 1


@njit
def _score(left, total, left_weight, weight, is_gini):
    """Quality of a split by weights per class: purity of both sides, or the weight that they name rightly."""
    right_weight = weight - left_weight
    if min(left_weight, right_weight) <= _NEGLIGIBLE * weight:
        return -1.0  # of a side that is all rounding nothing can be said
    on_left = on_right = 0.0
    if is_gini:
        for c in range(len(total)):
            on_left += left[c] * left[c]
            right = total[c] - left[c]
            on_right += right * right
        return on_left / left_weight + on_right / right_weight
    for c in range(len(total)):
        on_left = max(on_left, left[c])
        on_right = max(on_right, total[c] - left[c])
    return on_left + on_right


@njit
def _purity(total, weight, is_gini):
    """The same of rows that stay together."""
    if not is_gini:
        return total.max()
    return (total * total).sum() / weight


@njit
def _random_cut(line, members, state):
    """A cut between the lowest and the highest bin, or -1 if all are equal."""
    lowest, highest = 255, 0
    for i in members:
        b = line[i]
        lowest = min(lowest, b)
        highest = max(highest, b)
    return -1 if lowest == highest else lowest + below(state, highest - lowest)


@njit
def _try_cut(line, cut, members, target, weight, total, all_weight, left, min_leaf, is_gini):
    """Score of one cut; ``left`` is all zeros before and after."""
    n_left, left_weight = 0, 0.0
    for i in members:
        is_left = line[i] <= cut  # a factor is faster than a branch that nothing foretells
        left[target[i]] += is_left * weight[i]
        left_weight += is_left * weight[i]
        n_left += is_left
    score = -1.0
    if min(n_left, len(members) - n_left) >= min_leaf:
        score = _score(left, total, left_weight, all_weight, is_gini)
    left[:] = 0.0
    return score


@njit
def _try_all_cuts(line, members, target, weight, total, all_weight, left, min_leaf, is_gini):
    """Best of all cuts of a feature, and its score."""
    starts = np.zeros(258, np.int64)
    for i in members:
        starts[line[i] + 1] += 1
    for b in range(1, 258):
        starts[b] += starts[b - 1]
    n_below = starts[:257].copy()
    in_order = np.empty(len(members), members.dtype)
    for i in members:
        in_order[starts[line[i]]] = i
        starts[line[i]] += 1
    best, best_cut, left_weight = -1.0, -1, 0.0
    for b in range(255):
        first, last = n_below[b], n_below[b + 1]
        for e in range(first, last):
            left[target[in_order[e]]] += weight[in_order[e]]
            left_weight += weight[in_order[e]]
        if last > first and min(last, len(members) - last) >= min_leaf:
            score = _score(left, total, left_weight, all_weight, is_gini)
            if score > best:
                best, best_cut = score, b
    left[:] = 0.0
    return best, best_cut


@njit
def _choose_split(sample, members, target, weight, total, all_weight, features, left, rules, state):
    """The best of the candidate splits: feature, cut and score, or feature -1 if nothing can be split."""
    max_features, min_leaf, is_gini, is_exhaustive = rules
    feature, cut, best = -1, -1, -1.0
    n_left, n_tried = len(features), 0
    while n_left > 0 and n_tried < max_features:
        pick = below(state, n_left)
        n_left -= 1
        features[pick], features[n_left] = features[n_left], features[pick]
        line = sample[features[n_left]]
        if is_exhaustive:
            score, at = _try_all_cuts(
                line, members, target, weight, total, all_weight, left, min_leaf, is_gini
            )
        else:
            at, score = _random_cut(line, members, state), -1.0
            if at >= 0:
                score = _try_cut(
                    line, at, members, target, weight, total, all_weight, left, min_leaf, is_gini
                )
        n_tried += at >= 0
        if score > best:
            feature, cut, best = features[n_left], at, score
    return feature, cut, best


@njit
def _divide(line, cut, members):
    """Put the rows up to the cut first; return how many they are."""
    first, last = 0, len(members) - 1
    while first <= last:
        if line[members[first]] <= cut:
            first += 1
        else:
            members[first], members[last] = members[last], members[first]
            last -= 1
    return first


@njit
def _grow(sample, target, weight, n_classes, max_depth, rules, state, nodes, leaves, gains):
    """Grow a tree on a sample, features first; return numbers of nodes, leaves, their entries and levels."""
    pointers, classes, shares = leaves
    n_features, n_rows = sample.shape
    order = np.arange(n_rows).astype(np.uint32)  # unsigned, or each access asks whether to count from the end
    features = np.arange(n_features)
    left, total = np.zeros(n_classes), np.zeros(n_classes)
    stack = np.empty((n_rows + 1, 4), np.int64)
    stack[0] = (0, n_rows, 0, 0)
    n_open, n_nodes, n_leaves, n_entries, deepest = 1, 1, 0, 0, 0
    while n_open > 0:
        n_open -= 1
        start, end, depth, node = stack[n_open]
        members = order[start:end]
        total[:] = 0.0
        all_weight = 0.0
        for i in members:
            total[target[i]] += weight[i]
            all_weight += weight[i]
        split, at, score = -1, -1, -1.0
        if depth < max_depth and total[target[members[0]]] < all_weight * (1 - _NEGLIGIBLE):
            split, at, score = _choose_split(
                sample, members, target, weight, total, all_weight, features, left, rules, state
            )
        if split >= 0:
            middle = start + _divide(sample[split], at, members)
            nodes[node].feature, nodes[node].cut, nodes[node].child = split, at, n_nodes
            gains[split] += score - _purity(total, all_weight, rules[2])
            stack[n_open] = (middle, end, depth + 1, n_nodes + 1)
            stack[n_open + 1] = (start, middle, depth + 1, n_nodes)
            n_open += 2
            n_nodes += 2
            continue
        nodes[node].cut, nodes[node].child, nodes[node].leaf = 255, node, n_leaves
        deepest = max(deepest, depth)
        for c in range(n_classes):
            if total[c] > 0:
                classes[n_entries], shares[n_entries] = c, total[c] / all_weight
                n_entries += 1
        n_leaves += 1
        pointers[n_leaves] = n_entries
    return n_nodes, n_leaves, n_entries, deepest


@njit(nogil=True)
def grow_trees(
    start, stop, binned, target, weights, cumulated, n_draws, n_classes, max_depth, rules, seeds,
    trees, sizes, gains, drawn,
):  # fmt: skip
    """Grow a tree for each seed into padded records; say their sizes, gains of features and rows drawn.

    With ``n_draws`` each tree has rows drawn in proportion to weights, else all rows with their weights.
    """
    nodes, pointers, classes, shares = trees
    n_rows, n_features = binned.shape
    for t in range(start, stop):
        state = np.array([seeds[t]])
        counts = weights
        if n_draws > 0:
            counts = np.zeros(n_rows, np.float32)
            _draw_rows(cumulated, n_draws, state, counts)
        rows = np.flatnonzero(counts)
        drawn[t, rows] = True
        sample = np.empty((n_features, len(rows)), np.uint8)
        for i in range(len(rows)):
            for j in range(n_features):
                sample[j, i] = binned[rows[i], j]
        labels, weight = target[rows].astype(np.uint32), counts[rows]
        sizes[t, 0], sizes[t, 1], sizes[t, 2], sizes[t, 3] = _grow(
            sample, labels, weight, n_classes, max_depth, rules, state,
            nodes[t], (pointers[t], classes[t], shares[t]), gains[t],
        )  # fmt: skip


@njit
def _go_down(binned, nodes, root, n_levels, at):
    """Move rows from the root of a tree to their leaves."""
    at[: len(binned)] = root
    for _ in range(n_levels):
        for i in range(len(binned)):
            node = nodes[at[i]]
            at[i] = np.uint32(root) + node.child + (binned[i, node.feature] > node.cut)


@njit(nogil=True)
def add_shares(start, stop, binned, forest, scale, out):
    """Add the shares of the leaf of each row in each tree, times ``scale``.

    Blocks of rows pass through one tree after the other, so that its nodes stay in the nearest cache.
    """
    starts, nodes, pointers, classes, shares = forest
    at = np.empty(_BLOCK, np.uint32)
    for first in range(start, stop, _BLOCK):
        rows = binned[first : min(first + _BLOCK, stop)]
        into = out[first : first + len(rows)]
        for t in range(len(starts)):
            _go_down(rows, nodes, starts[t, 0], starts[t, 3], at)
            for i in range(len(rows)):
                leaf = starts[t, 1] + nodes[at[i]].leaf
                for e in range(pointers[leaf], pointers[leaf + 1]):
                    into[i, classes[e]] += scale * shares[e]


@njit
def add_free_shares(binned, forest, drawn, out):
    """Mean shares of rows over the trees that did not draw them; zeros where all did."""
    starts, nodes, pointers, classes, shares = forest
    at, n_free = np.empty(len(binned), np.uint32), np.zeros(len(binned))
    for t in range(len(starts)):
        _go_down(binned, nodes, starts[t, 0], starts[t, 3], at)
        for i in range(len(binned)):
            if not drawn[t, i]:
                n_free[i] += 1
                leaf = starts[t, 1] + nodes[at[i]].leaf
                for e in range(pointers[leaf], pointers[leaf + 1]):
                    out[i, classes[e]] += shares[e]
    for i in range(len(out)):
        out[i] /= max(n_free[i], 1)


@njit(nogil=True)
def add_vectors(start, stop, binned, forest, vectors, out):
    """Add the vector of each row to the line of its leaf, in each tree."""
    starts, nodes, _, _, _ = forest
    at = np.empty(len(binned), np.uint32)
    for t in range(start, stop):
        _go_down(binned, nodes, starts[t, 0], starts[t, 3], at)
        for i in range(len(binned)):
            out[starts[t, 1] + nodes[at[i]].leaf] += vectors[i]
