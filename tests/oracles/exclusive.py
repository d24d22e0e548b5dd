"""Laplacian machines of exclusive classes, from a general convex solver."""

import cvxpy as cp
import numpy as np


def fit_exclusive(Z, penalty, rows, targets, weights, charge, *, loss="squared_hinge"):
    """Minimise ``sum w loss + sum_m u_m' P u_m / 2 + c sum_i (sum_m [f_im]_+)^2 / 2``, ``i`` off ``rows``.

    Returns
    -------
    float, ndarray of shape (n_rows, n_classes)
        Objective and scores.
    """
    u = cp.Variable((Z.shape[1], targets.shape[1]))
    f = Z @ u
    others = np.setdiff1d(np.arange(len(Z)), rows)
    margins = cp.multiply(targets, f[rows])
    losses = cp.square(cp.pos(1 - margins)) / 2 if loss == "squared_hinge" else cp.logistic(-margins)
    norm = cp.sum_squares(np.linalg.cholesky(penalty).T @ u) / 2
    claims = cp.sum(cp.square(cp.sum(cp.pos(f[others]), axis=1))) / 2
    problem = cp.Problem(cp.Minimize(cp.sum(weights @ losses) + norm + charge * claims))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, f.value


def exclusive_objective(Z, u, penalty, rows, targets, weights, charge):
    """The same objective, with the squared hinge, at a point."""
    f = Z @ u
    others = np.setdiff1d(np.arange(len(Z)), rows)
    losses = weights @ np.maximum(1 - targets * f[rows], 0) ** 2 / 2
    claims = np.maximum(f[others], 0).sum(axis=1) ** 2
    return losses.sum() + np.trace(u.T @ penalty @ u) / 2 + charge * claims.sum() / 2
