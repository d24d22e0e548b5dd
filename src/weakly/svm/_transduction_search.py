"""Optimizers of the transductive objective; each is a search that yields better and better scores.

====================  =============================================================  ====================
optimizer             way to good scores                                             source
====================  =============================================================  ====================
``switching``         swap labels of pairs while ``C*`` is raised                    [joachims1999]_
``multi_switch``      the same, all pairs that gain at once                          [sindhwani2006]_
``cccp``              the hill of the loss replaced by its tangent, again and again  [collobert2006]_
``gradient``          descent on a smooth hill while ``C*`` is raised                [chapelle2005]_
``newton``            Newton steps on the same                                       [chapelle2008]_
``continuation``      descent on the blurred objective as the blur narrows           [chapelle2006]_
``annealing``         descent with label probabilities as the temperature falls      [annealing2006]_
====================  =============================================================  ====================

In "cccp", "gradient", "newton" and "continuation" the balance is a mean: scores of unlabeled samples have the
mean of their signs. It holds by itself for functions that are centered on these samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from weakly.losses._transductive import Blurred, Bump, TwoSided
from weakly.solvers._result import SolverResult
from weakly.solvers._row_newton import RowFit, fit_rows
from weakly.svm._transduction_problem import (
    Callback,
    Found,
    Landscape,
    Search,
    Transduction,
    TransductionProblem,
    finish,
)

COST_FACTORS = 2.0 ** np.arange(-10, 1)  # by which C* is raised
_WIDTHS = np.geomspace(5.0, 0.05, 10)  # of the blur, in units of the margin
TEMPERATURES = 10.0 / 1.5 ** np.arange(30)  # in units of C*
_LEAST_ENTROPY = 1e-3  # of a sample on average, at which labels are as good as certain
LOOSE = 1e-2  # relative gradient norm on the way
_SETTLED = 0.1  # change of scores, in margins, at which tangents are as good as the same
_MOST_SWITCHES = 1000  # rounds at one cost
_MOST_TANGENTS = 100  # at one cost
_MOST_DESCENT_STEPS = 500


def solve_transduction(
    problem: TransductionProblem,
    optimizer: str = "annealing",
    *,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Find signs of the unlabeled samples, and the SVM for them.

    ``optimizer`` is one of the table above; "annealing" and "multi_switch" for samples in blocks. ``tol`` is
    the largest norm of the gradient of the SVM, relative to that of its function. ``callback(n)`` is called
    after stage ``n`` of the search, and with 0 before it; True stops it.

    ``detail.labels`` has the signs of all samples in memory, ``objective`` is ``J`` for the labels found and
    for the better ones that their SVM led to.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_sets import SignSet
    >>> from weakly.svm._transduction_problem import Ground, Transduction
    >>> from weakly.svm._transduction_search import solve_transduction
    >>> from weakly.spaces import FeatureSpace
    >>> ground = Ground(FeatureSpace(np.array([[-2.0], [2.0], [-1.5], [1.5]])), np.array([2, 3]))
    >>> signs = SignSet(np.array([0, 1]), np.array([-1.0, 1.0]), n_rows=4, least=1, most=1)
    >>> result = solve_transduction(Transduction(ground, signs, np.ones(4), share=0.5))
    >>> result.detail.labels[0].tolist(), result.status
    ([-1.0, 1.0, -1.0, 1.0], 'converged')
    """
    # A sample that is alone has the share as its score where these are a mean: no search for it.
    search = SEARCHES[optimizer](problem) if problem.n_unlabeled > 1 else iter(())
    return finish(problem, search, tol=tol, callback=callback)


def _switching(problem: TransductionProblem) -> Search:
    """Raise ``C*``, and at each cost swap labels while that lowers ``J``: all pairs that gain by it."""
    return _switch(problem, lambda labels, best, machine: best)


def _pair_switching(problem: Transduction) -> Search:
    """The same, one pair at a time: the one that gains most."""
    return _switch(problem, lambda labels, best, machine: _swap(labels, best, machine.scores))


def _switch(problem: Any, swap: Callable[[Any, Any, RowFit], Any]) -> Search:
    machine = problem.supervised(LOOSE)
    labels = problem.best_labels(machine.values, machine.offset)
    for factor in COST_FACTORS:
        for _ in range(_MOST_SWITCHES):
            machine = problem.machine_of(labels, machine, LOOSE, factor)
            yield Found.of(machine)
            better = swap(labels, problem.best_labels(machine.values, machine.offset), machine)
            if not problem.differ(better, labels):
                break
            labels = better


