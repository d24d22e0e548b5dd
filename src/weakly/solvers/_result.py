"""The record every solver returns, and the details that several methods add to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
    detail : object or None, default=None
        What only this method has, as a record of its own: the docstring of the solver names it.

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
    detail: Any = None

    @property
    def converged(self) -> bool:
        """Whether the criterion met the tolerance."""
        return self.status == "converged"

    def whole(self) -> SolverResult:
        """Return itself, or pass an interrupt on: for a part of a fit that is worth nothing unfinished."""
        if self.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def summary(self) -> SolverResult:
        """Return histories, status and intercept alone: what stays small with any number of samples."""
        return replace(self, x=np.zeros(0), detail=None)


@dataclass(frozen=True, slots=True)
class DualPoint:
    """Detail of methods whose next call can start from where this one ended."""

    dual: np.ndarray


@dataclass(frozen=True, slots=True)
class Labeling:
    """Detail of methods that find labels together with a function, and may know its dual point.

    Label vectors, a line each, are codes of clusters or signs; most methods find one.
    """

    labels: np.ndarray
    dual: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Detail of solvers that know the score of each labeled sample by the model without that sample."""

    held_out: np.ndarray
