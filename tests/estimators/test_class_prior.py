"""Class proportions as users give them."""

import numpy as np
import pytest

from weakly import LaplacianSVC, ProbabilisticLabelSVC, TotalVariationRLSClassifier, TransductiveSVC, WellSVC
from weakly.estimators._calibration import check_class_prior

CLASSES = np.array(["cat", "dog", "owl"])


def test_a_mapping_is_in_the_order_of_the_classes():
    assert check_class_prior({"owl": 2, "cat": 1, "dog": 1}, CLASSES, "p").tolist() == [0.25, 0.25, 0.5]
    assert check_class_prior([1, 1, 2], CLASSES, "p").tolist() == [0.25, 0.25, 0.5]


def test_a_class_that_no_label_has_is_told():
    with pytest.warns(UserWarning, match="no sample is labeled 'yak': none will be"):
        check_class_prior({"owl": 2, "cat": 1, "dog": 1, "yak": 3}, CLASSES, "p")


@pytest.mark.parametrize(
    "given",
    [[1, 1], [1, 1, 0], [1, 1, -1], [1, 1, np.nan], [1, 1, np.inf], [[1, 1, 1]], "what", ["a", "b", "c"]],
)
def test_what_is_no_prior_is_refused(given):
    with pytest.raises(ValueError, match=r"p must be None, 3 positive proportions .* not "):
        check_class_prior(given, CLASSES, "p")


def test_a_mapping_without_a_class_is_refused():
    with pytest.raises(ValueError, match=r"p has no proportion for \['owl'\]"):
        check_class_prior({"cat": 1, "dog": 1}, CLASSES, "p")


@pytest.mark.parametrize(
    "estimator",
    [
        LaplacianSVC(), TotalVariationRLSClassifier(), ProbabilisticLabelSVC(), WellSVC(), TransductiveSVC(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_estimators_take_mappings(estimator):
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    X = 4 * np.eye(3)[truth] + rng.normal(size=(60, 3))
    y = np.where(np.arange(60) < 12, CLASSES[truth].astype(object), None)
    by_class = estimator.set_params(class_prior={"owl": 0.3, "dog": 0.5, "cat": 0.2}).fit(X, y).transduction_
    by_order = estimator.set_params(class_prior=[0.2, 0.5, 0.3]).fit(X, y).transduction_
    np.testing.assert_array_equal(by_class, by_order)
