"""What estimators of every topic share: rows and kernels at the door, decisions at the exit."""

from __future__ import annotations

import copy
import functools
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from weakly._compat import Interval, StrOptions, check_params
from weakly.estimators._calibration import probabilities
from weakly.estimators._docstrings import fill_doc
from weakly.graphs import AnchorGraph, Graph, affinity_graph, anchor_graph, neighbor_graph
from weakly.graphs._anchor_map import ANCHOR_WEIGHTS
from weakly.graphs._graph import WEIGHTS
from weakly.kernels import resolve_kernel
from weakly.rows._arrays import (
    canonical,
    dense_bytes,
    fits,
    is_collection,
    is_tensor,
    resolve_device,
    squarable,
    to_host,
)
from weakly.rows._device import follow
from weakly.rows._selection import take_labeled
from weakly.spaces import FeatureSpace, build_space

_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def refuse_collection(estimator, X):
    """NumPy would gather the rows of a Dask collection in one place, without a word."""
    if is_collection(X):
        raise ValueError(
            f"{type(estimator).__name__} takes rows in memory: pass X.compute(), or fit one that takes Dask "
            "collections: FewLabelClassifier, TransductiveLinearSVC, a Laplacian method with graph='anchor'."
        )


class RowEstimator(BaseEstimator):
    """Checks of samples: those of a fit, and new ones.

    An estimator that takes Dask collections has ``_fit_blocks(blocks, y)`` beside ``fit(X, y)``; the choice
    between the two is made by :func:`weakly.estimators._fitting.atomic_fit`.
    """

    _last_published = "_function"  # what only a fit that came to its end has set
    _of_training: tuple[str, ...] = ("transduction_", "label_distributions_")  # not for new samples

    def _check_rows(self, X, y):
        """Stage 1 of fit: parameters and rows, before any work."""
        self._require_labels(y)
        X = self._check_features(X)
        check_consistent_length(X, y)
        return X

    def _require_labels(self, y):
        check_params(self)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def _check_features(self, X):
        """The same where there are no labels."""
        check_params(self)
        refuse_collection(self, X)
        self._choose_device(X)
        X = validate_data(self, to_host(X), ensure_min_samples=2, order="C", **_ROWS)
        return squarable(canonical(X))

    def _blocks_of(self, X):
        """The same for a Dask collection, of which blocks stay where they are."""
        from weakly.distributed import checked_rows

        check_params(self)
        self._check_collection()
        return checked_rows(self, X)

    def _check_collection(self):
        """Refuse settings that need all samples in memory."""

    def _check_new(self, X):
        check_is_fitted(self, self._last_published)
        refuse_collection(self, X)
        return squarable(canonical(validate_data(self, to_host(X), reset=False, **_ROWS)))

    def _choose_device(self, X):
        """For estimators that run on NumPy alone there is no choice."""


class DeviceMixin:
    """The parameter ``device``: where the dense algebra of a fit and of new rows is done.

    Rows, labels and coefficients are NumPy arrays between the door and the exit of an estimator; ``_device``
    names the device that spaces and the neighbour search put them on, ``None`` for NumPy.
    """

    _device = None  # for estimators without the parameter

    def _choose_device(self, X):
        if not hasattr(self, "device"):
            return
        self._device = resolve_device(self.device, X)
        if self._device is not None and sp.issparse(X):
            raise ValueError("a device needs dense rows: pass X.toarray(), or set device=None.")

    def _check_collection(self):
        if self.device is not None:
            raise ValueError(
                f"{type(self).__name__} leaves a Dask collection to its workers, without a device: set "
                "device=None."
            )
        self._device = None  # not that of an earlier fit

    def to_numpy(self):
        """Bring the model to NumPy, so that it predicts and can be pickled without PyTorch.

        Returns
        -------
        estimator
            A copy with ``device=None``. The matrices of a warm start stay behind.
        """
        model = copy.copy(self)
        for name, value in vars(self).items():
            if is_tensor(value):
                setattr(model, name, to_host(value))
            elif hasattr(value, "to_numpy") and type(value).__module__.startswith("weakly."):
                setattr(model, name, value.to_numpy())
        if hasattr(self, "device"):
            model.device, model._device = None, None
        return model


