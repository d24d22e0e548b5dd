"""Mixtures of labelings on rows in blocks: linear machines for them, in the primal.

For label vectors ``y_t`` with weights ``mu_t`` the machine of [wellsvm] Eq. (12) with the squared hinge is ::

    min over w_t    sum_t ||w_t||^2 / (2 mu_t)  +  sum_i C_i max(1 - sum_t y_ti x_i w_t, 0)^2 / 2

The best weights are ``||w_t|| / sum_s ||w_s||``, which makes the first term ``(sum_t ||w_t||)^2 / 2``. Where
the rows inside the margin stay the same the loss is a parabola, whose minimum, weights included, is found in
one place. So a step reads the rows twice, once for the parabola and once for the losses on the way to its
minimum.

With very many columns the parabola is that of a subspace, which the gradients of all steps span.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.rows._blocks import BLOCK_ROWS, RowBlocks, add

MOST_MODEL_COLUMNS = 512  # parameters of a parabola; where there are more, it is that of a subspace
_LEAST_DIRECTIONS = 4  # of a subspace, for each label vector
# Shares of a step that are tried, all in one pass; the last stays where it is.
_SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 0.0])
_MOST_WEIGHINGS, _MOST_HALVINGS = 50, 30
_TIGHT = 1e-12  # gap of the weights of a parabola, relative to its gain
_RIDGE = 1e-12
_ROUNDING = 1e-13
_NEAR = 1e-6  # gap that rounding may leave: it falls with the root of what the objective is above its optimum

Shift = tuple[np.ndarray, float]
_nothing = partial(np.zeros, 0)


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """Rows with a constant column, their costs, and the labels that are known.

    ``mean`` is taken from every row, dense or CSR, and ``constant`` is the value of a further column.
    ``costs`` and ``known`` are aligned values: the latter the sign of each labelled row, 0 on the others.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._primal_mixture import MixtureProblem
    >>> rows = ArrayBlocks(np.array([[3.0], [1.0]]), block_rows=1)
    >>> MixtureProblem(rows, np.array([2.0]), 0.5, costs=np.ones(2), known=np.zeros(2)).n_params
    2
    """

    blocks: RowBlocks
    mean: np.ndarray
    constant: float
    costs: Any
    known: Any

    @property
    def shift(self) -> Shift:
        return self.mean, self.constant

    @property
    def n_params(self) -> int:
        return len(self.mean) + 1

    @cached_property
    def numbers(self) -> Any:
        """Aligned numbers of the rows, kept."""
        return self.blocks.keep(self.blocks.numbers())


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """An SVM for weighted label vectors; one that is yet to be fitted has labels and a start alone.

    ``labels`` are aligned values with a column for each label vector, ``W`` has its vector ``w_t`` in a line,
    the entry of the constant column last, and ``weights`` its weight. ``vectors`` are the functions ``sum_i
    a_i y_ti x_i`` of the dual point; at the solution ``w_t / mu_t``. ``gap`` bounds the excess of the
    objective over the optimum, relative to it, and ``is_solved`` says whether it met the tolerance.
    """

    labels: Any
    W: np.ndarray
    weights: np.ndarray = field(default_factory=_nothing)
    vectors: np.ndarray = field(default_factory=_nothing)
    objective: float = np.inf
    gap: float = np.inf
    n_iter: int = 0
    is_solved: bool = False

    @property
    def x(self) -> np.ndarray:
        """The function of the mixture."""
        return self.W.sum(axis=0)

    @property
    def norms(self) -> np.ndarray:
        """Squared norms of the functions of the dual point."""
        return np.einsum("td,td->t", self.vectors, self.vectors)


def fit_mixture(
    problem: MixtureProblem,
    labels: Any,
    start: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> MixtureFit:
    """Solve the problem for given label vectors, and for the best weights or given ones.

    ``labels`` are aligned values with a column for each label vector, and ``start`` is the first ``W``. Given
    ``weights`` are positive with sum 1. ``tol`` is the largest gap between the objective and a bound of it
    from below, relative to it.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._primal_mixture import MixtureProblem, fit_mixture
    >>> rows, signs = ArrayBlocks(np.array([[1.0], [-1.0]])), np.array([1, -1])
    >>> problem = MixtureProblem(rows, np.zeros(1), 0.0, costs=np.ones(2), known=signs)
    >>> fit_mixture(problem, signs[:, None], np.zeros((1, 2))).W.round(6).tolist()
    [[0.666667, 0.0]]
    """
    W, found = start, start
    past: list[np.ndarray] = []
    guess = np.full(len(start), 1 / len(start)) if weights is None else weights
    objective = gap = np.inf
    for step in range(max_iter + 1):
        before = objective
        W, objective, sums = _search_line(problem, labels, W, found, weights)
        vectors, norms = sums.vectors, np.einsum("td,td->t", sums.vectors, sums.vectors)
        size = sums.square + (norms.max() if weights is None else weights @ norms)
        bound = sums.total**2 / (2 * size) if size else 0.0  # the dual point, at its best length
        gap = (objective - bound) / (abs(objective) or 1.0)
        if gap <= tol or step == max_iter or before - objective <= _ROUNDING * abs(objective):
            break
        basis = _basis(W, vectors, past)
        curvature, pull = problem.blocks.reduce(
            partial(_parabola, shift=problem.shift, W=W, basis=basis), labels, problem.costs
        )
        point, guess = _minimize(_Parabola(curvature, pull, len(W)), guess, weights)
        found = point if basis is None else np.einsum("tpm,tm->tp", basis, point)
    lengths = np.linalg.norm(W, axis=1)
    shares = weights if weights is not None else lengths / lengths.sum() if lengths.any() else guess
    return MixtureFit(labels, W, shares, vectors, objective, float(gap), step, bool(gap <= max(tol, _NEAR)))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over all rows: losses, functions of the dual point, and sums of its parts."""

    losses: np.ndarray
    vectors: np.ndarray
    total: float
    square: float


