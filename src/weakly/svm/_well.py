"""Support vector machine with unlabeled samples, as a convex mixture of labelings."""

from numbers import Integral

import numpy as np

from weakly._compat import Interval
from weakly.estimators._base import Progress, atomic_fit
from weakly.estimators._calibration import (
    CLASS_PRIOR_CONSTRAINTS,
    class_codes,
    prior_temperature,
    probabilities,
)
from weakly.estimators._docstrings import fill_doc
from weakly.estimators._mixture import LabelMixture
from weakly.solvers._cutting_plane import cut_labels, mixed_coefficients
from weakly.solvers._label_machine import supervised_scores
from weakly.solvers._label_sets import SignSet
from weakly.solvers._range import labeled_costs
from weakly.spaces import FeatureSpace
from weakly.svm._aligned_labels import AlignedLabels
from weakly.svm._primal_labelings import PrimalMixtures
from weakly.svm._primal_mixture import fit_mixture
from weakly.svm._transduction import LabelingClassifier

_SUPERVISED_TOL = 1e-8


@fill_doc
class WellSVC(LabelingClassifier, LabelMixture):
    """Support vector machine whose unlabeled samples get the labels that leave the widest margin.

    Over all ways to label the unlabeled samples with given class proportions, and over mixtures of such
    labelings, it minimizes ::

        ||f||^2 / 2  +  C sum_labeled loss(y_i f_i)  +  C_unlabeled sum_unlabeled loss(y_i f_i)

    Mixtures make the problem convex. Labelings join one at a time, each one that the present solution shows
    to be better than those before it. More than two classes are learned one against the rest. With
    ``kernel="linear"`` samples may be a Dask collection: all work is then sums that any scheduler runs.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a labeled sample.
    %(C_unlabeled)s
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        ``max(1 - y f, 0)^2 / 2`` or ``max(1 - y f, 0)``.
    class_prior : "labeled", array-like of shape (n_classes,), mapping, float or None, default="labeled"
        Class proportions among the unlabeled samples, in sorted order; a number is that of the second of
        two. "labeled" takes those of the labels. ``None`` leaves them free, which ends with one class for
        nearly all samples unless labels are many.
    center : bool, default=True
        Subtract the mean from the samples, or from their images in the space of the kernel.
    offset : float, default=0.0
        Weight of a regularized intercept: its square, divided by this and by the mean squared norm of the
        images, adds to ``||f||^2``. Without one a rare class gets too many samples; with one, say of 1,
        predictions keep to ``class_prior``, which must then be about right, and where features are very many
        labelings are found that the intercept explains instead of the samples.
    %(kernel)s
        With "linear" there is no Gram matrix, and sparse samples stay sparse. For very many documents
        ``loss="hinge"`` with ``oracle="step"`` is the fastest, and ``refine=3`` brings it near to an SVM that
        knows all labels.
    %(gamma_by_distance)s
    %(approximation)s
    %(labelings)s
    refine : int, default=0
        Maximum number of rounds after the mixture. In each, the labeling that fits the scores best takes its
        place, and the SVM is fitted to that one alone; rounds end early where it stays the same. Both steps
        lower the objective of a single labeling. It helps where the mixture is nearly right, as on very many
        documents.
    tol : float, default=3e-3
        Relative gain of the objective at which no further labeling joins.
    %(unlabeled)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    class_prior_ : ndarray of shape (n_classes,) or None
        Class proportions asked for among the unlabeled samples.
    %(lazy_transduction_)s
    predicted_shares_ : ndarray of shape (n_classes,)
        Class proportions in ``transduction_``. Labelings have those asked for, the mixture need not: where
        the two differ much, the data do not fit the proportions.
    %(temperature_)s
    %(features_in_)s
    %(C_unlabeled_)s
    %(kernel_)s
    result_ : SolverResult or list of SolverResult
        Report of the solver: the objective after each labeling, the labelings with their weights, and why it
        stopped; one for each of more than two classes. Labelings of a Dask collection are lazy, and ``x`` is
        then the function, with that of the intercept last.
    n_iter_ : int
        Number of labelings tried, the largest of any class.

    See Also
    --------
    LaplacianSVC : Support vector machine whose scores vary slowly along a graph.

    Notes
    -----
    Algorithm 2 of [wellsvm]_. Departures: samples are centered, the weights of labelings are found by
    accelerated steps, a search goes on from the labeling it found (``oracle="step"`` does not), and
    ``refine`` is new.

    References
    ----------
    %(wellsvm)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from weakly import WellSVC
    >>> X, y = make_blobs(200, centers=[[-2, 0], [2, 0]], random_state=0)
    >>> partial = np.full(200, -1)
    >>> partial[:6] = y[:6]
    >>> bool(np.mean(WellSVC(class_prior=0.5).fit(X, partial).transduction_ == y) > 0.95)
    True
    """

    _parameter_constraints: dict = {
        **LabelMixture._parameter_constraints,
        **LabelingClassifier._parameter_constraints,
        "refine": [Interval(Integral, 0, None, closed="left")],
        "class_prior": CLASS_PRIOR_CONSTRAINTS,
    }

    def __init__(
        self,
        C=1.0,
        *,
        C_unlabeled="auto",
        loss="squared_hinge",
        class_prior="labeled",
        center=True,
        offset=0.0,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        oracle="ascent",
        max_labels=20,
        refine=0,
        tol=3e-3,
        unlabeled="auto",
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.loss = loss
        self.class_prior = class_prior
        self.center = center
        self.offset = offset
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.oracle = oracle
        self.max_labels = max_labels
        self.refine = refine
        self.tol = tol
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.random_state = random_state

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        %(X_or_collection)s
            A Dask collection needs ``kernel="linear"``, ``loss="squared_hinge"`` and ``oracle="ascent"``. It
            is read many times: call ``X.persist()`` first if the cluster holds it.
        %(weighted_labels)s
        """
        progress = Progress(type(self).__name__, self.verbose)
        labels, costs, space, dtype = self._prepare(X, y, sample_weight, progress)
        with progress.stage("labelings"):
            anything = SignSet(labels.labeled, labels.targets()[:, 0], len(costs), 0, len(costs))
            machine = self._machine(space, anything, costs, self.offset)
            columns = [
                self._solve(machine, signs, n_positive, labels.labeled, progress.count)
                for signs, n_positive in zip(labels.targets().T, self._counts(labels), strict=True)
            ]
        self._publish(space, machine, columns, dtype)
        return self

    def _counts(self, labels):
        """Fewest and most positive samples among the unlabeled, of each problem."""
        n_unlabeled = labels.n_unlabeled
        n_columns = 1 if labels.n_classes == 2 else labels.n_classes
        if self.class_prior_ is None:
            return [(0, n_unlabeled)] * n_columns
        # Together they are all rows; rounding goes by the first label of each class, and not by its name.
        order = np.argsort(np.unique(labels.labeled_codes, return_index=True)[1])
        bounds = np.round(np.cumsum(self.class_prior_[order]) * n_unlabeled).astype(int)
        counts = np.empty(labels.n_classes, dtype=int)
        counts[order] = np.diff(bounds, prepend=0)
        return [(count, count) for count in counts[-n_columns:]]

    def _solve(self, machine, signs, n_positive, labeled, callback):
        """Labelings of one class against the rest, from that of an SVM without unlabeled samples."""
        machine.label_set = SignSet(labeled, signs, len(machine.ridge), *n_positive)
        scores = supervised_scores(machine, labeled, signs)
        start = machine.label_set.best(np.ones(len(scores)), scores)
        return self._cut(machine, start, callback, refine=self.refine)

    def _report(self, results):
        self._warn_unfinished(results)
        self.result_ = results[0] if len(results) == 1 else results
        self.n_iter_ = max(result.n_iter for result in results)
        self.temperature_ = prior_temperature(len(self.classes_))

    def _publish(self, space, machine, results, dtype):
        self._report(results)
        coefficients = np.vstack([mixed_coefficients(machine, result.x, result.detail) for result in results])
        theta, self._offset = machine.function(coefficients)
        self._function = space.function(theta.astype(space.dtype))
        decisions = machine.scores(coefficients).T.astype(dtype)
        self.transduction_ = self._labels_of(decisions)
        self.label_distributions_ = probabilities(decisions, self.temperature_)
        codes = class_codes(decisions)
        self.predicted_shares_ = np.bincount(codes, minlength=len(self.classes_)) / len(codes)

    def _check_collection(self):
        """Sums over samples are all there is: they give linear SVMs with a smooth loss."""
        needed = {"kernel": "linear", "loss": "squared_hinge", "oracle": "ascent"}
        given = {name: getattr(self, name) for name in needed}
        if given != needed or self.approximation not in ("auto", None):
            asked = ", ".join(f"{name}={value!r}" for name, value in needed.items())
            had = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise ValueError(
                f"WellSVC takes rows in memory, and Dask collections with {asked} and approximation='auto'; "
                f"it has {had} and approximation={self.approximation!r}. Set these, pass X.compute(), or fit "
                "a TransductiveLinearSVC."
            )

    def _fit_blocks(self, blocks, y, sample_weight=None):
        """The same on a Dask collection."""
        from weakly.distributed import labels_of

        labels, weights = labels_of(y, blocks, self.unlabeled, sample_weight)
        self._meet(labels)
        aligned = AlignedLabels(blocks, labels, labeled_costs(self.C, self.C_unlabeled_, weights))
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("labelings"):
            shift = aligned.shift(self.center, self.offset)
            results = [
                self._solve_primal(aligned, shift, signs, bounds, progress.count)
                for signs, bounds in zip(labels.targets().T, self._counts(labels), strict=True)
            ]
        self._publish_blocks(aligned, *shift, results)
        return self

    def _solve_primal(self, aligned, shift, signs, bounds, callback):
        """The same by sums over samples."""
        supervised = aligned.mixture_problem(shift, signs, 0.0)
        first = PrimalMixtures(supervised, *bounds).alone(supervised.known)
        fit = fit_mixture(supervised, first.labels, first.W, tol=_SUPERVISED_TOL)
        mixtures = PrimalMixtures(aligned.mixture_problem(shift, signs, self.C_unlabeled_), *bounds)
        start = mixtures.nearest(fit)
        settings = {"tol": self.tol, "max_labels": self.max_labels, "refine": self.refine}
        return cut_labels(mixtures, start, callback=callback, **settings)

    def _publish_blocks(self, aligned, mean, constant, results):
        self._report(results)
        vectors = np.column_stack([result.x for result in results])
        coef, self._offset = vectors[:-1], constant * vectors[-1] - mean @ vectors[:-1]
        nowhere = np.zeros(0, dtype=np.intp)
        border = aligned.blocks.spread(nowhere, nowhere, -1)
        self.transduction_ = aligned.transduction(coef, self._offset, border)
        self.label_distributions_ = aligned.distributions(coef, self._offset, self.temperature_)
        self.predicted_shares_ = aligned.frequencies(coef, self._offset)
        space = FeatureSpace(aligned.blocks.take(np.zeros(1, dtype=np.intp)))
        self.kernel_ = self._resolve_kernel(space.features)
        self._function = space.function(coef.astype(space.dtype))
