"""Newton's method for ``||f||^2 / 2 + loss(f + b)``, where the loss is a sum over rows.

A step minimises the parabola with the slope and the curvature of the loss, over functions and, where it is
free, the offset. Three ways to do that share everything else: the rows with curvature alone, in an exact
kernel; the normal equations, in dense features; and conjugate gradients over sparse rows, which is the
finite Newton method of [sindhwani2006]_. Where the offset is free, rows may be centred first: it is the same
problem with far better numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._row_losses import CurvedLoss
from weakly.spaces import FeatureSpace, KernelSpace

RowSpace = KernelSpace | FeatureSpace | CenteredRows

NOT_A_KERNEL = (
    "the kernel is not positive semi-definite to rounding: centre and scale the rows, lower C, and check "
    "that a precomputed or callable kernel is."
)
_MOST_HALVINGS = 40
_FORCING = 0.1  # share of the gradient that conjugate gradients may leave
_MOST_PRODUCTS = 1000  # of conjugate gradients in a step
_ROUNDING = 1e-12
_DEPENDENT = 1e-10  # share of its square that a column has on its own, below which products do not tell it


@dataclass(frozen=True, eq=False)
class RowFit:
    """A function with an offset, and what it costs.

    Parameters
    ----------
    theta : ndarray of shape (n_params,)
        Parameters of the function.
    offset : float
        Added to its values.
    scores : ndarray of shape (n_rows,)
        Values and offset.
    objective : float
        Half the squared norm and the loss.
    criterion : float
        Norm of the gradient, relative to the larger of its two parts: the function, and the pull of the rows.
    n_iter : int
        Newton steps.
    converged : bool
        Whether the criterion met the tolerance, or a further step promised nothing but rounding.
    """

    theta: np.ndarray
    offset: float
    scores: np.ndarray
    objective: float
    criterion: float
    n_iter: int
    converged: bool


def fit_rows(
    space: RowSpace,
    loss: CurvedLoss,
    *,
    start: RowFit | None = None,
    offset: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RowFit:
    """Minimise ``||f||^2 / 2 + loss(f + b)`` over ``f`` and ``b``, or over ``f`` for a given ``b``.

    Parameters
    ----------
    space : KernelSpace, FeatureSpace or CenteredRows
        Functions over the rows.
    loss : CurvedLoss
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
    >>> from weakly.solvers._row_losses import TwoSided
    >>> from weakly.spaces import FeatureSpace
    >>> separable = TwoSided(np.array([1e6, 0.0]), np.array([0.0, 1e6]))
    >>> fit = fit_rows(FeatureSpace(np.array([[3.0], [1.0]])), separable)
    >>> fit.theta.round(3).tolist(), round(fit.offset, 3)
    ([1.0], -2.0)
    """
    steps = _steps_of(space)
    if start is None:
        start = RowFit(np.zeros(space.n_params), 0.0, np.zeros(space.n_rows), np.inf, np.inf, 0, False)
    first = start.offset if offset is None else offset
    point = _assess(steps, loss, start.theta, start.scores - start.offset, first)
    least_unit = _ROUNDING * abs(loss.value(np.zeros(space.n_rows))) or 1.0
    gain = promised = np.inf  # of a step, by the objective and by its parabola, relative to the objective
    for step in range(max_iter + 1):
        gradient = steps.gradient(point)
        criterion = _relative_norm(steps, point, gradient)
        if offset is None:
            criterion += abs(point.slope.sum()) / (np.abs(point.slope).sum() or 1.0)
        if criterion <= tol or gain <= _ROUNDING or step == max_iter:
            break
        target = steps.minimize(point, gradient, offset is None)
        previous, (point, promised) = point, _search_line(steps, loss, point, *target)
        unit = max(abs(previous.objective), least_unit)
        gain, promised = (previous.objective - point.objective) / unit, abs(promised) / unit
    end = float(criterion), step, bool(criterion <= tol or promised <= _ROUNDING)
    return RowFit(point.theta, point.offset, point.scores, point.objective, *end)


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate, and what is known of the objective there."""

    theta: np.ndarray
    values: np.ndarray  # without the offset
    offset: float
    slope: np.ndarray
    curvature: np.ndarray  # at least 0
    objective: float

    @property
    def scores(self) -> np.ndarray:
        return self.values + self.offset


