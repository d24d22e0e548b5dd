"""What SVMs that label samples share; and transductive ones: from labels to problems and back."""

import warnings
from collections.abc import Mapping
from functools import partial
from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from weakly._compat import Interval, StrOptions, check_sample_weight
from weakly.estimators._base import KernelEstimator, Progress, atomic_fit, unlabeled_cost
from weakly.estimators._calibration import (
    ScoredClassifier,
    class_codes,
    expected_prior,
    prior_of,
    prior_temperature,
    probabilities,
)
from weakly.estimators._docstrings import fill_doc
from weakly.rows._labels import encode_labels
from weakly.solvers import SolverResult, assign_quotas
from weakly.solvers._label_sets import SignSet
from weakly.solvers._range import build_in_range, sample_costs
from weakly.solvers._result import Labeling
from weakly.svm._transduction_problem import Ground, Transduction
from weakly.svm._transduction_search import solve_transduction

_FIRST_TOLD = ("interrupted", "stopped", "max_iter", "converged")  # of problems that ended differently


class LabelingClassifier(ScoredClassifier, KernelEstimator):
    """Labels of the unlabeled samples, each at a cost, in class proportions that are known or expected."""

    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def _prepare(self, X, y, sample_weight, progress):
        """Stages 1 to 3 for samples in memory: labels, costs of all samples, and the space over them."""
        X = self._check_rows(X, y)
        weights = check_sample_weight(sample_weight, X)
        labels = encode_labels(y, unlabeled=self.unlabeled, weights=weights)
        self._meet(labels)
        costs = sample_costs(self.C, self.C_unlabeled_, weights, labels)
        with progress.stage("space"):
            space = build_in_range(lambda: self._space(X), X.dtype)
        return labels, costs, space, X.dtype

    def _meet(self, labels):
        """What labels alone decide."""
        self.class_prior_ = self._class_prior(labels)
        self.C_unlabeled_ = self._unlabeled_cost(labels)
        self.classes_ = labels.classes

    def _decisions(self, X):
        scores = self._score(X)
        return scores + self._offset.astype(scores.dtype)

    def _class_prior(self, labels):
        return prior_of(self.class_prior, labels)

    def _unlabeled_cost(self, labels):
        return unlabeled_cost(self.C, self.C_unlabeled, labels)


@fill_doc
class TransductiveClassifier(LabelingClassifier):
    """One problem per class, or one for two classes, and one assignment of samples to classes at the end."""

    _parameter_constraints: dict = {
        **LabelingClassifier._parameter_constraints,
        "class_prior": [
            StrOptions({"labeled"}),
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            Mapping,
        ],
    }

    @atomic_fit
    def fit(self, X, y, sample_weight=None):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        %(X)s
        %(y)s
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of the cost of each labeled sample; 0 makes a sample unlabeled.

        %(fitted)s
        """
        return self._fit_rows(X, y, sample_weight)

    def _fit_rows(self, X, y, sample_weight):
        """The fit, for samples in memory."""
        progress = Progress(type(self).__name__, self.verbose)
        labels, costs, space, dtype = self._prepare(X, y, sample_weight, progress)
        ground = Ground(space, np.flatnonzero(labels.codes < 0))
        self._search(labels, lambda signs, share: Transduction(ground, signs, costs, share), progress)
        self._publish(space, ground.unlabeled, dtype)
        return self

    def _search(self, labels, pose, progress):
        """Pose the problem of each class and solve it."""
        columns = []
        with progress.stage(self.optimizer):
            solve = self._solver(n_problems=labels.targets().shape[1])
            for signs, share in self._label_sets(labels):
                columns.append(progress.watch(solve(pose(signs, share), callback=progress.count)))
        self.result_ = joined(columns)
        self._warn_unfinished()
        self.n_iter_ = self.result_.n_iter
        self.temperature_ = prior_temperature(len(self.classes_))

    def _class_prior(self, labels):
        if isinstance(self.class_prior, str):
            return expected_prior(np.bincount(labels.labeled_codes, minlength=labels.n_classes))
        return super()._class_prior(labels)

    def _solver(self, n_problems):
        """What solves the problem of a class."""
        return partial(solve_transduction, optimizer=self.optimizer, tol=self.tol)

    def _label_sets(self, labels):
        """Signs of each problem with the share of positive ones; rounding may go either way."""
        n_rows, n_columns = labels.n_rows, labels.targets().shape[1]
        least, most = whole_counts(self.class_prior_, labels.n_unlabeled)
        for column, signs in enumerate(labels.targets().T, start=labels.n_classes - n_columns):
            label_set = SignSet(labels.labeled, signs, n_rows, int(least[column]), int(most[column]))
            yield label_set, float(self.class_prior_[column])

    def _publish(self, space, unlabeled, dtype):
        self._function = space.function(self.result_.x)
        scores = space.scores(self.result_.x) + self.result_.intercept
        codes, prices = balanced_codes(scores[unlabeled], self.class_prior_)
        self._offset = self.result_.intercept + prices
        decisions = (scores + prices).astype(dtype)
        self.label_distributions_ = probabilities(decisions, self.temperature_)
        labels = class_codes(decisions)
        labels[unlabeled] = codes  # samples that tie at the border are divided all the same
        self.transduction_ = self.classes_[labels]

    def _warn_unfinished(self):
        if self.result_.status == "max_iter":
            warnings.warn(f"{type(self).__name__} {self._unfinished()}", ConvergenceWarning, stacklevel=5)

    def _unfinished(self):
        return (
            f"ended with a relative gradient of {self.result_.criterion[-1]:.1e}: scale the columns, lower C "
            "or raise tol."
        )


def whole_counts(shares, n_rows):
    """Fewest and most samples of each class: its share, rounded down and up."""
    wanted = shares * n_rows
    return np.floor(wanted + 1e-9).astype(int), np.ceil(wanted - 1e-9).astype(int)


def balanced_codes(scores, shares):
    """Give samples their classes, as many as the shares ask for, and the offsets that bring this about."""
    columns = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    least, most = whole_counts(shares, len(scores))
    codes = columns.argmax(axis=1)
    counts = np.bincount(codes, minlength=len(shares))
    if ((least <= counts) & (counts <= most)).all():
        return codes, np.zeros(scores.shape[1])
    assignment = assign_quotas(columns, least, most)
    prices = assignment.prices
    return assignment.codes, np.diff(prices) if scores.shape[1] == 1 else prices


def joined(columns):
    """One result of problems that were solved one after another."""
    length = max(len(column.objective) for column in columns)
    histories = [np.pad(c.objective, (0, length - len(c.objective)), mode="edge") for c in columns]
    criteria = [np.pad(c.criterion, (0, length - len(c.criterion)), mode="edge") for c in columns]
    statuses = [column.status for column in columns]
    details = [column.detail for column in columns]
    return SolverResult(
        x=np.column_stack([column.x for column in columns]),
        objective=np.sum(histories, axis=0),
        criterion=np.max(criteria, axis=0),
        n_iter=max(column.n_iter for column in columns),
        status=min(statuses, key=_FIRST_TOLD.index),
        intercept=np.array([column.intercept for column in columns]),
        detail=None if details[0] is None else Labeling(np.vstack([detail.labels for detail in details])),
    )
