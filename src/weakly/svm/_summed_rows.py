"""Steps of Newton's method for linear SVMs on samples in blocks: sums over them are all that is gathered.

The problem is that of ``fit_rows`` with a free offset, on samples that are centered without being copied ::

    ||w||^2 / 2  +  sum_i p_i V(t_i) + q_i V(-t_i),    t = (X - 1 m') w + b,    V(t) = max(1 - t, 0)^2 / 2

A step reads the samples twice: once for the slope and the curvature, once for the scores of new weights. That
is with up to 2000 features, where the curvature is a matrix; with more, conjugate gradients read them once
for each product. Scores stay where the samples are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.losses._transductive import TwoSided
from weakly.rows._blocks import RowBlocks
from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._row_newton import minimize_rows
from weakly.solvers._row_steps import FeatureSteps, RowFit, Sums, between

MOST_GRAM_COLUMNS = 2000  # up to which the curvature is a matrix


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Samples in blocks, what is taken from each of them, and the labels that are known.

    ``mean`` is taken from every sample, dense or CSR. ``known`` are aligned values: cost of the loss times
    the label of each labeled sample, 0 on the others. ``is_sparse`` says whether steps are taken by conjugate
    gradients, as they are for sparse samples in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._summed_rows import SummedRows
    >>> blocks = ArrayBlocks(np.array([[3.0], [1.0]]), block_rows=1)
    >>> rows = SummedRows(blocks, mean=np.array([2.0]), known=np.array([1e6, -1e6]))
    >>> rows.values(np.array([10.0])).tolist()
    [10.0, -10.0]
    >>> fit = rows.fit(labels=np.zeros(2), cost=0.0)
    >>> fit.theta.round(3).tolist(), round(fit.offset, 3)
    ([1.0], 0.0)
    """

    blocks: RowBlocks
    mean: np.ndarray
    known: Any
    is_sparse: bool = False

    @property
    def n_params(self) -> int:
        return len(self.mean)

    def values(self, theta: np.ndarray) -> Any:
        """``(X - 1 m') w``, kept."""
        return self.kept(self.blocks, partial(_values, mean=self.mean, theta=theta))

    def zeros(self) -> Any:
        """Aligned zeros."""
        return self.blocks.spread(np.zeros(0, dtype=np.intp), np.zeros(0), 0.0)

    def kept(self, blocks: RowBlocks, function: Callable[..., Any], *aligned: Any) -> Any:
        """A number for each sample, computed once."""
        return self.blocks.keep(blocks.map(function, *aligned, width=None, dtype=np.float64))

    def fit(
        self, labels: Any, cost: float, *, start: RowFit | None = None, tol: float = 1e-6, max_iter: int = 200
    ) -> RowFit:
        """Fit a linear SVM with the squared hinge.

        ``labels`` of the unlabeled samples, whose loss has a ``cost``, are from -1 to 1: one between counts
        for both signs, as a probability does. ``tol`` is the largest norm of the gradient, relative to the
        weights or the pull of the samples, whichever is larger.
        """
        return minimize_rows(_SummedSteps(self, labels, cost), start=start, tol=tol, max_iter=max_iter)


@dataclass(frozen=True, eq=False)
class _CurvedSums(Sums):
    """With the sums of curvatures, of samples weighted by them, and of products of features."""

    curvature: float
    weighted: np.ndarray
    gram: np.ndarray | float


