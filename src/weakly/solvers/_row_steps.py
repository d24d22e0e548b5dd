"""Steps of Newton's method for ``||f||^2 / 2 + loss(f + b)``: one kind for each kind of space.

Each minimizes the parabola with the slope and the curvature of the loss: over the samples with curvature
alone, in an exact kernel; by the normal equations, in dense features; and by conjugate gradients over sparse
samples, which is the finite Newton method of [sindhwani2006]_.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.losses import ScoreLoss
from weakly.solvers._centered_rows import CenteredRows
from weakly.spaces import FeatureSpace, KernelSpace

RowSpace = KernelSpace | FeatureSpace | CenteredRows

NOT_A_KERNEL = (
    "the kernel is not positive semi-definite to rounding: centre and scale the rows, lower C, and check "
    "that a precomputed or callable kernel is."
)
_FORCING = 0.1  # share of the gradient that conjugate gradients may leave
_MOST_PRODUCTS = 1000  # of conjugate gradients in a step
_DEPENDENT = 1e-10  # share of its square that a column has on its own, below which products do not tell it


@dataclass(frozen=True, eq=False)
class RowFit:
    """A function with an offset, its values on the samples, and what it costs.

    The offset is not part of the values. The objective is half the squared norm and the loss; the criterion
    is the norm of the gradient, relative to the larger of its two parts: the function, and the pull of the
    samples. The fit has converged where that met the tolerance, or a further step promised nothing but
    rounding.
    """

    theta: np.ndarray
    offset: float
    values: Any
    objective: float = np.inf
    criterion: float = np.inf
    n_iter: int = 0
    converged: bool = False

    @property
    def scores(self) -> Any:
        """Values and offset."""
        return self.values + self.offset


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over all samples at a point: the gradient, the sum of the slopes and that of their sizes."""

    gradient: np.ndarray
    slope: float
    size: float


class Steps(Protocol):
    """What Newton's method may ask of samples with a loss; values are those of a function on the samples.

    ``minimize`` returns the step to the minimum of the parabola, of parameters and offset; ``along`` is the
    inner product of a gradient with a step, which leads from values to others.
    """

    @property
    def n_params(self) -> int: ...
    def zeros(self) -> Any: ...
    def values(self, theta: np.ndarray) -> Any: ...
    def between(self, values: Any, others: Any, share: float) -> Any: ...
    def loss_value(self, values: Any, offset: float) -> float: ...
    def sums(self, point: RowFit) -> Any: ...
    def penalty(self, theta: np.ndarray, values: Any) -> float: ...
    def norm(self, gradient: np.ndarray) -> float: ...
    def along(self, gradient: np.ndarray, step: np.ndarray, values: Any, others: Any) -> float: ...
    def minimize(self, point: RowFit, sums: Any, is_free: bool) -> tuple[np.ndarray, float]: ...


def steps_of(space: RowSpace, loss: ScoreLoss) -> Steps:
    """The steps that go with a space of functions over samples in memory."""
    if space.has_gram:
        return _KernelSteps(space, loss)
    features = getattr(space, "features", None)  # those less their mean are never formed
    if sp.issparse(features):
        return FeatureSteps(CenteredRows(features, np.zeros(space.n_params)), loss)
    return FeatureSteps(space, loss) if features is None else _DenseSteps(space, loss)


@dataclass(frozen=True, eq=False)
class _ArraySums(Sums):
    """The same in memory, with the scores, slopes and curvatures of all samples."""

    scores: np.ndarray
    slopes: np.ndarray
    curvature: np.ndarray  # at least 0


class _ArraySteps:
    """Samples in memory."""

    def __init__(self, space: Any, loss: ScoreLoss) -> None:
        self.space, self.loss = space, loss

    @property
    def n_params(self) -> int:
        return self.space.n_params

    def zeros(self) -> np.ndarray:
        return np.zeros(self.space.n_rows)

    def values(self, theta: np.ndarray) -> np.ndarray:
        return self.space.scores(theta)

    def between(self, values: np.ndarray, others: np.ndarray, share: float) -> np.ndarray:
        return between(values, others, share)

    def loss_value(self, values: np.ndarray, offset: float) -> float:
        return self.loss.value(values + offset)

    def sums(self, point: RowFit) -> Any:
        scores = point.scores
        slopes, curvature = self.loss.slope(scores), np.maximum(self.loss.curvature(scores), 0.0)
        totals = float(slopes.sum()), float(np.abs(slopes).sum())
        return _ArraySums(point.theta + self.space.adjoint(slopes), *totals, scores, slopes, curvature)


