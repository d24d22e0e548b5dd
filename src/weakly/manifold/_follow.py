"""The loop around the iterations of this package: a history, a tolerance, a callback, and interrupts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Point = TypeVar("Point")
History = list[tuple[float, float]]


def follow(
    iterates: Iterator[tuple[Point, float, float]],
    tol: float,
    max_iter: int,
    watch: Callable[[Point], object] | None = None,
) -> tuple[Point, History, str]:
    """Follow points with their objectives and criteria until the criterion is at most ``tol``.

    The first is where the iteration starts. It also ends after ``max_iter`` more, where ``watch`` returns
    True or the user interrupts it, and as "stalled" where there are no more. Returns the last point, the
    objectives and criteria of all, and the status.
    """
    point, *entry = next(iterates)
    history = [(entry[0], entry[1])]
    try:
        while history[-1][1] > tol and len(history) <= max_iter:
            found = next(iterates, None)
            if found is None:
                return point, history, "stalled"
            point, value, criterion = found
            history.append((value, criterion))
            if watch is not None and watch(point):
                return point, history, "stopped"
    except KeyboardInterrupt:
        return point, history, "interrupted"
    return point, history, "converged" if history[-1][1] <= tol else "max_iter"
