"""A sparse matrix on a device, for products with columns that come out the same in every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from weakly.rows._device import to_device
from weakly.solvers._torch_graph import segment_sums

_ENTRIES = 2**26  # products of entries and columns held at a time: 512 MB


class DeviceMatrix:
    """A CSR matrix whose rows are summed in order, which the sparse product of CUDA does not promise."""

    def __init__(self, matrix: sp.csr_array, device: Any) -> None:
        self._values = to_device(matrix.data, device, np.float64)[:, None]
        self._columns = to_device(matrix.indices, device, np.int64)
        self._starts = to_device(matrix.indptr, device, np.int64)

    def place(self, values: np.ndarray) -> Tensor:
        """Values as a tensor of float64 beside the matrix."""
        placed: Tensor = to_device(values, self._values.device, np.float64)
        return placed

    def __matmul__(self, columns: Tensor) -> Tensor:
        n_columns = max(_ENTRIES // max(len(self._values), 1), 1)
        parts = [self._product(part) for part in columns.split(n_columns, dim=1)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def _product(self, columns: Tensor) -> Tensor:
        return segment_sums(self._values * columns.index_select(0, self._columns), self._starts)
