"""A method that sees labels as one more candidate, scored by fits that do not see the labels asked for.

Total variation finds the pieces of a graph better than kernels do, whose answers are linear in the labels.
What it says of the rows is carried to new rows by their neighbors, like the eigenvectors of the graph.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from weakly.auto._bank import NEIGHBORS, NeighborBank
from weakly.auto._blend import Average, Blend, Fits
from weakly.auto._choice import Problem, success_probabilities
from weakly.auto._views import Carried, ViewMap
from weakly.manifold import TotalVariationRLSClassifier
from weakly.spaces import Coordinates

N_FOLDS = 10
AGREEMENT = 0.995  # share of equal predictions from which it cannot change the answer
_LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True, eq=False)
class Refit:
    """What a method says of all rows, and of the labels that were hidden from it.

    ``average`` has its scores, as a function too, ``log_likelihood`` is the sum of the log probabilities of
    the labels by the second rule of the choice, and ``weight`` counts beside all kernels together.
    """

    average: Average
    log_likelihood: float
    weight: float


def refit_total_variation(bank: NeighborBank, fits: Fits, ours: Average) -> Refit | None:
    """Score total variation beside the kernels: :func:`refit` with the graph of the bank."""
    return refit(
        TotalVariationRLSClassifier(graph=bank.graph, warm_start=True, random_state=0), bank, fits, ours
    )


def refit(method: Any, bank: NeighborBank, fits: Fits, ours: Average) -> Refit | None:
    """Fit a method, and again without each part of the labels.

    The method, with ``label_distributions_``, is refitted in place. ``ours`` is what the kernels say: None is
    returned where the method agrees with it on all but a few rows.
    """
    scores = _scores(method, bank.rows, fits.problem)
    if np.mean(scores.argmax(axis=1) == ours.blend.scores().argmax(axis=1)) >= AGREEMENT:
        return None
    problem = fits.choice.problem
    held_out = np.zeros((len(problem.rows), problem.n_classes))
    folds = np.arange(len(problem.rows)) % N_FOLDS  # rows are in random order already
    for fold in range(min(N_FOLDS, len(problem.rows))):
        hidden = folds == fold
        shown = replace(problem, rows=problem.rows[~hidden], codes=problem.codes[~hidden])
        if len(set(shown.codes)) > 1:  # a single class is no problem, and its absence of an answer scores 0
            held_out[hidden] = _scores(method, bank.rows, shown)[problem.rows[hidden]]
    # Its scores have the level of the classes already, which those of kernels get from the shares.
    equal = replace(problem, shares=np.full(problem.n_classes, 1 / problem.n_classes))
    likelihood = float(np.log(success_probabilities(held_out, equal)).sum())
    odds = likelihood - logsumexp(fits.choice.scores[1] + fits.choice.log_priors)
    return Refit(_average_of(bank, scores, held_out), likelihood, float(expit(odds)))


def _scores(method: Any, rows: Any, problem: Problem) -> np.ndarray:
    """Log probabilities of all rows, of mean 0; a class without a label is the least likely everywhere."""
    y = np.full(rows.shape[0], -1)
    y[problem.rows] = problem.codes
    if problem.is_known:
        shares = problem.shares[np.unique(problem.codes)]
        method.set_params(class_prior=shares / shares.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that no label reaches, and of fits cut short
        method.fit(rows, y)
    if getattr(getattr(method, "result_", None), "status", None) in ("interrupted", "stopped"):
        raise KeyboardInterrupt  # half an answer would be weighed as if it were a whole one
    logs = np.log(np.maximum(method.label_distributions_, _LEAST_PROBABILITY))
    scores = np.full((len(y), problem.n_classes), logs.min())
    scores[:, method.classes_] = logs
    return scores - scores.mean(axis=1, keepdims=True)


def _average_of(bank: NeighborBank, scores: np.ndarray, held_out: np.ndarray) -> Average:
    """Scores of mean square 1 as a function whose values at new rows are those of their neighbors."""
    size = np.sqrt((scores**2).mean())
    values = scores / size
    coordinates = Coordinates(values, ViewMap(bank.reference, Carried(values, max(NEIGHBORS))))
    blend = Blend([(coordinates, np.eye(values.shape[1]))], coordinates.mean, values)
    return Average(blend, held_out / size)
