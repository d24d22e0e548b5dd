"""k-means in the space of a kernel."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weakly._compat import Interval, StrOptions
from weakly.cluster._base import BoundedClustering, Clusters
from weakly.cluster._kernel_means_solver import seeded_codes, solve_kernel_means
from weakly.cluster._starts import aligned_codes, near_codes
from weakly.estimators._docstrings import fill_doc


@fill_doc
class KernelKMeans(BoundedClustering):
    """Clusters around means in the space of a kernel.

    It minimizes the sum over samples of the squared distance to the mean of their cluster, where distances
    and means are those of the images of samples under a kernel; with a linear one this is k-means.

    Parameters
    ----------
    %(n_clusters)s
    balance : float or None, default=None
        How far the sizes of clusters may be from equal ones, as a fraction of these; ``None`` leaves them
        free.
    init : {"k-means++", "random", "alignment"} or array-like of shape (n_samples,), default="k-means++"
        First clusters: samples around others that are far from each other, or that are drawn at random; those
        of ``n_init`` random ones of equal size that the kernel is best aligned with, from which a single run
        starts; or labels from 0.
    n_init : int, default=10
        Number of runs, of which the best counts, or of random clusters that "alignment" compares.
    %(cluster_kernel)s
    max_iter : int, default=300
        Maximum number of rounds of a run.
    tol : float, default=1e-5
        Gain of a round, relative to the spread of all samples, at which a run ends.
    %(verbose)s
    %(random_state_of_clusters)s

    Attributes
    ----------
    %(labels_)s
    inertia_ : float
        Sum of the squared distances of samples to the means of their clusters.
    %(shares_)s
    free_shares_ : ndarray of shape (n_clusters,)
        Proportions of the clusters by the nearest mean, before ``balance`` is enforced.
    threshold_ : float or ndarray of shape (n_clusters,)
        What scores are lowered by to keep to ``balance``; part of ``decision_function``.
    %(features_in_)s
    %(kernel_)s
    result_ : SolverResult
        Report of the solver for the best run, with the sums that all runs reached.
    n_iter_ : int
        Number of rounds of the best run.

    See Also
    --------
    WellClustering : Clusters by their margins.

    Notes
    -----
    Runs share their products with the kernel. An empty cluster gets the sample that adds the least by it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import KernelKMeans
    >>> X, y = make_circles(200, factor=0.1, noise=0.05, random_state=0)
    >>> model = KernelKMeans(gamma=3.0, random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_)
    1.0
    """

    _parameter_constraints: dict = {
        **BoundedClustering._parameter_constraints,
        "balance": [Interval(Real, 0, 1, closed="left"), None],
        "init": [StrOptions({"k-means++", "random", "alignment"}), "array-like"],
    }
    _inits = "'k-means++', 'random', 'alignment'"

    def __init__(
        self,
        n_clusters=2,
        *,
        balance=None,
        init="k-means++",
        n_init=10,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        max_iter=300,
        tol=1e-5,
        verbose=0,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.balance = balance
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _bounds(self, n_rows):
        return (1, n_rows) if self.balance is None else super()._bounds(n_rows)

    def _find(self, space, given, progress):
        least, most = self._bounds(space.n_rows)
        result = solve_kernel_means(
            space,
            self._starts(space, given, least, most),
            self.n_clusters,
            least=least,
            most=most,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=progress.count,
        )
        theta, offset = result.x, result.intercept
        if self.n_clusters <= 2:
            theta, offset = theta[:, [-1]] - theta[:, [0]], offset[[-1]] - offset[[0]]
        elif not space.has_gram and sp.issparse(space.features):
            # As if samples had been centered, which dense ones are.
            mean = np.asarray(space.features.mean(axis=0)).ravel()
            theta, offset = theta - mean[:, None], offset + mean @ mean / 2
        return Clusters(theta, offset, space.scores(theta) + offset, result)

    def _publish(self, space, found, given):
        names = super()._publish(space, found, given)
        nearness = space.scores(found.result.x) + found.result.intercept
        own = nearness[np.arange(space.n_rows), np.argsort(names)[self.labels_]]
        self.inertia_ = float(space.squared_norms().sum() - 2 * own.sum())

    def _starts(self, space, given, least, most):
        if given is not None:
            return near_codes(space, given, self.n_clusters, least, most)[None]
        rng = check_random_state(self.random_state)
        if self.init == "alignment":
            return aligned_codes(space, self.n_clusters, rng, self.n_init)[None]
        spread_out = self.init == "k-means++"
        return seeded_codes(space, self.n_clusters, self.n_init, rng, spread_out=spread_out)
