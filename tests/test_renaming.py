"""Other names of the classes, other columns, and nothing else."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from weakly import (
    AdaBoostMLClassifier,
    ProbabilisticLabelSVC,
    RMSBoostClassifier,
    SERBoostClassifier,
    TransductiveLinearSVC,
    TransductiveSVC,
    WellSVC,
    WestonWatkinsSVC,
)

BOOSTS = {"n_estimators": 10, "random_state": 0}
MODELS = [
    ProbabilisticLabelSVC(),
    ProbabilisticLabelSVC(kernel="linear"),
    WellSVC(),
    WellSVC(kernel="linear"),
    TransductiveSVC(optimizer="multi_switch"),
    TransductiveLinearSVC(optimizer="multi_switch"),
    WestonWatkinsSVC(),
    WestonWatkinsSVC(kernel="linear"),
    RMSBoostClassifier(**BOOSTS, prior="kmeans", response="hard"),
    SERBoostClassifier(**BOOSTS),
    AdaBoostMLClassifier(**BOOSTS, response="hard"),
]


def some_iris(n_rows=121, n_labels=13, seed=3):
    """Shares that no number of rows has, and labels whose classes do not come in order."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:n_rows]
    partial = np.full(n_rows, -1)
    labeled = rng.permutation(n_rows)[:n_labels]
    partial[labeled] = y[rows[labeled]]
    return X[rows], y[rows], partial


@pytest.mark.parametrize("names", [[2, 0, 1], [2, 1, 0]])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:60])
def test_names_of_classes_play_no_part(model, names):
    X, y, partial = some_iris()
    labels = y if isinstance(model, WestonWatkinsSVC) else partial
    names = np.array(names)
    expected = model.fit(X, labels).decision_function(X)
    renamed = model.fit(X, np.where(labels < 0, -1, names[labels])).decision_function(X)
    np.testing.assert_allclose(renamed[:, names], expected, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:60])
def test_names_of_two_classes_play_no_part(model):
    X, y, partial = some_iris()
    kept = y > 0
    labels = (y if isinstance(model, WestonWatkinsSVC) else partial)[kept]
    expected = model.fit(X[kept], labels).decision_function(X)
    renamed = model.fit(X[kept], np.where(labels < 0, -1, 3 - labels)).decision_function(X)
    np.testing.assert_allclose(-renamed, expected, atol=1e-9)
