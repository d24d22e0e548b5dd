"""Sparse rows less a mean row, without ever making them dense."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weakly.solvers._row_kernels import curved_product, row_arrays, row_products, row_sum


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Functions ``f = (X - 1 m') theta`` of sparse rows; their products cost one pass over the entries.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_params)
        The rows.
    mean : ndarray of shape (n_params,)
        What is taken from all of them.
    """

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

    def norms(self) -> np.ndarray:
        """Norms of the rows."""
        squares = np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=np.float64).ravel()
        squares += self.mean @ self.mean - 2 * row_products(*self._arrays, self.mean)
        return np.sqrt(np.maximum(squares, 0.0))

    def gram(self) -> np.ndarray:
        """``Z Z'``, for few rows."""
        along = row_products(*self._arrays, self.mean)
        gram = (self.X.astype(np.float64) @ self.X.T.astype(np.float64)).toarray()
        return gram - along - along[:, None] + self.mean @ self.mean
