import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin

from weakly.cli._leave_out import LeaveOut, leave_out, wilson_interval


class FirstColumn(ClassifierMixin, BaseEstimator):
    """Believes that the first feature is the class, and remembers what it was shown."""

    def __init__(self):
        self.shown = []

    def fit(self, X, y):
        self.shown.append(y.copy())
        self.transduction_ = X[:, 0].astype(int)
        return self


@pytest.mark.parametrize(("n_correct", "n_rows"), [(0, 5), (9, 10), (20, 20), (37, 80)])
def test_wilson_interval_against_scipy(n_correct, n_rows):
    expected = binomtest(n_correct, n_rows).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson_interval(n_correct, n_rows), expected, atol=1e-12)


def test_each_row_is_hidden_equally_often_and_scored():
    codes = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    X = np.column_stack([codes, np.zeros(8)]).astype(float)
    X[0, 0] = 1  # the one row the method gets wrong
    estimator = FirstColumn()
    result = leave_out(estimator, X, codes, max_refits=10, seed=2)
    assert result.n_rows == 6
    assert result.method.tolist() == [0, 1, 1, 1, 1, 1]
    hidden = [np.flatnonzero((codes >= 0) & (shown < 0)) for shown in estimator.shown]
    assert sorted(np.concatenate(hidden).tolist()) == sorted([0, 1, 2, 3, 4, 5] * 3)
    assert [sorted(codes[rows]) for rows in hidden] == [[0, 1]] * 9  # one of each class at a time
    assert len({tuple(rows) for rows in hidden}) > 3  # dealt in other ways each time
    assert result.n_shown == 4
    assert result.confusion.tolist() == [[2, 1], [0, 3]]  # on average over the three ways to deal
    assert result.per_class.tolist() == [[2, 3], [3, 3]]


@pytest.mark.parametrize(("n_labels", "n_refits"), [(2, 10), (3, 9), (6, 6), (20, 10)])
def test_refits_are_spent_on_dealing_again(n_labels, n_refits):
    codes = np.repeat([0, 1], n_labels)
    estimator = FirstColumn()
    leave_out(estimator, codes[:, None].astype(float), codes, max_refits=10, seed=0)
    assert len(estimator.shown) == n_refits


def test_the_baseline_is_an_svc_on_the_labelled_rows():
    # The second feature separates the classes; the method looks at the first, which does not.
    codes = np.repeat([0, 1], 10)
    X = np.column_stack([1 - codes, 10.0 * codes])
    result = leave_out(FirstColumn(), X, codes, max_refits=5, seed=0)
    assert (result.method.sum(), result.baseline.sum()) == (0, 20)
    assert (result.n_better, result.n_worse) == (0, 20)
    assert result.p_value == pytest.approx(2 * 0.5**20)
    np.testing.assert_allclose(result.interval, (0, 0.1611), atol=1e-4)


def test_rows_tested_again_do_not_narrow_the_interval():
    result = LeaveOut(np.array([1.0, 0.5, 0.5, 0.0]), np.zeros(4), np.eye(2), n_shown=2)
    assert result.interval == wilson_interval(2, 4)
    assert (result.n_better, result.n_worse) == (3, 0)
    assert result.p_value == pytest.approx(2 * 0.5**3)


def test_no_row_that_differs_is_no_evidence():
    assert LeaveOut(np.ones(4), np.ones(4), np.eye(2), n_shown=2).p_value == 1


def test_a_label_that_occurs_once_is_never_hidden():
    codes = np.array([0, 0, 1, -1])
    estimator = FirstColumn()
    result = leave_out(estimator, codes[:, None].astype(float), codes, max_refits=10, seed=0)
    assert result.n_rows == 2
    assert all(shown[2] == 1 for shown in estimator.shown)


@pytest.mark.parametrize(("codes", "max_refits"), [([0, 1, -1], 10), ([0, 0, 1, 1], 0)])
def test_nothing_to_compare(codes, max_refits):
    codes = np.array(codes)
    assert leave_out(FirstColumn(), np.zeros((len(codes), 1)), codes, max_refits=max_refits, seed=0) is None
