"""Margins of bags by turns: fit an SVM to the instances that were chosen, then choose again by its scores.

Neither half of a turn can raise the objective, so it falls until no choice changes: a local optimum. ``tol``
is that of each SVM, in units of the scores, and ``max_iter`` the maximum number of SVMs. In the results
``x`` are coefficients of the instances, ``objective`` has an entry per SVM, and ``criterion`` is the
relative duality gap of the last. Instances of a group share one loss, that of the worst of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from weakly.multi_instance._group_kernels import pairwise_groups
from weakly.solvers._hinge_dual import balanced
from weakly.solvers._label_sets import KeyInstances
from weakly.solvers._result import DualPoint, Labeling, SolverResult

Callback = Callable[..., bool | None]

_LEAST_GAIN = 1e-9  # relative fall of the objective that counts as one
_ROUGH = 0.3  # violation at which rows that matter can be told from those that do not
_NEAR = 0.5  # beyond the margin


def solve_bag_margin(
    gram: np.ndarray,
    bag_of: np.ndarray,
    is_positive: np.ndarray,
    costs: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimize ``||f||^2 / 2 + sum_bags c_B max(1 - Y_B max_{i in B} (f_i + b), 0)`` from the means of bags.

    This is MI-SVM ([andrews2003] section 4): a positive bag is represented by the instance with the largest
    score, and of a negative bag the worst instance counts. ``detail.labels`` is the choice: 1 for
    representatives of positive bags, -1 in negative bags, else 0.
    """
    turns = _BagTurns(gram, bag_of, is_positive, costs, tol)
    first = turns.fit_means()
    scores = gram @ first.x
    if np.ptp(scores) <= tol:  # the means are one point to it, and the rest would be left to rounding
        in_positive = is_positive[bag_of]
        scores = gram @ (in_positive / in_positive.sum() - ~in_positive / (~in_positive).sum())
    return _take_turns(turns, turns.choose(scores), first, max_iter, callback)


def solve_instance_margin(
    gram: np.ndarray,
    bag_of: np.ndarray,
    is_positive: np.ndarray,
    costs: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimize ``||f||^2 / 2 + sum_i c_i max(1 - y_i (f_i + b), 0)`` over ``f``, ``b`` and labels ``y``.

    This is mi-SVM ([andrews2003] section 3): instances of negative bags are negative, and at least one of
    each positive bag is positive. It starts with all instances of positive bags positive. ``costs`` are
    those of the instances of each bag, ``detail.labels`` the signs of the instances.
    """
    turns = _InstanceTurns(gram, bag_of, is_positive, costs, tol)
    return _take_turns(turns, turns.all_alike, None, max_iter, callback)


class _BagTurns:
    """Representatives of positive bags, and all instances of negative bags with a loss per bag."""

    def __init__(
        self, gram: np.ndarray, bag_of: np.ndarray, is_positive: np.ndarray, costs: np.ndarray, tol: float
    ) -> None:
        self.gram, self.costs, self.tol = gram, costs, tol
        self.keys = KeyInstances.of_bags(bag_of, is_positive)
        self.groups = np.empty(len(self.keys.signs), dtype=np.intp)
        self.groups[self.keys.owner] = bag_of

    def fit_means(self) -> SolverResult:
        lines = abs(self.keys.lines(self.keys.means()))  # the signs stand beside, as the bias has none
        machine = self._solve(lines @ (lines @ self.gram).T, None)
        return replace(machine, x=machine.x @ lines)

    def fit(self, choice: np.ndarray, before: SolverResult | None = None) -> SolverResult:
        rows = np.empty(len(self.groups), dtype=np.intp)
        chosen = np.flatnonzero(choice)
        rows[self.keys.owner[chosen]] = chosen
        machine = self._solve(self.gram[np.ix_(rows, rows)], before)
        x = np.zeros(len(choice))
        x[rows] = machine.x
        return replace(machine, x=x)

    def _solve(self, gram: np.ndarray, before: SolverResult | None) -> SolverResult:
        dual = None if before is None else before.detail.dual
        return solve_group_hinge(gram, self.keys.signs, self.groups, self.costs, dual=dual, tol=self.tol)

    def choose(self, scores: np.ndarray) -> np.ndarray:
        return self.keys.best(np.ones(len(self.keys.signs)), scores)


class _InstanceTurns:
    """Signs of all instances."""

    def __init__(
        self, gram: np.ndarray, bag_of: np.ndarray, is_positive: np.ndarray, costs: np.ndarray, tol: float
    ) -> None:
        self.gram, self.costs, self.tol = gram, costs[bag_of], tol
        self.keys = KeyInstances.of_bags(bag_of, is_positive)
        self.all_alike = np.where(is_positive, 1.0, -1.0)[bag_of]
        self.alone = np.arange(len(bag_of))

    def fit(self, choice: np.ndarray, before: SolverResult | None = None) -> SolverResult:
        dual = None
        if before is not None:  # coefficients of instances that changed their sign start from 0
            kept = np.maximum(before.x * choice, 0) * choice
            dual = balanced(kept[:, None])[:, 0] * choice
        return solve_group_hinge(self.gram, choice, self.alone, self.costs, dual=dual, tol=self.tol)

    def choose(self, scores: np.ndarray) -> np.ndarray:
        is_key = self.keys.best(np.ones(len(self.keys.signs)), scores) > 0
        return np.where((self.all_alike > 0) & ((scores > 0) | is_key), 1.0, -1.0)


def _take_turns(
    turns: _BagTurns | _InstanceTurns,
    choice: np.ndarray,
    machine: SolverResult | None,
    max_iter: int,
    callback: Callback | None,
) -> SolverResult:
    """Fit and choose until the choice stays, or the objective does; ties could go round for ever."""
    objectives: list[float] = []
    status = "max_iter"
    try:
        while len(objectives) < max_iter:
            machine = turns.fit(choice, machine)
            fitted = choice
            objectives.append(float(machine.objective[-1]))
            better = turns.choose(turns.gram @ machine.x + machine.intercept)
            if (better == choice).all() or (len(objectives) > 1 and _stays(*objectives[-2:])):
                status = machine.status
                break
            if callback is not None and callback(len(objectives), objectives[-1]):
                status = "stopped"
                break
            choice = better
    except KeyboardInterrupt:
        if not objectives:  # there is no machine to stop with
            raise
        status = "interrupted"
    assert machine is not None
    return replace(
        machine,
        objective=np.array(objectives),
        criterion=machine.criterion[-1:],
        n_iter=len(objectives),
        status=status,
        detail=Labeling(fitted[None], machine.detail.dual),
    )


def _stays(before: float, after: float) -> bool:
    return after >= before * (1 - _LEAST_GAIN)


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
