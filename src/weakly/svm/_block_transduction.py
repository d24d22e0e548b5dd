"""Transductive machines on rows in blocks: the optimisers of ``solve_transduction`` that need sums alone.

Scores and labels are aligned values that stay where the rows are. What has to be known of all scores at once,
the level that balances probabilities and the rank that divides labels, is found by counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, expit

from weakly.losses._transductive import squared_hinge
from weakly.solvers._result import SolverResult
from weakly.solvers._row_newton import RowFit
from weakly.svm._order_statistics import kth_largest, level_of_blocks
from weakly.svm._summed_rows import SummedRows, centered, two_sided
from weakly.svm._transduction_problem import Callback
from weakly.svm._transduction_search import (
    COST_FACTORS,
    LEAST_ENTROPY,
    LOOSE,
    MOST_DESCENT_STEPS,
    MOST_SWITCHES,
    TEMPERATURES,
)

_MOST_ROUNDS = 100  # of the end game; it is over after a few


@dataclass(frozen=True, eq=False)
class BlockTransduction:
    """The problem of one class against the others, on rows in blocks.

    Parameters
    ----------
    rows : SummedRows
        The rows, centred on the unlabelled ones, and the labels that are known.
    cost : float
        Cost ``C*`` of an unlabelled row.
    share : float
        Share of positive labels among the unlabelled rows.
    least, most : int
        Bounds of their number.
    n_unlabeled : int
        Number of unlabelled rows.
    labeled_cost : float
        Sum of the costs of the labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._summed_rows import SummedRows
    >>> from weakly.svm._block_transduction import BlockTransduction
    >>> rows = SummedRows(ArrayBlocks(np.zeros((4, 1))), np.zeros(1), known=np.array([1.0, 0, 0, 0]))
    >>> problem = BlockTransduction(rows, 1.0, 1 / 3, least=1, most=1, n_unlabeled=3, labeled_cost=1.0)
    >>> problem.best_labels(np.array([9.0, 0.1, 0.3, 0.2]), offset=0.0).tolist()
    [0, -1, 1, -1]
    """

    rows: SummedRows
    cost: float
    share: float
    least: int
    most: int
    n_unlabeled: int
    labeled_cost: float

    def best_labels(self, values: Any, offset: float) -> Any:
        """The labels with the least loss, by rank of the scores: 1 and -1, and 0 where they are known."""
        blocks, known = self.rows.blocks, self.rows.known
        free = blocks.of(values).map(_free, known, width=None, dtype=np.float64)
        free = blocks.keep(free)
        n_positive = int(blocks.of(free).reduce(partial(_count_above, limit=-offset)))
        n_positive = int(np.clip(n_positive, self.least, self.most))
        limit, last = np.inf, -1
        if n_positive:
            rank = kth_largest(blocks.of(free), n_positive)
            limit, n_more = rank.value, n_positive - rank.n_above
            last = blocks.shape[0] if n_more == rank.n_equal else self._last_of_equal(free, limit, n_more)
        function = partial(_ranked, limit=limit, last=last)
        labels = blocks.of(free).map(function, blocks.numbers(), width=None, dtype=np.int8)
        return blocks.keep(labels)

    def _last_of_equal(self, free: Any, limit: float, n_more: int) -> int:
        """Of rows whose scores are equal, so many of the first: the number of the last of them."""
        blocks = self.rows.blocks
        function = partial(_number_of_equal, limit=limit)
        numbers = blocks.of(free).map(function, blocks.numbers(), width=None, dtype=np.float64)
        return -int(kth_largest(blocks.of(numbers), n_more).value)

    def differ(self, labels: Any, others: Any) -> bool:
        """Whether two labellings do anywhere."""
        return bool(self.rows.blocks.of(labels).reduce(_n_different, others))

    def supervised(self, tol: float) -> RowFit:
        """The machine of the labelled rows."""
        return self.rows.fit(self.rows.zeros(), 0.0, tol=tol)


def solve_block_transduction(
    problem: BlockTransduction,
    optimizer: str = "annealing",
    *,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Find labels of the unlabelled rows in blocks, and the machine for them.

    Parameters
    ----------
    problem : BlockTransduction
        The problem.
    optimizer : {"annealing", "multi_switch"}, default="annealing"
        The search, step for step that of ``solve_transduction``.
    tol : float, default=1e-4
        Largest norm of the gradient of the machine, relative to that of its weights.
    callback : callable, optional
        ``callback(n)`` after stage ``n`` of the search, and with 0 before it; True stops it.

    Returns
    -------
    SolverResult
        Weights and offset for rows that are not centred; ``objective`` as in ``solve_transduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._summed_rows import SummedRows
    >>> from weakly.svm._block_transduction import BlockTransduction, solve_block_transduction
    >>> blocks = ArrayBlocks(np.array([[-2.0], [2.0], [-1.5], [1.5]]), block_rows=2)
    >>> rows = SummedRows(blocks, mean=np.zeros(1), known=np.array([-1.0, 1.0, 0.0, 0.0]))
    >>> problem = BlockTransduction(rows, 1.0, 0.5, least=1, most=1, n_unlabeled=2, labeled_cost=2.0)
    >>> result = solve_block_transduction(problem)
    >>> bool(result.x[0] > 0), result.status
    (True, 'converged')
    """
    machine: RowFit | None = None
    n_iter, status = 0, "converged"
    try:
        search = _SEARCHES[optimizer](problem) if problem.n_unlabeled > 1 else iter(())
        if callback is not None and callback(0.0):
            search, status = iter(()), "stopped"
        for better in search:
            machine, n_iter = better, n_iter + 1
            if callback is not None and callback(float(n_iter)):
                status = "stopped"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    n_rounds = _MOST_ROUNDS if status == "converged" else 1
    machine, history = _settle(problem, machine or problem.supervised(tol), tol, n_rounds)
    if status == "converged" and not machine.converged:
        status = "max_iter"
    return SolverResult(
        x=machine.theta,
        objective=np.array(history),
        criterion=np.full(len(history), machine.criterion),
        n_iter=n_iter,
        status=status,
        intercept=float(machine.offset - problem.rows.mean @ machine.theta),
    )


