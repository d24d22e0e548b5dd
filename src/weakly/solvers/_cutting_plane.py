"""Cutting planes over label vectors: the convex relaxation of learning with unknown labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from weakly.solvers._label_machine import LabelMachine
from weakly.solvers._label_weights import WeightedLabels, weigh_labels
from weakly.solvers._result import Labeling, SolverResult

ORACLES = ("step", "ascent", "restarts")
FORGOTTEN = 1e-6  # weight below which a label vector leaves the set
ROUNDING = 1e-9
MOST_STEPS = 50  # of a search
_N_RANDOM, _POWER_STEPS = 5, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingMixture(Labeling):
    """Labelings that a cutting plane method mixes, with weights that sum to 1.

    The dual point is ``x`` of the result.
    """

    weights: np.ndarray


class Mixture(Protocol):
    """Label vectors with the best weights, and the solution for them."""

    @property
    def weights(self) -> np.ndarray: ...
    @property
    def norms(self) -> np.ndarray: ...
    @property
    def objective(self) -> float: ...
    @property
    def is_solved(self) -> bool: ...


M = TypeVar("M", bound=Mixture)


class Mixtures(Protocol[M]):
    """What the method may ask of a problem.

    ``alone`` and ``join`` make mixtures that are yet to be weighed. Where ``is_exact`` holds, an objective
    that rises has lost nothing but rounding. ``slack`` is the share of what the last label vector may gain
    that the weights before it may be off by.
    """

    @property
    def is_exact(self) -> bool: ...
    @property
    def slack(self) -> float: ...
    def alone(self, label: Any, near: M | None = None) -> M: ...
    def join(self, mixture: M, label: Any) -> M: ...
    def weigh(self, mixture: M, tol: float) -> M: ...
    def find_violated(self, mixture: M) -> tuple[Any | None, float]: ...
    def nearest(self, mixture: M) -> Any: ...
    def is_only(self, mixture: M, label: Any) -> bool: ...
    def publish(self, mixture: M) -> tuple[np.ndarray, Any]: ...


def solve_cutting_plane(
    machine: LabelMachine,
    start: np.ndarray,
    *,
    oracle: str = "ascent",
    rule: str = "accelerated",
    tol: float = 1e-3,
    max_labels: int = 20,
    refine: int = 0,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimize, over all mixtures of label vectors of a set, the optimal dual value of an SVM.

    [wellsvm] Algorithms 1 to 4. Label vectors join one at a time: each is one that the current dual point
    shows to be better than all that joined before, and after each the weights of all are found anew. The
    method ends when no such vector is found, or when the last one gained little.

    Parameters
    ----------
    machine : LabelMachine
        The problem for given label vectors and weights; its ``label_set`` is what they are chosen from.
    start : ndarray
        First label vector.
    oracle : {"step", "ascent", "restarts"}, default="ascent"
        How a better vector is looked for: one step from the best of the set, as in the paper; steps as long
        as they gain; the same also from every vector of the set, a leading eigenvector and random vectors.
    rule : {"accelerated", "paper"}, default="accelerated"
        How weights are found, see :func:`weigh_labels`.
    tol : float, default=1e-3
        Relative gain of the objective at which the method ends, and tolerance of the weights.
    max_labels : int, default=20
        Most label vectors.
    refine : int, default=0
        Most rounds after that, in each of which the label vector that fits the scores best takes the place
        of the mixture.
    callback : callable, optional
        Called after every round; the method stops where it returns True.

    Returns
    -------
    SolverResult
        ``x`` holds the dual point, ``detail.labels`` the vectors and ``detail.weights`` their weights.
        Histories have an entry per round: the objective, and as ``criterion`` how much better than the
        mixture the best vector known is, relative to the objective. The status is "converged" where the
        search found no better vector, "stalled" where the last gained less than ``tol``, "max_iter" at
        ``max_labels``, or where the weights of the vectors were not found in the passes allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import KernelMachine, solve_cutting_plane
    >>> from weakly.solvers._label_sets import SignSet
    >>> rows = np.array([-2.0, -1.9, 1.9, 2.0])
    >>> signs = SignSet(np.array([0, 3]), np.array([-1.0, 1.0]), n_rows=4, least=1, most=1)
    >>> machine = KernelMachine(np.outer(rows, rows), signs, np.ones(4))
    >>> result = solve_cutting_plane(machine, np.array([-1.0, 1.0, -1.0, 1.0]))
    >>> result.detail.labels[result.detail.weights.argmax()].tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    if oracle not in ORACLES:
        raise ValueError(f"oracle is {oracle!r}: use one of {', '.join(ORACLES)}.")
    settings: dict[str, Any] = {"tol": tol, "max_labels": max_labels, "refine": refine, "callback": callback}
    return cut_labels(DualMixtures(machine, oracle, rule), start, **settings)


def cut_labels(
    problem: Mixtures[M],
    start: Any,
    *,
    tol: float,
    max_labels: int,
    refine: int = 0,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """The loop of :func:`solve_cutting_plane`, for mixtures of any kind."""
    history: list[tuple[float, float]] = []
    status, slack = None, 0.0
    mixture = problem.alone(start)
    kept: M | None = None
    is_solved = True
    try:
        while status is None:
            mixture = problem.weigh(mixture, max(tol, slack))
            scale = abs(mixture.objective) or 1.0
            better, norm = problem.find_violated(mixture)
            best_norm = mixture.norms.max()
            violation = (max(norm, best_norm) - mixture.weights @ mixture.norms) / 2 / scale
            # [wellsvm] line 6 of Algorithm 1, with the minus it lost in print
            if better is None or (norm - best_norm) / 2 <= tol * scale:
                status = "converged"
            elif history and history[-1][0] - mixture.objective <= tol * scale:
                status = "stalled"
            elif len(mixture.weights) >= max_labels:
                status = "max_iter"
            if status is not None and slack > tol:  # too early to tell: weigh the same labels well
                status, slack = None, 0.0
                continue
            if kept is not None and problem.is_exact and mixture.objective > history[-1][0]:
                # The last vector gained nothing but rounding.
                mixture, status = kept, status or "stalled"
                break
            history.append((mixture.objective, violation))
            kept = mixture
            if status is None and callback is not None and callback():
                status = "stopped"
            elif status is None:
                mixture = problem.join(mixture, better)
                slack = problem.slack * violation
        mixture, is_solved = _refined(problem, mixture, refine, tol)
    except KeyboardInterrupt:
        if kept is None:
            raise
        mixture, status = kept, "interrupted"
    if status not in ("stopped", "interrupted") and not is_solved:
        status = "max_iter"
    objectives, criteria = np.array(history).T
    x, labels = problem.publish(mixture)
    return SolverResult(
        x=x,
        objective=objectives,
        criterion=criteria,
        n_iter=len(history),
        status=str(status),
        detail=LabelingMixture(labels, weights=mixture.weights),
    )


def _refined(problem: Mixtures[M], mixture: M, n_rounds: int, tol: float) -> tuple[M, bool]:
    """Take the nearest labeling and fit to it, in turn: descent from where the relaxation ended.

    The second value is whether all problems were solved.
    """
    is_solved = mixture.is_solved
    for _ in range(n_rounds):
        label = problem.nearest(mixture)
        if problem.is_only(mixture, label):
            break
        mixture = problem.weigh(problem.alone(label, mixture), tol)
        if not mixture.is_solved:
            return mixture, False
    return mixture, is_solved


@dataclass(frozen=True, eq=False)
class DualMixtures:
    """Mixtures of a problem whose dual is solved, with samples in memory."""

    machine: LabelMachine
    oracle: str = "ascent"
    rule: str = "accelerated"
    slack = 0.1

    @property
    def is_exact(self) -> bool:
        return self.machine.is_exact

    def alone(self, label: np.ndarray, near: WeightedLabels | None = None) -> WeightedLabels:
        """One label vector, to be weighed from the dual point of a mixture."""
        dual = np.zeros(len(self.machine.ridge)) if near is None else near.dual
        return _unweighed(label[None], np.ones(1), dual)

    def join(self, mixture: WeightedLabels, label: np.ndarray) -> WeightedLabels:
        """A mixture with one more label vector, to be weighed."""
        share = 0.5 / (len(mixture.weights) + 1)
        weights = np.append((1 - share) * mixture.weights, share)
        return _unweighed(np.vstack([mixture.labels, label]), weights, mixture.dual)

    def weigh(self, mixture: WeightedLabels, tol: float) -> WeightedLabels:
        """The best weights; label vectors without any are left out."""
        start = mixture.labels, mixture.weights, mixture.dual
        found = weigh_labels(self.machine, *start, rule=self.rule, tol=tol)
        kept = found.weights > FORGOTTEN
        weights = found.weights[kept]
        rest = {"weights": weights / weights.sum(), "norms": found.norms[kept]}
        return found._replace(labels=found.labels[kept], **rest)

    def find_violated(self, mixture: WeightedLabels) -> tuple[np.ndarray | None, float]:
        """Look for a label vector with a larger norm under the dual point than any of the mixture.

        The norm is convex in the vector, so the best vector for the scores of another one is at least as good
        ([wellsvm] Eq. (16) and Prop. 4): steps climb, and end in a local maximum.
        """
        machine, dual, labels = self.machine, mixture.dual, mixture.labels
        known = labels if self.oracle == "restarts" else labels[[mixture.norms.argmax()]]
        starts = list(machine.scores(machine.label_set.coefficients(dual, known)))
        if self.oracle == "restarts":
            others = list(np.random.default_rng(0).normal(size=(_N_RANDOM, len(starts[0]))))
            others.append(_leading(machine, dual, others[-1]))
            starts += others + [-scores for scores in others]
        n_steps = 1 if self.oracle == "step" else MOST_STEPS
        best, best_norm = None, float(mixture.norms.max())
        for scores in starts:
            label, norm = _climb(machine, dual, scores, n_steps)
            if norm > best_norm * (1 + ROUNDING):
                best, best_norm = label, norm
        return best, best_norm

    def nearest(self, mixture: WeightedLabels) -> np.ndarray:
        """The label vector of the set that fits the scores of a mixture best."""
        return nearest_label(self.machine, mixture.dual, mixture)

    def is_only(self, mixture: WeightedLabels, label: np.ndarray) -> bool:
        """Whether there is no other label vector in a mixture."""
        return len(mixture.labels) == 1 and bool((label == mixture.labels[0]).all())

    def publish(self, mixture: WeightedLabels) -> tuple[np.ndarray, np.ndarray]:
        """The dual point and the label vectors."""
        return mixture.dual, mixture.labels


def _unweighed(labels: np.ndarray, weights: np.ndarray, dual: np.ndarray) -> WeightedLabels:
    return WeightedLabels(labels, weights, dual, np.full(len(weights), np.nan), np.nan, np.inf, False)


def mixed_coefficients(
    machine: LabelMachine, dual: np.ndarray, mixture: WeightedLabels | LabelingMixture
) -> np.ndarray:
    """Kernel expansion of the function of a mixture."""
    return mixture.weights @ machine.label_set.coefficients(dual, mixture.labels)


def nearest_label(
    machine: LabelMachine, dual: np.ndarray, mixture: WeightedLabels | LabelingMixture
) -> np.ndarray:
    """The label vector of the set that fits the scores of a mixture best."""
    scores = machine.scores(mixed_coefficients(machine, dual, mixture)[None])[0]
    return machine.label_set.best(np.ones(len(machine.ridge)), scores)


def _climb(
    machine: LabelMachine, dual: np.ndarray, scores: np.ndarray, n_steps: int
) -> tuple[np.ndarray, float]:
    def step(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        label = machine.label_set.best(dual, scores)
        coefficients = machine.label_set.coefficients(dual, label[None])
        scores = machine.scores(coefficients)[0]
        return label, scores, float(coefficients[0] @ scores)

    label, scores, norm = step(scores)
    for _ in range(n_steps - 1):
        proposed, scores, gained = step(scores)
        if gained <= norm * (1 + ROUNDING):
            break
        label, norm = proposed, gained
    return label, norm


def _leading(machine: LabelMachine, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores of the leading eigenvector of ``K o aa'``, roughly: what signs would like to be."""
    for _ in range(_POWER_STEPS):
        scores = machine.scores(machine.label_set.relaxed(dual, scores)[None])[0]
        scores = scores / (np.linalg.norm(scores) or 1.0)
    return scores