class KernelEstimator(RowEstimator):
    """Parameters of a kernel and its approximation."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "linear", "poly", "chi2", "cosine", "precomputed"}), callable],
        "gamma": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scale", "median", "mean-distance"}),
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "approximation": [StrOptions({"auto", "nystroem", "fourier"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "unlabeled": "no_validation",
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel not in ("precomputed", "chi2")
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    _n_grams = 2  # matrices of the size of the Gram matrix that a fit holds at a time
    _is_linear_always = True  # whether dense rows with more columns than rows are to stay rows

    def _space(self, X):
        """Rows as they are for a linear kernel, the Gram matrix while it fits, else an approximation."""
        self.kernel_ = resolve_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        approximation = self.approximation
        too_large = not fits(dense_bytes(X.shape[0], X.shape[0], copies=self._n_grams))
        stays = self._is_linear_always or sp.issparse(X) or X.shape[1] <= X.shape[0] or too_large
        if self.kernel == "linear" and approximation in ("auto", None) and stays:
            return FeatureSpace(X)
        if approximation == "auto" and self.kernel != "precomputed" and too_large:
            approximation = "nystroem"
        return build_space(
            X,
            self.kernel_,
            approximation=approximation,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _score(self, X):
        """Values of the published function on new rows."""
        return self._values(self._check_new(X))

    def _values(self, X):
        """The same for rows that were checked."""
        return self._function(X).astype(X.dtype, copy=False)


class GraphEstimator(DeviceMixin, KernelEstimator):
    """Parameters of a graph over the rows, and the graph."""

    _of_training = ("graph_",)
    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        "graph": [StrOptions({"knn", "anchor"}), Graph, AnchorGraph, "array-like", "sparse matrix"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph_weights": [StrOptions({*WEIGHTS, *ANCHOR_WEIGHTS})],
        "device": "no_validation",
    }
    _without_graph = ""  # how to do without, for estimators that can

    def _needs_graph(self):
        return True

    def _check_rows(self, X, y):
        X = super()._check_rows(X, y)
        if self._needs_graph() and isinstance(self.graph, str):
            self._check_neighbors(X, f", or pass a graph{self._without_graph}")
        return X

    def _blocks_of(self, X):
        blocks = super()._blocks_of(X)
        self._check_neighbors(blocks)
        return blocks

    def _check_neighbors(self, X, otherwise=""):
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} but n_samples={X.shape[0]}: lower n_neighbors{otherwise}."
            )

    def _check_collection(self):
        name = type(self).__name__
        is_anchored = isinstance(self.graph, str) and self.graph == "anchor"
        if not is_anchored or self.approximation != "auto":
            raise ValueError(
                f"{name} takes Dask collections through anchors: set graph='anchor' and approximation='auto'."
            )
        if not self._needs_graph():
            raise ValueError(f"{name} needs the graph for a Dask collection: set a positive graph_penalty.")
        if self.kernel == "precomputed":
            raise ValueError(f"{name} looks for anchors among rows: pass rows, not a Gram matrix.")
        super()._check_collection()

    def _build_graph(self, X):
        if not self._needs_graph():
            return None
        if isinstance(self.graph, str) and self.graph == "anchor":
            return self._build_anchors(X)
        if isinstance(self.graph, str):
            if self.graph_weights not in WEIGHTS:
                raise ValueError(f"graph_weights={self.graph_weights!r} needs graph='anchor'.")
            return neighbor_graph(
                X,
                n_neighbors=self.n_neighbors,
                weights=self.graph_weights,
                is_kernel=self.kernel == "precomputed",
                random_state=self.random_state,
                device=self._device,
            )
        given = isinstance(self.graph, Graph | AnchorGraph)
        graph = self.graph if given else affinity_graph(self.graph)
        if graph.n_rows != X.shape[0]:
            raise ValueError(
                f"graph has {graph.n_rows} rows and X has {X.shape[0]}: they must be the same rows."
            )
        return graph

    def _build_anchors(self, X):
        if self.kernel == "precomputed":
            raise ValueError("graph='anchor' looks for anchors among rows: pass rows, not a Gram matrix.")
        return anchor_graph(
            X,
            n_anchors=self.n_components,
            n_neighbors=self.n_neighbors,
            weights=self.graph_weights,
            random_state=self.random_state,
            device=self._device,
        )

    def _warn_of_unreached(self, labeled):
        """Say once how many rows no label reaches along the graph."""
        unreached = 0 if self.graph_ is None else int(self.graph_.unreached(labeled).sum())
        if unreached:
            warnings.warn(
                f"{unreached} rows lie in parts of the graph without a label: for them the kernel decides "
                "alone. Raise n_neighbors to join the parts, or label a row in each.",
                UserWarning,
                stacklevel=4,
            )


def lazy_on_collections(method):
    """Let a method of a fitted estimator answer lazily for a Dask collection, chunk by chunk."""

    @functools.wraps(method)
    def wherever_samples_are(self, X):
        if not is_collection(X):
            return method(self, X)
        from weakly.distributed import map_method

        return map_method(self, method.__name__, X)

    return wherever_samples_are


@fill_doc
class ScoredClassifier(ClassifierMixin):
    """The public methods of a classifier that has ``classes_``, ``temperature_`` and ``_decisions``."""

    def _labels_of(self, decisions):
        return self.classes_[class_codes(decisions)]

    @lazy_on_collections
    def decision_function(self, X):
        """Score samples: positive for the second of two classes, else one column per class.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples,) or (n_samples, n_classes)
            Scores; where the estimator normalizes them by class proportions, after that.
        """
        decisions = self._decisions(X)
        return follow(decisions[:, 0] if decisions.shape[1] == 1 else decisions, X)

    @lazy_on_collections
    def predict(self, X):
        """Predict the class of samples.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples,)
            Labels.
        """
        return follow(self._labels_of(self._decisions(X)), X)

    @lazy_on_collections
    def predict_proba(self, X):
        """Estimate class probabilities.

        They are the softmax of the decisions times ``temperature_``, a number fitted to the labeled
        samples where each can be scored by a model without it, under a prior that decides when labels are
        very few.

        %(of_new_samples)s
        ndarray or dask array of shape (n_samples, n_classes)
            Rows sum to 1; the largest entry is the predicted class.
        """
        return follow(probabilities(self._decisions(X), self.temperature_), X)

    def score(self, X, y, sample_weight=None):
        """Accuracy on the labeled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            Test samples; bags as in ``fit``, of a classifier of bags.
        y : array-like of shape (n_samples,)
            True labels. Samples with the marker of ``unlabeled`` are left out, where the estimator has it.
        %(accuracy)s
        """
        if not hasattr(self, "unlabeled"):
            return super().score(X, y, sample_weight)
        return score_labeled(self, accuracy_score, X, y, sample_weight)


def score_labeled(estimator, metric, X, y, sample_weight, continuous=False):
    """Metric of the predictions for labeled samples; a collection is predicted where it is, as a whole."""
    settings = {"unlabeled": estimator.unlabeled, "continuous": continuous}
    if is_collection(X):
        y = np.asarray(y)
        rows, known, weights = take_labeled(np.arange(len(y)), y, sample_weight, **settings)
        return float(metric(known, np.asarray(estimator.predict(X))[rows], sample_weight=weights))
    X, known, weights = take_labeled(X, y, sample_weight, **settings)
    return float(metric(known, to_host(estimator.predict(X)), sample_weight=weights))


def class_codes(columns):
    """Class of each row: the largest of several columns, the sign of a single one."""
    return (columns[:, 0] > 0).astype(int) if columns.shape[1] == 1 else columns.argmax(axis=1)


def unlabeled_cost(C, C_unlabeled, labels):
    """Cost of an unlabelled row; "auto" falls with their number, so that they do not overrule the labels."""
    if not isinstance(C_unlabeled, str):
        return float(C_unlabeled)
    n_labeled, n_unlabeled = len(labels.labeled), labels.n_unlabeled
    return C * min(1.0, np.sqrt(n_labeled / max(n_unlabeled, 1)) / 2)
