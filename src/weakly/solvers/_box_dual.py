"""The dual of a support vector machine without offset: a concave quadratic over a box."""

from __future__ import annotations

import numpy as np

from weakly.solvers._box_kernels import SEED, descend
from weakly.solvers._result import SolverResult


def solve_box_dual(
    matrix: np.ndarray,
    upper: np.ndarray,
    *,
    signs: np.ndarray | None = None,
    ridge: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SolverResult:
    """Maximise ``sum a - a'(YQY + D)a/2`` over ``0 <= a_i <= upper_i`` by coordinate descent.

    With a kernel ``Q``, labels ``Y`` and bounds ``C_i`` this is the dual of a support vector machine with the
    hinge and no offset; with ``D = diag(1 / C_i)`` and no bounds, of one with the squared hinge.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        ``Q``, symmetric and positive semi-definite.
    upper : ndarray of shape (n,)
        Bounds, positive; infinite ones need a positive diagonal.
    signs : ndarray of shape (n,), optional
        Diagonal of ``Y``, +1 or -1; +1 by default.
    ridge : ndarray of shape (n,), optional
        Diagonal of ``D``; 0 by default.
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
    y = np.ones(len(upper)) if signs is None else signs
    d = np.zeros(len(upper)) if ridge is None else ridge
    a = np.zeros(len(upper)) if start is None else np.clip(start, 0, upper)
    gradient = 1 - y * (matrix @ (y * a)) - d * a
    before, violation = _value(a, gradient), _violation(a, gradient, upper)
    lacking = y * gradient
    n_iter, after = descend(matrix, y, d, upper, a, lacking, SEED, tol, max_iter)
    return SolverResult(
        x=a,
        objective=np.array([before, _value(a, y * lacking)]),
        criterion=np.array([violation, after]),
        n_iter=n_iter,
        status="converged" if after <= tol else "max_iter",
    )


def _value(a: np.ndarray, gradient: np.ndarray) -> float:
    return float(a @ (1 + gradient)) / 2


def _violation(a: np.ndarray, gradient: np.ndarray, upper: np.ndarray) -> float:
    can_move = np.where(gradient > 0, a < upper, a > 0)
    return float(np.abs(gradient[can_move]).max(initial=0.0))
