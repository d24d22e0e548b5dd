"""Nearest bags, and bags that count a bag among their nearest."""

from numbers import Integral

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._bags import Bags
from weakly.multi_instance._base import DistanceBagClassifier
from weakly.multi_instance._hausdorff import KINDS, bag_distances

_ROUNDING = 1e-6  # relative, of distances


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
    %(temperature_)s
    %(features_in_)s

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
