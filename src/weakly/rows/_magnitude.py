"""Sizes that arithmetic and memory can hold.

Numbers that are too large or too small are refused by name; features that no sample has are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def squarable(X: Any) -> Any:
    """Samples whose squares and products neither overflow nor vanish.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_samples, n_features)
        Samples, float32 or float64.

    Returns
    -------
    {ndarray, csr matrix}
        The same samples; in float64 where float32 does not hold sums of their squares.

    Raises
    ------
    ValueError
        Where float64 does not either.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._magnitude import squarable
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
    """Find the features that any sample has, so that weights of all others need no memory.

    Hashed text has a million features, of which a thousand samples may use ten thousand. A linear function of
    such samples, or a direction of their variance, is 0 on every other feature.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    ndarray of int or None
        Sorted features with an entry in some sample, at least one; ``None`` is all features, of dense samples
        and where more than half have entries.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from weakly.rows._magnitude import occupied_columns
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
