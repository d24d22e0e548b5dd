"""Anchors of rows, and the weights that rows have on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.extmath import randomized_svd, row_norms

from weakly._compat import openmp_after_fork
from weakly.graphs._anchor_kernels import add_gram, least_columns, reconstruct, squared_lengths
from weakly.graphs._neighbors import check_bandwidth, nearest_centres
from weakly.rows._arrays import (
    dense_bytes,
    is_count,
    occupied_columns,
    pick_columns,
    require_fit,
    squarable,
)
from weakly.rows._blocks import RowBlocks, sample_rows

ANCHOR_WEIGHTS = ("self-tuning", "binary", "rbf", "cosine", "reconstruction")
SELECTIONS = ("k-means", "random")
_ROWS_PER_ANCHOR = 3  # at least, on average
_SAMPLE_PER_ANCHOR = 20  # rows that k-means sees
_BATCH_PER_ANCHOR = 4
_SWEEPS = 6  # of k-means over the sample
_DIRECTIONS = 50  # in which rows of many columns are compared
_DIRECTION_ROWS = 5000  # that these are learned from
_BANDWIDTH_ROWS = 1000
_TOO_FAR = "X has entries so far from the anchors that distances overflow float64: scale the features."
_BLOCK_ENTRIES = 2**22  # distances between rows and anchors at a time


@dataclass(frozen=True, eq=False)
class AnchorMap:
    """From rows to their weights on the nearest anchors.

    Parameters
    ----------
    anchors : ndarray of shape (n_anchors, n_directions)
        The anchors.
    n_neighbors : int
        Anchors of a row.
    weights : {"self-tuning", "binary", "rbf", "cosine", "reconstruction"}, default="self-tuning"
        See :func:`anchor_graph`.
    bandwidth : float, default=1.0
        Width of "rbf" weights.
    directions : ndarray of shape (n_columns, n_directions) or None, default=None
        Combinations of columns in which rows are compared; ``None`` compares the columns themselves.
    columns : ndarray of int or None, default=None
        Features that the directions combine; ``None`` is all.
    device : str or None, default=None
        Where rows are compared with anchors, through PyTorch; ``None`` is NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import AnchorMap
    >>> halfway = AnchorMap(np.array([[0.0], [4.0], [9.0]]), 2, "reconstruction")
    >>> halfway(np.array([[1.0]])).toarray().tolist()
    [[0.75, 0.25, 0.0]]
    """

    anchors: np.ndarray
    n_neighbors: int
    weights: str = "self-tuning"
    bandwidth: float = 1.0
    directions: np.ndarray | None = None
    columns: np.ndarray | None = None
    device: str | None = None

    @property
    def n_anchors(self) -> int:
        return self.anchors.shape[0]

    def __call__(self, X: Any) -> sp.csr_array:
        """Weights of rows: so many entries in each line, which sum to 1."""
        return weight_matrix(*self.nearest(X), self.n_anchors)

    def nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors of rows, and their weights, both of shape (n_rows, n_neighbors)."""
        nearest = np.empty((X.shape[0], self.n_neighbors), dtype=np.int32)
        weights = np.empty(nearest.shape, dtype=np.result_type(X.dtype, np.float32))
        width = max(self.n_anchors, X.shape[1] if self.directions is None else 1)
        for block in gen_batches(X.shape[0], max(1, _BLOCK_ENTRIES // width)):
            rows = self._seen(X[block])
            if not self._holds(rows):
                rows = self._seen(X[block].astype(np.float64), np.float64)
                if not np.isfinite(float(np.abs(rows).max()) * self._extent * rows.shape[1]):
                    raise ValueError(_TOO_FAR)
            self._find(rows, nearest[block])
            weights[block] = self._weigh(rows, nearest[block])
        return nearest, weights

    def to_numpy(self) -> AnchorMap:
        """The same map without a device."""
        return replace(self, device=None)

    def _holds(self, rows: np.ndarray) -> bool:
        """Whether the type of rows holds their products with the anchors, and those of the anchors."""
        info, extent = np.finfo(rows.dtype), max(float(np.abs(rows).max()), self._extent)
        overflows = 2 * rows.shape[1] * extent * self._extent >= float(info.max)
        vanishes = 0 < self._extent < np.sqrt(float(info.tiny)) / float(info.eps)
        return not (overflows or vanishes)

    def _find(self, rows: np.ndarray, nearest: np.ndarray) -> None:
        """Put the nearest anchors of rows into an array."""
        if self.device is not None:
            nearest[:] = nearest_centres(rows, self._centred, self.n_neighbors, self.device)
            return
        products = rows @ self._centred.T
        products *= -2
        products += self._norms if rows.dtype == self.anchors.dtype else self._norms_in(rows.dtype)
        least_columns(products, nearest)

    def statistics(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Masses ``Z'1`` and Gram matrix ``Z'Z`` of rows, in float64."""
        return weight_statistics(*self.nearest(X), self.n_anchors)

    def _seen(self, rows: Any, dtype: Any = None) -> np.ndarray:
        """Rows as they are compared, from an origin amid the anchors.

        Far from 0, single precision would see nothing but the offset.
        """
        rows = compared(pick_columns(rows, self.columns), self.directions, self.weights)
        return np.ascontiguousarray(rows - self._origin, dtype=self.anchors.dtype if dtype is None else dtype)

    @cached_property
    def _origin(self) -> np.ndarray:
        return self.anchors.mean(axis=0)

    @cached_property
    def _centred(self) -> np.ndarray:
        return self.anchors - self._origin

    @cached_property
    def _extent(self) -> float:
        return float(np.abs(self._centred).max())

    @cached_property
    def _norms(self) -> np.ndarray:
        return self._norms_in(self.anchors.dtype)

    def _norms_in(self, dtype: Any) -> np.ndarray:
        return row_norms(self._centred.astype(dtype, copy=False), squared=True)

    def _weigh(self, rows: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """Weights of the nearest anchors; lines sum to 1."""
        weights = np.empty(nearest.shape)
        if self.weights == "reconstruction":
            reconstruct(rows, self._centred, nearest, weights)
            return weights
        squared = np.empty(nearest.shape)
        squared_lengths(rows, self._centred, nearest, squared)
        if self.weights == "self-tuning":
            furthest = squared.max(axis=1, keepdims=True)  # the local scale
            weights = np.exp(-squared / np.where(furthest > 0, furthest, 1))
        elif self.weights == "rbf":
            # The nearest anchor counts 1: far from all anchors the others would count 0 / 0.
            with np.errstate(over="ignore"):  # infinitely many widths apart is far
                further = (squared - squared.min(axis=1, keepdims=True)) / self.bandwidth / self.bandwidth
            weights = np.exp(-further / 2)
        elif self.weights == "cosine":
            cosines = np.maximum(1 - squared / 2, 0)
            weights = np.where(cosines.any(axis=1, keepdims=True), cosines, 1.0)
        else:
            weights[:] = 1
        return weights / weights.sum(axis=1, keepdims=True)


def learn_anchors(
    blocks: RowBlocks,
    *,
    n_anchors: int = 1000,
    n_neighbors: int = 5,
    weights: str = "self-tuning",
    anchors: Any = None,
    selection: str = "k-means",
    n_directions: int | str | None = "auto",
    bandwidth: float | None = None,
    random_state: Any = None,
    device: str | None = None,
) -> AnchorMap:
    """Choose the anchors of rows in blocks, and the way from rows to weights: parameters as above."""
    _check(weights, selection, bandwidth)
    generator = check_random_state(random_state)
    n_anchors = _fewer(n_anchors, blocks.shape[0], n_neighbors)
    directions = columns = None
    if anchors is None:
        sample = sample_rows(blocks, _SAMPLE_PER_ANCHOR * n_anchors, generator)
        squarable(sample)
        n_directions = _resolve(n_directions, blocks.shape[1])
        if n_directions is None:
            _require_dense(sample)
        else:
            columns = occupied_columns(sample)
            sample = pick_columns(sample, columns)
            directions = _principal(sample, n_directions, generator)
        anchors = _choose(compared(sample, directions, weights), n_anchors, selection, generator)
    else:
        anchors = check_array(anchors, dtype=blocks.dtype, input_name="anchors")
        if anchors.shape[1] != blocks.shape[1]:
            raise ValueError(
                f"anchors have {anchors.shape[1]} columns and rows {blocks.shape[1]}: they must be the same."
            )
    anchors = normalize(anchors) if weights == "cosine" else anchors
    if n_neighbors > len(anchors):
        raise ValueError(
            f"n_neighbors is {n_neighbors}: it must be from 1 to the number of anchors, {len(anchors)}."
        )
    if weights == "rbf" and bandwidth is None:
        rows = pick_columns(sample_rows(blocks, _BANDWIDTH_ROWS, generator), columns)
        rows = compared(rows, directions, weights)
        bandwidth = _median_distance(anchors, rows)
    return AnchorMap(anchors, n_neighbors, weights, bandwidth or 1.0, directions, columns, device)


def _fewer(n_anchors: int, n_rows: int, n_neighbors: int) -> int:
    """So many anchors, but not so many that they stand for hardly any row but themselves."""
    for name, count in (("n_anchors", n_anchors), ("n_neighbors", n_neighbors)):
        if not is_count(count):
            raise ValueError(f"{name} is {count!r}: it must be a whole number of at least 1.")
    return min(int(n_anchors), max(n_rows // _ROWS_PER_ANCHOR, min(2 * n_neighbors, n_rows)))


def compared(rows: Any, directions: np.ndarray | None, weights: str) -> np.ndarray:
    """Rows in the form in which their distances are taken, dense."""
    if directions is not None:
        rows = rows @ directions
    elif sp.issparse(rows):
        rows = rows.toarray()
    return normalize(rows) if weights == "cosine" else np.asarray(rows)


def _check(weights: str, selection: str, bandwidth: float | None) -> None:
    if weights not in ANCHOR_WEIGHTS:
        raise ValueError(f"weights of anchors are {weights!r}: use one of {', '.join(ANCHOR_WEIGHTS)}.")
    if selection not in SELECTIONS:
        raise ValueError(f"selection is {selection!r}: use 'k-means' or 'random'.")
    check_bandwidth(bandwidth)


def _resolve(n_directions: int | str | None, n_features: int) -> int | None:
    """Number of directions in which samples are compared; ``None`` compares all features."""
    if n_directions == "auto":
        return _DIRECTIONS if n_features > 2 * _DIRECTIONS else None
    if n_directions is None:
        return None
    if not is_count(n_directions, n_features):
        raise ValueError(
            f"n_directions is {n_directions!r}: it must be from 1 to n_features = {n_features}, "
            "'auto' or None."
        )
    return int(n_directions)


def _require_dense(sample: Any) -> None:
    if sp.issparse(sample):
        n_bytes = dense_bytes(*sample.shape, dtype=sample.dtype)
        require_fit(n_bytes, "the dense sample that anchors are chosen from", "set n_directions")


def _principal(sample: Any, n_directions: int, generator: np.random.RandomState) -> np.ndarray:
    """The directions of largest variance of a sample."""
    rows = sample[np.sort(generator.permutation(sample.shape[0])[:_DIRECTION_ROWS])]
    # Sparse rows are not centred, which would fill them: their mean is one more direction.
    rows, _ = _scaled(rows)
    centred = rows if sp.issparse(rows) else rows - rows.mean(axis=0)
    n_found = min(n_directions, *rows.shape)
    _, _, directions = randomized_svd(centred, n_found, random_state=generator)
    return np.ascontiguousarray(directions.T, dtype=sample.dtype)


def _scaled(rows: Any) -> tuple[Any, Any]:
    """Rows in a unit in which squares are numbers of their type; a power of 2, which changes no digit."""
    entries = rows.data if sp.issparse(rows) else rows
    unit = np.exp2(np.frexp(float(np.abs(entries).max(initial=0)))[1])
    unit = rows.dtype.type(1 if 1e-9 < unit < 1e9 else unit)
    return (rows if unit == 1 else rows / unit), unit


def _choose(
    sample: np.ndarray, n_anchors: int, selection: str, generator: np.random.RandomState
) -> np.ndarray:
    if selection == "random" or n_anchors == len(sample):
        return sample[np.sort(generator.permutation(len(sample))[:n_anchors])]
    # Without early stopping, which would ask for sums whose rounding depends on the number of threads, and
    # without moving centres of few rows, which would put some on the same row.
    means = MiniBatchKMeans(
        n_anchors,
        init="random",
        batch_size=_BATCH_PER_ANCHOR * n_anchors,
        max_iter=_SWEEPS,
        n_init=1,
        max_no_improvement=None,
        reassignment_ratio=0.0,
        random_state=generator,
    )
    scaled, unit = _scaled(sample)
    with openmp_after_fork():
        return means.fit(scaled).cluster_centers_ * unit


def _median_distance(anchors: np.ndarray, rows: np.ndarray) -> float:
    """Median distance of rows to their nearest anchor, of those that are none themselves."""
    nearest, _ = AnchorMap(anchors, 1, "binary").nearest(rows)
    differences = rows.astype(np.float64) - anchors[nearest[:, 0]]
    distances = np.sqrt(row_norms(differences, squared=True))
    return float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0


def weight_matrix(nearest: np.ndarray, weights: np.ndarray, n_anchors: int) -> sp.csr_array:
    """Weights of rows as a sparse matrix with as many entries in each line."""
    n_rows, width = nearest.shape
    pointers = np.arange(0, nearest.size + 1, width)
    return sp.csr_array((weights.ravel(), nearest.ravel(), pointers), shape=(n_rows, n_anchors))


def main_anchors(weights: sp.csr_array) -> np.ndarray:
    """The anchor of largest weight of each row; the nearest may have none, in a reconstruction."""
    n_rows = weights.shape[0]
    largest = weights.data.reshape(n_rows, -1).argmax(axis=1)
    return weights.indices.reshape(n_rows, -1)[np.arange(n_rows), largest]


def weight_statistics(
    nearest: np.ndarray, weights: np.ndarray, n_anchors: int
) -> tuple[np.ndarray, np.ndarray]:
    masses = np.bincount(nearest.ravel(), weights=weights.ravel(), minlength=n_anchors)
    gram = np.zeros((n_anchors, n_anchors))
    add_gram(nearest, weights, gram)
    return masses, gram
