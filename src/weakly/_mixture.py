"""What estimators that mix labelings share: the space, the machine on it, and the function of the mixture."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval, StrOptions
from weakly._estimator import KernelEstimator
from weakly._memory import dense_bytes, fits, require_fit
from weakly.kernels import resolve_kernel
from weakly.solvers import KernelMachine, LinearMachine, solve_cutting_plane
from weakly.spaces import FeatureSpace, KernelSpace, build_space

_N_COPIES = 3  # beside the kernel there is the one that labelings make of it, and one on the way to that


class LabelMixture(KernelEstimator):
    """An estimator whose scores are a weighted mixture of support vector machines, one per labeling."""

    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "center": ["boolean"],
        "offset": [Interval(Real, 0, None, closed="left")],
        "oracle": [StrOptions({"ascent", "step", "restarts"})],
        "max_labels": [Interval(Integral, 1, None, closed="left")],
    }

    _smaller = "set approximation='nystroem'"  # what to do when a kernel does not fit

    def _space(self, X):
        self.kernel_ = resolve_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        approximation = self.approximation
        if self.kernel == "linear" and approximation in ("auto", None):
            return FeatureSpace(X)
        too_large = not fits(dense_bytes(X.shape[0], X.shape[0], copies=_N_COPIES))
        if approximation == "auto" and self.kernel != "precomputed" and too_large:
            approximation = "nystroem"
        return build_space(
            X,
            self.kernel_,
            approximation=approximation,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _machine(self, space, label_set, costs, offset=0.0):
        settings = {"center": self.center, "offset": offset, "tol": 0.1 * self.tol}
        if not isinstance(space, KernelSpace):
            return LinearMachine(sp.csr_array(space.features), label_set, costs, self.loss, **settings)
        n_rows = len(space.gram)
        n_bytes = dense_bytes(n_rows, n_rows, copies=_N_COPIES)
        require_fit(n_bytes, f"labelings with an exact kernel on {n_rows} rows", self._smaller)
        return KernelMachine(space.gram, label_set, costs, self.loss, **settings)

    def _cut(self, machine, start, callback=None, max_labels=None):
        return solve_cutting_plane(
            machine,
            start,
            oracle=self.oracle,
            tol=self.tol,
            max_labels=max_labels or self.max_labels,
            callback=callback,
        )

    def _warn_unfinished(self, results):
        unfinished = [len(result.labels) for result in results if result.status == "max_iter"]
        if any(n_labels < self.max_labels for n_labels in unfinished):
            cause = "ran out of passes before its weights settled: scale the columns, lower C or raise tol."
        elif unfinished and self.max_labels > 1:
            cause = f"stopped at {self.max_labels} labelings while better ones were found: raise max_labels."
        else:
            cause = ""
        if cause:
            warnings.warn(f"{type(self).__name__} {cause}", ConvergenceWarning, stacklevel=4)

    def _mix(self, space, machine, results):
        """Publish the function of the mixtures, and return its scores on the training rows."""
        coefficients = np.vstack([mixed_coefficients(machine, result) for result in results])
        theta, self._offset = machine.function(coefficients)
        self._function = space.function(theta.astype(space.dtype))
        return machine.scores(coefficients).T

    def _decisions(self, X):
        scores = self._score(X)
        return scores + self._offset.astype(scores.dtype)


def mixed_coefficients(machine, result):
    """Kernel expansion of the mixture that a cutting plane method found."""
    return result.label_weights @ machine.label_set.coefficients(result.x, result.labels)
