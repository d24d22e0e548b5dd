"""Multi-class semi-supervised boosting with a prior for every row."""

from numbers import Integral, Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.boosting._base import PRIOR_CONSTRAINTS, BoostingClassifier, alpha_of, count_hidden
from weakly.boosting._boost import RESPONSES
from weakly.boosting._objectives import PriorObjective
from weakly.boosting._priors import comparable_rows, find_prior, prior_graph, smoothed_prior
from weakly.estimators._calibration import match_confidence, probabilities
from weakly.estimators._docstrings import fill_doc

_SHARE = 0.3  # of the rounds, for a run that only teaches another


@fill_doc
class RMSBoostClassifier(BoostingClassifier):
    """Multi-class boosting of trees, with a prior and a margin for unlabeled samples.

    Scores ``f`` of the classes, whose softmax are probabilities, are the sum of weak classifiers, each fitted
    to the steepest descent of ::

        sum_labeled exp(-f_y)  +  alpha sum_unlabeled KL(prior, softmax f)  +
        beta sum_unlabeled max(0, margin - max_i f_i)

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds.
    learning_rate : float, default=0.1
        Factor of each weak classifier.
    alpha : float or "labeled", default="labeled"
        Weight of the prior of unlabeled samples; "labeled" is the fraction of labeled samples. 0 with
        ``beta=0`` is supervised boosting of the labeled samples, RM-Boost.
    beta : float or "tenth", default="tenth"
        Weight of the margin of unlabeled samples; "tenth" is a tenth of ``alpha``.
    margin : float or "auto", default="auto"
        Score above which the margin term rests; "auto" is half of the highest that the rounds can reach,
        ``learning_rate * n_estimators / 2``.
    warm_up : int, default=10
        Rounds before the margin term comes in. In the first all scores are equal, and it would favor one
        class everywhere.
    prior : {"staged", "graph", "kmeans"}, array-like of shape (n_samples, n_classes) or callable, \
default="staged"
        Probabilities of the classes of each sample, columns in sorted order. "kmeans" counts labels in
        clusters, "graph" walks along neighbors to labels, "staged" averages over neighbors what supervised
        boosting says. A callable takes ``X`` and ``y`` as they came; partial functions of ``kmeans_prior``
        and ``graph_prior`` are such.
    n_stages : int, default=2
        Priors one after the other in "staged"; each but the first is from a semi-supervised run, of fewer
        rounds, with the one before.
    %(prior_settings)s
    response : {"soft", "hard", "steepest"}, default="soft"
        What a weak classifier adds: its probabilities, 1 for its class, or the mean of trees whose leaves
        each have the class of steepest descent.
    %(boosting)s

    Attributes
    ----------
    %(classes_)s
    %(prior_)s
    %(transductive_)s
    %(temperature_)s
        It is fitted to labeled samples held out of trees in supervised boosting; with "staged" it is such
        that probabilities are on average as sure as those of the supervised stage, which is cautious; else it
        is 1, as in [rmsboost]_.
    n_estimators_ : int
        Number of rounds done.
    %(features_in_)s
    result_ : SolverResult
        %(rounds_)s

    See Also
    --------
    SERBoostClassifier : One class against the rest, with expected labels.
    AdaBoostMLClassifier : Supervised, with the logistic loss and a search for the step.

    Notes
    -----
    The method of [rmsboost]_, which has ``prior="kmeans"``, ``smoothing=50``, ``response="hard"`` and 10,000
    rounds.

    References
    ----------
    .. [rmsboost] A. Saffari, C. Leistner, H. Bischof, "Regularized multi-class semi-supervised boosting",
       IEEE Conference on Computer Vision and Pattern Recognition, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from weakly import RMSBoostClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> partial = np.full(len(y), -1)
    >>> partial[:60] = y[:60]
    >>> boost = RMSBoostClassifier(random_state=0).fit(X, partial)
    >>> supervised = RMSBoostClassifier(alpha=0, beta=0, random_state=0).fit(X, partial)
    >>> bool(np.mean(boost.transduction_ == y) > np.mean(supervised.transduction_ == y) + 0.05)
    True
    """

    _parameter_constraints: dict = {
        **BoostingClassifier._parameter_constraints,
        **PRIOR_CONSTRAINTS,
        "beta": [Interval(Real, 0, None, closed="left"), StrOptions({"tenth"})],
        "margin": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "warm_up": [Interval(Integral, 0, None, closed="left")],
        "prior": [StrOptions({"staged", "graph", "kmeans"}), "array-like", callable],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "response": [StrOptions(set(RESPONSES))],
    }

    def __init__(
        self,
        n_estimators=50,
        *,
        learning_rate=0.1,
        alpha="labeled",
        beta="tenth",
        margin="auto",
        warm_up=10,
        prior="staged",
        n_stages=2,
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
        self.beta = beta
        self.margin = margin
        self.warm_up = warm_up
        self.prior = prior
        self.n_stages = n_stages
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

    def _make_learner(self, X):
        if self.response == "steepest" and self.estimator is not None:
            raise ValueError(
                "response='steepest' needs leaves, which an estimator does not show: use 'soft'."
            )
        return super()._make_learner(X)

    def _boost(self, X, y, labels, weights, data, progress):
        before = self._ensembles[0] if self._ensembles else None
        if self._weights_of_terms(labels, weights) == (0, 0):
            with progress.stage("rounds"):
                ensemble, scores = self._teach(data, labels, weights, progress, before=before)
            self.prior_, self.temperature_ = None, self._calibrated(ensemble, labels.labeled_codes)
        else:
            if before is None:
                with progress.stage("prior"):
                    self.prior_, self._confidence = self._find_prior(X, y, labels, weights, data, progress)
            objective = self._objective(labels, weights, self.prior_)
            with progress.stage("rounds"):
                ensemble = self._rounds(data, objective, labels.n_classes, progress, before=before)
            scores, self.temperature_ = ensemble.scores, self._cautious(ensemble, labels)
        self._ensembles, self.result_ = [ensemble], ensemble.result()
        return scores

    def _weights_of_terms(self, labels, weights):
        """Numbers for ``alpha`` and ``beta``; both 0 where no unlabeled row has a weight."""
        if not count_hidden(labels, weights):
            return 0.0, 0.0
        alpha = alpha_of(self.alpha, labels, weights)
        return alpha, 0.1 * alpha if isinstance(self.beta, str) else float(self.beta)

    def _cautious(self, ensemble, labels):
        """Temperature at which unlabeled rows held out are as sure as in the supervised stage."""
        free, scores = ensemble.held_out()
        hidden = free >= len(labels.labeled)
        if self._confidence is None or not hidden.any():
            return 1.0
        return match_confidence(self._columns(scores[hidden]), self._confidence)

    def _objective(self, labels, weights, prior):
        margin = self.learning_rate * self.n_estimators / 2 if isinstance(self.margin, str) else self.margin
        alpha, beta = self._weights_of_terms(labels, weights)
        prior = np.zeros((len(labels.codes), labels.n_classes)) if prior is None else prior
        return PriorObjective(labels.codes, weights, prior, alpha, beta, margin, self.warm_up, self._order)

    def _teach(self, data, labels, weights, progress, **how):
        """Supervised boosting, without the terms of unlabeled rows; return scores of all rows too."""
        no_prior = np.zeros((len(labels.labeled), labels.n_classes))
        objective = PriorObjective(labels.labeled_codes, weights[labels.labeled], no_prior)
        return self._rounds_on_labels(objective, data, labels, progress, **how)

    def _find_prior(self, X, y, labels, weights, data, progress):
        """The prior, and how sure held-out labels say one may be on average, if they do."""
        if alpha_of(self.alpha, labels, weights) == 0:
            return None, None
        if isinstance(self.prior, str) and self.prior == "staged":
            return self._staged_prior(X, labels, weights, data, progress)
        return find_prior(self.prior, X, y, labels, self.n_neighbors, self.smoothing, self._seed), None

    def _staged_prior(self, X, labels, weights, data, progress):
        """Supervised boosting, smoothed on a graph, teaches a semi-supervised run, which does so in turn."""
        graph = prior_graph(comparable_rows(X, labels), self.n_neighbors, self._seed)
        teacher, scores = self._teach(data, labels, weights, progress, problem=1)
        _refuse_half(teacher)
        temperature = self._calibrated(teacher, labels.labeled_codes)
        posterior = probabilities(self._columns(scores), temperature)
        confidence = posterior[labels.codes < 0].max(axis=1).mean()
        prior = smoothed_prior(posterior, labels, graph)
        for stage in range(1, self.n_stages):
            objective = self._objective(labels, weights, prior)
            ensemble = self._rounds(
                data, objective, labels.n_classes, progress, problem=stage + 1, share=_SHARE
            )
            _refuse_half(ensemble)
            # Scores grow with the rounds.
            posterior = probabilities(self._columns(ensemble.scores), temperature / _SHARE)
            prior = smoothed_prior(posterior, labels, graph)
        return prior, confidence


def _refuse_half(teacher):
    """Pass on an interrupt: a teacher that was stopped is no model yet."""
    if teacher.status == "interrupted":
        raise KeyboardInterrupt
