"""Spaces whose matrices live on a device, through PyTorch.

They are the spaces of :mod:`weakly.spaces` and answer the same questions in the kind of array that they are
asked in: NumPy's arrays travel to the device and back, tensors stay there. A solver written for NumPy
therefore runs as it is, and one that begins with :meth:`TorchSpace.own` never leaves the device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from weakly.rows._device import dtype_of, is_tensor, to_device, to_host
from weakly.spaces._base import (
    BLOCK_ROWS,
    Factor,
    FeatureSpace,
    KernelSpace,
    ScoreFunction,
    dense,
    too_uneven,
)
from weakly.spaces._corrected import CorrectedSpace
from weakly.spaces._torch_algebra import TorchLaplacian, cholesky_factor, lu_factor, product


class TorchSpace:
    """What the three kinds share: a device, and the two kinds of array."""

    @property
    def matrix(self) -> Any:
        """The matrix on the device."""
        raise NotImplementedError

    @property
    def device(self) -> str:
        return str(self.matrix.device)

    def own(self, array: Any) -> Any:
        """Put an array where the space lives: numbers in the type of the space, indices as they are."""
        kind = None if dtype_of(array).kind in "iub" else dtype_of(self.matrix)
        return to_device(array, self.device, kind)

    def adopt(self, laplacian: Any) -> TorchLaplacian:
        """A Laplacian that multiplies where the space lives."""
        return TorchLaplacian.place(laplacian, self.device, dtype_of(self.matrix))

    def _answer(self, function: Callable[[Any], Any], array: Any) -> Any:
        """``function`` of the array on the device, in the kind of the array."""
        if is_tensor(array):
            return function(array)
        return to_host(function(to_device(array, self.device)))

    def _lines(self, matrix: Any, rows: Any) -> Any:
        return matrix if rows is None else matrix[self.own(rows)]

    def _inner(self, a: Any, b: Any) -> Any:
        return (a * b).sum(axis=0) if is_tensor(a) else np.einsum("i...,i...->...", a, b)


@dataclass(frozen=True, eq=False)
class TorchScoreFunction(ScoreFunction):
    """A function whose parameters and anchors live on a device; rows and scores are NumPy's.

    Parameters
    ----------
    feature_map : callable or None
        From rows on the device to what ``theta`` multiplies.
    theta : tensor of shape (n_params, n_columns)
        Parameters.
    shift : ndarray of shape (n_columns,) or float, default=0.0
        Added to the scores.
    """

    def __call__(self, X: Any) -> np.ndarray:
        """Score rows, a block at a time."""
        theta: Any = self.theta
        out = np.empty((X.shape[0], *theta.shape[1:]), dtype=dtype_of(theta))
        for block in gen_batches(X.shape[0], BLOCK_ROWS):
            rows = to_device(dense(X[block]), theta.device, dtype_of(theta))
            features = rows if self.feature_map is None else self.feature_map(rows)
            out[block] = to_host(features @ theta) + self.shift
        return out

    def to_numpy(self) -> ScoreFunction:
        """The same function in NumPy."""
        return ScoreFunction(host_map(self.feature_map), to_host(self.theta), self.shift)


@dataclass(frozen=True, eq=False)
class HostMap:
    """A map of rows that knows only NumPy, for rows on a device.

    Parameters
    ----------
    feature_map : callable
        The map.
    """

    feature_map: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        """Map rows on the host."""
        return to_device(self.feature_map(to_host(X)), X.device, dtype_of(X))


def host_map(feature_map: Any) -> Any:
    """The map of new rows in NumPy."""
    if isinstance(feature_map, HostMap):
        return feature_map.feature_map
    if feature_map is None:
        return None
    return replace(
        feature_map, anchors=to_host(feature_map.anchors), whitening=to_host(feature_map.whitening)
    )


@dataclass(frozen=True, eq=False)
class TorchKernelSpace(TorchSpace, KernelSpace):
    """Functions of an exact kernel, with the Gram matrix on a device.

    Parameters
    ----------
    gram : tensor of shape (n_rows, n_rows)
        Gram matrix of the training rows.
    feature_map : callable or None, default=None
        From new rows on the device to their kernel with the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from weakly.spaces import TorchKernelSpace
    >>> space = TorchKernelSpace(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> space.scores(np.array([1.0, 0.0])).tolist(), space.scores(torch.tensor([1.0, 0.0]))
    ([2.0, 1.0], tensor([2., 1.]))
    """

    @property
    def matrix(self) -> Any:
        return self.gram

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.gram)

    def scores(self, theta: Any, rows: Any = None) -> Any:
        """Values on the training rows, or on some of them."""
        return self._answer(lambda t: product(self._lines(self.gram, rows), t), theta)

    def inner(self, a: Any, b: Any, scores: Any = None) -> Any:
        """Column by column ``a' K b``; ``scores`` are those of ``b``, where the caller has them."""
        return self._inner(a, self.scores(b) if scores is None else scores)

    def function(self, theta: Any) -> ScoreFunction:
        """The function with these coefficients, for new rows."""
        return TorchScoreFunction(self.feature_map, self.own(theta))

    def factor(self, laplacian: Any, ambient: float, graph: float) -> Factor:
        """LU of ``T = a I + g L K``, which is symmetric only in the metric of the kernel."""
        matrix = self.adopt(laplacian) @ self.gram
        matrix.mul_(graph).diagonal().add_(ambient)
        solve = lu_factor(matrix)
        return Factor(lambda theta: self._answer(solve, theta))


@dataclass(frozen=True, eq=False)
class TorchFeatureSpace(TorchSpace, FeatureSpace):
    """Functions of explicit features on a device.

    Parameters
    ----------
    features : tensor of shape (n_rows, n_params)
        Features of the training rows.
    feature_map : callable or None, default=None
        Features of new rows on the device; by default the rows are their own features.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from weakly.spaces import TorchFeatureSpace
    >>> TorchFeatureSpace(torch.tensor([[1.0, 0.0], [1.0, 1.0]])).adjoint(np.array([1.0, 1.0])).tolist()
    [2.0, 1.0]
    """

    @property
    def matrix(self) -> Any:
        return self.features

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.features)

    def scores(self, theta: Any, rows: Any = None) -> Any:
        """Values on the training rows, or on some of them."""
        if rows is None:  # the type of the features, which are many
            return self._answer(lambda t: self.features @ t.to(self.features.dtype), theta)
        return self._answer(lambda t: product(self._lines(self.features, rows), t), theta)

    def adjoint(self, values: Any) -> Any:
        """Adjoint of ``scores``: ``Z' v``."""
        return self._answer(lambda v: (self.features.T @ v.to(self.features.dtype)).to(v.dtype), values)

    def inner(self, a: Any, b: Any, scores: Any = None) -> Any:
        """Column by column ``a' b``."""
        return self._inner(a, b)

    def function(self, theta: Any) -> ScoreFunction:
        """The function with these weights, for new rows."""
        return TorchScoreFunction(self.feature_map, self.own(theta))

    def representers(self, rows: np.ndarray) -> np.ndarray:
        """``A*`` of the indicators of some rows, in float64: their features."""
        return to_host(self._lines(self.features, rows)).T.astype(np.float64)

    def combined(self, mixing: np.ndarray, rows: np.ndarray | None = None) -> FeatureSpace:
        """The space of the features ``Z M`` in float64: of all rows on the device, of some on the host."""
        if rows is not None:
            return FeatureSpace(to_host(self._lines(self.features, rows)).astype(np.float64) @ mixing)
        return TorchFeatureSpace(product(self.features, to_device(mixing, self.device)))

    def factor(self, laplacian: Any, ambient: float, graph: float) -> Factor:
        """Cholesky of ``T = a I + g Z'LZ``, summed over blocks of rows in float64."""
        smoothed = self.adopt(laplacian) @ self.features
        matrix = to_device(np.zeros((self.n_params, self.n_params)), self.device)
        for block in gen_batches(self.n_rows, 8 * BLOCK_ROWS):
            matrix += self.features[block].T.double() @ smoothed[block].double()
        matrix.mul_(graph).diagonal().add_(ambient)
        factored = cholesky_factor(matrix)
        if factored is None:
            raise too_uneven(float(self.features.abs().max()), ambient, graph)
        solve, root_solve = factored
        return Factor(lambda theta: self._answer(solve, theta), lambda theta: self._answer(root_solve, theta))


