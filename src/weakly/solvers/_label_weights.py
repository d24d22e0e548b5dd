"""Weights of label vectors: learning a convex combination of the kernels that they make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weakly.solvers._label_machine import LabelMachine

_GROW, _SHRINK, _PAPER = 1.6, 0.35, 0.5  # of the exponent; the last is the paper's, and the least
_ROUNDING = 1e-9
_LEAST = 1e-12  # weight that a label vector can come back from


class WeightedLabels(NamedTuple):
    """A solution for weighted label vectors.

    Parameters
    ----------
    weights : ndarray of shape (n_labels,)
        Weights, positive with sum 1.
    dual : ndarray of shape (n_dual,)
        Dual point.
    norms : ndarray of shape (n_labels,)
        Squared norm of the function that the dual point makes with each label vector.
    objective : float
        Dual objective.
    gap : float
        Bound of its excess over that of the best weights.

    See Also
    --------
    weigh_labels : Finds it.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import WeightedLabels
    >>> WeightedLabels(np.ones(1), np.ones(2), np.ones(1), objective=1.5, gap=0.0).gap
    0.0
    """

    weights: np.ndarray
    dual: np.ndarray
    norms: np.ndarray
    objective: float
    gap: float


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
    >>> from weakly.solvers import KernelMachine, SignSet, weigh_labels
    >>> either = SignSet(np.array([0]), np.array([1.0]), n_rows=2, least=0, most=1)
    >>> machine = KernelMachine(np.array([[1.0, 0.9], [0.9, 1.0]]), either, np.ones(2))
    >>> labels = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> found = weigh_labels(machine, labels, np.full(2, 0.5), np.zeros(2))
    >>> found.weights.round(2).tolist()
    [1.0, 0.0]
    """
    best: WeightedLabels | None = None
    power = _PAPER
    for _ in range(max_iter):
        dual, norms, is_solved = machine.solve(labels, weights, dual)
        loss_part = dual.sum() - machine.ridge @ dual**2 / 2
        mean_norm = weights @ norms
        point = WeightedLabels(weights, dual, norms, loss_part - mean_norm / 2, (norms.max() - mean_norm) / 2)
        if rule == "accelerated":
            too_far = best is not None and _rose(best, point, machine.is_exact)
            power = max(_PAPER, _SHRINK * power) if too_far else _GROW * power
            point = best if best is not None and too_far and machine.is_exact else point
        best = point
        if is_solved and point.gap <= tol * abs(point.objective):
            break
        dual = point.dual
        weights = np.maximum(point.weights * (point.norms / point.norms.max()) ** power, _LEAST)
        weights = weights / weights.sum()
    return point


def _rose(before: WeightedLabels, now: WeightedLabels, is_exact: bool) -> bool:
    """Whether weights went too far. Objectives of inexact points fall short of theirs: compare the gaps."""
    if is_exact:
        return now.objective > before.objective + _ROUNDING * abs(before.objective)
    return now.gap > before.gap
