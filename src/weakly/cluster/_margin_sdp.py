"""Signed margins of two clusters: a semidefinite program with one dual variable per row.

Both the program and its dual are followed, in coordinates where the inverse of the kernel never appears: with
``A^-1 = L L'`` the slack ``A - diag(g)`` becomes ``I - L' diag(g) L``, whose eigenvalues lie between 0 and 1
however close to singular the kernel is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, cho_solve, eigh, lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from weakly.solvers._result import Labeling, SolverResult

_SHARE = 0.9  # of the way to the boundary
_SHORTER = 0.8  # where Lanczos saw the boundary too far away
_SHORTEST = 1e-8  # steps below this are rounding
_LEAST_FALL = 1e-3  # of the gap along the affine direction, to aim at its square
_LANCZOS_TOL = 1e-2
_LEAST_COST, _MOST_COST = 1e-12, 1e12  # for a kernel with a mean diagonal of 1
_MOST_RIDGE = 1e12
_ALIKE = 1e-12  # share of the kernel's trace that is left by centering, where rows are the same


def solve_margin_sdp(
    kernel: np.ndarray,
    C: float,
    *,
    balance_cost: float | None = None,
    ridge: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 100,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Bound ``||f||^2 / 2 + b (e'z)^2 + C sum_i max(1 - z_i^2, 0)`` from below, where ``z_i = f_i - l``.

    This is generalized maximum margin clustering [gmmc]: the offset ``l`` is free, and samples on either
    side of the hyperplane should be at least one away. Without ``f`` and ``l`` it reads ``z'Az + ...``, and
    the bound is the largest ``sum g`` with ``A - diag(g)`` positive semi-definite and ``0 <= g_i <= C``. It
    is found by Newton steps on the log barrier, each with a predictor and a corrector.

    Up to a ``C`` of the least eigenvalue of ``A``, zero is the best margin of all samples. ``balance_cost``
    is ``b``, by default ``1 / tr(2HKH)``, where ``H`` centers: the eigenvalue of ``A^-1`` for margins that
    are all alike is the mean of the others. ``ridge`` is added to the diagonal of the kernel, in units of
    its mean.

    ``objective`` are values of feasible dual points, so each is a bound; ``criterion`` is how far they
    are below the best value met of the relaxed problem, relative to that. ``detail.dual`` is ``g``.
    Margins have a mean square of 1, and the largest is positive: ``detail.labels`` are their signs, ``x``
    their coefficients in the samples and ``intercept`` is ``-l``: they are the kernel with its ridge times
    ``x``, plus the intercept. As an eigenvector of ``A - diag(g)`` for its least eigenvalue, 0, they need
    not be unique: they are the leading one of the matrix of the relaxed problem, which is.
    """
    problem = _pose(kernel, C, balance_cost, ridge)
    (point, roots), status = _start(problem), None
    unit = C / problem.cost if problem.cost == _LEAST_COST else 1 / problem.scale  # of bounds
    bound = problem.value(point)
    history = [(point.g.sum(), 1 - point.g.sum() / bound)]
    try:
        while status is None:
            if history[-1][1] <= tol:
                status = "converged"
            elif len(history) > max_iter:
                status = "max_iter"
            elif (moved := _step(problem, point, roots)) is None:
                status = "stalled"
            else:
                point, roots = moved
                bound = min(bound, problem.value(point))
                history.append((point.g.sum(), 1 - point.g.sum() / bound))
                status = "stopped" if callback is not None and callback() else None
    except KeyboardInterrupt:
        status = "interrupted"
    objectives, gaps = np.array(history).T
    z, coefficients = _margins(problem, point)
    return SolverResult(
        x=coefficients / problem.scale,
        objective=unit * objectives,
        criterion=gaps,
        n_iter=len(history) - 1,
        status=status,
        intercept=float(np.mean(z - problem.kernel @ coefficients)),
        detail=Labeling(np.where(z < 0, -1.0, 1.0)[None], unit * point.g),
    )


_Roots = tuple[np.ndarray, np.ndarray]  # Cholesky factors of slack and W, which prove a point feasible


