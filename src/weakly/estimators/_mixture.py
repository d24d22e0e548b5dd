"""What estimators that mix labelings share: the machine on a space, and the search for labelings."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval, StrOptions
from weakly.estimators._base import KernelEstimator
from weakly.rows._arrays import dense_bytes, require_fit
from weakly.solvers import KernelMachine, LinearMachine, solve_cutting_plane


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

    _n_grams = 3  # beside the kernel there is the one that labelings make of it, and one on the way to that
    _smaller = "set approximation='nystroem'"  # what to do when a kernel does not fit

    def _machine(self, space, label_set, costs, offset=0.0):
        if space.has_gram:
            n_bytes = dense_bytes(space.n_rows, space.n_rows, copies=self._n_grams)
            require_fit(n_bytes, f"labelings with an exact kernel on {space.n_rows} rows", self._smaller)
        settings = {"center": self.center, "offset": offset, "tol": 0.1 * self.tol}
        return machine_of(space, label_set, costs, self.loss, **settings)

    def _cut(self, machine, start, callback=None, max_labels=None, refine=0):
        return solve_cutting_plane(
            machine,
            start,
            oracle=self.oracle,
            tol=self.tol,
            max_labels=max_labels or self.max_labels,
            refine=refine,
            callback=callback,
        )

    def _warn_unfinished(self, results):
        cause = self._unfinished(results)
        if cause:
            warnings.warn(f"{type(self).__name__} {cause}", ConvergenceWarning, stacklevel=5)

    def _unfinished(self, results):
        """Why solvers ended early and what to do, if they did."""
        unfinished = [result.n_iter for result in results if result.status == "max_iter"]
        if any(n_labels < self.max_labels for n_labels in unfinished):  # one joins in each iteration
            return "ran out of passes before its weights settled: scale the columns, lower C or raise tol."
        if unfinished and self.max_labels > 1:
            return f"stopped at {self.max_labels} labelings while better ones were found: raise max_labels."
        return ""


def machine_of(space, label_set, costs, loss, **settings):
    """The machine that goes with a space."""
    if space.has_gram:
        return KernelMachine(space.gram, label_set, costs, loss, **settings)
    return LinearMachine(space.features, label_set, costs, loss, **settings)
