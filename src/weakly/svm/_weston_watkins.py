"""Support vector machines over pairs of classes: what they share, and the one of labeled samples."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from weakly._compat import Interval, StrOptions, check_sample_weight
from weakly.estimators._base import KernelEstimator, Progress, atomic_fit
from weakly.estimators._calibration import ScoredClassifier, prior_temperature
from weakly.estimators._docstrings import fill_doc
from weakly.solvers._range import build_in_range
from weakly.svm._weston_watkins_solver import solve_weston_watkins


class PairwiseClassifier(ScoredClassifier):
    """A kernel estimator whose classes are told apart pair by pair, all at once."""

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _is_linear_always = False

    def _solve_pairs(self, space, costs, progress):
        """Publish the functions for these costs, and return their decisions on the rows of the space."""
        with progress.stage("machine"):
            result = solve_weston_watkins(
                space, costs, tol=self.tol, max_iter=self.max_iter, callback=progress.count
            )
        self._publish_pairs(result, space.function(result.x.astype(space.dtype)))
        return self._decide(space.scores(result.x))

    def _publish_pairs(self, result, function):
        if result.status in ("max_iter", "stalled"):
            warnings.warn(
                f"{type(self).__name__} ended at a relative duality gap of {result.criterion[-1]:.2g}: "
                f"centre and scale the columns, or raise max_iter (now {self.max_iter}) or tol (now "
                f"{self.tol:.2g}).",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.result_ = result
        self.n_iter_ = result.n_iter
        self.temperature_ = prior_temperature(result.x.shape[1])
        self._function = function

    def _decisions(self, X):
        return self._decide(self._score(X))

    def _decide(self, scores):
        """Classes at the margin differ by 2, as +1 and -1 do; of two classes the second says all."""
        scores = 2 * (scores + self.result_.intercept.astype(scores.dtype))
        return scores[:, 1:] if scores.shape[1] == 2 else scores


@fill_doc
class WestonWatkinsSVC(PairwiseClassifier, KernelEstimator):
    """Support vector machine of all classes at once, from labeled samples.

    The functions ``f_p`` of the classes, each with an intercept that is part of its norm, minimize ::

        sum_p ||f_p||^2 / 2  +  C sum_i sum_{q != y_i} max(1 - (f_{y_i}(x_i) - f_q(x_i)), 0)

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a sample.
    %(kernel)s
        With "linear" passes over the entries of the samples do all the work, without a Gram matrix, unless
        samples are dense and fewer than features.
    gamma : float or {"median", "scale", "mean-distance"}, default="scale"
        %(gamma)s
    %(polynomial)s
    %(approximation)s
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of the samples of each class; "balanced" is inverse to their number.
    tol : float, default=1e-3
        Largest duality gap relative to the objective.
    max_iter : int, default=10000
        Maximum number of passes over the samples.
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(temperature_)s
    %(features_in_)s
    %(kernel_)s
    %(result_)s

    See Also
    --------
    ProbabilisticLabelSVC : The same SVM on samples that are mostly unlabeled.

    Notes
    -----
    The SVM of [weston1998]_, with the intercepts in the norm, by dual coordinate descent over pairs of
    classes.

    References
    ----------
    .. [weston1998] J. Weston, C. Watkins, "Multi-class support vector machines", technical report
       CSD-TR-98-04, Royal Holloway, University of London, 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weakly import WestonWatkinsSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(WestonWatkinsSVC(kernel="linear").fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        **PairwiseClassifier._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        class_weight=None,
        tol=1e-3,
        max_iter=10_000,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled samples.

        Parameters
        ----------
        %(X)s
        y : array-like of shape (n_samples,)
            Labels of all samples; -1 is a label like any other.
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of the cost of each sample.

        %(fitted)s
        """
        X = self._check_rows(X, y)
        weights = check_sample_weight(sample_weight, X)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}: labels of at least 2 are needed.")
        class_weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        costs = np.zeros((len(codes), len(self.classes_)))
        costs[np.arange(len(codes)), codes] = self.C * weights * class_weights[codes]
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("space"):
            space = build_in_range(lambda: self._space(X), X.dtype)
        self._solve_pairs(space, costs, progress)
        return self
