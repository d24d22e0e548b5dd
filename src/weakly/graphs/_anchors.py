"""Anchor graphs: rows that are alike through the anchors they share ([liu2010]).

Each row has weights on its nearest anchors, a line of ``Z`` that sums to 1. Two rows are as alike as
``W = Z M^-1 Z'`` says, with ``M`` the masses ``Z'1`` of the anchors on the diagonal. Every row then has
degree 1, and the Laplacian is ``L = I - Z M^-1 Z'``: its products, and the small matrix ``F'LF`` of any
features ``F``, need ``Z`` alone. Rows are never compared with rows, so that time and memory grow with their
number only, and a new row needs nothing but the anchors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from weakly.graphs._anchor_map import AnchorMap, learn_anchors, main_anchors, weight_matrix, weight_statistics
from weakly.graphs._graph import Connected
from weakly.rows._arrays import cast, dense, dtype_of, namespace, resolve_device, squarable
from weakly.rows._blocks import ArrayBlocks
from weakly.rows._device import PlacedMatrix, to_device


@dataclass(frozen=True, eq=False)
class AnchorLaplacian:
    """The Laplacian ``I - Z M^-1 Z'`` of an anchor graph, as products; or ``D - g Z M^-1 Z'``.

    ``masses``, the diagonal of ``M``, are the column sums of the weights ``Z``, and ``gram`` is ``Z'Z``.
    ``own`` is the diagonal of ``D``, and ``shared`` the weight ``g`` of what rows share.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import anchor_graph
    >>> graph = anchor_graph(np.arange(4.0)[:, None], anchors=np.array([[0.5], [2.5]]), n_neighbors=1)
    >>> (graph.laplacian() @ np.array([1.0, 3.0, 5.0, 5.0])).tolist()
    [-1.0, 1.0, 0.0, 0.0]
    """

    weights: sp.csr_array
    masses: np.ndarray
    gram: np.ndarray
    own: np.ndarray | float = 1.0
    shared: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return (self.weights.shape[0], self.weights.shape[0])

    @property
    def dtype(self) -> np.dtype:
        return self.weights.dtype

    def astype(self, dtype: Any) -> AnchorLaplacian:
        """The same in another precision."""
        return self if self.dtype == dtype else replace(self, weights=self.weights.astype(dtype))

    def diagonal(self) -> np.ndarray:
        """Diagonal of the matrix."""
        squares = self.weights.power(2) @ self._spread(np.ones_like(self.masses))
        return self.own - self.shared * squares

    def coupled(self, weight: float, own: np.ndarray) -> AnchorLaplacian:
        """``weight`` times the matrix, plus a diagonal."""
        return replace(self, own=weight * self.own + own, shared=weight * self.shared)

    def placed(self, device: Any, dtype: Any) -> AnchorLaplacian:
        """The same on a device, for products with tensors."""
        own = self.own if np.ndim(self.own) == 0 else to_device(self.own, device, dtype)
        weights, masses = PlacedMatrix(self.weights, device, dtype), to_device(self.masses, device)
        return replace(self, weights=weights, masses=masses, own=own)

    def __matmul__(self, values: np.ndarray) -> np.ndarray:
        passed = self.weights @ cast(self._spread(self.weights.T @ values), dtype_of(values))
        return (self.own * values.T).T - self.shared * passed

    def smoothness(self, features: Any) -> np.ndarray:
        """``F'LF`` of features of all rows, in float64."""
        if features is self.weights and np.ndim(self.own) == 0:  # [liu2010] Eq. (11)
            return self.own * self.gram - self.shared * self.gram @ self._spread(self.gram)
        own = np.broadcast_to(self.own, self.shape[:1])
        gram, carried = ArrayBlocks(features).reduce(_feature_sums, self.weights, own)
        return gram - self.shared * carried.T @ self._spread(carried)

    def _spread(self, sums: np.ndarray) -> np.ndarray:
        """``M^-1`` of sums over the rows of each anchor; an anchor without any has none to give."""
        masses = namespace(self.masses).where(self.masses > 0, self.masses, 1)
        return (sums.T / namespace(sums).place(masses)).T


