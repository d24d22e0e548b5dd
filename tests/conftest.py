"""scikit-learn's checks run on the first setting of every estimator; further settings are slow tests."""

import pytest

CHECKS = "test_scikit_learn_checks"


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    first = {}
    for item in (item for item in items if getattr(item, "originalname", "") == CHECKS):
        estimator = item.callspec.params["estimator"]
        if first.setdefault(type(estimator), repr(estimator)) != repr(estimator):
            item.add_marker(pytest.mark.slow)
