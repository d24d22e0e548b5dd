"""The step on the side of the functions: near to given values on all rows, right on the labeled ones.

For columns ``e`` of values it finds ::

    min_f  sum_labeled w_i loss(y_i, f_i)  +  a/2 ||f||^2  +  r/2 ||f - e||^2

Without the loss the answer is the smoother ``G e`` of the space with penalty ``a / r``. The loss adds a pull
``c`` on the labeled rows: the answer is ``G (e + c / r)``, and ``c`` solves a problem of their number alone,
with the kernel ``G_ll / r`` and the scores ``(G e)_l`` as offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from weakly.losses import Loss, resolve_loss
from weakly.manifold._follow import follow
from weakly.rows._arrays import to_host
from weakly.solvers._hinge_dual import solve_hinge_dual
from weakly.solvers._result import SolverResult
from weakly.solvers._row_newton import fit_rows
from weakly.spaces import KernelSpace, Smoother


@dataclass(frozen=True)
class FunctionPoint:
    """A function ``f = G (e + c / r)``, its ``scores``, with the ``values`` that it was made from."""

    values: np.ndarray
    scores: np.ndarray
    intercept: np.ndarray | float = 0.0


class LabeledStep:
    """The step, with everything that no ``e`` changes prepared once.

    ``smoother`` has the penalty ``a / r``, where ``r`` is the ``coupling``. The hinge has an intercept:
    ``max(1 - y_i (f_i + b), 0)``. ``tol`` is that of the hinge, in units of the scores, and of the relative
    gradient of smooth losses: the steps around it are not exact either.
    """

    def __init__(
        self,
        smoother: Smoother,
        rows: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        *,
        loss: str | Loss,
        coupling: float,
        tol: float = 1e-4,
    ) -> None:
        self.smoother, self.rows, self.coupling, self.tol = smoother, rows, coupling, tol
        self.loss = resolve_loss(loss)
        self.targets, self.weights = targets.astype(np.float64), weights.astype(np.float64)
        self._gram = smoother.block(rows) / coupling
        self._dual: np.ndarray | None = None  # where the hinge starts: its last answer
        self._intercept: np.ndarray | float = 0.0
        if self.loss.name == "squared":
            self._cholesky = sla.cho_factor(self._gram + np.diag(1 / self.weights), check_finite=False)

    def __call__(self, values: np.ndarray) -> FunctionPoint:
        """Take the step from ``e``."""
        values, scores = self.smoother.adapt(values, self.rows, self._pull)
        return FunctionPoint(values, scores, self._intercept)

    def _pull(self, near: np.ndarray) -> np.ndarray:
        if self.loss.name == "squared":  # [tvsvm] Eqs. (18) and (102), by Woodbury's identity
            return sla.cho_solve(self._cholesky, self.targets - near, check_finite=False) / self.coupling
        if self.loss.is_smooth:
            return self._newton_pull(near) / self.coupling
        result = solve_hinge_dual(  # [tvsvm] Eqs. (90) and (130)
            self._gram, near, self.targets, self.weights, dual=self._dual, tol=self.tol
        )
        self._dual, self._intercept = result.detail.dual, result.intercept
        return result.x / self.coupling

    def _newton_pull(self, near: np.ndarray) -> np.ndarray:
        space = KernelSpace(self._gram)
        losses = [self.loss.at(y, self.weights, e) for y, e in zip(self.targets.T, near.T, strict=True)]
        return np.column_stack([fit_rows(space, loss, offset=0.0, tol=self.tol).theta for loss in losses])

    def objective(self, point: FunctionPoint, ambient: float) -> float:
        """``sum_labeled w_i loss(y_i, f_i) + a/2 ||f||^2``, summed over columns."""
        theta = self.smoother.parameters(point.values, point.scores)
        near = to_host(point.scores[self.rows]) + point.intercept
        losses = self.loss.value(self.targets, near)
        return float((self.weights @ losses).sum()) + ambient * float((theta * point.scores).sum()) / 2


@dataclass(frozen=True, slots=True)
class CutDetail:
    """Detail of methods that cut a graph and keep the values on the graph beside the function in ``x``.

    ``start_energies`` are those reached from each start, for a fit that keeps the lowest of several.
    """

    graph_side: np.ndarray
    start_energies: np.ndarray | None = None


def norm(values: np.ndarray) -> float:
    """Norm of all entries, on the host or on a device."""
    return float((values * values).sum()) ** 0.5


# A function and the values on the graph, the objective, and the criterion.
CutIterate = tuple[tuple[FunctionPoint, np.ndarray], float, float]


def follow_cut(
    smoother: Smoother,
    iterates: Iterator[CutIterate],
    tol: float,
    max_iter: int,
    callback: Callable[[], object] | None,
) -> SolverResult:
    """The result of an iteration between a function and the graph; on the host, wherever that runs."""
    watch = None if callback is None else lambda _: callback()
    (point, graph_side), history, status = follow(iterates, tol, max_iter, watch)
    objectives, criteria = np.array(history).T
    return SolverResult(
        x=to_host(smoother.parameters(point.values, point.scores)),
        objective=objectives,
        criterion=criteria,
        n_iter=len(history) - 1,
        status=status,
        intercept=point.intercept,
        detail=CutDetail(to_host(graph_side)),
    )
