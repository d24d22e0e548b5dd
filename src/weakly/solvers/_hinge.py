"""The hinge loss on the labelled rows, through LIBSVM."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
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
        ``criterion`` is the relative duality gap; ``held_out`` comes from at most ten refits and is 0 on rows
        of weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_hinge
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_hinge(KernelSpace(4 * np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist()
    [0.25, -0.25]
    """
    columns = [_Column(space, y, weights, tol, max_iter).solve() for y in targets.T]
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


@dataclass(frozen=True)
class _Column:
    """The problem of one column of signs."""

    space: BaseSpace
    y: np.ndarray
    weights: np.ndarray
    tol: float
    max_iter: int

    def solve(self) -> SolverResult:
        space, y, weights = self.space, self.y, self.weights
        rows = np.flatnonzero(weights)
        if len(np.unique(y[rows])) < 2:
            raise ValueError("targets must have both signs among the rows of positive weight.")
        machine = self.fit(rows)
        coefficients = machine.dual_coef_.toarray() if sp.issparse(machine.dual_coef_) else machine.dual_coef_
        dual = np.zeros((len(y), 1), dtype=space.dtype)
        dual[rows[machine.support_]] = coefficients.T
        theta = space.adjoint(dual)[:, 0]
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
            held_out=self.held_out(),
        )

    def fit(self, rows: np.ndarray) -> SVC:
        """Run LIBSVM on some rows, all of positive weight: it drops the others and counts without them."""
        kernel = "linear" if isinstance(self.space, FeatureSpace) else "precomputed"
        machine = SVC(kernel=kernel, C=1.0, tol=self.tol, max_iter=self.max_iter, cache_size=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
            return machine.fit(self.design(rows, rows), self.y[rows], sample_weight=self.weights[rows])

    def design(self, rows: np.ndarray, against: np.ndarray) -> np.ndarray:
        """What LIBSVM reads: features of the rows, or their kernel with the rows fitted."""
        if isinstance(self.space, FeatureSpace):
            return self.space.features[rows]
        return self.space.gram[np.ix_(rows, against)]  # type: ignore[attr-defined]

    def held_out(self) -> np.ndarray:
        """Scores of rows by machines that did not see them; with one sign left a machine says that sign."""
        rows = np.flatnonzero(self.weights)
        signs = self.y[rows]
        rarest = int(np.unique(signs, return_counts=True)[1].min())
        folds = StratifiedKFold(min(_FOLDS, rarest)) if rarest > 1 else KFold(min(_FOLDS, len(rows)))
        scores = np.zeros_like(self.y)
        for others, fold in folds.split(signs, signs):
            rest, fold = rows[others], rows[fold]
            if len(np.unique(self.y[rest])) < 2:
                scores[fold] = self.y[rest[0]]
            else:
                scores[fold] = self.fit(rest).decision_function(self.design(fold, rest))
        return scores
