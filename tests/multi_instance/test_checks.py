"""scikit-learn's own checks, where every row is a bag of one."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from weakly import WellMultiInstanceSVC

SETTINGS = [
    WellMultiInstanceSVC(),
    WellMultiInstanceSVC(kernel="linear", center=True, early_stopping=False),
    WellMultiInstanceSVC(loss="hinge", oracle="restarts"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
