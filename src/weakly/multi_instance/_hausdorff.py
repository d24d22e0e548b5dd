"""Distances between bags: how far the instances of one are from the nearest ones of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from weakly.multi_instance._bags import Bags, named
from weakly.multi_instance._forms import read_bags

KINDS = ("minimal", "median", "maximal", "average")
_BLOCK_ENTRIES = 5_000_000  # distances between instances at a time


def bag_distances(bags: Any, others: Any, kind: str = "minimal") -> np.ndarray:
    """Hausdorff distances between bags.

    Parameters
    ----------
    bags, others : Bags, list of matrices, pair (matrix, ids) or matrix
        Bags, none of them empty.
    kind : {"minimal", "median", "maximal", "average"}, default="minimal"
        Each instance has a distance to the nearest instance of the other bag. Of these, "minimal" takes the
        least, "median" the middle one and "maximal" the largest of each bag, then the larger of the two;
        "average" takes the mean over the instances of both.

    Returns
    -------
    ndarray of shape (n_bags, n_others)
        The distances.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.multi_instance import Bags, bag_distances
    >>> a, b = Bags.from_list([np.array([[0.0], [1.0]])]), Bags.from_list([np.array([[1.0], [5.0]])])
    >>> [bag_distances(a, b, kind).item() for kind in ("minimal", "maximal", "average")]
    [0.0, 4.0, 1.25]
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}: use one of {', '.join(KINDS)}.")
    bags, others = read_bags(bags).bags, read_bags(others).bags
    for part in (bags, others):
        if not part.sizes.all():
            name = named(part.ids[np.flatnonzero(part.sizes == 0)[0]])
            raise ValueError(f"Bag {name} is empty, and no distance from it: leave it out.")
    if not len(bags) or not len(others):
        return np.empty((len(bags), len(others)))
    unit = _unit(bags.rows, others.rows)
    bags, others = (part.with_rows(part.rows.astype(np.float64) / unit) for part in (bags, others))
    if not sp.issparse(bags.rows) and not sp.issparse(others.rows):
        center = others.rows.mean(axis=0)  # far from the origin differences would drown in rounding
        bags, others = bags.with_rows(bags.rows - center), others.with_rows(others.rows - center)
    n_bags = max(1, int(_BLOCK_ENTRIES // (max(bags.sizes.mean(), 1) * others.rows.shape[0])))
    blocks = [bags[start : start + n_bags] for start in range(0, len(bags), n_bags)]
    return unit * np.vstack([_block(block, others, kind) for block in blocks])


def _unit(*matrices: Any) -> float:
    """A power of two near the largest entry: in units of it no square overflows, and nothing is rounded."""
    entries = (matrix.data if sp.issparse(matrix) else matrix for matrix in matrices)
    largest = max(float(np.abs(part).max(initial=0)) for part in entries)
    return float(2.0 ** np.frexp(largest)[1]) if 0 < largest < 1e300 else 1.0


def _block(bags: Bags, others: Bags, kind: str) -> np.ndarray:
    between = euclidean_distances(bags.rows, others.rows)
    to_others = np.minimum.reduceat(between, others.offsets[:-1], axis=1)  # instance to the nearest of a bag
    if kind == "minimal":
        return np.minimum.reduceat(to_others, bags.offsets[:-1], axis=0)
    to_bags = np.minimum.reduceat(between, bags.offsets[:-1], axis=0)
    if kind == "average":
        sums = np.add.reduceat(to_others, bags.offsets[:-1], axis=0)
        sums += np.add.reduceat(to_bags, others.offsets[:-1], axis=1)
        return sums / np.add.outer(bags.sizes, others.sizes)
    quantile = {"median": 0.5, "maximal": 1.0}[kind]
    return np.maximum(_ranked(to_others, bags, quantile), _ranked(to_bags.T, others, quantile).T)


def _ranked(distances: np.ndarray, bags: Bags, quantile: float) -> np.ndarray:
    """Distance at a rank within each bag, of distances with a row per instance."""
    if quantile == 1.0:
        return np.maximum.reduceat(distances, bags.offsets[:-1], axis=0)
    bag_of = np.broadcast_to(bags.bag_of[:, None], distances.shape)
    order = np.lexsort((distances, bag_of), axis=0)
    places = bags.offsets[:-1] + np.ceil(quantile * bags.sizes).astype(np.intp) - 1
    return np.take_along_axis(distances, order[places], axis=0)
