"""Two methods for smooth objectives over a space: L-BFGS, and accelerated gradients with restarts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weakly.manifold._metric import ROUNDING, Element, MetricProblem

_MEMORY = 8  # pairs that L-BFGS keeps
_NOISE = 1e-11  # of a gradient, relative to the function
_PATIENCE = 10  # steps in a row that gain nothing
_GROWTH, _RELIEF = 2.0, 0.9  # of the constant of the accelerated method, where it was too small and where not

History = list[tuple[float, float]]
Watch = Callable[[Element], object]


def descend_lbfgs(
    problem: MetricProblem, u: Element, scale: float, tol: float, max_iter: int, watch: Watch
) -> tuple[Element, History, str]:
    """Minimise by L-BFGS with inner products of the space; objective and relative gradient after each step.

    ``scale`` is the norm that gradients are compared with. ``watch`` sees every iterate and ends the method
    where it returns True.
    """
    gradient = problem.gradient(u)
    history = [(problem.value(u), problem.norm(gradient) / scale)]
    pairs: list[tuple[Element, Element, float]] = []
    n_flat = 0
    while history[-1][1] > tol and len(history) <= max_iter:
        direction = _two_loops(problem, gradient, pairs)
        step = direction.times(problem.search(u, direction))
        moved = u.plus(step)
        value, ahead = problem.value(moved), problem.gradient(moved)
        criterion = problem.norm(ahead) / scale
        # At last the objective is flat but for rounding, and the gradient alone can tell.
        is_flat = value >= history[-1][0] - ROUNDING * abs(value) and criterion >= history[-1][1]
        n_flat = n_flat + 1 if is_flat else 0
        if n_flat == _PATIENCE:
            return u, history, "stalled"
        before, u, gradient = gradient, moved, ahead
        change = gradient.plus(before, -1.0)
        curvature = problem.inner(step, change)
        # A change that is mostly rounding would send the next steps far away and back.
        if curvature > 0 and problem.inner(change, change) > _NOISE**2 * problem.inner(u, u):
            pairs = [*pairs, (step, change, curvature)][-_MEMORY:]
        history.append((min(value, history[-1][0]), criterion))
        if watch(u):
            return u, history, "stopped"
    return u, history, "converged" if history[-1][1] <= tol else "max_iter"


def _two_loops(
    problem: MetricProblem, gradient: Element, pairs: list[tuple[Element, Element, float]]
) -> Element:
    """Minus the gradient, times the inverse Hessian that the last steps suggest."""
    direction, shares = gradient.times(-1.0), []
    for step, change, curvature in reversed(pairs):
        share = problem.inner(step, direction) / curvature
        direction.add(change, -share)
        shares.append(share)
    if pairs:
        _, change, curvature = pairs[-1]
        direction = direction.times(curvature / problem.inner(change, change))
    for (step, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction.add(step, share - problem.inner(change, direction) / curvature)
    return direction


def descend_accelerated(
    problem: MetricProblem, u: Element, scale: float, tol: float, max_iter: int, watch: Watch
) -> tuple[Element, History, str]:
    """Minimise by accelerated gradients, the constant found on the way, with restarts where it would rise."""
    gradient = problem.gradient(u)
    history = [(problem.value(u), problem.norm(gradient) / scale)]
    ahead, ahead_gradient, momentum, constant = u, gradient, 1.0, 1.0
    while history[-1][1] > tol and len(history) <= max_iter:
        value, squared = problem.value(ahead), problem.inner(ahead_gradient, ahead_gradient)
        while True:
            moved = ahead.plus(ahead_gradient, -1 / constant)
            reached = problem.value(moved)
            if reached <= value - squared / (2 * constant) + ROUNDING * abs(value):
                break
            constant *= _GROWTH
        if reached > history[-1][0] + ROUNDING * abs(reached):
            if ahead is u:
                return u, history, "stalled"
            ahead, ahead_gradient, momentum = u, gradient, 1.0  # restart from the last point
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        before, u = u, moved
        gradient = problem.gradient(u)
        history.append((min(reached, history[-1][0]), problem.norm(gradient) / scale))
        if watch(u):
            return u, history, "stopped"
        share = (momentum - 1) / grown
        ahead = u.plus(u.plus(before, -1.0), share)
        ahead_gradient, momentum, constant = problem.gradient(ahead), grown, _RELIEF * constant
    return u, history, "converged" if history[-1][1] <= tol else "max_iter"