def _settle(
    problem: BlockTransduction, machine: RowFit, tol: float, most_rounds: int
) -> tuple[RowFit, list[float]]:
    """Label and fit in turn until the labels stay: the machine, and the objective after each fit."""
    labels = problem.best_labels(machine.values, machine.offset)
    # A point of a descent is none of Newton's method: in memory, too, that begins at 0 from there.
    start = machine if machine.n_iter else None
    history: list[float] = []
    while True:
        start = machine = problem.rows.fit(labels, problem.cost, start=start, tol=tol)
        history.append(machine.objective)
        better = problem.best_labels(machine.values, machine.offset)
        if not problem.differ(better, labels) or len(history) == most_rounds:
            return machine, history
        labels = better


def _multi_switch(problem: BlockTransduction) -> Iterator[RowFit]:
    """Raise ``C*``, and at each cost swap all pairs of labels that gain by it."""
    machine = problem.supervised(LOOSE)
    labels = problem.best_labels(machine.values, machine.offset)
    for factor in COST_FACTORS:
        for _ in range(MOST_SWITCHES):
            machine = problem.rows.fit(labels, factor * problem.cost, start=machine, tol=LOOSE)
            yield machine
            better = problem.best_labels(machine.values, machine.offset)
            if not problem.differ(better, labels):
                break
            labels = better


def _annealing(problem: BlockTransduction) -> Iterator[RowFit]:
    """By descent on the weights alone, of which the probabilities are a function."""
    descent = _Descent(problem)
    for temperature in TEMPERATURES:
        yield descent.to(temperature * problem.cost)
        if descent.entropy / problem.n_unlabeled <= LEAST_ENTROPY:
            break


