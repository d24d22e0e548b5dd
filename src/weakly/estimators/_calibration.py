"""From scores to decisions and probabilities with very few labels.

**Class-mass normalisation.** With few labels the Laplacian solution orders the rows well but its level is
off: a class may lose every row though its scores are the highest of the column. A perfect score column of a
class with share ``p`` is +1 on that share of the rows and -1 elsewhere: mean ``2p - 1``, standard deviation
``2 sqrt(p (1 - p))``. Scores are shifted and scaled to have these moments over all training rows. With equal
shares this is the threshold at the mean, or the standardised argmax.

**Temperature.** Probabilities are ``softmax(c d)`` of the decisions ``d``. The one number ``c`` maximises the
likelihood of the labelled rows, each scored by the model that did not see it, times a log-normal prior; with
one label per class the prior speaks, with many the labels do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax

from weakly.rows._arrays import cast, namespace
from weakly.rows._device import dtype_of

PRIOR_SPREAD = 0.7  # of the logarithm of the temperature


def prior_temperature(n_classes: int) -> float:
    """Temperature before any label is seen.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    float
        ``log2(n_classes)``: about the best one on 14 data sets with 2 to 26 classes.
    """
    return float(np.log2(n_classes))


@dataclass(frozen=True, eq=False)
class Moments:
    """An affine map of each score column, fixed on the training rows.

    Parameters
    ----------
    scale : ndarray of shape (n_columns,)
        Factors.
    offset : ndarray of shape (n_columns,)
        Added after scaling.
    """

    scale: np.ndarray
    offset: np.ndarray

    @classmethod
    def identity(cls, scores: np.ndarray) -> Moments:
        """Leave scores as they are."""
        zeros = np.zeros(scores.shape[1], dtype=scores.dtype)
        return cls(zeros + 1, zeros)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Normalise scores of any rows."""
        return scores * self.scale + self.offset


def match_moments(scores: np.ndarray, prior: np.ndarray) -> Moments:
    """Find the map that gives score columns the moments of classes with these shares.

    Parameters
    ----------
    scores : {ndarray, tensor} of shape (n_rows, n_columns)
        Scores of all training rows; a single column is that of the second of two classes.
    prior : ndarray of shape (n_classes,)
        Share of each class.

    Returns
    -------
    Moments
        The map; a constant column stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import match_moments
    >>> scores = np.array([[0.1], [0.2], [0.3], [0.4]])
    >>> match_moments(scores, np.array([0.5, 0.5]))(scores).ravel().round(2).tolist()
    [-1.34, -0.45, 0.45, 1.34]
    """
    xp, dtype = namespace(scores), dtype_of(scores)
    share = xp.place(prior[-1:] if scores.shape[1] == 1 else prior)
    # In float64, or rounding would give a constant column a spread; in units in which no square overflows.
    unit = float(np.exp2(np.frexp(xp.largest(scores))[1] - 1))
    columns = cast(scores, np.float64) / unit
    mean, spread = unit * columns.mean(axis=0), unit * xp.std(columns, axis=0, correction=0)
    least = float(np.finfo(dtype).tiny)  # its inverse is still a number
    informative = spread > xp.clip(1e-10 * unit * xp.amax(abs(columns), axis=0), least, None)
    scale = xp.where(informative, 2 * xp.sqrt(share * (1 - share)) / xp.where(informative, spread, 1), 1)
    offset = xp.where(informative, 2 * share - 1 - scale * mean, 0)
    return Moments(cast(scale, dtype), cast(offset, dtype))


def fit_temperature(decisions: np.ndarray, codes: np.ndarray) -> float:
    """Temperature of the softmax that suits labelled rows scored by models without them.

    Parameters
    ----------
    decisions : ndarray of shape (n_labeled, n_columns)
        Held-out decisions; rows that are the only one of their class are passed over.
    codes : ndarray of shape (n_labeled,)
        Class of each row.

    Returns
    -------
    float
        The most probable temperature; that of the prior with no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import fit_temperature
    >>> right = np.array([[1.0], [-1.0]] * 50)
    >>> bool(fit_temperature(right, np.array([1, 0] * 50)) > fit_temperature(right, np.array([0, 1] * 50)))
    True
    """
    # Without its only row a class is unknown, and the held-out decision wrong whatever the model is worth.
    repeated = np.bincount(codes)[codes] > 1
    columns, codes = _two_columns(decisions[repeated]), codes[repeated]
    centre = np.log(prior_temperature(columns.shape[1]))

    def loss(log_temperature: float) -> float:
        likelihood = log_softmax(np.exp(log_temperature) * columns, axis=1)[
            np.arange(len(codes)), codes
        ].sum()
        return -likelihood + ((log_temperature - centre) / PRIOR_SPREAD) ** 2 / 2

    reach = 6 * PRIOR_SPREAD
    return float(np.exp(minimize_scalar(loss, bounds=(centre - reach, centre + reach), method="bounded").x))


def match_confidence(decisions: np.ndarray, confidence: float) -> float:
    """Temperature at which the probability of the predicted class has a given mean.

    Parameters
    ----------
    decisions : ndarray of shape (n_rows, n_columns)
        Decisions; a single column is that of the second of two classes.
    confidence : float
        The mean, above that of a guess.

    Returns
    -------
    float
        Between 1/1000 and 1000; 1 for decisions that are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.estimators._calibration import match_confidence, probabilities
    >>> decisions = np.array([[0.5], [-2.0]])
    >>> bool(np.isclose(probabilities(decisions, match_confidence(decisions, 0.8)).max(axis=1).mean(), 0.8))
    True
    """

    def excess(log_temperature: float) -> float:
        return float(probabilities(decisions, np.exp(log_temperature)).max(axis=1).mean()) - confidence

    reach = np.log(1000.0)
    if excess(-reach) >= 0 or excess(reach) <= 0:
        return 1.0 if np.ptp(decisions) == 0 else float(np.exp(-reach if excess(-reach) >= 0 else reach))
    return float(np.exp(brentq(excess, -reach, reach, xtol=1e-6)))


def probabilities(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """Class probabilities of rows.

    Parameters
    ----------
    decisions : ndarray of shape (n_rows, n_columns)
        Decisions; a single column is that of the second of two classes.
    temperature : float
        Factor on the decisions.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Rows sum to 1; the largest entry is the predicted class.
    """
    return softmax(temperature * _two_columns(decisions), axis=1)


def decisions_of(prior: np.ndarray, temperature: float) -> np.ndarray:
    """Decisions whose probabilities are given: the inverse of :func:`probabilities`.

    Parameters
    ----------
    prior : ndarray of shape (n_classes,)
        Probabilities.
    temperature : float
        Factor on the decisions.

    Returns
    -------
    ndarray of shape (n_columns,)
        A single column for two classes.
    """
    logits = np.log(prior) / temperature
    return (logits[1:] - logits[:1]) / 2 if len(prior) == 2 else logits


def _two_columns(decisions: np.ndarray) -> np.ndarray:
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions
