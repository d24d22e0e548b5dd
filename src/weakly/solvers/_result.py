"""The record every solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class SolverResult:
    """What a solver found, and how far to trust it.

    Objective and criterion are histories; their last entries belong to ``x``. They start before the first
    outer iteration and have an entry for each, except where an outside solver keeps no history.

    Parameters
    ----------
    x : ndarray
        The returned point.
    objective : ndarray of shape (n_entries,)
        The objective.
    criterion : ndarray of shape (n_entries,)
        Optimality certificate at the same points: duality gap where a dual exists, else the relative
        norm of the gradient.
    n_iter : int
        Iterations done, of the kind that ``max_iter`` counts.
    status : {"converged", "max_iter", "stalled", "stopped", "interrupted"}
        Why it ended; "stopped" is the callback's doing, "interrupted" the user's, by Ctrl-C.
    intercept : ndarray of shape (n_columns,) or float, default=0.0
        Offset of the scores, for problems that have one.
    held_out : ndarray of shape (n_labeled, n_columns) or None, default=None
        Score of each labelled row by the model without that row, where the solver knows it.
    dual : ndarray or None, default=None
        The dual point, where a later call can start from it.
    graph_side : ndarray of shape (n_rows, n_columns) or None, default=None
        Values of the rows on the graph, of methods that keep them beside the function in ``x``.
    labels : ndarray of shape (n_labels, size) or None, default=None
        Label vectors that a cutting plane method mixes.
    label_weights : ndarray of shape (n_labels,) or None, default=None
        Their weights, which sum to 1.
    start_energies : ndarray or None, default=None
        Energy reached from each start, of methods that try several and keep the lowest.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import SolverResult
    >>> SolverResult(np.zeros(2), np.array([1.0, 0.5]), np.array([1.0, 1e-9]), 1, "converged").converged
    True
    """

    x: np.ndarray
    objective: np.ndarray
    criterion: np.ndarray
    n_iter: int
    status: str
    intercept: np.ndarray | float = 0.0
    held_out: np.ndarray | None = None
    dual: np.ndarray | None = None
    graph_side: np.ndarray | None = None
    labels: np.ndarray | None = None
    label_weights: np.ndarray | None = None
    start_energies: np.ndarray | None = None

    @property
    def converged(self) -> bool:
        """Whether the criterion met the tolerance."""
        return self.status == "converged"

    def whole(self) -> SolverResult:
        """Return itself, or pass an interrupt on: for a part of a fit that is worth nothing unfinished."""
        if self.status == "interrupted":
            raise KeyboardInterrupt
        return self
