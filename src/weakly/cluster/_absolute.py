"""Support vector regression with the absolute loss, in its dual.

For each column of targets ``t`` the problem is, over functions ``f`` of a space and an offset ``b``, ::

    min_{f, b}  ||f||^2 / 2  +  C sum_i |t_i - f_i - b|

Its dual is to maximize ``beta't - beta' K beta / 2`` over ``-C <= beta_i <= C`` and ``sum beta = 0``, and the
minimizer is ``f = K beta``. It is the epsilon-insensitive loss with an epsilon of zero.
"""

from __future__ import annotations

import numpy as np

from weakly.cluster._absolute_machines import regression_of
from weakly.solvers._result import SolverResult
from weakly.spaces import FeatureSpace, KernelSpace


def solve_absolute(
    space: KernelSpace | FeatureSpace,
    targets: np.ndarray,
    C: float,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
) -> SolverResult:
    """Fit columns of targets by support vector regression with the absolute loss and a free offset.

    Kernels move pairs of coefficients by second-order choice. Features go through passes of coordinate
    descent over samples that are centered without making them dense; a multiplier brings the sum of the
    coefficients to 0, and it is the offset. Where that does not end soon, and samples or dimensions are not
    too many, interior points do, whatever the cost.

    ``start`` is the ``detail.dual`` of an earlier result, made feasible where it is not; by default the best
    point along the signs of the targets. ``tol`` bounds the duality gap of a column relative to its
    objective. ``max_iter`` counts passes over all samples in a column, and steps of interior points; for a
    kernel, as many pairs as there are samples are a pass.

    ``x`` has a column of parameters for each column of targets and ``intercept`` an entry; ``detail.dual``
    is ``beta``. ``objective`` is the sum over the columns, ``criterion`` the largest relative duality gap,
    both at the start and at the end.
    """
    targets = np.asarray(targets, dtype=np.float64)
    _check(targets, C, start, space.n_rows)
    return regression_of(space).solve(targets, C, start=start, tol=tol, max_iter=max_iter)


def _check(t: np.ndarray, C: float, start: np.ndarray | None, n_rows: int) -> None:
    if t.ndim != 2 or t.shape[0] != n_rows or not t.size:
        raise ValueError(f"targets have shape {t.shape}: use ({n_rows}, n_columns), at least one of each.")
    if not np.isfinite(t).all():
        raise ValueError("targets must be finite.")
    if not 0 < C < np.inf:
        raise ValueError(f"C is {C}: the cost of a row must be a positive number.")
    if start is not None and start.shape != t.shape:
        raise ValueError(f"start has shape {start.shape}: it must be {t.shape}, that of targets.")
