"""Laplacian support vector machine of several classes that exclude each other."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._base import LaplacianClassifierBase, direct_bytes
from weakly.manifold._charged_rows import BlockOthers
from weakly.manifold._exclusive_solver import OtherRows, solve_exclusive
from weakly.regularizers import EXCLUSIVE
from weakly.rows._arrays import dense_bytes, require_fit
from weakly.spaces import restrict, undeformed

_DROPPED = {"early_stopping"}
_N_STACKS = 20  # functions that the solver holds at a time: steps and changes it remembers, and its own
_SMALLER = "set approximation='nystroem', or lower n_components"


@fill_doc
class ExclusiveLaplacianSVC(LaplacianClassifierBase):
    """Laplacian support vector machine whose classes must not claim the same unlabeled sample.

    With signs ``y`` of each class on the labeled samples, the scores ``f`` of all classes minimize together
    ::

        sum_m ( sum_labeled loss(y_im f_im)  +  a/2 ||f_m||^2  +  g/2 f_m' L f_m )  +  c sum_unlabeled q_i

    where ``q_i`` is a penalty on a sample whose scores of several classes are positive.

    Parameters
    ----------
    ambient_penalty : float, default=1e-3
        Weight ``a`` of the norm of the functions.
    graph_penalty : float, default=0.1
        Weight ``g`` of the graph. With 0 there is none.
    exclusive_penalty : float, default=0.1
        Weight ``c`` of the penalty. With 0 this is :class:`LaplacianSVC`.
    exclusive : {"sum", "pairs"}, default="pairs"
        Penalty on a sample, of the positive parts ``p_m`` of its scores: ``(sum_m p_m)^2 / 2`` as in the
        paper, which also penalizes a single positive score and so makes all scores smaller; or ``sum_{m < k}
        p_m p_k``, which does not, but is not convex: the method then goes downhill from the Laplacian SVM.
    smoothing : float, default=0.01
        Positive parts are rounded off below this score.
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Loss of the labeled samples.
    %(laplacian)s
    %(class_prior_of_scores)s
    %(approximation_or_anchors)s
    %(n_components_or_anchors)s
    %(device)s
    solver : {"lbfgs", "apg", "paper"}, default="lbfgs"
        L-BFGS or accelerated gradients in the metric of the deformed kernel; "paper" is the published
        algorithm with its constant, which moves on tiny problems only.
    tol : float, default=1e-6
        Norm of the gradient relative to that of functions that are 0.
    max_iter : int, default=1000
        Maximum number of iterations.
    %(fit_settings)s

    Attributes
    ----------
    %(laplacian_)s
    multi_positive_count_ : int
        Unlabeled training samples that several classes score above ``smoothing``; below it positive scores
        are as good as 0, and crowd there. With two classes there are none.
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
        require_fit(n_bytes, "the solver of exclusive classes", _SMALLER, self._device)

    def _solve_apart(self, space, rows, targets, weights):
        """The classes one by one, which the labeled rows alone decide."""
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
