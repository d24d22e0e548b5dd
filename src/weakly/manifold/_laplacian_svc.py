"""Laplacian support vector machine."""

from weakly._compat import StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._base import SimplexClassifierBase


@fill_doc
class LaplacianSVC(SimplexClassifierBase):
    """Support vector machine with a penalty on differences between neighbors.

    For each class, with signs ``y`` on the labeled samples, the scores ``f`` minimize ::

        sum_labeled max(1 - y_i f_i, 0)^2 / 2  +  a/2 ||f||^2  +  g/2 f' L f

    over the functions of a kernel, or the same with ``max(1 - y_i (f_i + b), 0)``. Unlabeled samples take
    part through the graph Laplacian ``L``.

    Parameters
    ----------
    %(ambient_penalty)s
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        "hinge" is solved in the dual, by LIBSVM and then to the tolerance, and has an intercept.
    %(graph_penalty)s
    %(laplacian)s
    %(class_prior_of_scores)s
    simplex : bool, default=False
        With more than two classes, hold the scores of every training sample, but for the intercept, between 0
        and 1, with sum 1. It takes a factorization, so that approximations are not corrected.
    %(approximation_or_anchors)s
        With the squared hinge, approximations come with a diagonal correction of their residual, so that
        ``transduction_`` follows the graph as with an exact kernel; new samples are scored by the features
        alone.
    %(n_components_or_anchors)s
    %(device)s
    solver : {"auto", "newton", "cg"}, default="auto"
        For the squared hinge: Newton on a factorized problem, or iterations without a factorization. "auto"
        is the former unless its matrices would pass the memory limit. The hinge always goes to LIBSVM.
    tol : float, default=1e-6
        Relative norm of the gradient at which "newton" and "cg" stop; relative duality gap of the hinge; a
        hundredth of the residual at which the iteration with ``simplex`` stops.
    max_iter : int, default=1000
        Maximum number of iterations of "newton" and "cg", or with ``simplex``; the hinge may take a thousand
        times as many by LIBSVM, and as many again after it.
    %(early_stopping)s
    %(fit_settings)s

    Attributes
    ----------
    %(laplacian_)s

    See Also
    --------
    LaplacianRLSClassifier : The same with the squared loss.

    Notes
    -----
    The problem is solved as a support vector machine on the labeled samples in the deformed kernel
    ``K (a I + g L K)^-1``. [tvsvm]_ prints ``(a I + g L K)^-1 K`` in Eq. (52), which is not symmetric. The
    iterative solver is the preconditioned conjugate gradient method of [melacci2011]_. ``simplex`` with the
    hinge is [tvsvm]_ Eq. (118), solved by alternating directions; no score is then beyond the margin of the
    squared hinge, which is the squared loss of the signs.

    References
    ----------
    %(tvsvm)s
    .. [melacci2011] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the primal", JMLR
       12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import LaplacianSVC
    >>> from weakly.datasets import make_two_moons
    >>> moons = make_two_moons(200, noise=0.05, random_state=0)
    >>> model = LaplacianSVC(n_neighbors=10).fit(moons.X, moons.y_partial)
    >>> bool(np.mean(model.transduction_ == moons.y) > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **SimplexClassifierBase._parameter_constraints,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "solver": [StrOptions({"auto", "newton", "cg"})],
    }

    def __init__(
        self,
        ambient_penalty=1e-3,
        *,
        loss="squared_hinge",
        graph_penalty=0.1,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        graph="knn",
        n_neighbors=5,
        graph_weights="self-tuning",
        laplacian="symmetric",
        class_prior="labeled",
        simplex=False,
        approximation="auto",
        n_components=1000,
        device=None,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        early_stopping=True,
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.ambient_penalty = ambient_penalty
        self.loss = loss
        self.graph_penalty = graph_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.laplacian = laplacian
        self.class_prior = class_prior
        self.simplex = simplex
        self.approximation = approximation
        self.n_components = n_components
        self.device = device
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @property
    def _labeled_loss(self):
        if self.loss == "hinge" and self.solver == "cg":
            raise ValueError('solver="cg" needs a smooth loss: use loss="squared_hinge", or solver="auto".')
        return self.loss
