"""Laplacian regularized least squares: classifier and regressor."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from weakly._compat import StrOptions, check_sample_weight
from weakly.estimators._base import Progress, atomic_fit
from weakly.estimators._calibration import lazy_on_collections, score_labeled
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._base import LaplacianModel, SimplexClassifierBase
from weakly.rows._arrays import to_host
from weakly.rows._device import follow
from weakly.rows._labels import find_unlabeled


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


@fill_doc
class LaplacianRLSRegressor(RegressorMixin, LaplacianModel):
    """Regression with a penalty on differences between neighbors.

    With the mean of the labeled targets taken off, the scores ``f`` minimize ::

        sum_labeled (y_i - f_i)^2 / 2  +  a/2 ||f||^2  +  g/2 f' L f

    over the functions of a kernel. Unlabeled samples take part through the graph Laplacian ``L``.

    Parameters
    ----------
    %(ambient_penalty)s
    %(graph_penalty)s
    %(laplacian)s
    %(approximation_or_anchors)s
    %(n_components_or_anchors)s
    %(device)s
    %(cholesky_or_cg)s
    tol : float, default=1e-6
        Relative norm of the gradient at which "cg" stops.
    max_iter : int, default=1000
        Maximum number of iterations of "cg".
    unlabeled : float or None, default=None
        Number that marks unlabeled samples. Missing entries (``NaN``, ``None``) always do.
    %(warm_start)s
    %(verbose)s
    %(random_state_of_graph)s

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Predicted targets of all training samples.
    intercept_ : float
        Mean of the labeled targets.
    %(features_in_)s
    %(graph_)s
    %(kernel_)s
    %(result_)s

    See Also
    --------
    LaplacianRLSClassifier : The same for classes.

    References
    ----------
    %(belkin2006)s

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import LaplacianRLSRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.full(50, np.nan)
    >>> y[[0, 25, 49]] = [0.0, 1.0, 0.0]
    >>> model = LaplacianRLSRegressor().fit(X, y)
    >>> bool(abs(model.predict([[0.5]])[0] - 1) < 0.1)
    True
    """

    _parameter_constraints: dict = {
        **LaplacianModel._parameter_constraints,
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
    }
    early_stopping = False  # there are no decisions that could settle

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
        approximation="auto",
        n_components=1000,
        device=None,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        unlabeled=None,
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
        self.approximation = approximation
        self.n_components = n_components
        self.device = device
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        %(X_or_collection)s
            A Dask collection needs ``graph="anchor"``; ``transduction_`` is then a lazy array with its
            chunks, ``kernel_`` is ``None`` and ``warm_start`` keeps nothing.
        y : array-like or Dask collection of shape (n_samples,)
            Targets, missing where unknown; a collection has the chunks of ``X``.
        %(sample_weight)s

        %(fitted)s
        """
        y = to_host(y)
        X = self._check_rows(X, y)
        weights = check_sample_weight(to_host(sample_weight), X)
        values, mask = find_unlabeled(y, unlabeled=self.unlabeled)
        labeled = np.flatnonzero(~mask & (weights > 0))
        known = _as_numbers(values[labeled])
        progress = Progress(type(self).__name__, self.verbose)
        space = self._geometry(X, progress)
        self._warn_of_unreached(labeled)
        theta = self._regress(space, labeled, known, weights[labeled], progress)
        self.transduction_ = (space.scores(theta)[:, 0] + self.intercept_).astype(X.dtype)
        return self

    def _fit_blocks(self, blocks, y, sample_weight=None):
        """The same on a Dask collection, through anchors."""
        from weakly.distributed import fitted_values, targets_of

        labeled, known, weights = targets_of(y, blocks, self.unlabeled, sample_weight)
        known = _as_numbers(known)
        progress = Progress(type(self).__name__, self.verbose)
        space = self._block_geometry(blocks, labeled, progress)
        self._warn_of_unreached(labeled)
        self._regress(space, np.arange(len(labeled)), known, weights, progress)
        self.transduction_ = fitted_values(self, "predict", blocks)
        return self

    def _regress(self, space, rows, known, weights, progress):
        self.intercept_ = float(np.average(known, weights=weights))
        theta = self._solve(space, rows, known[:, None] - self.intercept_, weights, progress)
        self._function = space.function(theta)
        return theta

    @lazy_on_collections
    def predict(self, X):
        """Predict the target of samples.

        Parameters
        ----------
        %(of_each_sample)s
            Targets.
        """
        return follow(self._score(X)[:, 0] + self.intercept_, X)

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination on the labeled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,)
            True targets; samples without one are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            R^2.
        """
        return score_labeled(self, r2_score, X, y, sample_weight, continuous=True)


def _as_numbers(known):
    if not len(known):
        raise ValueError("y has no labelled row: give the target of at least one row, NaN for the others.")
    try:
        known = known.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}.") from None
    if not np.isfinite(known).all():
        raise ValueError("y contains infinity: give finite targets, NaN where unknown.")
    return known