def _swap(labels: np.ndarray, best: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The best labels, or the first pair on the way there."""
    rising, falling = np.flatnonzero(best > labels), np.flatnonzero(best < labels)
    if min(len(rising), len(falling)) <= 1:
        return best
    swapped = labels.copy()
    swapped[rising[scores[rising].argmax()]] = 1.0
    swapped[falling[scores[falling].argmin()]] = -1.0
    return swapped


def _cccp(problem: Transduction) -> Search:
    """``min(V(t), V(-t)) = V(t) + V(-t) - (1 + |t|)^2 / 2``, with tangents for the concave part."""
    space, offset, known = problem.ground.centered, problem.mean_score, problem.labeled_loss
    machine = fit_rows(space, known, offset=offset, tol=LOOSE)
    for factor in COST_FACTORS:
        costs = factor * problem.unlabeled_costs
        for _ in range(_MOST_TANGENTS):
            tilt = -costs * np.sign(machine.scores) * (1 + np.abs(machine.scores))
            loss = TwoSided(known.positive + costs, known.negative + costs, tilt)
            previous = machine
            machine = fit_rows(space, loss, start=machine, offset=offset, tol=LOOSE, max_iter=1)
            if np.abs(machine.scores - previous.scores).max() <= _SETTLED:
                break
        yield Found(machine.values, machine.offset)


def _newton(problem: Transduction) -> Search:
    machine = None
    for factor in COST_FACTORS:
        loss = Bump(problem.labeled_loss, factor * problem.unlabeled_costs)
        offset = problem.mean_score
        machine = fit_rows(problem.ground.centered, loss, start=machine, offset=offset, tol=LOOSE)
        yield Found(machine.values, machine.offset)


def _gradient(problem: Transduction) -> Search:
    descent = _Descent(problem, offset=problem.mean_score)
    for factor in COST_FACTORS:
        yield descent.to(problem.smooth(Bump(problem.labeled_loss, factor * problem.unlabeled_costs)))


def _continuation(problem: Transduction) -> Search:
    """The errors of scores are those of a function with a random error: they grow with the norms of rows."""
    descent = _Descent(problem, offset=problem.mean_score)
    norms = np.sqrt(problem.ground.coordinates.squared_norms())
    norms = np.maximum(norms / (norms.mean() or 1.0), LOOSE)
    for width in _WIDTHS:
        loss = Blurred(problem.labeled_loss, problem.unlabeled_costs, width * norms)
        yield descent.to(problem.smooth(loss))


def _annealing(problem: TransductionProblem) -> Search:
    """By descent on the function alone, of which the probabilities are a function."""
    descent = _Descent(problem, offset=None)
    for temperature in TEMPERATURES:
        landscape = problem.annealed(temperature)
        found = descent.to(landscape)
        yield found
        if landscape.mean_entropy(found) <= _LEAST_ENTROPY:
            break  # samples that tie where the balance divides them would never be certain


class _Descent:
    """Quasi-Newton descent (L-BFGS) from one loss to the next, with an offset that is given or free."""

    def __init__(self, problem: TransductionProblem, offset: float | None) -> None:
        self.offset, self.n_params = offset, problem.n_coordinates
        self.point = np.zeros(self.n_params + (offset is None))
        self.unit = problem.total_cost / 2 or 1.0  # of the objective: what it is at 0

    def _split(self, point: np.ndarray) -> tuple[np.ndarray, float]:
        return point[: self.n_params], float(point[-1]) if self.offset is None else self.offset

    def to(self, landscape: Landscape) -> Found:
        """Go down to a minimum of half the squared norm and the loss."""
        criterion = np.inf

        def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal criterion
            theta, offset = self._split(point)
            value, pull, slope = landscape.sums(theta, offset)
            gradient = np.append(theta + pull, slope)[: len(point)]
            size = max(np.linalg.norm(theta), np.linalg.norm(pull))
            criterion = float(np.linalg.norm(gradient) / size) if size > 0 else 0.0
            return (float(theta @ theta) / 2 + value) / self.unit, gradient / self.unit

        def stop(point: np.ndarray) -> None:
            if criterion <= LOOSE:
                raise StopIteration

        # Its own tests are in units of the objective at the start, which may be far above that at the end.
        options = {"maxiter": _MOST_DESCENT_STEPS, "gtol": 0.0, "ftol": 1e-12, "maxcor": 20}
        end = minimize(objective, self.point, jac=True, method="L-BFGS-B", options=options, callback=stop)
        self.point = end.x
        theta, offset = self._split(self.point)
        return Found(landscape.values(theta), offset)


SEARCHES: dict[str, Callable[[Any], Search]] = {
    "switching": _pair_switching,
    "multi_switch": _switching,
    "cccp": _cccp,
    "gradient": _gradient,
    "newton": _newton,
    "continuation": _continuation,
    "annealing": _annealing,
}
