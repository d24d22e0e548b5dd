"""Weighted ridge problems of a space, factored once for all targets; small, and so on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla


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
