"""From a mixture of labelings to one: what all of them say together, or the one with the widest margin."""

from dataclasses import replace

import numpy as np

from weakly._mixture import mixed_coefficients
from weakly.solvers import weigh_labels

_MOST_ROUNDS, _MOST_PASSES = 50, 200


def agreeing(machine, result):
    """The same mixture with labelings turned so that the sum of their functions is the largest.

    A labeling and its mirror image are one split: which of the two came is chance, but the sum of functions
    hangs on it.
    """
    coefficients = machine.label_set.coefficients(result.x, result.labels)
    weighted = result.label_weights[:, None] * coefficients
    products = weighted @ machine.scores(weighted).T
    turns = [_climb(products, np.where(row < 0, -1.0, 1.0)) for row in products]
    best = max(turns, key=lambda turn: turn @ products @ turn)
    return replace(result, labels=best[:, None] * result.labels)


def _climb(products, turn):
    """Turn one labeling at a time as long as the norm of the sum grows."""
    for _ in range(_MOST_ROUNDS):
        before = turn.copy()
        for t in range(len(turn)):
            turn[t] = -1.0 if products[t] @ turn < products[t, t] * turn[t] else 1.0
        if (turn == before).all():
            break
    return turn


def scores_of(machine, result):
    """Scores of all rows by the function of a mixture."""
    return machine.scores(mixed_coefficients(machine, result)[None])[0]


def widest(machine, result, tol):
    """The labeling with the least objective by itself, of those mixed and of that nearest to the mixture.

    The relaxation mixes labelings, the problem behind it wants one ([wellsvm] Eq. (26)); a mixture of very
    different ones says little, and one of them, or what they say together, may be much better than the rest.
    """
    most = 1 if machine.is_exact else _MOST_PASSES  # near enough to compare, where a cost is very high
    together = machine.label_set.best(np.ones(len(machine.ridge)), scores_of(machine, result))
    alone = [
        (label, weigh_labels(machine, label[None], np.ones(1), result.x, tol=tol, max_iter=most))
        for label in (together, *result.labels)
    ]
    label, found = min(alone, key=lambda pair: pair[1].objective)
    return replace(result, x=found.dual, labels=label[None], label_weights=np.ones(1))
