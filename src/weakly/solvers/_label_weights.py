"""Weights of label vectors: learning a convex combination of the kernels that they make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weakly.solvers._label_machine import LabelMachine

_GROW, _SHRINK, _PAPER = 1.6, 0.35, 0.5  # of the exponent; the last is the paper's, and the least
_ROUNDING = 1e-9
_PATIENCE = 5  # exact solves that may run out of passes before weights are left as they are
_NEAR = 1e-4  # relative gap of weights that rounding may keep from a smaller tolerance
_LEAST = 1e-12  # weight that a label vector can come back from


class WeightedLabels(NamedTuple):
    """A solution for weighted label vectors, whose weights are positive with sum 1.

    ``norms`` are the squared norms of the functions that the dual point makes with each of them. ``gap``
    bounds the excess of the dual objective over that of the best weights. ``is_solved`` says whether the dual
    point solves its problem, and the gap is within the tolerance, or small at least.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers._label_weights import WeightedLabels
    >>> WeightedLabels(np.ones((1, 2)), np.ones(1), np.ones(2), np.ones(1), objective=1.5, gap=0.0).gap
    0.0
    """

    labels: np.ndarray
    weights: np.ndarray
    dual: np.ndarray
    norms: np.ndarray
    objective: float
    gap: float
    is_solved: bool = True


def weigh_labels(
    machine: LabelMachine,
    labels: np.ndarray,
    weights: np.ndarray,
    dual: np.ndarray,
    *,
    rule: str = "accelerated",
    tol: float = 1e-3,
    max_iter: int = 500,
) -> WeightedLabels:
    """Minimise the optimal dual value over the weights of label vectors ([wellsvm] Eqs. (12) and (13)).

    With ``q_t`` the squared norm of the function of a label vector under the dual solution, weights become
    ``mu_t q_t^p`` after each solve. The paper's rule is ``p = 1/2`` throughout; the accelerated one raises
    ``p`` while the objective falls, and steps back where it rises.

    Parameters
    ----------
    machine : LabelMachine
        The problem for given weights.
    labels : ndarray of shape (n_labels, size)
        Label vectors.
    weights : ndarray of shape (n_labels,)
        First weights, positive with sum 1.
    dual : ndarray of shape (n_dual,)
        First dual point.
    rule : {"accelerated", "paper"}, default="accelerated"
        How weights change.
    tol : float, default=1e-3
        Largest gap relative to the objective.
    max_iter : int, default=500
        Most changes of the weights.

    Returns
    -------
    WeightedLabels
        The best point found.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import KernelMachine, weigh_labels
    >>> from weakly.solvers._label_sets import SignSet
    >>> either = SignSet(np.array([0]), np.array([1.0]), n_rows=2, least=0, most=1)
    >>> machine = KernelMachine(np.array([[1.0, 0.9], [0.9, 1.0]]), either, np.ones(2))
    >>> labels = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> found = weigh_labels(machine, labels, np.full(2, 0.5), np.zeros(2))
    >>> found.weights.round(2).tolist()
    [1.0, 0.0]
    """
    best: WeightedLabels | None = None
    power, n_unsolved, is_near = _PAPER, 0, False
    for _ in range(max_iter):
        # While weights still change much, there is no use in a dual that is right for all rows.
        dual, norms, is_solved = machine.solve(labels, weights, dual, confirm=is_near)
        n_unsolved += machine.is_exact and not is_solved
        loss_part = dual.sum() - machine.ridge @ dual**2 / 2
        mean_norm = weights @ norms
        objective, gap = loss_part - mean_norm / 2, (norms.max() - mean_norm) / 2
        point = WeightedLabels(labels, weights, dual, norms, objective, gap)
        if rule == "accelerated":
            too_far = best is not None and _rose(best, point, machine.is_exact)
            power = max(_PAPER, _SHRINK * power) if too_far else _GROW * power
            point = best if best is not None and too_far and machine.is_exact else point
        best = point
        is_near = point.gap <= tol * abs(point.objective)
        if is_solved and is_near:
            return point
        if n_unsolved == _PATIENCE:
            break
        dual = point.dual
        scale = point.norms.max() or 1.0  # rows that are all the same have no norms
        weights = np.maximum(point.weights * (point.norms / scale) ** power, _LEAST)
        weights = weights / weights.sum()
    return point._replace(is_solved=is_solved and point.gap <= _NEAR * abs(point.objective))


def _rose(before: WeightedLabels, now: WeightedLabels, is_exact: bool) -> bool:
    """Whether weights went too far. Objectives of inexact points fall short of theirs: compare the gaps."""
    if is_exact:
        return now.objective > before.objective + _ROUNDING * abs(before.objective)
    return now.gap > before.gap
