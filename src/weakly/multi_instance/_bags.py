"""Bags of instances as one matrix of rows, and the way back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Bags(NamedTuple):
    """Instances of all bags, stacked.

    Parameters
    ----------
    rows : {array-like, sparse matrix} of shape (n_rows, n_features)
        Instances.
    bag_of : ndarray of shape (n_rows,)
        Number of the bag of each row, from 0.
    n_bags : int
        Number of bags.
    is_list : bool
        Whether they came as a list with an entry per bag.
    """

    rows: Any
    bag_of: np.ndarray
    n_bags: int
    is_list: bool

    def largest(self, scores: np.ndarray) -> np.ndarray:
        """Row with the largest score of each bag; the first of several."""
        order = np.lexsort((np.arange(len(scores)), -scores, self.bag_of))
        return order[np.searchsorted(self.bag_of[order], np.arange(self.n_bags))]

    def per_row(self, values: np.ndarray) -> Any:
        """Values of rows in the form that the bags came in."""
        return np.split(values, self.starts[1:]) if self.is_list else values

    @property
    def starts(self) -> np.ndarray:
        """First row of each bag of a list."""
        return np.searchsorted(self.bag_of, np.arange(self.n_bags))


def stack_bags(X: Any) -> Bags:
    """Stack bags that come as a list of matrices, as rows with bag numbers, or as rows that are bags of one.

    Parameters
    ----------
    X : list of matrices, pair (rows, ids) or matrix
        Bags. Those of a pair are taken in the sorted order of their ids.

    Returns
    -------
    Bags
        The bags.

    Raises
    ------
    ValueError
        If bags are empty, or differ in width, or ids and rows in length, naming the bag.
    """
    if isinstance(X, tuple) and len(X) == 2 and np.ndim(X[1]) == 1:
        return _from_ids(*X)
    if isinstance(X, list | tuple) and len(X) and all(len(np.shape(bag)) == 2 for bag in X):
        return _from_list(X)
    if isinstance(X, list | tuple) and len(X) and any(len(np.shape(bag)) == 2 for bag in X):
        odd = next(number for number, bag in enumerate(X) if len(np.shape(bag)) != 2)
        raise ValueError(f"Bag {odd} is no matrix of instances by features: reshape it.")
    X = X if hasattr(X, "shape") else np.asarray(X)
    n_rows = X.shape[0] if X.shape else 0
    return Bags(X, np.arange(n_rows), n_rows, False)


def _from_ids(rows: Any, ids: Any) -> Bags:
    if np.shape(rows)[0] != len(ids):
        raise ValueError(f"There are {np.shape(rows)[0]} rows and {len(ids)} bag ids: give one id per row.")
    known, bag_of = np.unique(np.asarray(ids), return_inverse=True)
    return Bags(rows, bag_of, len(known), False)


def _from_list(bags: Any) -> Bags:
    sizes = np.array([np.shape(bag)[0] for bag in bags])
    widths = np.array([np.shape(bag)[1] for bag in bags])
    if not sizes.all():
        raise ValueError(f"Bag {np.flatnonzero(sizes == 0)[0]} has no instances: leave it out.")
    if (widths != widths[0]).any():
        odd = np.flatnonzero(widths != widths[0])[0]
        raise ValueError(
            f"Bag {odd} has {widths[odd]} features and bag 0 has {widths[0]}: all need the same."
        )
    for number, bag in enumerate(bags):
        if not np.isfinite(bag.data if sp.issparse(bag) else np.asarray(bag, dtype=float)).all():
            raise ValueError(f"Bag {number} contains NaN or infinity: impute it or leave it out.")
    rows = sp.vstack(bags, format="csr") if any(map(sp.issparse, bags)) else np.vstack(bags)
    return Bags(rows, np.repeat(np.arange(len(sizes)), sizes), len(sizes), True)
