"""Compiled passes of coordinate descent on the linear dual of the absolute loss: cost in non-zeros.

Rows and mean are as in :mod:`weakly.solvers._linear_kernels`: scores are ``f_i = (v - s m)'(x_i - m) + s c``
with ``s`` the sum of the coefficients, kept in ``sums`` with ``v'm``. The multiplier ``bias`` of ``s = 0`` is
taken from the targets.
"""

from weakly._compile import njit
from weakly.solvers._box_kernels import shuffle


@njit
def absolute_pass(rows, center, active, n_active, targets, bias, C, curvature, beta, v, sums, limit, state):
    """One pass over the active rows; rows that are surely at a bound are set aside.

    Returns the largest derivative that a coefficient could follow and how many rows stay active.
    """
    data, indices, indptr = rows
    along, level = center
    s, offset = sums
    violation = 0.0
    state = shuffle(active[:n_active], state)
    k = 0
    while k < n_active:
        i = active[k]
        f = level * s - s * along[i] - offset
        for e in range(indptr[i], indptr[i + 1]):
            f += v[indices[e]] * data[e]
        slope, a = targets[i] - bias - f, beta[i]
        if (a == C and slope > limit) or (a == -C and slope < -limit):
            n_active -= 1
            active[k], active[n_active] = active[n_active], active[k]
            continue
        k += 1
        moved = min(max(a + slope / curvature[i], -C), C)
        change = moved - a
        if change == 0.0:
            continue
        violation = max(violation, abs(slope))
        beta[i] = moved
        s += change
        offset += change * along[i]
        for e in range(indptr[i], indptr[i + 1]):
            v[indices[e]] += change * data[e]
    sums[0], sums[1] = s, offset
    return violation, n_active, state
