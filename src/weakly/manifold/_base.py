"""What the Laplacian estimators share: parameters, geometry, and the way from scores to labels."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval, StrOptions, check_sample_weight
from weakly.estimators._base import GraphEstimator, Progress, atomic_fit
from weakly.estimators._calibration import (
    CLASS_PRIOR_CONSTRAINTS,
    Moments,
    ScoredClassifier,
    decisions_of,
    fit_temperature,
    match_moments,
    prior_of,
    prior_temperature,
    probabilities,
)
from weakly.estimators._docstrings import fill_doc
from weakly.graphs import AnchorGraph, AnchorMap
from weakly.manifold._simplex_admm import solve_simplex
from weakly.rows._arrays import dense_bytes, fits, require_fit, to_host
from weakly.rows._labels import encode_labels
from weakly.solvers import solve_conjugate, solve_restricted
from weakly.spaces import FeatureSpace, anchor_space, build_space, deform

# Parameters whose change leaves the space as it is.
_LABEL_PARAMS = {
    "class_prior", "early_stopping", "exclusive", "exclusive_penalty", "loss", "max_iter",
    "resplit", "smoothing", "solver", "step", "tol", "unlabeled", "verbose", "warm_start",
}  # fmt: skip
_PATIENCE = 10  # iterations without a changed decision that end an early-stopped solve
_REMEDIES = {
    "max_iter": "raise max_iter (now {max_iter}) or tol (now {tol:.2g})",
    "stalled": "rounding leaves nothing to gain; raise ambient_penalty, or tol (now {tol:.2g})",
}
_CG_REMEDY = "use the squared hinge or the squared loss with solver='cg', or approximation='nystroem'"
_SIMPLEX_TOL = 100  # residuals of the method, in units of the parameter tol
_SIMPLEX_REMEDY = "set approximation='nystroem' with a smaller n_components, or simplex=False"


class LaplacianModel(GraphEstimator):
    """Geometry and solving, for classifiers and regressors alike."""

    _parameter_constraints: dict = {
        **GraphEstimator._parameter_constraints,
        "ambient_penalty": [Interval(Real, 0, None, closed="neither")],
        "graph_penalty": [Interval(Real, 0, None, closed="left")],
        "laplacian": [StrOptions({"symmetric", "unnormalized"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "warm_start": ["boolean"],
    }

    _labeled_loss = "squared"  # name of a loss of weakly.losses, or a Loss

    def __getstate__(self):
        # The factored space of a warm start is n x n and is rebuilt on demand: it does not travel.
        return {name: value for name, value in super().__getstate__().items() if name != "_warm"}

    _without_graph = ", or set graph_penalty=0"

    def _needs_graph(self):
        return self.graph_penalty > 0

    def _geometry(self, X, progress):
        """Stage 3: the geometry, which sees no label; kept for the next fit with ``warm_start``."""
        key = self._geometry_key(X) if self.warm_start else None
        if key is not None and getattr(self, "_warm", None) is not None and self._warm[0] == key:
            self.kernel_, self.graph_, self._density, space = self._warm[1]
            return space
        X = X.copy() if self.warm_start else X  # what is kept must not change with the caller's rows
        self.kernel_ = self._resolve_kernel(X)
        with progress.stage("graph"):
            self.graph_ = self._build_graph(X)
        with progress.stage("space"):
            space = self._shape(self._base_space(X), X.dtype)
        self._density = self._measure_density(space.base)
        self._warm = (key, (self.kernel_, self.graph_, self._density, space)) if self.warm_start else None
        return space

    def _base_space(self, X):
        """The functions of the kernel; or those of the anchors' values, where rows are joined by anchors."""
        if self._is_of_anchors():
            return FeatureSpace(self.graph_.weights, self.graph_.feature_map)
        return build_space(
            X,
            self.kernel_,
            approximation=self._approximation(X.shape[0]),
            n_components=self.n_components,
            corrected=self._corrects(),
            random_state=self.random_state,
            device=self._device,
        )

    def _is_of_anchors(self):
        """Whether functions are those of the anchors' values, in which the kernel has no part."""
        name = isinstance(self.graph, str) and self.graph == "anchor"
        has_anchors = self._needs_graph() and (name or isinstance(self.graph, AnchorGraph))
        return has_anchors and self.approximation == "auto" and self.kernel != "precomputed"

    def _block_geometry(self, blocks, labeled, progress):
        """The same for rows in blocks, of which sums and the labelled rows are gathered."""
        self.kernel_ = None
        with progress.stage("graph"):
            self.graph_ = self._build_block_anchors(blocks)
        with progress.stage("space"):
            penalties = {"ambient": self.ambient_penalty, "graph": self.graph_penalty}
            space = anchor_space(self.graph_, labeled, **penalties)
        self._density = self.graph_.masses[:, None], 0.0
        return space

    def _approximation(self, n_rows):
        return self.approximation

    def _shape(self, base, dtype):
        """Give the space the shape of the graph."""
        empty = sp.csr_array((base.n_rows, base.n_rows), dtype=dtype)
        laplacian = empty if self.graph_ is None else self.graph_.laplacian(self.laplacian).astype(dtype)
        return deform(base, laplacian, ambient=self.ambient_penalty, graph=self.graph_penalty)

    def _measure_density(self, base):
        """Parameters of the sum of the kernels at all rows, and its least value on them.

        The value is 0 for kernels that do not vanish far away, and for anchors: they leave no row alone.
        """
        if not self.kernel_.vanishes_far_away or isinstance(base.feature_map, AnchorMap):
            return np.zeros((base.n_params, 1), dtype=base.dtype), 0.0
        density = base.adjoint(np.ones((base.n_rows, 1), dtype=base.dtype))
        return density, float(base.induced(density).min())

    def _corrects(self):
        """Whether an approximation is to give rows back the variance it loses."""
        return False

    def _geometry_key(self, X):
        """Content of the rows and value of every parameter that shapes the space."""
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in _LABEL_PARAMS}
        name = "weights" if isinstance(self.graph, AnchorGraph) else "affinity"
        settings["graph"] = getattr(self.graph, name, self.graph)
        settings["device"] = self._device
        function = settings.pop("kernel") if callable(self.kernel) else None  # compared as it is: no hash
        return joblib.hash([X, settings]), function

    def _solve(self, space, rows, targets, weights, progress):
        """Stage 4: the minimiser."""
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of them is refused below
            result = self._minimize(space, rows, targets, weights, progress)
        self._keep(result)
        return result.x

    def _keep(self, result):
        """Publish what the solver reports, with a warning where it did not converge."""
        if not (np.isfinite(result.x).all() and np.isfinite(result.objective[-1])):
            raise ValueError(
                f"{type(self).__name__} has no finite solution: the kernel of X, sample_weight and the "
                f"penalties ({self._penalties()}) are too far apart in size for floating-point numbers. "
                "Scale X, and bring them nearer to 1."
            )
        if result.status in _REMEDIES:
            remedy = _REMEDIES[result.status].format(max_iter=self.max_iter, tol=self.tol)
            warnings.warn(
                f"{type(self).__name__} ended at criterion {result.criterion[-1]:.2g}: {remedy}.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.result_ = result
        self.n_iter_ = result.n_iter

    def _penalties(self):
        """The penalties with their values, for messages."""
        return ", ".join(f"{k}={v:.2g}" for k, v in self.get_params().items() if k.endswith("_penalty"))

    def _minimize(self, space, rows, targets, weights, progress):
        """The problem on the labelled rows, or on all rows where no factorisation fits."""
        settings = {"loss": self._labeled_loss, "tol": self.tol, "max_iter": self.max_iter}
        if self._is_direct(space, len(rows)):
            with progress.stage("solve"):
                return solve_restricted(space, rows, targets, weights, **settings)
        # Anchors are few: to solve for them to the end costs little, and does not hang on where the rows are.
        has_few = isinstance(space.base.feature_map, AnchorMap)
        patience = _PATIENCE if self.early_stopping and not has_few else None
        with progress.stage("iterate"):
            return solve_conjugate(
                space, rows, targets, weights, patience=patience, callback=progress.count, **settings
            )

    def _is_direct(self, space, n_labeled):
        if space.has_own_values:
            return False
        n_bytes = direct_bytes(space, n_labeled)
        if self._labeled_loss == "hinge" or self.solver not in ("auto", "cg"):
            require_fit(n_bytes, "the direct solver", _CG_REMEDY, self._device)
            return True
        return self.solver == "auto" and fits(n_bytes)


@fill_doc
class LaplacianClassifierBase(ScoredClassifier, LaplacianModel):
    """Encoding of labels, class-mass normalisation and probabilities."""

    _parameter_constraints: dict = {
        **LaplacianModel._parameter_constraints,
        "class_prior": CLASS_PRIOR_CONSTRAINTS,
    }

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        %(X_or_collection)s
            A Dask collection needs ``graph="anchor"``, and is read a few times: call ``X.persist()`` first if
            the cluster holds it. ``transduction_`` and ``label_distributions_`` are then lazy arrays with its
            chunks, ``kernel_`` is ``None`` and ``warm_start`` keeps nothing.
        %(y_or_collection)s
        %(sample_weight)s

        %(fitted)s
        """
        y = to_host(y)
        X = self._check_rows(X, y)
        weights = check_sample_weight(to_host(sample_weight), X)
        labels = encode_labels(y, unlabeled=self.unlabeled, weights=weights)
        self._check_classes(labels)
        prior = self._class_prior(labels)
        progress = Progress(type(self).__name__, self.verbose)
        space = self._geometry(X, progress)
        self._warn_of_unreached(labels.labeled)
        self.classes_ = labels.classes
        self.class_prior_ = prior
        targets = labels.targets()
        theta = self._solve(space, labels.labeled, targets, weights[labels.labeled], progress)
        self._publish(space, theta, labels, X.dtype)
        return self

    def _fit_blocks(self, blocks, y, sample_weight=None):
        """The same on a Dask collection, through anchors."""
        from weakly.distributed import labels_of

        labels, weights = labels_of(y, blocks, self.unlabeled, sample_weight)
        prior = self._class_prior(labels)
        progress = Progress(type(self).__name__, self.verbose)
        space = self._block_geometry(blocks, labels.labeled, progress)
        self._warn_of_unreached(labels.labeled)
        self.classes_ = labels.classes
        self.class_prior_ = prior
        theta = self._solve(space, np.arange(len(weights)), labels.targets(), weights, progress)
        self._publish_blocks(space, theta, labels)
        return self

    def _check_classes(self, labels):
        """Refuse settings that do not suit the classes."""

    def _corrects(self):
        # The solver must iterate, and without a graph there is nothing that the features fail to follow.
        iterates = self.solver in ("auto", "cg") and self._labeled_loss != "hinge"
        return self.graph_penalty > 0 and iterates

    def _class_prior(self, labels):
        prior = prior_of(self.class_prior, labels)
        return labels.frequencies if prior is None else prior

    def _publish(self, space, theta, labels, dtype):
        """Stage 5: fix the map from scores to decisions and its temperature on the training rows."""
        self._function = space.function(np.hstack([theta, self._density[0]]))
        scores = (space.scores(theta) + self.result_.intercept).astype(dtype)
        moments = self._normalize(scores)
        # New rows may have scores of another scale: those of the features alone.
        own = space.has_own_values
        self._moments = self._normalize(space.induced(theta).astype(dtype)) if own else moments
        self.temperature_ = self._temperature(moments, labels)
        decisions = moments(scores)
        self.transduction_ = self._labels_of(decisions)
        self.label_distributions_ = probabilities(decisions, self.temperature_)

    def _publish_blocks(self, space, theta, labels):
        """The same with lazy arrays: moments of the scores follow from sums over the rows."""
        from weakly.distributed import fitted_values

        self._function = space.function(np.hstack([theta, self._density[0]]))
        mean, spread = space.base.moments(theta)
        level = mean + self.result_.intercept
        # Two rows that have the mean and the standard deviation of all.
        self._moments = self._normalize(np.vstack([level - spread, level + spread]).astype(space.dtype))
        self.temperature_ = self._temperature(self._moments, labels)
        self.transduction_ = fitted_values(self, "predict", self.graph_.blocks)
        self.label_distributions_ = fitted_values(self, "predict_proba", self.graph_.blocks)

    def _normalize(self, scores):
        """The map from scores to decisions, fixed by their moments over all rows."""
        if self.class_prior is None:
            return Moments.identity(scores)
        return match_moments(scores, prior=self.class_prior_)

    def _temperature(self, moments, labels):
        detail = self.result_.detail
        if detail is None:
            return prior_temperature(labels.n_classes)
        return fit_temperature(moments(detail.held_out), labels.labeled_codes)

    def _decisions(self, X):
        """Decisions on new rows, drawn to the class shares where a row is lonelier than any training row.

        Without this a shift of the level, meant for rows among the others, would decide where the kernel
        has fallen to 0 and the scores say nothing.
        """
        columns = self._score(X)
        intercept = np.asarray(self.result_.intercept, dtype=columns.dtype)
        scores, density = columns[:, :-1] + intercept, columns[:, -1:]
        decisions = self._moments(scores)
        lowest = self._density[1]
        if not lowest > 0:
            return decisions
        reach = np.clip(density / lowest, 0, 1)
        alone = decisions_of(self.class_prior_, self.temperature_).astype(columns.dtype)
        return reach * decisions + (1 - reach) * alone


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
        require_fit(n_bytes, "the solver for simplex=True", _SIMPLEX_REMEDY)
        settings = {"loss": self._labeled_loss, "tol": _SIMPLEX_TOL * self.tol, "max_iter": self.max_iter}
        targets = (targets + 1) / 2 if self._labeled_loss == "squared" else targets
        with progress.stage("iterate"):
            return solve_simplex(space, rows, targets, weights, callback=progress.count, **settings)

    def _corrects(self):
        return super()._corrects() and not self.simplex


def direct_bytes(space, n_labeled):
    """The factor, and the representers of the labelled rows with their Gram matrix and its own factor."""
    n_params, n_kept = space.n_params, min(n_labeled, space.n_params)
    return (
        dense_bytes(n_params, n_params)
        + dense_bytes(n_params, n_kept)
        + dense_bytes(n_kept, n_kept, copies=2)
    )
