"""An approximate kernel that gives each training row back the variance it lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weakly.rows._arrays import cast
from weakly.spaces._base import Expansions, ScoreFunction


@dataclass(frozen=True, eq=False)
class CorrectedSpace(Expansions):
    """Functions of the kernel ``Z Z' + s I``: features, and a value of its own for every training row.

    Features of rank r cannot follow a graph of n rows closely: on them a Laplacian method smooths where it
    should bend. The own values, with the variance ``s`` that the features lack on average, can. New rows have
    none, so that their scores come from the features alone (:meth:`induced` says what those are on the
    training rows). Nothing n x n is ever formed, and there is no factorisation: solvers iterate.

    Parameters
    ----------
    features : {ndarray, csr matrix, tensor} of shape (n_rows, n_features)
        Features ``Z`` of the training rows.
    variance : float
        Variance ``s`` of the own values.
    feature_map : callable or None, default=None
        Features of new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import CorrectedSpace
    >>> space = CorrectedSpace(np.array([[1.0], [2.0]]), 0.5)
    >>> space.scores(np.array([1.0, 0.0])).tolist(), space.induced(np.array([1.0, 0.0])).tolist()
    ([1.5, 2.0], [1.0, 2.0])
    """

    features: Any
    variance: float
    feature_map: Callable[[Any], Any] | None = None
    has_gram: ClassVar[bool] = False
    has_own_values: ClassVar[bool] = True

    @property
    def held(self) -> Any:
        return self.features

    @property
    def mean_square(self) -> float:
        return self.xp.sum_of_squares(self.features) / self.n_rows + self.variance

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        values = self.induced(theta) + self.variance * theta
        return values if rows is None else values[rows]

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new: the part of the features."""
        return self.xp.product(self.features, self._weights(theta))

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these coefficients, for new rows."""
        return ScoreFunction(self.feature_map, self._weights(self.xp.place(theta)))

    def _weights(self, theta: np.ndarray) -> np.ndarray:
        """``Z' theta``: what the features weigh."""
        return self.xp.product(self.features.T, cast(theta, self.dtype))
