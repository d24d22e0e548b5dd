"""Laplacian problems solved directly: on the labelled rows of a factored space."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from weakly.losses import Loss
from weakly.solvers._direct import solve_newton, solve_ridge
from weakly.solvers._hinge import solve_hinge
from weakly.solvers._result import SolverResult
from weakly.spaces import BaseSpace, DeformedSpace, restrict

_LARGEST_ERROR = 1e-3  # of the factorisation; beyond it the scores cannot be trusted


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
