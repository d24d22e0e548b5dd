"""Transductive support vector machines: with a kernel, and linear for very many samples."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from time import monotonic

import numpy as np
import scipy.sparse as sp

from weakly._compat import Interval, StrOptions
from weakly.estimators._base import Progress, atomic_fit
from weakly.estimators._docstrings import fill_doc
from weakly.rows._arrays import occupied_columns, pick_columns
from weakly.solvers._range import labeled_costs
from weakly.spaces import FeatureSpace, ScoreFunction, exact_space
from weakly.svm._aligned_labels import AlignedLabels
from weakly.svm._branch_and_bound import solve_branch_and_bound
from weakly.svm._summed_transduction import SummedTransduction
from weakly.svm._transduction import TransductiveClassifier, whole_counts

_MOST_DENSE_COLUMNS = 2000  # up to which dense rows are solved by factorisations
OPTIMIZERS = (
    "switching",
    "multi_switch",
    "cccp",
    "gradient",
    "continuation",
    "annealing",
    "newton",
    "branch_and_bound",
)


@fill_doc
class TransductiveSVC(TransductiveClassifier):
    """Support vector machine that also keeps its margin clear of unlabeled samples.

    Over functions, offsets and labels of the unlabeled samples with given class proportions, it minimizes ::

        ||f||^2 / 2  +  C sum_labeled V(y_i (f_i + b))  +  C_unlabeled sum_unlabeled V(y_i (f_i + b))

    with the squared hinge ``V(t) = max(1 - t, 0)^2 / 2``; at best labels an unlabeled sample costs ``V(|f +
    b|)``. The problem has many local minima, and each optimizer is a way past them. All end alike: the SVM is
    fitted to labels that it gives itself, so that ``result_.objective`` compares them on equal terms. More
    than two classes are learned one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a labeled sample.
    %(C_unlabeled)s
    optimizer : str, default="annealing"
        "annealing" gives unlabeled samples both labels, with probabilities that become certain as a
        temperature falls; unless ``C`` is very large it most often finds the lowest objective. "gradient" and
        "newton" descend a smooth loss of unlabeled samples, whose cost is raised in steps. "continuation"
        blurs the objective and follows its minimum as the blur narrows. "cccp" replaces the concave part of
        the loss by its tangent, again and again. "switching" swaps the labels of one pair at a time while
        their cost is raised; "multi_switch" of all pairs that gain. "branch_and_bound" finds the global
        minimum, for a few dozen unlabeled samples.
    %(class_prior_of_unlabeled)s
    %(kernel)s
        For "linear" on very many sparse samples use :class:`TransductiveLinearSVC`.
    %(gamma_by_median)s
    %(approximation)s
    max_nodes : int, default=100000
        Maximum number of nodes of "branch_and_bound", for each class.
    max_seconds : float or None, default=None
        Time after which "branch_and_bound" visits no more nodes, for all classes together; what is left of
        the gap is in ``result_.criterion``.
    tol : float, default=1e-4
        Largest norm of the gradient of the SVM, relative to that of its function or of the pull of the
        samples; with "branch_and_bound" also the largest relative gap.
    %(unlabeled)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(class_prior_of_unlabeled_)s
    %(transductive_)s
    %(temperature_)s
    %(features_in_)s
    %(C_unlabeled_)s
    %(kernel_)s
    result_ : SolverResult
        Report of the solver: in ``objective`` the one above, without any smoothing, at the labels that the
        optimizer found and at the better ones that their SVM led to; with several classes their sum, each
        against the rest and before offsets are shifted.
    n_iter_ : int
        Number of stages of the optimizer, or of nodes; the largest of any class.

    See Also
    --------
    TransductiveLinearSVC : The same for very many sparse samples.
    WellSVC : A convex mixture of labelings instead of one.

    Notes
    -----
    Offsets are shifted where the labels of the training samples would otherwise miss the class proportions,
    and predictions keep the shift. The optimizers are compared in [chapelle2008]_. Departures: the loss is
    the squared hinge throughout, where [joachims1999]_ and [collobert2006]_ have the hinge; "cccp" raises the
    cost of unlabeled samples in steps, as others do; "continuation" blurs the loss itself, where
    [chapelle2006]_ blurs a smooth substitute; "annealing" descends on the function alone, of which the
    probabilities of [annealing2006]_ are a function; and "branch_and_bound" has more ways to rule out
    branches than [chapelle2007]_.

    References
    ----------
    .. [chapelle2008] O. Chapelle, V. Sindhwani, S. S. Keerthi, "Optimization techniques for semi-supervised
       support vector machines", Journal of Machine Learning Research 9, 2008.
    .. [joachims1999] T. Joachims, "Transductive inference for text classification using support vector
       machines", ICML 1999.
    .. [collobert2006] R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale transductive SVMs", Journal
       of Machine Learning Research 7, 2006.
    .. [annealing2006] V. Sindhwani, S. S. Keerthi, O. Chapelle, "Deterministic annealing for semi-supervised
       kernel machines", ICML 2006.
    .. [chapelle2007] O. Chapelle, V. Sindhwani, S. S. Keerthi, "Branch and bound for semi-supervised support
       vector machines", NIPS 19, 2007.
    .. [chapelle2006] O. Chapelle, M. Chi, A. Zien, "A continuation method for semi-supervised SVMs",
       ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from weakly import TransductiveSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> partial = np.full(200, -1)
    >>> partial[:12] = y[:12]
    >>> bool(np.mean(TransductiveSVC().fit(X, partial).transduction_ == y) > 0.95)
    True
    """

    _parameter_constraints: dict = {
        **TransductiveClassifier._parameter_constraints,
        "optimizer": [StrOptions(set(OPTIMIZERS))],
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    }
    _n_grams = 5  # the kernel, the same centred, and three on the way to its eigenvectors

    def __init__(
        self,
        C=1.0,
        *,
        C_unlabeled="auto",
        optimizer="annealing",
        class_prior="labeled",
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        max_nodes=100_000,
        max_seconds=None,
        tol=1e-4,
        unlabeled="auto",
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.optimizer = optimizer
        self.class_prior = class_prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.max_nodes = max_nodes
        self.max_seconds = max_seconds
        self.tol = tol
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.random_state = random_state

    def _space(self, X):
        space = super()._space(X)
        if space.has_gram:
            return space
        if sp.issparse(space.features):
            return exact_space(X, self.kernel_, otherwise="use TransductiveLinearSVC")
        return FeatureSpace(space.features.astype(np.float64), space.feature_map)

    def _solver(self, n_problems):
        if self.optimizer != "branch_and_bound":
            return super()._solver(n_problems)
        time_shares = shares_until(self.max_seconds, n_problems)

        def solve(problem, callback):
            settings = {"tol": self.tol, "max_nodes": self.max_nodes, "callback": callback}
            return solve_branch_and_bound(problem, max_seconds=next(time_shares), **settings)

        return solve

    def _unfinished(self):
        if self.optimizer != "branch_and_bound":
            return super()._unfinished()
        return (
            f"stopped at a relative gap of {self.result_.criterion[-1]:.1e}: raise max_nodes or max_seconds, "
            "or take another optimizer."
        )


def shares_until(seconds, n_problems):
    """Share out time among problems; each gets its part of what those before it have left."""
    deadline = monotonic() + (seconds or 0)
    for n_left in range(n_problems, 0, -1):
        yield None if seconds is None else max(deadline - monotonic(), 0.0) / n_left


@fill_doc
class TransductiveLinearSVC(TransductiveClassifier):
    """Linear support vector machine that keeps its margin clear of unlabeled samples, for very many of them.

    Over weights, offsets and labels of the unlabeled samples with given class proportions, it minimizes ::

        ||w||^2 / 2  +  C sum_labeled V(y_i (x_i w + b))  +  C_unlabeled sum_unlabeled V(y_i (x_i w + b))

    with the squared hinge ``V(t) = max(1 - t, 0)^2 / 2``. Nothing is stored but the samples and a few
    vectors, and all work is passes over their entries. More than two classes are learned one against the
    rest. Samples may be a Dask collection: the passes are then tasks that any scheduler runs.

    Parameters
    ----------
    C : float, default=30.0
        Cost of the loss of a labeled sample.
    C_unlabeled : float or "auto", default="auto"
        Cost of the loss of an unlabeled sample. "auto" is ``C n_labeled / n_unlabeled / 2``, at most ``C``:
        all together then count half as much as the labeled samples.
    optimizer : {"annealing", "multi_switch"}, default="annealing"
        "annealing" gives unlabeled samples both labels, with probabilities that become certain as a
        temperature falls. "multi_switch" swaps the labels of all pairs that gain by it while the cost of
        unlabeled samples is raised; it is faster.
    %(class_prior_of_unlabeled)s
    tol : float, default=1e-3
        Largest norm of the gradient of the SVM, relative to that of its weights or of the pull of the
        samples.
    %(unlabeled)s
    %(verbose)s

    Attributes
    ----------
    %(classes_)s
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Offsets of the decisions.
    %(class_prior_of_unlabeled_)s
    %(lazy_transduction_)s
    %(temperature_)s
    %(features_in_)s
    %(C_unlabeled_)s
    result_ : SolverResult
        Report of the solver: in ``objective`` the one above at the labels that the optimizer found and at the
        better ones that their SVM led to; with several classes their sum, each against the rest and before
        offsets are shifted.
    n_iter_ : int
        Number of stages of the optimizer; the largest of any class.

    See Also
    --------
    TransductiveSVC : The same with kernels, and with more optimizers.
    WellSVC : A convex mixture of labelings instead of one.

    Notes
    -----
    Newton's method for a loss that is a parabola on the samples inside the margin, by conjugate gradients
    over these samples [sindhwani2006]_. Departures: the offset costs nothing, labels are swapped by rank, and
    "annealing" descends on the weights alone.

    References
    ----------
    .. [sindhwani2006] V. Sindhwani, S. S. Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import TransductiveLinearSVC
    >>> from weakly.datasets import make_sparse_text
    >>> text = make_sparse_text(2000, 500, n_per_class=10, random_state=0)
    >>> model = TransductiveLinearSVC().fit(text.X, text.y_partial)
    >>> bool(np.mean(model.transduction_ == text.y) > 0.8)
    True
    """

    _parameter_constraints: dict = {
        **TransductiveClassifier._parameter_constraints,
        "optimizer": [StrOptions({"annealing", "multi_switch"})],
    }
    kernel = "linear"  # for the checks of rows that all estimators share

    def __init__(
        self,
        C=30.0,
        *,
        C_unlabeled="auto",
        optimizer="annealing",
        class_prior="labeled",
        tol=1e-3,
        unlabeled="auto",
        verbose=0,
    ):
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.optimizer = optimizer
        self.class_prior = class_prior
        self.tol = tol
        self.unlabeled = unlabeled
        self.verbose = verbose

    @property
    def coef_(self):
        return self.result_.x.T

    @property
    def intercept_(self):
        return self._offset

    def _unlabeled_cost(self, labels):
        n_labeled = len(labels.labeled)
        if isinstance(self.C_unlabeled, str):
            return self.C * min(1.0, n_labeled / max(labels.n_unlabeled, 1) / 2)
        return float(self.C_unlabeled)

    def _space(self, X):
        if (columns := occupied_columns(X)) is not None:  # every step costs as much as there are weights
            return FeatureSpace(sp.csr_array(X[:, columns]), partial(pick_columns, columns=columns))
        if sp.issparse(X) or min(X.shape) > _MOST_DENSE_COLUMNS:  # few samples span few directions
            return FeatureSpace(sp.csr_array(X))
        return FeatureSpace(X.astype(np.float64))

    def _widen(self):
        """Give features that no sample has their weight, 0."""
        picked, weights = self._function.feature_map, self.result_.x
        if picked is None:
            return self
        coef = np.zeros((self.n_features_in_, weights.shape[1]))
        coef[picked.keywords["columns"]] = weights
        self.result_ = replace(self.result_, x=coef)
        self._function = ScoreFunction(None, coef.astype(self._function.theta.dtype, copy=False))
        return self

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Samples. Those of a Dask collection are read a few times in every step: call ``X.persist()`` first
            if the cluster holds them.
        %(weighted_labels)s
        """
        return self._fit_rows(X, y, sample_weight)._widen()

    def _fit_blocks(self, blocks, y, sample_weight=None):
        """The same on a Dask collection."""
        from weakly.distributed import labels_of

        labels, weights = labels_of(y, blocks, self.unlabeled, sample_weight)
        self._meet(labels)
        first = blocks.take(np.zeros(1, dtype=np.intp))
        is_sparse = sp.issparse(first) or first.shape[1] > _MOST_DENSE_COLUMNS
        costs = labeled_costs(self.C, self.C_unlabeled_, weights)
        aligned = AlignedLabels(blocks, labels, costs, is_sparse)
        mean, counted = aligned.free_mean(), (labels.n_unlabeled, float(costs.sum()))

        def pose(signs, share):
            rows = aligned.problem(mean, signs.signs)
            return SummedTransduction(rows, self.C_unlabeled_, share, signs.least, signs.most, *counted)

        self._search(labels, pose, Progress(type(self).__name__, self.verbose))
        self._publish_blocks(aligned, first)
        return self

    def _publish_blocks(self, aligned, first):
        coef, offset = self.result_.x, self.result_.intercept
        bounds = whole_counts(self.class_prior_, aligned.labels.n_unlabeled)
        prices, border = aligned.balance(coef, offset, *bounds)
        self._offset = offset + prices
        self.label_distributions_ = aligned.distributions(coef, self._offset, self.temperature_)
        self.transduction_ = aligned.transduction(coef, self._offset, border)
        self._function = ScoreFunction(None, coef.astype(first.dtype if sp.issparse(first) else np.float64))
