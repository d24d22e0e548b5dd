"""Compiled hierarchical k-means, and neighbours within its cells."""

import numpy as np

from weakly._compile import njit
from weakly._random_kernels import below
from weakly._threads import run_parallel

_BRANCH = 10  # parts that a cluster is cut into
_SWEEPS = 10  # of k-means at each cut
_SAMPLE = 2000  # rows that centres are fitted to


@njit
def _distance(row, other):
    total = 0.0
    for j in range(len(row)):
        difference = row[j] - other[j]
        total += difference * difference
    return total


@njit
def _assign(X, members, centres, part):
    """Part of each row, that of the nearest centre; return how many changed."""
    n_moved = 0
    for e in range(len(members)):
        best, nearest = np.inf, 0
        for k in range(len(centres)):
            distance = _distance(X[members[e]], centres[k])
            if distance < best:
                best, nearest = distance, k
        n_moved += nearest != part[e]
        part[e] = nearest
    return n_moved


@njit
def _cut(X, members, centres, state, part):
    """k-means of a sample of rows from centres drawn among them; ``part`` gets the part of every row."""
    n_parts = len(centres)
    n_sample = min(len(members), _SAMPLE)
    for e in range(n_sample):  # a draw of different rows: swap them to the front
        pick = e + below(state, len(members) - e)
        members[e], members[pick] = members[pick], members[e]
    for k in range(n_parts):
        centres[k] = X[members[k]]
    part[: len(members)] = -1
    sizes = np.empty(n_parts, np.int64)
    for _ in range(_SWEEPS):
        if _assign(X, members[:n_sample], centres, part) == 0:
            break
        centres[:] = 0.0
        sizes[:] = 0
        for e in range(n_sample):
            sizes[part[e]] += 1
            centres[part[e]] += X[members[e]]
        for k in range(n_parts):
            centres[k] /= max(sizes[k], 1)
    _assign(X, members, centres, part)


@njit
def _spread(X, members):
    """Sum of squared distances from the mean."""
    mean = np.zeros(X.shape[1])
    for i in members:
        mean += X[i]
    mean /= len(members)
    total = 0.0
    for i in members:
        total += _distance(X[i], mean)
    return total


@njit
def _clusters(X, n_clusters, most_rows, seed, out):
    """Cut clusters until there are so many or, with ``most_rows``, none has more rows than that."""
    state = np.array([seed])
    n_rows = len(X)
    order, part, regrouped = np.arange(n_rows), np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    centres = np.empty((_BRANCH, X.shape[1]), X.dtype)
    first, last = np.zeros(n_clusters, np.int64), np.zeros(n_clusters, np.int64)  # stretches of ``order``
    urgency = np.full(n_clusters, -1.0)
    last[0], urgency[0], n_found = n_rows, np.inf, 1
    if 0 < n_rows <= most_rows:
        urgency[0] = 0.0
    while n_found < n_clusters:
        widest = urgency[:n_found].argmax()
        if urgency[widest] <= 0:
            break
        start, end = first[widest], last[widest]
        members = order[start:end]
        n_parts = min(_BRANCH, len(members), n_clusters - n_found + 1)
        _cut(X, members, centres[:n_parts], state, part)
        at, n_cut = start, 0
        for k in range(n_parts):
            begin = at
            for e in range(len(members)):
                if part[e] == k:
                    regrouped[at] = members[e]
                    at += 1
            if at == begin:
                continue
            slot = widest if n_cut == 0 else n_found
            n_found += n_cut > 0
            n_cut += 1
            first[slot], last[slot] = begin, at
            if most_rows > 0:
                urgency[slot] = at - begin if at - begin > most_rows else 0.0
            else:
                urgency[slot] = _spread(X, regrouped[begin:at])
        order[start:end] = regrouped[start:end]
        if n_cut == 1:
            urgency[widest] = 0.0  # copies of a single row, up to rounding
    for k in range(n_found):
        for e in range(first[k], last[k]):
            out[order[e]] = k


@njit(nogil=True)
def _each_seed(start, stop, X, n_clusters, most_rows, seeds, out):
    for r in range(start, stop):
        _clusters(X, n_clusters, most_rows, seeds[r], out[r])


def divisive_clusters(X, n_clusters, seeds):
    """Cluster of each row, a line for each seed: the cluster of largest spread is cut, over and over."""
    out = np.zeros((len(seeds), len(X)), np.int64)
    run_parallel(_each_seed, len(seeds), X, n_clusters, 0, seeds, out)
    return out


def small_cells(X, most_rows, seeds):
    """Cell of each row, a line for each seed: cells are cut until none has more rows than ``most_rows``.

    Only cells of equal rows may have more.
    """
    out = np.zeros((len(seeds), len(X)), np.int64)
    run_parallel(_each_seed, len(seeds), X, len(X), most_rows, seeds, out)
    return out


@njit
def _insert(found, distances, i, j, distance):
    """Put row ``j`` among the nearest of row ``i``, unless it is there.

    It takes all lines: to cut one out, and count who refers to it, would take longer than the rest.
    """
    last = found.shape[1] - 1
    if distance >= distances[i, last]:
        return
    for e in range(last + 1):
        if found[i, e] == j:
            return
    e = last
    while e > 0 and distances[i, e - 1] > distance:
        distances[i, e], found[i, e] = distances[i, e - 1], found[i, e - 1]
        e -= 1
    distances[i, e], found[i, e] = distance, j


@njit(nogil=True)
def nearest_in_cells(start, stop, X, order, starts, found, distances):
    """Compare all rows of each cell, which are stretches of ``order``; keep the nearest, nearest first."""
    for c in range(start, stop):
        for a in range(starts[c], starts[c + 1]):
            i = order[a]
            for b in range(a + 1, starts[c + 1]):
                j = order[b]
                distance = _distance(X[i], X[j])
                _insert(found, distances, i, j, distance)
                _insert(found, distances, j, i, distance)
