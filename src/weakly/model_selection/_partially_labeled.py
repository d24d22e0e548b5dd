"""Meta-estimators of scikit-learn on partially labeled data."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from weakly.estimators._docstrings import fill_doc
from weakly.rows._labels import encode_labels
from weakly.rows._selection import samples_of, take_labeled


def _can(method):
    """Whether the meta-estimator, fitted or not, has a method."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class _Around(ClassifierMixin, BaseEstimator):
    """What takes sparse samples where the estimator inside does."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


@fill_doc
class PartiallyLabeled(MetaEstimatorMixin, _Around):
    """Fit a meta-estimator of scikit-learn on partially labeled data.

    Voting, stacking, bagging, one-vs-rest, calibration and the like know nothing of unlabeled samples: they
    would make a class of the marker. Here they see the labeled samples only, and every semi-supervised
    classifier inside them gets the unlabeled samples beside those that it is given.

    Parameters
    ----------
    estimator : classifier
        A meta-estimator around classifiers that have the parameter ``unlabeled``, or around pipelines that
        end in one. Supervised classifiers beside them learn from the labeled samples.
    %(unlabeled)s

    Attributes
    ----------
    estimator_ : classifier
        The fitted meta-estimator.
    %(classes_)s
    %(transduction_)s
    %(features_in_)s

    See Also
    --------
    PartiallyLabeledKFold : For grid searches and cross-validation, which need no wrapper.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import VotingClassifier
    >>> from sklearn.svm import SVC
    >>> from weakly import LaplacianSVC, ProbabilisticLabelSVC
    >>> from weakly.model_selection import PartiallyLabeled
    >>> X, truth = load_iris(return_X_y=True)
    >>> y = np.full(150, -1)
    >>> y[::15] = truth[::15]
    >>> members = [("graph", LaplacianSVC()), ("walk", ProbabilisticLabelSVC()), ("labels", SVC())]
    >>> model = PartiallyLabeled(VotingClassifier(members)).fit(X, y)
    >>> model.classes_.tolist(), bool(np.mean(model.transduction_ == truth) > 0.9)
    ([0, 1, 2], True)
    """

    def __init__(self, estimator, *, unlabeled="auto"):
        self.estimator = estimator
        self.unlabeled = unlabeled

    def fit(self, X, y):
        """Fit the meta-estimator on the labeled samples, its members on the unlabeled ones as well.

        Parameters
        ----------
        %(samples)s
        %(y)s

        %(fitted)s
        """
        X = self._read(X)
        check_consistent_length(X, y)
        labels = encode_labels(y, unlabeled=self.unlabeled)
        pool = _Pool(samples_of(X, np.flatnonzero(labels.codes < 0)))
        meta, n_members = _with_pool(clone(self.estimator), pool)
        if not n_members:
            raise ValueError(
                f"estimator={self.estimator!r} has no member with the parameter `unlabeled`: fit it on the "
                "labeled samples alone, or give it a semi-supervised one."
            )
        known = labels.classes[labels.labeled_codes]
        self.estimator_ = meta.fit(samples_of(X, labels.labeled), known)
        pool.X = None  # fitted members do not need it, and need not take it along
        self.classes_ = labels.classes
        self.transduction_ = self.estimator_.predict(X)
        return self

    def predict(self, X):
        """Predict the class of samples.

        %(of_samples)s
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._ask("predict", X)

    @_can("predict_proba")
    @fill_doc
    def predict_proba(self, X):
        """Estimate class probabilities.

        %(of_samples)s
        ndarray of shape (n_samples, n_classes)
            As the meta-estimator gives them.
        """
        return self._ask("predict_proba", X)

    @_can("decision_function")
    @fill_doc
    def decision_function(self, X):
        """Score samples.

        %(of_samples)s
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the meta-estimator gives them.
        """
        return self._ask("decision_function", X)

    def score(self, X, y, sample_weight=None):
        """Accuracy on the labeled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,)
            True labels; samples with the marker of ``unlabeled`` are left out.
        %(accuracy)s
        """
        return super().score(*take_labeled(X, y, sample_weight, unlabeled=self.unlabeled))

    def _ask(self, method, X):
        check_is_fitted(self, "estimator_")
        return getattr(self.estimator_, method)(self._read(X, reset=False))

    def _read(self, X, reset=True):
        """Samples in a container that rows can be taken of; what they hold is for the members to check."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if sp.issparse(X):
            return X.tocsr()
        return X if hasattr(X, "iloc") else check_array(X, dtype=None, ensure_all_finite="allow-nan")


class _Pool:
    """The unlabeled samples, which all members share: scikit-learn copies what it clones."""

    def __init__(self, X):
        self.X = X

    def __deepcopy__(self, memo):
        return self


class _Member(_Around):
    """A semi-supervised classifier as a supervised one: it brings the unlabeled samples along."""

    def __init__(self, estimator, pool):
        self.estimator = estimator
        self.pool = pool

    def fit(self, X, y):
        return self._fit(X, y)

    def _fit(self, X, y, **weights):
        unlabeled = self.pool.X
        if X.shape[1] != unlabeled.shape[1]:
            raise ValueError(
                f"a member was given {X.shape[1]} of {unlabeled.shape[1]} features, and the unlabeled "
                "samples have all: let all members see all features (max_features=1.0)."
            )
        self._names, codes = np.unique(y, return_inverse=True)
        partial = np.concatenate([codes, np.full(unlabeled.shape[0], -1)])
        marker = dict.fromkeys(_markers(self.estimator), -1)
        estimator = clone(self.estimator).set_params(**marker)
        self.estimator_ = estimator.fit(_stacked(X, unlabeled), partial, **weights)
        self.classes_ = self._names[self.estimator_.classes_]
        return self

    def predict(self, X):
        return self._names[self.estimator_.predict(X)]

    @_can("predict_proba")
    def predict_proba(self, X):
        return self.estimator_.predict_proba(X)

    @_can("decision_function")
    def decision_function(self, X):
        return self.estimator_.decision_function(X)


class _WeightedMember(_Member):
    """The same for a classifier that takes weights; without one a labeled sample counts as unlabeled."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is None:
            return self._fit(X, y)
        weights = np.concatenate([sample_weight, np.ones(self.pool.X.shape[0])])
        return self._fit(X, y, sample_weight=weights)


