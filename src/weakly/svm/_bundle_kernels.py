"""Losses of Weston and Watkins, summed over the rows of a block; blocks may run side by side."""

import numpy as np

from weakly._compile import njit


@njit(nogil=True)
def pair_losses(f, costs, slopes):
    """Sum of the losses of scores ``f``, and their derivatives by the scores."""
    n_rows, n_classes = f.shape
    total = 0.0
    for i in range(n_rows):
        slopes[i] = 0.0
        for p in range(n_classes):
            cost = costs[i, p]
            if cost == 0.0:
                continue
            for q in range(n_classes):
                lacking = 1.0 - f[i, p] + f[i, q]
                if q != p and lacking > 0.0:
                    total += cost * lacking
                    slopes[i, p] -= cost
                    slopes[i, q] += cost
    return total


@njit(nogil=True)
def line_losses(f, change, costs, shares):
    """Sums of the losses at points of a line: scores ``f + share * change``."""
    n_rows, n_classes = f.shape
    totals = np.zeros(len(shares))
    for i in range(n_rows):
        for p in range(n_classes):
            cost = costs[i, p]
            if cost == 0.0:
                continue
            for q in range(n_classes):
                if q == p:
                    continue
                lacking, gain = 1.0 - f[i, p] + f[i, q], change[i, q] - change[i, p]
                for s in range(len(shares)):
                    totals[s] += cost * max(lacking + shares[s] * gain, 0.0)
    return totals
