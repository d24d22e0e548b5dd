"""Optimisers of the transductive objective; each is a search that yields better and better scores.

====================  =============================================================  ====================
optimiser             way to good scores                                             source
====================  =============================================================  ====================
``switching``         swap labels of pairs while ``C*`` is raised                    [joachims1999]_
``multi_switch``      the same, all pairs that gain at once                          [sindhwani2006]_
``cccp``              the hill of the loss replaced by its tangent, again and again  [collobert2006]_
``gradient``          descent on a smooth hill while ``C*`` is raised                [chapelle2005]_
``newton``            Newton steps on the same                                       [chapelle2008]_
``continuation``      descent on the blurred objective as the blur narrows           [chapelle2006]_
``annealing``         descent with label probabilities as the temperature falls      [annealing2006]_
====================  =============================================================  ====================

In "cccp", "gradient", "newton" and "continuation" the balance is a mean: scores of unlabelled rows have the
mean of their signs. It holds by itself for functions that are centred on these rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr

from weakly.losses import ScoreLoss
from weakly.losses._transductive import Annealed, Blurred, Bump, TwoSided
from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._result import SolverResult
from weakly.solvers._row_newton import fit_rows
from weakly.svm._transduction_problem import Callback, Found, Search, Transduction, finish

COST_FACTORS = 2.0 ** np.arange(-10, 1)  # by which C* is raised
_WIDTHS = np.geomspace(5.0, 0.05, 10)  # of the blur, in units of the margin
TEMPERATURES = 10.0 / 1.5 ** np.arange(30)  # in units of C*
LEAST_ENTROPY = 1e-3  # of a row on average, at which labels are as good as certain
LOOSE = 1e-2  # relative gradient norm on the way
_SETTLED = 0.1  # change of scores, in margins, at which tangents are as good as the same
MOST_SWITCHES = 1000  # rounds at one cost
_MOST_TANGENTS = 100  # at one cost
MOST_DESCENT_STEPS = 500


def solve_transduction(
    problem: Transduction,
    optimizer: str = "annealing",
    *,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Find signs of the unlabelled rows, and the machine for them.

    Parameters
    ----------
    problem : Transduction
        The problem.
    optimizer : str, default="annealing"
        One of the table above.
    tol : float, default=1e-4
        Largest norm of the gradient of the machine, relative to that of its function.
    callback : callable, optional
        ``callback(n)`` after stage ``n`` of the search, and with 0 before it; True stops it.

    Returns
    -------
    SolverResult
        ``labels`` has the signs of all rows, ``objective`` is ``J`` for the labels found and for the better
        ones that their machine led to.

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
    >>> result.labels[0].tolist(), result.status
    ([-1.0, 1.0, -1.0, 1.0], 'converged')
    """
    # A row that is alone has the mean of the shares as its score where these are a mean: no search for it.
    search = SEARCHES[optimizer](problem) if len(problem.ground.unlabeled) > 1 else iter(())
    return finish(problem, search, tol=tol, callback=callback)


def _switching(problem: Transduction, n_pairs: int | None = None) -> Search:
    """Raise ``C*``, and at each cost swap labels while that lowers ``J``."""
    machine = problem.supervised(LOOSE)
    labels = problem.best_labels(machine.scores)
    for factor in COST_FACTORS:
        for _ in range(MOST_SWITCHES):
            machine = problem.machine_of(labels, machine, LOOSE, factor)
            yield Found(machine.scores, machine)
            better = _swap(labels, problem.best_labels(machine.scores), machine.scores, n_pairs)
            if np.array_equal(better, labels):
                break
            labels = better


def _swap(labels: np.ndarray, best: np.ndarray, scores: np.ndarray, n_pairs: int | None) -> np.ndarray:
    """The best labels, or the pairs on the way there that gain most."""
    rising, falling = np.flatnonzero(best > labels), np.flatnonzero(best < labels)
    n_possible = min(len(rising), len(falling))
    if n_pairs is None or n_pairs >= n_possible:
        return best
    swapped = labels.copy()
    swapped[rising[np.argsort(-scores[rising], kind="stable")[:n_pairs]]] = 1.0
    swapped[falling[np.argsort(scores[falling], kind="stable")[:n_pairs]]] = -1.0
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
        yield Found(machine.scores)