def _stacked(X, unlabeled):
    """All samples in the container of the labeled ones, which a meta-estimator may have changed."""
    if hasattr(X, "iloc"):
        import pandas as pd  # which made the frame

        return pd.concat([X, unlabeled])
    if sp.issparse(X):
        return sp.vstack([X, unlabeled], format="csr")
    return np.vstack([X, unlabeled])


def _markers(estimator):
    """Names of the parameters ``unlabeled`` of a classifier or of the last step of a pipeline."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return [f"{name}__{marker}" for marker in _markers(last)]
    has_marker = hasattr(estimator, "get_params") and "unlabeled" in estimator.get_params(deep=False)
    return ["unlabeled"] if has_marker else []


def _with_pool(estimator, pool):
    """The estimator with its semi-supervised members bound to the pool, and their number."""
    if _markers(estimator):
        is_weighted = has_fit_parameter(estimator, "sample_weight")
        return (_WeightedMember if is_weighted else _Member)(estimator, pool), 1
    _refuse(estimator)
    n_members = 0
    for name, value in estimator.get_params(deep=True).items() if hasattr(estimator, "get_params") else ():
        if "__" not in name and hasattr(value, "get_params"):
            bound, n_bound = _with_pool(value, pool)
            if n_bound:
                _refuse_place(estimator, name)
                estimator.set_params(**{name: bound})
            n_members += n_bound
    return estimator, n_members


def _refuse(estimator):
    if hasattr(estimator, "refit") and hasattr(estimator, "cv"):
        raise ValueError(
            f"{type(estimator).__name__} needs no wrapper: fit it on partially labeled y with "
            "cv=PartiallyLabeledKFold()."
        )
    if getattr(estimator, "bootstrap_features", False):
        raise ValueError(
            "bootstrap_features=True shows members other features than the unlabeled samples have: set it "
            "to False."
        )


def _refuse_place(estimator, name):
    """Members behind transformers, or behind other members, have no unlabeled samples of their kind."""
    if isinstance(estimator, Pipeline):
        raise ValueError(
            "the unlabeled samples would not pass the transformers of the pipeline around a meta-estimator: "
            "write make_pipeline(StandardScaler(), PartiallyLabeled(...)), or put pipelines into the members."
        )
    if name == "final_estimator":
        raise ValueError(
            "final_estimator learns from predictions for the labeled samples: use a supervised classifier."
        )
