"""Many clusters by splits in two."""

import numpy as np


def divide(space, n_clusters, least, most, split):
    """Clusters of all rows by halving them, the halves, and so on: half of the clusters go to each side.

    ``split(space, least, most)`` returns signs with so many positive ones, and the objective that they reach.
    A side that is to hold several clusters has room for all of them within the bounds of each.
    """
    codes = np.zeros(space.n_rows, dtype=np.int64)
    waiting = [(np.arange(space.n_rows), 0, n_clusters)]
    while waiting:
        rows, first, n_parts = waiting.pop()
        if n_parts == 1:
            codes[rows] = first
            continue
        part = space if len(rows) == space.n_rows else space.part(rows)
        halves = {n_parts // 2, n_parts - n_parts // 2}  # with an odd number, either side may be the larger
        tried = [_half(part, half, n_parts - half, least, most, split) for half in sorted(halves)]
        half, signs, _ = min(tried, key=lambda one: one[2])
        waiting.append((rows[signs > 0], first, half))
        waiting.append((rows[signs < 0], first + half, n_parts - half))
    return codes


def _half(space, n_here, n_there, least, most, split):
    fewest = max(n_here * least, space.n_rows - n_there * most)
    return n_here, *split(space, fewest, min(n_here * most, space.n_rows - n_there * least))
