"""scikit-learn's own checks on every estimator, in several settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.expected_failures import expected_failures
from weakly import (
    CheegerRLSClassifier,
    CheegerSVC,
    ExclusiveLaplacianSVC,
    LaplacianRLSClassifier,
    LaplacianRLSRegressor,
    LaplacianSVC,
    TotalVariationRLSClassifier,
    TotalVariationSVC,
)

SETTINGS = [
    LaplacianRLSClassifier(),
    LaplacianRLSClassifier(unlabeled=None),
    LaplacianRLSClassifier(solver="cg"),
    LaplacianRLSClassifier(kernel="linear"),
    LaplacianRLSClassifier(approximation="nystroem", n_components=20, random_state=0),
    LaplacianSVC(),
    LaplacianSVC(loss="hinge"),
    LaplacianSVC(solver="cg"),
    LaplacianSVC(approximation="fourier", n_components=30, random_state=0),
    LaplacianRLSRegressor(),
    LaplacianRLSRegressor(approximation="nystroem", n_components=20, random_state=0),
    ExclusiveLaplacianSVC(),
    ExclusiveLaplacianSVC(exclusive="sum", loss="logistic", solver="apg", unlabeled=None),
    ExclusiveLaplacianSVC(kernel="linear", exclusive_penalty=10),
    TotalVariationRLSClassifier(),
    TotalVariationRLSClassifier(unlabeled=None),
    TotalVariationRLSClassifier(kernel="linear"),
    TotalVariationSVC(),
    CheegerRLSClassifier(),
    CheegerRLSClassifier(approximation="nystroem", n_components=20, random_state=0),
    CheegerSVC(),
    CheegerSVC(kernel="linear"),
]


# Blobs of the checks are joined by no edge, and some checks leave a part without labels.
@pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
