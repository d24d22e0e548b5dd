"""Diverse density and EM-DD: one concept that every positive bag comes near and no negative one."""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._base import BagClassifier
from weakly.multi_instance._diverse_density_solver import solve_diverse_density
from weakly.rows._arrays import dense_bytes, require_fit

_N_ARRAYS = 30  # of the size of the starts that a search holds
_LARGEST_SCALE = 1e50  # whose powers a search can compute with


class _ConceptClassifier(BagClassifier):
    """Concepts from many starts, the best of them kept, and a threshold on the distance to it."""

    _cause = None

    _parameter_constraints: dict = {
        **BagClassifier._parameter_constraints,
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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
