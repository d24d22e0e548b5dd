"""Losses on the labeled samples, as functions of targets and scores.

=================  ==============================  ============================
loss               value                           used by
=================  ==============================  ============================
"squared"          ``(y - f)^2 / 2``               Laplacian RLS
"squared_hinge"    ``max(1 - y f, 0)^2 / 2``       Laplacian SVM
"hinge"            ``max(1 - y f, 0)``             Laplacian SVM, through LIBSVM
"logistic"         ``log(1 + exp(-y f))``          exclusive Laplacian SVM, AdaBoost.ML
"exponential"      ``exp(-y f)``                   RMSBoost and SERBoost
=================  ==============================  ============================

For signs ``y`` the squared hinge is ``(y - f)^2 / 2`` inside the margin and 0 elsewhere. Newton's method is
therefore exact for the first two losses once it knows which samples have curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

Derivative = Callable[[np.ndarray, np.ndarray], np.ndarray]


class ScoreLoss(Protocol):
    """What a solver may ask of a loss summed over samples, with one score to each.

    The curvature is that of each sample by itself: a one-sided second derivative where the slope has a kink,
    negative where the loss is not convex.
    """

    def value(self, scores: np.ndarray) -> float: ...
    def slope(self, scores: np.ndarray) -> np.ndarray: ...
    def curvature(self, scores: np.ndarray) -> np.ndarray: ...

    def value_slope(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(scores), self.slope(scores)


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
    curvature : callable
        ``curvature(y, f)``, the second derivative by ``f``, at least 0.
    is_smooth : bool, default=True
        Whether the slope is continuous, as Newton's method asks; the hinge has solvers of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.losses import LOSSES
    >>> LOSSES["squared_hinge"].value(np.array([1.0, -1.0]), np.array([0.0, -2.0])).tolist()
    [0.5, 0.0]
    """

    name: str
    value: Derivative
    slope: Derivative
    curvature: Derivative
    is_smooth: bool = True

    def at(self, targets: np.ndarray, weights: np.ndarray, offsets: np.ndarray | float = 0.0) -> LabeledLoss:
        """Sum the loss over samples, as a function of their scores.

        Parameters
        ----------
        targets : ndarray of shape (n_samples,)
            Targets ``y``.
        weights : ndarray of shape (n_samples,)
            Weights of the samples.
        offsets : ndarray of shape (n_samples,) or float, default=0.0
            Added to the scores.

        Returns
        -------
        LabeledLoss
            For ``fit_rows``.
        """
        return LabeledLoss(self, targets, weights, offsets)


@dataclass(frozen=True, eq=False)
class LabeledLoss(ScoreLoss):
    """``sum_i w_i loss(y_i, t_i + o_i)`` as a function of scores ``t``.

    Parameters
    ----------
    loss : Loss
        The loss.
    targets : ndarray of shape (n_samples,)
        Targets ``y``.
    weights : ndarray of shape (n_samples,)
        Weights ``w``.
    offsets : ndarray of shape (n_samples,) or float, default=0.0
        Offsets ``o``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.losses import LOSSES
    >>> loss = LOSSES["squared"].at(np.array([1.0, -1.0]), np.array([1.0, 3.0]))
    >>> loss.value(np.zeros(2)), loss.slope(np.zeros(2)).tolist(), loss.curvature(np.zeros(2)).tolist()
    (2.0, [-1.0, 3.0], [1.0, 3.0])
    """

    loss: Loss
    targets: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray | float = 0.0

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ self.loss.value(self.targets, scores + self.offsets))

    def slope(self, scores: np.ndarray) -> np.ndarray:
        return self.weights * self.loss.slope(self.targets, scores + self.offsets)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.weights * self.loss.curvature(self.targets, scores + self.offsets)


def bounded_exp(exponents: np.ndarray) -> np.ndarray:
    """``exp(x)``, the same number for all ``x`` from 700 on, 1e304, so that sums of it stay finite."""
    return np.exp(np.minimum(exponents, 700.0))


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "squared",
            lambda y, f: (y - f) ** 2 / 2,
            lambda y, f: f - y,
            lambda y, f: np.ones_like(f),
        ),
        Loss(
            "squared_hinge",
            lambda y, f: np.maximum(1 - y * f, 0) ** 2 / 2,
            lambda y, f: -y * np.maximum(1 - y * f, 0),
            lambda y, f: (y * f < 1).astype(f.dtype),
        ),
        Loss(
            "hinge",
            lambda y, f: np.maximum(1 - y * f, 0),
            lambda y, f: -y * (y * f < 1),
            lambda y, f: np.zeros_like(f),
            is_smooth=False,
        ),
        Loss(
            "logistic",
            lambda y, f: np.logaddexp(0, -y * f),
            lambda y, f: -y * expit(-y * f),
            lambda y, f: y * y * expit(-y * f) * expit(y * f),
        ),
        Loss(
            "exponential",
            lambda y, f: bounded_exp(-y * f),
            lambda y, f: -y * bounded_exp(-y * f),
            lambda y, f: y * y * bounded_exp(-y * f),
        ),
    )
}


def resolve_loss(loss: str | Loss, *, smooth: bool = False) -> Loss:
    """Find a loss by its name; a `Loss` is taken as it is.

    Parameters
    ----------
    loss : str or Loss
        A name of `LOSSES`, or a loss.
    smooth : bool, default=False
        Whether the slope must be continuous.

    Returns
    -------
    Loss
        The loss.

    Examples
    --------
    >>> from weakly.losses import resolve_loss
    >>> resolve_loss("squared").name
    'squared'
    """
    known = [name for name, one in LOSSES.items() if one.is_smooth or not smooth]
    found = LOSSES.get(loss) if isinstance(loss, str) else loss
    if found is None or (smooth and not found.is_smooth):
        raise ValueError(f"loss is {loss!r}: use {', '.join(map(repr, known))}, or a smooth Loss.")
    return found
