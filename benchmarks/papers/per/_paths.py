"""Figures 1 and 2, the objective and the images claimed twice after each step; and sets the paper lacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.papers.per._faces import Choice, draw, features_of, load_codes, signs_of
from weakly import ExclusiveLaplacianSVC
from weakly.datasets import load
from weakly.manifold._exclusive_solver import solve_exclusive
from weakly.model_selection import LabelDraws
from weakly.spaces import FeatureSpace, undeformed

SETS = {"digits": 2, "usps": 5, "coil20": 2}  # labels per class
_MOST_ROWS = 2000


def step_value(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return what is known after so many steps, from functions that are 0.

    Parameters
    ----------
    settings : mapping
        "measure": "excess", of the objective over its end in per cent of the first, or "claims", unlabelled
        images with more than one positive score. "choice": fields of a ``Choice``. "solver".
    column : str
        Steps; the last counts where fewer were needed.
    seed : int
        Seed of the draw.

    Returns
    -------
    float
        The number of the cell.
    """
    excess, claims = _path(Choice(**settings["choice"]), settings["solver"], seed)
    path = excess if settings["measure"] == "excess" else claims
    return float(path[min(int(column), len(path) - 1)])


@lru_cache(maxsize=16)
def _path(choice: Choice, solver: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    codes = load_codes()
    labeled = draw(codes, 5, seed)
    hidden = np.setdiff1d(np.arange(len(codes)), labeled)
    claims = [0]
    result = solve_exclusive(
        undeformed(FeatureSpace(features_of(choice))),
        labeled,
        signs_of(codes[labeled]),
        np.ones(len(labeled)),
        penalty=choice.charge,
        exclusive=choice.kind,
        solver=solver,
        callback=lambda scores: claims.append(int(((scores[hidden] > 0).sum(axis=1) > 1).sum())),
    )
    excess = result.objective - result.objective[-1]
    return 100 * excess / excess[0], np.array(claims)


def error_on_set(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Return the error in per cent on the unlabelled rows of a set.

    Parameters
    ----------
    settings : mapping
        "params": of the estimator.
    column : str
        The set.
    seed : int
        Seed of the draw.

    Returns
    -------
    dict
        The error, and the unlabelled rows that several classes claim.
    """
    X, y = _rows(column)
    split = next(LabelDraws(n_per_class=SETS[column], n_repeats=1, random_state=seed).split(X, y))
    model = ExclusiveLaplacianSVC(**settings["params"]).fit(X, split.mask(y))
    error = np.mean(model.transduction_[split.unlabeled] != y[split.unlabeled])
    return {"value": 100.0 * float(error), "claimed twice": float(model.multi_positive_count_)}


@lru_cache(maxsize=1)
def _rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = load(name).X, load(name).y
    return np.asarray(X[:_MOST_ROWS], dtype=float), np.asarray(y[:_MOST_ROWS])
