"""Compiled loops that move rows between classes along shortest paths until all quotas hold.

A row of class ``c`` that goes to ``d`` loses ``scores[row, c] - scores[row, d]``. Of each pair of classes a
short queue holds the rows that would lose least, in falling order so that the best is at the end. Rows that
left the class stay in a queue until they come to its end. ``limits`` are lower bounds of the loss of all
rows that a queue passed over, so that only one that runs empty is filled again, from the row on where its
cursor stands.
"""

import numpy as np

from weakly._compile import njit


@njit
def offer(queues, c, d, row, loss):
    """Put a row of class ``c`` into the queue for ``d`` if its loss is among the least."""
    losses, rows, sizes, limits, _ = queues
    if loss >= limits[c, d]:
        return
    queue, members, size = losses[c, d], rows[c, d], sizes[c, d]
    if size < len(queue):
        place = size
        while place > 0 and queue[place - 1] < loss:
            queue[place], members[place] = queue[place - 1], members[place - 1]
            place -= 1
        sizes[c, d] += 1
    else:
        limits[c, d] = min(max(loss, queue[0]), limits[c, d])
        if loss >= queue[0]:
            return
        place = 0
        while place + 1 < size and queue[place + 1] > loss:
            queue[place], members[place] = queue[place + 1], members[place + 1]
            place += 1
    queue[place], members[place] = loss, row


@njit
def refill(queues, c, d, scores, codes):
    """Fill an empty queue from all rows, but from no more than it takes where many have the same loss."""
    losses, _, sizes, limits, cursors = queues
    least = limits[c, d]
    limits[c, d] = np.inf
    row = cursors[c, d]
    for _ in range(len(codes)):
        row = row + 1 if row + 1 < len(codes) else 0
        if codes[row] == c:
            offer(queues, c, d, row, scores[row, c] - scores[row, d])
            if sizes[c, d] == losses.shape[2] and losses[c, d, 0] <= least:
                limits[c, d] = least
                break
    cursors[c, d] = row


@njit
def shorten(queues, c, d, scores, codes):
    """Drop rows that left ``c`` from the end of its queue for ``d``; return the least loss."""
    losses, rows, sizes, limits, _ = queues
    while sizes[c, d] > 0 and codes[rows[c, d, sizes[c, d] - 1]] != c:
        sizes[c, d] -= 1
    if sizes[c, d] == 0 and limits[c, d] < np.inf:
        refill(queues, c, d, scores, codes)
    return losses[c, d, sizes[c, d] - 1] if sizes[c, d] > 0 else np.inf


@njit
def fill(scores, codes, depth):
    """Queues of all pairs of classes, with at most ``depth`` rows each."""
    n_classes = scores.shape[1]
    losses = np.empty((n_classes, n_classes, depth))
    rows = np.empty((n_classes, n_classes, depth), dtype=np.int64)
    sizes = np.zeros((n_classes, n_classes), dtype=np.int64)
    cursors = np.zeros((n_classes, n_classes), dtype=np.int64)
    queues = (losses, rows, sizes, np.full((n_classes, n_classes), np.inf), cursors)
    for row in range(len(codes)):
        c = codes[row]
        for d in range(n_classes):
            if d != c:
                offer(queues, c, d, row, scores[row, c] - scores[row, d])
    return queues


@njit
def move(queues, lengths, c, d, scores, codes):
    """Move the row that loses least from class ``c`` to ``d``, and keep lengths up to date."""
    rows, sizes = queues[1], queues[2]
    row = rows[c, d, sizes[c, d] - 1]
    codes[row] = d
    for e in range(scores.shape[1]):
        if e != d:
            offer(queues, d, e, row, scores[row, d] - scores[row, e])
            lengths[d, e] = shorten(queues, d, e, scores, codes)
        if e != c:
            lengths[c, e] = shorten(queues, c, e, scores, codes)


@njit
def nearest(lengths, prices, excess, parents):
    """Shortest path from any node with too much to one with too little; return its end, -1 if none is left.

    Dijkstra's algorithm on lengths that prices make non-negative; prices follow the distances, so that the
    path has length 0 by the new ones. ``parents`` lead back from the end, to -1 at the start.
    """
    n_nodes = len(prices)
    distances = np.where(excess > 0, 0.0, np.inf)
    done = np.zeros(n_nodes, dtype=np.bool_)
    parents[:] = -1
    while True:
        node = -1
        for other in range(n_nodes):
            if not done[other] and (node < 0 or distances[other] < distances[node]):
                node = other
        if node < 0 or distances[node] == np.inf:
            return -1
        if excess[node] < 0:
            break
        done[node] = True
        for other in range(n_nodes):
            # Rounding may make a length negative, and a path must not run in circles for its sake.
            step = max(lengths[node, other] + prices[node] - prices[other], 0.0)
            if not done[other] and distances[node] + step < distances[other]:
                distances[other] = distances[node] + step
                parents[other] = node
    for other in range(n_nodes):
        prices[other] += min(distances[other], distances[node])
    return node


@njit
def push(queues, lengths, parents, node, scores, codes, counts, least, most):
    """Move a unit along a path to ``node``; return its start, and whether the path is as short as before."""
    last = len(counts)  # the node beyond all classes, which takes what they count
    same = True
    while parents[node] >= 0:
        parent = parents[node]
        before = lengths[parent, node]
        if parent == last or node == last:
            c = min(parent, node)
            counts[c] += 1 if node == last else -1
            lengths[c, last] = 0.0 if counts[c] < most[c] else np.inf
            lengths[last, c] = 0.0 if counts[c] > least[c] else np.inf
        else:
            move(queues, lengths, parent, node, scores, codes)
        same = same and lengths[parent, node] == before
        node = parent
    return node, same


@njit
def balance(scores, codes, counts, least, most, prices, depth):
    """Change codes in place until class ``c`` has ``counts[c]`` rows, which may change between the quotas.

    To begin with, codes are maximisers of ``scores + prices``, and counts are the lower quota where the price
    is positive, the upper one where it is negative.
    """
    n_classes = scores.shape[1]
    queues = fill(scores, codes, depth)
    lengths = np.full((n_classes + 1, n_classes + 1), np.inf)
    excess = np.zeros(n_classes + 1, dtype=np.int64)
    for row in range(len(codes)):
        excess[codes[row]] += 1
    for c in range(n_classes):
        excess[c] -= counts[c]
        excess[n_classes] -= excess[c]
        lengths[c, n_classes] = 0.0 if counts[c] < most[c] else np.inf
        lengths[n_classes, c] = 0.0 if counts[c] > least[c] else np.inf
        for d in range(n_classes):
            if d != c:
                lengths[c, d] = shorten(queues, c, d, scores, codes)
    levels = np.append(prices, 0.0)
    parents = np.empty(n_classes + 1, dtype=np.int64)
    end = nearest(lengths, levels, excess, parents)
    while end >= 0:
        same = True
        start = end
        while same and (start == end or (excess[start] > 0 and excess[end] < 0)):
            start, same = push(queues, lengths, parents, end, scores, codes, counts, least, most)
            excess[start] -= 1
            excess[end] += 1
        end = nearest(lengths, levels, excess, parents)
