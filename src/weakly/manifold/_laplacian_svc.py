"""Laplacian support vector machine."""

from weakly._compat import StrOptions
from weakly.manifold._simplex import SimplexClassifierBase


class LaplacianSVC(SimplexClassifierBase):
    """Support vector machine with a penalty on differences between neighbours.

    For each class, with signs ``y`` on the labelled rows, the scores ``f`` minimise ::

        sum_labelled max(1 - y_i f_i, 0)^2 / 2  +  a/2 ||f||^2  +  g/2 f' L f

    over the functions of a kernel, or the same with ``max(1 - y_i (f_i + b), 0)``. Unlabelled rows take
    part through the graph Laplacian ``L``.

    Parameters
    ----------
    ambient_penalty : float, default=1e-3
        Weight ``a`` of the norm of the function.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        "hinge" is solved in the dual, by LIBSVM and then to the tolerance, and has an intercept.
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
        With more than two classes, hold the scores of every training row, but for the intercept, between 0
        and 1, with sum 1. It takes a factorisation, so that approximations do not get their variance back.
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
        With ``graph="anchor"`` "auto" takes the functions of the anchors' values, in which the kernel has no
        part.
        With the squared hinge, approximations give each training row back the variance they lose, so that
        ``transduction_`` follows the graph as an exact kernel would; new rows are scored by the features
        alone.
    n_components : int, default=1000
        Features of an approximation, and number of anchors.
    device : str, torch.device or None, default=None
        Where the dense algebra is done, through PyTorch (extra ``gpu``): "cuda", "cuda:1", "cpu". ``None`` is
        NumPy, or the device of ``X`` where that is a tensor. Tensors in give tensors out; attributes are
        NumPy arrays. Where "cg" is stopped early, scores differ from NumPy's by more than rounding.
    solver : {"auto", "newton", "cg"}, default="auto"
        For the squared hinge: Newton on a factorised problem, or iterations without a factorisation. "auto"
        is the former unless its matrices would pass the memory limit. The hinge always goes to LIBSVM.
    tol : float, default=1e-6
        Relative norm of the gradient at which "newton" and "cg" stop; relative duality gap of the hinge; a
        hundredth of the residual at which the iteration with ``simplex`` stops.
    max_iter : int, default=1000
        Most iterations of "newton" and "cg", or with ``simplex``; the hinge may take a thousand times as many
        by LIBSVM, and as many again after it.
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
    LaplacianRLSClassifier : The same with the squared loss.

    Notes
    -----
    The problem is solved as a support vector machine on the labelled rows in the deformed kernel
    ``K (a I + g L K)^-1``. [tvsvm]_ prints ``(a I + g L K)^-1 K`` in Eq. (52), which is not symmetric. The
    iterative solver is the preconditioned conjugate gradient method of [melacci2011]_. ``simplex`` with the
    hinge is [tvsvm]_ Eq. (118), solved by alternating directions; no score is then beyond the margin of the
    squared hinge, which is the squared loss of the signs.

    References
    ----------
    .. [tvsvm] X. Bresson, R. Zhang, "TV-SVM: total variation support vector machine for semi-supervised data
       classification", arXiv:1210.0699, 2012.
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
