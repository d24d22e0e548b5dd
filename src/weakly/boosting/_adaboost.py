"""Supervised multi-class boosting with the logistic loss."""

import numpy as np

from weakly.boosting._base import BoostingClassifier
from weakly.boosting._objectives import LogisticObjective
from weakly.estimators._docstrings import fill_doc

_LONGEST = 10.0  # step; rows that are all named rightly would want an endless one


@fill_doc
class AdaBoostMLClassifier(BoostingClassifier):
    """Multi-class boosting of trees with the logistic loss, on labeled samples.

    Scores ``f`` of the classes are the sum of weak classifiers, each fitted to samples with weights
    ``1 / (1 + exp(f_y))`` and added with the step of least loss ``sum_labeled log(1 + exp(-f_y))``.
    Unlabeled samples count for nothing but are labeled in ``transduction_``.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds.
    learning_rate : float, default=0.1
        Factor of each step.
    response : {"soft", "hard"}, default="soft"
        What a weak classifier adds: its probabilities, or 1 for its class.
    %(weak_classifiers)s
    %(unlabeled)s
    %(verbose)s
    %(random_state_of_trees)s

    Attributes
    ----------
    %(classes_)s
    %(transduction_)s
    %(label_distributions_)s
    %(temperature_)s
        It is fitted to labeled samples held out of trees.
    n_estimators_ : int
        Number of rounds done.
    %(features_in_)s
    result_ : SolverResult
        %(rounds_)s

    See Also
    --------
    RMSBoostClassifier : With the exponential loss and unlabeled samples.

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
