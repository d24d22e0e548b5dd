"""The problem of a transductive support vector machine, and what all its optimizers end with.

Over functions ``f``, offsets ``b`` and signs ``y`` of the unlabeled samples, of which a given number is
positive, it is to minimize ::

    J  =  ||f||^2 / 2  +  sum_labeled C V(y_i (f_i + b))  +  sum_unlabeled C* V(y_i (f_i + b))

with the squared hinge ``V(t) = max(1 - t, 0)^2 / 2``. For given signs it is an ordinary SVM; for a given
function the best signs follow the order of the scores. Taken in turn these two steps only ever lower ``J``,
and end where the SVM gives each sample the sign that it was fitted to. An optimizer is a way to find good
scores to begin this end game with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.special import entr

from weakly.losses import ScoreLoss
from weakly.losses._transductive import Annealed, TwoSided
from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._label_sets import SignSet
from weakly.solvers._result import Labeling, SolverResult
from weakly.solvers._row_newton import RowFit, RowSpace, fit_rows
from weakly.spaces import FeatureSpace, KernelSpace

_MOST_ROUNDS = 100  # of the end game; it is over after a few

Callback = Callable[[float], bool | None]


@dataclass(frozen=True, eq=False)
class Found:
    """Values and an offset that an optimizer has reached, and the SVM behind them if they come from one."""

    values: Any
    offset: float
    machine: RowFit | None = None

    @classmethod
    def of(cls, machine: RowFit) -> Found:
        """The scores of an SVM from which the next one may start."""
        return cls(machine.values, machine.offset, machine)


Search = Iterator[Found]  # what optimizers are: it goes on until they have nothing better


class Landscape(Protocol):
    """A smooth loss of the values that parameters give: what a descent may ask.

    ``sums`` are its value, its gradient by the parameters and its derivative by the offset.
    """

    def values(self, theta: np.ndarray) -> Any: ...
    def sums(self, theta: np.ndarray, offset: float) -> tuple[float, np.ndarray, float]: ...


class AnnealedLandscape(Landscape, Protocol):
    """One in which unlabeled samples have both labels, with an entropy that says how sure these are."""

    def mean_entropy(self, found: Found) -> float: ...


class TransductionProblem(Protocol):
    """What optimizers may ask of the problem of one class against the others, wherever its samples are."""

    @property
    def n_unlabeled(self) -> int: ...
    @property
    def n_coordinates(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def total_cost(self) -> float: ...
    def best_labels(self, values: Any, offset: float = 0.0) -> Any: ...
    def differ(self, labels: Any, others: Any) -> bool: ...
    def machine_of(self, labels: Any, start: RowFit | None, tol: float, factor: float = 1.0) -> RowFit: ...
    def supervised(self, tol: float) -> RowFit: ...
    def annealed(self, temperature: float) -> AnnealedLandscape: ...
    def publish(self, machine: RowFit, labels: Any) -> tuple[np.ndarray, float, Labeling | None]: ...


@dataclass(frozen=True, eq=False)
class Ground:
    """Samples that are to be labeled, and the spaces over them: the same for all classes.

    ``space`` has the functions over all samples, in float64 where it is dense.
    """

    space: KernelSpace | FeatureSpace
    unlabeled: np.ndarray

    @cached_property
    def _means(self) -> np.ndarray:
        """Mean feature of the unlabeled samples, or their mean kernel with each sample."""
        matrix = self.space.gram if self.space.has_gram else self.space.features
        return matrix[self._anchors].mean(axis=0)

    @cached_property
    def _anchors(self) -> np.ndarray:
        return self.unlabeled if len(self.unlabeled) else np.arange(self.space.n_rows)

    @cached_property
    def centered(self) -> RowSpace:
        """The functions whose mean over the unlabeled samples is 0: with an offset they have any mean."""
        if self.space.has_gram:
            gram = self.space.gram - self._means
            gram -= self._means[:, None] - self._means[self._anchors].mean()
            return KernelSpace(gram)
        if sp.issparse(self.space.features):
            return CenteredRows(self.space.features, self._means.astype(np.float64))
        features = self.space.features - self._means
        return FeatureSpace(features if self._frame is None else features @ self._frame)

    @cached_property
    def _frame(self) -> np.ndarray | None:
        """Orthonormal basis of the centered samples, where these are fewer than dense features.

        The function of every SVM is a sum of samples: other directions cost work and change nothing.
        """
        space = self.space
        if space.has_gram or sp.issparse(space.features) or space.n_params <= space.n_rows:
            return None
        return sla.qr((space.features - self._means).T, mode="economic", check_finite=False)[0]

    @cached_property
    def coordinates(self) -> FeatureSpace | CenteredRows:
        """The same as features, of which gradients may be taken one by one."""
        if not self.centered.has_gram:
            return self.centered
        values, vectors = np.linalg.eigh(self.centered.gram)
        kept = values > 1e-10 * values[-1]
        return FeatureSpace(vectors[:, kept] * np.sqrt(values[kept]))

    def uncentered(self, theta: np.ndarray, offset: float) -> tuple[np.ndarray, float]:
        """The same function and offset by parameters of the space as it was given."""
        if not self.space.has_gram:
            theta = theta if self._frame is None else self._frame @ theta
            return theta, float(offset - self._means @ theta)
        raw = theta.copy()
        raw[self._anchors] -= theta.sum() / len(self._anchors)
        return raw, float(offset - self._means @ raw)


@dataclass(frozen=True, eq=False)
class Transduction:
    """The problem of one class against the others.

    ``label_set`` has the known signs, and the bounds of the number of positive ones among the others; they
    are the rounding of ``share``, that of positive signs. ``costs`` are ``C`` of each labeled sample, and
    ``C*``, the same for all unlabeled ones.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_sets import SignSet
    >>> from weakly.spaces import FeatureSpace
    >>> from weakly.svm._transduction_problem import Ground, Transduction
    >>> ground = Ground(FeatureSpace(np.array([[-2.0], [2.0], [-1.5], [1.5]])), np.array([2, 3]))
    >>> signs = SignSet(np.array([0, 1]), np.array([-1.0, 1.0]), n_rows=4, least=1, most=1)
    >>> Transduction(ground, signs, np.ones(4), share=0.5).best_labels(np.array([0, 0, 0.1, 0.2])).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    ground: Ground
    label_set: SignSet
    costs: np.ndarray
    share: float

    @cached_property
    def unlabeled_costs(self) -> np.ndarray:
        """``C*`` on unlabeled samples, 0 on the others."""
        costs = np.zeros_like(self.costs)
        costs[self.ground.unlabeled] = self.costs[self.ground.unlabeled]
        return costs

    @cached_property
    def labeled_loss(self) -> TwoSided:
        """The loss of the labeled samples."""
        signs = np.zeros_like(self.costs)
        signs[self.label_set.known] = self.label_set.signs
        return TwoSided(self.costs * (signs > 0), self.costs * (signs < 0))

    @property
    def mean_score(self) -> float:
        """Mean of scores that are nothing but signs with the right share."""
        return 2 * self.share - 1

    def loss_of(self, labels: np.ndarray, factor: float = 1.0) -> TwoSided:
        """The loss when all samples have a label; ``factor`` is one of ``C*``."""
        costs, known = factor * self.unlabeled_costs, self.labeled_loss
        return TwoSided(known.positive + costs * (labels > 0), known.negative + costs * (labels < 0))

    @property
    def n_unlabeled(self) -> int:
        return len(self.ground.unlabeled)

    @property
    def n_coordinates(self) -> int:
        return self.ground.coordinates.n_params

    @property
    def cost(self) -> float:
        """``C*``."""
        return float(self.costs[self.ground.unlabeled].mean())

    @property
    def total_cost(self) -> float:
        return float(self.costs.sum())

    def best_labels(self, values: np.ndarray, offset: float = 0.0) -> np.ndarray:
        """The labels with the least loss: as the difference of both losses grows with the score, by rank."""
        return self.label_set.best(np.ones(len(values)), values + offset)

    def differ(self, labels: np.ndarray, others: np.ndarray) -> bool:
        """Whether two labelings do anywhere."""
        return not np.array_equal(labels, others)

    def machine_of(self, labels: np.ndarray, start: RowFit | None, tol: float, factor: float = 1.0) -> RowFit:
        """The SVM for given labels, in the centered space."""
        return fit_rows(self.ground.centered, self.loss_of(labels, factor), start=start, tol=tol)

    def supervised(self, tol: float) -> RowFit:
        """The SVM of the labeled samples, in the centered space."""
        return fit_rows(self.ground.centered, self.labeled_loss, tol=tol)

    def smooth(self, loss: ScoreLoss) -> LossLandscape:
        """A loss of the scores by coordinates."""
        return LossLandscape(self.ground.coordinates, loss)

    def annealed(self, temperature: float) -> LossLandscape:
        """The loss at a temperature in units of ``C*``."""
        unlabeled, cost = self.ground.unlabeled, self.cost
        return self.smooth(Annealed(self.labeled_loss, unlabeled, cost, self.share, temperature * cost))

    def publish(self, machine: RowFit, labels: np.ndarray) -> tuple[np.ndarray, float, Labeling]:
        """Parameters and offset in the space as it was given, and the labels as a record."""
        return *self.ground.uncentered(machine.theta, machine.offset), Labeling(labels[None])


