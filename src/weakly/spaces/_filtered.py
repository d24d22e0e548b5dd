"""Many kernels from few features: one set of coordinates, a weight for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from weakly.rows._arrays import cast, dense, dtype_of, namespace, to_host
from weakly.spaces._base import BLOCK_ROWS, ScoreFunction

_ROUNDING = 100  # units of rounding by which equal values may differ


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Numbers that describe rows, centred over the training rows: ``Z = (values - mean) rotation``.

    Neither the centred values nor the rotated ones are ever formed for all rows, so that ``values`` may be
    sparse, and several coordinates may share them. They may be a tensor, too: products with all rows are then
    taken on its device, and everything that comes out is NumPy's.

    Parameters
    ----------
    values : {ndarray, csr matrix, tensor} of shape (n_rows, n_values)
        Values of the training rows.
    mapping : callable or None, default=None
        From new rows to their values; by default rows are their own values.
    rotation : ndarray of shape (n_values, n_coordinates) or None, default=None
        Combinations of the values; the values themselves by default.
    moments : (ndarray of shape (n_values,), ndarray of shape (n_coordinates,)) or None, default=None
        Means of the values and of the squares of the coordinates over all training rows, where ``values``
        are those of some of them; by default ``values`` are those of all.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import Coordinates
    >>> Coordinates(np.array([[1.0, 0.0], [3.0, 0.0]])).of([1]).tolist()
    [[1.0, 0.0]]
    """

    values: Any
    mapping: Callable[[Any], Any] | None = None
    rotation: np.ndarray | None = None
    moments: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.values)

    @property
    def n_coordinates(self) -> int:
        return self.values.shape[1] if self.rotation is None else self.rotation.shape[1]

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of the values over the training rows, in float64."""
        if self.moments is not None:
            return self.moments[0]
        mean = self.values.mean(axis=0, dtype=namespace(self.values).float64)
        return np.asarray(to_host(mean)).ravel()

    def of(self, rows: Any) -> np.ndarray:
        """Coordinates of some training rows, in float64."""
        picked = self._picked(rows)
        if self.rotation is None:
            return dense(picked) - self.mean
        if sp.issparse(picked):
            return picked @ self.rotation - self.mean @ self.rotation
        return (picked - self.mean) @ self.rotation

    def gram(self, rows: Any, weights: np.ndarray) -> np.ndarray:
        """``Z diag(w) Z'`` for some training rows, in float64."""
        if not (self.rotation is None and sp.issparse(self.values)):
            Z = self.of(rows)
            return (Z * weights) @ Z.T
        picked = sp.csr_array(self._picked(rows))
        weighted = weights * self.mean
        level = picked @ weighted
        return (picked.multiply(weights) @ picked.T).toarray() - level - level[:, None] + self.mean @ weighted

    def weigh(self, rows: Any, coefficients: np.ndarray) -> np.ndarray:
        """``Z' c`` with coefficients of some training rows, in float64."""
        picked = self._picked(rows)
        summed = picked.T @ coefficients - np.outer(self.mean, coefficients.sum(axis=0))
        return summed if self.rotation is None else self.rotation.T @ summed

    def scores(self, theta: np.ndarray, rows: Any = None) -> np.ndarray:
        """``Z theta`` for the training rows, or for some of them."""
        values = self.values if rows is None else self.values[rows]
        inner, dtype = self.unrotate(theta), self.dtype
        return namespace(values).product(values, cast(inner, dtype)) - (self.mean @ inner).astype(dtype)

    def unrotate(self, theta: np.ndarray) -> np.ndarray:
        """Turn weights of coordinates into weights of values."""
        return theta if self.rotation is None else self.rotation @ theta

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these weights of coordinates, for new rows."""
        inner = self.unrotate(theta)
        dtype = self.dtype
        return ScoreFunction(self.mapping, inner.astype(dtype), -(self.mean @ inner).astype(dtype))

    @cached_property
    def mean_squares(self) -> np.ndarray:
        """Mean of the square of each coordinate over the training rows."""
        if self.moments is not None:
            return self.moments[1]
        if self.rotation is None and sp.issparse(self.values):
            squares = self.values.multiply(self.values).mean(axis=0, dtype=np.float64)
            return np.asarray(squares).ravel() - self.mean**2
        total = np.zeros(self.n_coordinates)
        for block in gen_batches(self.n_rows, BLOCK_ROWS):
            chunk = self.of(block) if sp.issparse(self.values) else self._chunk(block)
            total += to_host(namespace(chunk).inner(chunk, chunk))
        return total / self.n_rows

    def _chunk(self, block: slice) -> Any:
        """The same as ``of``, in the type of the values: a product with all rows is dear in float64."""
        centred = self.values[block] - self._own(self.mean)
        return centred if self.rotation is None else centred @ self._own(self.rotation)

    def _own(self, array: np.ndarray) -> Any:
        """An array in the type of the values, where they are."""
        return namespace(self.values).place(array, self.dtype)

    def _picked(self, rows: Any) -> Any:
        """Values of some training rows, in float64."""
        return to_host(self.values[rows]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class FilteredSpace:
    """Functions ``f = Z theta`` with the norm ``sum_j theta_j^2 / w_j``: the kernel ``Z diag(w) Z'``.

    Parameters
    ----------
    coordinates : Coordinates
        Coordinates ``Z`` of the training rows, which many spaces may share.
    weights : ndarray of shape (n_coordinates,)
        How much variance each has, ``w >= 0``. Those of weight 0 take no part.

    See Also
    --------
    FeatureSpace : The same with all weights 1, and no centring.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import Coordinates, FilteredSpace
    >>> space = FilteredSpace(Coordinates(np.array([[1.0], [3.0]])), np.array([2.0]))
    >>> space.gram([0, 1]).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """

    coordinates: Coordinates
    weights: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.coordinates.n_rows

    @property
    def n_params(self) -> int:
        return self.coordinates.n_coordinates

    @property
    def dtype(self) -> np.dtype:
        return self.coordinates.dtype

    def scaled(self) -> FilteredSpace:
        """The same kernel with a mean of 1 on its diagonal; one that is 0 up to rounding becomes 0."""
        where = self.coordinates
        mean_diagonal = self.weights @ where.mean_squares
        level = where.mean if where.rotation is None else where.mean @ where.rotation
        rounding = (_ROUNDING * np.finfo(self.dtype).eps) ** 2 * (self.weights @ level**2)
        scale = 1 / mean_diagonal if mean_diagonal > rounding else 0.0
        return FilteredSpace(where, self.weights * scale)

    def gram(self, rows: Any) -> np.ndarray:
        """Kernel between some training rows."""
        return self.coordinates.gram(rows, self.weights)

    def representers(self, rows: np.ndarray) -> np.ndarray:
        """``A*`` of the indicators of some rows, in float64."""
        return self.weights[:, None] * self.coordinates.of(rows).T

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        return self.coordinates.scores(theta, rows)

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Adjoint of ``scores`` in the metric of the space: ``w * Z'v``."""
        summed = self.coordinates.weigh(slice(None), values.reshape(len(values), -1))
        return (self.weights[:, None] * summed).reshape(-1, *values.shape[1:])

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``sum_j a_j b_j / w_j``."""
        used = self.weights > 0
        return np.einsum("i...,i...,i->...", a[used], b[used], 1 / self.weights[used])

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new: the same."""
        return self.scores(theta)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these weights, for new rows."""
        return self.coordinates.function(theta)


def inverse_root(values: np.ndarray, vectors: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``U S^-1/2`` of the Gram matrix ``U S U'``, eigenvalues rising: a rotation that whitens its columns.

    Directions made of the rounding of its ``dtype`` would be blown up: they are left out.
    """
    kept = values > values[-1] * len(values) * np.finfo(dtype).eps
    return vectors[:, kept] / np.sqrt(values[kept])
