"""A few extremely randomized trees, grown together on binned rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weakly._threads import GRAIN, run_parallel
from weakly.boosting._tree_kernels import NODE, add_free_shares, add_shares, add_vectors, grow_trees

_DEEPEST = 1000  # stands for no limit; a tree on 4000 rows is seldom deeper than 40


@dataclass(frozen=True)
class TreeRules:
    """How trees are grown.

    ``max_features`` are tried at a split, constant ones not counted. Splits are chosen by purity, else by
    the weight that the two sides classify rightly; of all cuts of a feature, else of a single random one.
    """

    n_trees: int
    max_depth: int | None
    min_samples_leaf: int
    max_features: int
    is_gini: bool = True
    is_exhaustive: bool = False


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees in flat arrays.

    ``arrays`` say where nodes, leaves and their entries of each tree start, and its levels; then come the
    nodes, and the class probabilities in the leaves. ``gains`` sums the gains of the splits on each feature.
    """

    arrays: tuple
    gains: np.ndarray
    n_classes: int

    @property
    def n_trees(self) -> int:
        return len(self.arrays[0])

    def add_to(self, scores: np.ndarray, binned: np.ndarray, scale: float) -> None:
        """Add the mean shares of the classes, times a number, to the scores of rows."""
        run_parallel(add_shares, len(binned), binned, self.arrays, scale / self.n_trees, scores, grain=GRAIN)

    def shares(self, binned: np.ndarray) -> np.ndarray:
        """Mean shares of the classes over the trees, for each row."""
        out = np.zeros((len(binned), self.n_classes))
        self.add_to(out, binned, 1.0)
        return out

    def free_shares(self, binned: np.ndarray, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Mean shares of some training rows over the trees that did not draw them; zeros where all did."""
        out = np.zeros((len(rows), self.n_classes))
        add_free_shares(binned[rows], self.arrays, drawn[:, rows], out)
        return out

    def steepest(self, binned: np.ndarray, vectors: np.ndarray) -> Forest:
        """Trees of the same leaves, each with the class of the largest sum of the vectors of its rows.

        Of all ways to name the leaves this has the largest correlation with the vectors, [rmsboost] Eq. (18),
        of which the weights of a single class of each row are a bound.
        """
        starts, nodes, pointers, _, _ = self.arrays
        sums = np.zeros((len(pointers) - 1, self.n_classes))
        run_parallel(add_vectors, self.n_trees, binned, self.arrays, vectors, sums)
        n_leaves = len(sums)
        whole = (starts, nodes, np.arange(n_leaves + 1), sums.argmax(axis=1), np.ones(n_leaves, np.float32))
        return Forest(whole, self.gains, self.n_classes)


def grow_forest(
    binned: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    rules: TreeRules,
    seeds: np.ndarray,
    n_draws: int = 0,
) -> tuple[Forest, np.ndarray]:
    """Grow trees that classify weighted samples; also return on which samples each tree was grown.

    The result depends on ``seeds``, one for each tree, and not on threads. ``n_draws`` samples are drawn for
    each tree in proportion to their weights; 0 takes all with their weights, of which some must be positive.
    """
    n_rows, n_features = binned.shape
    depth = _DEEPEST if rules.max_depth is None else min(rules.max_depth, _DEEPEST)
    fewest = min(rules.min_samples_leaf, n_rows + 1)  # more never split either
    size = min(n_draws or n_rows, n_rows)
    most = 2 * size if depth > 30 else min(2 * size, 2 ** (depth + 1))
    padded = (
        np.zeros((rules.n_trees, most), NODE),
        np.zeros((rules.n_trees, size + 1), np.int32),
        np.zeros((rules.n_trees, size), np.int32),
        np.zeros((rules.n_trees, size), np.float32),
    )
    sizes = np.zeros((rules.n_trees, 4), np.int64)
    gains = np.zeros((rules.n_trees, n_features))
    drawn = np.zeros((rules.n_trees, n_rows), bool)
    weights = weights.astype(np.float32)
    run_parallel(
        grow_trees, rules.n_trees, binned, target, weights, np.cumsum(weights, dtype=np.float64),
        n_draws, n_classes, depth,
        (rules.max_features, fewest, rules.is_gini, rules.is_exhaustive),
        seeds, padded, sizes, gains, drawn,
    )  # fmt: skip
    return Forest(_joined(padded, sizes), gains.sum(axis=0), n_classes), drawn


def _joined(padded: tuple, sizes: np.ndarray) -> tuple:
    """The records of all trees one after the other."""
    nodes, pointers, classes, shares = padded
    starts = np.cumsum(sizes, axis=0) - sizes
    n_nodes, n_leaves, n_entries, starts[:, 3] = sizes.T
    trees = range(len(sizes))
    return (
        starts,
        np.concatenate([nodes[t, : n_nodes[t]] for t in trees]),
        np.concatenate([[0], *(pointers[t, 1 : n_leaves[t] + 1] + starts[t, 2] for t in trees)]),
        np.concatenate([classes[t, : n_entries[t]] for t in trees]),
        np.concatenate([shares[t, : n_entries[t]] for t in trees]),
    )
