"""The two kinds of space: exact kernels and explicit features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from weakly.graphs._anchors import AnchorLaplacian
from weakly.rows._arrays import cast, dense, dtype_of, namespace, to_host
from weakly.spaces._protocols import Factor, NormalEquations

BLOCK_ROWS = 4096  # new rows scored at a time


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """A function of a space, free of it: scores for new rows without the matrices of the training rows.

    Parameters
    ----------
    feature_map : callable or None
        From rows to what ``theta`` multiplies; ``None`` is the identity.
    theta : {ndarray, tensor} of shape (n_params, n_columns)
        Parameters; rows are mapped on the device of a tensor. Rows and scores are NumPy's.
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
        xp, dtype = namespace(self.theta), dtype_of(self.theta)
        out = np.empty((X.shape[0], *self.theta.shape[1:]), dtype=dtype)
        for block in gen_batches(X.shape[0], BLOCK_ROWS):
            rows = xp.place(X[block], dtype)
            features = rows if self.feature_map is None else self.feature_map(rows)
            out[block] = to_host(features @ self.theta) + self.shift
        return out

    def to_numpy(self) -> ScoreFunction:
        """The same function without a device."""
        convert = getattr(self.feature_map, "to_numpy", None)
        feature_map = self.feature_map if convert is None else convert()
        return replace(self, feature_map=feature_map, theta=to_host(self.theta))


class HeldSpace:
    """A space of one matrix with a line for every training row, which treats these like new ones."""

    has_blocks: ClassVar[bool] = False
    has_own_values: ClassVar[bool] = False

    @property
    def held(self) -> Any:
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        return self.held.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.held)

    @property
    def xp(self) -> Any:
        return namespace(self.held)

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        raise NotImplementedError

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new: the same."""
        return self.scores(theta)


class Expansions(HeldSpace):
    """A space whose parameters are coefficients of the training rows in a kernel ``K``."""

    @property
    def n_params(self) -> int:
        return self.n_rows

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Adjoint of ``scores`` in the metric of the kernel: the identity."""
        return values

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``a' K b``; ``scores`` are those of ``b``, where the caller has them."""
        return namespace(a).inner(a, self.scores(b) if scores is None else scores)


