"""Step 2 of "Adding a method": a loss, here the pseudo-Huber loss ``sqrt(1 + (y - f)^2) - 1``."""

import numpy as np

from weakly.losses import Loss


def _root(y, f):
    return np.sqrt(1 + (y - f) ** 2)


PSEUDO_HUBER = Loss(
    "pseudo_huber",
    value=lambda y, f: _root(y, f) - 1,
    slope=lambda y, f: (f - y) / _root(y, f),
    curvature=lambda y, f: _root(y, f) ** -3,
)
