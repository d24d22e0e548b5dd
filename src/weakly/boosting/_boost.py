"""The rounds of a boosting method: functional gradient descent with weak classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weakly.boosting._learners import Weak
from weakly.boosting._objectives import Objective, largest_class
from weakly.boosting._pseudo_kernels import LARGEST
from weakly.solvers import SolverResult

RESPONSES = ("soft", "hard", "steepest")
_FOLLOWED = 1000  # unlabeled rows, at most, that are scored by trees that did not see them


@dataclass(eq=False)
class Ensemble:
    """A sum of weak classifiers, and what further rounds need.

    A weak classifier adds its probabilities of the classes, or with ``response="hard"`` 1 at the most
    probable, less ``1 / n_classes`` so that they sum to 0; equal classes are told apart by ``order``.
    ``followed`` are the labeled training samples, and some unlabeled ones after them: ``free_scores`` are
    their scores by the trees that did not see them, ``free_rounds`` the number of rounds that had such
    trees.
    """

    order: np.ndarray
    response: str
    scores: np.ndarray
    followed: np.ndarray
    free_scores: np.ndarray
    free_rounds: np.ndarray
    models: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    objective: list = field(default_factory=list)
    slope: list = field(default_factory=list)  # logarithm of the sum of all weights
    held_out_loss: list = field(default_factory=list)
    status: str = "max_iter"

    def copy(self) -> Ensemble:
        """An ensemble to add rounds to, which leaves this one as it is; weak classifiers never change."""
        own = {name: copy(value) for name, value in vars(self).items()}
        return Ensemble(**own)

    @property
    def n_classes(self) -> int:
        return len(self.order)

    def add(self, model: Weak, step: float, scores: np.ndarray, data: Any) -> None:
        """Add one weak classifier to the scores of rows, [rmsboost] Eq. (15)."""
        if self.response == "hard":
            scores[np.arange(len(scores)), largest_class(model.shares(data), self.order)] += step
        else:
            model.add_to(scores, data, step)
        scores -= step / self.n_classes

    def stages(self, data: Any) -> Iterator[np.ndarray]:
        """Scores of rows after each round; one array, which the next round changes."""
        scores = np.zeros((len(data), self.n_classes))
        for model, step in zip(self.models, self.steps, strict=True):
            self.add(model, step, scores, data)
            yield scores

    def decide(self, data: Any) -> np.ndarray:
        """Scores of rows after all rounds."""
        scores = np.zeros((len(data), self.n_classes))
        for model, step in zip(self.models, self.steps, strict=True):
            self.add(model, step, scores, data)
        return scores

    def held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of followed rows that some trees did not see, and scores by those as if of all rounds."""
        free = np.flatnonzero(self.free_rounds)
        share = self.free_rounds[free] / max(len(self.models), 1)
        return free, self.free_scores[free] / share[:, None]

    def result(self) -> SolverResult:
        """The record of the rounds; the criterion is the sum of all weights relative to the first round's."""
        relative = np.exp(np.minimum(np.array(self.slope) - self.slope[0], LARGEST))
        return SolverResult(self.scores, np.array(self.objective), relative, len(self.models), self.status)


