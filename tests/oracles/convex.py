"""Large-margin problems handed to a general convex solver."""

import cvxpy as cp
import numpy as np


def fit_margin(Z, penalty, y, weights, *, squared, intercept=False):
    """Minimise ``sum_i w_i loss(y_i, z_i u + b) + u' P u / 2``; return the objective, ``u`` and ``b``.

    Parameters
    ----------
    Z : ndarray of shape (n_labeled, n_features)
        Features of the labelled rows.
    penalty : ndarray of shape (n_features, n_features)
        ``P``, positive definite.
    y, weights : ndarray of shape (n_labeled,)
        Signs and weights.
    squared : bool
        ``max(1 - y f, 0)^2 / 2`` or ``max(1 - y f, 0)``.
    intercept : bool, default=False
        Whether there is a ``b``.
    """
    u, b = cp.Variable(Z.shape[1]), cp.Variable()
    slack = cp.pos(1 - cp.multiply(y, Z @ u + (b if intercept else 0)))
    loss = cp.square(slack) / 2 if squared else slack
    half_norm = cp.sum_squares(np.linalg.cholesky(penalty).T @ u) / 2
    problem = cp.Problem(cp.Minimize(weights @ loss + half_norm))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, u.value, float(b.value) if intercept else 0.0


def fit_hinge_offset(Z, offsets, y, weights):
    """Minimise ``sum_i w_i max(1 - y_i s_i, 0) + ||u||^2 / 2`` with ``s = f0 + Z u + b``.

    Returns the objective and the scores ``s``.

    Parameters
    ----------
    Z : ndarray of shape (n_labeled, n_features)
        Features of the labelled rows; ``Z Z'`` is their kernel.
    offsets : ndarray of shape (n_labeled,)
        ``f0``.
    y, weights : ndarray of shape (n_labeled,)
        Signs and weights.
    """
    u, b = cp.Variable(Z.shape[1]), cp.Variable()
    loss = cp.pos(1 - cp.multiply(y, offsets + Z @ u + b))
    problem = cp.Problem(cp.Minimize(weights @ loss + cp.sum_squares(u) / 2))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, offsets + Z @ u.value + b.value
