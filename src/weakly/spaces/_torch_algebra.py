"""Algebra on a device: Laplacians, products of mixed types, factorisations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.graphs._anchors import AnchorLaplacian
from weakly.rows._device import import_torch, is_tensor, to_device

Solve = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class TorchLaplacian:
    """A Laplacian that multiplies arrays of NumPy on the host and tensors on a device.

    Parameters
    ----------
    host : csr_array or AnchorLaplacian of shape (n_rows, n_rows)
        The Laplacian.
    placed : callable
        Its product with a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.spaces._torch_algebra import TorchLaplacian
    >>> laplacian = TorchLaplacian.place(sp.csr_array([[1.0, -1.0], [-1.0, 1.0]]), "cpu", np.float64)
    >>> (laplacian @ np.array([[1.0], [0.0]])).ravel().tolist()
    [1.0, -1.0]
    """

    host: Any
    placed: Callable[[Any], Any]

    @classmethod
    def place(cls, laplacian: Any, device: str, dtype: Any) -> TorchLaplacian:
        """Put a Laplacian on a device, in the type of what it will multiply."""
        if isinstance(laplacian, cls):
            return laplacian
        if isinstance(laplacian, AnchorLaplacian):
            return cls(laplacian, _anchor_product(laplacian, device, dtype))
        matrix = _sparse_tensor(laplacian, device, dtype)
        return cls(laplacian, lambda values: (matrix @ values.to(matrix.dtype)).to(values.dtype))

    @property
    def shape(self) -> tuple[int, int]:
        return self.host.shape

    def __matmul__(self, values: Any) -> Any:
        if not is_tensor(values):
            return self.host @ values
        return self.placed(values)


def _sparse_tensor(matrix: Any, device: str, dtype: Any) -> Any:
    torch = import_torch()
    matrix = sp.csr_array(matrix)
    kind = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    parts = (matrix.indptr.astype(kind), matrix.indices.astype(kind), matrix.data.astype(dtype))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            *(to_device(part, device) for part in parts), size=matrix.shape, check_invariants=False
        )


def _anchor_product(laplacian: AnchorLaplacian, device: str, dtype: Any) -> Callable[[Any], Any]:
    weights = _sparse_tensor(laplacian.weights, device, dtype)
    turned = _sparse_tensor(laplacian.weights.T, device, dtype)
    masses = to_device(np.where(laplacian.masses > 0, laplacian.masses, 1), device, dtype)[:, None]
    own = to_device(np.broadcast_to(laplacian.own, laplacian.shape[:1]), device, dtype)[:, None]

    def product_of(values: Any) -> Any:
        columns = (values[:, None] if values.ndim == 1 else values).to(weights.dtype)
        image = own * columns - laplacian.shared * (weights @ ((turned @ columns) / masses))
        return image.reshape(values.shape).to(values.dtype)

    return product_of


def product(matrix: Any, values: Any) -> Any:
    """Product of tensors in the wider of their types."""
    torch = import_torch()
    kind = torch.promote_types(matrix.dtype, values.dtype)
    return matrix.to(kind) @ values.to(kind)


def lu_factor(matrix: Any) -> Solve:
    """LU of a matrix, as a function that solves with it."""
    torch = import_torch()
    lu, pivots = torch.linalg.lu_factor(matrix.double())
    return _columnwise(lambda values: torch.linalg.lu_solve(lu, pivots, values))


def cholesky_factor(matrix: Any) -> tuple[Solve, Solve] | None:
    """Cholesky of a matrix ``C C'``, as functions that solve with it and with ``C``; ``None`` without one."""
    torch = import_torch()
    root, failed = torch.linalg.cholesky_ex(matrix.double())
    if bool(failed):
        return None
    return (
        _columnwise(lambda values: torch.cholesky_solve(values, root)),
        _columnwise(lambda values: torch.linalg.solve_triangular(root, values, upper=False)),
    )


def _columnwise(solve: Solve) -> Solve:
    """Solve in float64 for a single vector as well."""

    def solve_any(values: Any) -> Any:
        columns = values.double()
        return solve(columns[:, None])[:, 0] if columns.ndim == 1 else solve(columns)

    return solve_any
