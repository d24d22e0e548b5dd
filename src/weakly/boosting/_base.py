"""What the boosting classifiers share: rows at the door, weak learners, and scores of new rows."""

from numbers import Integral, Real

import joblib
import numpy as np
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from weakly._compat import Interval, StrOptions, check_sample_weight
from weakly.boosting._boost import boost, start
from weakly.boosting._forest import TreeRules
from weakly.boosting._learners import EstimatorLearner, TreeLearner
from weakly.boosting._objectives import class_order
from weakly.estimators._base import Progress, RowEstimator, atomic_fit, refuse_collection
from weakly.estimators._calibration import ScoredClassifier, fit_temperature, prior_temperature, probabilities
from weakly.estimators._docstrings import fill_doc
from weakly.rows._labels import encode_labels

PRIOR_CONSTRAINTS: dict = {
    "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"labeled"})],
    "prior": [StrOptions({"graph", "kmeans"}), "array-like", callable],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "smoothing": [Interval(Real, 0, None, closed="neither"), None],
}


def count_hidden(labels, weights):
    """Number of unlabeled rows that have a weight."""
    return int(np.sum((labels.codes < 0) & (weights > 0)))


def alpha_of(alpha, labels, weights):
    """Weight of unlabeled rows: as given or, for "labeled", the share of labels; 0 if there are none."""
    n_labeled, n_hidden = len(labels.labeled), count_hidden(labels, weights)
    if not n_hidden:
        return 0.0
    return n_labeled / (n_labeled + n_hidden) if isinstance(alpha, str) else float(alpha)


