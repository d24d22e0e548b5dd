"""Total variation on a graph: regularized least squares and support vector machine."""

from numbers import Real

from weakly._compat import Interval
from weakly.estimators._docstrings import fill_doc
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
