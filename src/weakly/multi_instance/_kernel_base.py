"""What support vector machines for bags share: a kernel between instances, and a function for each class."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval
from weakly.estimators._base import KernelEstimator
from weakly.multi_instance._base import BagClassifier
from weakly.solvers._centered_rows import far_means, less_means
from weakly.solvers._range import build_in_range, check_costs
from weakly.spaces import exact_space


class KernelBagClassifier(BagClassifier, KernelEstimator):
    """Classes that are functions of instances, with constants.

    A method has ``_fit_column(ground, bags, is_positive, progress)``, which returns what its solver reports,
    the coefficients of the instances and the constant. The ground is what all columns share, the space of
    instances unless ``_ground`` says otherwise.
    """

    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        **BagClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "positive_weight": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _rounds = "machines"  # what max_iter counts

    def _fit_bags(self, bags, is_positive, progress):
        check_costs("C", np.full(1, self.C))
        check_costs("C times positive_weight", np.full(1, self.C * self.positive_weight))
        with progress.stage("kernel"):
            space = build_in_range(lambda: self._space(bags.rows), bags.rows.dtype)
            ground = self._ground(space, bags)
        parts = [self._fit_column(ground, bags, column, progress) for column in is_positive.T]
        results, theta, constants = zip(*parts, strict=True)
        self._warn_unfinished(results)
        self._function = space.function(np.column_stack(theta).astype(space.dtype))
        self._offset = np.array(constants, dtype=np.float64)
        self.result_ = results[0] if self.positive_class_ is not None else list(results)
        self.n_iter_ = max(result.n_iter for result in results)

    _is_centered = True  # whether a shift of all instances changes the constant of the function alone

    def _space(self, rows):
        self.kernel_ = self._resolve_kernel(rows)
        is_linear = self.kernel == "linear" and self._is_centered
        self._origin = far_means(rows) if is_linear else np.zeros(rows.shape[1])
        return exact_space(self._near_zero(rows), self.kernel_, "use fewer instances")

    def _near_zero(self, rows):
        """Instances less the means of features far from 0, where linear kernels would be mostly rounding."""
        return less_means(rows, self._origin)

    def _ground(self, space, bags):
        return space

    def _bag_costs(self, is_positive):
        return self.C * np.where(is_positive, self.positive_weight, 1.0)

    def _warn_unfinished(self, results):
        if any(result.status == "max_iter" for result in results):
            n_iter = max(result.n_iter for result in results)
            cause = (
                f"was not done after max_iter={self.max_iter} {self._rounds}: raise max_iter."
                if n_iter >= self.max_iter
                else "had a machine that ran out of steps: scale the columns, lower C or raise tol."
            )
            warnings.warn(f"{type(self).__name__} {cause}", ConvergenceWarning, stacklevel=5)

    def _score_instances(self, rows):
        return self._values(self._near_zero(rows)).astype(rows.dtype) + self._offset.astype(rows.dtype)
