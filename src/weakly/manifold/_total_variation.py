"""Total variation on a graph: regularised least squares and support vector machine."""

from numbers import Real

from weakly._compat import Interval
from weakly.manifold._graph_cut import GraphCutClassifierBase, normalize_columns
from weakly.manifold._total_variation_solver import solve_total_variation


class _TotalVariationClassifier(GraphCutClassifierBase):
    _parameter_constraints: dict = {
        **GraphCutClassifierBase._parameter_constraints,
        "graph_penalty": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        ambient_penalty=0.01,
        *,
        graph_penalty=0.04,
        coupling=0.1,
        class_prior=None,
        resplit=True,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        graph="knn",
        n_neighbors=5,
        graph_weights="self-tuning",
        approximation="auto",
        n_components=1000,
        device=None,
        tol=1e-3,
        max_iter=200,
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.ambient_penalty = ambient_penalty
        self.graph_penalty = graph_penalty
        self.coupling = coupling
        self.class_prior = class_prior
        self.resplit = resplit
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.approximation = approximation
        self.n_components = n_components
        self.device = device
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _iterate(self, smoother, rows, targets, weights, start, callback):
        return solve_total_variation(
            smoother,
            self.graph_,
            rows,
            targets,
            weights,
            start,
            loss=self._labeled_loss,
            ambient=self.ambient_penalty,
            graph_weight=self.graph_penalty,
            coupling=self.coupling,
            normalize=lambda values: normalize_columns(values, self.class_prior_),
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )


class TotalVariationRLSClassifier(_TotalVariationClassifier):
    """Least squares with the total variation of the scores along a graph.

    For each class, with targets +1 and -1 on the labelled rows, the scores ``f`` lower ::

        sum_labelled (y_i - f_i)^2 / 2  +  a/2 ||f||^2  +  g sum_edges w_ij |f_i - f_j|

    over the functions of a kernel, with the mean and the variance of classes and, for more than two, rows on
    the simplex. Total variation charges a jump by its height alone, so that scores are flat inside a cluster
    and jump where the graph is thin. With one label per class that is often all that can be known.

    Parameters
    ----------
    ambient_penalty : float, default=0.01
        Weight ``a`` of the norm of the function.
    graph_penalty : float, default=0.04
        Weight ``g`` of the total variation.
    coupling : float, default=0.1
        Weight that holds the function and the graph side together. Where they settle depends on it.
    class_prior : array-like of shape (n_classes,), mapping or None, default=None
        Share of each class, in sorted order; ``None`` takes that among the labels. It sets level and spread
        of the scores in every step, but how many rows a class gets is left to the cut.
    resplit : bool, default=True
        Try a second start: where the graph has a better place to cut the union of two classes, and the
        labels allow it, they are split there. The better end of the two is kept. With one label per class
        a start may lie in a wrong cut, which no step leaves.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows. Kernels of low rank cannot
        follow a graph: their features get a value of its own for every training row, as in approximations.
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
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        Approximations give each training row a value of its own beside its features, so that the function
        can follow the graph; new rows are scored by the features alone.
    n_components : int, default=1000
        Features of an approximation.
    device : str, torch.device or None, default=None
        Where the dense algebra and the steps on the graph are done, through PyTorch (extra ``gpu``): "cuda",
        "cuda:1", "cpu". ``None`` is NumPy, or the device of ``X`` where that is a tensor. Tensors in give
        tensors out; attributes are NumPy arrays.
    tol : float, default=1e-3
        Relative change in a step at which the iteration ends; so does it when fewer than one row in 10,000
        changed its class in each of 20 steps.
    max_iter : int, default=200
        Most steps.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    warm_start : bool, default=False
        Keep the graph and the space, and use them again when ``fit`` is called on the same rows with other
        labels; a RandomState instance as ``random_state`` counts as a change.
    verbose : int, default=0
        1 shows stages and iterations.
    random_state : int, RandomState or None, default=None
        Draws landmarks, frequencies and the approximate neighbour search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes: those given, or those of the labels.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows, by the graph.
    function_transduction_ : ndarray of shape (n_samples,)
        The same by the function, which serves new rows; rows where the two differ deserve a look.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of all training rows, by the graph.
    temperature_ : float
        Factor between decisions and the logits of the probabilities.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    graph_ : Graph
        Graph over the training rows.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports. ``detail.graph_side`` holds the scores on the graph,
        ``detail.start_energies`` the sum of the Cheeger ratios of the classes reached from each start.
    n_iter_ : int
        Steps of the solver.

    See Also
    --------
    TotalVariationSVC : The same with the hinge loss.
    CheegerRLSClassifier : Lowers the total variation relative to the spread of the scores.
    LaplacianRLSClassifier : Squared differences along the edges instead.

    Notes
    -----
    The iteration is the alternating direction method of [tvsvm]_ for Eqs. (11) and (100), in the units of a
    loss of weight 1: divide the paper's weights by its ``eta``, and multiply its ``gamma`` by 2, because it
    counts edges twice. Labels enter with the function and not through a second copy of it. The start is the
    Poisson solution of [calder2020]_, which replaces the Laplacian one.

    References
    ----------
    .. [tvsvm] X. Bresson, R. Zhang, "TV-SVM: total variation support vector machine for semi-supervised data
       classification", arXiv:1210.0699, 2012.
    .. [calder2020] J. Calder, B. Cook, M. Thorpe, D. Slepcev, "Poisson learning: graph based semi-supervised
       learning at very low label rates", ICML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from weakly import TotalVariationRLSClassifier
    >>> from weakly.model_selection import LabelDraws
    >>> X, y = load_digits(return_X_y=True)
    >>> draw = next(LabelDraws(n_per_class=2).split(X, y))
    >>> model = TotalVariationRLSClassifier().fit(X, draw.mask(y))
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """


class TotalVariationSVC(_TotalVariationClassifier):
    """Support vector machine with the total variation of the scores along a graph.

    For each class, with signs ``y`` on the labelled rows, the scores ``f`` lower ::

        sum_labelled max(1 - y_i (f_i + b), 0)  +  a/2 ||f||^2  +  g sum_edges w_ij |f_i - f_j|

    over the functions of a kernel, with the mean and the variance of classes and, for more than two, rows on
    the simplex.

    Parameters
    ----------
    ambient_penalty : float, default=0.01
        Weight ``a`` of the norm of the function.
    graph_penalty : float, default=0.04
        Weight ``g`` of the total variation.
    coupling : float, default=0.1
        Weight that holds the function and the graph side together. Where they settle depends on it.
    class_prior : array-like of shape (n_classes,), mapping or None, default=None
        Share of each class, in sorted order; ``None`` takes that among the labels. It sets level and spread
        of the scores in every step, but how many rows a class gets is left to the cut.
    resplit : bool, default=True
        Try a second start: where the graph has a better place to cut the union of two classes, and the
        labels allow it, they are split there. The better end of the two is kept. With one label per class
        a start may lie in a wrong cut, which no step leaves.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows. Kernels of low rank cannot
        follow a graph: their features get a value of its own for every training row, as in approximations.
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
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        Approximations give each training row a value of its own beside its features, so that the function
        can follow the graph; new rows are scored by the features alone.
    n_components : int, default=1000
        Features of an approximation.
    device : str, torch.device or None, default=None
        Where the dense algebra and the steps on the graph are done, through PyTorch (extra ``gpu``): "cuda",
        "cuda:1", "cpu". ``None`` is NumPy, or the device of ``X`` where that is a tensor. Tensors in give
        tensors out; attributes are NumPy arrays.
    tol : float, default=1e-3
        Relative change in a step at which the iteration ends; so does it when fewer than one row in 10,000
        changed its class in each of 20 steps.
    max_iter : int, default=200
        Most steps.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    warm_start : bool, default=False
        Keep the graph and the space, and use them again when ``fit`` is called on the same rows with other
        labels; a RandomState instance as ``random_state`` counts as a change.
    verbose : int, default=0
        1 shows stages and iterations.
    random_state : int, RandomState or None, default=None
        Draws landmarks, frequencies and the approximate neighbour search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes: those given, or those of the labels.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows, by the graph.
    function_transduction_ : ndarray of shape (n_samples,)
        The same by the function, which serves new rows; rows where the two differ deserve a look.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of all training rows, by the graph.
    temperature_ : float
        Factor between decisions and the logits of the probabilities.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    graph_ : Graph
        Graph over the training rows.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports. ``detail.graph_side`` holds the scores on the graph,
        ``detail.start_energies`` the sum of the Cheeger ratios of the classes reached from each start.
    n_iter_ : int
        Steps of the solver.

    See Also
    --------
    TotalVariationRLSClassifier : The same with the squared loss.
    CheegerSVC : Lowers the total variation relative to the spread of the scores.
    LaplacianSVC : Squared differences along the edges instead.

    Notes
    -----
    As :class:`TotalVariationRLSClassifier`, for Eqs. (57) and (126) of [tvsvm]_. The step on the labelled
    rows is solved in its dual, warm-started from step to step.

    References
    ----------
    .. [tvsvm] X. Bresson, R. Zhang, "TV-SVM: total variation support vector machine for semi-supervised data
       classification", arXiv:1210.0699, 2012.
    .. [calder2020] J. Calder, B. Cook, M. Thorpe, D. Slepcev, "Poisson learning: graph based semi-supervised
       learning at very low label rates", ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import TotalVariationSVC
    >>> from weakly.datasets import make_two_moons
    >>> moons = make_two_moons(200, noise=0.05, random_state=0)
    >>> model = TotalVariationSVC(n_neighbors=10).fit(moons.X, moons.y_partial)
    >>> bool(np.mean(model.transduction_ == moons.y) > 0.9)
    True
    """

    _labeled_loss = "hinge"