def _newton(problem: Transduction) -> Search:
    machine = None
    for factor in COST_FACTORS:
        loss = Bump(problem.labeled_loss, factor * problem.unlabeled_costs)
        offset = problem.mean_score
        machine = fit_rows(problem.ground.centered, loss, start=machine, offset=offset, tol=LOOSE)
        yield Found(machine.scores)


def _gradient(problem: Transduction) -> Search:
    descent = _Descent(problem, offset=problem.mean_score)
    for factor in COST_FACTORS:
        yield descent.to(Bump(problem.labeled_loss, factor * problem.unlabeled_costs))


def _continuation(problem: Transduction) -> Search:
    """The errors of scores are those of a function with a random error: they grow with the norms of rows."""
    descent = _Descent(problem, offset=problem.mean_score)
    space = problem.ground.coordinates
    norms = space.norms() if isinstance(space, CenteredRows) else np.linalg.norm(space.features, axis=1)
    norms = np.maximum(norms / (norms.mean() or 1.0), LOOSE)
    for width in _WIDTHS:
        yield descent.to(Blurred(problem.labeled_loss, problem.unlabeled_costs, width * norms))


def _annealing(problem: Transduction) -> Search:
    """By descent on the function alone, of which the probabilities are a function."""
    descent = _Descent(problem, offset=None)
    rows = problem.ground.unlabeled
    cost = float(problem.costs[rows].mean())
    for temperature in TEMPERATURES:
        loss = Annealed(problem.labeled_loss, rows, cost, problem.share, temperature * cost)
        found = descent.to(loss)
        yield found
        p = loss.probabilities(found.scores)
        if (entr(p) + entr(1 - p)).mean() <= LEAST_ENTROPY:
            break  # rows that tie where the balance divides them would never be certain


class _Descent:
    """Quasi-Newton descent (L-BFGS) from one loss to the next, with an offset that is given or free."""

    def __init__(self, problem: Transduction, offset: float | None) -> None:
        self.space, self.offset = problem.ground.coordinates, offset
        self.n_params = self.space.n_params
        self.point = np.zeros(self.n_params + (offset is None))
        self.unit = float(problem.costs.sum()) / 2 or 1.0  # of the objective: what it is at 0

    def scores(self, point: np.ndarray) -> np.ndarray:
        lift = point[-1] if self.offset is None else self.offset
        return self.space.scores(point[: self.n_params]) + lift

    def to(self, loss: ScoreLoss) -> Found:
        """Go down to a minimum of half the squared norm and the loss."""
        criterion = np.inf

        def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal criterion
            theta, scores = point[: self.n_params], self.scores(point)
            value, slope = loss.value_slope(scores)
            pull = self.space.adjoint(slope)
            gradient = np.append(theta + pull, slope.sum())[: len(point)]
            size = max(np.linalg.norm(theta), np.linalg.norm(pull))
            criterion = float(np.linalg.norm(gradient) / size) if size > 0 else 0.0
            return (float(theta @ theta) / 2 + value) / self.unit, gradient / self.unit

        def stop(point: np.ndarray) -> None:
            if criterion <= LOOSE:
                raise StopIteration

        # Its own tests are in units of the objective at the start, which may be far above that at the end.
        options = {"maxiter": MOST_DESCENT_STEPS, "gtol": 0.0, "ftol": 1e-12, "maxcor": 20}
        end = minimize(objective, self.point, jac=True, method="L-BFGS-B", options=options, callback=stop)
        self.point = end.x
        return Found(self.scores(self.point))


SEARCHES: dict[str, Callable[[Transduction], Search]] = {
    "switching": lambda problem: _switching(problem, n_pairs=1),
    "multi_switch": _switching,
    "cccp": _cccp,
    "gradient": _gradient,
    "newton": _newton,
    "continuation": _continuation,
    "annealing": _annealing,
}
