"""Direct solvers on the labelled rows: ridge, and Newton for the squared hinge.

Both minimise ``sum_i w_i loss(y_i, f_i) + ||f||^2 / 2`` over a small space, one column of targets per
class, by Cholesky factorisations of the normal equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weakly.losses import LOSSES
from weakly.solvers._result import SolverResult
from weakly.spaces import BaseSpace


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Detail of solvers that know what the model without a sample says of it.

    Parameters
    ----------
    held_out : ndarray of shape (n_labeled, n_columns)
        Score of each labeled sample by the model without that sample.
    """

    held_out: np.ndarray


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
    start = _assess(space, targets, weights, np.zeros_like(theta), np.zeros_like(scores), "squared")
    end = _assess(space, targets, weights, theta, scores, "squared")
    return SolverResult(
        x=theta,
        objective=np.array([start[0], end[0]]),
        criterion=np.array([start[1], end[1]]),
        n_iter=1,
        status="converged" if end[1] <= tol else "stalled",
        detail=HeldOutScores(_leave_one_out(targets, scores, normal.leverage()[:, None])),
    )


def solve_newton(
    space: BaseSpace, targets: np.ndarray, weights: np.ndarray, *, tol: float = 1e-6, max_iter: int = 100
) -> SolverResult:
    """Minimise ``sum_i w_i max(1 - y_i f_i, 0)^2 / 2 + ||f||^2 / 2`` by Newton's method, column by column.

    On the rows inside the margin the loss is a parabola, so a Newton step is a ridge problem on them; once
    the set of such rows repeats, the step is exact and the method ends.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        Functions over the labelled rows.
    targets : ndarray of shape (n_rows, n_columns)
        Signs ``y``, +1 or -1.
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the rows, at least 0.
    tol : float, default=1e-6
        Largest relative norm of the gradient at the solution.
    max_iter : int, default=100
        Most Newton steps per column.

    Returns
    -------
    SolverResult
        Objectives are summed over columns, the criterion is the largest. ``detail.held_out`` is exact
        where leaving a row out does not move another across the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_newton
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_newton(KernelSpace(np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist(), result.status
    ([0.5, -0.5], 'converged')
    """
    columns = [_newton_column(space, y[:, None], weights, tol, max_iter) for y in targets.T]
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
    space: BaseSpace, y: np.ndarray, weights: np.ndarray, tol: float, max_iter: int
) -> SolverResult:
    theta = np.zeros((space.n_params, 1), dtype=y.dtype)
    scores = np.zeros_like(y)
    history: list[tuple[float, float]] = []
    share, solved_weights = 0.0, np.zeros(0)
    for step in range(max_iter + 1):
        objective, criterion, active_weights = _assess(space, y, weights, theta, scores, "squared_hinge")
        history.append((objective, criterion))
        # A full step whose parabola is still the loss at its end is exact: only rounding is left.
        is_exact = share == 1 and np.array_equal(active_weights, solved_weights)
        is_stalled = step > 0 and history[-2][0] - objective <= _rounding(objective, scores)
        if criterion <= tol or is_exact or is_stalled or step == max_iter:
            break
        solved_weights = active_weights
        newton_point = space.normal_equations(active_weights).solve(y)
        share = _search_line(space, y, weights, (theta, scores), newton_point, objective, tol)
        theta = theta + share * (newton_point - theta)
        scores = space.scores(theta)
    status = "converged" if criterion <= tol else "stalled" if is_exact or is_stalled else "max_iter"
    leverage = space.normal_equations(active_weights).leverage()[:, None]
    objectives, criteria = np.array(history).T
    held_out = np.where(active_weights[:, None] > 0, _leave_one_out(y, scores, leverage), scores)
    detail = HeldOutScores(held_out)
    return SolverResult(theta, objectives, criteria, len(history) - 1, status, detail=detail)


def _search_line(
    space: BaseSpace,
    y: np.ndarray,
    weights: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    target: np.ndarray,
    objective: float,
    tol: float,
) -> float:
    """Share of the step towards ``target`` at which the objective does not rise; almost always all of it."""
    theta, scores = start
    step, score_step = target - theta, space.scores(target) - scores
    loss = LOSSES["squared_hinge"]
    # Contrary labels on equal rows cancel in the scores: the objective is then flat but for rounding, which
    # grows with the kernel, and the gradient alone can tell that the full step solves the problem.
    if _assess(space, y, weights, target, scores + score_step, "squared_hinge")[1] <= tol:
        return 1.0
    for share in 0.5 ** np.arange(30):
        point, values = theta + share * step, scores + share * score_step
        value = weights @ loss.value(y, values)[:, 0] + space.inner(point, point, values)[0] / 2
        if value <= objective + _rounding(objective, scores):
            return float(share)
    return 0.0


def _assess(
    space: BaseSpace,
    y: np.ndarray,
    weights: np.ndarray,
    theta: np.ndarray,
    scores: np.ndarray,
    loss_name: str,
) -> tuple[float, float, np.ndarray]:
    """Objective, relative norm of its gradient, and the weights of the active rows (of the first column)."""
    loss = LOSSES[loss_name]
    assert loss.active is not None
    active_weights = weights[:, None] * loss.active(y, scores)
    pull = space.adjoint(active_weights * (y - scores))
    objective = (weights @ loss.value(y, scores)).sum() + space.inner(theta, theta, scores).sum() / 2
    scale = max(np.linalg.norm(theta), np.linalg.norm(pull)) or 1.0  # the parts cancel at the optimum
    return float(objective), float(np.linalg.norm(theta - pull) / scale), active_weights[:, 0]


def _rounding(objective: float, scores: np.ndarray) -> float:
    """How much two evaluations of the objective may differ for no reason."""
    return 100 * float(np.finfo(scores.dtype).eps) * objective


def _leave_one_out(targets: np.ndarray, scores: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    """``y - (y - f) / (1 - h)``: what the model without a row says of it."""
    return targets - (targets - scores) / np.maximum(1 - leverage, np.finfo(scores.dtype).eps)


def _padded(history: np.ndarray, n_iter: int) -> np.ndarray:
    return np.pad(history, (0, n_iter + 1 - len(history)), mode="edge")
