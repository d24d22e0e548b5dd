"""The penalty on samples in blocks that several classes score positive, for functions of anchors."""

from __future__ import annotations

from functools import partial

import numpy as np

from weakly.manifold._exclusive_solver import n_shared
from weakly.regularizers import Exclusive
from weakly.spaces import AnchoredSpace
from weakly.spaces._anchored import unpack

_REMEMBERED = 3  # points: the ends of a search along a line, and the one between


class BlockOthers:
    """The unlabeled samples of a space of anchors, which stay in their blocks."""

    def __init__(self, space: AnchoredSpace) -> None:
        self._space, self._kept = space, space.graph.keep_weights()
        blocks, known = space.graph.blocks, np.ones(len(space.labeled), dtype=bool)
        self._known = blocks.keep(blocks.spread(space.labeled, known, False))
        self._found: dict[tuple, tuple[float, np.ndarray]] = {}

    def value(self, charge: Exclusive, scores: np.ndarray) -> float:
        """Their penalty."""
        return self._at(charge, scores)[0]

    def slope(self, charge: Exclusive, scores: np.ndarray) -> np.ndarray:
        """Its derivative: all of it by the values at the anchors."""
        slopes = np.zeros(scores.shape)
        slopes[len(self._space.labeled) :] = self._at(charge, scores)[1]
        return slopes

    def n_shared(self, scores: np.ndarray, threshold: float) -> int:
        """How many have scores of several classes above a threshold."""
        theta = self._space.anchor_values(scores)
        return self._kept.reduce(partial(_n_shared, theta=theta, threshold=threshold), self._known)

    def _at(self, charge: Exclusive, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and derivative, which take one pass together; the last points are not looked at again."""
        theta = np.ascontiguousarray(self._space.anchor_values(scores))
        key = (charge.kind, charge.smoothing, theta.tobytes())
        if key not in self._found:
            found = self._kept.reduce(partial(_charge, theta=theta, charge=charge), self._known)
            self._found = dict([*self._found.items(), (key, found)][-_REMEMBERED:])
        return self._found[key]


def _charge(
    packed: np.ndarray, known: np.ndarray, theta: np.ndarray, charge: Exclusive
) -> tuple[float, np.ndarray]:
    weights = unpack(packed[~known], len(theta))
    scores = weights @ theta
    return float(charge.value(scores).sum()), weights.T @ charge.gradient(scores)


def _n_shared(packed: np.ndarray, known: np.ndarray, theta: np.ndarray, threshold: float) -> int:
    return n_shared(unpack(packed[~known], len(theta)) @ theta, threshold)
