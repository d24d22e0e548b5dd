"""Support vector machines for weighted label vectors: solved for the dual, asked for scores and norms."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from weakly.solvers._box_dual import solve_box_dual
from weakly.solvers._label_sets import LabelSet, SignSet
from weakly.solvers._row_steps import NOT_A_KERNEL

_ROUNDING = 1e-6  # of squared norms, beside the sum of the dual, which is no less than they are


class LabelMachine(Protocol):
    """What the cutting plane method may ask of a problem.

    The problem is to maximise ``sum a - a'(sum_t mu_t S_t K S_t' + D)a / 2`` over ``0 <= a <= upper``, with
    ``D = 0`` for the hinge, and ``D = diag(1 / C)`` without bounds for the squared hinge. ``solve`` returns a
    dual point, the squared norms of the functions that it makes with each label vector, and whether it solves
    the problem; where ``is_exact`` is false it may take several calls, and does not look at rows that seem
    settled again before ``confirm`` asks for it.
    """

    label_set: LabelSet
    upper: np.ndarray
    ridge: np.ndarray
    is_exact: bool

    def solve(
        self, labels: np.ndarray, weights: np.ndarray, dual: np.ndarray, *, confirm: bool = True
    ) -> tuple[np.ndarray, np.ndarray, bool]: ...
    def scores(self, coefficients: np.ndarray) -> np.ndarray: ...
    def of_rows(self, rows: np.ndarray) -> np.ndarray: ...
    def function(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


def supervised_scores(machine: LabelMachine, rows: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Solve for the known signs of some rows alone, and score all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import KernelMachine
    >>> from weakly.solvers._label_machine import supervised_scores
    >>> from weakly.solvers._label_sets import SignSet
    >>> either = SignSet(np.array([0]), np.array([1.0]), n_rows=2, least=0, most=1)
    >>> machine = KernelMachine(np.array([[1.0, 0.5], [0.5, 1.0]]), either, np.ones(2), "hinge")
    >>> supervised_scores(machine, np.array([0]), np.array([1.0])).tolist()
    [1.0, 0.5]
    """
    settings = {"signs": signs, "ridge": machine.ridge[rows]}
    coefficients = np.zeros((1, len(machine.ridge)))
    coefficients[0, rows] = signs * solve_box_dual(machine.of_rows(rows), machine.upper[rows], **settings).x
    return machine.scores(coefficients)[0]


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
    center : bool, default=False
        Whether to take the mean from the images of the rows.
    offset : float, default=0.0
        A constant added to the kernel, which makes a term of the function that is the same for all rows: in
        units of the mean squared norm of images.
    tol : float, default=1e-4
        Of the dual, in units of the margin. A loose one makes objectives rise as labels get their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import KernelMachine
    >>> from weakly.solvers._label_sets import SignSet
    >>> signs = SignSet(np.arange(2), np.array([1.0, -1.0]), n_rows=2, least=0, most=0)
    >>> machine = KernelMachine(np.eye(2), signs, np.ones(2), "hinge")
    >>> machine.solve(np.array([[1.0, -1.0]]), np.ones(1), np.zeros(2))[0].tolist()
    [1.0, 1.0]
    """

    is_exact = True

    def __init__(
        self,
        kernel: np.ndarray,
        label_set: LabelSet,
        costs: np.ndarray,
        loss: str = "squared_hinge",
        *,
        center: bool = False,
        offset: float = 0.0,
        tol: float = 1e-4,
    ) -> None:
        self.label_set, self.tol = label_set, tol
        self.upper, self.ridge = box(costs, loss)
        self._center, self._means = center, kernel.mean(axis=0)
        if center:
            kernel = kernel - self._means
            kernel -= self._means[:, None] - self._means.mean()
        self._constant = offset * float(kernel.diagonal().mean())
        self.kernel = kernel + self._constant if offset else kernel

    def solve(
        self, labels: np.ndarray, weights: np.ndarray, dual: np.ndarray, *, confirm: bool = True
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Dual solution, squared norms of the functions of all label vectors, and whether it converged."""
        if len(labels) == 1 and isinstance(self.label_set, SignSet):  # the kernel does as it is
            matrix, signs = self.kernel, labels[0]
        else:
            matrix, signs = self.label_set.gram(self.kernel, labels, weights), None
        settings = {"signs": signs, "ridge": self.ridge, "start": dual, "tol": self.tol}
        result = solve_box_dual(matrix, self.upper, **settings)
        coefficients = self.label_set.coefficients(result.x, labels)
        norms = np.einsum("ti,ti->t", coefficients, self.scores(coefficients))
        if not norms.min() >= -_ROUNDING * result.x.sum():  # also where the dual went off to infinity
            raise ValueError(NOT_A_KERNEL)
        return result.x, norms, result.converged

    def scores(self, coefficients: np.ndarray) -> np.ndarray:
        """Scores of all rows by kernel expansions, one to a line."""
        return coefficients @ self.kernel

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Gram matrix of some rows."""
        return self.kernel[np.ix_(rows, rows)]

    def function(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same functions as expansions in the kernel as it was given, a column each, and constants."""
        constants = self._constant * coefficients.sum(axis=1)
        if not self._center:
            return coefficients.T, constants
        theta = (coefficients - coefficients.mean(axis=1, keepdims=True)).T
        return theta, constants - self._means @ theta