def _feature_sums(features: Any, weights: sp.csr_array, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``F'DF`` and ``Z'F`` of a block."""
    features = cast(dense(features), np.float64)
    xp = namespace(features)
    carried = xp.operator(weights.T.astype(np.float64), np.float64) @ features
    return features.T @ (xp.place(own, np.float64)[:, None] * features), carried


@dataclass(frozen=True, eq=False)
class AnchorGraph(Connected):
    """A graph over rows through anchors.

    Parameters
    ----------
    weights : csr_array of shape (n_rows, n_anchors)
        Weights ``Z`` of the rows on their anchors; lines sum to 1.
    feature_map : AnchorMap
        Weights of new rows.
    masses : ndarray of shape (n_anchors,)
        ``Z'1``.
    gram : ndarray of shape (n_anchors, n_anchors)
        ``Z'Z``.

    See Also
    --------
    anchor_graph : Build one from rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import anchor_graph
    >>> graph = anchor_graph(np.arange(4.0)[:, None], anchors=np.array([[0.5], [2.5]]), n_neighbors=1)
    >>> graph.affinity.toarray().tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5]]
    """

    weights: sp.csr_array
    feature_map: AnchorMap
    masses: np.ndarray
    gram: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.weights.shape[0]

    @property
    def affinity(self) -> sp.csr_array:
        """``Z M^-1 Z'`` itself, which has far more entries than ``Z``: for small graphs."""
        spread = sp.diags_array(1 / np.where(self.masses > 0, self.masses, 1))
        return (self.weights @ spread @ self.weights.T).tocsr()

    @cached_property
    def components(self) -> np.ndarray:
        """Index of the connected component of each row."""
        of_anchors = sp.csgraph.connected_components(sp.csr_array(self.gram), directed=False)[1]
        return of_anchors[main_anchors(self.weights)]

    def to_numpy(self) -> AnchorGraph:
        """The same graph with a map of new rows that needs no device."""
        return replace(self, feature_map=self.feature_map.to_numpy())

    def laplacian(self, kind: str = "symmetric") -> AnchorLaplacian:
        """Graph Laplacian; every row has degree 1, so that all kinds are one.

        Parameters
        ----------
        kind : {"symmetric", "unnormalized", "random-walk"}, default="symmetric"
            Makes no difference.

        Returns
        -------
        AnchorLaplacian
            Positive semi-definite.
        """
        return AnchorLaplacian(self.weights, self.masses, self.gram)


def anchor_graph(
    X: Any,
    *,
    n_anchors: int = 1000,
    n_neighbors: int = 5,
    weights: str = "self-tuning",
    anchors: Any = None,
    selection: str = "k-means",
    n_directions: int | str | None = "auto",
    bandwidth: float | None = None,
    random_state: Any = None,
    device: Any = None,
) -> AnchorGraph:
    """Connect rows through the anchors nearest to them.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows; a memory-mapped array stays on disk.
    n_anchors : int, default=1000
        Number of anchors, at most a third of the rows but for very few.
    n_neighbors : int, default=5
        Anchors of each row.
    weights : {"self-tuning", "binary", "rbf", "cosine", "reconstruction"}, default="self-tuning"
        How a row weighs its anchors: ``exp(-d^2 / s^2)`` with ``s`` the distance to the last of them; all
        alike; ``exp(-d^2 / (2 bandwidth^2))``; by the cosine of the angle, in which case the nearest are
        those of smallest angle; or so that their mean comes nearest to the row.
    anchors : array-like of shape (n_anchors, n_features), optional
        The anchors themselves; rows are then compared column by column.
    selection : {"k-means", "random"}, default="k-means"
        Anchors are centres of mini-batch k-means on a sample of rows, or rows drawn at random, which is
        faster and needs more of them.
    n_directions : int, "auto" or None, default="auto"
        Rows are compared along so many directions, those of the largest variance in a sample; ``None``
        compares all columns. "auto" is 50 for rows of more than 100 columns.
    bandwidth : float, optional
        Width of "rbf" weights; the median distance of a sample of rows to their nearest anchor by default.
    random_state : int, RandomState or None, default=None
        Draws rows, and the start of k-means.
    device : str, torch.device or None, default=None
        Where rows are compared with anchors, through PyTorch; ``None`` is NumPy.

    Returns
    -------
    AnchorGraph
        Its memory is that of ``n_neighbors`` numbers for each row, and of a matrix with
        ``n_anchors`` rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import anchor_graph
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> anchor_graph(X, n_anchors=50, random_state=0).weights.shape
    (1000, 50)
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    X = squarable(X)
    mapping = learn_anchors(
        ArrayBlocks(X),
        n_anchors=n_anchors,
        n_neighbors=n_neighbors,
        weights=weights,
        anchors=anchors,
        selection=selection,
        n_directions=n_directions,
        bandwidth=bandwidth,
        random_state=random_state,
        device=resolve_device(device),
    )
    nearest, entries = mapping.nearest(X)
    masses, gram = weight_statistics(nearest, entries, mapping.n_anchors)
    return AnchorGraph(weight_matrix(nearest, entries, mapping.n_anchors), mapping, masses, gram)
