"""Maximum-margin clustering as a semi-definite program."""

from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.cluster._base import BoundedClustering, functions_of
from weakly.cluster._margin_sdp import solve_margin_sdp
from weakly.estimators._docstrings import fill_doc
from weakly.kernels import resolve_kernel
from weakly.rows._blocks import dense_bytes, require_fit
from weakly.spaces import exact_space

_N_GRAMS = 21  # matrices of the size of the kernel at the same time: two points, a step and their factors
_ALIKE = 1e-12  # share of a kernel that may be left of it by rounding once it is centered
_SMALLER = "cluster a sample of the rows and find the clusters of the others by predict"


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
    %(threshold_)s
    %(features_in_)s
    %(kernel_)s
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
