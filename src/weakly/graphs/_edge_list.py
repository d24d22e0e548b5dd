"""The edges of a graph as arrays, for what is summed along them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weakly.graphs._graph import Graph
from weakly.rows._arrays import namespace, namespace_on


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a graph.

    Parameters
    ----------
    heads, tails : {ndarray, tensor} of shape (n_edges,)
        Rows ``i < j`` of each edge, in lexicographic order.
    weights : {ndarray, tensor} of shape (n_edges,)
        Weights ``w_ij``.
    counts : {ndarray, tensor} of shape (n_rows,)
        Edges of each row.

    Examples
    --------
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import Edges
    >>> path = Edges.of(affinity_graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    >>> path.heads.tolist(), path.tails.tolist(), path.weights.tolist()
    ([0, 1], [1, 2], [1.0, 2.0])
    """

    heads: Any
    tails: Any
    weights: Any
    counts: Any

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """List the edges of a graph.

        Parameters
        ----------
        graph : Graph
            The graph.

        Returns
        -------
        Edges
            In lexicographic order.
        """
        heads, tails, weights = graph.edges
        return cls(
            heads=heads.astype(np.int32),
            tails=tails.astype(np.int32),
            weights=weights.astype(np.float64),
            counts=np.bincount(np.concatenate([heads, tails]), minlength=graph.n_rows),
        )

    def to(self, device: Any) -> Edges:
        """Move the edges to a device, for values that are tensors there.

        Parameters
        ----------
        device : torch.device, str or None
            Where to; ``None`` is the host, and NumPy.

        Returns
        -------
        Edges
            These edges, or tensors of them.
        """
        if device is None:
            return self
        place = namespace_on(device).place
        heads, tails, counts = (place(part, np.int64) for part in (self.heads, self.tails, self.counts))
        return Edges(heads, tails, place(self.weights), counts)

    @property
    def xp(self) -> Any:
        return namespace(self.weights)

    @property
    def device(self) -> Any:
        return self.xp.device

    def place(self, values: Any) -> Any:
        """Values in float64 beside the edges, not shared with the caller's."""
        return self.xp.copy(self.xp.place(values, np.float64))

    def differences(self, values: Any) -> Any:
        """``B g``: the difference of values along each edge."""
        pick = self.xp.pick
        return pick(values, self.heads) - pick(values, self.tails)

    def pull_back(self, flows: Any) -> Any:
        """``B' p``: what flows along the edges take out of each row."""
        head_starts, tail_order, tail_starts = self._stretches
        xp = self.xp
        return xp.segment_sums(flows, head_starts) - xp.segment_sums(xp.pick(flows, tail_order), tail_starts)

    @cached_property
    def _stretches(self) -> tuple[Any, Any, Any]:
        """Where the edges with each head begin; the edges sorted by their tails, and where each begins."""
        xp = self.xp
        order = xp.argsort(self.tails, stable=True)
        rows = xp.place(np.arange(len(self.counts) + 1))
        return xp.searchsorted(self.heads, rows), order, xp.searchsorted(self.tails[order], rows)

    def variations(self, values: Any) -> Any:
        """Total variation of each column."""
        return self.weights @ abs(self.differences(values))

    def cheeger_ratios(self, values: Any) -> Any:
        """Total variation of each column over its distance from a constant; infinite for a constant."""
        xp = self.xp
        distances = abs(values - xp.median(values, axis=0)).sum(axis=0)
        ratios = self.variations(values) / xp.where(distances > 0, distances, 1.0)
        return xp.where(distances > 0, ratios, np.inf)
