"""Support vector machines for bags: by their best instances, by all of them, and by a kernel between sets."""

import numpy as np

from weakly._compat import StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._kernel_base import KernelBagClassifier
from weakly.multi_instance._key_margin import solve_bag_margin, solve_instance_margin
from weakly.solvers import solve_hinge_dual

_BLOCK = 128  # rows whose kernel with each other is computed for its diagonal


class _MarginSVC(KernelBagClassifier):
    """Turns between a machine and a choice of instances."""

    _solve = None

    def _fit_column(self, space, bags, is_positive, progress):
        with progress.stage("machines"):
            result = type(self)._solve(
                space.gram,
                bags.bag_of,
                is_positive,
                self._bag_costs(is_positive),
                tol=self.tol,
                max_iter=self.max_iter,
                callback=progress.count,
            )
        return progress.watch(result), result.x, result.intercept


@fill_doc
class BagMarginSVC(_MarginSVC):
    """Support vector machine that puts a margin between bags, each seen by its best instance: MI-SVM.

    It minimizes, over functions ``f`` with an intercept, ::

        ||f||^2 / 2  +  C sum_bags w_B max(1 - Y_B max_{x in B} f(x), 0)

    by alternation: positive bags are represented by the instance with the largest score, an SVM is fitted,
    and the representatives are chosen again. Of a negative bag, its worst instance counts.

    Parameters
    ----------
    C : float, default=10.0
        Cost of the loss of a bag.
    positive_weight : float, default=1.0
        Cost of the loss of a positive bag, as a multiple of ``C``.
    %(positive_class)s
    %(kernel_of_instances)s
    %(gamma_by_distance)s
    %(turns)s
    %(verbose)s

    Attributes
    ----------
    %(bag_classes_)s
    %(kernel_)s
    result_ : SolverResult or list of SolverResult
        Report of the solver: the objective after each SVM, and in ``detail.labels`` 1 for the representatives
        of positive bags and -1 in negative bags; one for each of more than two classes.
    n_iter_ : int
        Number of SVMs fitted.

    See Also
    --------
    InstanceMarginSVC : Labels for all instances.
    WellMultiInstanceSVC : A convex mixture of choices.

    Notes
    -----
    Section 4 of [andrews2003]_. Turns end in a local optimum that depends on the start, the means of bags.

    References
    ----------
    %(andrews2003)s

    Examples
    --------
    >>> from weakly import Bags, BagMarginSVC
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = BagMarginSVC(kernel="linear").fit(bags[:40], data.bag_y[:40])
    >>> bool(model.score(bags[40:], data.bag_y[40:]) >= 0.9)
    True
    """

    _solve = staticmethod(solve_bag_margin)

    def __init__(
        self,
        C=10.0,
        *,
        positive_weight=1.0,
        positive_class=None,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        max_iter=100,
        tol=1e-3,
        verbose=0,
    ):
        self.C = C
        self.positive_weight = positive_weight
        self.positive_class = positive_class
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose


@fill_doc
class InstanceMarginSVC(_MarginSVC):
    """Support vector machine for instances, whose labels are unknown in positive bags: mi-SVM.

    It minimizes, over functions ``f`` with an intercept and over labels ``y`` of instances, ::

        ||f||^2 / 2  +  C sum_instances w_x max(1 - y_x f(x), 0)

    where instances of negative bags are negative, and each positive bag has a positive instance at least. It
    alternates: an SVM is fitted, and instances of positive bags get the sign of their scores.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of an instance.
    positive_weight : float, default=1.0
        Cost of the loss of an instance of a positive bag, as a multiple of ``C``.
    %(positive_class)s
    %(kernel_of_instances)s
    %(gamma_by_median)s
    %(turns)s
    %(verbose)s

    Attributes
    ----------
    %(bag_classes_)s
    %(kernel_)s
    result_ : SolverResult or list of SolverResult
        Report of the solver: the objective after each SVM, and in ``detail.labels`` the signs of the
        instances; one for each of more than two classes.
    n_iter_ : int
        Number of SVMs fitted.

    See Also
    --------
    BagMarginSVC : One representative of each positive bag.

    Notes
    -----
    Section 3 of [andrews2003]_. Turns end in a local optimum that depends on the start, where all instances
    of positive bags are positive.

    References
    ----------
    %(andrews2003)s

    Examples
    --------
    >>> from weakly import Bags, InstanceMarginSVC
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = InstanceMarginSVC().fit(bags[:40], data.bag_y[:40])
    >>> bool(model.score(bags[40:], data.bag_y[40:]) >= 0.9)
    True
    """

    _solve = staticmethod(solve_instance_margin)

    def __init__(
        self,
        C=1.0,
        *,
        positive_weight=1.0,
        positive_class=None,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        max_iter=100,
        tol=1e-3,
        verbose=0,
    ):
        self.C = C
        self.positive_weight = positive_weight
        self.positive_class = positive_class
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose


