"""MI-SVM and mi-SVM: the margin of bags, and the margin of instances with unknown labels."""

from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._kernel_base import KernelBagClassifier
from weakly.multi_instance._key_margin import solve_bag_margin, solve_instance_margin


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
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        %(gamma)s
    %(polynomial)s
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
    %(temperature_)s
    %(features_in_)s

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
    gamma : float or {"median", "scale", "mean-distance"}, default="median"
        %(gamma)s
    %(polynomial)s
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
    %(temperature_)s
    %(features_in_)s

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