def start(codes: np.ndarray, order: np.ndarray, response: str) -> Ensemble:
    """Before the first round; ``codes`` are -1 at unlabeled rows."""
    n_classes = len(order)
    hidden = np.flatnonzero(codes < 0)
    followed = np.concatenate([np.flatnonzero(codes >= 0), hidden[:: -(-len(hidden) // _FOLLOWED) or 1]])
    scores, free_scores = np.zeros((len(codes), n_classes)), np.zeros((len(followed), n_classes))
    return Ensemble(order, response, scores, followed, free_scores, np.zeros(len(followed)))


def boost(
    ensemble: Ensemble,
    learner: Any,
    data: Any,
    objective: Objective,
    *,
    n_rounds: int,
    step: float | Callable[[np.ndarray, np.ndarray], float],
    seed: tuple[int, ...],
    patience: int | None = None,
    tol: float = 0.0,
    callback: Callable[..., object] = lambda *state: None,
) -> Ensemble:
    """Add rounds until there are ``n_rounds``, in place; an interrupt by the user ends it between two.

    ``step`` is the factor of each weak classifier, or finds it from scores and response. ``seed`` decides
    with the number of a round all that is random in it. After ``patience`` rounds in which the loss of
    held-out labeled samples did not fall by ``tol``, relative to the lowest, it stops.
    """
    ensemble.status = "max_iter"
    with _until_interrupted(ensemble, data, objective):
        labels, weights = _descend(ensemble, objective)
        while len(ensemble.models) < n_rounds:
            if patience is not None and _is_idle(ensemble.held_out_loss, patience, tol):
                ensemble.status = "converged"
                break
            stream = np.random.SeedSequence((*seed, len(ensemble.models)))
            model, drawn = learner.learn(data, labels, weights, ensemble.n_classes, stream)
            if ensemble.response == "steepest":
                model = model.steepest(data, -objective.gradient(ensemble.scores))
            length = (
                step if isinstance(step, float) else step(ensemble.scores, _response(ensemble, model, data))
            )
            ensemble.add(model, length, ensemble.scores, data)
            _follow_free(ensemble, model, length, data, objective, drawn)
            ensemble.models.append(model)
            ensemble.steps.append(length)
            labels, weights = _descend(ensemble, objective)
            if callback():
                ensemble.status = "stopped"
                break
    return ensemble


@contextmanager
def _until_interrupted(ensemble: Ensemble, data: Any, objective: Objective) -> Iterator[None]:
    """Keep the rounds that were finished, whatever was half done."""
    try:
        yield
    except KeyboardInterrupt:
        ensemble.status = "interrupted"
        n_done = len(ensemble.steps)
        del ensemble.models[n_done:], ensemble.objective[n_done + 1 :], ensemble.slope[n_done + 1 :]
        ensemble.scores[:] = ensemble.decide(data)
        _descend(ensemble, objective)


def _descend(ensemble: Ensemble, objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and weights up to a factor, for the next round; noted down unless an earlier call did."""
    n_done = len(ensemble.models)
    targets = objective.targets(ensemble.scores, n_done)
    largest = targets.log_weights.max()
    weights = np.exp(targets.log_weights - largest)
    if len(ensemble.objective) == n_done:
        ensemble.objective.append(float(targets.losses.sum()))
        ensemble.slope.append(float(largest + np.log(weights.sum())))
    return targets.labels, weights


def _response(ensemble: Ensemble, model: Weak, data: Any) -> np.ndarray:
    response = np.zeros_like(ensemble.scores)
    ensemble.add(model, 1.0, response, data)
    return response


def _follow_free(ensemble, model, step, data, objective, drawn) -> None:
    """Keep scores of rows by trees that did not see them, and the loss of the labeled ones."""
    shares = model.free_shares(data, ensemble.followed, drawn)
    is_free = shares.any(axis=1)
    if ensemble.response == "hard":
        chosen = largest_class(shares, ensemble.order)
        shares = (np.arange(ensemble.n_classes) == chosen[:, None]).astype(float)
    ensemble.free_scores += is_free[:, None] * step * (shares - 1 / ensemble.n_classes)
    ensemble.free_rounds += is_free
    n_labeled = len(objective.labeled)
    rounds, scores = ensemble.free_rounds[:n_labeled], ensemble.free_scores[:n_labeled]
    scale = (len(ensemble.models) + 1) / np.maximum(rounds, 1)
    losses = objective.labeled_losses(scores * scale[:, None])[rounds > 0]
    ensemble.held_out_loss.append(float(losses.mean()) if len(losses) else np.nan)


def _is_idle(losses: list, patience: int, tol: float) -> bool:
    """Whether the last rounds brought nothing; those before the first sample was held out have no loss."""
    before, last = np.array(losses[:-patience]), np.array(losses[-patience:])
    return np.isfinite(before).any() and not (last < np.nanmin(before) * (1 - tol)).any()
