"""Maximum-margin clustering by cutting planes."""

from sklearn.utils import check_random_state

from weakly._compat import StrOptions
from weakly.cluster._base import BoundedClustering, functions_of
from weakly.cluster._margin_planes import solve_margin_planes
from weakly.estimators._docstrings import fill_doc


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
    %(kernel)s
        With "linear" there is no Gram matrix, and sparse samples stay sparse.
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        %(gamma)s
    %(polynomial)s
    %(approximation)s
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
    %(threshold_)s
    %(features_in_)s
    %(kernel_)s
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
