"""Sparse rows less a mean row, without ever making them dense."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from weakly.solvers._row_kernels import curved_product, row_arrays, row_products, row_squares, row_sum


def column_means(X: Any) -> np.ndarray:
    """Means of the features, summed in float64."""
    if not sp.issparse(X):
        return X.mean(axis=0, dtype=np.float64)
    return row_sum(*row_arrays(X), np.ones(X.shape[0]), X.shape[1]) / X.shape[0]


def far_means(X: Any) -> np.ndarray:
    """Means of features that lie further from 0 than from their mean, and 0 for the others.

    Products of such features are more of the mean than of what tells samples apart. More than half of their
    entries are not zero, so that they may be centered even if they are sparse; others are better left alone.
    """
    means = column_means(X)
    if sp.issparse(X):
        squares = sp.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)
    else:
        squares = np.square(X, dtype=np.float64)
    return np.where(2 * means**2 > column_means(squares), means, 0.0)


def less_means(X: Any, means: np.ndarray) -> Any:
    """Rows less means of which most are 0, in float64; sparse rows stay sparse in the other features."""
    if not means.any():
        return X
    if not sp.issparse(X):
        return X - means
    (far,) = np.nonzero(means)
    kept = X @ sp.diags_array((means == 0).astype(np.float64))
    dense = X[:, far].toarray() - means[far]
    starts = np.arange(X.shape[0] + 1) * len(far)
    return sp.csr_array(kept) + sp.csr_array((dense.ravel(), np.tile(far, X.shape[0]), starts), shape=X.shape)


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Functions ``f = (X - 1 m') theta`` of sparse rows; their products cost one pass over the entries."""

    has_gram: ClassVar[Literal[False]] = False
    X: Any
    mean: np.ndarray

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return row_arrays(self.X)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def n_params(self) -> int:
        return self.X.shape[1]

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """``Z theta``."""
        return row_products(*self._arrays, theta) - self.mean @ theta

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """``Z' v``."""
        return row_sum(*self._arrays, values, self.n_params) - values.sum() * self.mean

    def curved(self, rows: np.ndarray, curvature: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """``Z' diag(h) Z theta`` over some rows."""
        product, total = curved_product(*self._arrays, rows, curvature, theta, self.mean @ theta)
        return product - total * self.mean

    def squared_norms(self) -> np.ndarray:
        """Product of each row with itself."""
        squares = row_squares(*self._arrays)
        squares += self.mean @ self.mean - 2 * row_products(*self._arrays, self.mean)
        return np.maximum(squares, 0.0)

    def shifted_products(self) -> np.ndarray:
        """``Z Z'``, for few rows."""
        along = row_products(*self._arrays, self.mean)
        gram = (self.X.astype(np.float64) @ self.X.T.astype(np.float64)).toarray()
        return gram - along - along[:, None] + self.mean @ self.mean
