"""Maximum-margin clustering by regression on labels and new labels, in turn."""

import numpy as np

from weakly.cluster._base import Clusters, SplittingClustering
from weakly.cluster._iterative_svr_solver import solve_iterative_svr
from weakly.estimators._docstrings import fill_doc


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
    %(kernel)s
        With "linear" there is no Gram matrix, and sparse samples stay sparse.
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        %(gamma)s
    %(polynomial)s
    %(approximation)s
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
    %(threshold_)s
    %(features_in_)s
    %(kernel_)s
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
