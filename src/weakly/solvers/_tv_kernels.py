"""Compiled loops of the total variation prox: one column of values at a time.

``graph`` is (heads, tails, pointers, touching, signs) of :class:`Edges`; ``p`` is the dual point and changes
in place, ``g`` receives the result, ``record`` takes the objective at the start and at the end, the relative
gap likewise, and the iterations.
"""

import numba
import numpy as np

CHECK_EVERY = 10  # iterations between two looks at the gap


@numba.njit(cache=True)
def _pull_back(graph, v, p, g):
    """``g = v - B'p``."""
    _, _, pointers, touching, signs = graph
    for i in range(len(v)):
        total = v[i]
        for a in range(pointers[i], pointers[i + 1]):
            total -= signs[a] * p[touching[a]]
        g[i] = total


@numba.njit(cache=True)
def _assess(graph, v, bounds, p, g):
    """Objective at ``g`` and its excess over the dual objective at ``p``."""
    heads, tails, pointers, touching, signs = graph
    variation = 0.0
    for e in range(len(bounds)):
        variation += bounds[e] * abs(g[heads[e]] - g[tails[e]])
    distance = 0.0
    dual_objective = 0.0
    for i in range(len(v)):
        pulled = 0.0
        for a in range(pointers[i], pointers[i + 1]):
            pulled += signs[a] * p[touching[a]]
        distance += (g[i] - v[i]) ** 2 / 2
        dual_objective += v[i] * pulled - pulled**2 / 2
    objective = variation + distance
    return objective, max(objective - dual_objective, 0.0)


@numba.njit(cache=True)
def _accelerated_column(graph, v, bounds, steps, p, g, record, tol, max_iter):
    heads, tails, _, _, _ = graph
    n_edges = len(bounds)
    ahead = p.copy()
    momentum = 1.0
    _pull_back(graph, v, p, g)
    objective, gap = _assess(graph, v, bounds, p, g)
    record[0], record[2] = objective, gap / max(objective, 1e-300)
    n_iter = 0
    while gap > tol * objective and n_iter < max_iter:
        _pull_back(graph, v, ahead, g)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / next_momentum
        uphill = 0.0
        for e in range(n_edges):
            moved = ahead[e] + steps[e] * (g[heads[e]] - g[tails[e]])
            moved = min(max(moved, -bounds[e]), bounds[e])
            change = moved - p[e]
            uphill += (ahead[e] - moved) * change / steps[e]
            p[e] = moved
            ahead[e] = moved + share * change
        momentum = next_momentum
        if uphill > 0:  # gradient restart: the last move went against the momentum
            momentum = 1.0
            ahead[:] = p
        n_iter += 1
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            _pull_back(graph, v, p, g)
            objective, gap = _assess(graph, v, bounds, p, g)
    record[1], record[3], record[4] = objective, gap / max(objective, 1e-300), n_iter


@numba.njit(cache=True)
def _primal_dual_column(graph, v, bounds, steps, p, g, record, tol, max_iter):
    """Algorithm 2 of Chambolle and Pock (2011) with both steps 1 / ||B|| at the start."""
    heads, tails, pointers, touching, signs = graph
    tau = sigma = 1.0 / steps[0]
    g[:] = v
    ahead = g.copy()
    objective, gap = _assess(graph, v, bounds, p, g)
    record[0], record[2] = objective, gap / max(objective, 1e-300)
    n_iter = 0
    while gap > tol * objective and n_iter < max_iter:
        for e in range(len(bounds)):
            moved = p[e] + sigma * (ahead[heads[e]] - ahead[tails[e]])
            p[e] = min(max(moved, -bounds[e]), bounds[e])
        theta = 1 / np.sqrt(1 + 2 * tau)
        for i in range(len(v)):
            pulled = 0.0
            for a in range(pointers[i], pointers[i + 1]):
                pulled += signs[a] * p[touching[a]]
            moved = (g[i] - tau * pulled + tau * v[i]) / (1 + tau)
            ahead[i] = moved + theta * (moved - g[i])
            g[i] = moved
        tau, sigma = theta * tau, sigma / theta
        n_iter += 1
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            objective, gap = _assess(graph, v, bounds, p, g)
    record[1], record[3], record[4] = objective, gap / max(objective, 1e-300), n_iter


# Two loops and not one that takes the method: a function as an argument would defeat the cache on disk.


@numba.njit(parallel=True, cache=True)
def accelerated(graph, columns, bounds, steps, dual, result, records, tol, max_iter):
    for k in numba.prange(columns.shape[0]):
        _accelerated_column(graph, columns[k], bounds, steps, dual[k], result[k], records[k], tol, max_iter)


@numba.njit(parallel=True, cache=True)
def primal_dual(graph, columns, bounds, steps, dual, result, records, tol, max_iter):
    for k in numba.prange(columns.shape[0]):
        _primal_dual_column(graph, columns[k], bounds, steps, dual[k], result[k], records[k], tol, max_iter)
