"""Laplacian classifiers whose scores may be held on the simplex."""

from __future__ import annotations

from weakly.manifold._base import LaplacianClassifierBase, direct_bytes
from weakly.manifold._simplex_admm import solve_simplex
from weakly.rows._blocks import dense_bytes, require_fit

_TOL = 100  # residuals of the method, in units of the parameter tol
_REMEDY = "set approximation='nystroem' with a smaller n_components, or simplex=False"


class SimplexClassifierBase(LaplacianClassifierBase):
    """Class probabilities as scores, where the parameter ``simplex`` says so."""

    _parameter_constraints: dict = {
        **LaplacianClassifierBase._parameter_constraints,
        "simplex": ["boolean"],
    }

    def _check_classes(self, labels):
        if self.simplex and labels.n_classes > 2 and self.solver == "cg":
            raise ValueError('simplex=True needs a factorization: use solver="auto".')

    def _check_collection(self):
        super()._check_collection()
        if self.simplex:
            raise ValueError("simplex=True holds all scores in memory: set simplex=False for Dask.")

    def _minimize(self, space, rows, targets, weights, progress):
        if not self.simplex or targets.shape[1] == 1:
            return super()._minimize(space, rows, targets, weights, progress)
        n_bytes = direct_bytes(space, len(rows))
        n_bytes += dense_bytes(len(rows), len(rows)) if self._labeled_loss == "hinge" else 0
        require_fit(n_bytes, "the solver for simplex=True", _REMEDY)
        settings = {"loss": self._labeled_loss, "tol": _TOL * self.tol, "max_iter": self.max_iter}
        targets = (targets + 1) / 2 if self._labeled_loss == "squared" else targets
        with progress.stage("iterate"):
            return solve_simplex(space, rows, targets, weights, callback=progress.count, **settings)

    def _corrects(self):
        return super()._corrects() and not self.simplex
