"""What fits of every topic share: the door, samples and kernels that pass it, and progress meanwhile."""

from __future__ import annotations

import copy
import functools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from weakly._compat import Interval, StrOptions, check_params
from weakly.exceptions import FitInterruptedWarning
from weakly.graphs import AnchorGraph, Graph, affinity_graph, anchor_graph, neighbor_graph
from weakly.graphs._anchor_map import ANCHOR_WEIGHTS
from weakly.graphs._graph import WEIGHTS
from weakly.kernels import resolve_kernel
from weakly.rows._arrays import (
    DOOR,
    canonical,
    dense_bytes,
    fits,
    is_collection,
    is_tensor,
    resolve_device,
    squarable,
    to_host,
)
from weakly.spaces import FeatureSpace, block_anchor_graph, build_space

_EVERY = 10  # iterations between two lines of progress
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
    between the two is made by :func:`weakly.estimators._base.atomic_fit`.
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
        X = squarable(canonical(X))
        DOOR.set(X)
        return X

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

    def _resolve_kernel(self, X):
        return resolve_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _space(self, X):
        """Rows as they are for a linear kernel, the Gram matrix while it fits, else an approximation."""
        self.kernel_ = self._resolve_kernel(X)
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
        return anchor_graph(X, device=self._device, **self._anchor_settings())

    def _build_block_anchors(self, blocks):
        return block_anchor_graph(blocks, **self._anchor_settings())

    def _anchor_settings(self):
        settings = {"n_neighbors": self.n_neighbors, "weights": self.graph_weights}
        return {"n_anchors": self.n_components, "random_state": self.random_state, **settings}

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


def unlabeled_cost(C, C_unlabeled, labels):
    """Cost of an unlabelled row; "auto" falls with their number, so that they do not overrule the labels."""
    if not isinstance(C_unlabeled, str):
        return float(C_unlabeled)
    n_labeled, n_unlabeled = len(labels.labeled), labels.n_unlabeled
    return C * min(1.0, np.sqrt(n_labeled / max(n_unlabeled, 1)) / 2)


def atomic_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ``fit`` method leave the estimator as it was unless it comes to its end.

    An error, or an interrupt that no solver caught, would otherwise leave new classes beside the old
    function. Where a solver caught an interrupt and ended with the best point so far, the fit warns; a
    warning that is turned into an error undoes the fit as well.

    A Dask collection goes to the method ``_fit_blocks`` (for ``precompute``, to ``_precompute_blocks``) of an
    estimator that has it, in blocks that its ``_blocks_of`` has checked, with all other arguments as they
    are. Without such a method an estimator takes samples in memory only, which their checks say.

    The method itself is for samples in memory. It sets attributes and changes none in place.

    Examples
    --------
    >>> from weakly.estimators._base import atomic_fit
    >>> class Model:
    ...     classes_ = None
    ...     @atomic_fit
    ...     def fit(self, X, y):
    ...         self.classes_ = sorted(set(y))
    ...         if len(X) != len(y):
    ...             raise ValueError("X and y differ in length.")
    ...         return self
    >>> model = Model().fit([1, 2], [0, 1])
    >>> try:
    ...     model.fit([1, 2, 3], [7, 8])
    ... except ValueError:
    ...     print(model.classes_)
    [0, 1]
    """

    @functools.wraps(fit)
    def fit_or_leave(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        before, outside = vars(self).copy(), DOOR.set(None)
        in_blocks = getattr(self, f"_{fit.__name__}_blocks", None) if is_collection(X) else None
        try:
            if in_blocks is None:
                fitted = fit(self, X, *args, **kwargs)
            else:
                fitted = in_blocks(self._blocks_of(X), *args, **kwargs)
            if "interrupted" in _statuses(self):
                warnings.warn(
                    f"{type(self).__name__} was interrupted: the model is the best found until then, not the "
                    "one that a whole fit gives (result_.status is 'interrupted').",
                    FitInterruptedWarning,
                    stacklevel=2,
                )
        except BaseException:
            self.__dict__ = before  # in one step, which a second interrupt cannot part
            raise
        finally:
            DOOR.reset(outside)
        return fitted

    return fit_or_leave


def _statuses(estimator: Any) -> Iterator[str]:
    """Why the solvers behind a fitted estimator ended."""
    results = getattr(estimator, "result_", [])
    yield from (result.status for result in (results if isinstance(results, list) else [results]))


class Progress:
    """Says what a fit of a title is doing and how long each stage took, unless ``verbose`` is 0.

    Examples
    --------
    >>> from weakly.estimators._base import Progress
    >>> with Progress("fit", verbose=0).stage("neighbors"):
    ...     pass
    """

    def __init__(self, title: str, verbose: int) -> None:
        self.title = title
        self.verbose = verbose
        self.n_iter = 0
        self.is_interrupted = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and say so when it is over."""
        start = time.perf_counter()
        self._say(f"{name} ...", end="\r")
        yield
        self._say(f"{name}: {time.perf_counter() - start:.2f} s")

    def count(self, *state: object) -> bool:
        """Count an iteration; a callback that looks at nothing, and stops what comes after an interrupt."""
        self.n_iter += 1
        if self.n_iter % _EVERY == 1:
            self._say(f"iteration {self.n_iter}", end="\r")
        return self.is_interrupted

    def watch(self, result: Any) -> Any:
        """Pass on what a solver returned; after an interrupt of one part ``count`` ends all others."""
        self.is_interrupted |= result.status == "interrupted"
        return result

    def _say(self, text: str, end: str = "\n") -> None:
        if self.verbose:
            print(f"[{self.title}] {text:<60}", end=end, file=sys.stderr, flush=True)