class _KernelSteps(_ArraySteps):
    """In an exact kernel, only samples with curvature need an equation."""

    def values(self, theta: np.ndarray) -> np.ndarray:
        return self.space.gram @ theta

    def penalty(self, theta: np.ndarray, values: np.ndarray) -> float:
        return max(float(theta @ values), 0.0)

    def norm(self, gradient: np.ndarray) -> float:
        return float(np.sqrt(max(gradient @ self.values(gradient), 0.0)))

    def along(self, gradient: np.ndarray, step: np.ndarray, values: np.ndarray, others: np.ndarray) -> float:
        return float(gradient @ (others - values))

    def minimize(self, point: RowFit, sums: _ArraySums, is_free: bool) -> tuple[np.ndarray, float]:
        """At the minimizer ``theta = -(slopes + curvature (new scores - scores))``."""
        theta = -sums.slopes
        curved = np.flatnonzero(sums.curvature)
        if not len(curved):
            return theta - point.theta, 0.0
        theta[curved] = 0.0
        root = np.sqrt(sums.curvature[curved])[:, None]
        missing = (sums.scores - self.values(theta))[curved]
        wanted = root[:, 0] * missing - sums.slopes[curved] / root[:, 0]
        sides = root * self._solve(curved, root, np.column_stack([wanted, root]))
        without, per_offset = sides.T
        offset = (without.sum() + theta.sum()) / per_offset.sum() if is_free else point.offset
        theta[curved] = without - offset * per_offset
        return theta - point.theta, float(offset - point.offset)

    def _solve(self, rows: np.ndarray, root: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Apply the inverse of ``I + H^1/2 K H^1/2``."""
        matrix = root * self.space.gram[np.ix_(rows, rows)] * root.T
        matrix.flat[:: len(rows) + 1] += 1.0
        try:
            factor = sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            raise ValueError(NOT_A_KERNEL) from None
        return sla.cho_solve(factor, sides, overwrite_b=True, check_finite=False)


class FeatureSteps(_ArraySteps):
    """In features, where the offset is eliminated: it is what makes weighted mean scores meet.

    Equations are solved by conjugate gradients, which ask for products with the curvature alone.
    """

    def penalty(self, theta: np.ndarray, values: Any) -> float:
        return float(theta @ theta)

    def norm(self, gradient: np.ndarray) -> float:
        return float(np.linalg.norm(gradient))

    def along(self, gradient: np.ndarray, step: np.ndarray, values: Any, others: Any) -> float:
        return float(gradient @ step)

    def minimize(self, point: RowFit, sums: Any, is_free: bool) -> tuple[np.ndarray, float]:
        total = float(np.sum(sums.curvature))
        if total == 0:
            return -sums.gradient, 0.0
        mean = self.weighted(sums) / total if is_free else np.zeros_like(sums.gradient)
        step = self.solve(point, sums, mean, sums.slope * mean - sums.gradient)
        return step, float(-sums.slope / total - mean @ step) if is_free else 0.0

    def weighted(self, sums: Any) -> np.ndarray:
        """Sum of the samples, weighted by their curvature."""
        return self.space.adjoint(sums.curvature)

    def solve(self, point: RowFit, sums: Any, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Apply the inverse of ``I + Z'HZ - total mean mean'``."""
        total, curved = float(np.sum(sums.curvature)), self.curved(point, sums)
        return conjugate_gradients(lambda v: v + curved(v) - total * (mean @ v) * mean, side)

    def curved(self, point: RowFit, sums: Any) -> Callable[[np.ndarray], np.ndarray]:
        """The product with ``Z'HZ``."""
        rows = np.flatnonzero(sums.curvature)
        return lambda v: self.space.curved(rows, sums.curvature, v)


class _DenseSteps(FeatureSteps):
    """By the normal equations."""

    def solve(self, point: RowFit, sums: Any, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        curved = np.flatnonzero(sums.curvature)
        scaled = self.space.features[curved] - mean
        scaled *= np.sqrt(sums.curvature[curved])[:, None]
        return solve_shifted(scaled, side)


def between(start: np.ndarray, end: np.ndarray, share: float) -> np.ndarray:
    """The point at so large a share of the way."""
    return start + share * (end - start)


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
