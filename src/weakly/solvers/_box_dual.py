"""The dual of a support vector machine without offset: a concave quadratic over a box."""

from __future__ import annotations

import numpy as np

from weakly.solvers._box_kernels import SEED, descend
from weakly.solvers._result import SolverResult

_FLAT = 1e-12  # stands for a diagonal entry that is zero or, by rounding, negative


def solve_box_dual(
    matrix: np.ndarray,
    upper: np.ndarray,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SolverResult:
    """Maximise ``sum a - a'Qa/2`` over ``0 <= a_i <= upper_i`` by coordinate descent.

    With ``Q_ij = y_i y_j K_ij`` and bounds ``C_i`` this is the dual of a support vector machine with the
    hinge and no offset; with ``1 / C_i`` added to the diagonal and no bounds, of one with the squared hinge.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        ``Q``, symmetric and positive semi-definite.
    upper : ndarray of shape (n,)
        Bounds, positive; infinite ones need a positive diagonal.
    start : ndarray of shape (n,), optional
        Where to begin; zero by default.
    tol : float, default=1e-4
        Largest partial derivative that a coordinate may follow, in units of the margin.
    max_iter : int, default=1000
        Most passes over all coordinates, in random order.

    Returns
    -------
    SolverResult
        ``x`` is the maximiser, ``objective`` what is maximised, ``criterion`` the largest such derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_box_dual
    >>> solve_box_dual(np.diag([2.0, 0.5]), np.array([1.0, 1.0])).x.tolist()
    [0.5, 1.0]
    """
    a = np.zeros(len(upper)) if start is None else np.clip(start, 0, upper)
    gradient = 1 - matrix @ a
    before, violation = _value(a, gradient), _violation(a, gradient, upper)
    diagonal = np.einsum("ii->i", matrix)
    if diagonal.min(initial=1.0) < _FLAT:
        matrix = matrix + np.diag(np.maximum(_FLAT - diagonal, 0))
    n_iter, after = descend(matrix, upper, a, gradient, SEED, tol, max_iter)
    return SolverResult(
        x=a,
        objective=np.array([before, _value(a, gradient)]),
        criterion=np.array([violation, after]),
        n_iter=n_iter,
        status="converged" if after <= tol else "max_iter",
    )


def _value(a: np.ndarray, gradient: np.ndarray) -> float:
    return float(a @ (1 + gradient)) / 2


def _violation(a: np.ndarray, gradient: np.ndarray, upper: np.ndarray) -> float:
    can_move = np.where(gradient > 0, a < upper, a > 0)
    return float(np.abs(gradient[can_move]).max(initial=0.0))
