"""Figure 4: accuracy, gradients and weights after each round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.rmsboost._sets import draw
from weakly import RMSBoostClassifier
from weakly.losses import LOSSES
from weakly.regularizers import PriorDivergence, TopMargin

_UNIT = 100  # hundredths


class Terms(NamedTuple):
    """Weights of the two terms of unlabelled rows, and the margin of the second; [rmsboost] Eq. (9)."""

    alpha: float
    beta: float
    margin: float


def value_after(settings: Mapping[str, Any], column: str, seed: int) -> float | dict[str, float]:
    """Return what is known after so many rounds on Letter.

    Parameters
    ----------
    settings : mapping
        "params": of the estimator. "measure": "accuracy" of test rows in per cent; "labeled" or
        "unlabeled", the mean norm of the gradient of such rows; "right" or "wrong", the mean weight of
        unlabelled rows whose prior is so. All but the first in hundredths.
    column : str
        Rounds.
    seed : int
        Seed of the draw.

    Returns
    -------
    float or dict
        The number of the cell; with the number of rows it is the mean of, for the last two.
    """
    measures, counts = path(json.dumps(settings["params"], sort_keys=True), seed)
    measure = settings["measure"]
    value = float(measures[int(column) - 1][measure])
    return {"value": value, "rows": counts[measure]} if measure in counts else value


@lru_cache(maxsize=16)
def path(params: str, seed: int) -> tuple[list[dict[str, float]], dict[str, float]]:
    """All measures after each round, and the numbers of rows whose prior is right and wrong."""
    data = draw("Letter", seed)
    model = RMSBoostClassifier(**{**json.loads(params), "random_state": seed}).fit(data.X, data.partial)
    codes = np.where(data.partial < 0, -1, np.searchsorted(model.classes_, data.partial))
    is_right = model.classes_[model.prior_.argmax(axis=1)] == data.y
    measures = []
    stages = zip(
        model.staged_decision_function(data.X), model.staged_decision_function(data.X_test), strict=True
    )
    for n_rounds, (scores, test_scores) in enumerate(stages, start=1):
        slopes = gradient(scores, codes, model.prior_, terms_of(model, data.partial, n_rounds))
        right = model.classes_[test_scores.argmax(axis=1)] == data.y_test
        measures.append({"accuracy": 100 * float(np.mean(right)), **means(slopes, codes, is_right)})
    hidden = codes < 0
    counts = {"right": float(np.sum(hidden & is_right)), "wrong": float(np.sum(hidden & ~is_right))}
    return measures, counts


def terms_of(model: RMSBoostClassifier, partial: np.ndarray, n_rounds: int) -> Terms:
    """What the defaults "labeled", "tenth" and "auto" stand for, in the round after so many."""
    alpha = float(np.mean(partial >= 0))
    beta = 0.1 * alpha if n_rounds >= model.warm_up else 0.0
    return Terms(alpha, beta, model.learning_rate * model.n_estimators / 2)


def gradient(scores: np.ndarray, codes: np.ndarray, prior: np.ndarray, terms: Terms) -> np.ndarray:
    """Derivative of the objective by all scores, [rmsboost] Eq. (17); codes are -1 where hidden."""
    hidden, known = codes < 0, np.flatnonzero(codes >= 0)
    slopes = np.zeros_like(scores)
    slopes[known, codes[known]] = LOSSES["exponential"].slope(1, scores[known, codes[known]])
    slopes[hidden] = terms.alpha * PriorDivergence(prior[hidden]).gradient(scores[hidden])
    slopes[hidden] += terms.beta * TopMargin(terms.margin).gradient(scores[hidden])
    return slopes


def means(slopes: np.ndarray, codes: np.ndarray, is_right: np.ndarray) -> dict[str, float]:
    """Mean norms of gradients, and mean weights of unlabelled rows, [rmsboost] Lemma 2.1, in hundredths."""
    norms, weights, hidden = np.linalg.norm(slopes, axis=1), -slopes.min(axis=1), codes < 0
    return {
        "labeled": _UNIT * float(np.mean(norms[~hidden])),
        "unlabeled": _UNIT * float(np.mean(norms[hidden])),
        "right": _UNIT * float(np.mean(weights[hidden & is_right])),
        "wrong": _UNIT * float(np.mean(weights[hidden & ~is_right])),
    }
