"""The primal-dual method of Chambolle and Pock, the rival of our proximal map of total variation."""

import numpy as np

from weakly._compile import njit
from weakly.graphs._edge_list import Edges
from weakly.solvers import SolverResult
from weakly.solvers._tv_kernels import CHECK_EVERY, assess, pull_back
from weakly.solvers._tv_prox import check_weight, solve_columns


def prox_total_variation_reference(
    edges: Edges, values: np.ndarray, *, weight: float = 1.0, tol: float = 1e-4, max_iter: int = 1000
) -> SolverResult:
    """Smooth columns of values over a graph by the accelerated primal-dual method ([tvsvm] section 2.3)."""
    check_weight(weight)
    norm_bound = np.sqrt(2.0 * max(edges.counts.max(initial=0), 1))  # of B
    return solve_columns(primal_dual, edges, values, weight, None, tol, max_iter, np.array([norm_bound]))


@njit
def _primal_dual_column(graph, v, bounds, steps, p, g, record, tol, max_iter):
    """Algorithm 2 of Chambolle and Pock (2011) with both steps 1 / ||B|| at the start."""
    heads, tails = graph
    tau = sigma = 1.0 / steps[0]
    g[:] = v
    ahead, pulled = g.copy(), np.empty_like(g)
    pull_back(graph, v, p, pulled)
    objective, gap = assess(graph, v, bounds, pulled, g)
    record[0], record[2] = objective, gap / max(objective, 1e-300)
    n_iter = 0
    while gap > tol * objective and n_iter < max_iter:
        for e in range(len(bounds)):
            moved = p[e] + sigma * (ahead[heads[e]] - ahead[tails[e]])
            p[e] = min(max(moved, -bounds[e]), bounds[e])
        theta = 1 / np.sqrt(1 + 2 * tau)
        pull_back(graph, v, p, pulled)
        for i in range(len(v)):
            moved = (g[i] + tau * pulled[i]) / (1 + tau)
            ahead[i] = moved + theta * (moved - g[i])
            g[i] = moved
        tau, sigma = theta * tau, sigma / theta
        n_iter += 1
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            objective, gap = assess(graph, v, bounds, pulled, g)
    record[1], record[3], record[4] = objective, gap / max(objective, 1e-300), n_iter


@njit(nogil=True)
def primal_dual(start, stop, graph, columns, bounds, steps, dual, result, records, tol, max_iter):
    for k in range(start, stop):
        _primal_dual_column(graph, columns[k], bounds, steps, dual[k], result[k], records[k], tol, max_iter)
