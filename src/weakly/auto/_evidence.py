"""What the labels say about the kernels and the unlabeled samples, as a table and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weakly.auto._choice import Choice
from weakly.auto._kernels import Candidate
from weakly.auto._refits import Refit

_TABLE = [("kernel", "U60"), ("family", "U5"), ("score", float), ("weight", float)]


@dataclass(frozen=True)
class Evidence:
    """Whether the labels say that unlabeled samples help.

    Parameters
    ----------
    log_odds : float
        Log odds of the labels, each judged by all others, under the semi-supervised kernels against the
        supervised ones, families weighing the same.
    verdict : str
        What that means.
    """

    log_odds: float
    verdict: str

    def __str__(self) -> str:
        return self.verdict


def verdict_of(log_odds: float) -> str:
    """Say what the odds mean; the bounds are those between which trials went well or badly."""
    if log_odds >= 4:
        return "The labels say clearly that the unlabeled samples help: trust the result above the baseline."
    if log_odds >= 2:
        return "The labels suggest that the unlabeled samples help; a few more labels would settle it."
    if log_odds >= 0:
        return (
            "The labels do not say whether the unlabeled samples help: look at the samples where the result "
            "and the supervised baseline differ, and label a few of them."
        )
    return "The labels speak for the supervised kernels, which decide alone: unlabeled samples are left out."


def tabulate(candidates: list[Candidate], choice: Choice, refit: Refit | None, mode: str) -> np.ndarray:
    """All candidates with their scores and weights, the heaviest first."""
    refit_weight = 0.0 if refit is None else refit.weight
    weights = choice.weights() * (1 - refit_weight)
    if mode == "safe":
        weights, refit_weight = (weights + choice.weights(supervised=True)) / 2, refit_weight / 2
    by_hypothesis = (len(weights), -1, len(candidates))
    scores = choice.scores.reshape(by_hypothesis).max(axis=1)[-1]
    weights = weights.reshape(by_hypothesis).sum(axis=1).mean(axis=0)
    lines = [
        (candidate.name, candidate.family, score, weight)
        for candidate, score, weight in zip(candidates, scores, weights, strict=True)
    ]
    if refit is not None:
        lines.append(("total variation", "tv", refit.log_likelihood, refit_weight))
    table = np.array(lines, dtype=_TABLE)
    return table[np.argsort(-table["weight"], kind="stable")]
