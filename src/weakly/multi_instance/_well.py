"""Support vector machine for bags, as a convex mixture of choices of their key instances."""

from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedKFold

from weakly._compat import Interval
from weakly.estimators._docstrings import fill_doc
from weakly.estimators._mixture import LabelMixture
from weakly.multi_instance._kernel_base import KernelBagClassifier
from weakly.solvers._cutting_plane import mixed_coefficients
from weakly.solvers._label_sets import KeyInstances
from weakly.spaces import KernelSpace

_N_FOLDS = 5


@fill_doc
class WellMultiInstanceSVC(KernelBagClassifier, LabelMixture):
    """Support vector machine for bags of instances, which finds the instances that make a bag positive.

    A bag is positive because of ``n_key_instances`` of its instances; of a negative bag all instances are
    negative. Over all choices of the key instances, and over mixtures of such choices, it minimizes ::

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
        Number of instances that make a bag positive; all of a bag that has fewer.
    %(positive_class)s
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        ``max(1 - f, 0)^2 / 2`` or ``max(1 - f, 0)``.
    center : bool, default=True
        Subtract the mean from the images of the instances in the space of the kernel.
    offset : float, default=1.0
        Weight of a regularized intercept: its square, divided by this and by the mean squared norm of the
        images, adds to ``||f||^2``. 0 is none.
    %(kernel_of_instances)s
    %(gamma_by_distance)s
    early_stopping : bool, default=True
        Let a further choice of key instances join only as long as the accuracy on held-out bags grows. False
        goes on until none is better, as in [wellsvm]_; that fits training bags better, and new ones worse.
    %(labelings)s
    tol : float, default=1e-3
        Relative gain of the objective at which no further choice joins.
    %(verbose)s

    Attributes
    ----------
    %(bag_classes_)s
    %(kernel_)s
    result_ : SolverResult or list of SolverResult
        Report of the solver: the objective after each choice, the choices with their weights (an entry per
        instance, -1 in negative bags), and why it stopped; one for each of more than two classes.
    n_iter_ : int
        Number of choices tried.

    See Also
    --------
    WellSVC : The same for samples, some of which have labels.

    Notes
    -----
    Algorithm 3 of [wellsvm]_, from the choice that an SVM makes which takes the means of positive bags for
    their key instances. Departures: an offset, early stopping, accelerated weights, and a search for choices
    that goes on from the one it found.

    References
    ----------
    %(wellsvm)s

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
        **KernelBagClassifier._parameter_constraints,
        "n_key_instances": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
    }
    _smaller = "use fewer instances"
    _warn_unfinished = LabelMixture._warn_unfinished

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

    @property
    def _is_centered(self):
        return self.center

    def _fit_column(self, space, bags, is_positive, progress):
        bag_of = bags.bag_of
        n_choices = self.max_labels
        if self.early_stopping:
            with progress.stage("held-out bags"):
                n_choices = self._n_choices(space.gram, bag_of, is_positive)
        with progress.stage("key instances"):
            machine = self._machine(space, *self._problem(bag_of, is_positive), self.offset)
            result = self._choose(machine, n_choices, progress.count)
        is_full = len(result.detail.labels) == n_choices < self.max_labels
        if is_full and result.status == "max_iter":
            result = replace(result, status="stopped")  # as the held-out bags asked for
        theta, constant = machine.function(mixed_coefficients(machine, result.x, result.detail)[None])
        return result, theta[:, 0], constant[0]

    def _problem(self, bag_of, is_positive):
        """Key instances of bags, and the costs: a line for each positive bag and each other row."""
        keys = KeyInstances.of_bags(bag_of, is_positive, min(self.n_key_instances, len(bag_of)))
        return keys, self.C * np.where(keys.signs > 0, self.positive_weight, 1.0)

    def _choose(self, machine, n_choices, callback=None):
        """Choices of key instances, from that of a machine for the means of positive bags."""
        keys = machine.label_set
        means = keys.means()
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
        chosen = self._choose(machine, n_choices).whole()
        coefficients = mixed_coefficients(machine, chosen.x, chosen.detail)[None]
        theta, constant = machine.function(coefficients)
        scores = np.full(len(gram), -np.inf)
        scores[outside] = (gram[np.ix_(outside, inside)] @ theta + constant)[:, 0]
        largest = np.full(len(is_positive), -np.inf)
        np.maximum.at(largest, bag_of, scores)
        return np.count_nonzero((largest[held_out] > 0) == is_positive[held_out])
