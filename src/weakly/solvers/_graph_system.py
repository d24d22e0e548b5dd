"""Linear systems on graphs, by conjugate gradients on all columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.rows._arrays import namespace, namespace_on, to_host


def conjugate_gradients(
    matrix: sp.csr_array,
    diagonal: np.ndarray,
    sources: np.ndarray,
    tol: float,
    max_iter: int,
    device: Any = None,
) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Solve ``A u = s`` from 0, scaled by a diagonal, and keep ``u'Au / 2 - s'u`` and the relative residual.

    ``A`` may be singular where the sources have no part in what it takes to 0. With a device all the work is
    done there; what is given and returned is on the host.
    """
    xp = namespace_on(device)
    matrix = xp.ordered_operator(matrix)
    diagonal, sources = xp.place(diagonal, np.float64)[:, None], xp.place(sources, np.float64)
    u, residual = 0 * sources, 1 * sources
    direction = residual / diagonal
    energy = first = xp.inner(residual, direction)
    history = [(0.0, float(first.any()))]
    while history[-1][1] > tol and len(history) <= max_iter:
        image = matrix @ direction
        # A column that has converged stands still: only rounding is left, and A may not hold constants back.
        active = energy > tol**2 * first
        length = positive_ratio(energy * active, xp.inner(direction, image))
        u += length * direction
        residual -= length * image
        scaled = residual / diagonal
        previous, energy = energy, xp.inner(residual, scaled)
        direction = scaled + positive_ratio(energy, previous) * direction
        objective = history[-1][0] - float((length * previous).sum()) / 2
        history.append((objective, float(positive_ratio(energy, first).max()) ** 0.5))
    return to_host(u), history


def positive_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Ratio of numbers that are positive, 0 where one of them is not."""
    xp, positive = namespace(a), (b > 0) & (a > 0)
    return xp.where(positive, a / xp.where(positive, b, 1), 0)
