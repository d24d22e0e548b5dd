"""Learning with unknown labels by listing all labelings."""

from itertools import product

import cvxpy as cp
import numpy as np

TIGHT = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-7, "tol_gap_rel": 1e-7, "tol_feas": 1e-7}


def all_signs(known, signs, n_rows, least, most):
    """Every sign vector with these signs on known rows and so many positive ones among the others."""
    free = np.setdiff1d(np.arange(n_rows), known)
    vectors = []
    for choice in product([-1.0, 1.0], repeat=len(free)):
        if least <= choice.count(1.0) <= most:
            vector = np.empty(n_rows)
            vector[known], vector[free] = signs, choice
            vectors.append(vector)
    return np.array(vectors)


def relaxation(kernels, upper, ridge):
    """Maximise over ``a`` the least ``sum a - a'(K_t + D)a/2`` of all labelings; return its value and ``a``.

    Parameters
    ----------
    kernels : list of ndarray of shape (n_dual, n_dual)
        The kernel that each labeling makes.
    upper, ridge : ndarray of shape (n_dual,)
        Bounds of ``a``, and the diagonal of ``D``.
    """
    a, value = cp.Variable(len(upper)), cp.Variable()
    bounded = np.isfinite(upper)
    constraints = [a >= 0]
    constraints += [a[bounded] <= upper[bounded]] if bounded.any() else []
    for kernel in kernels:
        lower, vectors = np.linalg.eigh(kernel + np.diag(ridge))
        root = (vectors * np.sqrt(np.maximum(lower, 0)))[:, lower > 1e-10 * lower[-1]]
        constraints.append(value <= cp.sum(a) - cp.sum_squares(root.T @ a) / 2)
    problem = cp.Problem(cp.Maximize(value), constraints)
    problem.solve(**TIGHT)
    return problem.value, a.value
