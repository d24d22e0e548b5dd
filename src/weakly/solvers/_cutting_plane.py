"""Cutting planes over label vectors: the convex relaxation of learning with unknown labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weakly.solvers._label_machine import LabelMachine
from weakly.solvers._label_weights import WeightedLabels, weigh_labels
from weakly.solvers._result import Labeling, SolverResult

ORACLES = ("step", "ascent", "restarts")
_FORGOTTEN = 1e-6  # weight below which a label vector leaves the set
_ROUNDING = 1e-9
_SHARE_OF_GAIN = 0.1
_N_RANDOM, _POWER_STEPS, _MOST_STEPS = 5, 20, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingMixture(Labeling):
    """Labelings that a cutting plane method mixes.

    Parameters
    ----------
    labels : ndarray of shape (n_labels, size)
        Label vectors.
    dual : None
        The dual point is ``x`` of the result.
    weights : ndarray of shape (n_labels,)
        Weights of the label vectors, which sum to 1.
    """

    weights: np.ndarray


def solve_cutting_plane(
    machine: LabelMachine,
    start: np.ndarray,
    *,
    oracle: str = "ascent",
    rule: str = "accelerated",
    tol: float = 1e-3,
    max_labels: int = 20,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimise, over all mixtures of label vectors of a set, the optimal dual value of a machine.

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
    labels, weights, dual = start[None], np.ones(1), np.zeros(len(machine.ridge))
    history: list[tuple[float, float]] = []
    status, slack = None, 0.0
    kept: tuple[np.ndarray, WeightedLabels] | None = None
    try:
        while status is None:
            found = weigh_labels(machine, labels, weights, dual, rule=rule, tol=max(tol, slack))
            labels, found = _prune(labels, found)
            scale = abs(found.objective) or 1.0
            better, norm = find_violated(machine, labels, found, oracle)
            violation = (max(norm, found.norms.max()) - found.weights @ found.norms) / 2 / scale
            # [wellsvm] line 6 of Algorithm 1, with the minus it lost in print
            if better is None or (norm - found.norms.max()) / 2 <= tol * scale:
                status = "converged"
            elif history and history[-1][0] - found.objective <= tol * scale:
                status = "stalled"
            elif len(labels) >= max_labels:
                status = "max_iter"
            if status is not None and slack > tol:  # too early to tell: weigh the same labels well
                status, slack, weights, dual = None, 0.0, found.weights, found.dual
                continue
            if kept is not None and machine.is_exact and found.objective > history[-1][0]:
                # The last vector gained nothing but rounding.
                (labels, found), status = kept, status or "stalled"
                break
            history.append((found.objective, violation))
            kept = labels, found
            if status is None and callback is not None and callback():
                status = "stopped"
            elif status is None and better is not None:
                share = 0.5 / (len(labels) + 1)
                labels = np.vstack([labels, better])
                weights, dual = np.append((1 - share) * found.weights, share), found.dual
                slack = _SHARE_OF_GAIN * violation  # weights need be no better than what the next label gains
    except KeyboardInterrupt:
        if kept is None:
            raise
        (labels, found), status = kept, "interrupted"
    if status not in ("stopped", "interrupted") and not found.is_solved:
        status = "max_iter"
    objectives, criteria = np.array(history).T
    return SolverResult(
        x=found.dual,
        objective=objectives,
        criterion=criteria,
        n_iter=len(history),
        status=status,
        detail=LabelingMixture(labels, weights=found.weights),
    )


def _prune(labels: np.ndarray, found: WeightedLabels) -> tuple[np.ndarray, WeightedLabels]:
    kept = found.weights > _FORGOTTEN
    weights = found.weights[kept]
    return labels[kept], found._replace(weights=weights / weights.sum(), norms=found.norms[kept])


def find_violated(
    machine: LabelMachine, labels: np.ndarray, found: WeightedLabels, oracle: str
) -> tuple[np.ndarray | None, float]:
    """Look for a label vector with a larger norm under the dual point than any of the set.

    The norm is convex in the vector, so the best vector for the scores of another one is at least as good
    ([wellsvm] Eq. (16) and Prop. 4): steps climb, and end in a local maximum.
    """
    dual, label_set = found.dual, machine.label_set
    known = labels if oracle == "restarts" else labels[[found.norms.argmax()]]
    starts = list(machine.scores(label_set.coefficients(dual, known)))
    if oracle == "restarts":
        others = list(np.random.default_rng(0).normal(size=(_N_RANDOM, len(starts[0]))))
        others.append(_leading(machine, dual, others[-1]))
        starts += others + [-scores for scores in others]
    n_steps = 1 if oracle == "step" else _MOST_STEPS
    best, best_norm = None, float(found.norms.max())
    for scores in starts:
        label, norm = _climb(machine, dual, scores, n_steps)
        if norm > best_norm * (1 + _ROUNDING):
            best, best_norm = label, norm
    return best, best_norm


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
        if gained <= norm * (1 + _ROUNDING):
            break
        label, norm = proposed, gained
    return label, norm


def _leading(machine: LabelMachine, dual: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores of the leading eigenvector of ``K o aa'``, roughly: what signs would like to be."""
    for _ in range(_POWER_STEPS):
        scores = machine.scores(machine.label_set.relaxed(dual, scores)[None])[0]
        scores = scores / (np.linalg.norm(scores) or 1.0)
    return scores
