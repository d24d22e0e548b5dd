"""scikit-learn's own checks on every estimator, in several settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from weakly import (
    CuttingPlaneMaxMarginClustering,
    GeneralizedMaxMarginClustering,
    IterativeSVRClustering,
    KernelKMeans,
    WellClustering,
)

SETTINGS = [
    WellClustering(random_state=0),
    WellClustering(loss="squared_hinge", oracle="restarts", balance=0.0, random_state=0),
    WellClustering(kernel="linear", init="kmeans", random_state=0),
    WellClustering(kernel="linear", center=False, assignment="mixture", random_state=0),
    WellClustering(approximation="nystroem", n_components=20, init="alignment", random_state=0),
    WellClustering(3, random_state=0),
    KernelKMeans(random_state=0),
    KernelKMeans(kernel="linear", balance=0.0, init="random", random_state=0),
    KernelKMeans(3, approximation="nystroem", n_components=20, init="alignment", random_state=0),
    IterativeSVRClustering(random_state=0),
    IterativeSVRClustering(kernel="linear", balance=0.0, init="kmeans", random_state=0),
    IterativeSVRClustering(approximation="nystroem", n_components=20, init="alignment", random_state=0),
    IterativeSVRClustering(3, kernel="linear", random_state=0),
    CuttingPlaneMaxMarginClustering(random_state=0),
    CuttingPlaneMaxMarginClustering(kernel="linear", balance=0.2, init="kmeans", random_state=0),
    CuttingPlaneMaxMarginClustering(
        approximation="nystroem", n_components=20, init="alignment", random_state=0
    ),
    GeneralizedMaxMarginClustering(),
    GeneralizedMaxMarginClustering(kernel="linear", balance=0.2, balance_cost=0.1),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS, expected_failed_checks=lambda estimator: {}, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
