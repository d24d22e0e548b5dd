"""Probabilities of classes before a classifier is learned: from clusters, neighbors, or a teacher.

A prior is a function of samples and partial labels that returns an array of shape (n_samples, n_classes);
what is here serves as pattern for one's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.impute import SimpleImputer
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, check_consistent_length, check_random_state

from weakly.estimators._docstrings import fill_doc
from weakly.graphs import Graph, neighbor_graph
from weakly.graphs._cell_kernels import divisive_clusters
from weakly.rows._labels import LabelView, encode_labels
from weakly.solvers import solve_label_walk

_EXACT_ROWS = 30_000  # beyond, neighbors need not be the nearest: the average of several counts
_LARGE = 1e100
_ROWS_PER_CLUSTER = 5
_SCALINGS = 50
_SHARE_TOL = 1e-3
_MOST_ROWS = 2000  # labeled samples that are compared to choose a scale


@fill_doc
def kmeans_prior(
    X: Any,
    y: Any,
    *,
    n_clusters: int | None = None,
    n_runs: int = 10,
    smoothing: float | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Count the labels of each class in the cluster of a sample, mean of several clusterings.

    Clusters come from cutting the one of largest spread into ten by k-means, over and over.

    Parameters
    ----------
    %(partly_known)s
    n_clusters : int or None, default=None
        Number of clusters; 50 for each class by default, as in [rmsboost], or one for five samples if that is
        fewer.
    n_runs : int, default=10
        Clusterings.
    smoothing : float or None, default=None
        Labels that each cluster is taken to have besides its own, in equal parts of all classes; one of each
        class by default, 50 in all in [rmsboost]. More than a few make the prior nearly equal for all
        classes wherever clusters hold few labels.
    random_state : int, RandomState or None, default=None
        Draws first centers.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to 1; equal parts where no cluster of the sample has a label.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.boosting import kmeans_prior
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> kmeans_prior(X, [0, -1, 1, -1], n_clusters=2, smoothing=2.0, random_state=0).round(2).tolist()
    [[0.67, 0.33], [0.67, 0.33], [0.33, 0.67], [0.33, 0.67]]
    """
    labels = _view(y)
    rows = comparable_rows(X, labels)
    if n_clusters is None:
        n_clusters = min(50 * labels.n_classes, max(len(rows) // _ROWS_PER_CLUSTER, labels.n_classes))
    n_clusters = min(n_clusters, len(rows))
    smoothing = labels.n_classes if smoothing is None else smoothing
    seeds = check_random_state(random_state).randint(2**31, size=n_runs).astype(np.uint64)
    prior = np.zeros((len(rows), labels.n_classes))
    for clusters in divisive_clusters(rows, n_clusters, seeds):
        counts = np.zeros((clusters.max() + 1, labels.n_classes))
        np.add.at(counts, (clusters[labels.labeled], labels.labeled_codes), 1.0)
        # [rmsboost] Eq. (10), its sum over all classes
        shares = (counts + smoothing / labels.n_classes) / (counts.sum(axis=1, keepdims=True) + smoothing)
        prior += shares[clusters] / n_runs
    return prior


@fill_doc
def graph_prior(X: Any, y: Any, *, n_neighbors: int = 8, random_state: Any = None) -> np.ndarray:
    """Find the probability that a walk along neighbors ends at a label of each class.

    Parameters
    ----------
    %(partly_known)s
    n_neighbors : int, default=8
        Neighbors of a sample.
    random_state : int, RandomState or None, default=None
        Seeds the approximate search for neighbors.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to 1; equal parts where no label is in reach.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.boosting import graph_prior
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> graph_prior(X, [0, -1, 1, -1], n_neighbors=1).round(2).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    labels = _view(y)
    graph = prior_graph(comparable_rows(X, labels), n_neighbors, random_state)
    walk = solve_label_walk(graph, labels.codes, labels.n_classes, alpha_unlabeled=0.99).x
    known = walk[:, :-1].sum(axis=1, keepdims=True)
    equal = np.full((len(walk), labels.n_classes), 1 / labels.n_classes)
    return np.divide(walk[:, :-1], known, out=equal, where=known > 0)


def smoothed_prior(
    posterior: np.ndarray,
    labels: LabelView,
    graph: Graph,
    *,
    n_steps: int = 3,
    sharpness: float = 4.0,
) -> np.ndarray:
    """Average over neighbors what a teacher says of all samples, with known labels in their place.

    Parameters
    ----------
    posterior : ndarray of shape (n_samples, n_classes)
        Probabilities by the teacher.
    labels : LabelView
        The labels.
    graph : Graph
        Neighbors.
    n_steps : int, default=3
        Averages over neighbors, one after the other.
    sharpness : float, default=4.0
        Power that the probabilities are raised to at the end. Averages are cautious; taken as they are,
        a learner that is surer than the prior is taught the wrong classes to be less so. A power favors
        large classes, so that classes of unlabeled samples are then held to their shares among the labels,
        give or take two standard errors.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import encode_labels
    >>> from weakly.boosting import smoothed_prior
    >>> from weakly.graphs import affinity_graph
    >>> path = affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> unsure = np.full((3, 2), 0.5)
    >>> smoothed_prior(unsure, encode_labels([0, -1, 1]), path).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    known = np.eye(labels.n_classes)[labels.labeled_codes]
    reached = (graph.degrees > 0).astype(float)
    average = sp.diags_array(reached / np.where(reached > 0, graph.degrees, 1)) @ graph.affinity
    alone = sp.diags_array(1 - reached)
    prior = posterior.copy()
    for _ in range(n_steps):
        prior[labels.labeled] = known
        prior = average @ prior + alone @ prior
    prior = _sharpened(prior, sharpness)
    hidden = labels.codes < 0
    prior[hidden] = _within_shares(prior[hidden], labels)
    prior[labels.labeled] = known
    return prior


def prior_graph(rows: np.ndarray, n_neighbors: int, random_state: Any) -> Graph:
    """Neighbors, as many as there are samples for."""
    n_neighbors = min(n_neighbors, len(rows) - 1)
    search = "exact" if len(rows) <= _EXACT_ROWS else "cells"
    return neighbor_graph(rows, n_neighbors=n_neighbors, search=search, random_state=random_state)


def comparable_rows(X: Any, labels: LabelView) -> np.ndarray:
    """Samples for distances: as they are, or with features of equal spread.

    Trees do not mind the scale of a column and their users need not either, but distances do. Whichever has
    more labeled samples next to one of their own class is taken; equal spread if that does not say.
    """
    X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    check_consistent_length(X, labels.codes)
    if np.isnan(X).any():
        X = SimpleImputer(keep_empty_features=True).fit_transform(X)
    if (largest := np.abs(X).max(initial=0.0)) > _LARGE:
        X = X / largest  # their squares would overflow
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    known, codes = labels.labeled[:_MOST_ROWS], labels.labeled_codes[:_MOST_ROWS]
    return X if _agreement(X[known], codes) > _agreement(scaled[known], codes) else scaled


def find_prior(prior, X, y, labels, n_neighbors, smoothing, seed) -> np.ndarray:
    """The prior that a parameter names, gives or computes."""
    if isinstance(prior, str):
        if prior == "kmeans":
            return kmeans_prior(X, labels, smoothing=smoothing, random_state=seed)
        return graph_prior(X, labels, n_neighbors=n_neighbors, random_state=seed)
    given = prior(X, y) if callable(prior) else prior
    return _check_prior(given, len(labels.codes), labels.n_classes)


def _check_prior(prior: Any, n_rows: int, n_classes: int) -> np.ndarray:
    """Check probabilities that a user gave, and scale rows to sum 1."""
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_rows, n_classes):
        raise ValueError(
            f"prior has shape {prior.shape}: it must be ({n_rows}, {n_classes}), a row for each row of X and "
            "a column for each class in sorted order."
        )
    totals = prior.sum(axis=1, keepdims=True)
    if not (np.isfinite(prior).all() and (prior >= 0).all() and (totals > 0).all()):
        raise ValueError(
            "prior has entries that are negative or not finite, or rows of zeros: give probabilities, equal "
            "ones where nothing is known."
        )
    return prior / totals


def _agreement(rows: np.ndarray, codes: np.ndarray) -> float:
    """Share of samples whose nearest other sample has their class."""
    distances = pairwise_distances(rows)
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(codes[distances.argmin(axis=1)] == codes))


