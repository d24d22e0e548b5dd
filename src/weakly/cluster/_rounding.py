"""From a mixture of labelings to one: what all of them say together, or the one with the widest margin."""

from dataclasses import replace

import numpy as np

from weakly.solvers import weigh_labels
from weakly.solvers._cutting_plane import nearest_label

_MOST_ROUNDS, _MOST_PASSES = 50, 200


def agreeing(machine, result):
    """The same mixture with labelings turned so that the sum of their functions is the largest.

    A labeling and its mirror image are one split: which of the two came is chance, but the sum of functions
    hangs on it.
    """
    coefficients = machine.label_set.coefficients(result.x, result.detail.labels)
    weighted = result.detail.weights[:, None] * coefficients
    products = weighted @ machine.scores(weighted).T
    turns = [_climb(products, np.where(row < 0, -1.0, 1.0)) for row in products]
    best = max(turns, key=lambda turn: turn @ products @ turn)
    detail = replace(result.detail, labels=best[:, None] * result.detail.labels)
    return replace(result, detail=detail)


def _climb(products, turn):
    """Turn one labeling at a time as long as the norm of the sum grows."""
    for _ in range(_MOST_ROUNDS):
        before = turn.copy()
        for t in range(len(turn)):
            turn[t] = -1.0 if products[t] @ turn < products[t, t] * turn[t] else 1.0
        if (turn == before).all():
            break
    return turn


def widest(machine, result, tol):
    """The labeling with the least objective by itself, of those mixed and of that nearest to the mixture.

    The relaxation mixes labelings, the problem behind it wants one ([wellsvm] Eq. (26)); a mixture of very
    different ones says little, and one of them, or what they say together, may be much better than the rest.
    """
    most = 1 if machine.is_exact else _MOST_PASSES  # near enough to compare, where a cost is very high
    detail = result.detail

    def alone(label):
        return weigh_labels(machine, label[None], np.ones(1), result.x, tol=tol, max_iter=most)

    nearest = nearest_label(machine, result.x, detail)
    single = min(map(alone, (nearest, *detail.labels)), key=lambda found: found.objective)
    return replace(
        result, x=single.dual, detail=replace(detail, labels=single.labels, weights=single.weights)
    )
