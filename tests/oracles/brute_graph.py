"""Graphs by loops over pairs of rows."""

import numpy as np


def neighbor_affinity(distances, n_neighbors, weight, *, join=max):
    """Affinity in which ``i`` points to its nearest rows with ``weight(i, j)``, joined by ``join``."""
    n_rows = len(distances)
    one_way = np.zeros((n_rows, n_rows))
    for i in range(n_rows):
        others = [j for j in range(n_rows) if j != i]
        for j in sorted(others, key=lambda j: distances[i, j])[:n_neighbors]:
            one_way[i, j] = weight(i, j)
    return joined(one_way, join)


def radius_affinity(distances, radius, weight):
    """Affinity of all pairs within the radius."""
    n_rows = len(distances)
    pairs = [(i, j) for i in range(n_rows) for j in range(n_rows) if i != j and distances[i, j] <= radius]
    affinity = np.zeros((n_rows, n_rows))
    for i, j in pairs:
        affinity[i, j] = weight(i, j)
    return affinity


def joined(one_way, join):
    """Symmetric matrix from the two directions of each pair."""
    n_rows = len(one_way)
    return np.array(
        [[join((one_way[i, j], one_way[j, i])) for j in range(n_rows)] for i in range(n_rows)], dtype=float
    )


def roughness(affinity, f, power):
    """``sum over edges w_ij |f_i - f_j|^power``, each edge once."""
    n_rows = len(f)
    return sum(affinity[i, j] * abs(f[i] - f[j]) ** power for i in range(n_rows) for j in range(i))


def reachable(affinity):
    """Which rows a path joins, by repeated squaring of the adjacency."""
    joins = (affinity > 0) | np.eye(len(affinity), dtype=bool)
    for _ in range(len(affinity).bit_length()):
        joins = joins @ joins
    return joins
