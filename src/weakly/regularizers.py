"""Regularisers: what the scores of all rows pay for not fitting the graph."""

from __future__ import annotations

import numpy as np

from weakly.graphs import Graph

__all__ = ["cheeger_ratio", "total_variation"]


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
    heads, tails, weights = graph.edges
    return weights @ np.abs(scores[heads] - scores[tails])


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
    distance = np.abs(scores - np.median(scores, axis=0)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance > 0, total_variation(graph, scores) / distance, np.inf)
