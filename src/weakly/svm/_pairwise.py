"""What machines over pairs of classes share: the solver, and the way from its scores to labels."""

from __future__ import annotations

import warnings
from numbers import Integral

from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval
from weakly.estimators._base import ScoredClassifier
from weakly.estimators._calibration import prior_temperature
from weakly.svm._weston_watkins_solver import solve_weston_watkins

MACHINE_CONSTRAINTS: dict = {"max_iter": [Interval(Integral, 1, None, closed="left")]}


class PairwiseClassifier(ScoredClassifier):
    """A kernel estimator whose classes are told apart pair by pair, all at once."""

    _is_linear_always = False

    def _solve_pairs(self, space, costs, progress):
        """Publish the functions for these costs, and return their decisions on the rows of the space."""
        with progress.stage("machine"):
            result = solve_weston_watkins(
                space, costs, tol=self.tol, max_iter=self.max_iter, callback=progress.count
            )
        self._publish_pairs(result, space.function(result.x.astype(space.dtype)))
        return self._decide(space.scores(result.x))

    def _publish_pairs(self, result, function):
        if result.status in ("max_iter", "stalled"):
            warnings.warn(
                f"{type(self).__name__} ended at a relative duality gap of {result.criterion[-1]:.2g}: "
                f"centre and scale the columns, or raise max_iter (now {self.max_iter}) or tol (now "
                f"{self.tol:.2g}).",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.result_ = result
        self.n_iter_ = result.n_iter
        self.temperature_ = prior_temperature(result.x.shape[1])
        self._function = function

    def _decisions(self, X):
        return self._decide(self._score(X))

    def _decide(self, scores):
        """Classes at the margin differ by 2, as +1 and -1 do; of two classes the second says all."""
        scores = 2 * (scores + self.result_.intercept.astype(scores.dtype))
        return scores[:, 1:] if scores.shape[1] == 2 else scores
