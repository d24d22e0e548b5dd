"""Laplacian machines of several classes whose positive scores exclude each other ([per])."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Protocol, cast

import numpy as np

from weakly.losses import Loss, resolve_loss
from weakly.manifold._metric import Element, MetricProblem
from weakly.manifold._metric_descent import Iterates, Watch, descend_accelerated, descend_lbfgs, follow
from weakly.regularizers import Exclusive
from weakly.rows._device import to_host
from weakly.solvers._result import SolverResult
from weakly.spaces import DeformedSpace, KernelSpace, undeformed, whiten

SOLVERS = ("lbfgs", "apg", "paper")
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
    """Minimise a Laplacian objective with a charge on unlabelled rows that several classes claim.

    The objective is [per] Eq. (10): a loss on the labelled rows, the norm of the deformed space, and
    ``penalty`` times the smoothed charge, summed over all other rows. A smoothing below 0.01 is reached in
    stages of a tenth.

    Parameters
    ----------
    space : DeformedSpace
        The space; it is factored, if it was not before.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_classes)
        Signs, +1 or -1.
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows.
    penalty : float
        Weight of the charge, at least 0.
    exclusive : {"sum", "pairs"}, default="sum"
        What is charged, see :class:`weakly.regularizers.Exclusive`.
    smoothing : float, default=0.01
        Where positive parts are rounded off.
    loss : str or Loss, default="squared_hinge"
        A smooth loss of :mod:`weakly.losses`.
    start : ndarray of shape (n_params, n_classes), optional
        Where to begin; zero by default.
    solver : {"lbfgs", "apg", "paper"}, default="lbfgs"
        L-BFGS or accelerated gradients with restarts, in the metric of the space; or the paper's Algorithm 1
        with its constant, Eq. (12), for exact kernels: so large that nothing moves but on tiny problems.
    tol : float, default=1e-6
        Norm of the gradient relative to that at zero.
    max_iter : int, default=1000
        Most gradients.
    callback : callable, optional
        Sees the scores after each step; the method stops where it returns True.
    others : ChargedRows, optional
        The rows that are charged; by default those of the space that are not labelled.

    Returns
    -------
    SolverResult
        ``x`` holds the parameters; ``criterion`` is the relative norm of the gradient. Histories are those of
        the last stage.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.manifold._exclusive_solver import solve_exclusive
    >>> from weakly.spaces import KernelSpace, deform
    >>> space = deform(KernelSpace(np.eye(3) + 0.5), sp.csr_array((3, 3)), ambient=0.1, graph=0.0)
    >>> signs = np.array([[1.0, -1.0], [1.0, 1.0]])  # the second is of both classes
    >>> free, charged = (
    ...     solve_exclusive(space, np.array([0, 1]), signs, np.ones(2), penalty=penalty) for penalty in (0, 9)
    ... )
    >>> [round(float(space.scores(theta)[2, 0]), 2) for theta in (free.x, charged.x)]
    [0.48, 0.01]
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}: use one of {', '.join(SOLVERS)}.")
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
    watch = (lambda u: callback(u.scores)) if callback is not None else (lambda u: None)
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
    watch: Watch,
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
    """Rows that pay a charge, as functions of the scores of the rows of a space."""

    def value(self, charge: Exclusive, scores: np.ndarray) -> float: ...
    def slope(self, charge: Exclusive, scores: np.ndarray) -> np.ndarray: ...
    def n_shared(self, scores: np.ndarray, threshold: float) -> int: ...


class OtherRows:
    """All rows of a space but some.

    Parameters
    ----------
    n_rows : int
        Rows of the space.
    rows : ndarray of int
        Those that pay nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.manifold._exclusive_solver import OtherRows
    >>> OtherRows(3, np.array([1])).n_shared(np.array([[1.0, 2.0], [3.0, 3.0], [4.0, -1.0]]), 0.5)
    1
    """

    def __init__(self, n_rows: int, rows: np.ndarray) -> None:
        self.rows = np.setdiff1d(np.arange(n_rows), rows)

    def value(self, charge: Exclusive, scores: np.ndarray) -> float:
        """What they pay together."""
        return float(charge.value(scores[self.rows]).sum())

    def slope(self, charge: Exclusive, scores: np.ndarray) -> np.ndarray:
        """Its derivative by the scores of all rows."""
        slopes = np.zeros(scores.shape)
        slopes[self.rows] = charge.gradient(scores[self.rows])
        return slopes

    def n_shared(self, scores: np.ndarray, threshold: float) -> int:
        """How many have scores of several classes above a threshold."""
        return n_shared(scores[self.rows], threshold)


def n_shared(scores: np.ndarray, threshold: float) -> int:
    return int(np.count_nonzero((scores > threshold).sum(axis=1) > 1))


class _Claims:
    """Loss of the labelled rows and charge on all others: [per] Eqs. (8) and (9) print sums over all."""

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
    for t in count(1):
        yield u, problem.value(u), problem.norm(problem.gradient(u)) / scale
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
