"""The hinge loss with a bias, where rows of a group share one loss: that of the worst of them."""

from __future__ import annotations

import numpy as np

from weakly.multi_instance._group_kernels import pairwise_groups
from weakly.solvers._result import DualPoint, SolverResult

_ROUGH = 0.3  # violation at which rows that matter can be told from those that do not
_NEAR = 0.5  # beyond the margin


def solve_group_hinge(
    gram: np.ndarray,
    signs: np.ndarray,
    groups: np.ndarray,
    costs: np.ndarray,
    *,
    dual: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 1_000_000,
) -> SolverResult:
    """Minimize ``||f||^2 / 2 + sum_g c_g max_{i in g} max(1 - y_i (f_i + b), 0)`` over ``f`` and ``b``.

    In the dual the coefficients of a group sum to at most its cost, which is how a bag of negative instances
    enters MI-SVM ([andrews2003] section 4); groups of one make an ordinary support vector machine. Signs are
    equal within a group, groups are numbered from 0. ``dual`` is where to start: that of an earlier result
    for the same signs, groups and costs. ``tol`` is the largest violation of the optimality conditions, in
    units of the scores; ``max_iter`` counts pairs moved.

    ``x`` are signed coefficients: scores are ``gram @ x + intercept``. ``criterion`` is the relative duality
    gap.
    """
    K = np.ascontiguousarray(gram, dtype=np.float64)
    a = np.zeros(len(signs)) if dual is None else dual.copy()
    working = np.arange(len(signs))
    bias, violation, n_iter = _descend(K, signs, groups, costs, a, working, max(tol, _ROUGH), max_iter)
    # most rows are far beyond the margin, and stay there
    working = np.flatnonzero((a > 0) | (1 - signs * (_image(K, signs * a) + bias) > -_NEAR))
    while True:
        bias, violation, steps = _descend(K, signs, groups, costs, a, working, tol, max_iter - n_iter)
        n_iter += steps
        image = _image(K, signs * a)
        losses, slacks = 1 - signs * (image + bias), np.zeros(len(costs))
        np.maximum.at(slacks, groups[working], losses[working])
        forgotten = np.setdiff1d(np.flatnonzero(losses > slacks[groups] + tol), working)
        if not len(forgotten) or n_iter >= max_iter:
            break
        working = np.union1d(working, forgotten)
    x = signs * a
    np.maximum.at(slacks, groups, losses)
    penalty = float(x @ image)
    primal = penalty / 2 + float(costs @ slacks)
    gap = primal - (float(a.sum()) - penalty / 2)
    return SolverResult(
        x=x,
        objective=np.array([primal]),
        criterion=np.array([gap / max(abs(primal), np.finfo(float).tiny)]),
        n_iter=n_iter,
        status="converged" if violation <= tol else "max_iter",
        intercept=bias,
        detail=DualPoint(a),
    )


def _image(gram: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values of a function with few coefficients."""
    support = np.flatnonzero(x)
    return x[support] @ gram[support]


def _descend(
    gram: np.ndarray,
    signs: np.ndarray,
    groups: np.ndarray,
    costs: np.ndarray,
    a: np.ndarray,
    rows: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[float, float, int]:
    """Move the coefficients of some rows; the others are 0. Returns bias, violation and steps."""
    known, group = np.unique(groups[rows], return_inverse=True)
    part = gram if len(rows) == len(a) else gram[np.ix_(rows, rows)]
    y, coefficients = signs[rows], a[rows]
    residuals = y - part @ (y * coefficients)
    found = pairwise_groups(part, y, group, costs[known], coefficients, residuals, tol, max_iter)
    a[rows] = coefficients
    return float(found[0]), float(found[1]), int(found[2])
