"""Costs of the losses of samples."""

import numpy as np

from weakly.solvers._range import check_costs


def sample_costs(C, C_unlabeled, weights, labels):
    """Cost of each sample: ``C`` times its weight where it is labeled, else ``C_unlabeled``."""
    costs = np.full(labels.n_rows, C_unlabeled)
    costs[labels.labeled] = labeled_costs(C, C_unlabeled, weights[labels.labeled])
    return costs


def labeled_costs(C, C_unlabeled, weights):
    """Cost of each labeled sample, if that and the cost of unlabeled ones are within range."""
    with np.errstate(over="ignore", under="ignore"):
        costs = C * weights.astype(np.float64)
    check_costs("C times sample_weight", costs)
    check_costs("C_unlabeled", np.full(1, C_unlabeled))
    return costs
