"""Functions of anchors on rows in blocks: what a Laplacian problem needs of very many rows.

Functions ``f = Z theta`` are known by their values ``theta`` at the anchors, and ``f'Lf`` is
``theta'S theta`` with a small matrix ``S`` that follows from the masses and the Gram matrix of the anchors. A
space that has the labelled rows, and one row for each anchor in place of all others, is then as good as one
that has all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from weakly.graphs._anchor_map import AnchorMap, learn_anchors, main_anchors, weight_matrix
from weakly.graphs._anchors import AnchorLaplacian
from weakly.rows._blocks import RowBlocks
from weakly.spaces._base import FeatureSpace
from weakly.spaces._deformed import DeformedSpace, deform


@dataclass(frozen=True, eq=False)
class BlockAnchorGraph:
    """An anchor graph over rows in blocks, which stay where they are.

    Parameters
    ----------
    blocks : RowBlocks
        The rows.
    feature_map : AnchorMap
        Weights of any rows on the anchors.
    masses : ndarray of shape (n_anchors,)
        ``Z'1`` of all rows.
    gram : ndarray of shape (n_anchors, n_anchors)
        ``Z'Z`` of all rows.

    See Also
    --------
    block_anchor_graph : Build one.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.spaces import block_anchor_graph
    >>> blocks = ArrayBlocks(np.array([[0.0], [1.0], [7.0], [9.0]]))
    >>> graph = block_anchor_graph(blocks, anchors=np.array([[0.0], [8.0]]), n_neighbors=1)
    >>> graph.masses.tolist(), graph.unreached(np.array([0])).tolist()
    ([2.0, 2.0], [False, False, True, True])
    """

    blocks: RowBlocks
    feature_map: AnchorMap
    masses: np.ndarray
    gram: np.ndarray

    def __deepcopy__(self, memo: dict) -> BlockAnchorGraph:
        return self

    @property
    def n_rows(self) -> int:
        return self.blocks.shape[0]

    @property
    def n_anchors(self) -> int:
        return len(self.masses)

    @cached_property
    def smoothness(self) -> np.ndarray:
        """``Z'LZ``."""
        none = sp.csr_array((0, self.n_anchors))
        return AnchorLaplacian(none, self.masses, self.gram).smoothness(none)

    def weights(self, rows: np.ndarray) -> sp.csr_array:
        """Weights of some rows, which are gathered once."""
        key = rows.tobytes()
        if key not in self._gathered:
            packed = self.blocks.take(rows, partial(_packed, feature_map=self.feature_map))
            self._gathered[key] = self.unpacker(packed).astype(self.blocks.dtype)
        return self._gathered[key]

    @cached_property
    def _gathered(self) -> dict[bytes, sp.csr_array]:
        return {}

    def keep_weights(self) -> RowBlocks:
        """Anchors of the rows, and weights beside them, found once for methods that pass over them often."""
        function = partial(_packed, feature_map=self.feature_map)
        width = 2 * self.feature_map.n_neighbors
        return self.blocks.of(self.blocks.keep(self.blocks.map(function, width=width, dtype=np.float64)))

    @property
    def unpacker(self) -> Callable[[np.ndarray], sp.csr_array]:
        """From a block of these to the weights as a sparse matrix."""
        return partial(unpack, n_anchors=self.n_anchors)

    def unreached(self, labeled: np.ndarray) -> Any:
        """Mark the rows in components without any labelled row.

        Parameters
        ----------
        labeled : ndarray of int
            Labelled rows, ascending.

        Returns
        -------
        aligned values of bool
            True where no label arrives along the graph.
        """
        parts = sp.csgraph.connected_components(sp.csr_array(self.gram), directed=False)[1]
        known = np.zeros(parts.max() + 1, dtype=bool)
        known[parts[main_anchors(self.weights(labeled))]] = True
        lost = ~known[parts]
        if not self.masses[lost].any():  # then rows need not be looked at
            none = np.zeros(0, dtype=np.intp)
            return self.blocks.spread(none, none.astype(bool), False)
        return self.blocks.map(
            partial(_is_lost, feature_map=self.feature_map, lost=lost), width=None, dtype=bool
        )


