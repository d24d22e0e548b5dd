"""Lengths and weights of the edges of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from weakly.rows._magnitude import is_positive


def normalized(X: Any, is_kernel: bool) -> Any:
    """Rows of length 1; each row of zeros, which has no angle, stands at right angles to all others."""
    if is_kernel:
        norms = np.sqrt(np.maximum(np.diagonal(X), 0))
        norms[norms == 0] = 1
        gram = X / np.outer(norms, norms)
        np.fill_diagonal(gram, 1)
        return gram
    empty = np.flatnonzero(np.asarray(abs(X).sum(axis=1)).ravel() == 0)
    if not len(empty):
        return normalize(X)
    columns = np.arange(len(empty))
    own = sp.csr_array((np.ones(len(empty), X.dtype), (empty, columns)), shape=(X.shape[0], len(empty)))
    return sp.hstack([sp.csr_array(normalize(X)), own], format="csr")


def edge_distances(X: Any, sources: np.ndarray, targets: np.ndarray, is_kernel: bool) -> np.ndarray:
    """Lengths of edges from differences of rows: exactly 0 between duplicates, unlike the search's own."""
    if is_kernel:
        diagonal = np.diagonal(X)
        return np.sqrt(np.maximum(diagonal[sources] + diagonal[targets] - 2 * X[sources, targets], 0))
    lengths = np.empty(len(sources))
    width = X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
    for batch in gen_batches(len(sources), 2**22 // max(width, 1) or 1):
        # In float64, as the search has them: squares of small float32 numbers would vanish.
        start, end = (X[rows[batch]].astype(np.float64, copy=False) for rows in (sources, targets))
        lengths[batch] = paired_euclidean_distances(start, end)
    return lengths


def edge_weights(
    weights: str,
    distances: np.ndarray,
    local_scale: np.ndarray,
    sources: np.ndarray,
    targets: np.ndarray,
    bandwidth: float | None,
) -> np.ndarray:
    """Weights of edges by their length, see :func:`weakly.graphs.neighbor_graph`."""
    if weights == "binary":
        return np.ones_like(distances)
    if weights == "cosine":
        cosines = 1 - distances**2 / 2  # rows have length 1
        return np.where(cosines > 1e-12, cosines, 0)
    if weights == "rbf":
        if bandwidth is not None and not is_positive(bandwidth):
            raise ValueError(f"bandwidth is {bandwidth!r}: it must be a positive number.")
        positive = distances[distances > 0]
        width = bandwidth or (np.median(positive) if len(positive) else 1.0)
        with np.errstate(over="ignore"):  # infinitely many widths apart is far
            return _decay((distances / width) ** 2 / 2)
    # A sample all of whose neighbors are duplicates has scale 0: the median scale stands in.
    positive = local_scale[local_scale > 0]
    scale = np.where(local_scale > 0, local_scale, np.median(positive) if len(positive) else 1.0)
    return _decay(distances**2 / (scale[sources] * scale[targets]))


def _decay(exponents: np.ndarray) -> np.ndarray:
    """``exp(-x)``, but never 0: a far neighbor stays a neighbor, and the graph as connected as it was."""
    return np.maximum(np.exp(-exponents), np.finfo(np.float32).eps)
