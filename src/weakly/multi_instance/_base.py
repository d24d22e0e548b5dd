"""What classifiers of bags share: bags and labels at the door, scores of bags and instances at the exit."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from weakly.estimators._base import Progress, RowEstimator, atomic_fit
from weakly.estimators._calibration import ScoredClassifier, class_codes, decisions_of, prior_temperature
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._bags import named
from weakly.multi_instance._forms import Form, check_labels, read_bags


@fill_doc
class BagClassifier(ScoredClassifier, RowEstimator):
    """One problem for two classes, or one per class against the rest; the positive side has key instances.

    A method has ``_fit_bags(bags, is_positive, progress)``, with a column of ``is_positive`` for each
    problem, and ``_score_instances(rows)``, a column each. Unless it says otherwise in ``_score_bags``, a
    bag scores what its best instance does.
    """

    _parameter_constraints: dict = {"positive_class": "no_validation", "verbose": ["verbose"]}
    _last_published = "_empty"

    @atomic_fit
    def fit(self, X, y):
        """Fit on bags with known labels.

        Parameters
        ----------
        X : Bags, list of matrices, pair (matrix, ids) or matrix
            Bags: each a matrix of instances by features, dense or sparse; or all instances with the id of the
            bag of each, sorted; or a matrix whose rows are bags of one instance. Empty bags are left out.
        y : array-like of shape (n_bags,)
            Labels of the bags, in the order of the list, or of the ids.

        %(fitted)s
        """
        bags, codes = self._check_bags(X, y)
        self.temperature_ = prior_temperature(len(self.classes_))
        self._fit_bags(bags, self._columns(codes), Progress(type(self).__name__, self.verbose))
        self._empty = self._scores_of_empty(np.bincount(codes, minlength=len(self.classes_)))
        return self

    def _check_bags(self, X, y):
        """Bags that have instances, and the codes of their classes."""
        self._require_labels(y)
        given = read_bags(X)
        bags = given.bags.with_rows(self._check_features(given.bags.rows))
        y = column_or_1d(y, warn=True)
        check_labels(given, y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs two classes at least: y holds 1 class.")
        self._choose_positive()
        return self._without_empty(bags, codes)

    def _choose_positive(self):
        self.positive_class_ = self.classes_[1] if len(self.classes_) == 2 else None
        if self.positive_class is None:
            return
        if len(self.classes_) > 2:
            raise ValueError(
                f"positive_class={self.positive_class!r} needs y of two classes and there are "
                f"{len(self.classes_)}: with more, each is the positive one in turn."
            )
        self.positive_class_ = self.classes_[self._code_of(self.positive_class, "positive_class")]

    def _code_of(self, label, name):
        codes = np.flatnonzero(self.classes_ == label) if np.ndim(label) == 0 else []
        if len(codes) != 1:
            raise ValueError(f"{name}={label!r} is not among the classes: {self.classes_}.")
        return codes[0]

    def _without_empty(self, bags, codes):
        filled = bags.sizes > 0
        if filled.all():
            return bags, codes
        lost = np.setdiff1d(codes, codes[filled])
        if len(lost):
            raise ValueError(f"All bags of class {named(self.classes_[lost[0]])} are empty: add instances.")
        if self.positive_class_ is None or (self.classes_[codes[~filled]] == self.positive_class_).any():
            warnings.warn(
                f"{np.count_nonzero(~filled)} bags have no instances and are left out, the first of them bag "
                f"{named(bags.ids[~filled][0])}: nothing in them can make a bag positive.",
                UserWarning,
                stacklevel=5,
            )
        return bags[filled], codes[filled]

    def _columns(self, codes):
        """Which bags are positive, for each problem."""
        if len(self.classes_) == 2:
            return (self.classes_[codes] == self.positive_class_)[:, None]
        return codes[:, None] == np.arange(len(self.classes_))

    def _scores_of_empty(self, counts):
        """Of two classes an empty bag is negative, with the margin; of more, only their shares are known."""
        if len(self.classes_) == 2:
            return np.array([-1.0])
        return decisions_of(counts / counts.sum(), self.temperature_)

    def _score_bags(self, bags):
        """Scores of bags that are not empty, a column for each problem."""
        return np.maximum.reduceat(self._score_instances(bags.rows), bags.offsets[:-1], axis=0)

    def _decisions(self, X):
        scores = self._all_scores(self._read_new(X).bags)
        return scores if self.positive_class_ is None else self._toward_second(scores)

    def _read_new(self, X):
        check_is_fitted(self, self._last_published)
        given = read_bags(X)
        if not given.bags.rows.shape[0] and given.form is Form.BAGS:  # nothing to check
            return given
        return given._replace(bags=given.bags.with_rows(self._check_new(given.bags.rows)))

    def _all_scores(self, bags):
        filled = bags.sizes > 0
        if len(bags) and filled.all():
            return self._score_bags(bags)
        scores = np.tile(self._empty, (len(bags), 1))
        if filled.any():
            scores[filled] = self._score_bags(bags[filled])
        return scores

    def _toward_second(self, scores):
        if self.positive_class_ == self.classes_[1]:
            return scores
        return np.where(scores == 0, np.finfo(scores.dtype).tiny, -scores)  # 0 is negative either way

    def instance_decision_function(self, X):
        """Score instances: positive for those that make their bag positive.

        Parameters
        ----------
        X : Bags, list of matrices, pair (matrix, ids) or matrix
            Bags, or instances.

        Returns
        -------
        list of ndarray, or ndarray of shape (n_instances,) or (n_instances, n_classes)
            Scores of the positive class, of more than two classes a column for each; an array per bag for
            ``Bags`` and lists.
        """
        given = self._read_new(X)
        scores = self._instance_scores(given.bags)
        return given.per_instance(scores[:, 0] if self.positive_class_ is not None else scores)

    def _instance_scores(self, bags):
        if not bags.rows.shape[0]:
            return np.empty((0, len(self._empty)))
        return self._score_instances(bags.rows)

    def key_instances(self, X, label=None):
        """Find the instance of each bag that most makes it what it is.

        Parameters
        ----------
        %(bags)s
        label : label or None, default=None
            Class that instances are to speak for; ``None`` is the positive one, or of more than two classes
            the predicted one of each bag.

        Returns
        -------
        ndarray of shape (n_bags,)
            Place of the instance in its bag for ``Bags`` and lists, else its row; -1 for an empty bag.
        """
        given = self._read_new(X)
        bags, scores = given.bags, self._instance_scores(given.bags)
        if self.positive_class_ is not None:
            if label is not None and self.classes_[self._code_of(label, "label")] != self.positive_class_:
                raise ValueError(
                    f"label={label!r} has no key instances: class {named(self.positive_class_)} has."
                )
            column = np.zeros(len(bags), dtype=np.intp)
        elif label is None:
            column = class_codes(self._all_scores(bags))
        else:
            column = np.full(len(bags), self._code_of(label, "label"))
        return given.places(bags.largest(scores[np.arange(len(scores)), column[bags.bag_of]]))
