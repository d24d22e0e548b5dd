"""Regression with the absolute loss by interior points: as many steps for a high cost as for a low one.

The dual of a column is to minimize ``b'Kb / 2 - t'b`` over ``-C <= b_i <= C`` and ``sum b = 0``. With
multipliers ``low`` and ``high`` of the bounds and ``offset`` of the sum, a solution has ::

    Kb - t + offset - low + high = 0,      low_i (b_i + C) = 0,      high_i (C - b_i) = 0

Each step solves ``(K + diag) x = r`` for some right hand sides: with a matrix as large as rows have
dimensions, or as there are rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

_TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
_RIDGE = 1e-14  # of the system, in units of its trace: rounding must not make it lose its sign
_NO_PROGRESS = 1e-8  # steps this short change nothing any more
_ROUNDING = 1e-20  # of the first products of multipliers and distances: what is left is no gap any more

_Solve = Callable[[np.ndarray], np.ndarray]


class GramSystem:
    """Systems with a Gram matrix."""

    def __init__(self, gram: np.ndarray) -> None:
        self._gram = gram
        self._ridge = _RIDGE * float(gram.trace())

    def product(self, beta: np.ndarray) -> np.ndarray:
        return self._gram @ beta

    def factorized(self, diagonal: np.ndarray) -> _Solve:
        matrix = self._gram.T.copy(order="F")
        matrix.flat[:: len(matrix) + 1] += diagonal + self._ridge
        factor = _cholesky(matrix)
        return lambda r: dpotrs(factor, r, lower=1)[0]


class RowSystem:
    """Systems with the products of centered rows of fewer dimensions than rows."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows - rows.mean(axis=0)
        self._ridge = _RIDGE * float((self._rows**2).sum())

    def product(self, beta: np.ndarray) -> np.ndarray:
        return self._rows @ (beta @ self._rows)

    def factorized(self, diagonal: np.ndarray) -> _Solve:
        # Woodbury: (ZZ' + D)^-1 = D^-1 - D^-1 Z (I + Z'D^-1 Z)^-1 Z'D^-1
        inverse = 1 / (diagonal + self._ridge)
        matrix = dsyrk(1.0, (self._rows * np.sqrt(inverse)[:, None]).T, lower=1)
        matrix.flat[:: len(matrix) + 1] += 1.0
        factor = _cholesky(matrix)

        def solve(r: np.ndarray) -> np.ndarray:
            return inverse * (r - self._rows @ dpotrs(factor, (inverse * r) @ self._rows, lower=1)[0])

        return solve


def interior_points(system: GramSystem | RowSystem, t: np.ndarray, C: float) -> Iterator[np.ndarray]:
    """Zeros, and points within the bounds after each step of Mehrotra's predictor and corrector.

    They end where rounding allows no further step, or the matrix is none of a kernel.
    """
    at = _start(t, C)
    yield at.beta
    mean = _mean_product(at)
    least = _ROUNDING * mean
    while mean > least:
        try:
            newton = _Newton(system, t, at)
        except np.linalg.LinAlgError:
            return
        change = newton.step(-at.low * at.to_low, -at.high * at.to_high)
        predicted = _moved(at, change, min(1.0, _longest(at, change)))
        center = mean * (_mean_product(predicted) / mean) ** 3
        change = newton.step(
            center - at.low * at.to_low - change.low * change.to_low,
            center - at.high * at.to_high - change.high * change.to_high,
        )
        length = min(1.0, _TO_BOUNDARY * _longest(at, change))
        if not length > _NO_PROGRESS:
            return
        at = _moved(at, change, length)
        yield at.beta
        mean = _mean_product(at)


class _Iterate(NamedTuple):
    """Coefficients, the multiplier of their sum, and distances from the bounds with their multipliers.

    The distances go along by themselves: in the end they are lost in the rounding of the coefficients.
    """

    beta: np.ndarray
    offset: np.ndarray
    to_low: np.ndarray
    to_high: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _start(t: np.ndarray, C: float) -> _Iterate:
    offset = np.median(t)
    residual, bounds = t - offset, np.full(len(t), C)
    size = np.abs(residual).mean()
    return _Iterate(
        np.zeros(len(t)),
        offset,
        bounds,
        bounds,
        np.maximum(-residual, 0) + size,
        np.maximum(residual, 0) + size,
    )


class _Newton:
    """Newton's steps from one point to several products of multipliers and distances."""

    def __init__(self, system: GramSystem | RowSystem, t: np.ndarray, at: _Iterate) -> None:
        self._at = at
        self._residual = t - at.offset - system.product(at.beta) + at.low - at.high
        self._solve = system.factorized(at.low / at.to_low + at.high / at.to_high)
        self._along = self._solve(np.ones(len(t)))

    def step(self, more_low: np.ndarray, more_high: np.ndarray) -> _Iterate:
        """The step that adds so much to the products, to first order."""
        at = self._at
        free = self._solve(self._residual + more_low / at.to_low - more_high / at.to_high)
        offset = (free.sum() + at.beta.sum()) / self._along.sum()
        beta = free - offset * self._along
        low, high = (more_low - at.low * beta) / at.to_low, (more_high + at.high * beta) / at.to_high
        return _Iterate(beta, offset, beta, -beta, low, high)


def _moved(at: _Iterate, change: _Iterate, length: float) -> _Iterate:
    return _Iterate(*(part + length * move for part, move in zip(at, change, strict=True)))


def _mean_product(at: _Iterate) -> float:
    return float(at.low @ at.to_low + at.high @ at.to_high) / (2 * len(at.low))


def _longest(at: _Iterate, change: _Iterate) -> float:
    """How far a step may go before a distance or a multiplier is 0."""
    lowest = min((move / part).min() for part, move in zip(at[2:], change[2:], strict=True))
    return float(-1.0 / lowest) if lowest < 0 else np.inf


def _cholesky(matrix: np.ndarray) -> np.ndarray:
    factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("the system of interior points has lost its sign")
    return factor
