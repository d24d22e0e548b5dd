"""What solvers may ask of a space, and the records that it answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from weakly.spaces._base import ScoreFunction


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The weighted ridge problem ``min sum_i w_i (y_i - f_i)^2 / 2 + ||f||^2 / 2`` of a space, factored.

    Parameters
    ----------
    solve : callable
        From targets, one column per problem, to the parameters of the minimisers.
    leverage : callable
        The diagonal of the matrix that takes targets to fitted values; 0 on rows of weight 0.
    """

    solve: Callable[[np.ndarray], np.ndarray]
    leverage: Callable[[], np.ndarray]


@dataclass(frozen=True, eq=False)
class Factor:
    """A factorisation of ``T = a I + g A*LA``, in float64 whatever the space: ``T`` is badly conditioned.

    On parameters ``solve`` is ``T^-1``, and ``root_solve`` is ``C^-1`` with ``T = C C'``; ``None`` where
    ``T`` is not symmetric.
    """

    solve: Callable[[np.ndarray], np.ndarray]
    root_solve: Callable[[np.ndarray], np.ndarray] | None = None


class Space(Protocol):
    """What a solver may ask of a space; the package's documentation has the table.

    ``has_gram`` says that parameters are coefficients of the training samples in a kernel, whose Gram matrix
    is ``gram``; else they weigh ``features``. ``has_own_values`` says that training samples have values
    beside their features, for which there is no factorization; ``has_blocks`` that only some of them are at
    hand, and the others in the blocks of ``graph``. ``mean_square`` is the mean over the samples of the
    kernel of a sample with itself.
    """

    @property
    def has_gram(self) -> bool: ...
    @property
    def has_blocks(self) -> bool: ...
    @property
    def has_own_values(self) -> bool: ...
    @property
    def mean_square(self) -> float: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_params(self) -> int: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def xp(self) -> Any: ...
    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray: ...
    def adjoint(self, values: np.ndarray) -> np.ndarray: ...
    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray: ...
    def induced(self, theta: np.ndarray) -> np.ndarray: ...
    def function(self, theta: np.ndarray) -> ScoreFunction: ...


class BaseSpace(Space, Protocol):
    """A space that also does its own dense algebra.

    ``products`` are those of samples with each other by the kernel, ``shifted_products`` those of all in
    float64 after a shift of their features that suits rounding, for problems whose offset is free.
    """

    @property
    def largest_product(self) -> float: ...
    def products(self, rows: np.ndarray | None = None) -> np.ndarray: ...
    def shifted_products(self) -> np.ndarray: ...
    def column(self, row: int) -> np.ndarray: ...
    def squared_norms(self) -> np.ndarray: ...
    def expand(self, coefficients: sp.csr_array) -> np.ndarray: ...
    def part(self, rows: np.ndarray) -> BaseSpace: ...
    def representers(self, rows: np.ndarray) -> np.ndarray: ...
    def normal_equations(self, weights: np.ndarray) -> NormalEquations: ...
    def factor(self, laplacian: sp.csr_array, ambient: float, graph: float) -> Factor: ...
