"""Small dense quadratic programs by interior points: a few dozen variables, accurate, no iteration to tune.

The problem and its dual are ::

    min_x  x'Qx / 2 + q'x              subject to  Ax = b,  x >= 0
    max    b'y - x'Qx / 2              subject to  A'y + s = Qx + q,  s >= 0
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

_MOST_STEPS = 60
_TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
_JITTER = 1e-14  # of the largest curvature, where rounding makes a semidefinite matrix lose its sign
_NO_PROGRESS = 1e-10  # steps this short change nothing any more


class QuadraticSolution(NamedTuple):
    """A point, the multipliers of its equalities, and how far from optimal it may be.

    ``gap`` is the largest of ``x's`` relative to the objective and the residuals relative to the data.
    """

    x: np.ndarray
    multipliers: np.ndarray
    gap: float


def solve_interior(
    Q: np.ndarray, q: np.ndarray, A: np.ndarray, b: np.ndarray, *, tol: float = 1e-9
) -> QuadraticSolution:
    """Minimise ``x'Qx / 2 + q'x`` over ``Ax = b``, ``x >= 0`` by Mehrotra's predictor and corrector.

    ``Q`` is symmetric and positive semidefinite, singular or not, and the equalities are linearly
    independent. Data near 1 in size suit the stopping rule: steps end at a gap of ``tol``, or where rounding
    allows no better, as the gap says. The best point of all steps is returned.
    """
    x, y, s = _start(Q, q, A, b)
    best = QuadraticSolution(x, y, np.inf)
    for _ in range(_MOST_STEPS):
        image = Q @ x
        dual_residual, residual = image + q - A.T @ y - s, A @ x - b
        gap = max(
            x @ s / (1 + abs(x @ image / 2 + q @ x)),
            np.abs(dual_residual).max() / (1 + np.abs(q).max()),
            np.abs(residual).max() / (1 + np.abs(b).max()),
        )
        if gap < best.gap:
            best = QuadraticSolution(x, y, float(gap))
        if not gap > tol:  # a gap that is no number ends the steps too
            break
        system = _Newton(Q, A, s / x)
        mu = x @ s / len(x)
        dx, dy = system.solve(-dual_residual - s, -residual)
        ds = -s - s / x * dx
        length = min(1.0, _longest(x, dx), _longest(s, ds))
        centre = mu * ((x + length * dx) @ (s + length * ds) / len(x) / mu) ** 3
        pull = (centre - dx * ds) / x
        dx, dy = system.solve(-dual_residual - s + pull, -residual)
        ds = pull - s - s / x * dx
        length = min(1.0, _TO_BOUNDARY * min(_longest(x, dx), _longest(s, ds)))
        if not length > _NO_PROGRESS:
            break
        x, y, s = x + length * dx, y + length * dy, s + length * ds
    return best


def _start(
    Q: np.ndarray, q: np.ndarray, A: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The minimiser with a squared norm in place of the bounds, moved inside them."""
    x, y = _Newton(Q, A, np.ones(len(q))).solve(-q, b)
    s = Q @ x + q - A.T @ y
    x = x + max(-1.5 * x.min(), 0.0)
    s = s + max(-1.5 * s.min(), 0.0)
    product = x @ s
    x_more, s_more = 0.5 * product / (s.sum() or 1.0), 0.5 * product / (x.sum() or 1.0)
    floor = 1e-3 / len(x)
    return x + max(x_more, floor), y, s + max(s_more, floor)


def _longest(point: np.ndarray, step: np.ndarray) -> float:
    """How far a positive point may go along a step before an entry is 0."""
    ratios = step / point
    lowest = ratios.min()
    return float(-1.0 / lowest) if lowest < 0 else np.inf


class _Newton:
    """Solves ``(Q + diag(extra)) dx - A'dy = g``, ``A dx = h`` for several right hand sides."""

    def __init__(self, Q: np.ndarray, A: np.ndarray, extra: np.ndarray) -> None:
        self.A = A
        self._factor = _cholesky(Q, extra)
        self._columns = dpotrs(self._factor, A.T, lower=1)[0]
        self._schur = A @ self._columns

    def solve(self, g: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        free = dpotrs(self._factor, g, lower=1)[0]
        dy = np.linalg.solve(self._schur, h - self.A @ free)
        return free + self._columns @ dy, dy


def _cholesky(Q: np.ndarray, extra: np.ndarray) -> Any:
    matrix = Q.copy()
    matrix.flat[:: len(Q) + 1] += extra
    jitter = _JITTER * float(matrix.diagonal().max())
    factor, info = dpotrf(matrix, lower=1)
    while info > 0:
        matrix.flat[:: len(Q) + 1] += jitter
        jitter *= 10
        factor, info = dpotrf(matrix, lower=1)
    return factor
