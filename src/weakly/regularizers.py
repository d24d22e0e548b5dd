"""Regularisers: what the scores of all rows pay for not fitting the graph, a prior, or each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from weakly.graphs import Graph
from weakly.graphs._edge_list import Edges

__all__ = ["EXCLUSIVE", "Exclusive", "PriorDivergence", "TopMargin", "cheeger_ratio", "total_variation"]

EXCLUSIVE = ("sum", "pairs")


def total_variation(graph: Graph, scores: np.ndarray) -> np.ndarray:
    """Total variation of score columns, ``sum_edges w_ij |f_i - f_j|``.

    Every edge counts once; [tvsvm] sums over ordered pairs, so that its weight is half of ours.

    Parameters
    ----------
    graph : Graph
        The graph.
    scores : ndarray of shape (n_rows, n_columns)
        The columns ``f``.

    Returns
    -------
    ndarray of shape (n_columns,)
        One value per column. Of the indicator of a set it is the weight of the edges that leave the set.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.regularizers import total_variation
    >>> path = affinity_graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> total_variation(path, np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])).tolist()
    [1.0, 2.0]
    """
    return Edges.of(graph).variations(scores)


def cheeger_ratio(graph: Graph, scores: np.ndarray) -> np.ndarray:
    """Total variation of score columns over their distance from a constant, ``TV(f) / sum_i |f_i - median|``.

    Of the indicator of a set it is the weight of the edges that leave the set over the size of the set or of
    the rest, whichever is smaller.

    Parameters
    ----------
    graph : Graph
        The graph.
    scores : ndarray of shape (n_rows, n_columns)
        The columns ``f``.

    Returns
    -------
    ndarray of shape (n_columns,)
        One value per column; infinite for a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.regularizers import cheeger_ratio
    >>> path = affinity_graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> cheeger_ratio(path, np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])).tolist()
    [1.0, 2.0]
    """
    return Edges.of(graph).cheeger_ratios(scores)


class _Charge:
    def value(self, scores: np.ndarray) -> np.ndarray:
        """What each row pays.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows,)
            One number per row.
        """
        raise NotImplementedError

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        """Derivative of the sum over the rows.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            By the scores.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Exclusive(_Charge):
    """A charge on rows that several classes claim.

    With ``p_m`` the positive part of the score of class ``m``, rounded off at 0, a row pays
    ``(sum_m p_m)^2 / 2`` (``kind="sum"``, [per] Eq. (4)), which charges a single positive score as well, or
    ``sum_{m < k} p_m p_k`` (``kind="pairs"``), which does not, but is not convex.

    Parameters
    ----------
    kind : {"sum", "pairs"}, default="sum"
        What is charged.
    smoothing : float, default=0.01
        Scores from 0 to this are rounded off: ``p = f^2 / (2 smoothing)`` there, and ``f - smoothing / 2``
        above ([per] Eq. (7)).

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.regularizers import Exclusive
    >>> claimed = np.array([[2.0, -1.0, -1.0], [2.0, 1.0, -1.0]])
    >>> [Exclusive(kind, smoothing=1e-9).value(claimed).round(6).tolist() for kind in ("sum", "pairs")]
    [[2.0, 4.5], [0.0, 2.0]]
    """

    kind: str = "sum"
    smoothing: float = 1e-2

    def __post_init__(self) -> None:
        if self.kind not in EXCLUSIVE:
            raise ValueError(f"exclusive is {self.kind!r}: use one of {', '.join(EXCLUSIVE)}.")
        if not 0 < self.smoothing < np.inf:
            raise ValueError(f"smoothing is {self.smoothing}: it must be a positive number.")

    def value(self, scores: np.ndarray) -> np.ndarray:
        parts = self._parts(scores)
        return (parts.sum(axis=1) ** 2 - self._own(parts**2).sum(axis=1)) / 2

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        parts = self._parts(scores)
        return self._slopes(scores) * (parts.sum(axis=1, keepdims=True) - self._own(parts))

    def hessian_product(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Change of the gradient along a direction.

        Parameters
        ----------
        scores, direction : ndarray of shape (n_rows, n_classes)
            Scores, and how they change.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The product, row by row.
        """
        parts, slopes = self._parts(scores), self._slopes(scores)
        bends = ((scores > 0) & (scores < self.smoothing)) / self.smoothing
        along = slopes * direction
        return bends * direction * (parts.sum(axis=1, keepdims=True) - self._own(parts)) + slopes * (
            along.sum(axis=1, keepdims=True) - self._own(along)
        )

    def _parts(self, scores: np.ndarray) -> np.ndarray:
        slopes = self._slopes(scores)
        return slopes * (scores - self.smoothing * slopes / 2)

    def _slopes(self, scores: np.ndarray) -> np.ndarray:
        """The maximiser ``v`` of [per] Eq. (7)."""
        return np.clip(scores / self.smoothing, 0, 1)

    def _own(self, terms: np.ndarray) -> np.ndarray:
        """What a class is not charged for by itself."""
        return terms if self.kind == "pairs" else np.zeros_like(terms)


@dataclass(frozen=True, eq=False)
class PriorDivergence(_Charge):
    """A charge on scores whose softmax is far from given probabilities.

    A row with probabilities ``p`` pays ``log sum_j exp(f_j) - p'f``, which is the divergence of the softmax
    from ``p`` up to a constant ([rmsboost] Eq. (13)).

    Parameters
    ----------
    prior : ndarray of shape (n_rows, n_classes)
        Probabilities of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.regularizers import PriorDivergence
    >>> sure = PriorDivergence(np.array([[1.0, 0.0]]))
    >>> sure.gradient(np.zeros((1, 2))).tolist()
    [[-0.5, 0.5]]
    """

    prior: np.ndarray

    def value(self, scores: np.ndarray) -> np.ndarray:
        return logsumexp(scores, axis=1) - (self.prior * scores).sum(axis=1)

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1) - self.prior


@dataclass(frozen=True)
class TopMargin(_Charge):
    """A charge on rows whose highest score is below a margin, ``max(0, margin - max_i f_i)``.

    [rmsboost] Eq. (14), the loss of transductive machines for any number of classes.

    Parameters
    ----------
    margin : float
        The margin.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.regularizers import TopMargin
    >>> TopMargin(1.0).value(np.array([[0.25, -0.25], [2.0, -2.0]])).tolist()
    [0.75, 0.0]
    """

    margin: float

    def value(self, scores: np.ndarray) -> np.ndarray:
        return np.maximum(self.margin - scores.max(axis=1), 0)

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        top = scores.argmax(axis=1)  # the first of the highest
        slopes = np.zeros_like(scores)
        slopes[np.arange(len(scores)), top] = -1.0 * (scores.max(axis=1) < self.margin)
        return slopes
