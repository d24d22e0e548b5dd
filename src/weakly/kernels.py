"""Kernels: from a name or a function to a Gram matrix.

A :class:`Kernel` is resolved once on the training rows (``gamma="median"`` becomes a number) and is then
the same function for every block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.utils.extmath import row_norms

from weakly.rows._arrays import dense, is_tensor, read_samples, to_host
from weakly.rows._device import to_device

__all__ = ["Kernel", "resolve_kernel"]

_GAMMA_RULES = ("scale", "median", "mean-distance")
_NAMES = ("rbf", "linear", "poly", "chi2", "cosine", "precomputed")
_SAMPLE = 1000  # rows that the distance rules look at
_FILLED = 0.5  # share of entries from which sparse samples are as large as dense ones


@dataclass(frozen=True)
class Kernel:
    """A kernel with every parameter a number.

    Parameters
    ----------
    name : str
        "rbf", "linear", "poly", "chi2", "cosine", "precomputed" or "callable".
    gamma : float
        Inverse squared width of "rbf", scale of "poly" and "chi2".
    degree : float
        Degree of "poly".
    coef0 : float
        Constant of "poly".
    function : callable or None
        ``function(X, Y)`` returning the Gram matrix, for "callable".

    See Also
    --------
    resolve_kernel : Build one from the parameters of an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.kernels import Kernel
    >>> Kernel("rbf", gamma=1.0)(np.array([[0.0], [1.0]])).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0
    function: Callable[[Any, Any], np.ndarray] | None = None

    @property
    def vanishes_far_away(self) -> bool:
        """Whether the kernel of two rows falls to 0 with their distance."""
        return self.name in ("rbf", "chi2")

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Gram matrix between the rows of ``X`` and of ``Y`` (of ``X`` itself by default)."""
        if is_tensor(X):
            return self._call_on_device(X, Y)
        match self.name:
            case "rbf":
                with np.errstate(over="ignore"):  # what is infinitely far has the kernel 0
                    return pairwise.rbf_kernel(*_near_origin(X, Y), gamma=self.gamma)
            case "linear":
                return pairwise.linear_kernel(X, Y, dense_output=True)
            case "poly":
                return pairwise.polynomial_kernel(X, Y, self.degree, self.gamma, self.coef0)
            case "cosine":
                return pairwise.cosine_similarity(X, Y, dense_output=True)
            case "chi2":
                return pairwise.chi2_kernel(X, Y, gamma=self.gamma)
            case "precomputed":
                return X
        return self._call_function(X, X if Y is None else Y)

    def _call_on_device(self, X: Any, Y: Any) -> Any:
        """The same for tensors, in place where the matrix is large; other kernels are taken on the host."""
        rows, others = X, X if Y is None else Y.to(X.dtype)
        match self.name:
            case "linear":
                return rows @ others.T
            case "rbf":
                squared = _squared_distances(rows, others)
                if Y is None:
                    squared.fill_diagonal_(0)
                return squared.mul_(-self.gamma).exp_()
            case "poly":
                return (rows @ others.T).mul_(self.gamma).add_(self.coef0).pow_(self.degree)
            case "cosine":
                return _unit(rows) @ _unit(others).T
        return to_device(self(to_host(X), None if Y is None else to_host(others)), X.device)

    def _call_function(self, X: Any, Y: Any) -> np.ndarray:
        assert self.function is not None
        gram: Any = self.function(X, Y)
        gram = np.asarray(dense(gram), dtype=X.dtype)
        if gram.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"kernel returned an array of shape {gram.shape} for {X.shape[0]} and {Y.shape[0]} rows: "
                "a callable kernel takes two matrices and returns the Gram matrix of their rows."
            )
        if not np.isfinite(gram).all():
            raise ValueError("kernel returned NaN or infinity: a callable kernel must be finite on all rows.")
        return gram


def _near_origin(X: Any, Y: Any) -> tuple[Any, Any]:
    """Samples and others less the mean of the others: far from the origin, distances drown in rounding.

    Sparse samples stay as they are, unless most of their entries are there: as dense ones they take no more
    memory, and may well lie far away.
    """
    others = _filled(X if Y is None else Y)
    if sp.issparse(others):
        return X, Y
    center = others.mean(axis=0, dtype=np.float64).astype(others.dtype)
    if Y is None:
        return others - center, None
    return dense(X) - center, others - center


def _filled(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) and X.nnz > _FILLED * X.shape[0] * X.shape[1] else X


def _squared_distances(X: Any, Y: Any) -> Any:
    """Squared distances between tensors, by way of float64: of rows far apart rounding would rule."""
    kind, centre = X.dtype, Y.double().mean(dim=0)
    X, Y = X.double() - centre, Y.double() - centre
    squared = (X @ Y.T).mul_(-2)
    return squared.add_((X * X).sum(dim=1)[:, None]).add_((Y * Y).sum(dim=1)).clamp_(min=0).to(kind)


def _unit(X: Any) -> Any:
    norms = X.norm(dim=1, keepdim=True)
    return X / norms.masked_fill(norms == 0, 1)


def resolve_kernel(
    kernel: str | Callable[[Any, Any], np.ndarray],
    X: Any,
    *,
    gamma: float | str = "median",
    degree: float = 3,
    coef0: float = 1.0,
) -> Kernel:
    """Turn an estimator's kernel parameters into a :class:`Kernel`.

    Parameters
    ----------
    kernel : str or callable
        Name of a kernel, or a function of two matrices that returns their Gram matrix.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Training rows (the Gram matrix itself for "precomputed").
    gamma : float or {"scale", "median", "mean-distance"}, default="median"
        "scale" is ``1 / (n_features * X.var())``. The others set the width ``sigma`` of
        ``exp(-d^2 / (2 sigma^2))``: "median" is half the median distance between rows, "mean-distance"
        the root of the mean squared distance ([wellsvm] section 5.1).
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".

    Returns
    -------
    Kernel
        With numbers for all parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.kernels import resolve_kernel
    >>> resolve_kernel("rbf", np.array([[0.0], [2.0]]), gamma="median").gamma
    0.5
    """
    X = read_samples(X)
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel not in _NAMES:
        raise ValueError(
            f"kernel is {kernel!r}: use one of {', '.join(_NAMES)}, or a function of two matrices."
        )
    if kernel == "precomputed":
        _check_gram(X)
    if kernel == "chi2" and (sp.issparse(X) or X.min() < 0):
        raise ValueError(
            'kernel="chi2" needs dense rows without negative entries: scale X, or use another kernel.'
        )
    uses_gamma = kernel in ("rbf", "poly", "chi2")
    return Kernel(kernel, _resolve_gamma(gamma, X) if uses_gamma else 1.0, degree, coef0)


def _resolve_gamma(gamma: float | str, X: Any) -> float:
    if not isinstance(gamma, str):
        if not (np.isreal(gamma) and 0 < gamma < np.inf):
            raise ValueError(
                f"gamma is {gamma!r}: use a positive number or one of {', '.join(_GAMMA_RULES)}."
            )
        return float(gamma)
    if gamma not in _GAMMA_RULES:
        raise ValueError(f"gamma is {gamma!r}: use a positive number or one of {', '.join(_GAMMA_RULES)}.")
    if gamma == "scale":
        variance = (X.multiply(X)).mean() - X.mean() ** 2 if sp.issparse(X) else X.var(dtype=np.float64)
        return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0
    squared = _sampled_squared_distances(X)
    if not squared.any():  # all rows are one point: any width gives the same kernel
        return 1.0
    if gamma == "median":
        # Half the median: the kernel has fallen to exp(-2) at the median distance.
        positive_median = np.median(squared) or np.median(squared[squared > 0])
        return float(2 / positive_median)
    return float(1 / (2 * squared.mean()))  # sigma^2 = mean squared distance, [wellsvm] section 5.1


def _sampled_squared_distances(X: Any) -> np.ndarray:
    """Squared distances between evenly spaced rows: the same for every seed and machine."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, _SAMPLE).astype(int))
    sample = _filled(X[rows].astype(np.float64))
    if not sp.issparse(sample):
        sample -= sample.mean(axis=0)  # far from the origin differences would drown in rounding
    squared = pairwise.euclidean_distances(sample, squared=True)
    norms = row_norms(sample, squared=True)
    squared[squared <= 1e-13 * np.add.outer(norms, norms)] = 0  # duplicates, but for rounding
    return squared[np.triu_indices(len(rows), 1)]


def _check_gram(gram: Any) -> None:
    if sp.issparse(gram):
        raise ValueError('kernel="precomputed" needs a dense X: convert the Gram matrix with X.toarray().')
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f'kernel="precomputed" needs the square Gram matrix of the training rows as X, not {gram.shape}.'
        )
    scale = np.abs(gram).max(initial=0)
    if not np.allclose(gram, gram.T, rtol=0, atol=1e-5 * scale):
        raise ValueError('kernel="precomputed" needs a symmetric X: symmetrise it with (X + X.T) / 2.')