class _Descent:
    """Quasi-Newton descent (L-BFGS) from one temperature to the next."""

    def __init__(self, problem: BlockTransduction) -> None:
        self.problem = problem
        self.point = np.zeros(problem.rows.n_params + 1)
        self.unit = (problem.labeled_cost + problem.cost * problem.n_unlabeled) / 2 or 1.0
        self.level: float | None = None
        self.entropy = np.inf

    def to(self, temperature: float) -> RowFit:
        """Go down to a minimum of half the squared norm and the loss."""
        criterion, self.level = np.inf, None

        def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal criterion
            theta = point[:-1]
            values = self.problem.rows.values(theta)
            loss, self.entropy, pull, slope = self._sums(values, float(point[-1]), temperature)
            gradient = np.append(theta + pull, slope)
            size = max(np.linalg.norm(theta), np.linalg.norm(pull))
            criterion = float(np.linalg.norm(gradient) / size) if size > 0 else 0.0
            value = float(theta @ theta) / 2 + loss - temperature * self.entropy
            return value / self.unit, gradient / self.unit

        def stop(point: np.ndarray) -> None:
            if criterion <= LOOSE:
                raise StopIteration

        options = {"maxiter": MOST_DESCENT_STEPS, "gtol": 0.0, "ftol": 1e-12, "maxcor": 20}
        end = minimize(objective, self.point, jac=True, method="L-BFGS-B", options=options, callback=stop)
        self.point = end.x
        values = self.problem.rows.values(self.point[:-1])
        self.entropy = self._sums(values, float(self.point[-1]), temperature)[1]
        return RowFit(self.point[:-1].copy(), float(self.point[-1]), values, float(end.fun) * self.unit)

    def _sums(self, values: Any, offset: float, temperature: float) -> tuple[float, float, Any, float]:
        """Loss and entropy, and the pull and the sum of the slopes."""
        rows, cost = self.problem.rows, self.problem.cost
        factor, share = cost / temperature, self.problem.share
        gains_of = partial(_free_gains, offset=offset, factor=factor)
        self.level = level_of_blocks(rows.blocks.of(values), gains_of, share, rows.known, start=self.level)
        function = partial(
            _annealed_sums, mean=rows.mean, offset=offset, factor=factor, level=self.level, cost=cost
        )
        return rows.blocks.reduce(function, values, rows.known)


_SEARCHES: dict[str, Callable[[BlockTransduction], Iterator[RowFit]]] = {
    "annealing": _annealing,
    "multi_switch": _multi_switch,
}


def _free(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Values of unlabelled rows; those of the others are not finite."""
    return np.where(known == 0, values, -np.inf)


def _count_above(values: np.ndarray, limit: float) -> int:
    return int(np.count_nonzero(values > limit))


def _number_of_equal(values: np.ndarray, numbers: np.ndarray, limit: float) -> np.ndarray:
    """Numbers of the rows with this value, negative, so that the first are the largest."""
    return np.where(values == limit, -numbers.astype(np.float64), -np.inf)


def _ranked(values: np.ndarray, numbers: np.ndarray, limit: float, last: int) -> np.ndarray:
    positive = (values > limit) | ((values == limit) & (numbers <= last))
    return np.where(values == -np.inf, 0, np.where(positive, 1, -1)).astype(np.int8)


def _n_different(labels: np.ndarray, others: np.ndarray) -> int:
    return int(np.count_nonzero(labels != others))


def _free_gains(values: np.ndarray, known: np.ndarray, offset: float, factor: float) -> np.ndarray:
    return _gains(values[known == 0], offset, factor)


def _gains(values: np.ndarray, offset: float, factor: float) -> np.ndarray:
    """How much better the positive label is, in units of the temperature."""
    scores = values + offset
    return factor * (squared_hinge(-scores) - squared_hinge(scores))


def _annealed_sums(
    rows: Any,
    values: np.ndarray,
    known: np.ndarray,
    mean: np.ndarray,
    offset: float,
    factor: float,
    level: float,
    cost: float,
) -> tuple:
    p, is_free = expit(_gains(values, offset, factor) - level), known == 0
    loss, scores = two_sided(known, 2 * p - 1, cost), values + offset
    slope = loss.slope(scores)
    entropy = float((entr(p[is_free]) + entr(1 - p[is_free])).sum())
    return loss.value(scores), entropy, centered(rows, mean).adjoint(slope), float(slope.sum())
