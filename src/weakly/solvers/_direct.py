"""Direct solvers on the labeled samples: ridge, and Newton's method for any smooth loss.

Both minimize ``sum_i w_i loss(y_i, f_i) + ||f||^2 / 2`` over a small space, one column of targets per
class, by Cholesky factorizations of the normal equations. A Laplacian problem is one of them over the labeled
samples of a factored space.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from weakly.losses import LOSSES, Loss, resolve_loss
from weakly.solvers._hinge import solve_hinge
from weakly.solvers._result import HeldOutScores, SolverResult
from weakly.spaces import BaseSpace, DeformedSpace, restrict

_SQUARED = LOSSES["squared"]
_LARGEST_ERROR = 1e-3  # of the factorisation; beyond it the scores cannot be trusted


def solve_ridge(
    space: BaseSpace, targets: np.ndarray, weights: np.ndarray, *, tol: float = 1e-6
) -> SolverResult:
    """Minimise ``sum_i w_i (y_i - f_i)^2 / 2 + ||f||^2 / 2``, all columns from one factorisation.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        Functions over the labelled rows.
    targets : ndarray of shape (n_rows, n_columns)
        Targets ``y``.
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the rows, at least 0.
    tol : float, default=1e-6
        Largest relative norm of the gradient at the solution, beyond which rounding has spoiled it.

    Returns
    -------
    SolverResult
        With exact leave-one-out scores in ``detail.held_out``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_ridge
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_ridge(KernelSpace(np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist()
    [0.5, -0.5]
    """
    normal = space.normal_equations(weights)
    theta = normal.solve(targets)
    scores = space.scores(theta)
    start = _assess(space, targets, weights, np.zeros_like(theta), np.zeros_like(scores), _SQUARED)
    end = _assess(space, targets, weights, theta, scores, _SQUARED)
    return SolverResult(
        x=theta,
        objective=np.array([start.objective, end.objective]),
        criterion=np.array([start.criterion, end.criterion]),
        n_iter=1,
        status="converged" if end.criterion <= tol else "stalled",
        detail=HeldOutScores(_leave_one_out(targets, scores, normal.leverage()[:, None])),
    )


def solve_newton(
    space: BaseSpace,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str | Loss = "squared_hinge",
    tol: float = 1e-6,
    max_iter: int = 100,
) -> SolverResult:
    """Minimize ``sum_i w_i loss(y_i, f_i) + ||f||^2 / 2`` by Newton's method, column by column.

    A step is a ridge problem with the curvatures of the loss as weights. The squared hinge is a parabola
    inside the margin: once the samples there repeat, the step is exact and the method ends.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        Functions over the labelled rows.
    targets : ndarray of shape (n_rows, n_columns)
        Targets ``y``; signs, +1 or -1, for "squared_hinge" and "logistic".
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the samples, at least 0.
    loss : str or Loss, default="squared_hinge"
        A smooth convex loss, see :mod:`weakly.losses`.
    tol : float, default=1e-6
        Largest relative norm of the gradient at the solution.
    max_iter : int, default=100
        Most Newton steps per column.

    Returns
    -------
    SolverResult
        Objectives are summed over columns, the criterion is the largest. ``detail.held_out`` is exact where
        leaving a sample out does not change the curvature of another: for the squared hinge, where none
        crosses the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_newton
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_newton(KernelSpace(np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist(), result.status
    ([0.5, -0.5], 'converged')
    """
    columns = [
        _newton_column(space, y[:, None], weights, resolve_loss(loss, smooth=True), tol, max_iter)
        for y in targets.T
    ]
    n_iter = max(column.n_iter for column in columns)
    statuses = {column.status for column in columns}
    return SolverResult(
        x=np.hstack([column.x for column in columns]),
        objective=np.sum([_padded(column.objective, n_iter) for column in columns], axis=0),
        criterion=np.max([_padded(column.criterion, n_iter) for column in columns], axis=0),
        n_iter=n_iter,
        status=next(status for status in ("stalled", "max_iter", "converged") if status in statuses),
        detail=HeldOutScores(np.hstack([column.detail.held_out for column in columns])),
    )


def _newton_column(
    space: BaseSpace, y: np.ndarray, weights: np.ndarray, loss: Loss, tol: float, max_iter: int
) -> SolverResult:
    theta = np.zeros((space.n_params, 1), dtype=y.dtype)
    scores = np.zeros_like(y)
    history: list[tuple[float, float]] = []
    share, solved_weights = 0.0, np.zeros(0)
    for step in range(max_iter + 1):
        point = _assess(space, y, weights, theta, scores, loss)
        history.append((point.objective, point.criterion))
        # A full step whose parabola is still the loss at its end is exact: only rounding is left.
        is_exact = share == 1 and np.array_equal(point.curvature[:, 0], solved_weights)
        is_stalled = step > 0 and history[-2][0] - point.objective <= _rounding(point.objective, scores)
        if point.criterion <= tol or is_exact or is_stalled or step == max_iter:
            break
        solved_weights = point.curvature[:, 0]
        newton_point = space.normal_equations(solved_weights).solve(point.vertices(scores))
        share = _search_line(space, y, weights, loss, (theta, scores), newton_point, point.objective, tol)
        theta = theta + share * (newton_point - theta)
        scores = space.scores(theta)
    status = "converged" if point.criterion <= tol else "stalled" if is_exact or is_stalled else "max_iter"
    leverage = space.normal_equations(point.curvature[:, 0]).leverage()[:, None]
    objectives, criteria = np.array(history).T
    detail = HeldOutScores(_leave_one_out(point.vertices(scores), scores, leverage))
    return SolverResult(theta, objectives, criteria, len(history) - 1, status, detail=detail)


def _search_line(
    space: BaseSpace,
    y: np.ndarray,
    weights: np.ndarray,
    loss: Loss,
    start: tuple[np.ndarray, np.ndarray],
    target: np.ndarray,
    objective: float,
    tol: float,
) -> float:
    """Share of the step towards ``target`` at which the objective does not rise; almost always all of it."""
    theta, scores = start
    step, score_step = target - theta, space.scores(target) - scores
    # Contrary labels on equal samples cancel in the scores: the objective is then flat but for rounding,
    # which grows with the kernel, and the gradient alone can tell that the full step solves the problem.
    if _assess(space, y, weights, target, scores + score_step, loss).criterion <= tol:
        return 1.0
    for share in 0.5 ** np.arange(30):
        point, values = theta + share * step, scores + share * score_step
        value = weights @ loss.value(y, values)[:, 0] + space.inner(point, point, values)[0] / 2
        if value <= objective + _rounding(objective, scores):
            return float(share)
    return 0.0


class _Point(NamedTuple):
    """What is known of the objective at a point; slopes and curvatures with the weights of the samples."""

    objective: float
    criterion: float  # relative norm of the gradient
    slope: np.ndarray
    curvature: np.ndarray

    def vertices(self, scores: np.ndarray) -> np.ndarray:
        """Scores at which the parabolas of the samples are least; the given ones without curvature."""
        step = np.divide(self.slope, self.curvature, out=np.zeros_like(scores), where=self.curvature > 0)
        return scores - step


def _assess(
    space: BaseSpace,
    y: np.ndarray,
    weights: np.ndarray,
    theta: np.ndarray,
    scores: np.ndarray,
    loss: Loss,
) -> _Point:
    slope = weights[:, None] * loss.slope(y, scores)
    curvature = weights[:, None] * loss.curvature(y, scores)
    pull = space.adjoint(-slope)
    objective = (weights @ loss.value(y, scores)).sum() + space.inner(theta, theta, scores).sum() / 2
    scale = max(np.linalg.norm(theta), np.linalg.norm(pull)) or 1.0  # the parts cancel at the optimum
    return _Point(float(objective), float(np.linalg.norm(theta - pull) / scale), slope, curvature)


def _rounding(objective: float, scores: np.ndarray) -> float:
    """How much two evaluations of the objective may differ for no reason."""
    return 100 * float(np.finfo(scores.dtype).eps) * objective


def _leave_one_out(targets: np.ndarray, scores: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    """``y - (y - f) / (1 - h)``: what the model without a row says of it."""
    return targets - (targets - scores) / np.maximum(1 - leverage, np.finfo(scores.dtype).eps)


def _padded(history: np.ndarray, n_iter: int) -> np.ndarray:
    return np.pad(history, (0, n_iter + 1 - len(history)), mode="edge")


def solve_restricted(
    space: DeformedSpace,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str | Loss = "squared",
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SolverResult:
    """Minimise a Laplacian objective by way of the labelled rows.

    Parameters
    ----------
    space : DeformedSpace
        The space; it is factored, if it was not before.
    rows : ndarray of shape (n_labeled,)
        Labelled rows.
    targets : ndarray of shape (n_labeled, n_columns)
        Targets; +1 or -1 for the hinge losses.
    weights : ndarray of shape (n_labeled,)
        Weights of the labelled rows.
    loss : str or Loss, default="squared"
        The hinge or a smooth convex loss, see :mod:`weakly.losses`; "hinge" comes with an intercept.
    tol : float, default=1e-6
        Largest criterion of a solution.
    max_iter : int, default=1000
        Most Newton steps, most thousands of LIBSVM steps for "hinge".

    Returns
    -------
    SolverResult
        ``x`` holds parameters of the whole space. Where the factorisation is too inexact to carry the
        solution from the labelled rows to all, the status is "stalled", and the last criterion is its error.

    See Also
    --------
    solve_conjugate : The same without a factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.solvers import solve_restricted
    >>> from weakly.spaces import KernelSpace, deform
    >>> laplacian = affinity_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).laplacian("unnormalized")
    >>> space = deform(KernelSpace(np.eye(3)), laplacian, ambient=1e-9, graph=1.0)
    >>> result = solve_restricted(space, np.array([0, 2]), np.array([[1.0], [-1.0]]), np.full(2, 1e6))
    >>> space.scores(result.x).ravel().round(3).tolist()
    [1.0, 0.0, -1.0]
    """
    small = restrict(space, rows)
    targets, weights = targets.astype(np.float64), weights.astype(np.float64)
    match loss:
        case "squared":
            result = solve_ridge(small.space, targets, weights, tol=tol)
        case "hinge":
            result = solve_hinge(small.space, targets, weights, tol=tol, max_iter=1000 * max_iter)
        case _:
            result = solve_newton(small.space, targets, weights, loss=loss, tol=tol, max_iter=max_iter)
    theta = small.lift(result.x)
    error = _lift_error(space, rows, theta, result.x) if small.space.has_gram else 0.0
    if error <= max(tol, _LARGEST_ERROR):
        return replace(result, x=theta)
    criterion = np.append(result.criterion[:-1], max(error, result.criterion[-1]))
    return replace(result, x=theta, criterion=criterion, status="stalled")


def _lift_error(space: DeformedSpace, rows: np.ndarray, theta: np.ndarray, beta: np.ndarray) -> float:
    """Relative residual of ``T theta = A* E beta``, which the factorisation was to solve."""
    wanted = cast(BaseSpace, space.base).representers(rows) @ beta
    return float(np.linalg.norm(space.image(theta) - wanted) / (np.linalg.norm(wanted) or 1.0))
