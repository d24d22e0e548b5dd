"""Boosting beside RMSBoost: expected labels of one class against the rest, and labeled samples alone."""

import numpy as np

from weakly.boosting._base import PRIOR_CONSTRAINTS, BoostingClassifier, alpha_of
from weakly.boosting._objectives import ExpectationObjective, LogisticObjective
from weakly.boosting._priors import find_prior
from weakly.estimators._docstrings import fill_doc

_LONGEST = 10.0  # step; rows that are all named rightly would want an endless one


@fill_doc
class SERBoostClassifier(BoostingClassifier):
    """Boosting of trees, one class against the rest, with expected labels of unlabeled samples.

    For each class a score ``F``, of two classes a single one, is the sum of weak classifiers, each fitted to
    the steepest descent of ::

        sum_labeled exp(-y F)  +  alpha sum_unlabeled exp(-q F) cosh(F)

    with labels ``y`` of +1 and -1, and ``q`` between them the label that the prior leads to expect.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds for each class.
    learning_rate : float, default=0.1
        Factor of each weak classifier.
    alpha : float or "labeled", default="labeled"
        Weight of unlabeled samples; "labeled" is the fraction of labeled samples.
    prior : {"graph", "kmeans"}, array-like of shape (n_samples, n_classes) or callable, default="graph"
        Probabilities of the classes of each sample, columns in sorted order. "kmeans" counts labels in
        clusters, "graph" walks along neighbors to labels. A callable takes ``X`` and ``y`` as they came;
        partial functions of ``kmeans_prior`` and ``graph_prior`` are such.
    %(prior_settings)s
    response : {"soft", "hard"}, default="soft"
        What a weak classifier adds: its probabilities, or 1 for its class.
    %(boosting)s

    Attributes
    ----------
    %(classes_)s
    %(prior_)s
    %(transductive_)s
    %(temperature_)s
        It is 1.
    n_estimators_ : int
        Largest number of rounds done for a class.
    %(features_in_)s
    result_ : SolverResult or list of SolverResult
        %(rounds_)s
        One for each of more than two classes.

    See Also
    --------
    RMSBoostClassifier : All classes at once, which is faster by their number.

    Notes
    -----
    The method of [serboost]_ for two classes.

    References
    ----------
    .. [serboost] A. Saffari, H. Grabner, H. Bischof, "SERBoost: semi-supervised boosting with expectation
       regularization", European Conference on Computer Vision, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from weakly import SERBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> partial = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> bool(np.mean(SERBoostClassifier(random_state=0).fit(X, partial).transduction_ == y) > 0.8)
    True
    """

    _parameter_constraints: dict = {
        **BoostingClassifier._parameter_constraints,
        **PRIOR_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators=50,
        *,
        learning_rate=0.1,
        alpha="labeled",
        prior="graph",
        n_neighbors=8,
        smoothing=None,
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
        self.alpha = alpha
        self.prior = prior
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
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
        alpha, self.temperature_ = alpha_of(self.alpha, labels, weights), 1.0
        if self._ensembles is None:
            self.prior_ = None
            if alpha > 0:
                with progress.stage("prior"):
                    self.prior_ = find_prior(
                        self.prior, X, y, labels, self.n_neighbors, self.smoothing, self._seed
                    )
        problems = [1] if labels.n_classes == 2 else range(labels.n_classes)
        before = self._ensembles or [None] * len(problems)
        self._ensembles, columns = [], []
        for positive, start in zip(problems, before, strict=True):
            with progress.stage(f"class {labels.classes[positive]}"):
                ensemble, scores = self._against_rest(positive, data, labels, weights, alpha, progress, start)
            self._ensembles.append(ensemble)
            columns.append(scores)
        results = [ensemble.result() for ensemble in self._ensembles]
        self.result_ = results[0] if len(results) == 1 else results
        return np.column_stack(columns)

    def _against_rest(self, positive, data, labels, weights, alpha, progress, before):
        """Rounds of one class against the rest; return differences of scores of all rows too."""
        codes = np.where(labels.codes < 0, -1, labels.codes == positive)
        how = {"problem": 1, "before": before}  # the same random numbers for each, whatever its name
        if self.prior_ is None:
            rows = labels.labeled
            objective = ExpectationObjective(codes[rows], weights[rows], np.zeros(len(rows)), 0.0)
            ensemble, scores = self._rounds_on_labels(objective, data, labels, progress, n_classes=2, **how)
        else:
            objective = ExpectationObjective(codes, weights, 2 * self.prior_[:, positive] - 1, alpha)
            ensemble = self._rounds(data, objective, 2, progress, **how)
            scores = ensemble.scores
        return ensemble, _difference(scores)

    def _columns(self, scores):
        return scores

    def _stages(self, data):
        """Differences of scores after each round, of classes that stopped early after their last."""
        streams = [ensemble.stages(data) for ensemble in self._ensembles]
        columns = [np.zeros(len(data)) for _ in streams]
        for _ in range(self.n_estimators_):
            for k, stream in enumerate(streams):
                scores = next(stream, None)
                if scores is not None:
                    columns[k] = _difference(scores)
            yield np.column_stack(columns)

    def _scores(self, data):
        return np.column_stack([_difference(ensemble.decide(data)) for ensemble in self._ensembles])


def _difference(scores):
    """``F`` of a class against the rest."""
    return scores[:, 1] - scores[:, 0]


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
    %(boosting)s

    Attributes
    ----------
    %(classes_)s
    %(transductive_)s
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