def _search_line(
    problem: MixtureProblem, labels: Any, start: np.ndarray, end: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, float, _Sums]:
    """The best of some points between two, its objective, and sums over all rows at it."""

    def sums_of(start: np.ndarray, end: np.ndarray, shares: np.ndarray) -> _Sums:
        function = partial(_sums, shift=problem.shift, start=start, end=end, shares=shares)
        return _Sums(*problem.blocks.reduce(function, labels, problem.costs))

    shares = _SHARES if end is not start else _SHARES[:1]
    sums = sums_of(start, end, shares)
    points = [start + share * (end - start) for share in shares]
    objectives = np.array([_penalty(W, weights) for W in points]) + sums.losses
    best = int(objectives.argmin())
    if best:  # rare: the sums are those at the end
        sums = sums_of(points[best], points[best], _SHARES[:1])
    return points[best], float(objectives[best]), sums


def _penalty(W: np.ndarray, weights: np.ndarray | None) -> float:
    lengths = np.linalg.norm(W, axis=1)
    return float(lengths.sum() ** 2 / 2 if weights is None else lengths**2 @ (1 / weights) / 2)


def _basis(W: np.ndarray, vectors: np.ndarray, past: list[np.ndarray]) -> np.ndarray | None:
    """An orthogonal basis of where to look for each ``w_t``; ``None`` is everywhere.

    The gradients of all steps so far span what conjugate gradients would look through, and the last of them
    is the direction that the solution has.
    """
    n_labels, n_params = W.shape
    if W.size <= MOST_MODEL_COLUMNS:
        return None
    n_directions = min(n_params, max(_LEAST_DIRECTIONS, MOST_MODEL_COLUMNS // n_labels))
    past.insert(0, vectors)
    del past[n_directions - 1 :]
    directions = np.stack([W, *past], axis=2)
    scales = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.linalg.qr(directions / np.where(scales, scales, 1.0))[0]


def apply_rows(rows: Any, shift: Shift, W: np.ndarray) -> np.ndarray:
    """Scores of a block by vectors, one to a line of ``W``; sparse rows stay so."""
    return rows.astype(np.float64, copy=False) @ W[:, :-1].T + (shift[1] * W[:, -1] - W[:, :-1] @ shift[0])


def adjoint_rows(rows: Any, shift: Shift, values: np.ndarray) -> np.ndarray:
    """Sums of the rows of a block by columns of weights, one to a line."""
    totals = values.sum(axis=0)
    sums = np.asarray((rows.astype(np.float64, copy=False).T @ values).T)
    return np.column_stack([sums - np.outer(totals, shift[0]), shift[1] * totals])


def margins_of(rows: Any, labels: np.ndarray, shift: Shift, W: np.ndarray) -> np.ndarray:
    """``sum_t y_ti x_i w_t`` of the rows of a block."""
    return np.einsum("it,it->i", apply_rows(rows, shift, W), labels)


def _sums(
    rows: Any,
    labels: np.ndarray,
    costs: np.ndarray,
    shift: Shift,
    start: np.ndarray,
    end: np.ndarray,
    shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Losses between two points, and at the end what the dual point makes of the label vectors."""
    last = margins_of(rows, labels, shift, end)
    first = last if end is start else margins_of(rows, labels, shift, start)
    losses = [costs @ np.maximum(1 - (first + share * (last - first)), 0) ** 2 / 2 for share in shares]
    slack = np.maximum(1 - last, 0)
    dual = costs * slack
    vectors = adjoint_rows(rows, shift, labels * dual[:, None])
    return np.array(losses), vectors, float(dual.sum()), float(dual @ slack)


def _parabola(
    rows: Any, labels: np.ndarray, costs: np.ndarray, shift: Shift, W: np.ndarray, basis: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Curvature and pull of the rows inside the margin, in the basis."""
    inside = np.flatnonzero(margins_of(rows, labels, shift, W) < 1)
    batches = (inside[start : start + BLOCK_ROWS] for start in range(0, max(len(inside), 1), BLOCK_ROWS))
    parts = (_bend(rows[batch], labels[batch], costs[batch], shift, basis) for batch in batches)
    return reduce(add, parts)


def _bend(
    rows: Any, labels: np.ndarray, costs: np.ndarray, shift: Shift, basis: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The same of a few rows, all inside: their features are as many times larger as there are labels."""
    if basis is None:
        dense = rows.toarray() if sp.issparse(rows) else rows
        columns = np.column_stack([dense - shift[0], np.full(len(dense), shift[1])])
        parts = [columns * label[:, None] for label in labels.T]
    else:
        pairs = zip(basis, labels.T, strict=True)
        parts = [apply_rows(rows, shift, directions.T) * label[:, None] for directions, label in pairs]
    features = np.hstack(parts)
    weighted = features * costs[:, None]
    return weighted.T @ features, weighted.sum(axis=0)


@dataclass(frozen=True, eq=False)
class _Parabola:
    """``x'Hx / 2 - g'x``, with as many entries of ``x`` for each label vector, one after the other."""

    curvature: np.ndarray
    pull: np.ndarray
    n_labels: int

    @property
    def size(self) -> int:
        return len(self.pull) // self.n_labels


@dataclass(frozen=True, eq=False)
class _Point:
    """The minimum for some weights: its value, ``x_t / mu_t``, and the derivatives of the value."""

    weights: np.ndarray
    value: float
    vectors: np.ndarray
    gradient: np.ndarray

    @property
    def gap(self) -> float:
        return float(self.weights @ self.gradient - self.gradient.min())


def _minimize(
    model: _Parabola, start: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ``sum_t ||x_t||^2 / (2 mu_t) + x'Hx / 2 - g'x`` over ``x``, and over ``mu`` unless given.

    Newton's method on the simplex; the second value is ``mu``.
    """
    point, factor = _minimum(model, start if weights is None else weights)
    for _ in range(_MOST_WEIGHINGS if weights is None else 0):
        if point.gap <= _TIGHT * abs(point.value):
            break
        change = _simplex_step(_curvature(model, point, factor), point.gradient, point.weights)
        slope = float(point.gradient @ change)
        for share in (0.5**halvings for halvings in range(_MOST_HALVINGS)):
            proposed, factor_there = _minimum(model, _on_simplex(point.weights + share * change))
            if proposed.value <= point.value + 1e-4 * share * slope:
                break
        if proposed.value >= point.value:  # nothing but rounding is left
            break
        point, factor = proposed, factor_there
    return point.weights[:, None] * point.vectors, point.weights


def _on_simplex(weights: np.ndarray) -> np.ndarray:
    weights = np.maximum(weights, 0)
    return weights / weights.sum()


def _minimum(model: _Parabola, weights: np.ndarray) -> tuple[_Point, np.ndarray]:
    """The minimum for some weights, which may be 0, and the factor of its matrix."""
    roots = np.repeat(np.sqrt(weights), model.size)
    matrix = roots[:, None] * model.curvature * roots
    matrix.flat[:: len(matrix) + 1] += 1.0
    factor = sla.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    scaled = roots * sla.cho_solve((factor, True), roots * model.pull, check_finite=False)
    vectors = (model.pull - model.curvature @ scaled).reshape(model.n_labels, -1)
    gradient = -np.einsum("td,td->t", vectors, vectors) / 2
    return _Point(weights, float(-model.pull @ scaled / 2), vectors, gradient), factor


def _curvature(model: _Parabola, point: _Point, factor: np.ndarray) -> np.ndarray:
    """Second derivatives of the minimum by the weights: ``V' (H - H R (I + R H R)^-1 R H) V``, with ``V`` the
    vectors of ``x_t / mu_t`` as blocks of a diagonal, and the roots of the weights in ``R``.
    """
    columns = np.zeros((len(model.pull), model.n_labels))
    for t, vector in enumerate(point.vectors):
        columns[t * model.size : (t + 1) * model.size, t] = vector
    images = model.curvature @ columns
    roots = np.repeat(np.sqrt(point.weights), model.size)
    half = sla.solve_triangular(factor, roots[:, None] * images, lower=True, check_finite=False)
    return columns.T @ images - half.T @ half


def _simplex_step(hessian: np.ndarray, gradient: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Step to the minimum of a parabola on the simplex, by active sets."""
    n_labels = len(weights)
    hessian = hessian + (_RIDGE * np.trace(hessian) + np.finfo(float).tiny) * np.eye(n_labels)
    x, free = weights.copy(), weights > 0
    for _ in range(20 * n_labels):
        slopes = gradient + hessian @ (x - weights)
        rows = np.flatnonzero(free)
        change = _without_sum(hessian[np.ix_(rows, rows)], slopes[rows])
        blocked = np.flatnonzero(x[rows] + change < 0)
        if len(blocked):
            lengths = x[rows[blocked]] / -change[blocked]
            first = blocked[lengths.argmin()]
            x[rows] += lengths.min() * change
            x[rows[first]], free[rows[first]] = 0.0, False
            continue
        x[rows] += change
        slopes = gradient + hessian @ (x - weights)
        lower = np.where(free, np.inf, slopes - slopes[rows].mean())
        if lower.min() >= -_RIDGE * np.abs(slopes).max():
            break
        free[lower.argmin()] = True
    return x - weights


def _without_sum(hessian: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Minimum of a parabola over changes whose sum is 0."""
    solved = sla.solve(hessian, np.column_stack([slopes, np.ones(len(slopes))]), assume_a="sym")
    return solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum()) - solved[:, 0]
