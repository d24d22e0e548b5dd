"""Cuts of a graph that respect labels: total variation and Cheeger ratios, by least squares and by SVMs."""

from dataclasses import replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.estimators._calibration import class_codes, match_moments
from weakly.estimators._docstrings import fill_doc
from weakly.manifold._cheeger_solver import solve_cheeger
from weakly.manifold._graph_cut import GraphCutClassifierBase, normalize_columns
from weakly.manifold._labeled_step import CutDetail
from weakly.manifold._resplit import sweep_cut
from weakly.manifold._total_variation_solver import solve_total_variation

_LEAST_SHARE = 0.05  # of the rows on either side of a threshold that no class prior sets


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


@fill_doc
class TotalVariationRLSClassifier(_TotalVariationClassifier):
    """Least squares with the total variation of the scores along a graph.

    For each class, with targets +1 and -1 on the labeled samples, the scores ``f`` lower ::

        sum_labeled (y_i - f_i)^2 / 2  +  a/2 ||f||^2  +  g sum_edges w_ij |f_i - f_j|

    over the functions of a kernel, with the mean and the variance of classes and, for more than two, samples
    on the simplex. Total variation penalizes a jump by its height alone, so that scores are flat inside a
    cluster and jump where the graph is thin. With one label per class that is often all that can be known.

    Parameters
    ----------
    %(total_variation)s

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
    %(tvsvm)s
    %(calder2020)s

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


@fill_doc
class TotalVariationSVC(_TotalVariationClassifier):
    """Support vector machine with the total variation of the scores along a graph.

    For each class, with signs ``y`` on the labeled samples, the scores ``f`` lower ::

        sum_labeled max(1 - y_i (f_i + b), 0)  +  a/2 ||f||^2  +  g sum_edges w_ij |f_i - f_j|

    over the functions of a kernel, with the mean and the variance of classes and, for more than two, samples
    on the simplex.

    Parameters
    ----------
    %(total_variation)s

    See Also
    --------
    TotalVariationRLSClassifier : The same with the squared loss.
    CheegerSVC : Lowers the total variation relative to the spread of the scores.
    LaplacianSVC : Squared differences along the edges instead.

    Notes
    -----
    As :class:`TotalVariationRLSClassifier`, for Eqs. (57) and (126) of [tvsvm]_. The step on the labeled
    samples is solved in its dual, warm-started from step to step.

    References
    ----------
    %(tvsvm)s
    %(calder2020)s

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


class _CheegerClassifier(GraphCutClassifierBase):
    _parameter_constraints: dict = {
        **GraphCutClassifierBase._parameter_constraints,
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        ambient_penalty=0.01,
        *,
        coupling=0.1,
        step="auto",
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
        self.coupling = coupling
        self.step = step
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
        step = (1.0 if targets.shape[1] == 1 else 0.1) if isinstance(self.step, str) else float(self.step)
        result = solve_cheeger(
            smoother,
            self.graph_,
            rows,
            targets,
            weights,
            start,
            loss=self._step_loss,
            coupling=self.coupling,
            step=step,
            shares=self.class_prior_,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )
        is_swept = targets.shape[1] == 1 and self.class_prior is None
        end = result.detail.graph_side
        if not is_swept or self._rank(start, rows, targets) >= self._rank(end, rows, targets):
            return result
        # Steps lower the ratio of the scores, and may leave a cut with a lower one.
        return replace(result, x=smoother.parameters(start, smoother(start)), detail=CutDetail(start))

    def _rank(self, values, rows, targets):
        if values.shape[1] > 1 or self.class_prior is not None:
            return super()._rank(values, rows, targets)
        cut = sweep_cut(self.graph_, values[:, 0], rows, targets[:, 0], least_share=_LEAST_SHARE)
        return cut.n_wrong, cut.ratio

    def _graph_decisions(self, values, labels):
        if values.shape[1] > 1:
            shares = np.bincount(class_codes(values), minlength=labels.n_classes) / len(values)
            signs = 2 * values - 1
            return match_moments(signs, shares)(signs)
        if self.class_prior is not None:
            return values - np.quantile(values, self.class_prior_[0])
        signs = labels.targets()[:, 0]
        cut = sweep_cut(self.graph_, values[:, 0], labels.labeled, signs, least_share=_LEAST_SHARE)
        return values - cut.level


@fill_doc
class CheegerRLSClassifier(_CheegerClassifier):
    """Cut of a graph with few edges per sample that it separates, through given labels.

    For each class the scores ``f`` lower the Cheeger ratio ::

        sum_edges w_ij |f_i - f_j|  /  sum_i |f_i - median(f)|

    with ``f`` fixed on the labeled samples, and kept near to a function of a kernel of small norm. For an
    indicator the ratio is the weight of the edges cut over the size of the smaller part.

    Parameters
    ----------
    %(cheeger)s

    See Also
    --------
    CheegerSVC : The same with a hinge loss in every step.
    TotalVariationRLSClassifier : Total variation against a loss on the labeled samples.

    Notes
    -----
    The iteration is that of [tvsvm]_ for Eqs. (28) and (108), with signs that sum to 0, scores scaled to the
    norm of a perfect answer, and a threshold of two classes where the ratio is lowest: the median of the
    scores would part unequal classes in the middle.

    References
    ----------
    %(tvsvm)s
    %(calder2020)s

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from weakly import CheegerRLSClassifier
    >>> from weakly.model_selection import LabelDraws
    >>> X, y = load_digits(return_X_y=True)
    >>> draw = next(LabelDraws(n_per_class=2).split(X, y))
    >>> model = CheegerRLSClassifier().fit(X, draw.mask(y))
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    _step_loss = None


@fill_doc
class CheegerSVC(_CheegerClassifier):
    """Cut of a graph with few edges per sample that it separates, with an SVM in every step.

    As :class:`CheegerRLSClassifier`, but the function of a step also has a hinge loss on the labeled samples.

    Parameters
    ----------
    %(cheeger)s

    See Also
    --------
    CheegerRLSClassifier : The same without a loss.
    TotalVariationSVC : Total variation against a hinge loss on the labeled samples.

    Notes
    -----
    As :class:`CheegerRLSClassifier`, for Eqs. (79) and (138) of [tvsvm]_.

    References
    ----------
    %(tvsvm)s
    %(calder2020)s

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import CheegerSVC
    >>> from weakly.datasets import make_two_moons
    >>> moons = make_two_moons(200, noise=0.05, random_state=0)
    >>> model = CheegerSVC(n_neighbors=10).fit(moons.X, moons.y_partial)
    >>> bool(np.mean(model.transduction_ == moons.y) > 0.9)
    True
    """

    _step_loss = "hinge"
