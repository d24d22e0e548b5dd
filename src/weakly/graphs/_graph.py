"""Graphs of neighbors, and of given affinities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from weakly.graphs._neighbors import (
    edge_distances,
    edge_weights,
    neighbors_within,
    normalized,
    search_neighbors,
)
from weakly.rows._arrays import is_count, is_positive, read_samples, resolve_device, squarable

WEIGHTS = ("self-tuning", "binary", "rbf", "cosine")
LAPLACIANS = ("symmetric", "unnormalized", "random-walk")
_TUNING_NEIGHBOR = 7  # the local scale of self-tuning weights is the distance to this neighbour


class Connected:
    """What any graph over rows says of its connected components."""

    def __deepcopy__(self, memo: dict) -> Self:
        return self  # immutable, so that cloning an estimator that holds a graph costs nothing

    @cached_property
    def components(self) -> np.ndarray:
        """Index of the connected component of each row."""
        raise NotImplementedError

    def unreached(self, labeled: np.ndarray) -> np.ndarray:
        """Mark the rows in components without any labelled row.

        Parameters
        ----------
        labeled : ndarray of int
            Labelled rows.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            True where no label arrives along the graph.
        """
        return ~np.isin(self.components, self.components[labeled])


@dataclass(frozen=True, eq=False)
class Graph(Connected):
    """An undirected weighted graph over rows.

    Parameters
    ----------
    affinity : csr_array of shape (n_rows, n_rows)
        Symmetric, non-negative, zero on the diagonal.

    See Also
    --------
    neighbor_graph : Connect each row to its nearest neighbours.
    radius_graph : Connect rows within a distance.
    affinity_graph : Check and adopt a given affinity.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> path = affinity_graph(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    >>> path.laplacian("unnormalized").toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 3.0, -2.0], [0.0, -2.0, 2.0]]
    """

    affinity: sp.csr_array

    @property
    def n_rows(self) -> int:
        return self.affinity.shape[0]

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of the weights at each row."""
        return np.asarray(self.affinity.sum(axis=1)).ravel()

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows ``i < j`` and weight of each edge, once, in lexicographic order."""
        upper = sp.triu(self.affinity, k=1, format="coo")
        order = np.lexsort((upper.col, upper.row))
        return upper.row[order], upper.col[order], upper.data[order]

    @cached_property
    def components(self) -> np.ndarray:
        """Index of the connected component of each row."""
        return sp.csgraph.connected_components(self.affinity, directed=False)[1]

    def laplacian(self, kind: str = "symmetric") -> sp.csr_array:
        """Graph Laplacian; rows without neighbours get a zero row.

        Parameters
        ----------
        kind : {"symmetric", "unnormalized", "random-walk"}, default="symmetric"
            ``I - D^-1/2 W D^-1/2``, ``D - W`` or ``I - D^-1 W``.

        Returns
        -------
        csr_array of shape (n_rows, n_rows)
            Positive semi-definite, except that "random-walk" is not symmetric.
        """
        if kind not in LAPLACIANS:
            raise ValueError(f"laplacian is {kind!r}: use one of {', '.join(LAPLACIANS)}.")
        degrees, dtype = self.degrees, np.result_type(self.affinity.dtype, np.float32)
        if kind == "unnormalized":
            return (sp.diags_array(degrees) - self.affinity).tocsr().astype(dtype)
        connected = degrees > 0
        safe = np.where(connected, degrees, 1)
        if kind == "random-walk":
            smoothing = sp.diags_array(1 / safe) @ self.affinity
        else:
            root = sp.diags_array(1 / np.sqrt(safe))
            smoothing = root @ self.affinity @ root
        return (sp.diags_array(connected.astype(float)) - smoothing).tocsr().astype(dtype)

    def incidence(self) -> sp.csr_array:
        """Weighted incidence ``D``: one row ``w_ij (e_i - e_j)`` per edge, so that TV(f) = ``||D f||_1``.

        Returns
        -------
        csr_array of shape (n_edges, n_rows)
            Edges in lexicographic order, each once.
        """
        i, j, w = self.edges
        entries = np.column_stack([w, -w]).ravel()
        pointers = np.arange(0, 2 * len(w) + 1, 2)
        return sp.csr_array((entries, np.column_stack([i, j]).ravel(), pointers), shape=(len(w), self.n_rows))


def affinity_graph(affinity: Any) -> Graph:
    """Check a given affinity matrix and adopt it.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_rows, n_rows)
        Symmetric and non-negative; the diagonal is ignored.

    Returns
    -------
    Graph
        With the same weights.

    Examples
    --------
    >>> from weakly.graphs import affinity_graph
    >>> affinity_graph([[0, 1], [1, 0]]).degrees.tolist()
    [1.0, 1.0]
    """
    matrix = check_array(
        affinity,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        input_name="affinity",
        ensure_min_samples=0,
    )
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"affinity has shape {matrix.shape}: it must be square, one row and column per row of X."
        )
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(
            "affinity has negative entries: weights say how alike two rows are, use values >= 0."
        )
    asymmetry = abs(matrix - matrix.T)
    if asymmetry.nnz and asymmetry.max() > 1e-6 * matrix.max():
        raise ValueError("affinity is not symmetric: use affinity.maximum(affinity.T), or their mean.")
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return Graph(matrix)


def neighbor_graph(
    X: Any,
    *,
    n_neighbors: int = 5,
    weights: str = "self-tuning",
    symmetrize: str = "max",
    search: str = "auto",
    bandwidth: float | None = None,
    is_kernel: bool = False,
    random_state: Any = None,
    device: Any = None,
) -> Graph:
    """Connect each row to its nearest neighbours.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows, or their Gram matrix with ``is_kernel``.
    n_neighbors : int, default=5
        Neighbours of each row, itself not counted.
    weights : {"self-tuning", "binary", "rbf", "cosine"}, default="self-tuning"
        ``exp(-d^2 / (s_i s_j))`` with ``s`` the distance to the 7th neighbour (or the last, if fewer);
        1; ``exp(-d^2 / (2 bandwidth^2))``; or the cosine of the angle between rows, negative ones cut at
        0, in which case neighbours are those of smallest angle.
    symmetrize : {"max", "mean"}, default="max"
        How the two directions of an edge are joined.
    search : {"auto", "exact", "approximate", "cells"}, default="auto"
        "approximate" uses pynndescent (extra ``ann``); "auto" uses it beyond 30,000 rows when installed.
        "cells" compares dense rows within the small cells of several clusterings: about nine neighbours
        in ten are found, in a time that grows with the number of rows only.
    bandwidth : float, optional
        Width of "rbf" weights; the median neighbour distance by default.
    is_kernel : bool, default=False
        ``X`` is a Gram matrix, and distances are those in its feature space.
    random_state : int, RandomState or None, default=None
        For the approximate search.
    device : str, torch.device or None, default=None
        Device on which dense rows are searched for exact neighbours, through PyTorch (extra ``gpu``), unless
        ``search`` asks for another way.

    Returns
    -------
    Graph
        Equal for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import neighbor_graph
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> neighbor_graph(X, n_neighbors=1, weights="binary").affinity.toarray().astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    """
    X = _check_rows(X, weights, is_kernel)
    n_rows = X.shape[0]
    if is_kernel and (sp.issparse(X) or X.shape != (n_rows, n_rows)):
        raise ValueError(
            f"X is {X.shape}: with is_kernel it must be the square dense Gram matrix of the rows."
        )
    if not is_count(n_neighbors, n_rows - 1):
        raise ValueError(
            f"n_neighbors is {n_neighbors!r}: it must be a whole number from 1 to n_samples - 1 = "
            f"{n_rows - 1}."
        )
    rows = normalized(X, is_kernel) if weights == "cosine" else X
    device = resolve_device(device)
    neighbors, lengths = search_neighbors(rows, n_neighbors, search, is_kernel, random_state, device)
    joining: dict[str, Any] = {"weights": weights, "symmetrize": symmetrize, "bandwidth": bandwidth}
    return join_neighbors(rows, neighbors, lengths=lengths, is_kernel=is_kernel, **joining)


def join_neighbors(
    rows: Any,
    neighbors: np.ndarray,
    *,
    weights: str = "self-tuning",
    symmetrize: str = "max",
    bandwidth: float | None = None,
    is_kernel: bool = False,
    lengths: np.ndarray | None = None,
) -> Graph:
    """Connect each row to given neighbours, nearest first: what :func:`neighbor_graph` does after the search.

    The parameters are its own; for "cosine" the rows have length 1. ``lengths`` are the distances to the
    neighbours, where the search knows them.
    """
    n_rows, n_neighbors = neighbors.shape
    sources = np.repeat(np.arange(n_rows), n_neighbors)
    if lengths is None:
        lengths = edge_distances(rows, sources, neighbors.ravel(), is_kernel)
    distances = lengths.ravel()
    local_scale = distances.reshape(n_rows, -1)[:, min(n_neighbors, _TUNING_NEIGHBOR) - 1]
    entries = edge_weights(weights, distances, local_scale, sources, neighbors.ravel(), bandwidth)
    return _assemble(entries, sources, neighbors.ravel(), rows, symmetrize)


def radius_graph(
    X: Any, *, radius: float, weights: str = "binary", bandwidth: float | None = None, symmetrize: str = "max"
) -> Graph:
    """Connect rows within a distance of each other.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows.
    radius : float
        Largest distance of an edge.
    weights : {"binary", "rbf", "self-tuning", "cosine"}, default="binary"
        As in :func:`neighbor_graph`; the local scale is the distance to the furthest row within the radius.
    bandwidth : float, optional
        Width of "rbf" weights; the median edge length by default.
    symmetrize : {"max", "mean"}, default="max"
        How the two directions of an edge are joined; they differ only by rounding.

    Returns
    -------
    Graph
        Rows without a neighbour in reach are isolated.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import radius_graph
    >>> radius_graph(np.array([[0.0], [1.0], [5.0]]), radius=2.0).degrees.tolist()
    [1.0, 1.0, 0.0]
    """
    X = _check_rows(X, weights)
    if not is_positive(radius):
        raise ValueError(f"radius is {radius!r}: it must be a positive number.")
    rows = normalized(X, is_kernel=False) if weights == "cosine" else X
    found = neighbors_within(rows, radius)
    distances = edge_distances(rows, found.row, found.col, is_kernel=False)
    local_scale = np.zeros(X.shape[0])
    np.maximum.at(local_scale, found.row, distances)
    entries = edge_weights(weights, distances, local_scale, found.row, found.col, bandwidth)
    return _assemble(entries, found.row, found.col, X, symmetrize)


def _check_rows(X: Any, weights: str, is_kernel: bool = False) -> Any:
    if weights not in WEIGHTS:
        raise ValueError(f"graph weights are {weights!r}: use one of {', '.join(WEIGHTS)}.")
    X = read_samples(X)
    return X if is_kernel else squarable(X)


def _assemble(
    entries: np.ndarray, sources: np.ndarray, targets: np.ndarray, X: Any, symmetrize: str
) -> Graph:
    shape = (X.shape[0], X.shape[0])
    one_way = sp.csr_array((entries.astype(X.dtype), (sources, targets)), shape=shape)
    if symmetrize == "max":
        affinity = one_way.maximum(one_way.T)
    elif symmetrize == "mean":
        affinity = (one_way + one_way.T) / X.dtype.type(2)
    else:
        raise ValueError(f"symmetrize is {symmetrize!r}: use 'max' or 'mean'.")
    affinity = sp.csr_array(affinity)
    affinity.eliminate_zeros()
    affinity.sort_indices()
    return Graph(affinity)
