"""Kernel ridge regression at many penalties from one eigendecomposition, with exact leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class RidgePath:
    """Ridge regressions of one or many kernels, at each of several penalties.

    Leading axes are those of the kernels, then comes the penalty.

    Parameters
    ----------
    coefficients : ndarray of shape (..., n_penalties, n_rows, n_columns)
        ``a = (K + p I)^-1 Y``, so that the scores of any rows are their kernel with these rows times ``a``.
    held_out : ndarray of shape (..., n_penalties, n_rows, n_columns)
        Score of each row by the regression without it.
    precision : ndarray of shape (..., n_penalties, n_rows)
        Diagonal of ``(K + p I)^-1``: inverse variance of a row given all others, in units of ``variance``.
    variance : ndarray of shape (..., n_penalties)
        ``tr(Y' (K + p I)^-1 Y)`` over the degrees of freedom, the most likely scale of the kernel.
    log_evidence : ndarray of shape (..., n_penalties)
        Log density of the targets under a Gaussian process with that scale, but for a constant.
    """

    coefficients: np.ndarray
    held_out: np.ndarray
    precision: np.ndarray
    variance: np.ndarray
    log_evidence: np.ndarray


def solve_ridge_path(
    gram: np.ndarray,
    targets: np.ndarray,
    penalties: np.ndarray,
    *,
    constants: Sequence[float] = (0.0,),
    n_free: int | None = None,
) -> list[RidgePath]:
    """Solve kernel ridge regression at several penalties, for a stack of kernels at once.

    Parameters
    ----------
    gram : ndarray of shape (..., n_rows, n_rows)
        Kernels of the labeled samples.
    targets : ndarray of shape (n_rows, n_columns)
        Targets, the same for all kernels.
    penalties : ndarray of shape (n_penalties,)
        Positive penalties ``p``.
    constants : sequence of float, default=(0.0,)
        Numbers, each of which is added to every entry of the kernels: the prior variance of an offset of the
        scores. There is a path for each.
    n_free : int or None, default=None
        Columns of the targets that are free; all by default. One-hot rows minus their mean have one less.

    Returns
    -------
    list of RidgePath
        Coefficients, leave-one-out scores and evidence, for each constant.

    Notes
    -----
    With ``K = Q D Q'`` every penalty costs a product. The score of a row without itself is
    ``y_i - a_i / diag_i``, [rasmussen2006]_ Eq. (5.12). A constant is a change of rank one, which
    Woodbury's identity takes into account without a second decomposition.

    References
    ----------
    .. [rasmussen2006] C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto._ridge_path import solve_ridge_path
    >>> gram, targets = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [-1.0]])
    >>> (path,) = solve_ridge_path(gram, targets, penalties=np.array([1.0]))
    >>> path.held_out[0].ravel().tolist()  # each row by the other alone: 0.5 / (1 + 1) of its target
    [-0.25, 0.25]
    """
    values, vectors = np.linalg.eigh(gram)
    # Rounding may leave eigenvalues below 0, and the smallest penalty must stay what it is.
    shrunk = 1 / (np.maximum(values, 0)[..., None, :] + penalties[:, None])
    n_free = targets.shape[1] if n_free is None else n_free
    return [_path_of(shrunk, vectors, targets, constant, n_free) for constant in constants]


def _path_of(
    shrunk: np.ndarray, vectors: np.ndarray, targets: np.ndarray, constant: float, n_free: int
) -> RidgePath:
    rotated = np.swapaxes(vectors, -1, -2)
    projected = rotated @ targets
    coefficients = vectors[..., None, :, :] @ (shrunk[..., None] * projected[..., None, :, :])
    precision = shrunk @ np.swapaxes(vectors**2, -1, -2)
    fit = np.einsum("...pi,...ic->...p", shrunk, projected**2)
    log_det = -np.log(shrunk).sum(axis=-1)
    if constant:
        # (M + c 11')^-1 = M^-1 - m m' / (1/c + 1'm) with m = M^-1 1.
        direction = (shrunk * rotated.sum(axis=-1)[..., None, :]) @ rotated
        total = 1 / constant + direction.sum(axis=-1)
        share = direction @ targets
        coefficients -= direction[..., None] * (share / total[..., None])[..., None, :]
        precision -= direction**2 / total[..., None]
        fit -= (share**2).sum(axis=-1) / total
        log_det += np.log(constant * total)
    n_rows = len(targets)
    variance = fit / (n_rows * n_free)
    return RidgePath(
        coefficients=coefficients,
        held_out=targets - coefficients / precision[..., None],
        precision=precision,
        variance=variance,
        log_evidence=-n_free / 2 * (n_rows * np.log(variance) + log_det),
    )
