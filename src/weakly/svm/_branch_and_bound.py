"""The global minimum of the transductive objective, by branch and bound [chapelle2007]_.

A node of the tree gives signs to some unlabelled rows. The machine of these and the labelled rows alone is a
lower bound for all labelings that agree with it, since the other rows only add losses. Compared with the
paper, four things make the tree smaller or the nodes cheaper.

* Of every open row and either sign the gain is known, at least in part: by how much the bound rises when the
  support stays as it is. A sign that would exceed the best labeling is ruled out without a node of its own.
* The balance acts through this: when one sign is used up, all open rows get the other; and where more rows
  must have a sign than may, the node is done.
* The branches differ in the row with the largest product of its two gains. The row whose wrong sign is
  dearest has a right sign that costs nothing, and takes two to three times as many nodes.
* Every node proposes a labeling, that of its scores.

All bounds are dual objectives of feasible points, computed from the kernel: they hold to rounding, however
accurate the machines are.
"""

from __future__ import annotations

from time import monotonic

import numpy as np

from weakly.solvers._result import SolverResult
from weakly.svm._branch_kernels import Incumbent, Tree, explore
from weakly.svm._pivot_kernels import Rows, Table, value_of
from weakly.svm._transduction_problem import Callback, Found, Transduction, settle
from weakly.svm._transduction_search import SEARCHES

_SLACK = 1e-9  # branches that could lower the objective by no more than this part of it are not explored
_CHUNK = 256  # most nodes between two calls of the callback
_LOOK = 0.1  # seconds between two calls, if nodes take so long
_ENTRY_SECONDS = 2e-9  # of a sweep, per entry of the table: rather too long than too short
_ENDLESS = 10**18
_STARTS = "annealing", "multi_switch", "newton", "cccp"  # all quick, and in different valleys


