"""Conjugate gradients in function space, without any factorisation.

The objective is that of the whole deformed space,

    sum_i w_i loss(y_i, f_i) + a ||f||_H^2 / 2 + g f'Lf / 2,

and gradients are taken in the metric of ``H``: for a kernel this drops the leading ``K`` of the gradient in
the coefficients, which would square the condition number [melacci2011]_. An iteration costs one product
with the Gram matrix (or with the features and their transpose) and one with the sparse Laplacian, for all
columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weakly.losses import LOSSES, Loss
from weakly.solvers._result import SolverResult
from weakly.spaces import DeformedSpace

Callback = Callable[[np.ndarray], bool | None]


def solve_conjugate(
    space: DeformedSpace,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str = "squared",
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimise a Laplacian objective over all rows by Newton's method with conjugate gradients.

    Parameters
    ----------
    space : DeformedSpace
        The space, whose factorisation is not used.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_columns)
        Targets; +1 or -1 for "squared_hinge".
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows.
    loss : {"squared", "squared_hinge"}, default="squared"
        The loss.
    tol : float, default=1e-6
        Largest relative norm of the gradient at the solution.
    max_iter : int, default=1000
        Most conjugate gradient iterations in all.
    callback : callable, optional
        ``callback(scores)`` after each of them, with the scores of all rows; ``False`` stops.

    Returns
    -------
    SolverResult
        ``x`` holds parameters of the whole space; histories have an entry per Newton step, of which the
        squared loss takes one.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import solve_conjugate
    >>> from weakly.spaces import KernelSpace, deform
    >>> laplacian = affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).laplacian("unnormalized")
    >>> space = deform(KernelSpace(np.eye(3)), laplacian, ambient=1e-9, graph=1.0)
    >>> ends = np.array([0, 2])
    >>> result = solve_conjugate(space, ends, np.array([[1.0], [-1.0]]), np.full(2, 1e6))
    >>> space.scores(result.x).ravel().round(3).tolist()
    [1.0, 0.0, -1.0]
    """
    problem = _Problem(space, rows, targets, weights[:, None], LOSSES[loss])
    theta = np.zeros((space.n_params, targets.shape[1]), dtype=targets.dtype)
    scores = np.zeros((space.n_rows, targets.shape[1]), dtype=targets.dtype)
    scale = problem.norm(problem.adjoint(problem.weights * targets))
    history: list[tuple[float, float]] = []
    budget, status = max_iter, "max_iter"
    while True:
        curvature = problem.curvature(scores)
        residual = problem.adjoint(curvature * targets) - problem.hessian(curvature, theta, scores)
        criterion = float(np.max(problem.norm(residual) / np.where(scale > 0, scale, 1)))
        objective = problem.objective(theta, scores)
        stalled = bool(history) and objective >= history[-1][0]
        history.append((objective, criterion))
        if criterion <= tol or budget <= 0 or status == "stopped" or stalled:
            break
        inner = _conjugate_gradients(problem, curvature, residual, tol * scale, budget, (scores, callback))
        budget -= inner.n_iter
        status = "stopped" if inner.stopped else "max_iter"
        share = problem.search_line(theta, scores, inner, objective)
        theta, scores = theta + share * inner.step, scores + share * inner.score_step
    if criterion <= tol:
        status = "converged"
    elif stalled and status != "stopped" and budget > 0:
        status = "stalled"
    objectives, criteria = np.array(history).T
    return SolverResult(theta, objectives, criteria, len(history) - 1, status)


@dataclass(frozen=True)
class _Problem:
    """The objective and its derivatives in the metric of the space."""

    space: DeformedSpace
    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    loss: Loss

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        assert self.loss.active is not None
        return self.weights * self.loss.active(self.targets, scores[self.rows])

    def adjoint(self, labeled: np.ndarray) -> np.ndarray:
        """``A*`` of values that are zero off the labelled rows."""
        values = np.zeros((self.space.n_rows, labeled.shape[1]), dtype=labeled.dtype)
        values[self.rows] = labeled
        return self.space.base.adjoint(values)

    def hessian(self, curvature: np.ndarray, theta: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.space.apply(theta, scores) + self.adjoint(curvature * scores[self.rows])

    def norm(self, theta: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self.space.base.inner(theta, theta), 0))

    def objective(self, theta: np.ndarray, scores: np.ndarray) -> float:
        penalty = self.space.base.inner(self.space.apply(theta, scores), theta, scores).sum()
        return float((self.weights * self.loss.value(self.targets, scores[self.rows])).sum() + penalty / 2)

    def search_line(self, theta: np.ndarray, scores: np.ndarray, inner: _Inner, objective: float) -> float:
        """Halve the step until the objective falls; on a parabola the full step does."""
        for share in 0.5 ** np.arange(30):
            if self.objective(theta + share * inner.step, scores + share * inner.score_step) < objective:
                return float(share)
        return 0.0


@dataclass(frozen=True)
class _Inner:
    step: np.ndarray
    score_step: np.ndarray
    n_iter: int
    stopped: bool


def _conjugate_gradients(
    problem: _Problem,
    curvature: np.ndarray,
    residual: np.ndarray,
    target_norm: np.ndarray,
    max_iter: int,
    watch: tuple[np.ndarray, Callback | None],
) -> _Inner:
    """Newton step for a fixed curvature, all columns side by side; converged columns stand still."""
    space, base = problem.space, problem.space.base
    start_scores, callback = watch
    step, score_step = np.zeros_like(residual), np.zeros_like(start_scores)
    residual_scores = space.scores(residual)
    direction, direction_scores = residual, residual_scores
    energy = base.inner(residual, residual, residual_scores)
    n_iter, stopped = 0, False
    try:
        while n_iter < max_iter and not stopped:
            n_iter += 1
            image = problem.hessian(curvature, direction, direction_scores)
            length = _ratio(energy, base.inner(image, direction, direction_scores))
            step = step + length * direction
            score_step = score_step + length * direction_scores
            residual = residual - length * image
            residual_scores = space.scores(residual)
            previous, energy = energy, base.inner(residual, residual, residual_scores)
            if np.all(energy <= target_norm**2):
                break
            stopped = callback is not None and callback(start_scores + score_step) is False
            momentum = _ratio(energy, previous)
            direction = residual + momentum * direction
            direction_scores = residual_scores + momentum * direction_scores
    except KeyboardInterrupt:
        stopped, score_step = True, space.scores(step)  # the two may be one update apart
    return _Inner(step, score_step, n_iter, stopped)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=(b > 0) & (a > 0))
