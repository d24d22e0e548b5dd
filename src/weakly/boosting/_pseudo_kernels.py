"""Compiled classes and weights of all rows, a pass over the scores."""

import math

import numpy as np

from weakly._compile import njit

LARGEST = 700.0  # exponent; a sum of losses beyond it is no number


@njit
def _steepest(f, prior, alpha, beta, margin, order, powers):
    """Class of largest slope of an unlabeled row, the slope, and what the row pays.

    Of equal classes it is the first of the order.
    """
    top = order[0]
    for c in order:
        if f[c] > f[top]:
            top = c
    total, agreement = 0.0, 0.0
    for c in order:
        powers[c] = math.exp(f[c] - f[top])
        total += powers[c]
        agreement += prior[c] * f[c]
    loss = alpha * (f[top] + math.log(total) - agreement)
    if beta > 0 and f[top] < margin:
        loss += beta * (margin - f[top])
    best, steepest = -np.inf, top
    for c in order:
        slope = alpha * (prior[c] - powers[c] / total)
        if c == top and f[c] < margin:
            slope += beta
        if slope > best:
            best, steepest = slope, c
    return steepest, best, loss


@njit(nogil=True)
def prior_targets(
    start, stop, scores, codes, costs, prior, alpha, beta, margin, order, labels, log_weights, losses
):
    """Steepest class of each row: the given one, or argmax of ``alpha (p - softmax f) + beta m``."""
    powers = np.empty(scores.shape[1])
    for i in range(start, stop):
        log_cost = math.log(costs[i]) if costs[i] > 0 else -np.inf
        if codes[i] >= 0:
            own = scores[i, codes[i]]
            labels[i], log_weights[i] = codes[i], log_cost - own
            losses[i] = costs[i] * math.exp(min(-own, LARGEST))
            continue
        labels[i], slope, loss = _steepest(scores[i], prior[i], alpha, beta, margin, order, powers)
        log_weights[i] = log_cost + math.log(slope) if slope > 0 else -np.inf
        losses[i] = costs[i] * loss


@njit(nogil=True)
def expectation_targets(start, stop, scores, codes, costs, expected, alpha, labels, log_weights, losses):
    """Sign and size of the slope of two-class losses; with ``F`` the difference of the two scores."""
    for i in range(start, stop):
        F = scores[i, 1] - scores[i, 0]
        log_cost = math.log(costs[i]) if costs[i] > 0 else -np.inf
        if codes[i] >= 0:
            labels[i] = codes[i]
            log_weights[i] = log_cost + (F if codes[i] == 0 else -F)
            losses[i] = math.exp(min(log_weights[i], LARGEST))
            continue
        q = expected[i]
        # exp(-qF) |q cosh F - sinh F| = exp(-qF + |F|) |(q - s) + (q + s) exp(-2|F|)| / 2, s the sign of F
        s = 1.0 if F >= 0 else -1.0
        shrunk = math.exp(-2.0 * abs(F))
        slope = (q - s) + (q + s) * shrunk
        common = log_cost - q * F + abs(F) - math.log(2.0)
        labels[i] = 1 if slope > 0 else 0
        log_weights[i] = -np.inf
        if slope != 0 and alpha > 0:
            log_weights[i] = math.log(alpha) + common + math.log(abs(slope))
        losses[i] = alpha * math.exp(min(common + math.log1p(shrunk), LARGEST))