def solve_branch_and_bound(
    problem: Transduction,
    *,
    tol: float = 1e-4,
    max_nodes: int = 100_000,
    max_seconds: float | None = None,
    callback: Callback | None = None,
) -> SolverResult:
    """Find the signs of the unlabelled rows whose machine costs least of all, for some dozen rows.

    The time depends on how well the rows are separated, and on their cost, far more than on their number: two
    hundred rows may take a second, or thirty of little cost a minute.

    ``tol`` is the largest norm of the gradient of the machine, relative to that of its function; and the gap,
    relative to the objective, at which an unfinished tree counts as explored. After ``max_seconds`` no
    further nodes are visited, and the one on hand is cut short; the machine of the best labeling so far still
    has to be fitted, which takes as long as without a search. ``callback(n)`` is called when ``n`` nodes have
    been visited, before the first and then at most 256 apart; True stops the search.

    ``detail.labels`` has the signs of all samples, ``objective`` is ``J`` of the best labeling at each
    improvement and of the SVM in ``x`` at the end. ``criterion`` is how much lower it may be elsewhere, as
    part of it: 0 when the tree is explored, else the distance to the lowest bound of an open branch. Branches
    that promise less than 1e-9 of the objective are not explored.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_sets import SignSet
    >>> from weakly.svm._branch_and_bound import solve_branch_and_bound
    >>> from weakly.svm._transduction_problem import Ground, Transduction
    >>> from weakly.spaces import FeatureSpace
    >>> ground = Ground(FeatureSpace(np.array([[-2.0], [2.0], [-1.5], [1.5]])), np.array([2, 3]))
    >>> signs = SignSet(np.array([0, 1]), np.array([-1.0, 1.0]), n_rows=4, least=1, most=1)
    >>> result = solve_branch_and_bound(Transduction(ground, signs, np.ones(4), share=0.5))
    >>> result.detail.labels[0].tolist(), result.status, float(result.criterion[-1])
    ([-1.0, 1.0, -1.0, 1.0], 'converged', 0.0)
    """
    deadline = np.inf if max_seconds is None else monotonic() + max_seconds
    search, status, chunk = _Search(problem, tol, deadline), "max_iter", 1
    stops = callback or (lambda n_nodes: False)
    try:
        if stops(0.0):
            return search.report("stopped")
        search.begin()
        while not search.is_explored and search.n_nodes < max_nodes and search.n_sweeps:
            began = monotonic()
            search.advance(min(chunk, max_nodes - search.n_nodes))
            chunk = min(2 * chunk, _CHUNK) if monotonic() - began < _LOOK else max(chunk // 2, 1)
            if stops(float(search.n_nodes)):
                status = "stopped"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    return search.report(status)


class _Search:
    """A tree that is explored bit by bit; an interrupt of that leaves a state that can be reported."""

    def __init__(self, problem: Transduction, tol: float, deadline: float = np.inf) -> None:
        self.problem, self.tol, self.deadline = problem, tol, deadline
        self.rows, self.tree = _rows_of(problem), _root(problem)
        n_rows = len(problem.costs)
        self.table = _blank_table(self.rows)
        self.best = Incumbent(np.zeros(n_rows), np.full(1, np.inf))
        self.n_nodes = 0
        self.history: list[tuple[float, float]] = []
        supervised = problem.supervised(tol)
        self.propose(Found.of(supervised))

    @property
    def is_explored(self) -> bool:
        return bool(self.tree.depth[0] < 0)

    @property
    def n_sweeps(self) -> int:
        """About as many sweeps of a table as there is time for."""
        seconds = max(self.deadline - monotonic(), 0.0)
        return int(min(seconds / (_ENTRY_SECONDS * self.table.entries.size), _ENDLESS))

    def begin(self) -> None:
        """Find labelings to compare with, unless there is only one or they all cost the same."""
        n_open = len(self.problem.ground.unlabeled)
        least, most = self.problem.label_set.least, self.problem.label_set.most
        if most == 0 or least == n_open or not self.problem.unlabeled_costs.any():
            return
        for name in _STARTS:
            if monotonic() >= self.deadline:
                return
            if name == "annealing" and not 0 < self.problem.share < 1:
                continue  # its probabilities have this mean
            found = None
            for stage in SEARCHES[name](self.problem):
                found = stage
                if monotonic() >= self.deadline:
                    break
            if found is not None:
                self.propose(found)

    def propose(self, found: Found) -> None:
        """Settle what was found, and keep it if it is better."""
        _, labels, objectives = settle(self.problem, found, self.tol)
        value = min(self.value_of(labels), objectives[-1])
        if value < self.best.value[0] * (1 - _SLACK):
            self.best.signs[:] = labels
            self.best.value[0] = value
            self.record()

    def advance(self, n_nodes: int) -> None:
        """Visit nodes, as many as given or until there is a better labeling."""
        before = self.best.value[0]
        self.table.left[0] = self.n_sweeps
        self.n_nodes += explore(self.rows, self.table, self.tree, self.best, _SLACK, n_nodes)
        if self.best.value[0] < before:
            self.best.value[0] = self.value_of(self.best.signs)  # the scores of the node had another machine
            self.record()
            self.propose(Found(self.best.signs.copy(), 0.0))

    def value_of(self, labels: np.ndarray) -> float:
        """What the machine of a labeling costs, or more where time is up or rounding has taken over."""
        table = _blank_table(self.rows)
        table.left[0] = self.n_sweeps
        value = float(value_of(self.rows, table, labels))
        return value if np.isfinite(value) else np.inf

    def record(self) -> None:
        value = float(self.best.value[0])
        self.history.append((value, self.gap(value)))

    def gap(self, value: float) -> float:
        """How much lower than a value the objective may be in open branches, as part of it."""
        lowest = np.inf
        for level in range(self.tree.depth[0] + 1):
            n_left = self.tree.n_left[level]
            lowest = min(lowest, self.tree.bounds[level, 2 - n_left :].min(initial=np.inf))
        return float(max(value - lowest, 0.0) / value) if value > 0 else 0.0

    def report(self, status: str) -> SolverResult:
        labels = self.best.signs
        machine = self.problem.machine_of(labels, None, self.tol)
        gap = self.gap(machine.objective)
        if gap <= self.tol:
            status = "converged" if machine.converged else "max_iter"
        values, gaps = zip(*self.history, (machine.objective, gap), strict=True)
        theta, offset, detail = self.problem.publish(machine, labels)
        return SolverResult(
            x=theta,
            objective=np.array(values),
            criterion=np.array(gaps),
            n_iter=self.n_nodes,
            status=status,
            intercept=offset,
            detail=detail,
        )


def _rows_of(problem: Transduction) -> Rows:
    space, costs = problem.ground.centered, np.asarray(problem.costs, dtype=np.float64)
    matrix = space.shifted_products()  # any center does
    ridge = np.full(len(costs), np.inf)  # rows without a cost never get a coefficient
    np.divide(1.0, costs, out=ridge, where=costs > 0)
    matrix.flat[:: len(costs) + 1] += ridge
    is_open = np.zeros(len(costs), dtype=np.bool_)
    is_open[problem.ground.unlabeled] = True
    return Rows(matrix, costs, ridge, is_open, problem.label_set.least, problem.label_set.most)


def _root(problem: Transduction) -> Tree:
    """A tree whose level 0 has the root as its only branch."""
    n_rows, n_levels = len(problem.costs), len(problem.ground.unlabeled) + 2
    tree = Tree(
        depth=np.zeros(1, dtype=np.int64),
        signs=np.zeros((n_levels, n_rows)),
        supports=np.zeros((n_levels, n_rows), dtype=np.bool_),
        rows=np.full(n_levels, -1),
        first=np.zeros(n_levels),
        n_left=np.zeros(n_levels, dtype=np.int64),
        bounds=np.zeros((n_levels, 2)),
    )
    tree.signs[0, problem.label_set.known] = problem.label_set.signs
    tree.n_left[0] = 1
    return tree


def _blank_table(rows: Rows) -> Table:
    n_rows = len(rows.costs)
    return Table(
        entries=np.empty((n_rows + 1, n_rows + 1)),
        support=np.zeros(n_rows, dtype=np.bool_),
        x=np.zeros(n_rows),
        trial=np.zeros(n_rows),
        scores=np.zeros(n_rows),
        gains=np.zeros((n_rows, 2)),
        pivots=np.empty(n_rows + 1),
        age=np.zeros(1, dtype=np.int64),
        ridge=rows.ridge,
        left=np.full(1, _ENDLESS),
    )
