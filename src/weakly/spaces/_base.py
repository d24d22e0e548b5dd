"""The two kinds of space: exact kernels and explicit features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.utils import gen_batches

from weakly.graphs._anchor_map import AnchorMap
from weakly.graphs._anchors import AnchorLaplacian

BLOCK_ROWS = 4096  # new rows scored at a time


class Space(Protocol):
    """What a solver may ask of a space; the package's documentation has the table."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_params(self) -> int: ...
    @property
    def dtype(self) -> np.dtype: ...
    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray: ...
    def adjoint(self, values: np.ndarray) -> np.ndarray: ...
    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray: ...
    def induced(self, theta: np.ndarray) -> np.ndarray: ...
    def function(self, theta: np.ndarray) -> ScoreFunction: ...


class BaseSpace(Space, Protocol):
    """A space that also does its own dense algebra."""

    def representers(self, rows: np.ndarray) -> np.ndarray: ...
    def normal_equations(self, weights: np.ndarray) -> NormalEquations: ...
    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor: ...


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """A function of a space, free of it: scores for new rows without the matrices of the training rows.

    Parameters
    ----------
    feature_map : callable or None
        From rows to what ``theta`` multiplies; ``None`` is the identity.
    theta : ndarray of shape (n_params, n_columns)
        Parameters.
    shift : ndarray of shape (n_columns,) or float, default=0.0
        Added to the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import ScoreFunction
    >>> ScoreFunction(None, np.array([[1.0], [2.0]]))(np.array([[3.0, 4.0]])).tolist()
    [[11.0]]
    """

    feature_map: Callable[[Any], Any] | None
    theta: np.ndarray
    shift: np.ndarray | float = 0.0

    def __call__(self, X: Any) -> np.ndarray:
        """Score rows, a block at a time."""
        out = np.empty((X.shape[0], *self.theta.shape[1:]), dtype=self.theta.dtype)
        for block in gen_batches(X.shape[0], BLOCK_ROWS):
            rows = X[block].astype(self.theta.dtype)
            features = rows if self.feature_map is None else self.feature_map(rows)
            out[block] = features @ self.theta + self.shift
        return out

    def to_numpy(self) -> ScoreFunction:
        """The same function without a device."""
        if not isinstance(self.feature_map, AnchorMap):
            return self
        return replace(self, feature_map=self.feature_map.to_numpy())


