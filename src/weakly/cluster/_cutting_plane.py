"""Maximum-margin clustering by cutting planes."""

from sklearn.utils import check_random_state

from weakly._compat import StrOptions
from weakly.cluster._base import BoundedClustering, functions_of
from weakly.cluster._margin_planes import solve_margin_planes


class CuttingPlaneMaxMarginClustering(BoundedClustering):
    """Two clusters on either side of a hyperplane that few rows are near to.

    It looks for a local minimum of ::

        ||f||^2 / 2  +  C sum_i max(1 - |f_i + b|, 0)    where  |mean of f + b| <= balance

    A row costs nothing outside of the margin, on whichever side. In turns rows keep the sides they are on,
    which leaves the problem of a support vector machine, and change to those that its solution gives them.

    Parameters
    ----------
    C : float, default=0.1
        Cost of the loss of a row. Published values are costs of the mean loss: divide them by the rows.
    balance : float, default=0.3
        Bound of the mean score, and of how far the sizes of clusters may be from equal ones, as a share of
        these. With 0.3 the smaller cluster has at least 35 % of the rows.
    init : {"spectral", "alignment", "kmeans"} or array-like of shape (n_samples,), default="spectral"
        The first split. "spectral" follows the leading eigenvector of the centred kernel, "alignment" is the
        random split that the kernel is best aligned with, "kmeans" comes from k-means in the space of the
        kernel. Labels 0 and 1, or -1 and 1, are taken as they are, except that rows change sides where
        ``balance`` demands it.
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
        Relative gain of the objective at which turns end, and relative gap of the last problem.
    verbose : int, default=0
        1 shows stages and turns.
    random_state : int, RandomState or None, default=None
        Draws the start of "spectral", the splits of "alignment", the rows that k-means begins with,
        landmarks and frequencies.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row, 0 or 1. The first row is in cluster 0; where ``init`` has labels,
        clusters have its numbers.
    shares_ : ndarray of shape (2,)
        Shares of the clusters in ``labels_``, within the bounds of ``balance``.
    free_shares_ : ndarray of shape (2,)
        Shares of the clusters by the sign of the scores, which only have their mean bounded: all rows but a
        few far ones can be on one side.
    threshold_ : float
        Score where the clusters meet: 0 where the sign of the scores keeps to ``balance``, else the middle
        of the gap that does. It is part of ``decision_function``.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: the objective after each turn, and why it stopped.
    n_iter_ : int
        Turns.

    See Also
    --------
    WellClustering : A convex relaxation of a problem of this kind.

    Notes
    -----
    [cpmmc]_ adds planes to the problem that is not convex, and takes turns after each; here every turn has
    its planes, which keep their use in the next. The paper makes features of a kernel by its principal
    components; a function is an expansion in rows, with or without them, and so no components are needed.

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
        machine = self._centred(space, *self._bounds(space.n_rows))
        signs = None if given is None else 2.0 * given - 1
        start = self._first_split(space, machine, signs, check_random_state(self.random_state))
        settings = {"tol": self.tol, "max_iter": self.max_iter, "callback": progress.count}
        result = solve_margin_planes(machine, start, float(self.C), float(self.balance), **settings)
        return functions_of(machine, result.x[None], result, result.intercept)
