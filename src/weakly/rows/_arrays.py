"""Arrays in memory: one small namespace ``xp`` for NumPy and PyTorch, and the sizes that they may have.

The algebra of spaces and solvers is written once, with ``xp = namespace(array)``: every function of the
array's own library, most of which the two libraries call alike (``where``, ``clip``, ``cumsum``), and the few
below, which they do not. What is large stays where it is; ``product`` and the solvers of a factorization
answer in the kind of array that they are asked in, so that a solver written for NumPy runs on a device too.
The half for PyTorch is in :mod:`weakly.rows._device`, which is imported where there is a device.

Numbers that are too large or too small for arithmetic are refused by name, features that no sample has are
left out, and nothing n x n is allocated before it is known to fit the memory limit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from math import prod
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.utils import check_array, gen_batches

_BLOCK = 512  # rows mirrored at a time
_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_DEFAULT = "2GB"

Solve = Callable[[Any], Any]
# Samples that the fit at work has checked, so that no part of it does so again.
DOOR: ContextVar[Any] = ContextVar("DOOR", default=None)


def is_tensor(array: Any) -> bool:
    """Whether an array is PyTorch's; false without an import where nobody has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def to_host(array: Any) -> Any:
    """NumPy array of a tensor; anything else as it is."""
    if not is_tensor(array):
        return array
    torch = sys.modules["torch"]
    if array.layout is not torch.strided:
        raise ValueError(f"a tensor of layout {array.layout} cannot be read: pass it as .to_dense().")
    array = array.float() if array.dtype == torch.bfloat16 else array  # which NumPy does not have
    return array.detach().cpu().numpy()


def dtype_of(array: Any) -> np.dtype:
    """Type of the entries in NumPy's words."""
    return np.dtype(str(array.dtype).removeprefix("torch.")) if is_tensor(array) else array.dtype


def resolve_device(device: Any, X: Any = None) -> str | None:
    """Name the device of a model, one that exists; ``None``, NumPy, unless the samples are a tensor."""
    if device is None:
        device = X.device if is_tensor(X) else None
    if device is None:
        return None
    from weakly.rows._device import existing_device

    return existing_device(device)


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


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Copy the lower half of a matrix to the upper one, in place and block by block."""
    for block in gen_batches(len(lower), _BLOCK):
        lower[block, block.stop :] = lower[block.stop :, block].T
        square = lower[block, block]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return lower


_NUMPY = NumPyNamespace()


def namespace(array: Any) -> Any:
    """The functions for an array, dense or sparse, by the library that it belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._arrays import namespace
    >>> xp = namespace(np.eye(2))
    >>> xp.median(np.array([[1.0], [4.0]]), axis=0).tolist(), xp.largest(-3 * np.eye(2))
    ([2.5], 3.0)
    """
    return namespace_on(array.device if is_tensor(array) else None)


def namespace_on(device: Any) -> Any:
    """The same by a device, ``None`` for NumPy."""
    if device is None:
        return _NUMPY
    from weakly.rows._device import TensorNamespace

    return TensorNamespace(device)


def cast(array: Any, dtype: Any) -> Any:
    """An array of either kind in another type, in NumPy's words."""
    return namespace(array).cast(array, dtype)


def zeros(like: Any, *shape: int) -> Any:
    """Zeros of the kind and type of another array."""
    return like.new_zeros(shape) if is_tensor(like) else np.zeros(shape, dtype=like.dtype)


def dense(matrix: Any) -> Any:
    """A sparse matrix as a dense one; any other as it is."""
    return matrix.toarray() if sp.issparse(matrix) else matrix


