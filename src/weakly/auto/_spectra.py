"""Spectra in which the kernels of a bank are plain weights: of landmarks, graphs, clusters, variances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, svds
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from weakly.auto._views import Views
from weakly.graphs import Graph
from weakly.rows._arrays import dense_bytes, dtype_of, memory_limit, namespace, to_host
from weakly.rows._blocks import ArrayBlocks
from weakly.spaces._filtered import inverse_root

_DENSE_ROWS = 3000  # to which eigenvectors of a graph come from a dense matrix
_ROWS_PER_CLUSTER = 5  # at least, on average
_KMEANS_SWEEPS = 100
_GRAIN = 1e-6  # of squared distances, relative to the variance of rows
_EIGEN_TOL = 1e-3
_EQUAL_EIGENVALUES = 1e-6
_GRAM_SIDE = 2000  # columns, or rows, to which principal components come from a dense matrix
_LEAST_VARIANCE = 1e-10  # of a component, relative to the first


@dataclass(frozen=True)
class DistanceKernel:
    """The kernel ``exp(-d^2 / (2 width^2))`` of the distance, "rbf", or ``exp(-d / width)``, "laplace"."""

    name: str
    width: float

    def __call__(self, views: Views) -> Any:
        """Kernel of rows with the landmarks, an array of the kind of their distances."""
        squared = views.squared_distances
        math, number = namespace(squared), dtype_of(squared).type
        if self.name == "rbf":
            return math.exp(squared / number(-2 * self.width**2))
        return math.exp(math.sqrt(squared) / number(-self.width))


def whitening_of(gram: np.ndarray) -> np.ndarray:
    """``G^-1/2`` of a Gram matrix, without the directions that are made of rounding."""
    gram = to_host(gram)
    return inverse_root(*sla.eigh(gram.astype(np.float64), check_finite=False), gram.dtype)


def graph_spectrum(graph: Graph, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest eigenvalues of the symmetric Laplacian, and eigenvectors of mean square 1."""
    laplacian = graph.laplacian("symmetric")
    n_rows = graph.n_rows
    if n_rows <= _DENSE_ROWS:
        subset = (0, min(n_vectors, n_rows) - 1)
        matrix = laplacian.toarray().astype(np.float64)
        values, vectors = sla.eigh(matrix, subset_by_index=subset, overwrite_a=True, check_finite=False)
    else:
        # The lowest of L are the highest of I - L, which Lanczos finds without a factorization.
        walk = (sp.eye_array(n_rows, dtype=laplacian.dtype) - laplacian).tocsr()
        start = np.sqrt(graph.degrees) + np.random.default_rng(0).random(n_rows, dtype=np.float32)
        start = start.astype(walk.dtype)
        found, vectors = eigsh(walk, n_vectors, which="LA", v0=start, tol=_EIGEN_TOL, ncv=2 * n_vectors)
        values, vectors = 1 - found[::-1].astype(np.float64), vectors[:, ::-1]
    return np.maximum(values, 0), vectors * np.sqrt(n_rows)


def whole(spectrum: np.ndarray, n_vectors: int) -> int:
    """So many eigenvectors, and all that share the last eigenvalue: a part of them would be arbitrary."""
    last = spectrum[min(n_vectors, len(spectrum)) - 1]
    return int(np.sum(spectrum <= last + _EQUAL_EIGENVALUES))


@dataclass(frozen=True, eq=False)
class Clusterings:
    """Several clusterings of an embedding of rows, and the cluster of new rows in each.

    ``embed`` leads from views of rows to their embedding. Squared distances to centres that differ by less
    than ``grain`` are equal.
    """

    embed: Callable[[Views], np.ndarray]
    centres: list[np.ndarray]
    grain: float

    def __call__(self, views: Views) -> sp.csr_array:
        """Indicators of the clusters of rows, those of all clusterings side by side."""
        return self.indicators(self.embed(views))

    def indicators(self, embedding: np.ndarray) -> sp.csr_array:
        """Indicators of rows that are embedded already."""
        n_runs, n_rows = len(self.centres), len(embedding)
        starts = np.cumsum([0] + [len(centres) for centres in self.centres])
        columns = np.stack([_nearest(embedding, centres, self.grain) for centres in self.centres], axis=1)
        pointers = np.arange(0, n_runs * n_rows + 1, n_runs)
        entries = np.ones(n_runs * n_rows, embedding.dtype)
        return sp.csr_array((entries, (columns + starts[:-1]).ravel(), pointers), shape=(n_rows, starts[-1]))


