"""The hinge loss on the labeled samples, through LIBSVM and, where that is too coarse, beyond it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from weakly.rows._arrays import dense, dense_bytes, fits
from weakly.solvers._hinge_dual import solve_hinge_dual
from weakly.solvers._hinge_prox import certify
from weakly.solvers._result import HeldOutScores, SolverResult
from weakly.spaces import BaseSpace

_FOLDS = 10
_MOST_ITERATIONS = np.iinfo(np.int32).max  # that LIBSVM can count


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
        Largest relative duality gap at the solution. LIBSVM's tolerance on the optimality conditions is the
        same number.
    max_iter : int, default=-1
        Most LIBSVM iterations, and most pairs moved after it in each column; -1 is no limit.

    Returns
    -------
    SolverResult
        ``criterion`` is the largest relative duality gap; ``detail.held_out`` comes from at most ten
        refits by LIBSVM alone and is 0 on rows of weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import solve_hinge
    >>> from weakly.spaces import KernelSpace
    >>> result = solve_hinge(KernelSpace(4 * np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> result.x.ravel().round(6).tolist()
    [0.25, -0.25]
    """
    limit = min(max_iter, _MOST_ITERATIONS)
    columns = [_Column(space, y, weights, tol, limit) for y in targets.T]
    found = _Found(
        *(np.stack(part, axis=-1) for part in zip(*(column.solve() for column in columns), strict=True))
    )
    theta, objective, gaps = _certified(space, targets, weights, found)
    if gaps.max() > tol and fits(dense_bytes(len(targets), len(targets))):
        found = _refined(space, targets, weights, found, tol, limit if limit >= 0 else _MOST_ITERATIONS)
        theta, objective, gaps = _certified(space, targets, weights, found)
    n_iter = int(found.n_iter.max())
    return SolverResult(
        x=theta,
        objective=np.array([objective.sum()]),
        criterion=np.array([gaps.max()]),
        n_iter=n_iter,
        status="converged" if gaps.max() <= tol else "max_iter" if n_iter >= limit >= 0 else "stalled",
        intercept=found.intercept.astype(space.dtype),
        detail=HeldOutScores(np.column_stack([column.held_out() for column in columns])),
    )


class _Found(NamedTuple):
    """Signed dual coefficients of the rows, intercept and iterations, of each column."""

    dual: np.ndarray
    intercept: np.ndarray
    n_iter: np.ndarray


def _certified(
    space: BaseSpace, targets: np.ndarray, weights: np.ndarray, found: _Found
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, objective and relative duality gap of each column."""
    theta = space.adjoint(found.dual)
    images = space.scores(theta)
    zero = np.zeros_like(images)
    return theta, *certify(zero, targets, weights[:, None], found.intercept, found.dual, images)


def _refined(
    space: BaseSpace, targets: np.ndarray, weights: np.ndarray, start: _Found, tol: float, max_iter: int
) -> _Found:
    """Go on from LIBSVM's point until the gap is within the tolerance, in double precision.

    LIBSVM holds kernels in single precision: where they are large and nearly constant, what tells samples
    apart is lost. Its tolerance is one of scores: relative to a small objective the gap may be far larger.
    """
    rows = np.flatnonzero(weights)
    gram, y, w = space.products(rows), targets[rows], weights[rows]
    dual, n_iter, violation = start.dual[rows] * y, 0, tol
    while True:
        result = solve_hinge_dual(
            gram, np.zeros_like(y), y, w, dual=dual, tol=violation, max_iter=max_iter - n_iter
        )
        dual, n_iter, gap = result.detail.dual, n_iter + result.n_iter, result.criterion[-1]
        rounding = np.finfo(np.float64).eps * float((np.abs(gram) @ np.abs(result.x)).max())
        if gap <= tol or n_iter >= max_iter or violation <= rounding:
            break
        violation *= tol / gap / 2
    signed = np.zeros_like(start.dual)
    signed[rows] = result.x
    return _Found(signed, np.asarray(result.intercept), start.n_iter + n_iter)


@dataclass(frozen=True)
class _Column:
    """The problem of one column of signs."""

    space: BaseSpace
    y: np.ndarray
    weights: np.ndarray
    tol: float
    max_iter: int

    def solve(self) -> _Found:
        """LIBSVM's answer."""
        rows = np.flatnonzero(self.weights)
        if len(np.unique(self.y[rows])) < 2:
            raise ValueError("targets must have both signs among the rows of positive weight.")
        machine = self.fit(rows)
        coefficients = dense(machine.dual_coef_)
        dual = np.zeros(len(self.y), dtype=self.space.dtype)
        dual[rows[machine.support_]] = coefficients[0]
        return _Found(dual, machine.intercept_[0], machine.n_iter_[0])

    def fit(self, rows: np.ndarray) -> SVC:
        """Run LIBSVM on some rows, all of positive weight: it drops the others and counts without them."""
        kernel = "precomputed" if self.space.has_gram else "linear"
        # The seed changes nothing here, but without one NumPy's global generator is asked for it.
        machine = SVC(
            kernel=kernel, C=1.0, tol=self.tol, max_iter=self.max_iter, cache_size=500, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
            return machine.fit(self.design(rows, rows), self.y[rows], sample_weight=self.weights[rows])

    def design(self, rows: np.ndarray, against: np.ndarray) -> np.ndarray:
        """What LIBSVM reads: features of the rows, or their kernel with the rows fitted."""
        if self.space.has_gram:
            return self.space.gram[np.ix_(rows, against)]  # type: ignore[attr-defined]
        return self.space.features[rows]  # type: ignore[attr-defined]

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
