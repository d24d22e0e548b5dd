"""Newton's method for ``||f||^2 / 2 + loss(f + b)``, where the loss is a sum over samples.

A step minimizes the parabola with the slope and the curvature of the loss, over functions and, where it is
free, the offset. How that is done is up to the kind of steps (`_row_steps`), and so is where the samples
live; the loop and the line search are written once. Where the offset is free, samples may be centered first:
it is the same problem with far better numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from weakly.losses import ScoreLoss
from weakly.solvers._row_steps import RowFit, RowSpace, Steps, Sums, steps_of

_MOST_HALVINGS = 40
_ROUNDING = 1e-12


def fit_rows(
    space: RowSpace,
    loss: ScoreLoss,
    *,
    start: RowFit | None = None,
    offset: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RowFit:
    """Minimize ``||f||^2 / 2 + loss(f + b)`` over ``f`` and ``b``, or over ``f`` for a given ``b``.

    Parameters
    ----------
    space : KernelSpace, FeatureSpace or CenteredRows
        Functions over the rows.
    loss : ScoreLoss
        The loss; where it is not convex, steps do without its negative curvature and end in a local minimum.
    start : RowFit, optional
        Where to begin; at 0 by default.
    offset : float, optional
        The offset ``b``, which is free by default.
    tol : float, default=1e-6
        Largest norm of the gradient, relative to the function or the pull of the rows, whichever is larger.
    max_iter : int, default=200
        Most steps.

    Returns
    -------
    RowFit
        The function.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import fit_rows
    >>> from weakly.losses._transductive import TwoSided
    >>> from weakly.spaces import FeatureSpace
    >>> separable = TwoSided(np.array([1e6, 0.0]), np.array([0.0, 1e6]))
    >>> fit = fit_rows(FeatureSpace(np.array([[3.0], [1.0]])), separable)
    >>> fit.theta.round(3).tolist(), round(fit.offset, 3)
    ([1.0], -2.0)
    """
    return minimize_rows(steps_of(space, loss), start=start, offset=offset, tol=tol, max_iter=max_iter)


def minimize_rows(
    steps: Steps,
    *,
    start: RowFit | None = None,
    offset: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RowFit:
    """The loop of :func:`fit_rows`, for any kind of steps."""
    zeros = steps.zeros()
    point = RowFit(np.zeros(steps.n_params), 0.0, zeros) if start is None else start
    first = point.offset if offset is None else float(offset)
    point = _assess(steps, point.theta, point.values, first)
    least_unit = _ROUNDING * abs(steps.loss_value(zeros, 0.0)) or 1.0
    gain = promised = np.inf  # of a step, by the objective and by its parabola, relative to the objective
    for step in range(max_iter + 1):
        sums = steps.sums(point)
        criterion = _relative_norm(steps, point.theta, sums.gradient)
        if offset is None:
            criterion += abs(sums.slope) / (sums.size or 1.0)
        if criterion <= tol or gain <= _ROUNDING or step == max_iter:
            break
        previous, (point, promised) = point, _search_line(steps, point, sums, is_free=offset is None)
        unit = max(abs(previous.objective), least_unit)
        gain, promised = (previous.objective - point.objective) / unit, abs(promised) / unit
    converged = bool(criterion <= tol or promised <= _ROUNDING)
    return replace(point, criterion=float(criterion), n_iter=step, converged=converged)


def _assess(steps: Steps, theta: np.ndarray, values: Any, offset: float) -> RowFit:
    objective = steps.penalty(theta, values) / 2 + steps.loss_value(values, offset)
    return RowFit(theta, offset, values, float(objective))


def _relative_norm(steps: Steps, theta: np.ndarray, gradient: np.ndarray) -> float:
    """Norm of the gradient relative to the function and the pull of the samples, which cancel at the end."""
    sizes = [steps.norm(theta), steps.norm(gradient - theta)]
    return steps.norm(gradient) / (max(sizes) or 1.0)


def _search_line(steps: Steps, point: RowFit, sums: Sums, is_free: bool) -> tuple[RowFit, float]:
    """Go towards the minimizer of the parabola until the objective has fallen by enough; almost always all
    the way.

    The second value is the slope of the objective along the whole step.
    """
    step, lift = steps.minimize(point, sums, is_free)
    full = steps.values(point.theta + step)
    descent = float(steps.along(sums.gradient, step, point.values, full) + lift * sums.slope)
    for share in (0.5**halvings for halvings in range(_MOST_HALVINGS)):
        values = full if share == 1 else steps.between(point.values, full, share)
        new = _assess(steps, point.theta + share * step, values, float(point.offset + share * lift))
        if new.objective <= point.objective + 1e-4 * share * min(descent, 0.0):
            return new, descent
    return point, descent
