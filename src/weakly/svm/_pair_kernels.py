"""Compiled passes of coordinate descent on duals of a multi-class machine, over pairs of classes.

A pair (p, q) of a row has one variable ``b`` in [-u_q, u_p], with ``u`` the costs of the row: the difference
of the two multipliers of [plsvm] Eq. (8), whose sum is at best ``u_p + u_q - |b - (u_p - u_q)|``. ``pairs``
is (first, second, pointers): the classes of all pairs, and where those of each row begin. Scores of a row sum
to 0 over the classes, so that the last class need not be kept.
"""

import numpy as np

from weakly._compile import njit


@njit
def _settle(pairs, i, b, costs, f, diagonal, n_sweeps):
    """Solve for one pair of a row after the other, on its scores ``f``; return whether any changed."""
    first, second, pointers = pairs
    reach = 0.5 / diagonal  # of the slope 1 on either side of the kink
    moved = False
    for _ in range(n_sweeps):
        is_quiet = True
        for e in range(pointers[i], pointers[i + 1]):
            p, q = first[e], second[e]
            upper, lower = costs[p], -costs[q]
            kink = upper + lower
            target = b[e] - (f[p] - f[q]) * reach
            if target + reach < kink:
                target += reach
            elif target - reach > kink:
                target -= reach
            else:
                target = kink
            step = min(max(target, lower), upper) - b[e]
            if step != 0.0:
                b[e] += step
                f[p] += step * diagonal
                f[q] -= step * diagonal
                is_quiet = False
        if is_quiet:
            break
        moved = True
    return moved


@njit
def _complete(known, f):
    """Scores of all classes from those of all but the last."""
    last = 0.0
    for c in range(len(known)):
        f[c] = known[c]
        last -= known[c]
    f[-1] = last


@njit
def pair_terms(pairs, b, costs, scores):
    """Sums over all rows: the loss, what the variables add to the dual objective, and the squared norm."""
    first, second, pointers = pairs
    f = np.empty(costs.shape[1])
    loss = gain = norm = 0.0
    for i in range(len(costs)):
        _complete(scores[:, i], f)
        for e in range(pointers[i], pointers[i + 1]):
            p, q = first[e], second[e]
            u, v, z = costs[i, p], costs[i, q], f[p] - f[q]
            loss += u * max(1.0 - z, 0.0) + v * max(1.0 + z, 0.0)
            gain += u + v - abs(b[e] - (u - v))
            norm += b[e] * z
    return loss, gain, norm


@njit
def coefficients_of(pairs, b, n_classes):
    """Coefficient of each row in the function of each class."""
    first, second, pointers = pairs
    beta = np.zeros((len(pointers) - 1, n_classes))
    for i in range(len(beta)):
        for e in range(pointers[i], pointers[i + 1]):
            beta[i, first[e]] += b[e]
            beta[i, second[e]] -= b[e]
    return beta


@njit
def kernel_pass(gram, diagonal, order, pairs, b, costs, scores, n_sweeps):
    """One pass over rows with a Gram matrix, to which 1 is added for the intercept; ``scores`` are kept."""
    n_classes = costs.shape[1]
    f = np.empty(n_classes)
    for i in order:
        _complete(scores[:, i], f)
        if not _settle(pairs, i, b, costs[i], f, diagonal[i], n_sweeps):
            continue
        row = gram[i]
        for c in range(n_classes - 1):
            step = (f[c] - scores[c, i]) / diagonal[i]
            if step != 0.0:
                line = scores[c]
                for j in range(len(row)):
                    line[j] += step * (row[j] + 1.0)


@njit
def linear_pass(rows, diagonal, order, pairs, b, costs, W, intercept, n_sweeps):
    """One pass over CSR rows (data, indices, indptr), with a line of ``W`` for every feature."""
    data, indices, indptr = rows
    n_classes = costs.shape[1]
    f, known = np.empty(n_classes), np.empty(n_classes - 1)
    for i in order:
        known[:] = intercept
        for e in range(indptr[i], indptr[i + 1]):
            line, value = W[indices[e]], data[e]
            for c in range(n_classes - 1):
                known[c] += value * line[c]
        _complete(known, f)
        if not _settle(pairs, i, b, costs[i], f, diagonal[i], n_sweeps):
            continue
        step = known
        for c in range(n_classes - 1):
            step[c] = (f[c] - known[c]) / diagonal[i]
            intercept[c] += step[c]
        for e in range(indptr[i], indptr[i + 1]):
            line, value = W[indices[e]], data[e]
            for c in range(n_classes - 1):
                line[c] += value * step[c]
