"""Labelled losses with total variation, and cuts of a graph, from general solvers and from loops."""

from itertools import product
from typing import NamedTuple

import cvxpy as cp
import numpy as np


class VariationSolution(NamedTuple):
    """Objective, values of all rows without the intercept, and the intercept of each column."""

    value: float
    scores: np.ndarray
    intercept: np.ndarray


def fit_variation(Z, graph, rows, targets, weights, *, loss, ambient, graph_weight, near=None, coupling=0.0):
    """Minimise ``sum w_i loss(y_i, f_i + b) + a/2 ||u||^2 + g TV(f) + r/2 ||f - e||^2`` with ``f = Z u``.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Features of all rows; ``Z Z'`` is their kernel.
    graph : Graph
        The graph of the total variation, which counts every edge once.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets, weights : ndarray
        Signs, a column per class, and the weights of the labelled rows.
    loss : {"squared", "hinge"}
        The loss; only the hinge has a ``b``.
    ambient, graph_weight : float
        ``a`` and ``g``.
    near : ndarray of shape (n_rows, n_columns), optional
        The values ``e``; none by default.
    coupling : float, default=0.0
        ``r``.
    """
    n_columns = targets.shape[1]
    u, b = cp.Variable((Z.shape[1], n_columns)), cp.Variable((1, n_columns))
    f = Z @ u
    losses = {
        "squared": cp.square(targets - f[rows]) / 2,
        "hinge": cp.pos(1 - cp.multiply(targets, f[rows] + np.ones((len(rows), 1)) @ b)),
    }
    cost = cp.sum(weights @ losses[loss]) + ambient / 2 * cp.sum_squares(u)
    if graph_weight:
        cost += graph_weight * cp.sum(cp.abs(graph.incidence() @ f))
    if near is not None:
        cost += coupling / 2 * cp.sum_squares(f - near)
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    intercept = b.value.ravel() if loss == "hinge" else np.zeros(n_columns)
    return VariationSolution(problem.value, f.value, intercept)


def cut_ratio(W, side):
    """Cheeger ratio of a set of rows, edge by edge."""
    n_rows = len(W)
    cut = sum(W[i, j] for i, j in product(range(n_rows), repeat=2) if side[i] and not side[j])
    return cut / min(sum(side), n_rows - sum(side))


def median_ratio(W, f):
    """``TV(f)`` over the least sum of distances to a constant, which some entry of ``f`` attains."""
    variation = sum(W[i, j] * abs(f[i] - f[j]) for i in range(len(f)) for j in range(i))
    return variation / min(np.abs(f - level).sum() for level in f)


def labelings(n_rows, n_classes, rows, codes):
    """All labelings with given classes on the labelled rows, and no class empty."""
    free = np.setdiff1d(np.arange(n_rows), rows)
    for guess in product(range(n_classes), repeat=len(free)):
        labels = np.empty(n_rows, dtype=int)
        labels[rows], labels[free] = codes, guess
        if len(set(labels.tolist())) == n_classes:
            yield labels
