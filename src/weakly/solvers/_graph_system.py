"""Linear systems on graphs, by conjugate gradients on all columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.rows._device import is_tensor, to_host


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
    diagonal = diagonal[:, None]
    if device is not None:
        from weakly.solvers._torch_system import DeviceMatrix

        matrix = DeviceMatrix(matrix, device)
        diagonal, sources = matrix.place(diagonal), matrix.place(sources)
    u, residual = 0 * sources, 1 * sources
    direction = residual / diagonal
    energy = first = _inner(residual, direction)
    history = [(0.0, float(first.any()))]
    while history[-1][1] > tol and len(history) <= max_iter:
        image = matrix @ direction
        # A column that has converged stands still: only rounding is left, and A may not hold constants back.
        active = energy > tol**2 * first
        length = _ratio(energy * active, _inner(direction, image))
        u += length * direction
        residual -= length * image
        scaled = residual / diagonal
        previous, energy = energy, _inner(residual, scaled)
        direction = scaled + _ratio(energy, previous) * direction
        objective = history[-1][0] - float((length * previous).sum()) / 2
        history.append((objective, float(_ratio(energy, first).max()) ** 0.5))
    return to_host(u), history


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(0) if is_tensor(a) else np.einsum("ij,ij->j", a, b)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if is_tensor(a):
        return (b > 0) * a / (b + (b <= 0) * (1 - b))  # over 1 where it is not positive
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
