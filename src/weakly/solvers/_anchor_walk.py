"""The walk of :mod:`weakly.solvers._label_walk` on an anchor graph, in closed form.

A step goes to an anchor of the row, and from there to one of its rows: ``P = Z M^-1 Z'``. With ``A`` the
probabilities to go on and ``B = (I - A) Y`` the ends, ``F = A P F + B`` is solved by ::

    F = B + A Z V,    (M - Z'AZ) V = Z'B

where ``V = M^-1 Z'F`` says how walks end that are at an anchor. The small matrix is an M-matrix, and all of
this takes the sums ``Z'1`` and ``Z'Z`` over all rows and the weights of the labelled ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class AnchorWalk:
    """How walks from anchors end, and so those from any row.

    ``ends`` are the probabilities of the classes, and of none in the last column, for a walk at each anchor.
    With the probabilities ``alpha`` a walk goes on from a row. ``totals`` are the sums of the probabilities
    over all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.solvers._anchor_walk import AnchorWalk
    >>> walk = AnchorWalk(np.array([[0.5, 0.25, 0.25]]), 0.0, 0.8, np.ones(3))
    >>> walk(sp.csr_array([[1.0], [1.0]]), np.array([-1, 1])).round(2).tolist()
    [[0.4, 0.2, 0.4], [0.0, 1.0, 0.0]]
    """

    ends: np.ndarray
    alpha_labeled: float
    alpha_unlabeled: float
    totals: np.ndarray

    def __call__(self, weights: sp.csr_array, codes: np.ndarray | None = None) -> np.ndarray:
        """Probabilities of rows with these weights and classes, -1 for none; new rows have none."""
        codes = np.full(weights.shape[0], -1) if codes is None else codes
        alpha = np.where(codes >= 0, self.alpha_labeled, self.alpha_unlabeled)
        F = alpha[:, None] * (weights @ self.ends)
        F[np.arange(len(F)), np.where(codes >= 0, codes, F.shape[1] - 1)] += 1 - alpha
        return F / F.sum(axis=1, keepdims=True)


def require_ending(alpha_labeled: float, alpha_unlabeled: float) -> None:
    """A walk ends: what it goes on with is a probability below 1."""
    for name, value in (("alpha_labeled", alpha_labeled), ("alpha_unlabeled", alpha_unlabeled)):
        if not 0 <= value < 1:
            raise ValueError(f"{name} is {value}: it must be at least 0 and below 1.")


def solve_anchor_walk(
    masses: np.ndarray,
    gram: np.ndarray,
    weights: sp.csr_array,
    codes: np.ndarray,
    n_classes: int,
    *,
    alpha_labeled: float = 0.0,
    alpha_unlabeled: float = 0.999,
) -> AnchorWalk:
    """Find how walks on an anchor graph end; nothing is iterated.

    ``masses`` are ``Z'1`` and ``gram`` is ``Z'Z`` over all rows, ``weights`` those of the labelled rows
    alone. With the probabilities ``alpha``, below 1, a walk goes on from a labelled row and from any other.
    :func:`weakly.solvers.solve_label_walk` is for any graph, with all rows in hand.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.solvers._anchor_walk import solve_anchor_walk
    >>> Z = sp.csr_array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> masses, gram = np.array([1.5, 1.5]), (Z.T @ Z).toarray()
    >>> walk = solve_anchor_walk(masses, gram, Z[[0, 2]], np.array([0, 1]), 2, alpha_unlabeled=0.6)
    >>> walk(Z[[1]]).round(2).tolist()
    [[0.25, 0.25, 0.5]]
    """
    require_ending(alpha_labeled, alpha_unlabeled)
    weights = weights.astype(np.float64)
    carried = (weights.T @ weights).toarray()
    reached = np.asarray(weights.sum(axis=0)).ravel()
    labels = sp.csr_array(
        (np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=(len(codes), n_classes)
    )
    sources = np.empty((len(masses), n_classes + 1))
    sources[:, :-1] = (1 - alpha_labeled) * (weights.T @ labels).toarray()
    sources[:, -1] = (1 - alpha_unlabeled) * (masses - reached)
    matrix = -alpha_unlabeled * gram - (alpha_labeled - alpha_unlabeled) * carried
    matrix.flat[:: len(masses) + 1] += np.where(masses > 0, masses, 1)
    ends = sla.solve(matrix, sources, assume_a="pos", check_finite=False)
    going_on = alpha_unlabeled * masses + (alpha_labeled - alpha_unlabeled) * reached
    totals = going_on @ ends
    totals[:-1] += (1 - alpha_labeled) * np.bincount(codes, minlength=n_classes)
    totals[-1] += (1 - alpha_unlabeled) * (masses.sum() - len(codes))
    return AnchorWalk(np.maximum(ends, 0), alpha_labeled, alpha_unlabeled, totals)
