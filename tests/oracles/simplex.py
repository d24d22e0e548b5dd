"""Scores on the simplex, from a general convex solver."""

from typing import NamedTuple

import cvxpy as cp
import numpy as np


class SimplexSolution(NamedTuple):
    """Objective and shares of all rows."""

    value: float
    shares: np.ndarray


def fit_simplex(Z, penalty, rows, targets, weights, *, loss, level=0.0):
    """Minimise ``sum_ik w_i loss(y_ik, f_ik) + sum_k u_k' P u_k / 2``, ``f = level + Z u`` on the simplex.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Features of all rows.
    penalty : ndarray of shape (n_features, n_features)
        ``P``, positive definite.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets, weights : ndarray
        One-hot targets or signs, a column per class, and the weights of the labelled rows.
    loss : {"squared", "squared_hinge", "hinge"}
        The loss; the hinge sees ``f + b``.
    level : float, default=0.0
        Added to the functions at no cost; 0 is [tvsvm] Eqs. (93) and (118).
    """
    n_columns = targets.shape[1]
    u, b = cp.Variable((Z.shape[1], n_columns)), cp.Variable((1, n_columns))
    f = level + Z @ u
    seen = f[rows]
    losses = {
        "squared": cp.square(targets - seen) / 2,
        "squared_hinge": cp.square(cp.pos(1 - cp.multiply(targets, seen))) / 2,
        "hinge": cp.pos(1 - cp.multiply(targets, seen + np.ones((len(rows), 1)) @ b)),
    }
    half_norm = cp.sum_squares(np.linalg.cholesky(penalty).T @ u) / 2
    problem = cp.Problem(
        cp.Minimize(cp.sum(weights @ losses[loss]) + half_norm), [f >= 0, cp.sum(f, axis=1) == 1]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return SimplexSolution(problem.value, f.value)
