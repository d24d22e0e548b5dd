"""Several clusters, each with a wide margin to all others: functions and labels in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weakly.solvers._label_machine import LabelMachine
from weakly.solvers._label_weights import weigh_labels
from weakly.solvers._quotas import assign_quotas
from weakly.solvers._result import Labeling, SolverResult

_MOST_PASSES = 200


class _Round(NamedTuple):
    codes: np.ndarray
    duals: np.ndarray  # a line per cluster
    coefficients: np.ndarray
    scores: np.ndarray
    objective: float
    is_solved: bool


def solve_joint_margin(
    machine: LabelMachine,
    start: np.ndarray,
    n_clusters: int,
    least: int,
    most: int,
    *,
    tol: float = 1e-3,
    max_iter: int = 50,
    callback: Callable[[], object] | None = None,
) -> SolverResult:
    """Minimize the objectives of all clusters against the rest over functions and labels, in turn.

    With signs ``y_ic``, 1 where ``i`` is in cluster ``c``, it is the sum over clusters of ``||f_c||^2 / 2 +
    sum_i C_i loss(y_ic f_ic)``. For given labels every function is a support vector machine of its own; for
    given functions the best labels within bounds of the sizes are an assignment. Neither step makes the
    objective larger, so the turns end in a local minimum. The clusters of ``start`` are from 0 and within
    the bounds.

    ``x`` has the kernel expansion of a function in each column, ``detail.labels`` the clusters.
    ``objective`` has an entry per round, ``criterion`` the fraction of samples that would change clusters
    after it. The status is "stalled" where a support vector machine ran out of passes.
    """
    bounds = np.full(n_clusters, least), np.full(n_clusters, most)
    best = _fit(machine, start, np.zeros((n_clusters, len(start))), n_clusters, tol)
    codes, history, status = _labels(machine, best, bounds), [best.objective], None
    changes = [float(np.mean(codes != start))]
    while status is None:
        if changes[-1] == 0:
            status = "converged"
        elif len(history) >= max_iter:
            status = "max_iter"
        elif callback is not None and callback():
            status = "stopped"
        else:
            try:
                now = _fit(machine, codes, best.duals, n_clusters, tol)
            except KeyboardInterrupt:
                status = "interrupted"
                break
            gain = best.objective - now.objective
            if gain > 0:
                best, codes = now, _labels(machine, now, bounds)
                history.append(best.objective)
                changes.append(float(np.mean(codes != best.codes)))
            if gain <= tol * best.objective:
                status = "converged"
    return SolverResult(
        x=best.coefficients.T,
        objective=np.array(history),
        criterion=np.array(changes),
        n_iter=len(history),
        status="stalled" if status == "converged" and not best.is_solved else status,
        detail=Labeling(best.codes[None]),
    )


def _fit(machine: LabelMachine, codes: np.ndarray, duals: np.ndarray, n_clusters: int, tol: float) -> _Round:
    """Support vector machines of all clusters against the rest."""
    signs = np.where(codes == np.arange(n_clusters)[:, None], 1.0, -1.0)
    found = [
        weigh_labels(machine, sign[None], np.ones(1), dual, tol=tol, max_iter=_MOST_PASSES)
        for sign, dual in zip(signs, duals, strict=True)
    ]
    duals = np.array([one.dual for one in found])
    coefficients = signs * duals
    scores = machine.scores(coefficients)
    objective = np.sum(coefficients * scores) / 2 + _losses(machine, signs * scores).sum()
    return _Round(codes, duals, coefficients, scores, float(objective), all(one.is_solved for one in found))


def _losses(machine: LabelMachine, margins: np.ndarray) -> np.ndarray:
    """Losses of rows with these margins: the hinge where there is no ridge, else the squared hinge."""
    short = np.maximum(1 - margins, 0)
    squared = np.divide(short**2, 2 * machine.ridge, out=np.zeros_like(short), where=machine.ridge > 0)
    return np.where(machine.ridge > 0, squared, np.where(short > 0, machine.upper, 0.0) * short)


def _labels(machine: LabelMachine, now: _Round, bounds: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The labels with the least losses for these functions."""
    gains = (_losses(machine, -now.scores) - _losses(machine, now.scores)).T
    proposed = assign_quotas(gains, *bounds).codes
    # Of labels that are as good, keep those at hand: rows must not move without a gain.
    rows = np.arange(len(proposed))
    gained = gains[rows, proposed].sum() - gains[rows, now.codes].sum()
    return proposed if gained > 1e-9 * np.abs(gains).sum() else now.codes
