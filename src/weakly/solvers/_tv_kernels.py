"""Compiled loops of the total variation prox: one column of values at a time.

``graph`` is (heads, tails) of :class:`Edges`; ``p`` is the dual point and changes
in place, ``g`` receives the result, ``record`` takes the objective at the start and at the end, the relative
gap likewise, and the iterations.
"""

import numpy as np

from weakly._compile import njit

CHECK_EVERY = 10  # iterations between two looks at the gap


@njit
def pull_back(graph, v, p, g):
    """``g = v - B'p``."""
    heads, tails = graph
    g[:] = v
    for e in range(len(p)):
        g[heads[e]] -= p[e]
        g[tails[e]] += p[e]


@njit
def assess(graph, v, bounds, pulled, g):
    """Objective at ``g`` and its excess over the dual objective at ``p``, given ``pulled = v - B'p``."""
    heads, tails = graph
    variation = 0.0
    for e in range(len(bounds)):
        variation += bounds[e] * abs(g[heads[e]] - g[tails[e]])
    distance = 0.0
    dual_objective = 0.0
    for i in range(len(v)):
        distance += (g[i] - v[i]) ** 2 / 2
        dual_objective += (v[i] ** 2 - pulled[i] ** 2) / 2
    objective = variation + distance
    return objective, max(objective - dual_objective, 0.0)


@njit
def _accelerated_column(graph, v, bounds, steps, p, g, record, tol, max_iter):
    heads, tails = graph
    ahead, costs = p.copy(), 1 / steps
    momentum = 1.0
    pull_back(graph, v, p, g)
    objective, gap = assess(graph, v, bounds, g, g)
    record[0], record[2] = objective, gap / max(objective, 1e-300)
    there, next_there = g.copy(), np.empty_like(g)  # v - B'ahead, and after the move
    n_iter = 0
    while gap > tol * objective and n_iter < max_iter:
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / next_momentum
        uphill = 0.0
        next_there[:] = v
        for e in range(len(bounds)):
            head, tail, here = heads[e], tails[e], ahead[e]
            moved = here + steps[e] * (there[head] - there[tail])
            moved = min(max(moved, -bounds[e]), bounds[e])
            change = moved - p[e]
            uphill += (here - moved) * change * costs[e]
            p[e] = moved
            here = moved + share * change
            ahead[e] = here
            next_there[head] -= here
            next_there[tail] += here
        momentum = next_momentum
        there, next_there = next_there, there
        if uphill > 0:  # gradient restart: the last move went against the momentum
            momentum = 1.0
            ahead[:] = p
            pull_back(graph, v, p, there)
        n_iter += 1
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            pull_back(graph, v, p, g)
            objective, gap = assess(graph, v, bounds, g, g)
    record[1], record[3], record[4] = objective, gap / max(objective, 1e-300), n_iter


@njit(nogil=True)
def accelerated(start, stop, graph, columns, bounds, steps, dual, result, records, tol, max_iter):
    for k in range(start, stop):
        _accelerated_column(graph, columns[k], bounds, steps, dual[k], result[k], records[k], tol, max_iter)
