"""PyTorch, imported only where a device is asked for: its devices, and the algebra on them.

Estimators hold samples, labels and coefficients as NumPy arrays; spaces and the neighbor search put what is
large on a device.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.rows._arrays import Solve, dense, is_tensor, to_host

_KINDS = ("cpu", "cuda")  # others lack float64
_ENTRIES = 2**26  # products of entries and columns held at a time: 512 MB


def import_torch(why: str = "device") -> Any:
    """Import PyTorch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{why} needs PyTorch: pip install 'weakly[gpu]'") from None
    return torch


def existing_device(device: Any) -> str:
    """Name of a device, or an error where it cannot be used."""
    torch = import_torch(f"device={str(device)!r}")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise ValueError(f"device is {device!r}: {_present(torch)}.") from None
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found.type not in _KINDS or (found.type == "cuda" and (found.index or 0) >= n_cuda):
        raise ValueError(f"device is {str(device)!r}, which cannot be used here: {_present(torch)}.")
    if found.type == "cuda":
        index = torch.cuda.current_device() if found.index is None else found.index
        return f"cuda:{index}"
    return "cpu"


def _present(torch: Any) -> str:
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ["None", "'cpu'", *(f"'cuda:{index}'" for index in range(n_cuda))]
    without = "" if n_cuda else "; PyTorch finds no CUDA device"
    return f"use {', '.join(names[:-1])} or {names[-1]}{without}"


def to_device(array: Any, device: Any, dtype: Any = None) -> Any:
    """Tensor on a device, of the type of the array or of a type in NumPy's words."""
    torch = import_torch()
    kind = None if dtype is None else getattr(torch, np.dtype(dtype).name)
    if not is_tensor(array):
        array = np.ascontiguousarray(array)
        array = torch.from_numpy(array if array.flags.writeable else array.copy())
    return array.to(device=device, dtype=kind)


def follow(result: Any, X: Any) -> Any:
    """Result in the kind of array that the user's rows are; text, which no tensor holds, stays NumPy's."""
    if not is_tensor(X) or result.dtype.kind not in "biuf":
        return result
    return to_device(result, X.device)


def free_bytes(device: Any) -> int | None:
    """Bytes that can be allocated on a device; ``None`` where the usual limit counts."""
    torch = import_torch()
    if torch.device(device).type != "cuda":
        return None
    torch.cuda.empty_cache()  # what PyTorch keeps for itself would count as taken
    return int(torch.cuda.mem_get_info(device)[0])


