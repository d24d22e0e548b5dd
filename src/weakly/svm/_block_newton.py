"""Newton's method for linear machines on rows in blocks: sums over the rows are all that is ever gathered.

The problem is that of ``fit_rows`` with a free offset, on rows that are centred without being copied ::

    ||w||^2 / 2  +  sum_i p_i V(t_i) + q_i V(-t_i),    t = (X - 1 m') w + b,    V(t) = max(1 - t, 0)^2 / 2

A step reads the rows twice: once for the slope and the curvature, once for the scores of new weights. That
is with up to 2000 columns, where the curvature is a matrix; with more, conjugate gradients read them once for
each product. Scores stay where the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.rows._blocks import RowBlocks
from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._row_losses import TwoSided
from weakly.solvers._row_newton import conjugate_gradients

MOST_GRAM_COLUMNS = 2000  # up to which the curvature is a matrix
_MOST_HALVINGS = 40
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """Rows, what is taken from each of them, and the costs of their two labels.

    Parameters
    ----------
    blocks : RowBlocks
        The rows, dense or CSR.
    mean : ndarray of shape (n_features,)
        Taken from every row.
    known : aligned values
        Cost of the loss times the label of each labelled row, 0 on the others.
    is_sparse : bool, default=False
        Whether steps are taken by conjugate gradients, as they are for sparse rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._block_newton import BlockProblem
    >>> rows = ArrayBlocks(np.array([[3.0], [1.0]]), block_rows=1)
    >>> BlockProblem(rows, mean=np.array([2.0]), known=np.zeros(2)).values(np.array([10.0])).tolist()
    [10.0, -10.0]
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
        scores = partial(_values, mean=self.mean, theta=theta)
        return self.blocks.keep(self.blocks.map(scores, width=None, dtype=np.float64))

    def zeros(self) -> Any:
        """Aligned zeros."""
        return self.blocks.spread(np.zeros(0, dtype=np.intp), np.zeros(0), 0.0)


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A linear machine and what it costs.

    Parameters
    ----------
    theta : ndarray of shape (n_features,)
        Weights.
    offset : float
        Added to the values.
    values : aligned values
        ``(X - 1 m') w``.
    objective : float
        Half the squared norm and the loss.
    criterion : float
        Norm of the gradient, relative to the larger of its two parts: the weights, and the pull of the rows.
    n_iter : int
        Newton steps.
    converged : bool
        Whether the criterion met the tolerance, or a further step promised nothing but rounding.
    """

    theta: np.ndarray
    offset: float
    values: Any
    objective: float
    criterion: float = np.inf
    n_iter: int = 0
    converged: bool = False


def fit_blocks(
    problem: BlockProblem,
    labels: Any,
    cost: float,
    *,
    start: BlockFit | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> BlockFit:
    """Fit a linear machine with the squared hinge to rows in blocks.

    Parameters
    ----------
    problem : BlockProblem
        Rows, and the labels that are known.
    labels : aligned values
        Labels from -1 to 1 of the other rows: one between counts for both signs, as a probability does.
    cost : float
        Cost of the loss of the other rows.
    start : BlockFit, optional
        Where to begin; at 0 by default.
    tol : float, default=1e-6
        Largest norm of the gradient, relative to the weights or the pull of the rows, whichever is larger.
    max_iter : int, default=200
        Most steps.

    Returns
    -------
    BlockFit
        The machine.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._block_newton import BlockProblem, fit_blocks
    >>> rows = ArrayBlocks(np.array([[3.0], [1.0]]), block_rows=1)
    >>> problem = BlockProblem(rows, mean=np.array([2.0]), known=np.array([1e6, -1e6]))
    >>> fit = fit_blocks(problem, labels=np.zeros(2), cost=0.0)
    >>> fit.theta.round(3).tolist(), round(fit.offset, 3)
    ([1.0], 0.0)
    """
    loss = _BlockLoss(problem, labels, cost)
    if start is None:
        start = BlockFit(np.zeros(problem.n_params), 0.0, problem.zeros(), np.inf)
    least_unit = _ROUNDING * loss.value(problem.zeros(), 0.0) or 1.0
    objective = start.theta @ start.theta / 2 + loss.value(start.values, start.offset)
    point = BlockFit(start.theta, start.offset, start.values, float(objective))
    gain = promised = np.inf  # of a step, by the objective and by its parabola, relative to the objective
    for step in range(max_iter + 1):
        sums = loss.sums(point)
        criterion = sums.criterion(point.theta)
        if criterion <= tol or gain <= _ROUNDING or step == max_iter:
            break
        previous, (point, promised) = point, _search_line(problem, loss, point, sums)
        unit = max(abs(previous.objective), least_unit)
        gain, promised = (previous.objective - point.objective) / unit, abs(promised) / unit
    end = criterion, step, bool(criterion <= tol or promised <= _ROUNDING)
    return BlockFit(point.theta, point.offset, point.values, point.objective, *end)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over all rows at a point: of slopes and curvatures, and of rows weighted by them."""

    pull: np.ndarray
    slope: float
    size: float
    weighted: np.ndarray
    curvature: float
    gram: np.ndarray | float

    def criterion(self, theta: np.ndarray) -> float:
        largest = max(np.linalg.norm(theta), np.linalg.norm(self.pull)) or 1.0
        return float(np.linalg.norm(theta + self.pull) / largest + abs(self.slope) / (self.size or 1.0))


@dataclass(frozen=True, eq=False)
class _BlockLoss:
    problem: BlockProblem
    labels: Any
    cost: float

    def value(self, values: Any, offset: float) -> float:
        function = partial(_loss_value, offset=offset, cost=self.cost)
        return float(self.problem.blocks.of(values).reduce(function, self.problem.known, self.labels))

    def sums(self, point: BlockFit) -> _Sums:
        wants_gram = self.problem.n_params <= MOST_GRAM_COLUMNS
        function = partial(
            _loss_sums, mean=self.problem.mean, offset=point.offset, cost=self.cost, wants_gram=wants_gram
        )
        return _Sums(*self.problem.blocks.reduce(function, point.values, self.problem.known, self.labels))

    def product(self, point: BlockFit, direction: np.ndarray) -> np.ndarray:
        """Curvature of the loss along a direction."""
        function = partial(
            _curved, direction=direction, mean=self.problem.mean, offset=point.offset, cost=self.cost
        )
        return self.problem.blocks.reduce(function, point.values, self.problem.known, self.labels)


def _search_line(
    problem: BlockProblem, loss: _BlockLoss, point: BlockFit, sums: _Sums
) -> tuple[BlockFit, float]:
    """Go towards the minimiser of the parabola until the objective has fallen by enough.

    The second value is the slope of the objective along the whole step.
    """
    step, lift = _step(problem, loss, point, sums)
    descent = float((point.theta + sums.pull) @ step + lift * sums.slope)
    full = problem.values(point.theta + step)
    for share in (0.5**halvings for halvings in range(_MOST_HALVINGS)):
        theta, offset = point.theta + share * step, float(point.offset + share * lift)
        values = full
        if share < 1:
            between = partial(_between, share=share)
            values = problem.blocks.of(point.values).map(between, full, width=None, dtype=np.float64)
        objective = float(theta @ theta / 2 + loss.value(values, offset))
        if objective <= point.objective + 1e-4 * share * min(descent, 0.0):
            return BlockFit(theta, offset, problem.blocks.keep(values), objective), descent
    return point, descent


def _step(problem: BlockProblem, loss: _BlockLoss, point: BlockFit, sums: _Sums) -> tuple[np.ndarray, float]:
    """Step to the minimiser of the parabola, where the offset is what makes weighted mean scores meet."""
    gradient, total = point.theta + sums.pull, sums.curvature
    if total == 0:
        return -gradient, 0.0
    mean = sums.weighted / total
    side = sums.slope * mean - gradient
    if isinstance(sums.gram, np.ndarray) and not problem.is_sparse:
        matrix = sums.gram - total * np.outer(mean, mean)
        matrix.flat[:: len(mean) + 1] += 1.0
        step = sla.solve(matrix, side, assume_a="pos", overwrite_a=True, check_finite=False)
    else:
        step = conjugate_gradients(partial(_image, loss, point, sums, mean), side)
    return step, float(-sums.slope / total - mean @ step)


def _image(loss: _BlockLoss, point: BlockFit, sums: _Sums, mean: np.ndarray, v: np.ndarray) -> np.ndarray:
    curved = sums.gram @ v if isinstance(sums.gram, np.ndarray) else loss.product(point, v)
    return v + curved - sums.curvature * (mean @ v) * mean


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


def _between(values: np.ndarray, full: np.ndarray, share: float) -> np.ndarray:
    return values + share * (full - values)


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
    sums = slope.sum(), np.abs(slope).sum(), space.adjoint(curvature), curvature.sum(), gram
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
