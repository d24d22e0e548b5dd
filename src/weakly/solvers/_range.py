"""The range of numbers that solvers can compute with: costs, squares and inverses stay in that of floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weakly.rows._labels import LabelView
from weakly.spaces import FeatureSpace, KernelSpace

_LEAST_COST, _MOST_COST = 1e-100, 1e100
_MOST_PRODUCT = 1e150  # of two samples


def check_costs(what: str, costs: np.ndarray) -> None:
    """Refuse costs of losses that are out of range; ``what`` names the parameters they come from."""
    wrong = costs[(costs < _LEAST_COST) | (costs > _MOST_COST)]
    if len(wrong):
        raise ValueError(
            f"{what} is {wrong[0]:.1e}: it must be between {_LEAST_COST:.0e} and {_MOST_COST:.0e}."
        )


def sample_costs(C: float, C_unlabeled: float, weights: np.ndarray, labels: LabelView) -> np.ndarray:
    """Cost of each sample: ``C`` times its weight where it is labeled, else ``C_unlabeled``."""
    costs = np.full(labels.n_rows, C_unlabeled)
    costs[labels.labeled] = labeled_costs(C, C_unlabeled, weights[labels.labeled])
    return costs


def labeled_costs(C: float, C_unlabeled: float, weights: np.ndarray) -> np.ndarray:
    """Cost of each labeled sample, if that and the cost of unlabeled ones are within range."""
    with np.errstate(over="ignore", under="ignore"):
        costs = C * weights.astype(np.float64)
    check_costs("C times sample_weight", costs)
    check_costs("C_unlabeled", np.full(1, C_unlabeled))
    return costs


def build_in_range(
    build: Callable[[], KernelSpace | FeatureSpace], dtype: np.dtype
) -> KernelSpace | FeatureSpace:
    """Build a space, and refuse it where products of samples are out of the range of the type of ``X``."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows here is refused below
        space = build()
        largest = space.largest_product
    most = min(_MOST_PRODUCT, float(np.finfo(dtype).max))
    if not largest <= most:
        raise ValueError(
            f"X has products of samples, by the kernel, that are as large as {largest:.1e}: scale the "
            f"features, or the kernel, to keep them below {most:.1e}."
        )
    return space