@dataclass(frozen=True, eq=False)
class KernelSpace(Expansions):
    """Functions ``f = K theta`` of an exact kernel.

    Parameters
    ----------
    gram : {ndarray, tensor} of shape (n_rows, n_rows)
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

    gram: Any
    feature_map: Callable[[Any], Any] | None = None
    has_gram: ClassVar[Literal[True]] = True

    @property
    def held(self) -> Any:
        return self.gram

    @property
    def mean_square(self) -> float:
        return float(self.gram.diagonal().mean())

    @property
    def largest_product(self) -> float:
        """No product of two rows, by the kernel, is larger."""
        return self.xp.largest(self.gram)

    def products(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Products of rows with each other, by the kernel; of all, or of some."""
        at = None if rows is None else self.xp.place(rows)
        return to_host(self.gram if at is None else self.gram[at[:, None], at])

    def shifted_products(self) -> np.ndarray:
        """Products of all rows, which have no features to shift; a new array."""
        return np.array(self.gram, dtype=np.float64, order="C")

    def column(self, row: int) -> np.ndarray:
        """Products of all rows with one."""
        return self.gram[row]

    def squared_norms(self) -> np.ndarray:
        """Product of each row with itself, in float64."""
        return self.gram.diagonal().astype(np.float64)

    def expand(self, coefficients: sp.csr_array) -> np.ndarray:
        """Products of all rows with combinations of rows, the columns of a sparse matrix: ``K C``."""
        return np.asarray(coefficients.T @ self.gram).T  # sums of some rows, cheaper than any product

    def part(self, rows: np.ndarray) -> KernelSpace:
        """The space of some rows alone."""
        return KernelSpace(self.gram[np.ix_(rows, rows)])

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        xp = self.xp
        return xp.product(self.gram if rows is None else self.gram[xp.place(rows)], theta)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these coefficients, for new rows."""
        return ScoreFunction(self.feature_map, self.xp.place(theta))

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
        cholesky = cholesky_plus_identity(root * gram * root.T)

        def solve(targets: np.ndarray) -> np.ndarray:
            theta = np.zeros_like(targets)
            theta[active] = root * sla.cho_solve(cholesky, root * targets[active], check_finite=False)
            return theta

        def leverage() -> np.ndarray:
            values = np.zeros(self.n_rows, dtype=self.dtype)
            values[active] = 1 - inverse_diagonal(cholesky)
            return values

        return NormalEquations(solve, leverage)

    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor:
        """LU of ``T = a I + g L K``, which is symmetric only in the metric of the kernel."""
        xp = self.xp
        matrix = cast(xp.operator(laplacian, self.dtype) @ self.gram, np.float64)
        matrix *= graph
        xp.add_diagonal(matrix, ambient)
        return Factor(xp.lu_factor(matrix))


@dataclass(frozen=True, eq=False)
class FeatureSpace(HeldSpace):
    """Functions ``f = Z theta`` of explicit features.

    Parameters
    ----------
    features : {ndarray, csr matrix, tensor} of shape (n_rows, n_params)
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
    has_gram: ClassVar[Literal[False]] = False

    @property
    def held(self) -> Any:
        return self.features

    @property
    def n_params(self) -> int:
        return self.features.shape[1]

    @property
    def mean_square(self) -> float:
        return self.xp.sum_of_squares(self.features) / self.n_rows

    @property
    def largest_product(self) -> float:
        """No product of two rows is larger."""
        largest = self.xp.largest(self.features)
        return largest * largest * self.n_params  # a power that overflows would be an error

    def products(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Products of rows with each other; of all, or of some."""
        features = to_host(self.features if rows is None else self._lines(rows))
        return dense(features @ features.T)

    def shifted_products(self) -> np.ndarray:
        """Products of dense rows less their medians: a center that a few rows far away do not move."""
        centered = self.features - np.median(self.features, axis=0)
        return centered @ centered.T

    def column(self, row: int) -> np.ndarray:
        """Products of all rows with one."""
        return self.features @ dense(self._lines(np.array([row]))).ravel()

    def squared_norms(self) -> np.ndarray:
        """Product of each row with itself, in float64."""
        return row_norms(self.features, squared=True).astype(np.float64)

    def expand(self, coefficients: sp.csr_array) -> np.ndarray:
        """Products of all rows with combinations of rows, the columns of a sparse matrix: ``Z Z'C``."""
        return self.scores(self.adjoint(coefficients.toarray().astype(self.dtype, copy=False)))

    def part(self, rows: np.ndarray) -> FeatureSpace:
        """The space of some rows alone."""
        return FeatureSpace(self.features[rows])

    @cached_property
    def _transposed(self) -> Any:
        return self.features.T.tocsr() if sp.issparse(self.features) else self.features.T

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        if rows is None:  # the type of the features, which are many
            return self.xp.product(self.features, cast(theta, self.dtype))
        return self.xp.product(self._lines(rows), theta)

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Adjoint of ``scores``: ``Z' v``."""
        return self.xp.long_product(self._transposed, values)

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``a' b``."""
        return namespace(a).inner(a, b)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these weights, for new rows."""
        return ScoreFunction(self.feature_map, self.xp.place(theta, self.dtype))

    def representers(self, rows: np.ndarray) -> np.ndarray:
        """``A*`` of the indicators of some rows, in float64: their features."""
        return dense(to_host(self._lines(rows))).T.astype(np.float64)

    def combined(self, mixing: np.ndarray, rows: np.ndarray | None = None) -> FeatureSpace:
        """The space of the features ``Z M`` in float64: of all rows where they are, of some on the host."""
        if rows is None:
            return FeatureSpace(self.xp.product(self.features, self.xp.place(mixing)))
        return FeatureSpace(to_host(self._lines(rows)).astype(np.float64, copy=False) @ mixing)

    def _lines(self, rows: np.ndarray) -> Any:
        return self.features[self.xp.place(rows)]

    def normal_equations(self, weights: np.ndarray) -> NormalEquations:
        """``(Z'WZ + I) theta = Z'W y``, by Cholesky."""
        root = np.sqrt(weights)[:, None]
        Z = self.features.multiply(root).tocsr() if sp.issparse(self.features) else self.features * root
        cholesky = cholesky_plus_identity(dense(Z.T @ Z))

        def solve(targets: np.ndarray) -> np.ndarray:
            return sla.cho_solve(cholesky, Z.T @ (root * targets), check_finite=False)

        def leverage() -> np.ndarray:
            whitened = sla.solve_triangular(cholesky[0], dense(Z).T, lower=True, check_finite=False)
            return np.einsum("ij,ij->j", whitened, whitened)

        return NormalEquations(solve, leverage)

    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor:
        """Cholesky of ``T = a I + g Z'LZ``."""
        xp, matrix = self.xp, graph * self._smoothness(laplacian)
        xp.add_diagonal(matrix, ambient)
        factored = xp.cholesky_factor(matrix)
        if factored is None:
            raise too_uneven(xp.largest(self.features), ambient, graph)
        return Factor(*factored)

    def smoothed(self, laplacian: sp.csr_array, theta: np.ndarray) -> np.ndarray:
        """``Z'LZ theta`` in float64, whatever the type of the features, a block of rows at a time."""
        theta, blocks = theta.astype(np.float64, copy=False), list(gen_batches(self.n_rows, BLOCK_ROWS))
        product = self.xp.product
        passed = laplacian @ np.concatenate([product(self.features[block], theta) for block in blocks])
        return np.sum([product(self.features[block].T, passed[block]) for block in blocks], axis=0)

    def _smoothness(self, laplacian: sp.csr_array) -> Any:
        """``Z'LZ``, summed over blocks of rows in float64."""
        xp, Z = self.xp, self.features
        if isinstance(laplacian, AnchorLaplacian):
            return laplacian.smoothness(Z)
        if sp.issparse(Z):
            return dense(self._transposed @ (laplacian @ Z)).astype(np.float64)
        total = xp.place(np.zeros((self.n_params, self.n_params)))
        for block in gen_batches(self.n_rows, BLOCK_ROWS):
            smoothed = xp.operator(laplacian[block], self.dtype) @ Z
            total += cast(Z[block].T, np.float64) @ cast(smoothed, np.float64)
        return total


def not_a_kernel(largest: float) -> ValueError:
    """What to say where the Cholesky factorization of a kernel with such entries fails."""
    return ValueError(
        "the kernel is not positive semi-definite to rounding, with entries of size "
        f"{largest:.2g} in units of ambient_penalty: scale X or raise ambient_penalty, and check that a "
        "precomputed or callable kernel is."
    )


def cholesky_plus_identity(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky of ``M + I``; ``M`` is overwritten."""
    matrix.flat[:: matrix.shape[0] + 1] += 1
    largest = float(np.abs(matrix).max(initial=0))
    try:
        return sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except sla.LinAlgError:
        raise not_a_kernel(largest) from None


def inverse_diagonal(cholesky: tuple[np.ndarray, bool]) -> np.ndarray:
    """Diagonal of ``(R R')^-1``: squared column norms of ``R^-1``."""
    root = cholesky[0]
    if not root.size:  # LAPACK would complain
        return np.empty(0, dtype=root.dtype)
    (invert,) = sla.lapack.get_lapack_funcs(("trtri",), (root,))
    inverse = np.tril(invert(root, lower=True)[0])
    return np.einsum("ij,ij->j", inverse, inverse)


def too_uneven(largest: float, ambient: float, graph: float) -> ValueError:
    """What to say where features with such entries and a graph leave no Cholesky factorization."""
    return ValueError(
        f"features of size {largest:.2g} leave nothing but rounding of ambient_penalty={ambient:.2g} beside "
        f"graph_penalty={graph:.2g}: center and scale X, use float64, or bring the penalties nearer to each "
        "other."
    )
