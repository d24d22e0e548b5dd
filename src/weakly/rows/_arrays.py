"""One small namespace ``xp`` for arrays of NumPy and tensors of PyTorch.

The algebra of spaces and solvers is written once, with ``xp = namespace(array)``: every function of the
array's own library, most of which the two libraries call alike (``where``, ``clip``, ``cumsum``), and the few
below, which they do not. What is large stays where it is; ``product`` and the solvers of a factorization
answer in the kind of array that they are asked in, so that a solver written for NumPy runs on a device too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.utils import gen_batches

from weakly.rows._device import import_torch, is_tensor, to_device, to_host

_BLOCK = 512  # rows mirrored at a time
_ENTRIES = 2**26  # products of entries and columns held at a time: 512 MB

Solve = Callable[[Any], Any]


class NumPyNamespace:
    """NumPy, and SciPy for what it lacks."""

    device = None

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def place(self, array: Any, dtype: Any = None) -> Any:
        """The array where the algebra is done, and in a type; itself where it is so already."""
        return array if dtype is None else array.astype(dtype, copy=False)

    def cast(self, array: Any, dtype: Any) -> Any:
        """The array in another type, in NumPy's words."""
        return array.astype(dtype, copy=False)

    def pick(self, array: Any, index: Any) -> Any:
        """Rows of an array by number."""
        return array[index]

    def inner(self, a: Any, b: Any) -> Any:
        """Inner products of columns."""
        return np.einsum("i...,i...->...", a, b)

    def largest(self, array: Any) -> float:
        """Largest absolute value, 0 of none."""
        entries = array.data if sp.issparse(array) else array
        return float(np.abs(entries).max(initial=0))

    def sum_of_squares(self, array: Any) -> float:
        """Sum of the squares of the entries of a matrix."""
        squared = array.multiply(array).sum() if sp.issparse(array) else np.einsum("ij,ij->", array, array)
        return float(squared)

    def add_diagonal(self, matrix: Any, value: float) -> None:
        """Add a number to the diagonal, in place."""
        matrix.flat[:: matrix.shape[0] + 1] += value

    def product(self, matrix: Any, values: Any) -> Any:
        """Matrix product in the wider of two types, in the kind of the second array."""
        return matrix @ values

    def long_product(self, matrix: Any, values: Any) -> Any:
        """The same for a matrix that a device should not hold in a second type."""
        return matrix @ values

    def operator(self, matrix: Any, dtype: Any) -> Any:
        """A sparse matrix, or what multiplies like one, for products with arrays of this namespace."""
        return matrix

    def ordered_operator(self, matrix: Any) -> Any:
        """The same in float64, with products that come out the same in every run."""
        return matrix

    def segment_sums(self, values: Any, starts: Any) -> Any:
        """Sum stretches of rows that begin at ``starts``, whose last entry is their number."""
        sums = np.zeros((len(starts) - 1, *values.shape[1:]), dtype=values.dtype)
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            sums[filled] = np.add.reduceat(values, starts[filled])
        return sums

    def lu_factor(self, matrix: Any) -> Solve:
        """LU of a matrix, which may be overwritten, as a function that solves with it."""
        # LAPACK wants columns and NumPy holds rows: factor the transpose in place, solve with its transpose.
        lu = sla.lu_factor(matrix.T, overwrite_a=True, check_finite=False)
        return lambda values: sla.lu_solve(lu, values, trans=1, check_finite=False)

    def cholesky_factor(self, matrix: Any) -> tuple[Solve, Solve] | None:
        """Cholesky of ``C C'``, as functions that solve with it and with ``C``; ``None`` without one."""
        try:
            root = sla.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            return None
        return (
            lambda values: sla.cho_solve((root, True), values, check_finite=False),
            lambda values: sla.solve_triangular(root, values, lower=True, check_finite=False),
        )

    def resolvent(self, matrix: Any, added: float, *, scale: float, dtype: Any) -> Any:
        """``I + scale (M + added I)^-1`` in a type; ``None`` unless ``M + added I`` is positive definite."""
        matrix = np.array(matrix, dtype=np.float64, order="F")
        self.add_diagonal(matrix, added)
        root, failed = sla.lapack.dpotrf(matrix, lower=True, clean=True, overwrite_a=True)
        if failed:
            return None
        # LAPACK's dpotri does the next two steps in one, but slowly.
        root, _ = sla.lapack.dtrtri(root, lower=True, overwrite_c=True)
        inverse = sla.blas.dsyrk(scale, root, trans=1, lower=1)
        self.add_diagonal(inverse, 1)
        return _mirrored(inverse.astype(dtype, order="C"))


class TensorNamespace:
    """PyTorch on a device."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._torch = import_torch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def place(self, array: Any, dtype: Any = None) -> Any:
        return to_device(array.toarray() if sp.issparse(array) else array, self.device, dtype)

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


_NUMPY = NumPyNamespace()


def namespace(array: Any) -> Any:
    """The functions for an array, by the library that it belongs to.

    Parameters
    ----------
    array : {ndarray, sparse matrix, tensor}
        The array.

    Returns
    -------
    NumPyNamespace or TensorNamespace
        Functions of the library, and the methods of these classes.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._arrays import namespace
    >>> xp = namespace(np.eye(2))
    >>> xp.median(np.array([[1.0], [4.0]]), axis=0).tolist(), xp.largest(-3 * np.eye(2))
    ([2.5], 3.0)
    """
    return TensorNamespace(array.device) if is_tensor(array) else _NUMPY


def namespace_on(device: Any) -> Any:
    """The same by a device, ``None`` for NumPy."""
    return _NUMPY if device is None else TensorNamespace(device)


def cast(array: Any, dtype: Any) -> Any:
    """An array of either kind in another type, in NumPy's words."""
    return namespace(array).cast(array, dtype)


class PlacedMatrix:
    """A sparse matrix on a device, in the type of most of what it will multiply.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import torch
    >>> from weakly.rows._arrays import PlacedMatrix
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


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Copy the lower half of a matrix to the upper one, in place and block by block."""
    for block in gen_batches(len(lower), _BLOCK):
        lower[block, block.stop :] = lower[block.stop :, block].T
        square = lower[block, block]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return lower