def _sharpened(probabilities: np.ndarray, power: float) -> np.ndarray:
    """Probabilities to a power, summing to 1 again; by logarithms, for powers of any size."""
    with np.errstate(divide="ignore"):
        return softmax(power * np.log(probabilities), axis=1)


def _within_shares(prior: np.ndarray, labels: LabelView) -> np.ndarray:
    """Scale classes until their shares of the samples are no further from those of the labels than chance."""
    n_labels = len(labels.labeled)
    counts = np.bincount(labels.labeled_codes, minlength=labels.n_classes)
    shares = (counts + 0.5) / (n_labels + 0.5 * labels.n_classes)
    slack = 2 * np.sqrt(shares * (1 - shares) / n_labels)
    wanted = np.clip(prior.mean(axis=0), shares - slack, shares + slack)
    wanted /= wanted.sum()
    scaled, factors = prior, np.ones(labels.n_classes)
    for _ in range(_SCALINGS):
        masses = scaled.mean(axis=0)
        if np.abs(masses - wanted).max() < _SHARE_TOL:
            break
        factors *= wanted / np.maximum(masses, _SHARE_TOL)
        scaled = prior * factors
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return scaled


def _view(y: Any) -> LabelView:
    return y if isinstance(y, LabelView) else encode_labels(y)
