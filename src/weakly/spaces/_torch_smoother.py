"""Smoothers of spaces whose matrices live on a device: from tensors to tensors.

What a step asks of the labelled rows, which are few, is answered on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weakly.rows._device import to_device
from weakly.spaces._base import not_a_kernel

Pull = Callable[[np.ndarray], np.ndarray]


class KernelTensorSmoother:
    """``G = I - p (K + p I)^-1`` as a matrix in float32, as on the host."""

    def __init__(self, gram: Tensor, penalty: float, own_variance: float) -> None:
        matrix = gram.to(torch.float64, copy=True)
        matrix.diagonal().add_(penalty + own_variance)
        root, failed = torch.linalg.cholesky_ex(matrix)
        del matrix
        if bool(failed):
            raise not_a_kernel(float(gram.abs().max()) / penalty)
        inverse = torch.cholesky_inverse(root)
        del root
        inverse.mul_(-penalty).diagonal().add_(1)
        self._matrix = inverse.to(torch.float32)
        self._penalty = penalty

    @property
    def device(self) -> torch.device:
        return self._matrix.device

    @property
    def mean_leverage(self) -> float:
        """How much of its own value a row's score is, on average; near 0 for kernels of low rank."""
        return float(self._matrix.diagonal().mean())

    def __call__(self, values: Tensor) -> Tensor:
        return (self._matrix @ values.to(torch.float32)).to(values.dtype)

    def adapt(self, values: Tensor, rows: np.ndarray, pull: Pull) -> tuple[Tensor, Tensor]:
        at = to_device(rows, self.device)
        near = self._matrix[at] @ values.to(torch.float32)
        values = values.index_add(0, at, _pulled(pull, near, values))
        return values, self(values)

    def block(self, rows: np.ndarray) -> np.ndarray:
        at = to_device(rows, self.device)
        inside: np.ndarray = self._matrix[at[:, None], at].to(torch.float64).cpu().numpy()
        return inside

    def parameters(self, values: Tensor, scores: Tensor) -> Tensor:
        return (values - scores) / self._penalty


class CorrectedTensorSmoother:
    """The same for ``K = Z Z' + s I`` by Woodbury's identity: nothing n x n."""

    def __init__(self, features: Tensor, variance: float, penalty: float) -> None:
        self._features = features
        total = variance + penalty
        gram = (features.T @ features).to(torch.float64)
        gram.diagonal().add_(total)
        self._root = torch.linalg.cholesky(gram)
        self._share = penalty / total
        self._penalty = penalty

    @property
    def device(self) -> torch.device:
        return self._features.device

    def __call__(self, values: Tensor) -> Tensor:
        Z = self._features
        return self._scores(values, Z, Z.T @ values.to(Z.dtype))

    def adapt(self, values: Tensor, rows: np.ndarray, pull: Pull) -> tuple[Tensor, Tensor]:
        Z, at = self._features, to_device(rows, self.device)
        inner = Z.T @ values.to(Z.dtype)  # the long way through all rows, gone once
        change = _pulled(pull, self._scores(values[at], Z[at], inner), values)
        values = values.index_add(0, at, change)
        return values, self._scores(values, Z, inner + Z[at].T @ change.to(Z.dtype))

    def _scores(self, values: Tensor, Z: Tensor, inner: Tensor) -> Tensor:
        solved = torch.cholesky_solve(inner.to(torch.float64), self._root).to(Z.dtype)
        return values - self._share * (values - (Z @ solved).to(values.dtype))

    def block(self, rows: np.ndarray) -> np.ndarray:
        Z = self._features[to_device(rows, self.device)].to(torch.float64)
        inside: Any = self._share * (Z @ torch.cholesky_solve(Z.T, self._root))
        inside.diagonal().add_(1 - self._share)
        return inside.cpu().numpy()

    def parameters(self, values: Tensor, scores: Tensor) -> Tensor:
        return (values - scores) / self._penalty


def _pulled(pull: Pull, near: Tensor, values: Tensor) -> Tensor:
    """What the labelled rows make of their scores, found on the host."""
    change = pull(near.to(values.dtype).cpu().numpy())
    pulled: Tensor = to_device(change, values.device).to(values.dtype)
    return pulled
