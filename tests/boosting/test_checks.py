"""scikit-learn's own checks on every estimator, in several settings."""

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.expected_failures import of_marker
from weakly import AdaBoostMLClassifier, RMSBoostClassifier, SERBoostClassifier

DRAWS_ROWS = "trees draw rows, and from other rows others; max_samples=None passes"

SETTINGS = [
    RMSBoostClassifier(10),
    RMSBoostClassifier(10, unlabeled=None, max_samples=None),
    RMSBoostClassifier(10, prior="kmeans", response="hard", splitter="best"),
    RMSBoostClassifier(10, prior="graph", response="steepest", criterion="error"),
    RMSBoostClassifier(10, estimator=DecisionTreeClassifier(max_depth=3), n_iter_no_change=3),
    SERBoostClassifier(10),
    SERBoostClassifier(10, unlabeled=None, prior="kmeans", response="hard", max_samples=None),
    AdaBoostMLClassifier(10),
    AdaBoostMLClassifier(10, unlabeled=None, max_samples=None),
    AdaBoostMLClassifier(10, unlabeled=None, max_samples=None, response="hard", splitter="best"),
]


def expected_failures(estimator):
    draws = estimator.max_samples is not None
    of_trees = {"check_sample_weight_equivalence_on_dense_data": DRAWS_ROWS} if draws else {}
    return of_trees | of_marker(estimator)


@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
