"""Transductive support vector machine with a kernel, by any of its optimisers."""

from numbers import Integral, Real
from time import monotonic

import numpy as np
import scipy.sparse as sp

from weakly._compat import Interval, StrOptions
from weakly.spaces import FeatureSpace, exact_space
from weakly.svm._branch_and_bound import solve_branch_and_bound
from weakly.svm._transduction import TransductiveClassifier

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


class TransductiveSVC(TransductiveClassifier):
    """Support vector machine that also keeps its margin clear of unlabelled rows.

    Over functions, offsets and labels of the unlabelled rows with given class shares, it minimises ::

        ||f||^2 / 2  +  C sum_labelled V(y_i (f_i + b))  +  C_unlabeled sum_unlabelled V(y_i (f_i + b))

    with the squared hinge ``V(t) = max(1 - t, 0)^2 / 2``; at best labels an unlabelled row costs
    ``V(|f + b|)``. The problem has many local minima, and each optimiser is a way past them. All end alike:
    the machine is fitted to labels that it gives itself, so that ``result_.objective`` compares them on
    equal terms. More than two classes are learned one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a labelled row.
    C_unlabeled : float or "auto", default="auto"
        Cost of the loss of an unlabelled row. "auto" is ``C sqrt(n_labeled / n_unlabeled) / 2``, at most
        ``C``: the more rows there are, the less each should count, or they overrule the labels.
    optimizer : str, default="annealing"
        "annealing" gives unlabelled rows both labels, with probabilities that become certain as a temperature
        falls; unless ``C`` is very large it most often finds the lowest objective. "gradient" and "newton"
        descend a smooth loss of unlabelled rows, whose cost is raised in steps. "continuation" blurs the
        objective and follows its minimum as the blur narrows. "cccp" replaces the concave part of the loss by
        its tangent, again and again. "switching" swaps the labels of one pair at a time while their cost is
        raised; "multi_switch" of all pairs that gain. "branch_and_bound" finds the global minimum, for a few
        dozen unlabelled rows.
    class_prior : "labeled", array-like of shape (n_classes,), mapping or float, default="labeled"
        Class proportions among the unlabeled samples, in sorted order; a number is that of the second of
        two. "labeled" takes those of the labels, shrunk towards uniform as far as few labels leave it open.
        The labels in ``transduction_`` match them up to rounding.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows. For "linear" on very many
        sparse rows use :class:`TransductiveLinearSVC`.
    gamma : float or {"median", "scale", "mean-distance"}, default="median"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between rows, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
    n_components : int, default=1000
        Features of an approximation.
    max_nodes : int, default=100000
        Most nodes of "branch_and_bound", for each class.
    max_seconds : float or None, default=None
        Time after which "branch_and_bound" visits no more nodes, for all classes together; what is left of
        the gap is in ``result_.criterion``.
    tol : float, default=1e-4
        Largest norm of the gradient of the machine, relative to that of its function or of the pull of the
        rows; with "branch_and_bound" also the largest relative gap.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    verbose : int, default=0
        1 shows stages.
    random_state : int, RandomState or None, default=None
        Draws landmarks and frequencies.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares that unlabelled rows were given.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of all training rows.
    temperature_ : float
        Factor between decisions and the logits of the probabilities.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    C_unlabeled_ : float
        Cost of the loss of an unlabelled row.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: in ``objective`` the one above, without any smoothing, at the labels that the
        optimiser found and at the better ones that their machine led to; with several classes their sum,
        each against the rest and before offsets are shifted.
    n_iter_ : int
        Stages of the optimiser, or nodes; the most of any class.

    See Also
    --------
    TransductiveLinearSVC : The same for very many sparse rows.
    WellSVC : A convex mixture of labelings instead of one.

    Notes
    -----
    Offsets are shifted where the labels of the training rows would otherwise miss the shares, and predictions
    keep the shift. The optimisers are compared in [chapelle2008]_. Departures: the loss is the squared hinge
    throughout, where [joachims1999]_ and [collobert2006]_ have the hinge; "cccp" raises the cost of
    unlabelled rows in steps, as others do; "continuation" blurs the loss itself, where [chapelle2006]_ blurs
    a smooth substitute; "annealing" descends on the function alone, of which the probabilities of
    [annealing2006]_ are a function; and "branch_and_bound" has more ways to rule out branches than
    [chapelle2007]_.

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
