"""What a method says of its own work: a verdict, its kernels, and what the labels alone would have filled."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

FAMILIES = {
    "sup": ("labels alone", "rows near a label get its class"),
    "lap": ("smooth along neighbours", "the class seldom changes between rows that are alike"),
    "graph": ("pieces of the neighbour graph", "a class is a group of rows linked through their neighbours"),
    "tv": ("pieces of the neighbour graph with short borders", "classes part where few rows are alike"),
    "pca": ("main directions and clusters", "classes differ where the rows vary most"),
}


@dataclass(frozen=True, slots=True)
class Account:
    """What a fitted method tells.

    ``baseline`` is the class of each row by the supervised kernels alone; ``kernels`` are records of kernel,
    family, score and weight, the heaviest first.
    """

    verdict: str
    log_odds: float
    preparation: str
    baseline: np.ndarray
    kernels: np.ndarray

    @property
    def finding(self):
        """What the labels say of the unlabeled samples: the verdict without its advice."""
        clause = re.split("[:;.]", self.verdict)[0]
        return f"{clause[:1].lower()}{clause[1:]} (log odds {round(self.log_odds, 1) + 0.0:.1f})"

    def family_weights(self):
        """Return the families with the sum of their kernels' weights, the heaviest first."""
        sums = {}
        for _, family, _, weight in self.kernels.tolist():
            sums[family] = sums.get(family, 0.0) + weight
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def family_words(family):
    """Return a family's name and its assumption in words that need no mathematics."""
    return FAMILIES.get(family, (family, ""))


def take_account(estimator):
    """Take what a fitted estimator tells, before a refit replaces it; None where it does not tell it."""
    told = ("evidence_", "preparation_", "supervised_", "candidates_")
    if not all(hasattr(estimator, name) for name in told):
        return None
    return Account(
        verdict=estimator.evidence_.verdict,
        log_odds=float(estimator.evidence_.log_odds),
        preparation=estimator.preparation_,
        baseline=estimator.supervised_,
        kernels=estimator.candidates_,
    )
