"""Maximum-margin clustering by its classics: cutting planes, regressions in turn, a semi-definite program."""

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from weakly._compat import Interval, StrOptions
from weakly.cluster._base import BoundedClustering, Clusters, SplittingClustering, functions_of
from weakly.cluster._iterative_svr_solver import solve_iterative_svr
from weakly.cluster._margin_planes import solve_margin_planes
from weakly.cluster._margin_sdp import solve_margin_sdp
from weakly.estimators._docstrings import fill_doc
from weakly.kernels import resolve_kernel
from weakly.rows._arrays import dense_bytes, require_fit
from weakly.spaces import exact_space

_N_GRAMS = 21  # matrices of the size of the kernel at the same time: two points, a step and their factors
_ALIKE = 1e-12  # share of a kernel that may be left of it by rounding once it is centered
_SMALLER = "cluster a sample of the rows and find the clusters of the others by predict"


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

    _parameter_constraints: dict = {
        **BoundedClustering._parameter_constraints,
        "init": [StrOptions({"spectral", "alignment", "kmeans"}), "array-like"],
    }
    _inits = "'spectral', 'alignment', 'kmeans'"

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


@fill_doc
class GeneralizedMaxMarginClustering(BoundedClustering):
    """Two clusters by the convex relaxation of a margin between them.

    With scores ``z = f + b`` of the samples it bounds ::

        ||f||^2 / 2  +  balance_cost (sum_i z_i)^2  +  C sum_i max(1 - z_i^2, 0)

    from below by a semi-definite program with one variable for each sample, and takes scores from its
    solution. There is nothing to start from and no local minimum, but no approximation of large kernels
    either.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a sample.
    %(balance)s
    balance_cost : float or "auto", default="auto"
        Cost of scores whose sum is not 0. "auto" makes scores that are all alike cost as much as those of an
        average function.
    %(kernel)s
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        %(gamma)s
    %(polynomial)s
    ridge : float, default=1e-6
        Added to the diagonal of the centered kernel, in units of its mean.
    max_iter : int, default=100
        Maximum number of steps of the solver.
    tol : float, default=1e-4
        Relative duality gap.
    %(verbose)s

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, 0 or 1. The first sample is in cluster 0.
    %(shares_)s
    free_shares_ : ndarray of shape (2,)
        Proportions of the clusters by the sign of the scores, before ``balance`` is enforced.
    %(cluster_function_)s
    result_ : SolverResult
        Report of the solver: bounds after each step, their gaps, and why it stopped.
    n_iter_ : int
        Number of steps.

    See Also
    --------
    WellClustering : Another relaxation, for more samples.

    Notes
    -----
    The method of [gmmc]_. Its program is solved here by steps of an interior point method that cost a few
    products of matrices of the size of the kernel each: no conic solver is needed. Scores are the
    leading eigenvector of the matrix of the relaxed problem.

    References
    ----------
    .. [gmmc] H. Valizadegan, R. Jin, "Generalized maximum margin clustering and unsupervised kernel
       learning", Advances in Neural Information Processing Systems 19, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import GeneralizedMaxMarginClustering
    >>> X, y = make_blobs([60, 40], centers=[[-3, 0], [3, 0]], random_state=0)
    >>> model = GeneralizedMaxMarginClustering().fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **BoundedClustering._parameter_constraints,
        "balance_cost": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        balance=0.3,
        balance_cost="auto",
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        ridge=1e-6,
        max_iter=100,
        tol=1e-4,
        verbose=0,
    ):
        self.C = C
        self.balance = balance
        self.balance_cost = balance_cost
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _space(self, X):
        n_bytes = dense_bytes(X.shape[0], X.shape[0], copies=_N_GRAMS)
        require_fit(n_bytes, f"a semi-definite program on {X.shape[0]} rows", _SMALLER)
        self.kernel_ = resolve_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        return exact_space(X, self.kernel_, _SMALLER)

    def _unfinished(self, results):
        if results[0].converged or results[0].status in ("stopped", "interrupted"):
            return ""
        gap, n_steps = results[0].criterion[-1], results[0].n_iter
        return f"stopped after {n_steps} steps at a gap of {gap:.1g}: scale columns, raise max_iter or tol."

    def _find(self, space, given, progress):
        machine = self._centered(space, *self._bounds(space.n_rows))
        if np.trace(machine.kernel) <= _ALIKE * np.trace(space.gram):
            raise ValueError("All samples are the same to the kernel: raise gamma, or choose another kernel.")
        # What centering leaves of the rounding of a kernel must not make it indefinite.
        rounding = 4 * np.finfo(np.float64).eps * space.n_rows * np.abs(space.gram).max()
        result = solve_margin_sdp(
            machine.kernel,
            float(self.C),
            balance_cost=None if isinstance(self.balance_cost, str) else float(self.balance_cost),
            ridge=max(self.ridge, rounding / machine.kernel.diagonal().mean()),
            tol=self.tol,
            max_iter=self.max_iter,
            callback=progress.count,
        )
        return functions_of(machine, result.x[None], result, result.intercept)
