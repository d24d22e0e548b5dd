"""Features that take part, of sparse samples most of whose features are empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


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
    >>> from weakly.rows._columns import occupied_columns
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