class TensorNamespace:
    """PyTorch on a device."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._torch = import_torch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def place(self, array: Any, dtype: Any = None) -> Any:
        return to_device(dense(array), self.device, dtype)

    def cast(self, array: Any, dtype: Any) -> Any:
        return array.to(getattr(self._torch, np.dtype(dtype).name))

    def copy(self, array: Any) -> Any:
        return array.clone()

    def sort(self, array: Any, axis: int) -> Any:
        return self._torch.sort(array, dim=axis).values

    def take_along_axis(self, array: Any, index: Any, axis: int) -> Any:
        return self._torch.take_along_dim(array, index, dim=axis)

    def median(self, array: Any, axis: int) -> Any:
        """Mean of the two values in the middle, of which ``torch.median`` takes the lower."""
        ordered, n_values = self.sort(array, axis), array.shape[axis]
        lower, upper = (ordered.select(axis, place) for place in ((n_values - 1) // 2, n_values // 2))
        return (lower + upper) / 2

    def pick(self, array: Any, index: Any) -> Any:
        return array.index_select(0, index)

    def inner(self, a: Any, b: Any) -> Any:
        return (a * b).sum(axis=0)

    def largest(self, array: Any) -> float:
        return float(array.abs().max()) if array.numel() else 0.0

    def sum_of_squares(self, array: Any) -> float:
        return float(self._torch.einsum("ij,ij->", array, array))

    def add_diagonal(self, matrix: Any, value: float) -> None:
        matrix.diagonal().add_(value)

    def product(self, matrix: Any, values: Any) -> Any:
        def multiply(right: Any) -> Any:
            kind = self._torch.promote_types(matrix.dtype, right.dtype)
            return matrix.to(kind) @ right.to(kind)

        return self._answer(multiply, values)

    def long_product(self, matrix: Any, values: Any) -> Any:
        return self._answer(lambda right: (matrix @ right.to(matrix.dtype)).to(right.dtype), values)

    def operator(self, matrix: Any, dtype: Any) -> Any:
        return PlacedMatrix.place(matrix, self.device, dtype)

    def ordered_operator(self, matrix: Any) -> OrderedMatrix:
        return OrderedMatrix(matrix, self)

    def segment_sums(self, values: Any, starts: Any) -> Any:
        # A scatter by atomic additions would give other last digits in every run.
        return self._torch.segment_reduce(values, "sum", offsets=starts, axis=0, initial=0, unsafe=True)

    def lu_factor(self, matrix: Any) -> Solve:
        lu, pivots = self._torch.linalg.lu_factor(matrix)
        return self._columnwise(lambda values: self._torch.linalg.lu_solve(lu, pivots, values))

    def cholesky_factor(self, matrix: Any) -> tuple[Solve, Solve] | None:
        root, failed = self._torch.linalg.cholesky_ex(matrix)
        if bool(failed):
            return None
        return (
            self._columnwise(lambda values: self._torch.cholesky_solve(values, root)),
            self._columnwise(lambda values: self._torch.linalg.solve_triangular(root, values, upper=False)),
        )

    def resolvent(self, matrix: Any, added: float, *, scale: float, dtype: Any) -> Any:
        matrix = matrix.to(self._torch.float64, copy=True)
        self.add_diagonal(matrix, added)
        root, failed = self._torch.linalg.cholesky_ex(matrix)
        del matrix  # or there would be four of its size
        if bool(failed):
            return None
        inverse = self._torch.cholesky_inverse(root)
        del root
        self.add_diagonal(inverse.mul_(scale), 1)
        return self.cast(inverse, dtype)

    def _answer(self, function: Solve, array: Any) -> Any:
        """``function`` of the array on the device, in the kind of the array."""
        return function(array) if is_tensor(array) else to_host(function(self.place(array)))

    def _columnwise(self, solve: Solve) -> Solve:
        """Solve in float64 for a single vector as well, in either kind of array."""

        def solve_any(values: Any) -> Any:
            columns = values.double()
            return solve(columns[:, None])[:, 0] if columns.ndim == 1 else solve(columns)

        return lambda values: self._answer(solve_any, values)


class PlacedMatrix:
    """A sparse matrix on a device, in the type of most of what it will multiply.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import torch
    >>> from weakly.rows._device import PlacedMatrix
    >>> matrix = PlacedMatrix(sp.csr_array([[1.0, -1.0], [-1.0, 1.0]]), "cpu", np.float64)
    >>> (matrix @ torch.tensor([[1.0], [0.0]])).ravel().tolist()
    [1.0, -1.0]
    """

    def __init__(self, matrix: Any, device: Any, dtype: Any) -> None:
        self._host, self._device, self._dtype = sp.csr_array(matrix), device, dtype
        self.shape = self._host.shape

    @classmethod
    def place(cls, matrix: Any, device: Any, dtype: Any) -> Any:
        """A sparse matrix, or what places itself: a Laplacian that is known by its products."""
        return cls(matrix, device, dtype) if sp.issparse(matrix) else matrix.placed(device, dtype)

    @cached_property
    def _tensor(self) -> Any:
        host = self._host
        kind = np.int32 if max(host.nnz, *host.shape) < 2**31 else np.int64
        parts = (host.indptr.astype(kind), host.indices.astype(kind), host.data.astype(self._dtype))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
            return import_torch().sparse_csr_tensor(
                *(to_device(part, self._device) for part in parts), size=host.shape, check_invariants=False
            )

    @cached_property
    def T(self) -> PlacedMatrix:
        """The transpose."""
        return PlacedMatrix(self._host.T, self._device, self._dtype)

    def __matmul__(self, values: Any) -> Any:
        return (self._tensor @ values.to(self._tensor.dtype)).to(values.dtype)


class OrderedMatrix:
    """A CSR matrix whose rows are summed in order, which the sparse product of CUDA does not promise."""

    def __init__(self, matrix: sp.csr_array, xp: TensorNamespace) -> None:
        self._xp, self._values = xp, xp.place(matrix.data, np.float64)[:, None]
        self._columns, self._starts = (xp.place(part, np.int64) for part in (matrix.indices, matrix.indptr))

    def __matmul__(self, columns: Any) -> Any:
        n_columns = max(_ENTRIES // max(len(self._values), 1), 1)
        parts = [self._product(part) for part in columns.split(n_columns, dim=1)]
        return parts[0] if len(parts) == 1 else self._xp.concatenate(parts, axis=1)

    def _product(self, columns: Any) -> Any:
        return self._xp.segment_sums(self._values * self._xp.pick(columns, self._columns), self._starts)
