"""Support vector machine on probabilities of classes that a graph gives to every row."""

from functools import cached_property
from numbers import Real

import numpy as np
from sklearn.neighbors import NearestNeighbors

from weakly._compat import Interval, StrOptions, check_sample_weight, openmp_after_fork
from weakly.estimators._base import GraphEstimator, Progress, atomic_fit
from weakly.estimators._calibration import CLASS_PRIOR_CONSTRAINTS, lazy_on_collections, prior_of
from weakly.estimators._docstrings import fill_doc
from weakly.graphs import AnchorGraph
from weakly.rows._arrays import to_host
from weakly.rows._device import follow
from weakly.rows._labels import encode_labels
from weakly.solvers import solve_label_walk
from weakly.solvers._range import build_in_range
from weakly.spaces import FeatureSpace
from weakly.svm._anchor_walks import BlockWalkMixin, class_ratios, hardened, if_known, scale_rows
from weakly.svm._weston_watkins import PairwiseClassifier


@fill_doc
class ProbabilisticLabelSVC(BlockWalkMixin, PairwiseClassifier, GraphEstimator):
    """Support vector machine trained on label probabilities of all samples.

    A walk on a graph of neighbors gives every sample probabilities ``F_ip`` of the classes, and one of being
    like no labeled sample, its novelty. The functions ``f_p`` of the classes then minimize ::

        sum_p ||f_p||^2 / 2  +  C sum_i sum_p F_ip sum_{q != p} max(1 - (f_p(x_i) - f_q(x_i)), 0)

    so that samples count by how sure they are, and novel ones hardly at all.

    Parameters
    ----------
    C : float, default=10.0
        Cost of the loss of a sample whose class is sure.
    alpha_labeled : float, default=0.0
        Probability, below 1, that a walk goes on from a labeled sample. With 0 labels stand as they are; with
        0.5, say, one among many of another class is overruled.
    alpha_unlabeled : float, default=0.99
        Probability, below 1, that a walk goes on from an unlabeled sample. The lower, the more of the samples
        far from all labels are taken for novel, and the nearer to the labels the SVM looks.
    class_prior : "labeled", array-like of shape (n_classes,), mapping, float or None, default="labeled"
        Class proportions, in sorted order, that probabilities are scaled to; a number is the proportion of
        the second of two. "labeled" takes those of the labels, ``None`` leaves the probabilities as the walk
        gives them, in which a class whose labels lie well takes samples from the others.
    harden : bool or "auto", default="auto"
        Count a sample for its most probable class only, with all that is not novel. "auto" does so with more
        than two classes, where the loss is at odds with probabilities that are all below a half.
    %(kernel)s
        With "linear" passes over the entries of the samples do all the work, without a Gram matrix, unless
        samples are dense and fewer than features.
    %(gamma_by_distance)s
    %(approximation_or_anchors)s
    %(n_components_or_anchors)s
    %(device)s
        The SVM is trained by NumPy in any case.
    %(graph)s
    novelty_threshold : float or None, default=None
        Novelty, from 0 to 1, above which ``predict`` answers ``novel_label``; ``None`` is never. For a new
        sample it is found by one step of the walk, to its neighbors among the training samples, or to its
        anchors.
    novel_label : label or "auto", default="auto"
        What ``predict`` calls novel samples; "auto" is -1 for integers, "novel" for strings, ``NaN`` for
        floats.
    tol : float, default=1e-2
        Largest duality gap relative to the objective.
    max_iter : int, default=10000
        Maximum number of passes over the samples.
    %(unlabeled)s
    %(verbose)s
    %(random_state_of_graph)s

    Attributes
    ----------
    %(classes_)s
    class_prior_ : ndarray of shape (n_classes,) or None
        Class proportions that probabilities were scaled to.
    novelty_ : ndarray of shape (n_samples,)
        Probability that a walk from the sample ends at no label.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities if the sample is not novel, as the walk gives them, scaled by ``class_prior``;
        the proportions of the labels where no label is in reach.
    %(transduction_)s
    %(temperature_)s
    %(features_in_)s
    %(kernel_)s
    graph_ : Graph or AnchorGraph
        Graph over the training samples.
    %(result_)s

    See Also
    --------
    WestonWatkinsSVC : The same SVM on labeled samples.
    WellSVC : Labels of the unlabeled samples by their margin instead of a graph.

    Notes
    -----
    The method of [plsvm]_ with two changes, which ``class_prior=None, harden=False`` undoes. On a graph of
    anchors the walk is solved in closed form, and with ``approximation="auto"`` the functions are those of
    the values at the anchors, as in :class:`LaplacianSVC`, whatever the kernel; on a Dask collection
    ``max_iter`` counts cutting planes.

    References
    ----------
    .. [plsvm] M. Qian, F. Nie, C. Zhang, "Probabilistic labeled semi-supervised SVM", IEEE International
       Conference on Data Mining Workshops, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from weakly import ProbabilisticLabelSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> partial = np.full(200, -1)
    >>> partial[:10] = y[:10]
    >>> bool(np.mean(ProbabilisticLabelSVC().fit(X, partial).transduction_ == y) > 0.95)
    True
    """

    _of_training = ("novelty_",)
    _parameter_constraints: dict = {
        **GraphEstimator._parameter_constraints,
        **PairwiseClassifier._parameter_constraints,
        "alpha_labeled": [Interval(Real, 0, 1, closed="left")],
        "alpha_unlabeled": [Interval(Real, 0, 1, closed="left")],
        "class_prior": CLASS_PRIOR_CONSTRAINTS,
        "harden": ["boolean", StrOptions({"auto"})],
        "novelty_threshold": [Interval(Real, 0, 1, closed="both"), None],
        "novel_label": "no_validation",
    }

    def __init__(
        self,
        C=10.0,
        *,
        alpha_labeled=0.0,
        alpha_unlabeled=0.99,
        class_prior="labeled",
        harden="auto",
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        device=None,
        graph="knn",
        n_neighbors=5,
        graph_weights="self-tuning",
        novelty_threshold=None,
        novel_label="auto",
        tol=1e-2,
        max_iter=10_000,
        unlabeled="auto",
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.alpha_labeled = alpha_labeled
        self.alpha_unlabeled = alpha_unlabeled
        self.class_prior = class_prior
        self.harden = harden
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.device = device
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.novelty_threshold = novelty_threshold
        self.novel_label = novel_label
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.random_state = random_state

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        %(X_or_collection)s
            A Dask collection needs ``graph="anchor"``; ``transduction_``, ``label_distributions_`` and
            ``novelty_`` are then lazy arrays with its chunks, ``kernel_`` is ``None``, and the workers keep a
            few numbers for each sample while the SVM is trained.
        %(y_or_collection)s
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Factor of the cost of each sample, labeled or not. 0 makes a sample unlabeled, and leaves it to
            the graph alone.

        %(fitted)s
        """
        y = to_host(y)
        X = self._check_rows(X, y)
        weights = check_sample_weight(to_host(sample_weight), X)
        labels = encode_labels(y, unlabeled=self.unlabeled, weights=weights)
        self.class_prior_ = prior_of(self.class_prior, labels)
        self.classes_ = labels.classes
        self._novel_label = self._name_novelty()
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("graph"):
            self.graph_ = self._build_graph(X)
        self._warn_of_unreached(labels.labeled)
        with progress.stage("probabilities"):
            F = self._probabilities(labels)
        with progress.stage("space"):
            space = build_in_range(lambda: self._space(X), X.dtype)
        self._near = self._index(X, labels)
        costs = self.C * weights[:, None] * self._teach(F)
        decisions = self._solve_pairs(space, costs, progress)
        self.transduction_ = self._named(decisions, self.novelty_)
        return self

    def _space(self, X):
        """Functions of the anchors' values, where rows are joined by anchors; else those of the kernel."""
        if self._is_anchored() and self.approximation == "auto":
            self.kernel_ = self._resolve_kernel(X)
            return FeatureSpace(self.graph_.weights, self.graph_.feature_map)
        return super()._space(X)

    def _is_anchored(self):
        return isinstance(self.graph_, AnchorGraph) and self.kernel != "precomputed"

    @lazy_on_collections
    def predict(self, X):
        """Predict the class of samples.

        Parameters
        ----------
        %(of_each_sample)s
            Labels, and ``novel_label`` for samples whose novelty is above the threshold, if there is one.
        """
        decisions = self._decisions(X)
        novelty = None if self._near is None else self._near(self._check_new(X))
        return follow(self._named(decisions, novelty), X)

    def _probabilities(self, labels):
        """The walk, and what is published of it."""
        walk = solve_label_walk(
            self.graph_,
            labels.codes,
            labels.n_classes,
            alpha_labeled=self.alpha_labeled,
            alpha_unlabeled=self.alpha_unlabeled,
            device=self._device,
        )
        F, self.novelty_ = walk.x[:, :-1], walk.x[:, -1]
        if self.class_prior_ is not None:
            F = scale_rows(F, class_ratios(self.class_prior_, F.sum(axis=0)))
        self.label_distributions_ = if_known(F, labels.frequencies)
        return F

    def _teach(self, F):
        """What each row counts for each class."""
        return hardened(F) if self._hardens(F.shape[1]) else F

    def _hardens(self, n_classes):
        return n_classes > 2 if self.harden == "auto" else bool(self.harden)

    def _name_novelty(self):
        """The label of novel rows."""
        label = self.novel_label
        if isinstance(label, str) and label == "auto":
            label = {"i": -1, "u": -1, "f": np.nan}.get(self.classes_.dtype.kind, "novel")
        if self.novelty_threshold is not None and label in self.classes_.tolist():
            raise ValueError(f"novel_label is {label!r}, which is a class: use another.")
        return label

    def _named(self, decisions, novelty):
        labels = self._labels_of(decisions)
        if self.novelty_threshold is None:
            return labels
        names = np.array([self._novel_label])
        if names.dtype.kind != labels.dtype.kind:
            labels, names = labels.astype(object), names.astype(object)
        return np.where(novelty > self.novelty_threshold, names, labels)

    def _index(self, X, labels):
        """Novelty of new rows, where it is asked for: one step of the walk, to the nearest training rows."""
        if self.novelty_threshold is None:
            return None
        if self._is_anchored():
            return self._walk_anchors(self.graph_.weights[labels.labeled], labels)
        is_kernel = self.kernel == "precomputed"
        rows = np.diagonal(X).copy() if is_kernel else X.copy()  # the caller's array may change
        return NoveltyNearby(rows, self.novelty_, self.alpha_unlabeled, self.n_neighbors, is_kernel)


class NoveltyNearby:
    """Novelty of new rows from that of the training rows nearest to them."""

    def __init__(self, rows, novelty, alpha, n_neighbors, is_kernel):
        self._rows, self._novelty, self._alpha, self._is_kernel = rows, novelty, alpha, is_kernel
        self._n_neighbors = min(n_neighbors, len(novelty))

    @cached_property
    def _index(self):
        return NearestNeighbors(n_neighbors=self._n_neighbors).fit(self._rows)

    def __getstate__(self):
        # The index is rebuilt on demand: it does not travel.
        return {name: value for name, value in vars(self).items() if name != "_index"}

    def __call__(self, X):
        """Novelty of rows, or of lines of a kernel with the training rows."""
        if self._is_kernel:  # nearest is where k(x, x) - 2 k(x, z) + k(z, z) is least
            order = np.argpartition(self._rows - 2 * X, self._n_neighbors - 1, axis=1)
            nearest = order[:, : self._n_neighbors]
        else:
            with openmp_after_fork():
                nearest = self._index.kneighbors(X, return_distance=False)
        return 1 - self._alpha * (1 - self._novelty[nearest].mean(axis=1))
