"""Classifiers of bags by distances: concepts near every positive bag, and votes of the nearest bags."""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._bags import Bags
from weakly.multi_instance._base import BagClassifier
from weakly.multi_instance._diverse_density_solver import solve_diverse_density
from weakly.multi_instance._hausdorff import KINDS, bag_distances
from weakly.rows._arrays import dense_bytes, require_fit

_N_ARRAYS = 30  # of the size of the starts that a search holds
_LARGEST_SCALE = 1e50  # whose powers a search can compute with
_ROUNDING = 1e-6  # relative, of distances


class DistanceBagClassifier(BagClassifier):
    """A classifier by distances between instances, sparse ones too."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _ConceptClassifier(DistanceBagClassifier):
    """Concepts from many starts, the best of them kept, and a threshold on the distance to it."""

    _cause = None

    _parameter_constraints: dict = {
        **DistanceBagClassifier._parameter_constraints,
        "n_start_bags": [Interval(Integral, 1, None, closed="left"), None],
        "scale": [Interval(Real, 0, _LARGEST_SCALE, closed="right")],
        "feature_weights": ["boolean"],
        "threshold": [StrOptions({"training"}), Interval(Real, 0, 1, closed="neither")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_start_bags=None,
        *,
        scale=1.0,
        feature_weights=True,
        threshold="training",
        positive_class=None,
        n_steps=20,
        tol=1e-3,
        verbose=0,
        random_state=None,
    ):
        self.n_start_bags = n_start_bags
        self.scale = scale
        self.feature_weights = feature_weights
        self.threshold = threshold
        self.positive_class = positive_class
        self.n_steps = n_steps
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _fit_bags(self, bags, is_positive, progress):
        rng = check_random_state(self.random_state)
        scales = self.scale * _first_scales(bags.rows)
        results = []
        with progress.stage("concepts"):
            for column in is_positive.T:
                starts = self._starts(bags, column, rng)
                found = self._solve(bags, column, starts, scales, progress.count)
                results.append(progress.watch(found))
        self.concepts_, self.scales_ = np.swapaxes([result.x[0] for result in results], 0, 1)
        self.result_ = results[0] if self.positive_class_ is not None else results
        self.n_iter_ = max(result.n_iter for result in results)
        nearness = np.maximum.reduceat(-self._distances(bags.rows), bags.offsets[:-1], axis=0)
        if isinstance(self.threshold, str):
            self.thresholds_ = np.array(list(map(_best_threshold, nearness.T, is_positive.T)))
        else:
            self.thresholds_ = np.full(len(results), np.log(self.threshold))

    def _starts(self, bags, is_positive, rng):
        """Instances of positive bags, of all or of some that are drawn."""
        numbers = np.flatnonzero(is_positive)
        if self.n_start_bags is not None and self.n_start_bags < len(numbers):
            numbers = np.sort(rng.choice(numbers, self.n_start_bags, replace=False))
        rows = bags[numbers].rows
        n_bytes = dense_bytes(rows.shape[0], rows.shape[1], copies=_N_ARRAYS)
        require_fit(n_bytes, f"concepts from {rows.shape[0]} starts", "lower n_start_bags")
        return rows.toarray() if sp.issparse(rows) else rows

    def _solve(self, bags, is_positive, starts, scales, callback):
        return solve_diverse_density(
            bags.rows,
            bags.bag_of,
            is_positive,
            starts,
            scales,
            cause=self._cause,
            fit_scales=self.feature_weights,
            tol=self.tol,
            max_iter=self.n_steps,
            callback=callback,
        )

    def _distances(self, rows):
        """Squared distances of rows to the concept of each column, in its scales."""
        columns = []
        for point, scale in zip(self.concepts_, self.scales_, strict=True):
            if sp.issparse(rows):
                squares = rows.multiply(rows) @ scale**2 - 2 * (rows @ (scale**2 * point))
                columns.append(np.maximum(squares + np.sum((scale * point) ** 2), 0.0))
            else:
                columns.append(np.sum(((rows - point) * scale) ** 2, axis=1))
        return np.column_stack(columns)

    def _score_instances(self, rows):
        return (-self._distances(rows) - self.thresholds_).astype(rows.dtype)


def _first_scales(rows):
    """Scales in which the mean squared distance between instances is 2; 0 for columns that are constant."""
    if sp.issparse(rows):
        means, variances = mean_variance_axis(rows, axis=0)
        is_constant = variances <= np.finfo(rows.dtype).eps ** 2 * means**2
    else:
        variances = rows.var(axis=0, dtype=np.float64)
        is_constant = np.ptp(rows, axis=0) == 0
    total = variances[~is_constant].sum()
    return np.where(is_constant, 0.0, 1 / np.sqrt(total)) if total > 0 else np.ones(len(variances))


def _best_threshold(nearness, is_positive):
    """Logarithm of the probability from which most training bags come out right, each class counting half.

    Between two bags it lies in the middle; of several that are as good, the middle one is taken.
    """
    order = np.argsort(nearness)
    levels, labels = nearness[order], is_positive[order]
    lost = np.concatenate([[0.0], np.cumsum(labels)]) / labels.sum()
    rejected = np.concatenate([[0.0], np.cumsum(~labels)]) / (~labels).sum()
    gains = rejected - lost
    gains[1:-1][np.diff(levels) == 0] = -np.inf  # bags that are as near cannot be told apart
    best = np.flatnonzero(gains >= gains.max() - 1e-12)
    place = best[(len(best) - 1) // 2]
    if place == 0:
        return levels[0] - 1.0
    return (levels[place - 1] + levels[place]) / 2 if place < len(levels) else levels[-1]


@fill_doc
class DiverseDensityClassifier(_ConceptClassifier):
    """Diverse density: a point near an instance of every positive bag and far from all of the negative ones.

    An instance ``x`` belongs to the concept ``(t, s)`` with the probability
    ``p(x) = exp(-sum_k s_k^2 (x_k - t_k)^2)``. Over points ``t`` and scales ``s`` it minimizes ::

        - sum_positive bags log(1 - prod_{x in B} (1 - p(x)))  -  sum_negative bags sum_{x in B} log(1 - p(x))

    from every instance of the positive bags, and keeps the best concept. A bag is positive if the probability
    of its best instance exceeds a threshold.

    Parameters
    ----------
    %(concept)s

    See Also
    --------
    EMDDClassifier : With one instance of each bag at a time; faster.

    Notes
    -----
    [maron1998]_. Decisions are logarithms of probabilities, less that of the threshold. Sparse samples stay
    sparse and are not centered: far from the origin they lose digits.

    References
    ----------
    .. [maron1998] O. Maron, T. Lozano-Perez, "A framework for multiple-instance learning", Advances in Neural
       Information Processing Systems 10, 1998.

    Examples
    --------
    >>> from weakly import Bags, DiverseDensityClassifier
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = DiverseDensityClassifier(feature_weights=False).fit(bags[:40], data.bag_y[:40])
    >>> bool(model.score(bags[40:], data.bag_y[40:]) >= 0.8)
    True
    """

    _cause = "any"


@fill_doc
class EMDDClassifier(_ConceptClassifier):
    """EM-DD: diverse density with one instance of each bag at a time, the most likely one.

    An instance ``x`` belongs to the concept ``(t, s)`` with the probability
    ``p(x) = exp(-sum_k s_k^2 (x_k - t_k)^2)``. In turn, the most likely instance of each bag is chosen and ::

        - sum_positive bags log p(x_B)  -  sum_negative bags log(1 - p(x_B))

    is minimized over ``t`` and ``s``, as long as that falls. It starts from every instance of the positive
    bags, and keeps the best concept. A bag is positive if the probability of its best instance exceeds a
    threshold.

    Parameters
    ----------
    %(concept)s

    See Also
    --------
    DiverseDensityClassifier : With all instances at once.

    Notes
    -----
    [zhang2002]_. Decisions are logarithms of probabilities, less that of the threshold. Sparse samples stay
    sparse and are not centered: far from the origin they lose digits.

    References
    ----------
    .. [zhang2002] Q. Zhang, S. A. Goldman, "EM-DD: an improved multiple-instance learning technique",
       Advances in Neural Information Processing Systems 14, 2002.

    Examples
    --------
    >>> from weakly import Bags, EMDDClassifier
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = EMDDClassifier(feature_weights=False).fit(bags[:40], data.bag_y[:40])
    >>> bool(model.score(bags[40:], data.bag_y[40:]) >= 0.8)
    True
    """

    _cause = "one"


@fill_doc
class CitationKNNClassifier(DistanceBagClassifier):
    """Citation kNN: bags vote that are near a bag, and bags that the bag is near to.

    References of a bag are the nearest bags of the training set; its citers are training bags that have it
    among their own nearest. The class with most votes wins, and a tie of two classes is negative.

    Parameters
    ----------
    n_references : int, default=2
        Number of nearest bags that vote.
    n_citers : int, default=4
        A training bag votes if the bag would be among this many that are nearest to it.
    distance : {"minimal", "median", "maximal", "average"}, default="minimal"
        Hausdorff distance of bags; see ``bag_distances``.
    %(positive_class)s
    %(verbose)s

    Attributes
    ----------
    %(bag_classes_)s

    See Also
    --------
    bag_distances : Distances between bags.

    Notes
    -----
    [wang2000]_, with regions of interest as in [zhou2005]_: an instance scores what a bag of it alone would.
    Decisions are shares of the votes, for two classes the difference of the shares. Of instances with equal
    votes those come first that are nearer to a bag of the class than to others.

    References
    ----------
    .. [wang2000] J. Wang, J.-D. Zucker, "Solving the multiple-instance problem: a lazy learning approach",
       Proceedings of the 17th International Conference on Machine Learning, 2000.
    .. [zhou2005] Z.-H. Zhou, X.-B. Xue, Y. Jiang, "Locating regions of interest in CBIR with multi-instance
       learning techniques", Proceedings of the 18th Australian Joint Conference on Artificial Intelligence,
       2005.

    Examples
    --------
    >>> from weakly import Bags, CitationKNNClassifier
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(100, bag_sizes=(2, 4), separation=8.0, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = CitationKNNClassifier(distance="average").fit(bags[:60], data.bag_y[:60])
    >>> bool(model.score(bags[60:], data.bag_y[60:]) >= 0.8)
    True
    """

    _parameter_constraints: dict = {
        **DistanceBagClassifier._parameter_constraints,
        "n_references": [Interval(Integral, 1, None, closed="left")],
        "n_citers": [Interval(Integral, 0, None, closed="left")],
        "distance": [StrOptions(set(KINDS))],
    }

    def __init__(self, n_references=2, *, n_citers=4, distance="minimal", positive_class=None, verbose=0):
        self.n_references = n_references
        self.n_citers = n_citers
        self.distance = distance
        self.positive_class = positive_class
        self.verbose = verbose

    def _fit_bags(self, bags, is_positive, progress):
        # A copy: the caller's array may change.
        self._bags, self._is_positive = bags.with_rows(bags.rows.copy()), is_positive
        with progress.stage("citers"):
            self._reach = self._citing_distances()

    def _citing_distances(self):
        """How near a new bag must be to each training bag for that to cite it."""
        n_bags = len(self._bags)
        if not self.n_citers:
            return np.full(n_bags, -np.inf)
        if n_bags <= self.n_citers:
            return np.full(n_bags, np.inf)
        between = bag_distances(self._bags, self._bags, self.distance)
        np.fill_diagonal(between, np.inf)
        reach = np.partition(between, self.n_citers - 1, axis=1)[:, self.n_citers - 1]
        return reach * (1 + _ROUNDING)

    def _score_bags(self, bags):
        return self._shares(bag_distances(bags, self._bags, self.distance)).astype(bags.rows.dtype)

    def _shares(self, distances):
        """Share of the votes for each column, less the share against it where there are two classes."""
        n_references = min(self.n_references, distances.shape[1])
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_references]
        votes = (distances <= self._reach).astype(float)  # a bag may be both, and votes twice then
        np.put_along_axis(votes, nearest, np.take_along_axis(votes, nearest, axis=1) + 1, axis=1)
        shares = votes @ self._is_positive / votes.sum(axis=1, keepdims=True)
        return 2 * shares - 1 if self.positive_class_ is not None else shares

    def _score_instances(self, rows):
        alone = Bags(rows, np.arange(rows.shape[0] + 1))
        distances = bag_distances(alone, self._bags, self.distance)
        # two shares of at most so many votes differ by more than this, or not at all
        least = 1 / (self.n_references + len(self._bags)) ** 2
        return (self._shares(distances) + 0.5 * least * self._leads(distances)).astype(rows.dtype)

    def _leads(self, distances):
        """How much nearer the nearest bag of the class is than the nearest other one, between -1 and 1."""
        leads = np.zeros((len(distances), self._is_positive.shape[1]))
        for column, is_positive in enumerate(self._is_positive.T):
            near, far = distances[:, is_positive].min(axis=1), distances[:, ~is_positive].min(axis=1)
            leads[:, column] = (far - near) / np.maximum(far + near, np.finfo(float).tiny)
        return leads