@fill_doc
class MultiInstanceKernelSVC(KernelBagClassifier):
    """Support vector machine with a kernel between bags: the sum over their instances, normalized.

    Parameters
    ----------
    C : float, default=10.0
        Cost of the loss of a bag, for a kernel between bags whose mean diagonal is 1.
    positive_weight : float, default=1.0
        Cost of the loss of a positive bag, as a multiple of ``C``.
    normalization : {"mean", "feature"}, default="mean"
        "mean" divides the sum by the sizes of both bags, so that a bag is the mean of its instances in the
        space of the kernel, and its score the mean of theirs; "feature" gives bags length 1 in that space.
    %(positive_class)s
    %(kernel_of_instances)s
        "precomputed" needs ``normalization="mean"``.
    %(gamma_by_distance)s
    max_iter : int, default=1000000
        Maximum number of steps of the solver.
    tol : float, default=1e-3
        Tolerance of the SVM, in units of the scores.
    %(verbose)s

    Attributes
    ----------
    %(bag_classes_)s
    %(kernel_)s
    result_ : SolverResult or list of SolverResult
        Report of the solver, with coefficients of bags; one for each of more than two classes.
    n_iter_ : int
        Number of steps of the solver.

    See Also
    --------
    BagMarginSVC : Bags seen by their best instance.

    Notes
    -----
    The normalized set kernel of [gaertner2002]_. Nothing here looks for key instances: an instance scores
    what a bag of it alone would.

    References
    ----------
    .. [gaertner2002] T. Gaertner, P. A. Flach, A. Kowalczyk, A. J. Smola, "Multi-instance kernels",
       Proceedings of the 19th International Conference on Machine Learning, 2002.

    Examples
    --------
    >>> from weakly import Bags, MultiInstanceKernelSVC
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(100, bag_sizes=(2, 4), random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = MultiInstanceKernelSVC().fit(bags[:60], data.bag_y[:60])
    >>> bool(model.score(bags[60:], data.bag_y[60:]) >= 0.9)
    True
    """

    _parameter_constraints: dict = {
        **KernelBagClassifier._parameter_constraints,
        "normalization": [StrOptions({"mean", "feature"})],
    }

    def __init__(
        self,
        C=10.0,
        *,
        positive_weight=1.0,
        normalization="mean",
        positive_class=None,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        max_iter=1_000_000,
        tol=1e-3,
        verbose=0,
    ):
        self.C = C
        self.positive_weight = positive_weight
        self.normalization = normalization
        self.positive_class = positive_class
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    _rounds = "steps"
    _is_centered = False  # lengths of bags are measured from 0

    def _ground(self, space, bags):
        """Kernel between bags, and the factors of their instances in it."""
        if self.normalization == "feature" and self.kernel == "precomputed":
            raise ValueError(
                'normalization="feature" needs the kernel between instances of new bags, which '
                'kernel="precomputed" does not have: set normalization="mean".'
            )
        starts = bags.offsets[:-1]
        sums = np.add.reduceat(np.add.reduceat(space.gram, starts, axis=0), starts, axis=1)
        lengths = bags.sizes if self.normalization == "mean" else _roots(sums.diagonal())
        gram = sums / np.outer(lengths, lengths)
        scale = gram.diagonal().mean() or 1.0  # so that C means the same for every width
        return gram / scale, 1 / (lengths * scale)

    def _fit_column(self, ground, bags, is_positive, progress):
        gram, factors = ground
        signs = np.where(is_positive, 1.0, -1.0)[:, None]
        with progress.stage("machine"):
            result = solve_hinge_dual(
                gram,
                np.zeros_like(signs),
                signs,
                self._bag_costs(is_positive),
                tol=self.tol,
                max_iter=self.max_iter,
            )
        return result, (result.x[:, 0] * factors)[bags.bag_of], result.intercept[0]

    def _score_bags(self, bags):
        sums = np.add.reduceat(self._values(bags.rows), bags.offsets[:-1], axis=0)
        lengths = bags.sizes if self.normalization == "mean" else _lengths(self.kernel_, bags)
        return (sums / lengths[:, None] + self._offset).astype(bags.rows.dtype)

    def _score_instances(self, rows):
        scores = self._values(rows)
        if self.normalization == "feature":
            scores = scores / _row_lengths(self.kernel_, rows)[:, None]
        return (scores + self._offset).astype(rows.dtype)


def _roots(squares):
    """Lengths from squared ones; what has none keeps its zeros."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares, 0)), 1.0)


def _lengths(kernel, bags):
    """Length of the sum of each bag in the space of the kernel."""
    return _roots(np.array([kernel(bag).sum(dtype=np.float64) for bag in bags]))


def _row_lengths(kernel, rows):
    blocks = range(0, rows.shape[0], _BLOCK)
    return _roots(np.concatenate([kernel(rows[start : start + _BLOCK]).diagonal() for start in blocks]))