def cluster_counts(n_rows: int, wanted: Iterable[int]) -> list[int]:
    """Numbers of clusters, each once, and none of more clusters than samples can fill."""
    most = max(2, n_rows // _ROWS_PER_CLUSTER)
    return sorted({min(number, most) for number in wanted})


def find_clusterings(
    views: Views, embed: Callable[[Views], np.ndarray], n_clusters: int, n_runs: int, seed: int
) -> Clusterings:
    """Run k-means from several starts on an embedding of samples."""
    sample = embed(views)
    grain = _GRAIN * (float(sample.var(axis=0, dtype=np.float64).sum()) or 1.0)
    centres = [_k_means(sample, n_clusters, seed + run, grain) for run in range(n_runs)]
    return Clusterings(embed, centres, grain)


def _k_means(rows: np.ndarray, n_clusters: int, seed: int, grain: float) -> np.ndarray:
    """Centres of Lloyd's iteration, in which rounding decides nothing.

    Parts of a graph are at right angles in its spectrum, and a part without a centre is as far from one as
    from another: scikit-learn's k-means then depends on the number of threads.
    """
    centres = rows[kmeans_plusplus(rows, n_clusters, random_state=seed)[1]]
    labels = np.zeros(0)
    for _ in range(_KMEANS_SWEEPS):
        before, labels = labels, _nearest(rows, centres, grain)
        if np.array_equal(before, labels):
            break
        entries = (np.ones(len(rows), rows.dtype), labels, np.arange(len(rows) + 1))
        members = sp.csr_array(entries, shape=(len(rows), n_clusters))
        sizes = np.bincount(labels, minlength=n_clusters)[:, None]
        centres = np.where(sizes > 0, (members.T @ rows) / np.maximum(sizes, 1), centres).astype(rows.dtype)
    return centres


def _nearest(rows: np.ndarray, centres: np.ndarray, grain: float) -> np.ndarray:
    """The nearest centre of each row, the first of several that are as near up to rounding."""
    squares = row_norms(centres, squared=True)

    def of_block(rows: np.ndarray) -> np.ndarray:
        return np.rint((squares - 2 * (rows @ centres.T)) / grain).argmin(axis=1)

    return ArrayBlocks(rows).map(of_block, width=None, dtype=np.intp)


def principal_components(rows: Any, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Variances and directions of the largest principal components of rows; centered rows are never formed.

    There are fewer of them where the directions would pass half the memory limit.
    """
    n_rows, n_columns = rows.shape
    affordable = memory_limit() // (2 * dense_bytes(n_columns))
    n_components = max(1, min(n_components, affordable))
    mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    if n_columns <= min(n_rows, _GRAM_SIDE):
        covariance = safe_sparse_dot(rows.T, rows, dense_output=True).astype(np.float64) / n_rows - np.outer(
            mean, mean
        )
        values, directions = sla.eigh(covariance, check_finite=False)
    elif n_rows <= _GRAM_SIDE:
        values, directions = _gram_components(rows, n_components)
    else:
        values, directions = _lanczos_components(rows, mean.astype(rows.dtype), n_components)
    values, directions = values[::-1][:n_components], directions[:, ::-1][:, :n_components]
    kept = values > max(values[0], 0) * _LEAST_VARIANCE
    kept[0] = True  # of rows that are all equal, too
    return np.maximum(values[kept], 0), directions[:, kept]


def _gram_components(rows: Any, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """The last so many eigenvalues and directions, from the products of few rows with each other."""
    n_rows = rows.shape[0]
    gram = safe_sparse_dot(rows, rows.T, dense_output=True).astype(np.float64) / n_rows
    level = gram.mean(axis=0)
    values, vectors = sla.eigh(gram - level - level[:, None] + level.mean(), check_finite=False)
    values, vectors = np.maximum(values[-n_components:], 0), vectors[:, -n_components:]
    lengths = np.sqrt(np.maximum(values, values[-1] * _LEAST_VARIANCE) * n_rows)
    directions = rows.T @ (vectors - vectors.mean(axis=0))  # those of the centered rows
    directions /= np.where(lengths > 0, lengths, 1)  # of rows that are all equal no direction is left
    return values, directions


def _lanczos_components(rows: Any, mean: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    centered = LinearOperator(
        rows.shape,
        matvec=lambda x: rows @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda x: rows.T @ x.ravel() - mean * x.sum(),
        matmat=lambda x: rows @ x - mean @ x,
        rmatmat=lambda x: rows.T @ x - np.outer(mean, x.sum(axis=0)),
        dtype=rows.dtype,
    )
    start = np.random.default_rng(0).random(min(rows.shape)).astype(rows.dtype)
    _, singular, directions = svds(centered, k=n_components, v0=start, tol=_EIGEN_TOL)
    return singular.astype(np.float64) ** 2 / rows.shape[0], directions.T.astype(np.float64)
