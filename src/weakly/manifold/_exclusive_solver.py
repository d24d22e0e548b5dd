"""Laplacian SVMs of several classes whose positive scores exclude each other ([per])."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Protocol, cast

import numpy as np

from weakly.losses import Loss, resolve_loss
from weakly.manifold._follow import follow
from weakly.manifold._metric import Element, Iterates, MetricProblem, descend_accelerated, descend_lbfgs
from weakly.regularizers import Exclusive
from weakly.rows._arrays import to_host
from weakly.solvers._result import SolverResult
from weakly.spaces import DeformedSpace, KernelSpace, undeformed, whiten

_FIRST_SMOOTHING, _SHRINK = 1e-2, 0.1  # of the continuation
_ROUGH = 1e-3  # tolerance of its first stages


def solve_exclusive(
    space: DeformedSpace,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    penalty: float,
    exclusive: str = "sum",
    smoothing: float = 1e-2,
    loss: str | Loss = "squared_hinge",
    start: np.ndarray | None = None,
    solver: str = "lbfgs",
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callable[[np.ndarray], object] | None = None,
    others: ChargedRows | None = None,
) -> SolverResult:
    """Minimize a Laplacian objective with a penalty on unlabeled samples that several classes score positive.

    The objective is [per] Eq. (10): a loss on the labeled samples, the norm of the deformed space, and
    ``penalty`` times the smoothed penalty :class:`weakly.regularizers.Exclusive`, summed over ``others``, by
    default all samples that are not labeled. A smoothing below 0.01 is reached in stages of a tenth.

    The solver is "lbfgs" or "apg", L-BFGS or accelerated gradients with restarts, in the metric of the
    space; or "paper", the paper's Algorithm 1 with its constant, Eq. (12), for exact kernels: so large that
    nothing moves but on tiny problems. It begins at zero by default. ``callback`` sees the scores after each
    step.

    ``criterion`` is the norm of the gradient relative to that at zero. Histories are those of the last
    stage.
    """
    theta = np.zeros((space.n_params, targets.shape[1])) if start is None else start.astype(np.float64)
    others = OtherRows(space.n_rows, rows) if others is None else others
    stages = [
        _Claims(
            others,
            rows,
            targets,
            weights,
            resolve_loss(loss, smooth=True),
            Exclusive(exclusive, width),
            penalty,
        )
        for width in (_stages(smoothing) if penalty > 0 and solver != "paper" else [smoothing])
    ]
    descend = {"lbfgs": descend_lbfgs, "apg": descend_accelerated, "paper": _descend_as_printed}[solver]
    watch = None if callback is None else (lambda u: callback(u.scores))
    plain = whiten(space) if space.graph > 0 and solver != "paper" else None
    if plain is None:
        return _solve_stages(space, stages, theta, descend, tol, max_iter, watch)
    # Where the norm is in the features, gradients need no solve with a factor.
    root_solve = cast(Callable[[np.ndarray], np.ndarray], space.factor.root_solve)
    inside = root_solve(space.apply(theta, space.scores(theta)))
    result = _solve_stages(undeformed(plain.space), stages, inside, descend, tol, max_iter, watch)
    return replace(result, x=plain.lift(result.x))


def _solve_stages(
    space: DeformedSpace,
    stages: list[_Claims],
    theta: np.ndarray,
    descend: Callable[[MetricProblem, Element, float], Iterates],
    tol: float,
    max_iter: int,
    watch: Callable[[Element], object] | None,
) -> SolverResult:
    """One smoothing after the other, each from the end of the one before; all but the last roughly."""
    n_iter = 0
    for claims in stages:
        problem = MetricProblem(space, claims)
        iterates = descend(problem, problem.element(theta), _norm_at_zero(problem, theta.shape))
        enough = tol if claims is stages[-1] else max(tol, _ROUGH)
        u, history, status = follow(iterates, enough, max_iter - n_iter, watch)
        theta, n_iter = u.theta, n_iter + len(history) - 1
        if status in ("stopped", "interrupted"):
            break
    objectives, criteria = np.array(history).T
    return SolverResult(theta, objectives, criteria, n_iter, status)


def _norm_at_zero(problem: MetricProblem, shape: tuple[int, ...]) -> float:
    return problem.norm(problem.gradient(problem.element(np.zeros(shape)))) or 1.0


def _stages(smoothing: float) -> list[float]:
    """Widths from 0.01 down to the one asked for."""
    widths = []
    width = _FIRST_SMOOTHING
    while width > smoothing * (1 + 1e-9):
        widths.append(width)
        width *= _SHRINK
    return [*widths, smoothing]


class ChargedRows(Protocol):
    """Samples with a penalty, as functions of the scores of the samples of a space."""

    def value(self, charge: Exclusive, scores: np.ndarray) -> float: ...
    def slope(self, charge: Exclusive, scores: np.ndarray) -> np.ndarray: ...
    def n_shared(self, scores: np.ndarray, threshold: float) -> int: ...


class OtherRows:
    """All samples of a space but some."""

    def __init__(self, n_rows: int, rows: np.ndarray) -> None:
        self.rows = np.setdiff1d(np.arange(n_rows), rows)

    def value(self, charge: Exclusive, scores: np.ndarray) -> float:
        """Their penalty."""
        return float(charge.value(scores[self.rows]).sum())

    def slope(self, charge: Exclusive, scores: np.ndarray) -> np.ndarray:
        """Its derivative by the scores of all samples."""
        slopes = np.zeros(scores.shape)
        slopes[self.rows] = charge.gradient(scores[self.rows])
        return slopes

    def n_shared(self, scores: np.ndarray, threshold: float) -> int:
        """How many have scores of several classes above a threshold."""
        return n_shared(scores[self.rows], threshold)


def n_shared(scores: np.ndarray, threshold: float) -> int:
    return int(np.count_nonzero((scores > threshold).sum(axis=1) > 1))


class _Claims:
    """Loss of the labeled samples and penalty on all others: [per] Eqs. (8) and (9) print sums over all."""

    def __init__(
        self,
        others: ChargedRows,
        rows: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        loss: Loss,
        charge: Exclusive,
        penalty: float,
    ) -> None:
        self.rows, self.others = rows, others
        self.targets, self.weights = targets, weights.astype(np.float64)[:, None]
        self.loss, self.charge, self.penalty = loss, charge, penalty

    def value(self, scores: np.ndarray) -> float:
        value = float((self.weights * self.loss.value(self.targets, scores[self.rows])).sum())
        if self.penalty > 0:
            value += self.penalty * self.others.value(self.charge, scores)
        return value

    def slope(self, scores: np.ndarray) -> np.ndarray:
        slopes = (
            self.penalty * self.others.slope(self.charge, scores)
            if self.penalty > 0
            else np.zeros(scores.shape)
        )
        slopes[self.rows] = self.weights * self.loss.slope(self.targets, scores[self.rows])
        return slopes


def _descend_as_printed(problem: MetricProblem, u: Element, scale: float) -> Iterates:
    """[per] Algorithm 1, with ``lambda_0 = 1`` and ``lambda_t`` where it prints ``alpha_t``."""
    space, claims = problem.space, cast(_Claims, problem.loss)
    if not space.base.has_gram:
        raise ValueError("solver='paper' is written for exact kernels: use 'lbfgs' or 'apg'.")
    constant = _printed_constant(space, claims, problem.value(u))
    alpha = beta = u.theta
    lowest = np.inf
    for t in count(1):
        lowest = min(lowest, problem.value(u))
        yield u, lowest, problem.norm(problem.gradient(u)) / scale
        share = 2 / (t + 1)
        at = problem.element((1 - share) * alpha + share * beta)
        slope = space.base.scores(at.image + claims.slope(at.scores))
        beta = beta - slope / (share * constant)
        alpha = (1 - share) * alpha + share * beta
        u = problem.element(alpha)


def _printed_constant(space: DeformedSpace, claims: _Claims, value: float) -> float:
    """[per] Eq. (12). Its ``R`` bounds coefficients: here by the objective, which bounds their norm."""
    gram = to_host(cast(KernelSpace, space.base).gram)
    eigenvalues = np.linalg.eigvalsh(gram)
    largest, least = eigenvalues[-1], max(eigenvalues[0], np.finfo(float).eps * eigenvalues[-1])
    reach = np.sqrt(2 * value / (space.ambient * least) * len(gram))
    smooth = gram @ (space.laplacian @ gram) if space.graph > 0 else np.zeros((1, 1))
    rows = gram[cast(OtherRows, claims.others).rows]
    charged = (rows**2).sum(axis=1) @ (np.abs(rows).sum(axis=1) * reach / claims.charge.smoothing + 1)
    return float(
        claims.weights.max() * largest**2
        + space.ambient * largest
        + space.graph * np.linalg.norm(smooth, 2)
        + claims.penalty * claims.targets.shape[1] * charged
    )
