"""The multi-class machine of Weston and Watkins with a cost for every row and class.

The functions of all classes minimise

    sum_p ||w_p||^2 / 2  +  sum_i sum_p u_ip sum_{q != p} max(1 - (f_ip - f_iq), 0)

([plsvm] Eq. (7), which forgets ``q != p``), each with an intercept that is part of its norm. A row that is
surely of one class has one cost; a row of uncertain class has several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from weakly.solvers._box_kernels import SEED, shuffle
from weakly.solvers._result import DualPoint, SolverResult
from weakly.solvers._row_kernels import row_arrays, row_squares
from weakly.spaces import FeatureSpace, KernelSpace
from weakly.svm._pair_kernels import coefficients_of, kernel_pass, linear_pass, pair_terms

_N_SWEEPS = 3  # over the pairs of a row before it is left
_LEAST_DIAGONAL = 1e-12  # of a kernel that is not positive, by rounding or by mistake


class _Pairs(NamedTuple):
    """Pairs of classes of each row, but for those that cost nothing: of a sure row, all without its class."""

    first: np.ndarray
    second: np.ndarray
    pointers: np.ndarray


def solve_weston_watkins(
    space: KernelSpace | FeatureSpace,
    costs: np.ndarray,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    callback: Callable[[], object] | None = None,
) -> SolverResult:
    """Find the functions of all classes by coordinate descent on the dual.

    The paper's Algorithm 1 has two variables for a pair of classes that act against each other, and stalls.
    Here a pair has one; rows come in random order, their pairs are solved on the scores of the row alone, and
    what changed is passed on once. A pass costs the product of the kernel with the coefficients of the rows
    that changed, or of the features.

    Costs have a column per class and are not negative; a row of zeros has no part in it. ``start`` is the
    ``detail.dual`` of a result for costs that are positive at the same places. ``tol`` is the largest duality
    gap relative to the objective, ``max_iter`` the most passes over all rows; the method stops where
    ``callback()``, after every pass, returns True.

    ``x`` has a column of parameters for each class and ``intercept`` an entry; both sum to 0 over the
    classes. ``criterion`` is the relative duality gap.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.svm._weston_watkins_solver import solve_weston_watkins
    >>> from weakly.spaces import FeatureSpace
    >>> space = FeatureSpace(np.array([[-2.0], [0.0], [2.0]]))
    >>> result = solve_weston_watkins(space, np.array([[9.0, 0.0], [0.5, 0.5], [0.0, 9.0]]), tol=1e-9)
    >>> result.x.round(2).tolist()
    [[-0.25, 0.25]]
    """
    costs = np.ascontiguousarray(costs, dtype=np.float64)
    _check_costs(costs, space.n_rows)
    pairs = _pairs_of(costs)
    b = np.zeros(len(pairs.first)) if start is None else _adopt(start, pairs, costs)
    state = _KernelState(space) if space.has_gram else _LinearState(space)
    state.restore(coefficients_of(pairs, b, costs.shape[1]))
    order = np.flatnonzero(np.diff(pairs.pointers))
    history = [_assess(pairs, b, costs, state.scores())]
    random, n_iter, next_check, status = SEED, 0, 1, None
    try:
        while history[-1][1] > tol and n_iter < max_iter and status is None:
            random = np.uint64(shuffle(order, random))
            state.sweep(order, pairs, b, costs)
            n_iter += 1
            if n_iter >= next_check or n_iter == max_iter:
                history.append(_assess(pairs, b, costs, state.scores()))
                next_check = n_iter + 1 + n_iter // state.checks
            if callback is not None and callback():
                status = "stopped"
    except KeyboardInterrupt:
        status = "interrupted"
    state.restore(coefficients_of(pairs, b, costs.shape[1]))  # what the passes added up is off by rounding
    history.append(_assess(pairs, b, costs, state.scores()))
    objectives, gaps = np.array(history).T
    theta, intercept = state.function()
    return SolverResult(
        x=_with_last(theta),
        objective=objectives,
        criterion=gaps,
        n_iter=n_iter,
        status=status or ("converged" if gaps[-1] <= tol else "max_iter"),
        intercept=_with_last(intercept),
        detail=DualPoint(b),
    )


def _check_costs(costs: np.ndarray, n_rows: int) -> None:
    if costs.ndim != 2 or costs.shape[0] != n_rows or costs.shape[1] < 2:
        raise ValueError(f"costs have shape {costs.shape}: use ({n_rows}, n_classes), two classes or more.")
    if not np.isfinite(costs).all() or costs.min(initial=0.0) < 0:
        raise ValueError("costs must be finite and not negative.")


def _pairs_of(costs: np.ndarray) -> _Pairs:
    """Pairs with classes in the order of the first row that counts for them, whatever their columns."""
    positive = costs > 0
    firsts = np.where(positive.any(axis=0), positive.argmax(axis=0), len(costs))
    order = np.argsort(firsts, kind="stable")
    p, q = order[np.stack(np.triu_indices(costs.shape[1], 1))]
    matters = positive[:, p] | positive[:, q]
    column = np.nonzero(matters)[1]
    pointers = np.concatenate([[0], np.cumsum(matters.sum(axis=1))])
    return _Pairs(p[column].astype(np.int32), q[column].astype(np.int32), pointers)


def _adopt(start: np.ndarray, pairs: _Pairs, costs: np.ndarray) -> np.ndarray:
    if start.shape != pairs.first.shape:
        raise ValueError(
            f"start has {len(start)} entries for {len(pairs.first)} pairs: costs must be positive at the "
            "same places as when it was found."
        )
    rows = np.repeat(np.arange(len(costs)), np.diff(pairs.pointers))
    return np.clip(start, -costs[rows, pairs.second], costs[rows, pairs.first])


def _assess(pairs: _Pairs, b: np.ndarray, costs: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The objective, and the gap to the dual relative to it."""
    loss, gain, norm = pair_terms(pairs, b, costs, scores)
    objective = loss + norm / 2
    return objective, (objective - (gain - norm / 2)) / (objective or 1.0)


