"""Laplacian regularised least squares: classifier."""

from weakly._compat import StrOptions
from weakly.manifold._simplex import SimplexClassifierBase


class LaplacianRLSClassifier(SimplexClassifierBase):
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
    class_prior : "labeled", array-like of shape (n_classes,), mapping, float or None, default="labeled"
        Class proportions, in sorted order, by which scores are normalized: those of each class are shifted
        and scaled to the mean and variance over all samples that its proportion implies. A number is the
        proportion of the second of two. "labeled" takes those of the labels, ``None`` leaves scores as they
        are.
    simplex : bool, default=False
        With more than two classes, hold the scores of every training row between 0 and 1, with sum 1; targets
        are then 1 and 0. It takes a factorisation, so that approximations do not get their variance back.
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        With ``graph="anchor"`` "auto" takes the functions of the anchors' values, in which the kernel has no
        part.
        Approximations give each training row back the variance they lose, so that ``transduction_`` follows
        the graph as an exact kernel would; new rows are scored by the features alone.
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
        Relative norm of the gradient at which "cg" stops; a hundredth of the residual at which the iteration
        with ``simplex`` does.
    max_iter : int, default=1000
        Most iterations of "cg", or with ``simplex``.
    early_stopping : bool, default=True
        "cg" ends once the decisions have settled for 10 iterations, but for one row in 10,000; functions of
        anchors are solved for to the end.
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
        Draws landmarks, frequencies, anchors and the approximate neighbour search.

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
    LaplacianSVC : The same with the hinge losses.
    LaplacianRLSRegressor : The same for numbers.

    Notes
    -----
    [belkin2006]_ divides by numbers of rows: its ``gamma_A l`` is ``a`` and its ``gamma_I l / (u + l)^2``
    is ``g``. The problem is solved as a ridge regression on the labelled rows in the deformed kernel
    ``K (a I + g L K)^-1``; [tvsvm]_ Eq. (8) is the same system without that reduction. ``simplex`` is its
    Eq. (93), solved by alternating directions.

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
