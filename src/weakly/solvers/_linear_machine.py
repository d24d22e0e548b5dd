"""The label machine of a linear kernel on sparse rows: nothing n x n, passes over the non-zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.solvers._box_kernels import SEED
from weakly.solvers._centered_rows import column_means, far_means, less_means
from weakly.solvers._label_machine import box
from weakly.solvers._label_sets import SignSet
from weakly.solvers._linear_kernels import grouped_pass, interleaved_pass
from weakly.solvers._row_kernels import row_arrays, row_products, row_squares

_MOST_BITS = 60  # label vectors whose pattern still fits an integer
_MOST_IDLE = 3  # such passes before rows that were set aside are looked at again, though nobody asks
_FLAT = 1e-12  # stands for the curvature of a row that is 0 where the loss has none either


class LinearMachine:
    """The problem with a linear kernel, its rows centred without making them dense.

    ``solve`` takes one pass, or some, and not all: weights of label vectors change before a dual is exact.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_rows, n_features)
        Rows.
    label_set : SignSet
        Where labels come from.
    costs : ndarray of shape (n_rows,)
        Cost ``C`` of each loss.
    loss : {"squared_hinge", "hinge"}
        The loss.
    center : bool, default=True
        Whether to take the mean row from all rows.
    offset : float, default=0.0
        A constant added to the kernel, which makes a term of the function that is the same for all rows: in
        units of the mean squared norm of rows.
    tol : float, default=1e-4
        Gain of the dual objective in a pass over all rows, relative to it, that ends the passes.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.solvers import LinearMachine
    >>> from weakly.solvers._label_sets import SignSet
    >>> signs = SignSet(np.arange(2), np.array([1.0, -1.0]), n_rows=2, least=0, most=0)
    >>> machine = LinearMachine(sp.csr_array([[1.0], [-1.0]]), signs, np.full(2, 0.25), "hinge")
    >>> machine.solve(np.array([[1.0, -1.0]]), np.ones(1), np.zeros(2))[0].tolist()
    [0.25, 0.25]
    """

    is_exact = False

    def __init__(
        self,
        X: Any,
        label_set: SignSet,
        costs: np.ndarray,
        loss: str = "squared_hinge",
        *,
        center: bool = True,
        offset: float = 0.0,
        tol: float = 1e-4,
    ) -> None:
        self.label_set, self.tol = label_set, tol
        self.upper, self.ridge = box(costs, loss)
        self._origin = column_means(X) if center else np.zeros(X.shape[1])
        far = far_means(X) if center else self._origin
        self.X, self.mean = sp.csr_array(less_means(X, far)), np.where(far == 0, self._origin, 0.0)
        rows = row_arrays(self.X)
        self._along, mean_norm = row_products(*rows, self.mean), float(self.mean @ self.mean)
        squares = row_squares(*rows) - 2 * self._along + mean_norm
        self._constant = offset * float(squares.mean())
        # The kernel is x_i'x_j - along_i - along_j + level: a constant costs no pass anything.
        self._level = mean_norm + self._constant
        self._curvature = np.maximum(squares + self._constant + self.ridge, _FLAT)
        self._rows = self.X.data, self.X.indices, self.X.indptr

    @property
    def label_set(self) -> SignSet:
        return self._label_set

    @label_set.setter
    def label_set(self, label_set: SignSet) -> None:
        """Pose another problem on the same rows: the answer must not depend on those before."""
        self._label_set = label_set
        self._state: Any = None  # vectors and active rows, of the labels and the dual point they belong to
        self._n_idle = 0  # passes in a row that gained little, over the active rows alone
        self._random = SEED

    def solve(
        self, labels: np.ndarray, weights: np.ndarray, dual: np.ndarray, *, confirm: bool = True
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """One pass: dual point, squared norms of the functions of all labels, and whether it was the last."""
        state = self._state
        if state is None or state.labels is not labels or state.dual is not dual:
            state = self._state = self._prepare(labels, dual)
        violation, gain, seed = state.pass_over(self, weights)
        self._random = np.uint64(seed)
        norms = state.norms(self)
        value = state.dual.sum() - (weights @ norms + self.ridge @ state.dual**2) / 2
        is_settled = gain <= self.tol * value
        is_solved = is_settled and state.all_active
        self._n_idle = self._n_idle + 1 if is_settled and not is_solved else 0
        state.limit = violation
        if self._n_idle > (0 if confirm else _MOST_IDLE):
            state.activate()
            state.limit = np.inf
        return state.dual, norms, is_solved

    def scores(self, coefficients: np.ndarray) -> np.ndarray:
        """Scores of all rows by expansions in rows, one to a line."""
        vectors, constants = self._expand(coefficients)
        return (self.X @ vectors + (constants - self.mean @ vectors)).T

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Gram matrix of some rows."""
        X, along = self.X[rows], self._along[rows]
        return (X @ X.T).toarray() - along - along[:, None] + self._level

    def function(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same functions as vectors for rows as they were given, a column each, and constants."""
        vectors, constants = self._expand(coefficients)
        return vectors, constants - self._origin @ vectors

    def _expand(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = coefficients.sum(axis=1)
        return self.X.T @ coefficients.T - np.outer(self.mean, sums), self._constant * sums

    def _prepare(self, labels: np.ndarray, dual: np.ndarray) -> _Grouped | _Interleaved:
        if len(labels) > _MOST_BITS:
            return _Interleaved(self, labels, dual.copy())
        n_groups = len(np.unique(_patterns(labels)))
        n_mixed = n_groups**2 * self.X.shape[1]
        kind = _Grouped if n_mixed <= (len(labels) - 1) * self.X.nnz or len(labels) == 1 else _Interleaved
        return kind(self, labels, dual.copy())


def _patterns(labels: np.ndarray) -> np.ndarray:
    """Number the sign patterns of rows, up to a change of all signs of a row."""
    differs = labels[1:] != labels[0]
    return differs.T @ (1 << np.arange(len(differs), dtype=np.int64))


class _Grouped:
    """A vector for every pattern of signs."""

    def __init__(self, machine: LinearMachine, labels: np.ndarray, dual: np.ndarray) -> None:
        self.labels, self.dual, self.limit = labels, dual, np.inf
        patterns, first, group = np.unique(_patterns(labels), return_index=True, return_inverse=True)
        self.relative = (labels[:, first] * labels[0, first]).T  # (n_groups, n_labels)
        n_groups = len(patterns)
        self.members = np.argsort(group, kind="stable")
        self.pointers = np.searchsorted(group[self.members], np.arange(n_groups + 1))
        self.signs = labels[0]
        signed = sp.csr_array((dual * self.signs, (group, np.arange(len(dual)))), shape=(n_groups, len(dual)))
        self.U = np.asarray((signed @ machine.X).todense(), dtype=np.float64)
        self.sums = np.asarray(signed.sum(axis=1)).ravel().astype(np.float64)
        self.activate()

    def activate(self) -> None:
        self.n_active = np.diff(self.pointers)

    @property
    def all_active(self) -> bool:
        return bool((self.n_active == np.diff(self.pointers)).all())

    def pass_over(self, machine: LinearMachine, weights: np.ndarray) -> tuple[float, float, int]:
        self.dual = self.dual.copy()
        mixing = (self.relative * weights) @ self.relative.T
        V, shifts = mixing @ self.U, mixing @ self.sums
        return grouped_pass(
            machine._rows,
            (machine._along, machine._level),
            (self.members, self.pointers, self.n_active),
            mixing,
            V,
            shifts,
            V @ machine.mean,
            self.U,
            self.sums,
            (self.signs, machine.upper, machine.ridge, machine._curvature),
            self.dual,
            self.limit,
            machine._random,
        )

    def norms(self, machine: LinearMachine) -> np.ndarray:
        sums = self.relative.T @ self.sums
        W = self.relative.T @ self.U - np.outer(sums, machine.mean)
        return np.einsum("td,td->t", W, W) + machine._constant * sums**2


class _Interleaved:
    """A vector for every label vector, where patterns are many."""

    def __init__(self, machine: LinearMachine, labels: np.ndarray, dual: np.ndarray) -> None:
        self.labels, self.dual, self.limit = labels, dual, np.inf
        self.signs = np.ascontiguousarray(labels.T)
        coefficients = machine.label_set.coefficients(dual, labels)
        self.W = np.ascontiguousarray(machine.X.T @ coefficients.T, dtype=np.float64)
        self.sums = coefficients.sum(axis=1)
        self.active = np.arange(len(dual))
        self.activate()

    def activate(self) -> None:
        self.n_active = len(self.active)

    @property
    def all_active(self) -> bool:
        return self.n_active == len(self.active)

    def pass_over(self, machine: LinearMachine, weights: np.ndarray) -> tuple[float, float, int]:
        self.dual = self.dual.copy()
        violation, gain, self.n_active, seed = interleaved_pass(
            machine._rows,
            (machine._along, machine._level),
            self.active,
            self.n_active,
            self.signs,
            weights,
            self.W,
            self.sums,
            machine.mean @ self.W,
            (machine.upper, machine.ridge, machine._curvature),
            self.dual,
            self.limit,
            machine._random,
        )
        return violation, gain, seed

    def norms(self, machine: LinearMachine) -> np.ndarray:
        W = self.W - np.outer(machine.mean, self.sums)
        return np.einsum("dt,dt->t", W, W) + machine._constant * self.sums**2
