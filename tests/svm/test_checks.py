"""scikit-learn's own checks on every estimator, in several settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.expected_failures import expected_failures
from weakly import ProbabilisticLabelSVC, TransductiveLinearSVC, TransductiveSVC, WellSVC, WestonWatkinsSVC

SETTINGS = [
    WellSVC(),
    WellSVC(unlabeled=None),
    WellSVC(loss="hinge", oracle="restarts"),
    WellSVC(kernel="linear"),
    WellSVC(kernel="linear", loss="hinge", center=False, oracle="step"),
    WellSVC(approximation="nystroem", n_components=20, random_state=0),
    ProbabilisticLabelSVC(n_neighbors=3),
    ProbabilisticLabelSVC(n_neighbors=3, unlabeled=None),
    ProbabilisticLabelSVC(n_neighbors=3, kernel="linear", class_prior=None, harden=False, alpha_labeled=0.1),
    TransductiveSVC(),
    TransductiveSVC(unlabeled=None),
    TransductiveSVC(optimizer="switching", kernel="linear"),
    TransductiveSVC(optimizer="cccp", approximation="nystroem", n_components=20, random_state=0),
    TransductiveSVC(optimizer="gradient", gamma="scale"),
    TransductiveSVC(optimizer="newton"),
    TransductiveSVC(optimizer="continuation"),
    TransductiveLinearSVC(),
    TransductiveLinearSVC(unlabeled=None, optimizer="multi_switch"),
    WestonWatkinsSVC(gamma=0.1, tol=1e-13, max_iter=20000),
    WestonWatkinsSVC(kernel="linear", tol=1e-13, max_iter=20000),
]


def failures_of(estimator):
    return {} if isinstance(estimator, WestonWatkinsSVC) else expected_failures(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS, expected_failed_checks=failures_of, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