@dataclass(frozen=True, eq=False)
class TorchCorrectedSpace(TorchSpace, CorrectedSpace):
    """Functions of features and a value of its own for every row, on a device.

    Parameters
    ----------
    features : tensor of shape (n_rows, n_features)
        Features of the training rows.
    variance : float
        Variance of the own values.
    feature_map : callable or None, default=None
        Features of new rows on the device.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from weakly.spaces import TorchCorrectedSpace
    >>> space = TorchCorrectedSpace(torch.tensor([[1.0], [2.0]]), 0.5)
    >>> space.scores(np.array([1.0, 0.0])).tolist()
    [1.5, 2.0]
    """

    @property
    def matrix(self) -> Any:
        return self.features

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.features)

    def induced(self, theta: Any) -> Any:
        """What the function says of the training rows as if they were new: the part of the features."""
        return self._answer(lambda t: self.features @ self._weights(t), theta)

    def inner(self, a: Any, b: Any, scores: Any = None) -> Any:
        """Column by column ``a' K b``; ``scores`` are those of ``b``, where the caller has them."""
        return self._inner(a, self.scores(b) if scores is None else scores)

    def function(self, theta: Any) -> ScoreFunction:
        """The function with these coefficients, for new rows."""
        return TorchScoreFunction(self.feature_map, self._weights(self.own(theta)))

    def _weights(self, theta: Any) -> Any:
        return self.features.T @ theta.to(self.features.dtype)
