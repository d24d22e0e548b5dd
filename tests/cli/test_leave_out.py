import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin

from weakly.cli._leave_out import leave_out, wilson_interval


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


def test_each_row_is_hidden_once_and_scored():
    codes = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    X = np.column_stack([codes, np.zeros(8)]).astype(float)
    X[0, 0] = 1  # the one row the method gets wrong
    estimator = FirstColumn()
    result = leave_out(estimator, X, codes, max_splits=10, seed=0)
    assert result.n_rows == 6
    assert result.method.sum() == 5
    hidden = [np.flatnonzero((codes >= 0) & (shown < 0)) for shown in estimator.shown]
    assert sorted(np.concatenate(hidden).tolist()) == [0, 1, 2, 3, 4, 5]
    assert [sorted(codes[rows]) for rows in hidden] == [[0, 1]] * 3  # one of each class at a time
    assert result.n_shown == 4


def test_the_baseline_is_an_svc_on_the_labelled_rows():
    # The second feature separates the classes; the method looks at the first, which does not.
    codes = np.repeat([0, 1], 10)
    X = np.column_stack([1 - codes, 10.0 * codes])
    result = leave_out(FirstColumn(), X, codes, max_splits=5, seed=0)
    assert (result.method.sum(), result.baseline.sum()) == (0, 20)
    assert result.baseline_does_as_well
    assert "between 0% and 16%" in result.sentence()
    assert "right on 0 rows that the baseline misses, and wrong on 20" in result.sentence()


def test_a_label_that_occurs_once_is_never_hidden():
    codes = np.array([0, 0, 1, -1])
    estimator = FirstColumn()
    result = leave_out(estimator, codes[:, None].astype(float), codes, max_splits=10, seed=0)
    assert result.n_rows == 2
    assert all(shown[2] == 1 for shown in estimator.shown)


@pytest.mark.parametrize(("codes", "max_splits"), [([0, 1, -1], 10), ([0, 0, 1, 1], 0)])
def test_nothing_to_compare(codes, max_splits):
    codes = np.array(codes)
    assert leave_out(FirstColumn(), np.zeros((len(codes), 1)), codes, max_splits=max_splits, seed=0) is None
