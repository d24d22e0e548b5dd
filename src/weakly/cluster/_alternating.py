"""Clusters by turns of labels and functions: kernel k-means, cutting planes, regressions on labels."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weakly._compat import Interval, StrOptions
from weakly.cluster._base import BoundedClustering, Clusters, SplittingClustering, functions_of
from weakly.cluster._iterative_svr_solver import solve_iterative_svr
from weakly.cluster._kernel_means_solver import seeded_codes, solve_kernel_means
from weakly.cluster._margin_planes import solve_margin_planes
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


@fill_doc
class CuttingPlaneMaxMarginClustering(BoundedClustering):
    """Two clusters on either side of a hyperplane that few samples are near to.

    It looks for a local minimum of ::

        ||f||^2 / 2  +  C sum_i max(1 - |f_i + b|, 0)    where  |mean of f + b| <= balance

    A sample costs nothing outside of the margin, on whichever side. In turns samples keep the sides they are
    on, which leaves the problem of a support vector machine, and change to those that its solution gives
    them.

    Parameters
    ----------
    C : float, default=0.1
        Cost of the loss of a sample. Published values are costs of the mean loss: divide them by the samples.
    %(balance)s
        It also bounds the mean score.
    %(init)s
    %(cluster_kernel)s
    max_iter : int, default=50
        Maximum number of turns.
    tol : float, default=1e-3
        Relative gain of the objective at which turns end, and relative gap of the last problem.
    %(verbose)s
    %(random_state_of_clusters)s

    Attributes
    ----------
    %(labels_)s
    %(shares_)s
    free_shares_ : ndarray of shape (2,)
        Proportions of the clusters by the sign of the scores, which only have their mean bounded: all samples
        but a few far ones can be on one side.
    %(cluster_function_)s
    result_ : SolverResult
        Report of the solver: the objective after each turn, and why it stopped.
    n_iter_ : int
        Number of turns.

    See Also
    --------
    WellClustering : A convex relaxation of a problem of this kind.

    Notes
    -----
    [cpmmc]_ adds planes to the problem that is not convex, and takes turns after each; here every turn has
    its planes, which keep their use in the next. The paper makes features of a kernel by its principal
    components; a function is an expansion in samples, with or without them, and so no components are needed.

    References
    ----------
    .. [cpmmc] B. Zhao, F. Wang, C. Zhang, "Efficient maximum margin clustering via cutting plane algorithm",
       SIAM International Conference on Data Mining, 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import CuttingPlaneMaxMarginClustering
    >>> X, y = make_blobs([120, 80], centers=[[-3, 0], [3, 0]], random_state=0)
    >>> model = CuttingPlaneMaxMarginClustering(random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.95
    True
    """

    def __init__(
        self,
        C=0.1,
        *,
        balance=0.3,
        init="spectral",
        n_init=20,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        max_iter=50,
        tol=1e-3,
        verbose=0,
        random_state=None,
    ):
        self.C = C
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

    def _find(self, space, given, progress):
        machine = self._centered(space, *self._bounds(space.n_rows))
        signs = None if given is None else 2.0 * given - 1
        start = self._first_split(space, machine, signs, check_random_state(self.random_state))
        settings = {"tol": self.tol, "max_iter": self.max_iter, "callback": progress.count}
        result = solve_margin_planes(machine, start, float(self.C), float(self.balance), **settings)
        return functions_of(machine, result.x[None], result, result.intercept)


@fill_doc
class IterativeSVRClustering(SplittingClustering):
    """Clusters by regression on their labels and the labels that it gives, in turn.

    It looks for a local minimum of ::

        ||f||^2 / 2  +  C sum_i |y_i - f_i - b|

    over functions, offsets and labels +1 and -1 of two clusters of similar size. For given labels this is
    support vector regression with the absolute loss; for a given function the best labels and the offset are
    found together. The loss also counts against scores beyond the margin, which keeps turns from ending where
    they begin, as those of a support vector machine do. More clusters have a function each, against the rest.

    Parameters
    ----------
    %(n_clusters)s
    C : float or "auto", default="auto"
        Cost of the loss of a sample; "auto" is 0.05 for each cluster. With a large one nearly any labels of
        many features have a function that meets them, and turns end where they began. With a small one and
        few samples scores stay near the offset, and ``balance`` makes the clusters: see ``free_shares_``.
    %(balance)s
    %(init)s
    %(cluster_kernel)s
    max_iter : int, default=50
        Maximum number of turns.
    tol : float, default=1e-3
        Relative gain of the objective at which turns end, and relative gap of each regression.
    %(verbose)s
    %(random_state_of_clusters)s

    Attributes
    ----------
    %(labels_)s
    %(shares_)s
    free_shares_ : ndarray of shape (n_clusters,)
        Proportions of the clusters by the scores, before ``balance`` is enforced.
    %(cluster_function_)s
    result_ : SolverResult
        Report of the solver: the objective after each regression that was kept, and why it stopped.
    n_iter_ : int
        Number of regressions.

    See Also
    --------
    WellClustering : A convex relaxation of a problem of this kind.

    Notes
    -----
    The method of [itersvr]_, where labels and offset minimize the same objective as the regression, so that
    it never rises. More than two clusters are not in the paper: samples are split in two, with half of the
    clusters to come on either side, and the parts again; these clusters, and those of k-means in the space of
    the kernel, are where turns of all clusters start. New labels are then the assignment with the least loss
    within the bounds. The lower objective of the two wins. ``labels_`` are then what the functions say within
    the bounds; a few samples may have others in ``result_.detail.labels``, which the objective is about.

    References
    ----------
    .. [itersvr] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical",
       International Conference on Machine Learning, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import IterativeSVRClustering
    >>> X, y = make_blobs([120, 80], centers=[[-3, 0], [3, 0]], random_state=0)
    >>> model = IterativeSVRClustering(random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.95
    True
    """

    def __init__(
        self,
        n_clusters=2,
        *,
        C="auto",
        balance=0.3,
        init="spectral",
        n_init=20,
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        max_iter=50,
        tol=1e-3,
        verbose=0,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
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

    def _halve(self, space, least, most, given, rng, callback, is_part=False):
        start = self._first_split(space, self._centered(space, least, most), given, rng)
        bounds = np.array([space.n_rows - most, least]), np.array([space.n_rows - least, most])
        found = self._turns(space, (start > 0).astype(np.int64), *bounds, 2, callback)
        return 2.0 * found.codes - 1, found.result.objective[-1], found

    def _refine(self, space, codes, least, most, callback):
        return self._turns(space, codes, least, most, self.n_clusters, callback)

    def _turns(self, space, start, least, most, n_clusters, callback):
        result = solve_iterative_svr(
            space,
            start,
            self._cost,
            least,
            most,
            n_clusters=n_clusters,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )
        scores = space.scores(result.x) + result.intercept
        return Clusters(result.x, result.intercept, scores, result, result.detail.labels[0])