class _SummedSteps(FeatureSteps):
    """Samples in blocks, with labels of all of them."""

    def __init__(self, rows: SummedRows, labels: Any, cost: float) -> None:
        self.rows, self.labels, self.cost = rows, labels, cost

    @property
    def n_params(self) -> int:
        return self.rows.n_params

    def zeros(self) -> Any:
        return self.rows.zeros()

    def values(self, theta: np.ndarray) -> Any:
        return self.rows.values(theta)

    def between(self, values: Any, others: Any, share: float) -> Any:
        return self.rows.kept(self.rows.blocks.of(values), partial(between, share=share), others)

    def loss_value(self, values: Any, offset: float) -> float:
        function = partial(_loss_value, offset=offset, cost=self.cost)
        return float(self.rows.blocks.of(values).reduce(function, self.rows.known, self.labels))

    def sums(self, point: RowFit) -> _CurvedSums:
        wants_gram = self.n_params <= MOST_GRAM_COLUMNS
        pull, *totals = self._reduced(_loss_sums, point, wants_gram=wants_gram)
        return _CurvedSums(point.theta + pull, *totals)

    def weighted(self, sums: _CurvedSums) -> np.ndarray:
        return sums.weighted

    def solve(self, point: RowFit, sums: _CurvedSums, mean: np.ndarray, side: np.ndarray) -> np.ndarray:
        if self.rows.is_sparse or not isinstance(sums.gram, np.ndarray):
            return super().solve(point, sums, mean, side)
        matrix = sums.gram - sums.curvature * np.outer(mean, mean)
        matrix.flat[:: len(mean) + 1] += 1.0
        return sla.solve(matrix, side, assume_a="pos", overwrite_a=True, check_finite=False)

    def curved(self, point: RowFit, sums: _CurvedSums) -> Callable[[np.ndarray], np.ndarray]:
        if isinstance(sums.gram, np.ndarray):
            return sums.gram.__matmul__
        return lambda v: self._reduced(_curved, point, direction=v)

    def _reduced(self, function: Callable[..., Any], point: RowFit, **settings: Any) -> Any:
        """A sum over the samples of what a function says of them, their values and their labels."""
        function = partial(function, mean=self.rows.mean, offset=point.offset, cost=self.cost, **settings)
        return self.rows.blocks.reduce(function, point.values, self.rows.known, self.labels)


class _DenseRows:
    """Dense rows of a block, less the mean."""

    def __init__(self, rows: np.ndarray, mean: np.ndarray) -> None:
        self.rows = rows - mean

    def scores(self, theta: np.ndarray) -> np.ndarray:
        return self.rows @ theta

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        return values @ self.rows

    def curved(self, rows: np.ndarray, curvature: np.ndarray, theta: np.ndarray) -> np.ndarray:
        chosen = self.rows[rows]
        return (curvature[rows] * (chosen @ theta)) @ chosen


def centered(rows: Any, mean: np.ndarray) -> Any:
    """Rows of a block less the mean, with their products."""
    return CenteredRows(rows, mean) if sp.issparse(rows) else _DenseRows(rows, mean)


def _gram(rows: Any, mean: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """``Z' diag(h) Z`` of a block."""
    curved = np.flatnonzero(curvature)
    weights = curvature[curved]
    if not sp.issparse(rows):
        scaled = (rows[curved] - mean) * np.sqrt(weights)[:, None]
        return scaled.T @ scaled
    chosen = rows[curved].astype(np.float64)
    total = np.outer(chosen.T @ weights, mean)
    product = (chosen.T @ chosen.multiply(weights[:, None]).tocsr()).toarray()
    return product - total - total.T + weights.sum() * np.outer(mean, mean)


def two_sided(known: np.ndarray, labels: np.ndarray, cost: float) -> TwoSided:
    """The loss of a block: of labelled rows by their label, of the others by one between -1 and 1."""
    free = cost * (known == 0) / 2
    return TwoSided(np.maximum(known, 0) + free * (1 + labels), np.maximum(-known, 0) + free * (1 - labels))


def _values(rows: Any, mean: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return centered(rows, mean).scores(theta)


def _loss_value(
    values: np.ndarray, known: np.ndarray, labels: np.ndarray, offset: float, cost: float
) -> float:
    return two_sided(known, labels, cost).value(values + offset)


def _loss_sums(
    rows: Any,
    values: np.ndarray,
    known: np.ndarray,
    labels: np.ndarray,
    mean: np.ndarray,
    offset: float,
    cost: float,
    wants_gram: bool,
) -> tuple:
    loss, scores, space = two_sided(known, labels, cost), values + offset, centered(rows, mean)
    slope, curvature = loss.slope(scores), loss.curvature(scores)
    gram = _gram(rows, mean, curvature) if wants_gram else 0.0
    sums = slope.sum(), np.abs(slope).sum(), curvature.sum(), space.adjoint(curvature), gram
    return space.adjoint(slope), *sums


def _curved(
    rows: Any,
    values: np.ndarray,
    known: np.ndarray,
    labels: np.ndarray,
    direction: np.ndarray,
    mean: np.ndarray,
    offset: float,
    cost: float,
) -> np.ndarray:
    curvature = two_sided(known, labels, cost).curvature(values + offset)
    return centered(rows, mean).curved(np.flatnonzero(curvature), curvature, direction)
