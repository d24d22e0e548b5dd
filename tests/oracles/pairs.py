"""Machines over pairs of classes: from a general convex solver, and by the algorithm as it was printed."""

import cvxpy as cp
import numpy as np


def fit_pairs(Z, costs):
    """Minimise ``||W||^2 / 2 + sum_i sum_p u_ip sum_{q != p} max(1 - (f_ip - f_iq), 0)``, ``f = Z W``.

    Returns
    -------
    float, ndarray of shape (n_rows, n_classes)
        Objective and scores.
    """
    n_classes = costs.shape[1]
    W = cp.Variable((Z.shape[1], n_classes))
    f = Z @ W
    losses = [
        cp.sum(cp.multiply(costs[:, p], cp.pos(1 - (f[:, p] - f[:, q]))))
        for p in range(n_classes)
        for q in range(n_classes)
        if p != q
    ]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + sum(losses)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, f.value


def pair_objective(Z, W, costs):
    """The same objective at a point, term by term."""
    total, f = (W**2).sum() / 2, Z @ W
    n_rows, n_classes = costs.shape
    for i in range(n_rows):
        for p in range(n_classes):
            for q in range(n_classes):
                total += (p != q) * costs[i, p] * max(1 - (f[i, p] - f[i, q]), 0)
    return total


def descend_literally(K, costs, n_epochs):
    """[plsvm] Algorithm 1, two variables for a pair of classes, rows and pairs in their order; scores."""
    n_rows, n_classes = costs.shape
    a, beta = np.zeros((n_rows, n_classes, n_classes)), np.zeros((n_rows, n_classes))
    for _ in range(n_epochs):
        for i in range(n_rows):
            for p in range(n_classes):
                for q in range(n_classes):
                    if p == q:
                        continue
                    slope = K[i] @ (beta[:, p] - beta[:, q]) - 1
                    moved = min(max(a[i, p, q] - slope / (2 * K[i, i]), 0), costs[i, p])
                    beta[i, p] += moved - a[i, p, q]
                    beta[i, q] -= moved - a[i, p, q]
                    a[i, p, q] = moved
    return K @ beta
