"""Laplacian regularised least squares: regressor."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from weakly._compat import StrOptions, check_sample_weight
from weakly.estimators._base import lazy_on_collections, score_labeled
from weakly.estimators._fitting import atomic_fit
from weakly.estimators._progress import Progress
from weakly.manifold._base import LaplacianModel
from weakly.rows._device import follow, to_host
from weakly.rows._unlabeled import find_unlabeled


class LaplacianRLSRegressor(RegressorMixin, LaplacianModel):
    """Regression with a penalty on differences between neighbours.

    With the mean of the labelled targets taken off, the scores ``f`` minimise ::

        sum_labelled (y_i - f_i)^2 / 2  +  a/2 ||f||^2  +  g/2 f' L f

    over the functions of a kernel. Unlabelled rows take part through the graph Laplacian ``L``.

    Parameters
    ----------
    ambient_penalty : float, default=1e-3
        Weight ``a`` of the norm of the function.
    graph_penalty : float, default=0.1
        Weight ``g`` of the graph. With 0 there is none, and unlabelled rows only set ``gamma`` and the
        level of the scores.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows; it is not called, and no
        kernel plays a part, with ``graph="anchor"`` unless ``approximation`` is set.
    gamma : float or {"median", "scale", "mean-distance"}, default="median"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between rows, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    graph : {"knn", "anchor"}, graph or affinity matrix, default="knn"
        Neighbours of each row; or anchors that rows share, for rows too many to be compared with each other,
        see :func:`weakly.graphs.anchor_graph`; or a graph over exactly the rows of ``X``, in their order.
    n_neighbors : int, default=5
        Neighbours of each row in the "knn" graph, or nearest anchors.
    graph_weights : {"self-tuning", "binary", "rbf", "cosine", "reconstruction"}, default="self-tuning"
        Weights of the graph, see :func:`weakly.graphs.neighbor_graph` and
        :func:`weakly.graphs.anchor_graph`, which alone has the last.
    laplacian : {"symmetric", "unnormalized"}, default="symmetric"
        Laplacian ``L`` of the graph. With "symmetric" the weight ``g`` means the same on every graph;
        of anchors both are one.
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        With ``graph="anchor"`` "auto" takes the functions of the anchors' values, in which the kernel has no
        part.
    n_components : int, default=1000
        Features of an approximation, and number of anchors.
    device : str, torch.device or None, default=None
        Where the dense algebra is done, through PyTorch (extra ``gpu``): "cuda", "cuda:1", "cpu". ``None`` is
        NumPy, or the device of ``X`` where that is a tensor. Tensors in give tensors out; attributes are
        NumPy arrays. Where "cg" is stopped early, scores differ from NumPy's by more than rounding.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        Factorise, or iterate without a factorisation. "auto" is the former unless its matrices would pass
        the memory limit.
    tol : float, default=1e-6
        Relative norm of the gradient at which "cg" stops.
    max_iter : int, default=1000
        Most iterations of "cg".
    unlabeled : float or None, default=None
        Number that marks unlabelled rows. Missing entries (``NaN``, ``None``) always do.
    warm_start : bool, default=False
        Keep the graph, the space and its factorisation, and use them again when ``fit`` is called on the
        same rows with other labels; a RandomState instance as ``random_state`` counts as a change.
    verbose : int, default=0
        1 shows stages and iterations.
    random_state : int, RandomState or None, default=None
        Draws landmarks, frequencies, anchors and the approximate neighbour search.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Predicted targets of all training rows.
    intercept_ : float
        Mean of the labelled targets.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    graph_ : Graph, AnchorGraph or None
        Graph over the training rows.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: objective, certificate, status.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    LaplacianRLSClassifier : The same for classes.

    References
    ----------
    .. [belkin2006] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric framework for
       learning from labeled and unlabeled examples", JMLR 7, 2006.

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
        """Fit on labelled and unlabelled rows together.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Rows, or their Gram matrix with ``kernel="precomputed"``. A Dask collection needs
            ``graph="anchor"``; ``transduction_`` is then a lazy array with its chunks, ``kernel_`` is
            ``None`` and ``warm_start`` keeps nothing.
        y : array-like or Dask collection of shape (n_samples,)
            Targets, missing where unknown; a collection has the chunks of ``X``.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Weight of the loss of each labelled row; 0 makes a row unlabelled. All rows stay in the graph.

        Returns
        -------
        self
            The fitted estimator.
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
        """Predict the target of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows.

        Returns
        -------
        ndarray or dask array of shape (n_samples,)
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
