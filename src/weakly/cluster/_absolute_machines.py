"""Support vector regression with the absolute loss, in its dual, by a kernel or by features.

For each column of targets ``t`` the problem is, over functions ``f`` of a space and an offset ``b``, ::

    min_{f, b}  ||f||^2 / 2  +  C sum_i |t_i - f_i - b|

Its dual is to maximize ``beta't - beta' K beta / 2`` over ``-C <= beta_i <= C`` and ``sum beta = 0``, and
the minimizer is ``f = K beta``. It is the epsilon-insensitive loss with an epsilon of zero.

Kernels move pairs of coefficients by second-order choice. Features go through passes of coordinate descent
over samples that are centered without making them dense; a multiplier brings the sum of the coefficients to
0, and it is the offset. Where that does not end soon, and samples or dimensions are not too many, interior
points do, whatever the cost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from weakly._threads import run_parallel
from weakly.cluster._absolute_interior import GramSystem, RowSystem, interior_points
from weakly.cluster._absolute_kernels import absolute_pass
from weakly.rows._arrays import dense
from weakly.solvers._box_kernels import SEED
from weakly.solvers._hinge_dual import balanced
from weakly.solvers._hinge_kernels import each_column
from weakly.solvers._result import DualPoint, SolverResult
from weakly.solvers._row_kernels import row_arrays, row_products, row_sum
from weakly.spaces import FeatureSpace, KernelSpace

_NEGLIGIBLE = 1e-8  # an objective below this part of the cost of all rows is lost in rounding
_ROUGH = 16.0  # pairs first move up to a violation so many times that which surely is enough
_FINER = 0.25  # what a violation is multiplied by where it was not enough
_LOOK_PASSES = 500  # of pairs between two looks at the gap
_FIRST_PASSES, _MOST_PASSES = 2, 20  # between looks at the gap; an eighth of those before are added
_CONSTANT = 0.1  # constant of the kernel that holds the sum near 0, in units of the mean squared norm of rows
# Interior points take their turn after some passes, where a step of theirs is not too much. Steps cost the
# square of the dimensions of their system for each row, and passes only the dimensions.
_PASSES_BEFORE = 8
_DIMENSIONS_PER_PASS = 40  # of the system, for a pass more
_MOST_ROWS = 3000  # that are a system
_MOST_ENTRIES, _MOST_WORK = 5e7, 3e10  # of features, and the products of a step


def regression_of(space: KernelSpace | FeatureSpace) -> _KernelRegression | _LinearRegression:
    """What a space needs for regressions, to be kept where there are several."""
    return _KernelRegression(space) if space.has_gram else _LinearRegression(space)


class _Point(NamedTuple):
    """A feasible dual point with the function and the best offset that it stands for."""

    beta: np.ndarray
    parameters: np.ndarray
    intercept: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray


class _Regression:
    """What both kinds share: where to start, and what a dual point is worth."""

    n_rows: int
    _passes_before: int

    def parameters(self, beta: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _descend(
        self, t: np.ndarray, C: float, point: _Point, tol: float, max_iter: int
    ) -> tuple[_Point, int]:
        raise NotImplementedError

    @cached_property
    def _system(self) -> GramSystem | RowSystem | None:
        """What interior points need, where they are worth it."""
        raise NotImplementedError

    def solve(
        self, t: np.ndarray, C: float, *, start: np.ndarray | None, tol: float, max_iter: int
    ) -> SolverResult:
        """Fit columns of targets, up to a duality gap ``tol`` of each column relative to its objective.

        ``start`` is the ``detail.dual`` of an earlier result, made feasible where it is not; by default the
        best point along the signs of the targets. ``max_iter`` counts passes over all samples in a column,
        and steps of interior points; for a kernel, as many pairs as there are samples are a pass. Objective
        and criterion, the largest relative gap, are those of all columns at the start and at the end.
        """
        if start is None:
            beta = self._along_signs(t, C)
        else:  # targets that are all the same need no function, and no loss has a relative gap
            beta = balanced(np.clip(start, -C, C)) * (np.ptp(t, axis=0) > 0)
        before = self._assess(t, C, beta)
        after, n_iter = self._descend(t, C, before, tol, min(self._passes_before, max_iter))
        if (after.gaps > tol).any() and n_iter < max_iter:
            after, n_more = self._from_within(t, C, after, tol, max_iter - n_iter)
            n_iter += n_more
        if (after.gaps > tol).any() and n_iter < max_iter:
            after, n_more = self._descend(t, C, after, tol, max_iter - n_iter)
            n_iter += n_more
        return SolverResult(
            x=after.parameters,
            objective=np.array([before.objectives.sum(), after.objectives.sum()]),
            criterion=np.array([before.gaps.max(initial=0.0), after.gaps.max(initial=0.0)]),
            n_iter=n_iter,
            status="converged" if (after.gaps <= tol).all() else "max_iter",
            intercept=after.intercept,
            detail=DualPoint(after.beta),
        )

    def _along_signs(self, t: np.ndarray, C: float) -> np.ndarray:
        """The best dual point along the signs of the targets less their mean."""
        signs = balanced(np.sign(t - t.mean(axis=0)))
        curvature = (signs * self.scores(self.parameters(signs))).sum(axis=0)
        slope = (signs * t).sum(axis=0)
        is_short = slope < C * curvature  # of the bounds
        return signs * np.divide(slope, curvature, out=C * np.sign(slope), where=is_short)

    def _from_within(
        self, t: np.ndarray, C: float, point: _Point, tol: float, max_iter: int
    ) -> tuple[_Point, int]:
        """Columns that are not solved, by interior points: these do not mind a high cost."""
        if self._system is None:
            return point, 0
        columns, n_iter = [_column(point, k) for k in range(t.shape[1])], 0
        for k in np.flatnonzero(point.gaps > tol):
            points = islice(interior_points(self._system, t[:, k], C), max_iter + 1)
            for n_steps, beta in enumerate(points):
                found = self._assess(t[:, [k]], C, balanced(np.clip(beta, -C, C)[:, None]))
                columns[k] = min(columns[k], found, key=lambda one: one.gaps[0])
                n_iter = max(n_iter, n_steps)
                if found.gaps[0] <= tol:
                    break
        return _joined(columns), n_iter

    def _assess(self, t: np.ndarray, C: float, beta: np.ndarray) -> _Point:
        parameters = self.parameters(beta)
        scores = self.scores(parameters)
        intercept = np.median(t - scores, axis=0)
        penalty = (beta * scores).sum(axis=0) / 2
        objectives = C * np.abs(t - scores - intercept).sum(axis=0) + penalty
        gaps = np.maximum(objectives - ((beta * t).sum(axis=0) - penalty), 0)
        relative = gaps / np.maximum(objectives, _NEGLIGIBLE * C * len(t))
        return _Point(beta, parameters, intercept, objectives, relative)


class _KernelRegression(_Regression):
    """The Gram matrix as the compiled loops want it."""

    def __init__(self, space: KernelSpace) -> None:
        self._gram = np.ascontiguousarray(space.gram, dtype=np.float64)
        self._diagonal = self._gram.diagonal().copy()
        self.n_rows = len(self._gram)
        self._passes_before = _PASSES_BEFORE + self.n_rows // _DIMENSIONS_PER_PASS

    def parameters(self, beta: np.ndarray) -> np.ndarray:
        return beta

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        return self._gram @ parameters

    @cached_property
    def _system(self) -> GramSystem | RowSystem | None:
        return GramSystem(self._gram) if self.n_rows <= _MOST_ROWS else None

    def _descend(
        self, t: np.ndarray, C: float, point: _Point, tol: float, max_iter: int
    ) -> tuple[_Point, int]:
        upper = np.full(t.shape[::-1], C)
        pairs_left, n_pairs, most = max_iter * len(t), np.zeros(t.shape[1]), _LOOK_PASSES * len(t)
        # The gap is at most the cost of all rows times the violation. Columns that are done may have no loss.
        least = point.objectives[point.gaps > tol].min(initial=np.inf)
        violation = _ROUGH * tol * max(least / (C * len(t)), _NEGLIGIBLE)
        while (point.gaps > tol).any() and pairs_left > 0:
            records = np.empty((t.shape[1], 4))
            x, residuals = (np.ascontiguousarray(a.T) for a in (point.beta, t - self.scores(point.beta)))
            run_parallel(
                each_column, len(x), self._gram, self._diagonal, -upper, upper, x, residuals, records,
                violation, min(pairs_left, most),
            )  # fmt: skip
            n_moved = int(records[:, 3].max())
            n_pairs += records[:, 3]
            pairs_left -= max(n_moved, 1)
            before, point = point, self._assess(t, C, x.T.copy())
            if n_moved < most:
                violation *= _FINER
            elif _is_hopeless(before.gaps.max(), point.gaps.max(), pairs_left / most, tol):
                break
        return point, -int(-n_pairs.max(initial=0) // len(t))


class _LinearRegression(_Regression):
    """Rows, and what centering them needs."""

    def __init__(self, space: FeatureSpace) -> None:
        X = sp.csr_array(space.features)
        self.n_rows, self._n_features = X.shape
        self._features, self._rows = space.features, row_arrays(X)
        self._passes_before = _PASSES_BEFORE + min(X.shape) // _DIMENSIONS_PER_PASS
        self._mean = row_sum(*self._rows, np.full(self.n_rows, 1 / max(self.n_rows, 1)), self._n_features)
        along, level = row_products(*self._rows, self._mean), float(self._mean @ self._mean)
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel() - 2 * along + level
        squares = np.maximum(squares, 0.0)
        # Centered, rows have little to do with the constant, and the multiplier soon has its value.
        self._constant = _CONSTANT * float(squares.mean()) or 1.0
        self._center = along, level + self._constant
        self._curvature = squares + self._constant

    def parameters(self, beta: np.ndarray) -> np.ndarray:
        return self._by_column(row_sum, beta, self._n_features)

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        return self._by_column(row_products, parameters)

    @cached_property
    def _system(self) -> GramSystem | RowSystem | None:
        n, d = self.n_rows, self._n_features
        if d <= n and n * d <= _MOST_ENTRIES and n * d**2 <= _MOST_WORK:
            return RowSystem(dense(self._features).astype(np.float64))
        if n < d and n <= _MOST_ROWS:
            Z = self._features.astype(np.float64)
            along, level = self._center
            return GramSystem(dense(Z @ Z.T) - along - along[:, None] + level)
        return None

    def _by_column(self, product: Callable[..., np.ndarray], columns: np.ndarray, *shape: int) -> np.ndarray:
        return np.column_stack([product(*self._rows, np.ascontiguousarray(c), *shape) for c in columns.T])

    def _descend(
        self, t: np.ndarray, C: float, point: _Point, tol: float, max_iter: int
    ) -> tuple[_Point, int]:
        ends = [
            self._descend_column(t[:, [k]], C, _column(point, k), tol, max_iter) for k in range(t.shape[1])
        ]
        return _joined([end for end, _ in ends]), max(n_iter for _, n_iter in ends)

    def _descend_column(
        self, t: np.ndarray, C: float, point: _Point, tol: float, max_iter: int
    ) -> tuple[_Point, int]:
        beta, v = point.beta[:, 0].copy(), point.parameters[:, 0].copy()
        sums = np.array([beta.sum(), v @ self._mean])
        bias = float(point.intercept[0] + sums[1])  # of the centered rows
        active, random, n_iter = np.arange(self.n_rows), SEED, 0
        while point.gaps[0] > tol and n_iter < max_iter:
            n_active, limit = self.n_rows, np.inf
            n_passes = min(_FIRST_PASSES + n_iter // 8, _MOST_PASSES, max_iter - n_iter)
            for _ in range(n_passes):
                limit, n_active, random = absolute_pass(
                    self._rows, self._center, active, n_active, t[:, 0], bias, C, self._curvature,
                    beta, v, sums, limit, np.uint64(random),
                )  # fmt: skip
                bias += self._constant * sums[0]
            n_iter += n_passes
            point = self._assess(t, C, balanced(beta[:, None]))
        return point, n_iter


def _is_hopeless(before: float, after: float, n_left: float, tol: float) -> bool:
    """Whether a gap that goes on to fall as it just did will not be small enough in the looks left."""
    return after * (after / before) ** n_left > tol


def _column(point: _Point, k: int) -> _Point:
    return _Point(*(part[..., [k]] for part in point))


def _joined(points: list[_Point]) -> _Point:
    return _Point(*(np.concatenate(parts, axis=-1) for parts in zip(*points, strict=True)))