@fill_doc
class BoostingClassifier(ScoredClassifier, RowEstimator):
    """Parameters of rounds and of trees, and what is published of them."""

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [
            StrOptions({"sqrt"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "splitter": [StrOptions({"random", "best"})],
        "criterion": [StrOptions({"gini", "error"})],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "estimator": "no_validation",
        "response": [StrOptions({"soft", "hard"})],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "warm_start": ["boolean"],
        "unlabeled": "no_validation",
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    _last_published = "_ensembles"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return tags

    def _check_features(self, X, **how):
        refuse_collection(self, X)
        finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        return validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=finite, **how)

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. Missing entries (``NaN``) are a value of their own.
        %(y)s
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of the loss of each sample. 0 makes a sample unlabeled, and of no weight.

        %(fitted)s
        """
        X, labels, weights = self._check_problem(X, y, sample_weight)
        progress = Progress(type(self).__name__, self.verbose)
        problem = self._problem_of(X, labels, weights) if self.warm_start else None
        if not self._goes_on(problem):
            self.classes_ = labels.classes
            self._seed = int(check_random_state(self.random_state).randint(2**31))
            known = X[labels.labeled], labels.labeled_codes, weights[labels.labeled]
            self._order = class_order(*known, labels.n_classes)
            with progress.stage("bins"):
                self._learner = self._make_learner(X[weights > 0])
            self._ensembles = None
        data = self._learner.prepare(X)
        scores = self._boost(X, y, labels, weights.astype(np.float64), data, progress)
        self._publish(scores)
        self._problem = problem
        return self

    def _check_problem(self, X, y, sample_weight):
        """Parameters, samples and labels, before any work."""
        self._require_labels(y)
        if self.n_iter_no_change is not None and self.max_samples is None:
            raise ValueError(
                "n_iter_no_change watches labelled rows that trees did not draw, and max_samples=None draws "
                "all: set max_samples."
            )
        X = self._check_features(X, ensure_min_samples=2)
        check_consistent_length(X, y)
        weights = check_sample_weight(sample_weight, X)
        return X, encode_labels(y, unlabeled=self.unlabeled, weights=weights), weights

    def _problem_of(self, X, labels, weights):
        """What a fit depends on, but for the number of rounds."""
        free = ("n_estimators", "n_iter_no_change", "tol", "verbose")
        settings = {key: value for key, value in self.get_params().items() if key not in free}
        function = settings.pop("prior", None) if callable(settings.get("prior")) else None  # has no hash
        return joblib.hash([X, labels.classes, labels.codes, weights, settings]), function

    def _goes_on(self, problem):
        """Whether to add rounds to those of the last fit, which was of the same problem."""
        before, self._problem = getattr(self, "_problem", None), None  # and so it stays if the fit fails
        if problem is None or before != problem:
            return False
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators is {self.n_estimators} and the last fit had {self.n_estimators_}: with "
                "warm_start it can only grow."
            )
        return True

    def _make_learner(self, X):
        if self.estimator is not None:
            return EstimatorLearner(self.estimator, self.max_samples)
        rules = TreeRules(
            n_trees=self.n_trees,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self._n_features_tried(X.shape[1]),
            is_gini=self.criterion == "gini",
            is_exhaustive=self.splitter == "best",
        )
        return TreeLearner(X, rules, self.max_samples)

    def _n_features_tried(self, n_features):
        if self.max_features is None:
            return n_features
        if self.max_features == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if isinstance(self.max_features, Integral):
            return min(self.max_features, n_features)
        return max(1, int(self.max_features * n_features))

    def _rounds(self, data, objective, n_classes, progress, *, problem=0, before=None, step=None, share=1):
        """Rounds of one problem, on from ``before`` if given."""
        # Problems of a class against the rest have columns of their own.
        order = self._order if n_classes == len(self._order) else np.arange(n_classes)
        ensemble = before.copy() if before else start(objective.codes, order, self.response)
        boost(
            ensemble,
            self._learner,
            data,
            objective,
            n_rounds=max(1, int(share * self.n_estimators)),
            step=step or float(self.learning_rate),
            seed=(self._seed, problem),
            patience=self.n_iter_no_change,
            tol=self.tol,
            callback=progress.count,
        )
        return progress.watch(ensemble)

    def _rounds_on_labels(self, objective, data, labels, progress, n_classes=None, **how):
        """Rounds on labeled rows alone; return scores of all rows too."""
        is_all = len(labels.labeled) == len(labels.codes)
        rows = data if is_all else data[labels.labeled]
        ensemble = self._rounds(rows, objective, n_classes or labels.n_classes, progress, **how)
        return ensemble, ensemble.scores if is_all else ensemble.decide(data)

    def _publish(self, scores):
        decisions = self._columns(scores)
        self.n_estimators_ = max(len(ensemble.models) for ensemble in self._ensembles)
        self.transduction_ = self._labels_of(decisions)
        self.label_distributions_ = probabilities(decisions, self.temperature_)

    def _columns(self, scores):
        """Decisions from scores: those of the second of two classes are the opposite of the first's."""
        return scores[:, 1:] if scores.shape[1] == 2 else scores

    def _calibrated(self, ensemble, codes):
        """Temperature by labeled rows that trees did not see; about 1 if they are few."""
        rows, scores = ensemble.held_out()
        usual = prior_temperature(ensemble.n_classes)
        return fit_temperature(self._columns(scores) / usual, codes[rows]) / usual

    def _prepared(self, X):
        """New rows as the learner reads them, and their type."""
        check_is_fitted(self, "_ensembles")
        X = self._check_features(X, reset=False)
        return self._learner.prepare(X), X.dtype

    def _decisions(self, X):
        data, dtype = self._prepared(X)
        return self._columns(self._scores(data)).astype(dtype, copy=False)

    def _scores(self, data):
        return self._ensembles[0].decide(data)

    def _stages(self, data):
        yield from self._ensembles[0].stages(data)

    def _staged(self, X):
        data, dtype = self._prepared(X)
        return (self._columns(scores).astype(dtype) for scores in self._stages(data))

    def staged_decision_function(self, X):
        """Score samples after each round.

        %(staged)s
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As ``decision_function`` gives them after the last.
        """
        for decisions in self._staged(X):
            yield decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def staged_predict(self, X):
        """Predict the class of samples after each round.

        %(staged)s
        ndarray of shape (n_samples,)
            Labels.
        """
        yield from map(self._labels_of, self._staged(X))

    @property
    def feature_importances_(self):
        """Share of each feature in the gains of all splits; of an ``estimator``, the mean of its own."""
        check_is_fitted(self, "_ensembles")
        models = [model for ensemble in self._ensembles for model in ensemble.models]
        if self.estimator is not None:
            missing = [model for model in models if not hasattr(model.estimator, "feature_importances_")]
            if missing:
                raise AttributeError(f"{type(self.estimator).__name__} has no feature_importances_.")
            gains = sum(model.estimator.feature_importances_ for model in models)
        else:
            gains = sum(model.gains for model in models)
        return gains / gains.sum() if gains.sum() > 0 else gains
