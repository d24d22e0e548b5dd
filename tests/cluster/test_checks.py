"""scikit-learn's own checks on every estimator, in several settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from weakly import WellClustering

SETTINGS = [
    WellClustering(random_state=0),
    WellClustering(loss="hinge", oracle="restarts", balance=0.0, random_state=0),
    WellClustering(kernel="linear", init="kmeans", random_state=0),
    WellClustering(kernel="linear", loss="hinge", center=False, assignment="mixture", random_state=0),
    WellClustering(approximation="nystroem", n_components=20, init="alignment", random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS, expected_failed_checks=lambda estimator: {}, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
