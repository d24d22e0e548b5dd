"""Conjugate gradients in function space, without any factorisation.

The objective is that of the whole deformed space,

    sum_i w_i loss(y_i, f_i) + a ||f||_H^2 / 2 + g f'Lf / 2,

and gradients are taken in the metric of ``H``: for a kernel this drops the leading ``K`` of the gradient in
the coefficients, which would square the condition number [melacci2011]_. An iteration costs one product
with the Gram matrix (or with the features and their transpose) and one with the sparse Laplacian, for all
columns. Iterates are where the space is: tensors that stay on its device, or arrays of NumPy. Only losses of
labelled rows, once per Newton step, are always taken in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weakly.losses import Loss, resolve_loss
from weakly.rows._arrays import namespace, to_host, zeros
from weakly.solvers._graph_system import positive_ratio
from weakly.solvers._result import SolverResult
from weakly.spaces import DeformedSpace

_IDLE_SHARE = 1e-4  # of the rows, which may change their decision while the others have settled

Callback = Callable[[np.ndarray], bool | None]


def solve_conjugate(
    space: DeformedSpace,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str | Loss = "squared",
    tol: float = 1e-6,
    max_iter: int = 1000,
    patience: int | None = None,
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
        Targets; +1 or -1 for "squared_hinge" and "logistic".
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows.
    loss : str or Loss, default="squared"
        A smooth convex loss, see :mod:`weakly.losses`.
    tol : float, default=1e-6
        Largest relative norm of the gradient at the solution.
    max_iter : int, default=1000
        Most conjugate gradient iterations in all.
    patience : int or None, default=None
        End a Newton step once the decisions (the largest centred score of each row, or its sign) have not
        changed for that many iterations, but for one row in 10,000, and the whole once such a step leaves
        the same rows inside the margin. ``None`` goes on to ``tol``.
    callback : callable, optional
        ``callback(scores)`` after each iteration, with the scores of all rows (a tensor where the space is
        on a device); True stops.

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
    targets, weights = targets.astype(space.dtype), weights.astype(space.dtype)[:, None]
    problem = _Problem(space, space.own(rows), targets, weights, resolve_loss(loss, smooth=True))
    pull = space.own(-weights * problem.loss.slope(targets, np.zeros_like(targets)))
    theta = zeros(pull, space.n_params, targets.shape[1])
    scores = zeros(pull, space.n_rows, targets.shape[1])
    scale = problem.norm(problem.adjoint(pull))
    point = problem.assess(theta, scores, scale)
    history = [(point.objective, point.criterion)]
    n_left, status = max_iter, "max_iter"
    try:
        while point.criterion > tol and n_left > 0 and status == "max_iter":
            step = _conjugate_gradients(problem, point, tol * scale, n_left, patience, callback)
            n_left -= step.n_iter
            share = problem.search_line(point, step)
            theta, scores = point.theta + step.theta * share, point.scores + step.scores * share
            previous, point = point, problem.assess(theta, scores, scale)
            history.append((point.objective, point.criterion))
            settled = step.settled and bool((point.curvature == previous.curvature).all())
            if step.stopped or settled:
                status = step.stopped or "stopped"
            elif point.objective >= previous.objective:
                status = "stalled"
    except KeyboardInterrupt:  # between two conjugate gradient iterations, which have a guard of their own
        point, status = problem.assess(theta, scores, scale), "interrupted"
        history.append((point.objective, point.criterion))
    objectives, criteria = np.array(history).T
    status = "converged" if point.criterion <= tol else status
    return SolverResult(to_host(point.theta), objectives, criteria, max_iter - n_left, status)


@dataclass(frozen=True)
class _Point:
    """An iterate with its scores, and what is known of the objective there."""

    theta: np.ndarray
    scores: np.ndarray
    curvature: np.ndarray
    residual: np.ndarray  # minus the gradient
    objective: float
    criterion: float


@dataclass(frozen=True)
class _Step:
    theta: np.ndarray
    scores: np.ndarray
    n_iter: int
    settled: bool
    stopped: str  # empty unless the callback or an interrupt ended it


@dataclass(frozen=True)
class _Problem:
    """The objective and its derivatives in the metric of the space."""

    space: DeformedSpace
    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    loss: Loss

    def adjoint(self, labeled: np.ndarray) -> np.ndarray:
        """``A*`` of values that are zero off the labelled rows."""
        values = zeros(labeled, self.space.n_rows, labeled.shape[1])
        values[self.rows] = labeled
        return self.space.base.adjoint(values)

    def hessian(self, curvature: np.ndarray, theta: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.space.apply(theta, scores) + self.adjoint(curvature * scores[self.rows])

    def norm(self, theta: np.ndarray) -> np.ndarray:
        return self.space.base.inner(theta, theta).clip(0) ** 0.5

    def objective(self, theta: np.ndarray, scores: np.ndarray) -> float:
        penalty = self.space.base.inner(self.space.apply(theta, scores), theta, scores).sum()
        losses = self.weights * self.loss.value(self.targets, to_host(scores[self.rows]))
        return float(losses.sum()) + float(penalty) / 2

    def assess(self, theta: np.ndarray, scores: np.ndarray, scale: np.ndarray) -> _Point:
        near = to_host(scores[self.rows])
        pull = self.space.own(-self.weights * self.loss.slope(self.targets, near))
        curvature = self.space.own(self.weights * self.loss.curvature(self.targets, near))
        residual = self.adjoint(pull) - self.space.apply(theta, scores)
        criterion = float((self.norm(residual) / namespace(scale).where(scale > 0, scale, 1)).max())
        return _Point(theta, scores, curvature, residual, self.objective(theta, scores), criterion)

    def search_line(self, point: _Point, step: _Step) -> float:
        """Halve the step until the objective falls; on a parabola the full step does."""
        for share in 0.5 ** np.arange(30):
            if (
                self.objective(point.theta + step.theta * share, point.scores + step.scores * share)
                < point.objective
            ):
                return float(share)
        return 0.0


def _conjugate_gradients(
    problem: _Problem,
    point: _Point,
    target_norm: np.ndarray,
    max_iter: int,
    patience: int | None,
    callback: Callback | None,
) -> _Step:
    """Newton step from a point, all columns side by side; converged columns stand still."""
    space, base = problem.space, problem.space.base
    step, step_scores = zeros(point.theta, *point.theta.shape), zeros(point.scores, *point.scores.shape)
    n_iter, stopped, settling = 0, "", _Settling(patience)
    try:
        residual, residual_scores = point.residual, space.scores(point.residual)
        direction, direction_scores = residual, residual_scores
        energy = base.inner(residual, residual, residual_scores)
        while n_iter < max_iter and not (stopped or settling.done):
            n_iter += 1
            image = problem.hessian(point.curvature, direction, direction_scores)
            length = positive_ratio(energy, base.inner(image, direction, direction_scores))
            step = step + length * direction
            step_scores = step_scores + length * direction_scores
            residual = residual - length * image
            residual_scores = space.scores(residual)
            previous, energy = energy, base.inner(residual, residual, residual_scores)
            if (energy <= target_norm**2).all():
                break
            settling.watch(point.scores + step_scores)
            if callback is not None and callback(point.scores + step_scores):
                stopped = "stopped"
            momentum = positive_ratio(energy, previous)
            direction = residual + momentum * direction
            direction_scores = residual_scores + momentum * direction_scores
    except KeyboardInterrupt:
        stopped, step_scores = "interrupted", space.scores(step)  # the two may be one update apart
    return _Step(step, step_scores, n_iter, settling.done, stopped)


class _Settling:
    """Counts the iterations for which no decision has changed."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.n_unchanged = 0
        self.decisions = np.zeros(0)

    @property
    def done(self) -> bool:
        return self.patience is not None and self.n_unchanged >= self.patience

    def watch(self, scores: np.ndarray) -> None:
        centred = scores - scores.mean(axis=0)
        decisions = centred[:, 0] > 0 if scores.shape[1] == 1 else centred.argmax(axis=1)
        unseen = len(self.decisions) != len(decisions)
        changed = decisions if unseen else decisions != self.decisions
        n_changed = len(decisions) if unseen else int(namespace(changed).count_nonzero(changed))
        self.n_unchanged = self.n_unchanged + 1 if n_changed <= _IDLE_SHARE * len(decisions) else 0
        self.decisions = decisions
