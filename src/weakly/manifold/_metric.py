"""Smooth objectives over a deformed space, and their gradients in its own metric.

An objective is a loss of the scores of all rows plus half the squared norm of the space. Its gradient in the
metric of the space is ``u + A* loss'(f)``, and steps along it do not feel how ill-conditioned the kernel is.
A function is carried as its parameters ``theta``, their image ``T theta`` and the scores ``f``, side by side:
all three are linear, so that inner products, combinations and searches along a line cost no product with a
matrix. Only a gradient does: one solve with the factor of the space, and one product for its scores.

Two methods go down: L-BFGS, and accelerated gradients with restarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from weakly.manifold._metric_kernels import accumulate
from weakly.spaces import DeformedSpace

_LINE_STEPS = 30
_RETREAT = 0.3
ROUNDING = 1e-13  # of the objective, relative
_FLAT = 0.1  # share of the first slope that a search along a line may leave
_MEMORY = 8  # pairs that L-BFGS keeps
_NOISE = 1e-11  # of a gradient, relative to the function
_PATIENCE = 10  # steps in a row that gain nothing
_GROWTH, _RELIEF = 2.0, 0.9  # of the constant of the accelerated method, where it was too small and where not


class SlopedLoss(Protocol):
    """What descent asks of a loss of the scores of all samples, a column for each class."""

    def value(self, scores: np.ndarray) -> float: ...
    def slope(self, scores: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Element:
    """A function of the space: parameters, image and scores, one array below the other."""

    stack: np.ndarray
    n_params: int

    @property
    def theta(self) -> np.ndarray:
        return self.stack[: self.n_params]

    @property
    def image(self) -> np.ndarray:
        return self.stack[self.n_params : 2 * self.n_params]

    @property
    def scores(self) -> np.ndarray:
        return self.stack[2 * self.n_params :]

    def plus(self, other: Element, factor: float = 1.0) -> Element:
        """Sum with a multiple of another."""
        return Element(self.stack + factor * other.stack, self.n_params)

    def times(self, factor: float) -> Element:
        """A multiple."""
        return Element(factor * self.stack, self.n_params)

    def add(self, other: Element, factor: float) -> None:
        """Add a multiple of another in place."""
        accumulate(self.stack, other.stack, factor)


@dataclass(frozen=True, eq=False)
class MetricProblem:
    """Minimize ``loss(f) + ||f||^2 / 2`` over a deformed space, which is factored if it was not before."""

    space: DeformedSpace
    loss: SlopedLoss

    def element(self, theta: np.ndarray) -> Element:
        """The function with these parameters."""
        scores = self.space.scores(theta)
        return self._stack(theta, self.space.apply(theta, scores), scores)

    def inner(self, a: Element, b: Element) -> float:
        """Inner product of two functions, summed over their columns."""
        return float(self.space.base.inner(a.image, b.theta, b.scores).sum())

    def norm(self, u: Element) -> float:
        """Norm of a function."""
        return float(np.sqrt(max(self.inner(u, u), 0.0)))

    def value(self, u: Element) -> float:
        """The objective."""
        return self.loss.value(u.scores) + self.inner(u, u) / 2

    def gradient(self, u: Element) -> Element:
        """Its gradient in the metric of the space."""
        image = self.space.base.adjoint(self.loss.slope(u.scores))
        theta = u.theta + self.space.factor.solve(image)
        # Scores of the sum, not the sum of scores: near the minimum the two parts all but cancel.
        return self._stack(theta, u.image + image, self.space.scores(theta))

    def search(self, u: Element, direction: Element) -> float:
        """How far to go along a direction: until the slope has almost gone, by secants inside a bracket."""
        norm, across, curvature = self.inner(u, u), self.inner(u, direction), self.inner(direction, direction)

        def value(t: float) -> float:
            loss = self.loss.value(u.scores + t * direction.scores)
            return loss + (norm + 2 * t * across + t * t * curvature) / 2

        def slope(t: float) -> float:
            derivative = self.loss.slope(u.scores + t * direction.scores)
            return across + t * curvature + float(np.vdot(derivative, direction.scores))

        low, high = 0.0, np.inf
        low_slope, high_slope = slope(0.0), np.inf
        enough = _FLAT * abs(low_slope)
        t = 1.0
        for _ in range(_LINE_STEPS):
            now = slope(t)
            if abs(now) <= enough:
                break
            if now < 0:
                low, low_slope = t, now
            else:
                high, high_slope = t, now
            if np.isinf(high):
                t = 2 * t
            elif high_slope == low_slope:
                break
            else:
                t = low - low_slope * (high - low) / (high_slope - low_slope)
                margin = 0.1 * (high - low)  # secants may creep along one side
                t = min(max(t, low + margin), high - margin)
        before = value(0.0)
        for _ in range(_LINE_STEPS):  # where the objective is not convex, a slope may vanish higher up
            if value(t) <= before + ROUNDING * abs(before):
                break
            t = _RETREAT * t
        return t

    def _stack(self, theta: np.ndarray, image: np.ndarray, scores: np.ndarray) -> Element:
        # NumPy would keep the order of columns where all three have it, and sums run along rows.
        return Element(np.ascontiguousarray(np.vstack([theta, image, scores])), len(theta))


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
