"""Losses of a transductive SVM as functions of the score of each sample, labeled or not.

With ``V(t) = max(1 - t, 0)^2 / 2`` a labeled sample costs ``C V(y t)``. An unlabeled one costs
``C* min(V(t), V(-t))``, which has two valleys; every class here is one way around the hill between them.

================  ========================================================  ==========================
class             cost of an unlabeled sample                               used by
================  ========================================================  ==========================
`TwoSided`        ``p V(t) + q V(-t) + s t``                                switching, cccp, the end
`Bump`            ``C* exp(-5 t^2) / 2``                                    gradient, newton
`Blurred`         ``C* E min(V(t + e), V(-t - e))``, ``e`` Gaussian         continuation
`Annealed`        ``min_p C* (p V(t) + (1 - p) V(-t)) - T H(p)``            annealing
================  ========================================================  ==========================

All are a :class:`weakly.losses.ScoreLoss`: value, summed over samples, slope and curvature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit, ndtr

from weakly.losses._labeled import ScoreLoss

_STEEPNESS = 5.0  # of the bump; 6.7 is nearest to the hill, a wider one draws samples from further away
_FOOT = 7.0  # exponent from which on the hill is flat: samples that are far away need no equation


def squared_hinge(scores: np.ndarray) -> np.ndarray:
    """``V(t) = max(1 - t, 0)^2 / 2``."""
    return np.maximum(1 - scores, 0) ** 2 / 2


@dataclass(frozen=True, eq=False)
class TwoSided(ScoreLoss):
    """``sum_i p_i V(t_i) + q_i V(-t_i) + s_i t_i``: convex, and a parabola between -1 and 1.

    The costs ``p`` and ``q`` of the two labels, ``positive`` and ``negative``, are both 0 on samples without
    a loss; ``s`` is the ``tilt``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.losses._transductive import TwoSided
    >>> loss = TwoSided(np.array([1.0, 0.0]), np.array([0.0, 1.0]))  # a positive and a negative sample
    >>> loss.value(np.array([0.0, -2.0])), loss.slope(np.array([0.0, -2.0])).tolist()
    (0.5, [-1.0, 0.0])
    """

    positive: np.ndarray
    negative: np.ndarray
    tilt: np.ndarray | float = 0.0

    def value(self, scores: np.ndarray) -> float:
        sides = self.positive @ squared_hinge(scores) + self.negative @ squared_hinge(-scores)
        return float(sides + np.sum(self.tilt * scores))

    def slope(self, scores: np.ndarray) -> np.ndarray:
        return (
            self.negative * np.maximum(1 + scores, 0) - self.positive * np.maximum(1 - scores, 0) + self.tilt
        )

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.positive * (scores < 1) + self.negative * (scores > -1)


@dataclass(frozen=True, eq=False)
class Bump(ScoreLoss):
    """Labeled samples as they are; unlabeled ones cost a smooth hill around 0.

    The costs ``C*`` of unlabeled samples are 0 on labeled ones, here and in what follows.
    """

    labeled: TwoSided
    costs: np.ndarray

    def _hill(self, scores: np.ndarray) -> np.ndarray:
        return self.costs * np.exp(-_STEEPNESS * scores**2) / 2

    def value(self, scores: np.ndarray) -> float:
        return self.labeled.value(scores) + float(self._hill(scores).sum())

    def slope(self, scores: np.ndarray) -> np.ndarray:
        return self.labeled.slope(scores) - 2 * _STEEPNESS * scores * self._hill(scores)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        steep = _STEEPNESS * scores**2
        bend = np.where(steep < _FOOT, 2 * _STEEPNESS * (2 * steep - 1) * self._hill(scores), 0.0)
        return self.labeled.curvature(scores) + bend


@dataclass(frozen=True, eq=False)
class Blurred(ScoreLoss):
    """The whole objective convolved with a Gaussian: the mean loss when scores have a random error.

    ``widths`` are the standard deviations of the errors, positive.
    """

    labeled: TwoSided
    costs: np.ndarray
    widths: np.ndarray

    def _blurred_hinge(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``E V(t + e)`` and its slope."""
        gap = 1 - scores
        below, density = ndtr(gap / self.widths), _normal_density(gap / self.widths)
        value = ((gap**2 + self.widths**2) * below + gap * self.widths * density) / 2
        return value, -(gap * below + self.widths * density)

    def _blurred_size(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``E |t + e|`` and its slope."""
        slope = 2 * ndtr(scores / self.widths) - 1
        return scores * slope + 2 * self.widths * _normal_density(scores / self.widths), slope

    def value(self, scores: np.ndarray) -> float:
        (right, _), (left, _) = self._blurred_hinge(scores), self._blurred_hinge(-scores)
        size, _ = self._blurred_size(scores)
        # min(V(t), V(-t)) = V(t) + V(-t) - (1 + |t|)^2 / 2: every part has a blur in closed form.
        hill = right + left - (1 + 2 * size + scores**2 + self.widths**2) / 2
        return float(self.labeled.positive @ right + self.labeled.negative @ left + self.costs @ hill)

    def slope(self, scores: np.ndarray) -> np.ndarray:
        (_, right), (_, left) = self._blurred_hinge(scores), self._blurred_hinge(-scores)
        hill = right - left - self._blurred_size(scores)[1] - scores
        return self.labeled.positive * right - self.labeled.negative * left + self.costs * hill

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        right, left = ndtr((1 - scores) / self.widths), ndtr((1 + scores) / self.widths)
        hill = right + left - 1 - 2 * _normal_density(scores / self.widths) / self.widths
        return self.labeled.positive * right + self.labeled.negative * left + self.costs * hill


@dataclass(frozen=True, eq=False)
class Annealed(ScoreLoss):
    """Unlabeled samples have both labels, with the probabilities that the temperature allows.

    The probabilities have a given mean, which is the balance; the level that brings it about moves with the
    scores. As they minimize the loss, its slope is that with the probabilities held fixed. ``rows`` are the
    unlabeled samples, ``cost`` is their ``C*``, ``share`` the mean probability of the positive label, and
    ``temperature`` the weight ``T`` of the entropy.
    """

    labeled: TwoSided
    rows: np.ndarray
    cost: float
    share: float
    temperature: float

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probability of the positive label of each unlabeled sample."""
        free = scores[self.rows]
        gains = self.cost * (squared_hinge(-free) - squared_hinge(free)) / self.temperature
        return expit(gains - balancing_level(gains, self.share))

    def value(self, scores: np.ndarray) -> float:
        return self.value_slope(scores)[0]

    def slope(self, scores: np.ndarray) -> np.ndarray:
        return self.value_slope(scores)[1]

    def value_slope(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Both at once: the probabilities are most of the work of either."""
        p, free = self.probabilities(scores), scores[self.rows]
        losses = p @ squared_hinge(free) + (1 - p) @ squared_hinge(-free)
        entropy = float((entr(p) + entr(1 - p)).sum())
        value = self.labeled.value(scores) + self.cost * float(losses) - self.temperature * entropy
        slope = self.labeled.slope(scores)
        slope[self.rows] = self.cost * ((1 - p) * np.maximum(1 + free, 0) - p * np.maximum(1 - free, 0))
        return value, slope

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """With the level held fixed, as if a sample moved alone among very many."""
        p, free = self.probabilities(scores), scores[self.rows]
        pull = self.cost * (np.maximum(1 + free, 0) + np.maximum(1 - free, 0))  # of one label less the other
        curvature = self.labeled.curvature(scores)
        sides = self.cost * (p * (free < 1) + (1 - p) * (free > -1))
        curvature[self.rows] = sides - p * (1 - p) * pull**2 / self.temperature
        return curvature


def balancing_level(gains: np.ndarray, share: float) -> float:
    """The level ``v`` at which the mean of ``1 / (1 + exp(v - gains))`` is ``share``.

    The mean falls with the level, and steeply so where many gains are near it: Newton steps, which bisection
    takes over where they leave the interval known to hold the level.
    """
    odds = np.log((1 - share) / share)
    low, high = float(gains.min()) + odds, float(gains.max()) + odds
    level = _quantile(gains, 1 - share)
    for _ in range(200):
        p = expit(gains - level)
        excess, steepness = p.sum() / len(p) - share, (p * (1 - p)).sum() / len(p)
        low, high = (level, high) if excess > 0 else (low, level)
        if abs(excess) <= 1e-12 or high - low <= 1e-14 * max(abs(low), abs(high), 1.0):
            break
        level = level + excess / steepness if steepness > 1e-12 else np.inf
        if not low < level < high:
            level = (low + high) / 2
    return level


def _quantile(values: np.ndarray, share: float) -> float:
    """``np.quantile`` of a vector, without the cost of all its cases."""
    place = share * (len(values) - 1)
    below = int(place)
    above, part = min(below + 1, len(values) - 1), place - below
    low, high = np.partition(values, [below, above])[[below, above]]
    return float(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))


def _normal_density(values: np.ndarray) -> np.ndarray:
    return np.exp(-(values**2) / 2) / np.sqrt(2 * np.pi)
