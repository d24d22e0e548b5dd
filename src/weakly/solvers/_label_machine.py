"""Support vector machines for weighted label vectors: solved for the dual, asked for scores and norms."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from weakly.solvers._box_dual import solve_box_dual
from weakly.solvers._label_sets import LabelSet


class LabelMachine(Protocol):
    """What the cutting plane method may ask of a problem.

    The problem is to maximise ``sum a - a'(sum_t mu_t S_t K S_t' + D)a / 2`` over ``0 <= a <= upper``, with
    ``D = 0`` for the hinge, and ``D = diag(1 / C)`` without bounds for the squared hinge.
    """

    label_set: LabelSet
    ridge: np.ndarray

    def solve(
        self, labels: np.ndarray, weights: np.ndarray, dual: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]: ...
    def scores(self, coefficients: np.ndarray) -> np.ndarray: ...


def box(costs: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds and the diagonal ``D`` of a loss with these costs."""
    if loss == "hinge":
        return costs.astype(np.float64), np.zeros(len(costs))
    return np.full(len(costs), np.inf), 1.0 / costs


class KernelMachine:
    """The problem with an exact kernel.

    Parameters
    ----------
    kernel : ndarray of shape (n_rows, n_rows)
        Gram matrix ``K``.
    label_set : LabelSet
        Where labels come from.
    costs : ndarray of shape (n_dual,)
        Cost ``C`` of each loss.
    loss : {"squared_hinge", "hinge"}
        The loss.
    tol : float, default=1e-4
        Of the dual, in units of the margin. A loose one makes objectives rise as labels get their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import KernelMachine, SignSet
    >>> signs = SignSet(np.arange(2), np.array([1.0, -1.0]), n_rows=2, least=0, most=0)
    >>> machine = KernelMachine(np.eye(2), signs, np.ones(2), "hinge")
    >>> machine.solve(np.array([[1.0, -1.0]]), np.ones(1), np.zeros(2))[0].tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        kernel: np.ndarray,
        label_set: LabelSet,
        costs: np.ndarray,
        loss: str = "squared_hinge",
        *,
        tol: float = 1e-4,
    ) -> None:
        self.kernel, self.label_set, self.tol = kernel, label_set, tol
        self.upper, self.ridge = box(costs, loss)

    def solve(
        self, labels: np.ndarray, weights: np.ndarray, dual: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Dual solution, squared norms of the functions of all label vectors, and whether it is exact."""
        matrix = self.label_set.gram(self.kernel, labels, weights)
        matrix.flat[:: len(matrix) + 1] += self.ridge
        result = solve_box_dual(matrix, self.upper, start=dual, tol=self.tol)
        coefficients = self.label_set.coefficients(result.x, labels)
        norms = np.einsum("ti,ti->t", coefficients, self.scores(coefficients))
        return result.x, norms, result.converged

    def scores(self, coefficients: np.ndarray) -> np.ndarray:
        """Scores of all rows by kernel expansions, one to a line."""
        return coefficients @ self.kernel
