"""The hinge loss on the labelled rows, through LIBSVM."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from weakly.losses import LOSSES
from weakly.solvers._direct import stack_held_out
from weakly.solvers._result import SolverResult
from weakly.spaces import BaseSpace, FeatureSpace

_FOLDS = 10


def solve_hinge(
    space: BaseSpace, targets: np.ndarray, weights: np.ndarray, *, tol: float = 1e-6, max_iter: int = -1
) -> SolverResult:
    """Minimise ``sum_i w_i max(1 - y_i (f_i + b), 0) + ||f||^2 / 2`` over ``f`` and ``b``, column by column.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        Functions over the labelled rows.
    targets : ndarray of shape (n_rows, n_columns)
        Signs ``y``, +1 or -1.
    weights : ndarray of shape (n_rows,)
        Weights ``w`` of the rows, at least 0.
    tol : float, default=1e-6
        LIBSVM's tolerance on the optimality conditions.
    max_iter : int, default=-1
        Most LIBSVM iterations; -1 is no limit.

    Returns
    -------
    SolverResult
        ``criterion`` is the relative duality gap; ``held_out`` comes from at most ten refits.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_hinge
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_hinge(KernelSpace(4 * np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist()
    [0.25, -0.25]
    """
    columns = [_hinge_column(space, y, weights, tol, max_iter) for y in targets.T]
    gap = max(column.criterion[-1] for column in columns)
    return SolverResult(
        x=np.column_stack([column.x for column in columns]),
        objective=np.sum([column.objective for column in columns], axis=0),
        criterion=np.array([gap]),
        n_iter=max(column.n_iter for column in columns),
        status="converged" if all(column.converged for column in columns) else "max_iter",
        intercept=np.array([column.intercept for column in columns], dtype=space.dtype),
        held_out=stack_held_out(columns),
    )


def _hinge_column(
    space: BaseSpace, y: np.ndarray, weights: np.ndarray, tol: float, max_iter: int
) -> SolverResult:
    everything = np.arange(len(y))
    machine = _fit(space, everything, y, weights, tol, max_iter)
    dual = np.zeros(len(y))
    dual[machine.support_] = machine.dual_coef_.ravel() * (1 if machine.classes_[1] > 0 else -1)
    theta = space.adjoint(dual.astype(space.dtype)[:, None])[:, 0]
    scores, intercept = space.scores(theta), float(machine.intercept_[0])
    penalty = float(space.inner(theta, theta, scores))
    primal = float(weights @ LOSSES["hinge"].value(y, scores + intercept)) + penalty / 2
    gap = primal - (float(np.abs(dual).sum()) - penalty / 2)
    return SolverResult(
        x=theta,
        objective=np.array([primal]),
        criterion=np.array([gap / (abs(primal) or 1.0)]),
        n_iter=int(machine.n_iter_[0]),
        status="converged" if machine.fit_status_ == 0 else "max_iter",
        intercept=intercept,
        held_out=_held_out(space, y, weights, tol, max_iter),
    )


def _fit(
    space: BaseSpace, rows: np.ndarray, y: np.ndarray, weights: np.ndarray, tol: float, max_iter: int
) -> SVC:
    kernel = "linear" if isinstance(space, FeatureSpace) else "precomputed"
    machine = SVC(kernel=kernel, C=1.0, tol=tol, max_iter=max_iter, cache_size=500)
    return machine.fit(_design(space, rows, rows), y[rows], sample_weight=weights[rows])


def _design(space: BaseSpace, rows: np.ndarray, against: np.ndarray) -> np.ndarray:
    """What LIBSVM reads: features of the rows, or their kernel with the rows fitted."""
    if isinstance(space, FeatureSpace):
        return space.features[rows]
    return space.gram[np.ix_(rows, against)]  # type: ignore[attr-defined]


def _held_out(space: BaseSpace, y: np.ndarray, weights: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """Scores of rows by machines that did not see them; with one sign left a machine only says that sign."""
    rarest = int(np.unique(y, return_counts=True)[1].min())
    scores = np.empty_like(y)
    if rarest < 2:
        folds = [(np.delete(np.arange(len(y)), i), np.array([i])) for i in range(len(y))]
    else:
        folds = list(StratifiedKFold(min(_FOLDS, rarest)).split(y, y))
    for rest, fold in folds:
        if len(np.unique(y[rest])) < 2:
            scores[fold] = y[rest[0]]
        else:
            scores[fold] = _fit(space, rest, y, weights, tol, max_iter).decision_function(
                _design(space, fold, rest)
            )
    return scores
