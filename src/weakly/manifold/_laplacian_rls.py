"""Laplacian regularized least squares: classifier."""

from weakly._compat import StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._base import SimplexClassifierBase


@fill_doc
class LaplacianRLSClassifier(SimplexClassifierBase):
    """Least squares with a penalty on differences between neighbors.

    For each class, with targets +1 and -1 on the labeled samples, the scores ``f`` minimize ::

        sum_labeled (y_i - f_i)^2 / 2  +  a/2 ||f||^2  +  g/2 f' L f

    over the functions of a kernel. Unlabeled samples take part through the graph Laplacian ``L``.

    Parameters
    ----------
    %(ambient_penalty)s
    %(graph_penalty)s
    %(laplacian)s
    %(class_prior_of_scores)s
    simplex : bool, default=False
        With more than two classes, hold the scores of every training sample between 0 and 1, with sum 1;
        targets are then 1 and 0. It takes a factorization, so that approximations are not corrected.
    %(approximation_or_anchors)s
        Approximations come with a diagonal correction of their residual, so that ``transduction_`` follows
        the graph as with an exact kernel; new samples are scored by the features alone.
    %(n_components_or_anchors)s
    %(device)s
    %(cholesky_or_cg)s
    tol : float, default=1e-6
        Relative norm of the gradient at which "cg" stops; a hundredth of the residual at which the iteration
        with ``simplex`` does.
    max_iter : int, default=1000
        Maximum number of iterations of "cg", or with ``simplex``.
    %(early_stopping)s
    %(fit_settings)s

    Attributes
    ----------
    %(laplacian_)s

    See Also
    --------
    LaplacianSVC : The same with the hinge losses.
    LaplacianRLSRegressor : The same for numbers.

    Notes
    -----
    [belkin2006]_ divides by numbers of samples: its ``gamma_A l`` is ``a`` and its ``gamma_I l / (u + l)^2``
    is ``g``. The problem is solved as a ridge regression on the labeled samples in the deformed kernel
    ``K (a I + g L K)^-1``; [tvsvm]_ Eq. (8) is the same system without that reduction. ``simplex`` is its
    Eq. (93), solved by alternating directions.

    References
    ----------
    %(belkin2006)s
    %(tvsvm)s

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from weakly import LaplacianRLSClassifier
    >>> from weakly.model_selection import LabelDraws
    >>> X, y = load_digits(return_X_y=True)
    >>> draw = next(LabelDraws(n_per_class=2).split(X, y))
    >>> model = LaplacianRLSClassifier().fit(X, draw.mask(y))
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **SimplexClassifierBase._parameter_constraints,
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
    }

    def __init__(
        self,
        ambient_penalty=1e-3,
        *,
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