def canonical(X: Any) -> Any:
    """Sparse samples with every entry once, sorted, on a copy if need be; dense ones as they are."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def is_collection(X: Any) -> bool:
    """Whether something is a Dask collection; told by its type, so that Dask need not be there."""
    return any(kind.__module__.partition(".")[0] == "dask" for kind in type(X).__mro__)


def read_samples(X: Any) -> Any:
    """Samples as finite floats, dense or CSR; what the door of a fit has read passes as it is."""
    if X is DOOR.get():
        return X
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")


def squarable(X: Any) -> Any:
    """Samples whose squares and products neither overflow nor vanish.

    They are in float64 where float32 does not hold sums of their squares; a ValueError where float64 does not
    either.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._arrays import squarable
    >>> squarable(np.array([[1e30]], dtype=np.float32)).dtype
    dtype('float64')
    >>> try:
    ...     squarable(np.array([[1e200]]))
    ... except ValueError as error:
    ...     print(error)
    X has entries of size 1e+200 at most, whose squares float64 does not hold: scale the features.
    """
    entries = X.data if sp.issparse(X) else X
    largest = max(float(entries.max(initial=0)), -float(entries.min(initial=0)))
    if _holds_squares(X.dtype, largest, X.shape):
        return X
    if _holds_squares(np.dtype(np.float64), largest, X.shape):
        return X.astype(np.float64)
    raise ValueError(
        f"X has entries of size {largest:.1g} at most, whose squares float64 does not hold: scale the "
        "features."
    )


def _holds_squares(dtype: np.dtype, largest: float, shape: tuple[int, int]) -> bool:
    """Whether sums of squares over all entries are finite, and squares of small differences are not 0."""
    limits = np.finfo(dtype)
    smallest = np.sqrt(float(limits.tiny) / float(limits.eps))
    return largest == 0 or smallest < largest < np.sqrt(float(limits.max) / 4 / shape[0] / shape[1])


def is_count(value: Any, most: float = np.inf) -> bool:
    """Whether something is a whole number from 1 on; True and 1.0 are not."""
    return isinstance(value, int | np.integer) and value is not True and 1 <= int(value) <= most


def is_positive(value: Any) -> bool:
    """Whether something is a finite number above 0."""
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and value is not True
        and bool(0 < value < np.inf)
    )


def occupied_columns(X: Any) -> np.ndarray | None:
    """Find the features that any sample has, sorted, so that weights of all others need no memory.

    Hashed text has a million features, of which a thousand samples may use ten thousand. A linear function of
    such samples, or a direction of their variance, is 0 on every other feature. ``None`` is all features, of
    dense samples and where more than half have entries; else there is one at least.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from weakly.rows._arrays import occupied_columns
    >>> occupied_columns(sp.csr_array(([1.0], ([0], [3])), shape=(2, 8))).tolist()
    [3]
    """
    if not sp.issparse(X):
        return None
    found = np.unique(X.indices)
    if 2 * len(found) > X.shape[1]:
        return None
    return found if len(found) else np.zeros(1, dtype=found.dtype)


def pick_columns(X: Any, columns: np.ndarray | None) -> Any:
    """Some features of samples; ``None`` is all."""
    return X if columns is None else X[:, columns]


def memory_limit() -> int:
    """Return the most bytes that dense matrices of one fit may take, 2 GB unless set.

    The limit is a setting, not a reading of the machine, so that the same data give the same model
    everywhere. The environment variable ``WEAKLY_MEMORY_LIMIT`` sets it ("8GB", "500MB", plain bytes).

    Examples
    --------
    >>> from weakly.rows._arrays import memory_limit
    >>> memory_limit() > 0
    True
    """
    text = os.environ.get("WEAKLY_MEMORY_LIMIT", _DEFAULT).strip().upper()
    number = text.rstrip("BKMGT")
    unit = text[len(number) :].strip()
    try:
        n_bytes = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        n_bytes = -1
    if n_bytes < 0:
        raise ValueError(
            f"the environment variable WEAKLY_MEMORY_LIMIT is {text!r}: write a size like '8GB' or '500MB'."
        )
    return n_bytes


def dense_bytes(*shape: int, dtype: Any = np.float64, copies: int = 1) -> int:
    """Bytes that ``copies`` dense arrays of this shape take."""
    return copies * prod(map(int, shape)) * np.dtype(dtype).itemsize


def fits(n_bytes: int) -> bool:
    """Whether that much stays within the limit."""
    return n_bytes <= memory_limit()


def require_fit(n_bytes: int, what: str, remedy: str, device: Any = None) -> None:
    """Raise an error that says the size, the limit and what to set, unless it fits.

    On a GPU the room left in its own memory counts.
    """
    free = None if device is None else _room(device)
    if free is not None and n_bytes > free:
        sizes = f"{_readable(n_bytes)} and {device} has {_readable(free)} left"
        raise MemoryError(f"{what} needs {sizes}: {remedy}.")
    if free is None and not fits(n_bytes):
        raise MemoryError(
            f"{what} needs {_readable(n_bytes)}, more than the limit of {_readable(memory_limit())}: "
            f"{remedy}, or raise the limit with the environment variable WEAKLY_MEMORY_LIMIT."
        )


def _room(device: Any) -> int | None:
    from weakly.rows._device import free_bytes

    return free_bytes(device)


def _readable(n_bytes: float) -> str:
    for unit in ("B", "KB", "MB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GB"
