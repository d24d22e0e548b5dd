"""Support vector machine for bags, as a convex mixture of choices of their key instances."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from weakly._calibration import prior_temperature
from weakly._compat import Interval
from weakly._estimator import ScoredClassifier
from weakly._mixture import LabelMixture, mixed_coefficients
from weakly._progress import Progress
from weakly.kernels import resolve_kernel
from weakly.multi_instance._bags import stack_bags
from weakly.solvers import KeyInstances
from weakly.spaces import KernelSpace, exact_space

_N_FOLDS = 5


class WellMultiInstanceSVC(ScoredClassifier, LabelMixture):
    """Support vector machine for bags of instances, which finds the instances that make a bag positive.

    A bag is positive because of ``n_key_instances`` of its instances; of a negative bag all instances are
    negative. Over all choices of the key instances, and over mixtures of such choices, it minimises ::

        ||f||^2 / 2  +  C positive_weight sum_positive bags loss(mean of f over the key instances)
                     +  C sum_instances of negative bags loss(-f)

    The score of a bag is the largest score of its instances.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of an instance of a negative bag.
    positive_weight : float, default=3.0
        Cost of the loss of a positive bag, as a multiple of ``C``: there are fewer of them than of instances
        of negative bags.
    n_key_instances : int, default=1
        Instances that make a bag positive; all of a bag that has fewer.
    positive_class : label or None, default=None
        The class of bags that have key instances; ``None`` is the second in sorted order.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        ``max(1 - f, 0)^2 / 2`` or ``max(1 - f, 0)``.
    center : bool, default=True
        Take the mean from the images of the instances in the space of the kernel.
    offset : float, default=1.0
        Weight of a constant that is learned beside: its square, divided by this and by the mean squared norm
        of the images, adds to ``||f||^2``. 0 is none.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows.
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between instances, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    early_stopping : bool, default=True
        Let a further choice of key instances join only as long as the accuracy on held-out bags grows. False
        goes on until none is better, as in [wellsvm]_; that fits training bags better, and new ones worse.
    oracle : {"ascent", "step", "restarts"}, default="ascent"
        How a better choice is looked for: by steps as long as they gain, by one step, or by steps from
        several starts, which comes nearest to the optimum.
    max_labels : int, default=20
        Most choices in the mixture.
    tol : float, default=1e-3
        Relative gain of the objective at which no further choice joins.
    verbose : int, default=0
        1 shows stages and choices.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    positive_class_ : label
        The class of bags that have key instances.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: the objective after each choice, the choices with their weights (an entry per
        instance, -1 in negative bags), and why it stopped.
    n_iter_ : int
        Choices tried.
    temperature_ : float
        Factor between decisions and the logits of the probabilities.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.

    See Also
    --------
    WellSVC : The same for rows, some of which have labels.

    Notes
    -----
    Algorithm 3 of [wellsvm]_, from the choice that a machine makes which takes the means of positive bags for
    their key instances. Departures: an offset, early stopping, accelerated weights, and a search for choices
    that goes on from the one it found.

    References
    ----------
    .. [wellsvm] Y.-F. Li, I. W. Tsang, J. T. Kwok, Z.-H. Zhou, "Convex and scalable weakly labeled SVMs",
       Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> from weakly import WellMultiInstanceSVC
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> model = WellMultiInstanceSVC(kernel="linear").fit((data.X, data.bags), data.bag_y)
    >>> found = model.key_instances((data.X, data.bags))[data.bag_y == 1]
    >>> bool((found == data.key_instances).mean() > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **LabelMixture._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "positive_weight": [Interval(Real, 0, None, closed="neither")],
        "n_key_instances": [Interval(Integral, 1, None, closed="left")],
        "positive_class": "no_validation",
        "early_stopping": ["boolean"],
    }
    _smaller = "use fewer instances"

    def __init__(
        self,
        C=1.0,
        *,
        positive_weight=3.0,
        n_key_instances=1,
        positive_class=None,
        loss="squared_hinge",
        center=True,
        offset=1.0,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        early_stopping=True,
        oracle="ascent",
        max_labels=20,
        tol=1e-3,
        verbose=0,
    ):
        self.C = C
        self.positive_weight = positive_weight
        self.n_key_instances = n_key_instances
        self.positive_class = positive_class
        self.loss = loss
        self.center = center
        self.offset = offset
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.early_stopping = early_stopping
        self.oracle = oracle
        self.max_labels = max_labels
        self.tol = tol
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y):
        """Fit on bags with known labels.

        Parameters
        ----------
        X : list of matrices, pair (matrix, ids) or matrix
            Bags: each a matrix of instances by features, dense or sparse; or all instances with the id of the
            bag of each; or a matrix whose rows are bags of one instance.
        y : array-like of shape (n_bags,)
            Labels of the bags, in the order of the list, or of the sorted ids.

        Returns
        -------
        self
            The fitted estimator.
        """
        bags, is_positive = self._check_bags(X, y)
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("kernel"):
            rows = bags.rows
            self.kernel_ = resolve_kernel(
                self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            space = exact_space(rows, self.kernel_, self._smaller)
        if self.early_stopping:
            with progress.stage("held-out bags"):
                n_choices = self._n_choices(space.gram, bags.bag_of, is_positive)
        else:
            n_choices = self.max_labels
        with progress.stage("key instances"):
            machine = self._machine(space, *self._problem(bags.bag_of, is_positive), self.offset)
            result = self._choose(machine, n_choices, progress.count)
        self._publish(space, machine, result, n_choices)
        return self

    def _publish(self, space, machine, result, n_choices):
        if n_choices < self.max_labels and len(result.labels) == n_choices and result.status == "max_iter":
            result = replace(result, status="stopped")  # as the held-out bags asked for
        self._warn_unfinished([result])
        self._mix(space, machine, [result])
        self.result_, self.n_iter_ = result, result.n_iter
        self.temperature_ = prior_temperature(2)

    def _check_bags(self, X, y):
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        bags = stack_bags(X)
        bags = bags._replace(rows=self._check_features(bags.rows))
        y = column_or_1d(y, warn=True)
        if len(y) != bags.n_bags:
            raise ValueError(
                f"X holds {bags.n_bags} bags and y {len(y)} labels: give one label per bag, and bags of more "
                "than one instance as a list of matrices or as (rows, ids)."
            )
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            # scikit-learn's own words
            raise ValueError(
                f"Only binary classification is supported: y holds {len(self.classes_)} class"
                + ("es." if len(self.classes_) > 2 else ".")
            )
        positive = 1
        if self.positive_class is not None:
            if self.positive_class not in self.classes_:
                raise ValueError(f"positive_class={self.positive_class!r} is not in y: {self.classes_}.")
            positive = int(np.flatnonzero(self.classes_ == self.positive_class)[0])
        self.positive_class_ = self.classes_[positive]
        return bags, codes == positive

    def _problem(self, bag_of, is_positive):
        """Key instances of bags, and the costs: a line for each positive bag and each other row."""
        positive_rows = is_positive[bag_of]
        _, owner = np.unique(
            np.where(positive_rows, bag_of, len(is_positive) + np.arange(len(bag_of))), return_inverse=True
        )
        signs = np.where(np.arange(owner.max() + 1) < len(np.unique(bag_of[positive_rows])), 1.0, -1.0)
        costs = self.C * np.where(signs > 0, self.positive_weight, 1.0)
        return KeyInstances(owner, signs, self.n_key_instances), costs

    def _choose(self, machine, n_choices, callback=None):
        """Choices of key instances, from that of a machine for the means of positive bags."""
        keys = machine.label_set
        means = (keys.signs / np.where(keys.signs > 0, np.bincount(keys.owner), 1))[keys.owner]
        dual, _, _ = machine.solve(means[None], np.ones(1), np.zeros(len(keys.signs)))
        scores = machine.scores(keys.coefficients(dual, means[None]))[0]
        return self._cut(machine, keys.best(dual, scores), callback, n_choices)

    def _n_choices(self, gram, bag_of, is_positive):
        """How many choices are best for held-out bags: one more as long as more of them come out right."""
        n_folds = min(_N_FOLDS, is_positive.sum(), (~is_positive).sum())
        if n_folds < 2 or self.max_labels == 1:
            return 1
        folds = list(StratifiedKFold(n_folds).split(is_positive, is_positive))
        most_right = -1
        for n_choices in range(1, self.max_labels + 1):
            n_right = sum(
                self._n_right(gram, bag_of, is_positive, kept, held_out, n_choices)
                for kept, held_out in folds
            )
            if n_right <= most_right:
                return n_choices - 1
            most_right = n_right
        return self.max_labels

    def _n_right(self, gram, bag_of, is_positive, kept, held_out, n_choices):
        inside, outside = (np.flatnonzero(np.isin(bag_of, part)) for part in (kept, held_out))
        machine = self._machine(
            KernelSpace(gram[np.ix_(inside, inside)]),
            *self._problem(bag_of[inside], is_positive),
            self.offset,
        )
        coefficients = mixed_coefficients(machine, self._choose(machine, n_choices))[None]
        theta, constant = machine.function(coefficients)
        scores = np.full(len(gram), -np.inf)
        scores[outside] = (gram[np.ix_(outside, inside)] @ theta + constant)[:, 0]
        largest = np.full(len(is_positive), -np.inf)
        np.maximum.at(largest, bag_of, scores)
        return np.count_nonzero((largest[held_out] > 0) == is_positive[held_out])

    def instance_decision_function(self, X):
        """Score instances: positive for those that make their bag positive.

        Parameters
        ----------
        X : list of matrices, pair (matrix, ids) or matrix
            Bags, or instances.

        Returns
        -------
        list of ndarray, or ndarray of shape (n_instances,)
            Scores; a list for a list.
        """
        bags, scores = self._instances(X)
        return bags.per_row(scores)

    def key_instances(self, X):
        """Find the instance of each bag that most makes it positive.

        Parameters
        ----------
        X : list of matrices, pair (matrix, ids) or matrix
            Bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            Place of the instance in its bag for a list, else its row.
        """
        bags, scores = self._instances(X)
        rows = bags.largest(scores)
        return rows - bags.starts if bags.is_list else rows

    def _instances(self, X):
        bags = stack_bags(X)
        return bags, super()._decisions(bags.rows)[:, 0]

    def _decisions(self, X):
        bags, scores = self._instances(X)
        largest = scores[bags.largest(scores)][:, None]
        return largest if self.positive_class_ == self.classes_[1] else -largest