class _Steps(Protocol):
    """What a kind of space contributes; ``minimize`` returns the minimiser of the parabola at a point."""

    def values(self, theta: np.ndarray) -> np.ndarray: ...
    def penalty(self, theta: np.ndarray, values: np.ndarray) -> float: ...
    def gradient(self, point: _Point) -> np.ndarray: ...
    def norm(self, gradient: np.ndarray) -> float: ...
    def minimize(self, point: _Point, gradient: np.ndarray, is_free: bool) -> tuple[np.ndarray, float]: ...


def _assess(steps: _Steps, loss: CurvedLoss, theta: np.ndarray, values: np.ndarray, offset: float) -> _Point:
    scores = values + offset
    curvature = np.maximum(loss.curvature(scores), 0.0)
    objective = steps.penalty(theta, values) / 2 + loss.value(scores)
    return _Point(theta, values, offset, loss.slope(scores), curvature, objective)


def _relative_norm(steps: _Steps, point: _Point, gradient: np.ndarray) -> float:
    """Norm of the gradient relative to the function and to the pull of the rows, which cancel at the end."""
    sizes = [steps.norm(point.theta), steps.norm(gradient - point.theta)]
    return steps.norm(gradient) / (max(sizes) or 1.0)


def _search_line(
    steps: _Steps, loss: CurvedLoss, point: _Point, target: np.ndarray, offset: float
) -> tuple[_Point, float]:
    """Go towards the target until the objective has fallen by enough; almost always all the way.

    The second value is the slope of the objective along the whole step.
    """
    step, lift = target - point.theta, offset - point.offset
    change = steps.values(target) - point.values
    # The slope of the penalty along the step is <theta, step>, and its curvature <step, step>.
    along = (steps.penalty(target, point.values + change) - steps.penalty(point.theta, point.values)) / 2
    descent = along - steps.penalty(step, change) / 2 + point.slope @ (change + lift)
    for share in (0.5**halvings for halvings in range(_MOST_HALVINGS)):
        theta, values = point.theta + share * step, point.values + share * change
        new = _assess(steps, loss, theta, values, point.offset + share * lift)
        if new.objective <= point.objective + 1e-4 * share * min(descent, 0.0):
            return new, float(descent)
    return point, float(descent)


