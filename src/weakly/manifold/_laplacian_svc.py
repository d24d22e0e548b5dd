"""Laplacian support vector machines: classes one by one, and classes that exclude each other."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._base import LaplacianClassifierBase, SimplexClassifierBase, direct_bytes
from weakly.manifold._charged_rows import BlockOthers
from weakly.manifold._exclusive_solver import OtherRows, solve_exclusive
from weakly.regularizers import EXCLUSIVE
from weakly.rows._arrays import dense_bytes, require_fit
from weakly.spaces import restrict, undeformed

_N_STACKS = 20  # functions that the solver holds at a time: steps and changes it remembers, and its own
_SMALLER = "set approximation='nystroem', or lower n_components"


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
        **LaplacianClassifierBase._parameter_constraints,
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
