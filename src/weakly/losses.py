"""Losses on the labelled rows, as functions of targets and scores.

=================  ==============================  ============================
loss               value                           used by
=================  ==============================  ============================
"squared"          ``(y - f)^2 / 2``               Laplacian RLS
"squared_hinge"    ``max(1 - y f, 0)^2 / 2``       Laplacian SVM
"hinge"            ``max(1 - y f, 0)``             Laplacian SVM, through LIBSVM
"logistic"         ``log(1 + exp(-y f))``          exclusive Laplacian SVM, AdaBoost.ML
"exponential"      ``exp(-y f)``                   RMSBoost and SERBoost
=================  ==============================  ============================

For signs ``y`` the squared hinge is ``(y - f)^2 / 2`` on the rows inside the margin and 0 elsewhere. The
first two losses are therefore one parabola with different *active* rows, which is all a Newton method asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

__all__ = ["LOSSES", "Loss"]


@dataclass(frozen=True)
class Loss:
    """A loss of targets and scores, element by element.

    Parameters
    ----------
    name : str
        How estimators call it.
    value : callable
        ``value(y, f)``.
    slope : callable
        ``slope(y, f)``, the derivative by ``f``; of the hinge at its kink, 0.
    active : callable or None, default=None
        ``active(y, f)``: where the loss is ``(y - f)^2 / 2``, being 0 elsewhere; ``None`` for other losses.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.losses import LOSSES
    >>> LOSSES["squared_hinge"].value(np.array([1.0, -1.0]), np.array([0.0, -2.0])).tolist()
    [0.5, 0.0]
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]
    active: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


def bounded_exp(exponents: np.ndarray) -> np.ndarray:
    """``exp(x)``, the same number for all ``x`` from 700 on, so that sums of it stay finite.

    Parameters
    ----------
    exponents : ndarray
        The exponents.

    Returns
    -------
    ndarray
        Up to 1e304.
    """
    return np.exp(np.minimum(exponents, 700.0))


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "squared",
            lambda y, f: (y - f) ** 2 / 2,
            lambda y, f: f - y,
            lambda y, f: np.ones(f.shape, dtype=bool),
        ),
        Loss(
            "squared_hinge",
            lambda y, f: np.maximum(1 - y * f, 0) ** 2 / 2,
            lambda y, f: -y * np.maximum(1 - y * f, 0),
            lambda y, f: y * f < 1,
        ),
        Loss("hinge", lambda y, f: np.maximum(1 - y * f, 0), lambda y, f: -y * (y * f < 1)),
        Loss("logistic", lambda y, f: np.logaddexp(0, -y * f), lambda y, f: -y * expit(-y * f)),
        Loss("exponential", lambda y, f: bounded_exp(-y * f), lambda y, f: -y * bounded_exp(-y * f)),
    )
}