def block_anchor_graph(blocks: RowBlocks, **settings: Any) -> BlockAnchorGraph:
    """Connect rows in blocks through anchors: a sample is gathered for these, and sums over all rows.

    Parameters
    ----------
    blocks : RowBlocks
        The rows.
    **settings
        Those of :func:`weakly.graphs.anchor_graph`.

    Returns
    -------
    BlockAnchorGraph
        The graph.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.spaces import block_anchor_graph
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> block_anchor_graph(ArrayBlocks(X), n_anchors=50, random_state=0).gram.shape
    (50, 50)
    """
    feature_map = learn_anchors(blocks, **settings)
    return BlockAnchorGraph(blocks, feature_map, *blocks.reduce(feature_map.statistics))


@dataclass(frozen=True, eq=False)
class AnchoredSpace(FeatureSpace):
    """Functions of anchors, over the labelled rows and then a row for each anchor.

    Build it, deformed, with :func:`anchor_space`.

    Parameters
    ----------
    features : csr_array of shape (n_labeled + n_anchors, n_anchors)
        Weights of the labelled rows, and the identity.
    feature_map : callable
        Weights of new rows.
    graph : BlockAnchorGraph
        Where the other rows are.
    labeled : ndarray of shape (n_labeled,)
        Numbers of the labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.spaces import anchor_space, block_anchor_graph
    >>> graph = block_anchor_graph(ArrayBlocks(np.arange(9.0)[:, None]), n_anchors=3, n_neighbors=2)
    >>> base = anchor_space(graph, np.array([0, 8]), ambient=1.0, graph=1.0).base
    >>> base.anchor_values(base.scores(np.array([5.0, 6.0, 7.0]))).tolist()
    [5.0, 6.0, 7.0]
    """

    graph: Any = None
    labeled: Any = None
    has_blocks: ClassVar[bool] = True

    def anchor_values(self, scores: np.ndarray) -> np.ndarray:
        """Values at the anchors, from scores of the rows of this space."""
        return scores[len(self.labeled) :]

    def moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the scores of all rows: lines of ``Z`` sum to 1."""
        mean = self.graph.masses @ theta / self.graph.n_rows
        centred = theta - mean
        variance = np.einsum("ij,ij->j", centred, self.graph.gram @ centred) / self.graph.n_rows
        return mean, np.sqrt(np.maximum(variance, 0))


def anchor_space(
    anchors: BlockAnchorGraph, labeled: np.ndarray, *, ambient: float, graph: float
) -> DeformedSpace:
    """Build the space of functions of anchors, with a penalty on the differences between all rows.

    Parameters
    ----------
    anchors : BlockAnchorGraph
        The graph.
    labeled : ndarray of shape (n_labeled,)
        Labelled rows, which are gathered; they are the first rows of the space.
    ambient : float
        Weight of the norm, positive.
    graph : float
        Weight of ``f'Lf`` over all rows, at least 0.

    Returns
    -------
    DeformedSpace
        On an :class:`AnchoredSpace`.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.spaces import anchor_space, block_anchor_graph
    >>> graph = block_anchor_graph(ArrayBlocks(np.arange(9.0)[:, None]), n_anchors=3, n_neighbors=2)
    >>> anchor_space(graph, np.array([0, 8]), ambient=1.0, graph=1.0).n_rows
    5
    """
    n_labeled, n_anchors = len(labeled), anchors.n_anchors
    weights = anchors.weights(labeled)
    features = sp.vstack([weights, sp.eye_array(n_anchors, dtype=weights.dtype)], format="csr")
    laplacian = sp.block_diag([sp.csr_array((n_labeled, n_labeled)), anchors.smoothness], format="csr")
    base = AnchoredSpace(features, anchors.feature_map, anchors, labeled)
    return deform(base, sp.csr_array(laplacian), ambient=ambient, graph=graph)


def unpack(packed: np.ndarray, n_anchors: int) -> sp.csr_array:
    """Weights as a sparse matrix, from numbers of anchors and the weights beside them."""
    width = packed.shape[1] // 2
    return weight_matrix(packed[:, :width].astype(np.int32), packed[:, width:], n_anchors)


def _packed(rows: Any, feature_map: AnchorMap) -> np.ndarray:
    return np.hstack(feature_map.nearest(rows))


def _is_lost(rows: Any, feature_map: AnchorMap, lost: np.ndarray) -> np.ndarray:
    return lost[main_anchors(feature_map(rows))]
