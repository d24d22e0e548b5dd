"""Checks of scikit-learn that semi-supervised estimators fail, and why."""

MINUS_ONE = "-1 means unlabelled, so the labels {-1, 1} hold one class; unlabeled=None passes"
KEEPS_ROWS = "a row of weight 0 loses its label but stays a row of the fit, unlike one that is taken out"


def of_marker(estimator):
    """The check whose labels hold the marker of unlabelled rows."""
    return {"check_classifiers_classes": MINUS_ONE} if estimator.unlabeled == "auto" else {}


def expected_failures(estimator):
    """Those of estimators to which unlabelled rows matter."""
    kinds = ("dense", "sparse")
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": KEEPS_ROWS for kind in kinds}
    return weights | of_marker(estimator)