class _Problem(NamedTuple):
    """``kernel`` has its ridge and a mean diagonal near 1; ``root`` is lower, with ``root root' = A^-1``.

    The problem of a kernel divided by ``scale`` has costs, and a bound, multiplied by it. Costs below the
    least mean the same: no margin is worth it, and the bound is the cost of all rows. So do costs above the
    most: no row goes without its margin.
    """

    kernel: np.ndarray
    root: np.ndarray
    cost: float
    balance_cost: float
    scale: float

    def slack(self, g: np.ndarray) -> np.ndarray:
        """Lower triangle of ``I - L' diag(g) L``."""
        slack = blas.dsyrk(-1.0, self.root * np.sqrt(g)[:, None], trans=1, lower=1)
        slack[np.diag_indices(len(g))] += 1
        return slack

    def value(self, point: _Point) -> float:
        """``tr(AZ) + C sum_i max(1 - Z_ii, 0)`` for the best multiple ``Z`` of the point's matrix."""
        trace, squares = np.trace(point.W), point.squares
        descending = np.sort(squares)[::-1]
        below = np.maximum(squares.sum() - np.r_[0, np.cumsum(descending)], 0)
        n_reached = int(np.argmax(trace >= self.cost * below))  # 1, where the slope in the multiple turns
        multiple = 1 / descending[n_reached - 1] if n_reached else 0.0
        return float(multiple * trace + self.cost * np.maximum(1 - multiple * squares, 0).sum())

    def gap(self, point: _Point) -> float:
        """Sum of the products that are zero at the optimum."""
        unused = point.lack @ (self.cost - point.g) + point.excess @ point.g
        return float(np.trace(point.W) - point.g @ point.squares + unused)


class _Point(NamedTuple):
    """A dual point, the primal matrix ``L W L'`` and what its diagonal lacks and exceeds 1 by; or a step."""

    g: np.ndarray
    W: np.ndarray
    half: np.ndarray  # L W
    squares: np.ndarray  # the diagonal; squares + lack - excess = 1 is only true after a full step
    lack: np.ndarray
    excess: np.ndarray

    def moved(self, way: _Point, primal: float, dual: float) -> _Point:
        parts = (here + primal * there for here, there in zip(self[1:], way[1:], strict=True))
        return _Point(self.g + dual * way.g, *parts)


def _pose(kernel: np.ndarray, C: float, balance_cost: float | None, ridge: float) -> _Problem:
    n, trace = len(kernel), np.trace(kernel)
    if trace >= 0 and trace - kernel.sum() / n <= _ALIKE * trace:
        raise ValueError("All samples are the same to the kernel: raise gamma, or choose another kernel.")
    if ridge > _MOST_RIDGE:
        raise ValueError(f"ridge is {ridge}: it leaves nothing of the kernel, use at most {_MOST_RIDGE:.0e}.")
    # By a power of two, so that nothing is rounded
    scale = float(np.exp2(np.round(np.log2(trace / n)))) if trace > 0 else 1.0
    ridged = kernel / scale
    ridged[np.diag_indices(n)] += ridge * (trace / n / scale)
    if _cholesky(ridged) is None:
        raise ValueError("kernel is not positive semi-definite: use another one, or a larger ridge.")
    # The free offset leaves K^-1 - K^-1 ee' K^-1 / e'K^-1 e of K^-1, and that is the pseudo-inverse of HKH
    means = ridged.mean(axis=0)
    inverse = 2 * (ridged - means - means[:, None] + means.mean())
    balance_cost = 1 / float(np.trace(inverse)) if balance_cost is None else balance_cost * scale
    inverse += 1 / (balance_cost * n**2)
    if (root := _cholesky(inverse)) is None:
        raise ValueError(f"balance_cost is {balance_cost / scale}: use one nearer to 1 over the kernel.")
    return _Problem(ridged, root, float(np.clip(C * scale, _LEAST_COST, _MOST_COST)), balance_cost, scale)


def _start(problem: _Problem) -> tuple[_Point, _Roots]:
    root = problem.root
    variances = np.einsum("ij,ij->i", root, root)
    n, largest = len(root), np.abs(root @ root.T).sum(axis=0).max()
    g = np.full(n, min(problem.cost, 1 / largest) / 2)
    squares, W = variances / variances.mean(), np.eye(n) / variances.mean()
    excess = np.maximum(squares - 1, 0) + 0.5
    slack_root = _cholesky(problem.slack(g))
    assert slack_root is not None  # by Gershgorin
    return _Point(g, W, root / variances.mean(), squares, 1 - squares + excess, excess), (
        slack_root,
        np.sqrt(W),
    )


def _step(problem: _Problem, point: _Point, roots: _Roots) -> tuple[_Point, _Roots] | None:
    if (system := _System(problem, point, roots)).schur_root is None:
        return None
    affine = system.direction(0.0)
    here, ahead = problem.gap(point), problem.gap(point.moved(affine, *system.lengths(affine, 1.0)))
    mu = here / (3 * len(point.g)) * min(max(ahead / here, _LEAST_FALL), 1.0) ** 2
    way = system.direction(mu, affine)
    primal, dual = system.lengths(way, _SHARE)
    dual, slack_root = _shortened(dual, lambda step: problem.slack(point.g + step * way.g))
    primal, W_root = _shortened(primal, lambda step: point.W + step * way.W)
    if slack_root is None or W_root is None:
        return None
    return point.moved(way, primal, dual), (slack_root, W_root)


