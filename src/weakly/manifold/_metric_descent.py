"""Two methods for smooth objectives over a space: L-BFGS, and accelerated gradients with restarts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weakly.manifold._metric import ROUNDING, Element, MetricProblem

_MEMORY = 8  # pairs that L-BFGS keeps
_NOISE = 1e-11  # of a gradient, relative to the function
_PATIENCE = 10  # steps in a row that gain nothing
_GROWTH, _RELIEF = 2.0, 0.9  # of the constant of the accelerated method, where it was too small and where not

Iterates = Iterator[tuple[Element, float, float]]  # points, lowest objectives and relative gradients


def descend_lbfgs(problem: MetricProblem, u: Element, scale: float) -> Iterates:
    """Minimize by L-BFGS with inner products of the space; ``scale`` is what gradients are compared with."""
    gradient = problem.gradient(u)
    lowest, criterion = problem.value(u), problem.norm(gradient) / scale
    yield u, lowest, criterion
    pairs: list[tuple[Element, Element, float]] = []
    n_flat = 0
    while n_flat < _PATIENCE:
        direction = _two_loops(problem, gradient, pairs)
        step = direction.times(problem.search(u, direction))
        moved = u.plus(step)
        value, ahead, last = problem.value(moved), problem.gradient(moved), criterion
        criterion = problem.norm(ahead) / scale
        # At last the objective is flat but for rounding, and the gradient alone can tell.
        is_flat = value >= lowest - ROUNDING * abs(value) and criterion >= last
        n_flat, lowest = n_flat + 1 if is_flat else 0, min(value, lowest)
        change = ahead.plus(gradient, -1.0)
        curvature = problem.inner(step, change)
        # A change that is mostly rounding would send the next steps far away and back.
        if curvature > 0 and problem.inner(change, change) > _NOISE**2 * problem.inner(moved, moved):
            pairs = [*pairs, (step, change, curvature)][-_MEMORY:]
        u, gradient = moved, ahead
        yield u, lowest, criterion


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


def descend_accelerated(problem: MetricProblem, u: Element, scale: float) -> Iterates:
    """Minimize by accelerated gradients, the constant found on the way, with restarts where it would rise."""
    gradient, lowest = problem.gradient(u), problem.value(u)
    yield u, lowest, problem.norm(gradient) / scale
    ahead, ahead_gradient, momentum, constant = u, gradient, 1.0, 1.0
    while True:
        value, squared = problem.value(ahead), problem.inner(ahead_gradient, ahead_gradient)
        while True:
            moved = ahead.plus(ahead_gradient, -1 / constant)
            reached = problem.value(moved)
            if reached <= value - squared / (2 * constant) + ROUNDING * abs(value):
                break
            constant *= _GROWTH
        if reached > lowest + ROUNDING * abs(reached):
            if ahead is u:
                return
            ahead, ahead_gradient, momentum = u, gradient, 1.0  # restart from the last point
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        before, u, lowest = u, moved, min(reached, lowest)
        gradient = problem.gradient(u)
        yield u, lowest, problem.norm(gradient) / scale
        share = (momentum - 1) / grown
        ahead = u.plus(u.plus(before, -1.0), share)
        ahead_gradient, momentum, constant = problem.gradient(ahead), grown, _RELIEF * constant
