"""Maximum-margin clustering by regression on labels and new labels, in turn."""

import numpy as np

from weakly.cluster._base import Clusters, SplittingClustering
from weakly.cluster._iterative_svr_solver import solve_iterative_svr


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
    n_clusters : int, default=2
        Number of clusters.
    C : float or "auto", default="auto"
        Cost of the loss of a row; "auto" is 0.05 for each cluster. With a large one nearly any labels of many
        features have a function that meets them, and turns end where they began. With a small one and few
        rows scores stay near the offset, and ``balance`` makes the clusters: see ``free_shares_``.
    balance : float, default=0.3
        How far the sizes of clusters may be from equal ones, as a share of these: from 0 for equal sizes to
        almost 1. With 0.3 the smaller of two clusters has at least 35 % of the rows, and one of ten between 7
        and 13 %.
    init : {"spectral", "alignment", "kmeans"} or array-like of shape (n_samples,), default="spectral"
        The first split of rows in two. "spectral" follows the leading eigenvector of the centred kernel,
        "alignment" is the random split that the kernel is best aligned with, "kmeans" comes from k-means in
        the space of the kernel. Labels from 0, or -1 and 1 for two clusters, are taken as they are, except
        that rows change sides where ``balance`` demands it.
    n_init : int, default=20
        Random splits that "alignment" compares, or runs of k-means.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows. With "linear" there is no
        Gram matrix, and sparse rows stay sparse.
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
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
    max_iter : int, default=50
        Most turns.
    tol : float, default=1e-3
        Relative gain of the objective at which turns end, and relative gap of each regression.
    verbose : int, default=0
        1 shows stages and turns.
    random_state : int, RandomState or None, default=None
        Draws the start of "spectral", the splits of "alignment", the rows that k-means begins with,
        landmarks and frequencies.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row. The first row is in cluster 0, the first of the others in cluster 1, and
        so on; where ``init`` has labels, clusters have its numbers.
    shares_ : ndarray of shape (n_clusters,)
        Shares of the clusters in ``labels_``, within the bounds of ``balance``.
    free_shares_ : ndarray of shape (n_clusters,)
        Shares of the clusters by the scores, before ``balance`` has its say.
    threshold_ : float or ndarray of shape (n_clusters,)
        Score where two clusters meet: 0 where the sign of the scores keeps to ``balance``, else the middle
        of the gap that does; with more clusters, what each score is lowered by so that the largest does. It
        is part of ``decision_function``.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: the objective after each regression that was kept, and why it stopped.
    n_iter_ : int
        Regressions.

    See Also
    --------
    WellClustering : A convex relaxation of a problem of this kind.

    Notes
    -----
    The method of [itersvr]_, where labels and offset minimise the same objective as the regression, so that
    it never rises. More than two clusters are not in the paper: rows are split in two, with half of the
    clusters to come on either side, and the parts again; these clusters, and those of k-means in the space of
    the kernel, are where turns of all clusters start. New labels are then the assignment with the least loss
    within the bounds. The lower objective of the two wins. ``labels_`` are then what the functions say within
    the bounds; a few rows may have others in ``result_.detail.labels``, which the objective is about.

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
        start = self._first_split(space, self._centred(space, least, most), given, rng)
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