class _KernelSteps:
    """In an exact kernel, only rows with curvature need an equation."""

    def __init__(self, space: KernelSpace) -> None:
        self.gram = space.gram

    def values(self, theta: np.ndarray) -> np.ndarray:
        return self.gram @ theta

    def penalty(self, theta: np.ndarray, values: np.ndarray) -> float:
        return max(float(theta @ values), 0.0)

    def gradient(self, point: _Point) -> np.ndarray:
        return point.theta + point.slope

    def norm(self, gradient: np.ndarray) -> float:
        return float(np.sqrt(max(gradient @ (self.gram @ gradient), 0.0)))

    def minimize(self, point: _Point, gradient: np.ndarray, is_free: bool) -> tuple[np.ndarray, float]:
        """At the minimiser ``theta = -(slope + curvature (new scores - scores))``."""
        theta = -point.slope
        curved = np.flatnonzero(point.curvature)
        if not len(curved):
            return theta, point.offset
        theta[curved] = 0.0
        root = np.sqrt(point.curvature[curved])[:, None]
        wanted = root[:, 0] * (point.scores - self.gram @ theta)[curved] - point.slope[curved] / root[:, 0]
        sides = root * self._solve(curved, root, np.column_stack([wanted, root]))
        without, per_offset = sides.T
        offset = (without.sum() + theta.sum()) / per_offset.sum() if is_free else point.offset
        theta[curved] = without - offset * per_offset
        return theta, float(offset)

    def _solve(self, rows: np.ndarray, root: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Apply the inverse of ``I + H^1/2 K H^1/2``."""
        matrix = root * self.gram[np.ix_(rows, rows)] * root.T
        matrix.flat[:: len(rows) + 1] += 1.0
        try:
            factor = sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            raise ValueError(NOT_A_KERNEL) from None
        return sla.cho_solve(factor, sides, overwrite_b=True, check_finite=False)


class _FeatureSteps:
    """In features, where the offset is eliminated: it is what makes weighted mean scores meet."""

    def __init__(self, space: Any) -> None:
        self.space = space

    def values(self, theta: np.ndarray) -> np.ndarray:
        return self.space.scores(theta)

    def penalty(self, theta: np.ndarray, values: np.ndarray) -> float:
        return float(theta @ theta)

    def gradient(self, point: _Point) -> np.ndarray:
        return point.theta + self.space.adjoint(point.slope)

    def norm(self, gradient: np.ndarray) -> float:
        return float(np.linalg.norm(gradient))

    def minimize(self, point: _Point, gradient: np.ndarray, is_free: bool) -> tuple[np.ndarray, float]:
        total = float(point.curvature.sum())
        if total == 0:
            return point.theta - gradient, point.offset
        mean = self.space.adjoint(point.curvature) / total if is_free else np.zeros_like(gradient)
        pull = float(point.slope.sum())
        step = self.solve(point.curvature, total, mean, pull * mean - gradient)
        lift = -pull / total - mean @ step if is_free else 0.0
        return point.theta + step, float(point.offset + lift)

    def solve(self, curvature: np.ndarray, total: float, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Apply the inverse of ``I + Z'HZ - total mean mean'``."""
        raise NotImplementedError


class _DenseSteps(_FeatureSteps):
    def solve(self, curvature: np.ndarray, total: float, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        curved = np.flatnonzero(curvature)
        scaled = self.space.features[curved] - mean
        scaled *= np.sqrt(curvature[curved])[:, None]
        return solve_shifted(scaled, side)


class _SparseSteps(_FeatureSteps):
    def solve(self, curvature: np.ndarray, total: float, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        curved = np.flatnonzero(curvature)

        def image_of(v: np.ndarray) -> np.ndarray:
            return v + self.space.curved(curved, curvature, v) - total * (mean @ v) * mean

        return conjugate_gradients(image_of, side)


def conjugate_gradients(image_of: Callable[[np.ndarray], np.ndarray], side: np.ndarray) -> np.ndarray:
    """Solve to a tenth of the gradient: the samples with curvature change before long."""
    x, residual, direction = np.zeros_like(side), side.copy(), side.copy()
    size = float(residual @ residual)
    limit = _FORCING**2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= limit:
            break
        image = image_of(direction)
        bend = float(direction @ image)
        if not bend > 0:  # rounding has taken over
            break
        length = size / bend
        x += length * direction
        residual -= length * image
        previous, size = size, float(residual @ residual)
        direction *= size / previous
        direction += residual
    return x


def solve_shifted(A: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Apply the inverse of ``I + A'A``, however large some rows or columns of ``A`` are.

    Cholesky's method does not mind the scale of columns. Where they are nearly dependent, as one huge row
    makes them, the products have lost what tells them apart, and only ``A`` itself still has it: a QR
    factorization of ``A`` over ``I`` is accurate row by row if large rows come first and columns are pivoted
    (Cox and Higham, 1998).
    """
    matrix = A.T @ A
    matrix.flat[:: len(side) + 1] += 1.0
    diagonal = matrix.diagonal().copy()
    try:
        factor = sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except sla.LinAlgError:
        factor = None
    if factor is not None and (factor[0].diagonal() ** 2 > _DEPENDENT * diagonal).all():
        return sla.cho_solve(factor, side, check_finite=False)
    stacked = np.vstack([A, np.eye(len(side))])
    stacked = stacked[np.argsort(-np.abs(stacked).max(axis=1), kind="stable")]
    triangle, order = sla.qr(stacked, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    x = np.empty_like(side)
    x[order] = sla.cho_solve((triangle[: len(side)], False), side[order], check_finite=False)
    return x


def _steps_of(space: RowSpace) -> _Steps:
    if isinstance(space, KernelSpace):
        return _KernelSteps(space)
    if isinstance(space, CenteredRows):
        return _SparseSteps(space)
    if sp.issparse(space.features):
        return _SparseSteps(CenteredRows(space.features, np.zeros(space.n_params)))
    return _DenseSteps(space)
