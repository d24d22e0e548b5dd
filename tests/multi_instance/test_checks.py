"""scikit-learn's own checks, where every row is a bag of one."""

import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from weakly import (
    BagMarginSVC,
    CitationKNNClassifier,
    DiverseDensityClassifier,
    EMDDClassifier,
    InstanceMarginSVC,
    InstanceTransformer,
    MultiInstanceKernelSVC,
    WellMultiInstanceSVC,
)

SETTINGS = [
    WellMultiInstanceSVC(),
    WellMultiInstanceSVC(kernel="linear", center=True, early_stopping=False),
    WellMultiInstanceSVC(loss="hinge", oracle="restarts"),
    BagMarginSVC(),
    BagMarginSVC(kernel="linear"),
    InstanceMarginSVC(),
    MultiInstanceKernelSVC(),
    MultiInstanceKernelSVC(normalization="feature"),
    CitationKNNClassifier(),
    CitationKNNClassifier(distance="average"),
    DiverseDensityClassifier(n_start_bags=5),
    EMDDClassifier(n_start_bags=5),
    EMDDClassifier(feature_weights=False),
    InstanceTransformer(StandardScaler()),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