@dataclass(frozen=True, eq=False)
class Factor:
    """A factorisation of ``T = a I + g A*LA``, in float64 whatever the space: ``T`` is badly conditioned.

    Parameters
    ----------
    solve : callable
        ``T^-1`` on parameters.
    root_solve : callable or None
        ``C^-1`` on parameters, with ``T = C C'``; ``None`` where ``T`` is not symmetric.
    """

    solve: Callable[[np.ndarray], np.ndarray]
    root_solve: Callable[[np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The weighted ridge problem ``min sum_i w_i (y_i - f_i)^2 / 2 + ||f||^2 / 2`` of a space, factored.

    Parameters
    ----------
    solve : callable
        From targets, one column per problem, to the parameters of the minimisers.
    leverage : callable
        The diagonal of the matrix that takes targets to fitted values; 0 on rows of weight 0.
    """

    solve: Callable[[np.ndarray], np.ndarray]
    leverage: Callable[[], np.ndarray]


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """Functions ``f = K theta`` of an exact kernel.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        Gram matrix ``K`` of the training rows.
    feature_map : callable or None, default=None
        From new rows to their kernel with the training rows; ``None`` if new rows come as such.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import KernelSpace
    >>> space = KernelSpace(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> space.scores(np.array([1.0, 0.0])).tolist()
    [2.0, 1.0]
    """

    gram: np.ndarray
    feature_map: Callable[[Any], Any] | None = None

    @property
    def n_rows(self) -> int:
        return self.gram.shape[0]

    @property
    def n_params(self) -> int:
        return self.gram.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self.gram.dtype

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        return (self.gram if rows is None else self.gram[rows]) @ theta

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Adjoint of ``scores`` in the metric of the kernel: the identity."""
        return values

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``a' K b``; ``scores`` are those of ``b``, where the caller has them."""
        return np.einsum("i...,i...->...", a, self.scores(b) if scores is None else scores)

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new: the same."""
        return self.scores(theta)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these coefficients, for new rows."""
        return ScoreFunction(self.feature_map, theta)

    def representers(self, rows: np.ndarray) -> np.ndarray:
        """``A*`` of the indicators of some rows, in float64."""
        indicators = np.zeros((self.n_rows, len(rows)))
        indicators[rows, np.arange(len(rows))] = 1
        return indicators

    def normal_equations(self, weights: np.ndarray) -> NormalEquations:
        """``(K + W^-1) theta = y`` on the rows of positive weight, by Cholesky."""
        active = np.flatnonzero(weights)
        root = np.sqrt(weights[active])[:, None]
        gram = self.gram if len(active) == self.n_rows else self.gram[np.ix_(active, active)]
        cholesky = _cholesky_plus_identity(root * gram * root.T)

        def solve(targets: np.ndarray) -> np.ndarray:
            theta = np.zeros_like(targets)
            theta[active] = root * sla.cho_solve(cholesky, root * targets[active], check_finite=False)
            return theta

        def leverage() -> np.ndarray:
            values = np.zeros(self.n_rows, dtype=self.dtype)
            values[active] = 1 - _inverse_diagonal(cholesky)
            return values

        return NormalEquations(solve, leverage)

    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor:
        """LU of ``T = a I + g L K``, which is symmetric only in the metric of the kernel."""
        matrix = (laplacian @ self.gram).astype(np.float64, copy=False)
        matrix *= graph
        matrix.flat[:: self.n_rows + 1] += ambient
        # LAPACK wants columns and NumPy holds rows: factor the transpose in place, solve with its transpose.
        lu = sla.lu_factor(matrix.T, overwrite_a=True, check_finite=False)
        return Factor(lambda theta: sla.lu_solve(lu, theta, trans=1, check_finite=False))


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Functions ``f = Z theta`` of explicit features.

    Parameters
    ----------
    features : {ndarray, csr matrix} of shape (n_rows, n_params)
        Features ``Z`` of the training rows.
    feature_map : callable or None, default=None
        Features of new rows; by default the rows are their own features.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import FeatureSpace
    >>> space = FeatureSpace(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> space.adjoint(np.array([1.0, 1.0])).tolist()
    [2.0, 1.0]
    """

    features: Any
    feature_map: Callable[[Any], Any] | None = None

    @property
    def n_rows(self) -> int:
        return self.features.shape[0]

    @property
    def n_params(self) -> int:
        return self.features.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return self.features.dtype

    @cached_property
    def _transposed(self) -> Any:
        return self.features.T.tocsr() if sp.issparse(self.features) else self.features.T

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        if rows is None:  # the type of the features, which are many
            return self.features @ theta.astype(self.dtype, copy=False)
        return self.features[rows] @ theta

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Adjoint of ``scores``: ``Z' v``."""
        return self._transposed @ values

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``a' b``."""
        return np.einsum("i...,i...->...", a, b)

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new: the same."""
        return self.scores(theta)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these weights, for new rows."""
        return ScoreFunction(self.feature_map, theta.astype(self.dtype, copy=False))

    def representers(self, rows: np.ndarray) -> np.ndarray:
        """``A*`` of the indicators of some rows, in float64: their features."""
        return dense(self.features[rows]).T.astype(np.float64)

    def combined(self, mixing: np.ndarray, rows: np.ndarray | None = None) -> FeatureSpace:
        """The space of the features ``Z M`` in float64, of all rows or of some."""
        features = self.features if rows is None else self.features[rows]
        return FeatureSpace(features.astype(np.float64, copy=False) @ mixing)

    def normal_equations(self, weights: np.ndarray) -> NormalEquations:
        """``(Z'WZ + I) theta = Z'W y``, by Cholesky."""
        root = np.sqrt(weights)[:, None]
        Z = self.features.multiply(root).tocsr() if sp.issparse(self.features) else self.features * root
        cholesky = _cholesky_plus_identity(dense(Z.T @ Z))

        def solve(targets: np.ndarray) -> np.ndarray:
            return sla.cho_solve(cholesky, Z.T @ (root * targets), check_finite=False)

        def leverage() -> np.ndarray:
            whitened = sla.solve_triangular(cholesky[0], dense(Z).T, lower=True, check_finite=False)
            return np.einsum("ij,ij->j", whitened, whitened)

        return NormalEquations(solve, leverage)

    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor:
        """Cholesky of ``T = a I + g Z'LZ``."""
        matrix = graph * self._smoothness(laplacian)
        matrix.flat[:: self.n_params + 1] += ambient
        try:
            root = sla.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            entries = self.features.data if sp.issparse(self.features) else self.features
            raise too_uneven(float(np.abs(entries).max()), ambient, graph) from None
        return Factor(
            lambda theta: sla.cho_solve((root, True), theta, check_finite=False),
            lambda theta: sla.solve_triangular(root, theta, lower=True, check_finite=False),
        )

    def smoothed(self, laplacian: sp.csr_array, theta: np.ndarray) -> np.ndarray:
        """``Z'LZ theta`` in float64, whatever the type of the features, a block of rows at a time."""
        theta, blocks = theta.astype(np.float64, copy=False), list(gen_batches(self.n_rows, BLOCK_ROWS))
        passed = laplacian @ np.concatenate([self.features[block] @ theta for block in blocks])
        return np.sum([self.features[block].T @ passed[block] for block in blocks], axis=0)

    def _smoothness(self, laplacian: sp.csr_array) -> np.ndarray:
        """``Z'LZ``, summed over blocks of rows in float64."""
        if isinstance(laplacian, AnchorLaplacian):
            return laplacian.smoothness(self.features)
        if sp.issparse(self.features):
            return dense(self._transposed @ (laplacian @ self.features)).astype(np.float64)
        total = np.zeros((self.n_params, self.n_params))
        for block in gen_batches(self.n_rows, BLOCK_ROWS):
            smoothed = laplacian[block] @ self.features
            total += self.features[block].T.astype(np.float64) @ smoothed.astype(np.float64)
        return total


def not_a_kernel(largest: float) -> ValueError:
    """What to say where the Cholesky factorization of a kernel with such entries fails."""
    return ValueError(
        "the kernel is not positive semi-definite to rounding, with entries of size "
        f"{largest:.2g} in units of ambient_penalty: scale X or raise ambient_penalty, and check that a "
        "precomputed or callable kernel is."
    )


def too_uneven(largest: float, ambient: float, graph: float) -> ValueError:
    """The same for features with such entries and a graph."""
    return ValueError(
        f"features of size {largest:.2g} leave nothing but rounding of ambient_penalty={ambient:.2g} beside "
        f"graph_penalty={graph:.2g}: center and scale X, use float64, or bring the penalties nearer to each "
        "other."
    )


def _cholesky_plus_identity(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    matrix.flat[:: matrix.shape[0] + 1] += 1
    largest = float(np.abs(matrix).max(initial=0))
    try:
        return sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except sla.LinAlgError:
        raise not_a_kernel(largest) from None


def _inverse_diagonal(cholesky: tuple[np.ndarray, bool]) -> np.ndarray:
    """Diagonal of ``(R R')^-1``: squared column norms of ``R^-1``."""
    root = cholesky[0]
    if not root.size:  # LAPACK would complain
        return np.empty(0, dtype=root.dtype)
    (invert,) = sla.lapack.get_lapack_funcs(("trtri",), (root,))
    inverse = np.tril(invert(root, lower=True)[0])
    return np.einsum("ij,ij->j", inverse, inverse)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix
