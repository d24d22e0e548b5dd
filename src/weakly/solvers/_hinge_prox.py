"""Proximal map of the hinge loss with a bias that the rows share.

For each column ``e`` of values, with signs ``y`` and weights ``w``, the problem is ::

    min_{h, b}  sum_i w_i max(1 - y_i (h_i + b), 0)  +  ||h - e||^2 / 2

Its dual is to maximise ``sum_i beta_i (1 - y_i e_i) - ||beta||^2 / 2`` over ``0 <= beta_i <= w_i`` and
``y'beta = 0``, and the minimiser is ``h = e + y beta``.
"""

from __future__ import annotations

import numpy as np

from weakly.solvers._result import DualPoint, SolverResult

_NEGLIGIBLE = 1e-8  # an objective below this part of the weights is lost in rounding


def prox_hinge(values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> SolverResult:
    """Move columns of values towards their signs by the hinge loss, exactly.

    This is the step for ``h`` of [tvsvm] Eqs. (65) to (68) on the labelled rows, divided by ``r2``: weights
    are ``mu / r2``. The bias ``b`` is the root of a piecewise linear function, found by sorting its corners.
    Where an interval of biases is best, it is the middle. In a column of one sign that interval has only one
    end, the bias at which the last row reaches its margin: it is that, and ``h`` is ``e``.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        The columns ``e``.
    targets : ndarray of shape (n_rows, n_columns)
        Signs ``y``, +1 or -1.
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the rows, positive.

    Returns
    -------
    SolverResult
        ``x`` is ``h``, ``intercept`` is ``b`` and ``detail.dual`` is ``beta``; ``criterion`` is the largest
        relative duality gap.

    See Also
    --------
    solve_hinge_dual : The same with another norm than that of the plain differences.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import prox_hinge
    >>> result = prox_hinge(np.array([[0.0], [1.0]]), np.array([[1.0], [-1.0]]), np.full(2, 5.0))
    >>> result.x.ravel().tolist(), result.intercept.tolist()
    ([1.5, -0.5], [-0.5])
    """
    check_weights(weights)
    e, y, w = (np.asarray(array, dtype=np.float64) for array in (values, targets, weights[:, None]))
    one_sign = (y == y[:1]).all(axis=0)
    # With one sign, beta = 0 is the only point with y'beta = 0.
    b = np.where(one_sign, y[0] * (1 - y * e).max(axis=0), _balancing_bias(e, y, w))
    beta = np.where(one_sign, 0.0, np.clip(1 - y * (e + b), 0, w))  # [tvsvm] Eq. (73)
    h = e + y * beta  # [tvsvm] Eq. (74)
    objective, gap = certify(e, y, w, b, y * beta, y * beta)
    return SolverResult(
        x=h.astype(values.dtype),
        objective=objective.sum(keepdims=True),
        criterion=gap.max(keepdims=True, initial=0.0),
        n_iter=1,
        status="converged",
        intercept=b.astype(values.dtype),
        detail=DualPoint(beta),
    )


def _balancing_bias(e: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Root ``b`` of ``S(b) = sum_i y_i clip(1 - y_i (e_i + b), 0, w_i)`` in each column.

    Each row's part of ``S`` falls by ``w_i`` with slope -1, between two corners; ``S`` starts at the weight
    of the positive rows.
    """
    starts = y - e - np.where(y > 0, w, 0)
    ends = y - e + np.where(y > 0, 0, w)
    corners = np.concatenate([starts, ends])
    order = np.argsort(corners, axis=0)
    corners = np.take_along_axis(corners, order, axis=0)
    n_falling = np.cumsum(np.where(order < len(e), 1, -1), axis=0)
    fallen = np.cumsum(n_falling[:-1] * np.diff(corners, axis=0), axis=0)
    heights = np.where(y > 0, w, 0).sum(axis=0) - np.concatenate([np.zeros((1, e.shape[1])), fallen])
    # Without this a flat piece at zero would be taken for one just above or below.
    rounding = 8 * np.finfo(np.float64).eps * (w.sum() + len(e) * np.abs(corners).max(axis=0))
    heights[np.abs(heights) <= rounding] = 0
    first = np.argmax(heights <= 0, axis=0)
    last = len(heights) - 1 - np.argmax(heights[::-1] >= 0, axis=0)
    columns = np.arange(e.shape[1])
    left, right = corners[last, columns], corners[first, columns]
    above, below = heights[last, columns], heights[first, columns]
    # Either both heights are zero, at the two ends of the flat piece, or the root is between them.
    share = np.divide(above, above - below, out=np.full_like(above, 0.5), where=above > below)
    return left + share * (right - left)


def check_weights(weights: np.ndarray) -> None:
    """Refuse weights that are not positive numbers."""
    if not ((weights > 0) & (weights < np.inf)).all():
        raise ValueError("weights must be positive numbers.")


def certify(
    offsets: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    coefficients: np.ndarray,
    images: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Objective and relative duality gap of each column.

    The scores are ``offsets + images + intercept``, where ``images`` are the coefficients ``y beta`` times
    the Gram matrix; weights are a column.
    """
    penalty = (coefficients * images).sum(axis=0) / 2
    slack = np.maximum(1 - targets * (offsets + images + intercept), 0)
    objective = (weights * slack).sum(axis=0) + penalty
    dual_objective = (coefficients * (targets - offsets)).sum(axis=0) - penalty
    gap = np.maximum(objective - dual_objective, 0)
    return objective, gap / np.maximum(objective, _NEGLIGIBLE * weights.sum())