def _with_last(known: np.ndarray) -> np.ndarray:
    """Add the class that is minus the sum of the others."""
    return np.concatenate([known, -known.sum(axis=-1, keepdims=True)], axis=-1)


class _KernelState:
    """Scores of all rows, a line for each class but the last."""

    checks = np.iinfo(np.int64).max  # the gap costs little beside a pass: look after each

    def __init__(self, space: KernelSpace) -> None:
        self._gram = np.ascontiguousarray(space.gram, dtype=np.float64)
        self._diagonal = np.maximum(np.diagonal(self._gram) + 1, _LEAST_DIAGONAL)

    def restore(self, beta: np.ndarray) -> None:
        self._beta = beta[:, :-1]
        self._scores = np.ascontiguousarray((self._gram @ self._beta + self._beta.sum(axis=0)).T)

    def sweep(self, order: np.ndarray, pairs: _Pairs, b: np.ndarray, costs: np.ndarray) -> None:
        kernel_pass(self._gram, self._diagonal, order, pairs, b, costs, self._scores, _N_SWEEPS)

    def scores(self) -> np.ndarray:
        return self._scores

    def function(self) -> tuple[np.ndarray, np.ndarray]:
        return self._beta, self._beta.sum(axis=0)


class _LinearState:
    """Weights of the features and intercepts, for each class but the last."""

    checks = 8  # a gap costs about half a pass: one after every eighth part of those before

    def __init__(self, space: FeatureSpace) -> None:
        self._X = sp.csr_array(space.features)
        self._diagonal = 1 + row_squares(*row_arrays(self._X))

    def restore(self, beta: np.ndarray) -> None:
        self._W = np.ascontiguousarray(self._X.T @ beta[:, :-1], dtype=np.float64)
        self._intercept = beta[:, :-1].sum(axis=0)

    def sweep(self, order: np.ndarray, pairs: _Pairs, b: np.ndarray, costs: np.ndarray) -> None:
        rows = (self._X.data, self._X.indices, self._X.indptr)
        linear_pass(rows, self._diagonal, order, pairs, b, costs, self._W, self._intercept, _N_SWEEPS)

    def scores(self) -> np.ndarray:
        return np.ascontiguousarray((self._X @ self._W + self._intercept).T)

    def function(self) -> tuple[np.ndarray, np.ndarray]:
        return self._W, self._intercept