class _System:
    """The Newton system of ``W = mu S^-1``: ``(L W L') o (A - diag(g))^-1`` and a diagonal, factorized."""

    def __init__(self, problem: _Problem, point: _Point, roots: _Roots) -> None:
        self.problem, self.point, (self.slack_root, self.W_root) = problem, point, roots
        lower = lapack.dpotri(self.slack_root, lower=1)[0]
        self.slack_inverse = lower + np.tril(lower, -1).T
        self.solved_root = _times_root(self.slack_inverse, problem.root)
        self.inverse = blas.dtrmm(1.0, problem.root, self.solved_root, lower=1)  # of A - diag(g)
        self.room = problem.cost - point.g
        schur = _times_root(point.half, problem.root) * self.inverse
        schur[np.diag_indices(len(schur))] += point.lack / self.room + point.excess / point.g
        self.schur_root = _cholesky(schur)

    def direction(self, mu: float, affine: _Point | None = None) -> _Point:
        """Towards products of ``mu``, with the second-order terms of the affine direction where given."""
        point, room, root = self.point, self.room, self.problem.root
        rhs = 1 - mu * np.diag(self.inverse)
        lacking, excessive, second = mu, mu, 0.0
        if affine is not None:
            lacking, excessive = mu + affine.lack * affine.g, mu - affine.excess * affine.g
            second = affine.half * affine.g[:, None]
            rhs -= (_times_root(affine.half, root) * self.inverse) @ affine.g
        g = cho_solve((self.schur_root, True), rhs - lacking / room + excessive / point.g)
        product = (point.half * g[:, None] + second).T @ self.solved_root.T
        W = np.asfortranarray(mu * self.slack_inverse - point.W + (product + product.T) / 2)
        half = blas.dtrmm(1.0, root, W, lower=1)
        lack = (lacking + point.lack * g) / room - point.lack
        excess = (excessive - point.excess * g) / point.g - point.excess
        return _Point(g, W, half, np.einsum("ij,ij->i", half, root), lack, excess)

    def lengths(self, way: _Point, share: float) -> tuple[float, float]:
        """Primal and dual step, at most 1: a share of the way to the boundary, as Lanczos sees it."""
        point, root = self.point, self.problem.root
        primal = min(_room(point.lack, way.lack), _room(point.excess, way.excess))
        primal = min(primal, _semidefinite_room(self.W_root, lambda v: way.W @ v))
        dual = min(_room(point.g, way.g), _room(self.room, -way.g))
        dual = min(dual, _semidefinite_room(self.slack_root, lambda v: -(root.T @ (way.g * (root @ v)))))
        return min(share * primal, 1.0), min(share * dual, 1.0)


def _margins(problem: _Problem, point: _Point) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvector ``z`` of the primal matrix, and ``2Az`` less the part of the balance."""
    n, matrix = len(point.g), _times_root(point.half, problem.root)
    value, vectors = eigh(matrix, lower=True, subset_by_index=[n - 1, n - 1])
    z = np.sqrt(n) * vectors[:, 0]
    z *= np.sign(z[np.abs(z).argmax()])
    weighted = blas.dtrsv(problem.root, point.half.T @ z / value, lower=1, trans=1)
    return z, 2 * (weighted - problem.balance_cost * z.sum())


def _shortened(step: float, matrix: Callable[[float], np.ndarray]) -> tuple[float, np.ndarray | None]:
    while (root := _cholesky(matrix(step))) is None and step > _SHORTEST:
        step *= _SHORTER
    return step, root


def _cholesky(matrix: np.ndarray) -> np.ndarray | None:
    root, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    return None if failed else root


def _times_root(matrix: np.ndarray, root: np.ndarray) -> np.ndarray:
    return blas.dtrmm(1.0, root, matrix, side=1, lower=1, trans_a=1)


def _room(positive: np.ndarray, way: np.ndarray) -> float:
    falls = way < 0
    return float(np.min(-positive[falls] / way[falls], initial=np.inf))


def _semidefinite_room(root: np.ndarray, way: Callable[[np.ndarray], np.ndarray]) -> float:
    """Longest step for which ``root root' + step way`` stays positive."""

    def scaled(v: np.ndarray) -> np.ndarray:
        return blas.dtrsv(root, way(blas.dtrsv(root, v, lower=1, trans=1)), lower=1)

    start = np.random.default_rng(0).normal(size=len(root))  # ARPACK's own would differ from call to call
    operator = LinearOperator(root.shape, matvec=scaled, dtype=float)
    least = eigsh(operator, 1, which="SA", tol=_LANCZOS_TOL, v0=start, return_eigenvectors=False)[0]
    return -1 / float(least) if least < 0 else np.inf
