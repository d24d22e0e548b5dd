"""The hinge loss with a bias and with given offsets of the scores, in its dual.

For each column of signs ``y`` and offsets ``f0`` the problem is, over functions ``f`` of the kernel ``K``, ::

    min_{f, b}  sum_i w_i max(1 - y_i (f0_i + f_i + b), 0)  +  ||f||_K^2 / 2

Its dual is to maximise ``sum_i beta_i (1 - y_i f0_i) - beta' Y K Y beta / 2`` over ``0 <= beta_i <= w_i`` and
``y'beta = 0``, and the minimiser is ``f = K Y beta``.
"""

from __future__ import annotations

import numpy as np

from weakly._threads import run_parallel
from weakly.solvers._hinge_kernels import each_column
from weakly.solvers._hinge_prox import certify, check_weights
from weakly.solvers._result import DualPoint, SolverResult


def solve_hinge_dual(
    gram: np.ndarray,
    offsets: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    dual: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
) -> SolverResult:
    """Minimise the hinge loss with offsets by pairwise steps on the dual, column by column.

    This is the dual of [tvsvm] Eqs. (90), (120) and (130) on the labelled rows, where a squared distance to
    ``g`` joins the norm: ``K`` is their symmetric ``G``, ``f0`` is ``r G g``. In a column of one sign the
    coefficients are zero, and the bias is that at which the last row reaches its margin.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The kernel ``K`` between the rows, symmetric and positive semidefinite.
    offsets : ndarray of shape (n_rows, n_columns)
        Offsets ``f0``.
    targets : ndarray of shape (n_rows, n_columns)
        Signs ``y``, +1 or -1.
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the rows, positive.
    dual : ndarray of shape (n_rows, n_columns), optional
        Where to start, the ``detail.dual`` of an earlier result, made feasible where it is not; zero by
        default.
    tol : float, default=1e-6
        Largest violation of the optimality conditions, in units of the scores, as LIBSVM measures it.
    max_iter : int, default=1000000
        Most pairs moved, in each column.

    Returns
    -------
    SolverResult
        ``x`` are the coefficients ``y beta``: scores are ``offsets + gram @ x + intercept``. ``criterion`` is
        the largest relative duality gap, at the start and at the end; ``n_iter`` is the most of any column.

    See Also
    --------
    prox_hinge : The case of an identity matrix, in closed form.
    solve_hinge : Without offsets, through LIBSVM, with held-out scores.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_hinge_dual
    >>> y = np.array([[1.0], [-1.0]])
    >>> result = solve_hinge_dual(4 * np.eye(2), np.full((2, 1), 3.0), y, np.ones(2))
    >>> result.x.ravel().tolist(), result.intercept.tolist()
    ([0.25, -0.25], [-3.0])
    """
    check_weights(weights)
    if dual is not None and dual.shape != targets.shape:
        raise ValueError(f"dual has shape {dual.shape}: it must be {targets.shape}, that of targets.")
    K = np.ascontiguousarray(gram, dtype=np.float64)
    f0, y, w = (np.asarray(array, dtype=np.float64) for array in (offsets, targets, weights[:, None]))
    start = np.zeros_like(y) if dual is None else balanced(np.clip(dual, 0, w) * y)
    image = K @ start
    x, residuals = (np.ascontiguousarray(array.T) for array in (start, y - f0 - image))
    lower, upper = (np.ascontiguousarray(array.T) for array in (np.minimum(w * y, 0), np.maximum(w * y, 0)))
    records, max_iter = np.empty((len(x), 4)), min(max_iter, np.iinfo(np.int64).max)
    diagonal = K.diagonal().copy()
    run_parallel(each_column, len(x), K, diagonal, lower, upper, x, residuals, records, tol, max_iter)
    before = certify(f0, y, w, records[:, 0], start, image)
    after = certify(f0, y, w, records[:, 1], x.T, K @ x.T)
    return SolverResult(
        x=x.T.astype(offsets.dtype),
        objective=np.array([before[0].sum(), after[0].sum()]),
        criterion=np.array([before[1].max(initial=0.0), after[1].max(initial=0.0)]),
        n_iter=int(records[:, 3].max(initial=0)),
        status="converged" if (records[:, 2] <= tol).all() else "max_iter",
        intercept=records[:, 1].astype(offsets.dtype),
        detail=DualPoint(x.T * y),
    )


def balanced(x: np.ndarray) -> np.ndarray:
    """Shrink the heavier sign of each column until the column sums to zero.

    Sums that are zero but for rounding are left alone: shrinking would take coefficients off their bounds.
    """
    positive, negative = np.maximum(x, 0).sum(axis=0), np.maximum(-x, 0).sum(axis=0)
    lighter, heavier = np.minimum(positive, negative), np.maximum(positive, negative)
    share = np.divide(lighter, heavier, out=np.ones_like(heavier), where=heavier - lighter > 1e-12 * heavier)
    return x * np.where((x > 0) == (positive > negative), share, 1.0)
