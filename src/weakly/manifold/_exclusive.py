"""Laplacian support vector machine of several classes that exclude each other."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.manifold._base import LaplacianClassifierBase, direct_bytes
from weakly.manifold._charged_rows import BlockOthers
from weakly.manifold._exclusive_solver import OtherRows, solve_exclusive
from weakly.regularizers import EXCLUSIVE
from weakly.rows._device import require_room
from weakly.rows._memory import dense_bytes
from weakly.spaces import restrict, undeformed

_DROPPED = {"early_stopping"}
_N_STACKS = 20  # functions that the solver holds at a time: steps and changes it remembers, and its own
_SMALLER = "set approximation='nystroem', or lower n_components"


class ExclusiveLaplacianSVC(LaplacianClassifierBase):
    """Laplacian support vector machine whose classes must not claim the same unlabelled row.

    With signs ``y`` of each class on the labelled rows, the scores ``f`` of all classes minimise together ::

        sum_m ( sum_labelled loss(y_im f_im)  +  a/2 ||f_m||^2  +  g/2 f_m' L f_m )  +  c sum_unlabelled q_i

    where ``q_i`` is charged to a row whose scores of several classes are positive.

    Parameters
    ----------
    ambient_penalty : float, default=1e-3
        Weight ``a`` of the norm of the functions.
    graph_penalty : float, default=0.1
        Weight ``g`` of the graph. With 0 there is none.
    exclusive_penalty : float, default=0.1
        Weight ``c`` of the charge. With 0 this is :class:`LaplacianSVC`.
    exclusive : {"sum", "pairs"}, default="pairs"
        What a row is charged, of the positive parts ``p_m`` of its scores: ``(sum_m p_m)^2 / 2`` as in the
        paper, which charges a single class that claims the row as well and so makes all scores smaller; or
        ``sum_{m < k} p_m p_k``, which does not, but is not convex: the method then goes downhill from the
        Laplacian machine.
    smoothing : float, default=0.01
        Positive parts are rounded off below this score.
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Loss of the labelled rows.
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
    solver : {"lbfgs", "apg", "paper"}, default="lbfgs"
        L-BFGS or accelerated gradients in the metric of the deformed kernel; "paper" is the published
        algorithm with its constant, which moves on tiny problems only.
    tol : float, default=1e-6
        Norm of the gradient relative to that of functions that are 0.
    max_iter : int, default=1000
        Most iterations.
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
    multi_positive_count_ : int
        Unlabelled training rows that more than one class claims with a score above ``smoothing``; below it
        positive scores are as good as 0, and crowd there. With two classes there are none.
    multi_positive_path_ : ndarray of shape (n_steps,)
        The same after each step of the solver.

    See Also
    --------
    LaplacianSVC : Classes one by one.

    Notes
    -----
    [per]_, on the deformed kernel ``K (a I + g L K)^-1``. The paper's step is far too short to arrive, so
    gradients are taken in the metric of that kernel and steps are searched.

    References
    ----------
    .. [per] X. Liu, X. Yuan, S. Yan, H. Jin, "Multi-class semi-supervised SVMs with positiveness exclusive
       regularization", IEEE International Conference on Computer Vision, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from weakly import ExclusiveLaplacianSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> partial = np.full(150, -1)
    >>> partial[::15] = y[::15]
    >>> model = ExclusiveLaplacianSVC(exclusive_penalty=10, n_neighbors=20).fit(X, partial)
    >>> bool(model.multi_positive_count_ <= model.multi_positive_path_[0])
    True
    """

    _parameter_constraints: dict = {
        **{
            name: constraint
            for name, constraint in LaplacianClassifierBase._parameter_constraints.items()
            if name not in _DROPPED
        },
        "exclusive_penalty": [Interval(Real, 0, None, closed="left")],
        "exclusive": [StrOptions(set(EXCLUSIVE))],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "logistic"})],
        "solver": [StrOptions({"lbfgs", "apg", "paper"})],
    }

    def __init__(
        self,
        ambient_penalty=1e-3,
        *,
        graph_penalty=0.1,
        exclusive_penalty=0.1,
        exclusive="pairs",
        smoothing=0.01,
        loss="squared_hinge",
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        graph="knn",
        n_neighbors=5,
        graph_weights="self-tuning",
        laplacian="symmetric",
        class_prior="labeled",
        approximation="auto",
        n_components=1000,
        device=None,
        solver="lbfgs",
        tol=1e-6,
        max_iter=1000,
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.ambient_penalty = ambient_penalty
        self.graph_penalty = graph_penalty
        self.exclusive_penalty = exclusive_penalty
        self.exclusive = exclusive
        self.smoothing = smoothing
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.laplacian = laplacian
        self.class_prior = class_prior
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

    _labeled_loss = "squared_hinge"  # of the Laplacian SVM that is the start

    def _minimize(self, space, rows, targets, weights, progress):
        others = BlockOthers(space.base) if space.has_blocks else OtherRows(space.n_rows, rows)
        path = []

        def watch(scores):
            path.append(others.n_shared(scores, self.smoothing))
            return progress.count()

        if self.exclusive_penalty == 0 and self.loss == "squared_hinge":
            result = super()._minimize(space, rows, targets, weights, progress)
            watch(space.scores(result.x))
        else:
            self._require_memory(space, len(rows), max(2, targets.shape[1]))
            apart = self._solve_apart(space, rows, targets, weights)
            watch(space.scores(apart.x))
            result = apart
            if apart.status != "interrupted":
                result = self._exclude(space, rows, targets, weights, apart, others, watch, progress)
        self.multi_positive_path_ = np.array(path)
        self.multi_positive_count_ = path[-1]
        return result

    def _require_memory(self, space, n_labeled, n_classes):
        stack = dense_bytes(2 * space.n_params + space.n_rows, n_classes, copies=_N_STACKS)
        n_bytes = stack + direct_bytes(space, n_labeled)
        require_room(n_bytes, self._device, "the solver of exclusive classes", _SMALLER)

    def _solve_apart(self, space, rows, targets, weights):
        """The classes one by one, which the labelled rows alone decide."""
        small = restrict(space, rows)
        result = solve_exclusive(
            undeformed(small.space),
            np.arange(len(rows)),
            targets,
            weights,
            penalty=0.0,
            loss=self.loss,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return replace(result, x=small.lift(result.x))

    def _exclude(self, space, rows, targets, weights, apart, others, watch, progress):
        """The classes together, from where they are one by one; of two classes there are both."""
        is_binary, start = targets.shape[1] == 1, apart.x
        if is_binary:
            targets, start = np.hstack([-targets, targets]), np.hstack([-start, start])
        with progress.stage("exclude"):
            result = solve_exclusive(
                space,
                rows,
                targets,
                weights,
                penalty=self.exclusive_penalty,
                exclusive=self.exclusive,
                smoothing=self.smoothing,
                loss=self.loss,
                start=start,
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=watch,
                others=others,
            )
        theta = (result.x[:, 1:] - result.x[:, :1]) / 2 if is_binary else result.x
        return replace(result, x=theta, n_iter=apart.n_iter + result.n_iter)
