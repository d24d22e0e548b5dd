"""Supervised multi-class boosting with the logistic loss."""

import numpy as np

from weakly.boosting._base import BoostingClassifier
from weakly.boosting._objectives import LogisticObjective

_LONGEST = 10.0  # step; rows that are all named rightly would want an endless one


class AdaBoostMLClassifier(BoostingClassifier):
    """Multi-class boosting of trees with the logistic loss, on labelled rows.

    Scores ``f`` of the classes are the sum of weak classifiers, each fitted to rows with weights
    ``1 / (1 + exp(f_y))`` and added with the step of least loss ``sum_labeled log(1 + exp(-f_y))``.
    Unlabelled rows count for nothing but are labelled in ``transduction_``.

    Parameters
    ----------
    n_estimators : int, default=50
        Rounds.
    learning_rate : float, default=0.1
        Factor of each step.
    response : {"soft", "hard"}, default="soft"
        What a weak classifier adds: its probabilities, or 1 for its class.
    n_trees : int, default=10
        Trees of a weak classifier.
    max_depth : int or None, default=None
        Most splits on the way to a leaf.
    min_samples_leaf : int, default=1
        Fewest different rows in a leaf.
    max_features : "sqrt", int, float or None, default="sqrt"
        Features tried at a split: the root of their number, a number, a share, or all.
    splitter : {"random", "best"}, default="random"
        One random cut of each feature tried, or the best of all.
    criterion : {"gini", "error"}, default="gini"
        Splits are chosen by purity, or by the weight of wrongly named rows.
    max_samples : int or None, default=4000
        Most rows drawn for a tree, in proportion to their weights, and never more than twice as many as there
        are; ``None`` takes all rows with their weights, and holds none out.
    estimator : classifier or None, default=None
        Weak classifier in place of the trees; its ``fit`` takes ``sample_weight``. It is given rows and
        missing entries as they are.
    n_iter_no_change : int or None, default=None
        Stop after this many rounds without a lower loss of labelled rows that trees did not see.
    tol : float, default=0.0
        By how much lower, relative to the lowest.
    warm_start : bool, default=False
        Add rounds to those of the last fit, if rows, labels and all other parameters are the same; else
        begin anew.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    verbose : int, default=0
        1 shows stages and rounds.
    random_state : int, RandomState or None, default=None
        Draws rows and splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Their probabilities.
    temperature_ : float
        Factor between decisions and the logits of the probabilities, fitted to labelled rows held out of
        trees.
    n_estimators_ : int
        Rounds done.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    result_ : SolverResult
        Loss before and after each round; the criterion is the sum of all weights, relative to that before
        the first.

    See Also
    --------
    RMSBoostClassifier : With the exponential loss and unlabelled rows.

    Notes
    -----
    The method of [adaboostml]_, with a shortened step.

    References
    ----------
    .. [adaboostml] H. Zou, J. Zhu, T. Hastie, "New multicategory boosting algorithms based on multicategory
       Fisher-consistent losses", Annals of Applied Statistics 2(4), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weakly import AdaBoostMLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostMLClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parameter_constraints: dict = {**BoostingClassifier._parameter_constraints}

    def __init__(
        self,
        n_estimators=50,
        *,
        learning_rate=0.1,
        response="soft",
        n_trees=10,
        max_depth=None,
        min_samples_leaf=1,
        max_features="sqrt",
        splitter="random",
        criterion="gini",
        max_samples=4000,
        estimator=None,
        n_iter_no_change=None,
        tol=0.0,
        warm_start=False,
        unlabeled="auto",
        verbose=0,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.response = response
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.splitter = splitter
        self.criterion = criterion
        self.max_samples = max_samples
        self.estimator = estimator
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.random_state = random_state

    def _boost(self, X, y, labels, weights, data, progress):
        objective = LogisticObjective(labels.labeled_codes, weights[labels.labeled])
        # A weak classifier of [adaboostml] is sqrt(C / (C - 1)) times ours, which scales the step only.
        unit = np.sqrt(labels.n_classes / (labels.n_classes - 1))

        def step(scores, response):
            return self.learning_rate * unit * objective.best_step(scores, unit * response, _LONGEST)

        with progress.stage("rounds"):
            before = self._ensembles[0] if self._ensembles else None
            ensemble, scores = self._rounds_on_labels(
                objective, data, labels, progress, before=before, step=step
            )
        self.temperature_ = self._calibrated(ensemble, labels.labeled_codes)
        self._ensembles, self.result_ = [ensemble], ensemble.result()
        return scores
