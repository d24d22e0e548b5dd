"""The function of a space that lies nearest to given values, fast enough for every step of an iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from weakly.rows._arrays import cast, dense, dtype_of, namespace, to_host
from weakly.spaces._base import KernelSpace, not_a_kernel
from weakly.spaces._corrected import CorrectedSpace

Pull = Callable[[np.ndarray], np.ndarray]


class Smoother(Protocol):
    """The map from values ``e`` of all rows to the scores of ``argmin_f ||f - e||^2 / 2 + p ||f||^2 / 2``.

    It is ``G = K (K + p I)^-1`` with the kernel ``K`` of the space, own values included. ``adapt`` changes
    the values of some rows first, by what ``pull`` makes of the scores they would get, and returns the new
    values with their scores. ``device`` is where values must be, ``None`` for arrays of NumPy.
    """

    @property
    def device(self) -> Any: ...
    def __call__(self, values: np.ndarray) -> np.ndarray: ...
    def adapt(self, values: np.ndarray, rows: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]: ...
    def block(self, rows: np.ndarray) -> np.ndarray: ...
    def parameters(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray: ...


def build_smoother(
    space: KernelSpace | CorrectedSpace, penalty: float, *, own_variance: float = 0.0
) -> Smoother:
    """Factor a space once for all steps of an iteration.

    Parameters
    ----------
    space : KernelSpace or CorrectedSpace
        The space.
    penalty : float
        Weight ``p`` of the norm, positive.
    own_variance : float, default=0.0
        Variance of a value of its own for every row, beside its scores by an exact kernel; a
        :class:`CorrectedSpace` has its own.

    Returns
    -------
    Smoother
        From values to scores; of a space on a device, from tensors to tensors there.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import KernelSpace, build_smoother
    >>> smooth = build_smoother(KernelSpace(3 * np.eye(2)), penalty=1.0)
    >>> smooth(np.array([[4.0], [8.0]])).ravel().tolist()
    [3.0, 6.0]
    """
    if not 0 < penalty < np.inf:
        raise ValueError(f"penalty is {penalty}: the weight of the norm must be a positive number.")
    if isinstance(space, KernelSpace):
        return _KernelSmoother(space, penalty, own_variance)
    return _CorrectedSmoother(space, penalty)


class _KernelSmoother:
    """``G = I - p (K + p I)^-1`` as a matrix in float32: much faster than two triangular solves a step."""

    def __init__(self, space: KernelSpace, penalty: float, own_variance: float) -> None:
        xp = space.xp
        matrix = xp.resolvent(space.gram, penalty + own_variance, scale=-penalty, dtype=np.float32)
        if matrix is None:
            raise not_a_kernel(xp.largest(space.gram) / penalty)
        self._matrix, self._penalty, self.device = matrix, penalty, xp.device

    @property
    def mean_leverage(self) -> float:
        """How much of its own value a row's score is, on average; near 0 for kernels of low rank."""
        return float(self._matrix.diagonal().mean())

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return cast(self._matrix @ cast(values, np.float32), dtype_of(values))

    def adapt(self, values: np.ndarray, rows: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        near = self._matrix[namespace(values).place(rows)] @ cast(values, np.float32)
        values, _ = _pulled(values, rows, pull, near)
        return values, self(values)

    def block(self, rows: np.ndarray) -> np.ndarray:
        at = namespace(self._matrix).place(rows)
        return to_host(cast(self._matrix[at[:, None], at], np.float64))

    def parameters(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return (values - scores) / self._penalty  # K theta + p theta = e


class _CorrectedSmoother:
    """The same for ``K = Z Z' + s I`` by Woodbury's identity: nothing n x n."""

    def __init__(self, space: CorrectedSpace, penalty: float) -> None:
        self._features, self._penalty, self.device = space.features, penalty, space.xp.device
        total = space.variance + penalty
        gram = cast(dense(space.features.T @ space.features), np.float64)
        space.xp.add_diagonal(gram, total)
        factored = space.xp.cholesky_factor(gram)
        if factored is None:
            raise not_a_kernel(space.mean_square / penalty)
        self._solve, self._share = factored[0], penalty / total

    def __call__(self, values: np.ndarray) -> np.ndarray:
        Z = self._features
        return self._scores(values, Z, Z.T @ cast(values, dtype_of(Z)))

    def adapt(self, values: np.ndarray, rows: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        Z, at = self._features, namespace(values).place(rows)
        inner = Z.T @ cast(values, dtype_of(Z))  # the long way through all rows, gone once
        values, change = _pulled(values, rows, pull, self._scores(values[at], Z[at], inner))
        return values, self._scores(values, Z, inner + Z[at].T @ cast(change, dtype_of(Z)))

    def _scores(self, values: np.ndarray, Z: Any, inner: np.ndarray) -> np.ndarray:
        return values - self._share * (values - Z @ cast(self._solve(inner), dtype_of(Z)))

    def block(self, rows: np.ndarray) -> np.ndarray:
        Z = dense(to_host(self._features[namespace(self._features).place(rows)])).astype(np.float64)
        inside = self._share * (Z @ self._solve(Z.T))
        inside.flat[:: len(rows) + 1] += 1 - self._share
        return inside

    def parameters(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return (values - scores) / self._penalty


def _pulled(
    values: np.ndarray, rows: np.ndarray, pull: Pull, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values with what labeled samples make of their scores, and this change.

    They are few: wherever the values are, ``pull`` is asked on the host.
    """
    xp = namespace(values)
    change = xp.place(pull(to_host(cast(near, dtype_of(values)))), dtype_of(values))
    values = xp.copy(values)
    values[xp.place(rows)] += change
    return values, change
