"""Laplacian regularised least squares: classifier and regressor."""

import numpy as np
from sklearn.base import RegressorMixin

from weakly._compat import StrOptions, check_sample_weight
from weakly._labels import find_unlabeled
from weakly._progress import Progress
from weakly.manifold._base import LaplacianClassifierBase, LaplacianModel


class LaplacianRLSClassifier(LaplacianClassifierBase):
    """Least squares with a penalty on differences between neighbours.

    For each class, with targets +1 and -1 on the labelled rows, the scores ``f`` minimise ::

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
        A callable takes two matrices and returns the Gram matrix of their rows.
    gamma : float or {"median", "scale", "mean-distance"}, default="median"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between rows, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    graph : "knn", Graph or affinity matrix, default="knn"
        Neighbours of each row, or a graph over exactly the rows of ``X``, in their order.
    n_neighbors : int, default=5
        Neighbours of each row in the "knn" graph.
    graph_weights : {"self-tuning", "binary", "rbf", "cosine"}, default="self-tuning"
        Weights of the "knn" graph, see :func:`weakly.graphs.neighbor_graph`.
    laplacian : {"symmetric", "unnormalized"}, default="symmetric"
        Laplacian ``L`` of the graph. With "symmetric" the weight ``g`` means the same on every graph.
    class_mass_normalization : bool or array-like of shape (n_classes,), default=True
        Shift and scale the scores of each class so that their mean and variance over all rows are those of
        a class with its share among the labels, or with the given share. ``False`` takes scores as they are.
    simplex : bool, default=False
        With more than two classes, hold the scores of every training row between 0 and 1, with sum 1; targets
        are then 1 and 0. It takes a factorisation, so that approximations do not get their variance back.
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        Approximations give each training row back the variance they lose, so that ``transduction_`` follows
        the graph as an exact kernel would; new rows are scored by the features alone.
    n_components : int, default=1000
        Features of an approximation.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        Factorise, or iterate without a factorisation. "auto" is the former unless its matrices would pass
        the memory limit.
    tol : float, default=1e-6
        Relative norm of the gradient at which "cg" stops; a hundredth of the residual at which the iteration
        with ``simplex`` does.
    max_iter : int, default=1000
        Most iterations of "cg", or with ``simplex``.
    early_stopping : bool, default=True
        "cg" ends once the decisions have settled for 10 iterations, but for one row in 10,000.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    warm_start : bool, default=False
        Keep the graph, the space and its factorisation, and use them again when ``fit`` is called on the
        same rows with other labels; a RandomState instance as ``random_state`` counts as a change.
    verbose : int, default=0
        1 shows stages and iterations.
    random_state : int, RandomState or None, default=None
        Draws landmarks, frequencies and the approximate neighbour search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that the normalisation uses: those given, or those of the labels, each
        counted once whatever its weight.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of all training rows.
    temperature_ : float
        Factor between decisions and the logits of the probabilities.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    graph_ : Graph or None
        Graph over the training rows.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: objective, certificate, status.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    LaplacianSVC : The same with the hinge losses.
    LaplacianRLSRegressor : The same for numbers.

    Notes
    -----
    [belkin2006]_ divides by numbers of rows: its ``gamma_A l`` is ``a`` and its ``gamma_I l / (u + l)^2``
    is ``g``. The problem is solved as a ridge regression on the labelled rows in the deformed kernel
    ``K (a I + g L K)^-1``; [tvsvm]_ Eq. (8) is the same system without that reduction. ``simplex`` is its
    Eq. (93), solved by :func:`weakly.solvers.solve_simplex`.

    References
    ----------
    .. [belkin2006] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric framework for
       learning from labeled and unlabeled examples", JMLR 7, 2006.
    .. [tvsvm] X. Bresson, R. Zhang, "TV-SVM: total variation support vector machine for semi-supervised data
       classification", arXiv:1210.0699, 2012.

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
        **LaplacianClassifierBase._parameter_constraints,
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
        class_mass_normalization=True,
        simplex=False,
        approximation="auto",
        n_components=1000,
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
        self.class_mass_normalization = class_mass_normalization
        self.simplex = simplex
        self.approximation = approximation
        self.n_components = n_components
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state


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
        A callable takes two matrices and returns the Gram matrix of their rows.
    gamma : float or {"median", "scale", "mean-distance"}, default="median"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between rows, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    graph : "knn", Graph or affinity matrix, default="knn"
        Neighbours of each row, or a graph over exactly the rows of ``X``, in their order.
    n_neighbors : int, default=5
        Neighbours of each row in the "knn" graph.
    graph_weights : {"self-tuning", "binary", "rbf", "cosine"}, default="self-tuning"
        Weights of the "knn" graph, see :func:`weakly.graphs.neighbor_graph`.
    laplacian : {"symmetric", "unnormalized"}, default="symmetric"
        Laplacian ``L`` of the graph. With "symmetric" the weight ``g`` means the same on every graph.
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
    n_components : int, default=1000
        Features of an approximation.
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
        Draws landmarks, frequencies and the approximate neighbour search.

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
    graph_ : Graph or None
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit on labelled and unlabelled rows together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets, missing where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of the loss of each labelled row; 0 makes a row unlabelled. All rows stay in the graph.

        Returns
        -------
        self
            The fitted estimator.
        """
        X = self._check_rows(X, y)
        weights = check_sample_weight(sample_weight, X)
        values, mask = find_unlabeled(y, unlabeled=self.unlabeled)
        labeled = np.flatnonzero(~mask & (weights > 0))
        if not len(labeled):
            raise ValueError(
                "y has no labelled row: give the target of at least one row, NaN for the others."
            )
        known = _as_numbers(values[labeled])
        weights = weights[labeled]
        progress = Progress(type(self).__name__, self.verbose)
        space = self._geometry(X, progress)
        self._warn_of_unreached(labeled)
        self.intercept_ = float(np.average(known, weights=weights))
        theta = self._solve(space, labeled, known[:, None] - self.intercept_, weights, progress)
        self._function = space.function(theta)
        self.transduction_ = (space.scores(theta)[:, 0] + self.intercept_).astype(X.dtype)
        return self

    def predict(self, X):
        """Predict the target of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Targets.
        """
        return self._score(X)[:, 0] + self.intercept_


def _as_numbers(known):
    try:
        known = known.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}.") from None
    if not np.isfinite(known).all():
        raise ValueError("y contains infinity: give finite targets, NaN where unknown.")
    return known
