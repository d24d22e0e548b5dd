"""The function of a space that lies nearest to given values, fast enough for every step of an iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla
from sklearn.utils import gen_batches

from weakly.rows._device import is_tensor
from weakly.spaces._base import KernelSpace, dense, not_a_kernel
from weakly.spaces._corrected import CorrectedSpace

_BLOCK = 512  # rows mirrored at a time

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
    if is_tensor(space.gram if isinstance(space, KernelSpace) else space.features):
        return _device_smoother(space, penalty, own_variance)
    if isinstance(space, KernelSpace):
        return _KernelSmoother(space, penalty, own_variance)
    return _CorrectedSmoother(space, penalty)


def _device_smoother(space: Any, penalty: float, own_variance: float) -> Any:
    from weakly.spaces._torch_smoother import CorrectedTensorSmoother, KernelTensorSmoother

    if isinstance(space, KernelSpace):
        return KernelTensorSmoother(space.gram, penalty, own_variance)
    return CorrectedTensorSmoother(space.features, space.variance, penalty)


class _KernelSmoother:
    """``G = I - p (K + p I)^-1`` as a matrix in float32: much faster than two triangular solves a step."""

    device = None

    def __init__(self, space: KernelSpace, penalty: float, own_variance: float) -> None:
        matrix = np.array(space.gram, dtype=np.float64, order="F")
        matrix.flat[:: space.n_rows + 1] += penalty + own_variance
        root, failed = sla.lapack.dpotrf(matrix, lower=True, clean=True, overwrite_a=True)
        if failed:
            raise not_a_kernel(float(np.abs(space.gram).max()) / penalty)
        # LAPACK's dpotri does the next two steps in one, but slowly.
        root, _ = sla.lapack.dtrtri(root, lower=True, overwrite_c=True)
        inverse = sla.blas.dsyrk(-penalty, root, trans=1, lower=1)
        inverse.flat[:: space.n_rows + 1] += 1
        self._matrix = _mirrored(inverse.astype(np.float32, order="C"))
        self._penalty = penalty

    @property
    def mean_leverage(self) -> float:
        """How much of its own value a row's score is, on average; near 0 for kernels of low rank."""
        return float(self._matrix.diagonal().mean())

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return (self._matrix @ values.astype(np.float32)).astype(values.dtype)

    def adapt(self, values: np.ndarray, rows: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        near = self._matrix[rows] @ values.astype(np.float32)
        values = values.copy()
        values[rows] += pull(near.astype(values.dtype))
        return values, self(values)

    def block(self, rows: np.ndarray) -> np.ndarray:
        return self._matrix[np.ix_(rows, rows)].astype(np.float64)

    def parameters(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return (values - scores) / self._penalty  # K theta + p theta = e


class _CorrectedSmoother:
    """The same for ``K = Z Z' + s I`` by Woodbury's identity: nothing n x n."""

    device = None

    def __init__(self, space: CorrectedSpace, penalty: float) -> None:
        self._features = Z = space.features
        total = space.variance + penalty
        gram = dense(Z.T @ Z).astype(np.float64)
        gram.flat[:: len(gram) + 1] += total
        self._cholesky = sla.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        self._share = penalty / total
        self._penalty = penalty

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self._scores(values, self._features, self._features.T @ values.astype(self._features.dtype))

    def adapt(self, values: np.ndarray, rows: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        Z = self._features
        inner = Z.T @ values.astype(Z.dtype)  # the long way through all rows, gone once
        values, change = values.copy(), pull(self._scores(values[rows], Z[rows], inner))
        values[rows] += change
        return values, self._scores(values, Z, inner + Z[rows].T @ change.astype(Z.dtype))

    def _scores(self, values: np.ndarray, Z: np.ndarray, inner: np.ndarray) -> np.ndarray:
        solved = sla.cho_solve(self._cholesky, inner, check_finite=False).astype(Z.dtype)
        return values - self._share * (values - Z @ solved)

    def block(self, rows: np.ndarray) -> np.ndarray:
        Z = dense(self._features[rows]).astype(np.float64)
        inside = self._share * (Z @ sla.cho_solve(self._cholesky, Z.T, check_finite=False))
        inside.flat[:: len(rows) + 1] += 1 - self._share
        return inside

    def parameters(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return (values - scores) / self._penalty


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Copy the lower half of a matrix to the upper one, in place and block by block."""
    for block in gen_batches(len(lower), _BLOCK):
        lower[block, block.stop :] = lower[block.stop :, block].T
        square = lower[block, block]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return lower
