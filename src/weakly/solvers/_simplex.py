"""Projection of rows onto the probability simplex."""

from __future__ import annotations

import numpy as np

from weakly.rows._arrays import dtype_of, namespace


def project_simplex(values: np.ndarray) -> np.ndarray:
    """Project each row onto ``{x : x >= 0, sum x = 1}``.

    The projection is ``max(v - t, 0)``, with ``t`` found from the sorted row in closed form; [tvsvm] uses
    Michelot's iteration for the same point.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Rows ``v``; a tensor gives a tensor.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        The nearest points.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import project_simplex
    >>> project_simplex(np.array([[0.5, 0.7], [3.0, 0.0]])).round(3).tolist()
    [[0.4, 0.6], [1.0, 0.0]]
    """
    xp = namespace(values)
    descending = -xp.sort(-values, axis=1)
    counts = xp.place(np.arange(1, values.shape[1] + 1), dtype_of(values))
    thresholds = (xp.cumsum(descending, axis=1) - 1) / counts
    n_kept = xp.count_nonzero(descending > thresholds, axis=1)  # at least 1: the largest entry stays
    chosen = xp.take_along_axis(thresholds, n_kept[:, None] - 1, axis=1)
    return xp.clip(values - chosen, 0, None)
