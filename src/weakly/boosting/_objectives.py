"""What the rounds of a boosting method descend: a class to learn and a weight for every sample.

Weights are handed on as logarithms. Scores grow with the rounds, and the weights ``exp(-f)`` of labeled
samples leave the range of numbers long before their ratio to those of unlabeled samples, which is the model,
does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from weakly._threads import GRAIN, run_parallel
from weakly.boosting._pseudo_kernels import expectation_targets, prior_targets
from weakly.losses import LOSSES
from weakly.regularizers import PriorDivergence, TopMargin


@dataclass(frozen=True, eq=False)
class Targets:
    """Class of each sample, given or for now, logarithm of its weight, and what it adds to the objective."""

    labels: np.ndarray
    log_weights: np.ndarray
    losses: np.ndarray


class Objective(Protocol):
    """An objective of scores of shape (n_rows, n_classes)."""

    codes: np.ndarray
    labeled: np.ndarray

    def targets(self, scores: np.ndarray, n_rounds: int) -> Targets:
        """Steepest descent after a number of rounds, as classes and weights."""

    def labeled_losses(self, scores: np.ndarray) -> np.ndarray:
        """Losses of the labeled rows, whose scores are given."""


@dataclass(frozen=True, eq=False)
class _Coded:
    """Classes of the samples, -1 where unlabeled, and the factors of their losses."""

    codes: np.ndarray
    costs: np.ndarray

    @property
    def labeled(self) -> np.ndarray:
        return np.flatnonzero(self.codes >= 0)


@dataclass(frozen=True, eq=False)
class PriorObjective(_Coded):
    """[rmsboost] Eq. (9): exponential loss, distance of unlabeled samples from a prior, and their margin.

    ``alpha`` and ``beta`` are the weights of the two terms of unlabeled samples. For ``warm_up`` rounds the
    margin term is left out: while all scores are equal it would favor the first class of ``order``, by which
    equal classes are told apart.
    """

    prior: np.ndarray
    alpha: float = 0.0
    beta: float = 0.0
    margin: float = np.inf
    warm_up: int = 0
    order: np.ndarray | None = None

    def targets(self, scores: np.ndarray, n_rounds: int) -> Targets:
        """Class of largest descent, [rmsboost] Lemma 2.1, and its slope."""
        beta = self.beta if n_rounds >= self.warm_up else 0.0
        order = np.arange(scores.shape[1]) if self.order is None else self.order
        terms = self.prior, self.alpha, beta, self.margin, order
        return _compute(prior_targets, scores, self.codes, self.costs, *terms)

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        """Derivative by all scores, [rmsboost] Eq. (17)."""
        hidden, known = self.codes < 0, self.labeled
        slopes = np.zeros_like(scores)
        slopes[known, self.codes[known]] = LOSSES["exponential"].slope(1, scores[known, self.codes[known]])
        slopes[hidden] = self.alpha * PriorDivergence(self.prior[hidden]).gradient(scores[hidden])
        slopes[hidden] += self.beta * TopMargin(self.margin).gradient(scores[hidden])
        return self.costs[:, None] * slopes

    def labeled_losses(self, scores: np.ndarray) -> np.ndarray:
        """Exponential loss."""
        return LOSSES["exponential"].value(1, _own(scores, self.codes[self.labeled]))


@dataclass(frozen=True, eq=False)
class ExpectationObjective(_Coded):
    """Two classes: exponential loss, for unlabeled samples its mean over both labels ([serboost] section 3).

    With ``F = f_1 - f_0`` and an expected label ``q`` in [-1, 1] the loss of an unlabeled sample is
    ``alpha exp(-q F) cosh(F)``, least where ``tanh F = q``.
    """

    expected: np.ndarray
    alpha: float

    def targets(self, scores: np.ndarray, n_rounds: int) -> Targets:
        """Sign of the slope, and its size."""
        return _compute(expectation_targets, scores, self.codes, self.costs, self.expected, self.alpha)

    def labeled_losses(self, scores: np.ndarray) -> np.ndarray:
        """Exponential loss of the difference of the two scores."""
        signs = 2 * self.codes[self.labeled] - 1
        return LOSSES["exponential"].value(signs, scores[:, 1] - scores[:, 0])


@dataclass(frozen=True, eq=False)
class LogisticObjective(_Coded):
    """Logistic loss ``log(1 + exp(-f_y))`` of labeled samples, [adaboostml] Algorithm 1."""

    def targets(self, scores: np.ndarray, n_rounds: int) -> Targets:
        """Given classes, with weights ``1 / (1 + exp(f_y))``."""
        own = _own(scores, self.codes)
        losses = self.costs * LOSSES["logistic"].value(1, own)
        return Targets(self.codes, np.log(self.costs) + log_expit(-own), losses)

    def labeled_losses(self, scores: np.ndarray) -> np.ndarray:
        """Logistic loss."""
        return LOSSES["logistic"].value(1, _own(scores, self.codes))

    def best_step(self, scores: np.ndarray, direction: np.ndarray, longest: float) -> float:
        """Step along a direction that minimizes the loss, at most ``longest``."""
        own, slope = _own(scores, self.codes), _own(direction, self.codes)

        def derivative(step: float) -> float:
            return -float((self.costs * slope) @ expit(-own - step * slope))

        if derivative(0.0) >= 0:  # which only grows
            return 0.0
        return longest if derivative(longest) <= 0 else brentq(derivative, 0.0, longest)


def class_order(rows: np.ndarray, codes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes by their mean labeled sample, one feature after the other.

    Where classes tie, neither their names nor the order of samples is to play a part.
    """
    counts = (codes[:, None] == np.arange(n_classes)) * (weights / weights.max())[:, None]
    rows = np.nan_to_num(rows)
    sizes = np.abs(rows).max(axis=0)
    means = counts.T @ (rows / np.where(sizes > 0, sizes, 1)) / counts.sum(axis=0)[:, None]
    return np.lexsort(means.round(6).T[::-1])


def largest_class(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Class of the largest value of each row, the first of the order where several are."""
    return order[values[:, order].argmax(axis=1)]


def _own(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return scores[np.arange(len(codes)), codes]


def _compute(kernel: Callable[..., None], scores: np.ndarray, *terms: Any) -> Targets:
    n_rows = len(scores)
    targets = Targets(np.empty(n_rows, np.int64), np.empty(n_rows), np.empty(n_rows))
    out = targets.labels, targets.log_weights, targets.losses
    run_parallel(kernel, n_rows, scores, *terms, *out, grain=GRAIN)
    return targets