@dataclass(frozen=True, eq=False)
class LossLandscape:
    """A loss of scores over a space in memory."""

    space: FeatureSpace | CenteredRows
    loss: Any

    def values(self, theta: np.ndarray) -> np.ndarray:
        return self.space.scores(theta)

    def sums(self, theta: np.ndarray, offset: float) -> tuple[float, np.ndarray, float]:
        value, slope = self.loss.value_slope(self.values(theta) + offset)
        return value, self.space.adjoint(slope), float(slope.sum())

    def mean_entropy(self, found: Found) -> float:
        p = self.loss.probabilities(found.values + found.offset)
        return float((entr(p) + entr(1 - p)).mean())


def settle(
    problem: TransductionProblem, found: Found, tol: float, most_rounds: int = _MOST_ROUNDS
) -> tuple[RowFit, Any, list[float]]:
    """Label and fit in turn until the labels stay: SVM, labels, and the objective after each fit."""
    labels, machine = problem.best_labels(found.values, found.offset), found.machine
    history: list[float] = []
    while True:
        machine = problem.machine_of(labels, machine, tol)
        history.append(machine.objective)
        better = problem.best_labels(machine.values, machine.offset)
        if not problem.differ(better, labels) or len(history) == most_rounds:
            return machine, labels, history
        labels = better


def finish(
    problem: TransductionProblem, search: Search, *, tol: float, callback: Callback | None = None
) -> SolverResult:
    """Run an optimizer to its end and settle what it found; where it is stopped, no more than fit to that."""
    found: Found | None = None
    n_iter, status = 0, "converged"
    try:
        if callback is not None and callback(0.0):
            search, status = iter(()), "stopped"
        for better in search:
            found, n_iter = better, n_iter + 1
            if callback is not None and callback(float(n_iter)):
                status = "stopped"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    n_rounds = _MOST_ROUNDS if status == "converged" else 1
    machine, labels, history = settle(problem, found or Found.of(problem.supervised(tol)), tol, n_rounds)
    if status == "converged" and not machine.converged:
        status = "max_iter"
    theta, offset, detail = problem.publish(machine, labels)
    return SolverResult(
        x=theta,
        objective=np.array(history),
        criterion=np.full(len(history), machine.criterion),
        n_iter=n_iter,
        status=status,
        intercept=offset,
        detail=detail,
    )
