"""Accuracy that the documentation promises, with defaults and nothing tuned."""

import os

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from weakly import LaplacianRLSClassifier, LaplacianSVC
from weakly.datasets import load
from weakly.model_selection import LabelDraws

pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")


def unlabeled_error(estimator, X, y, n_per_class):
    errors = []
    for draw in LabelDraws(n_per_class=n_per_class, n_repeats=10).split(X, y):
        wrong = estimator.fit(X, draw.mask(y)).transduction_ != y
        errors.append(100 * wrong[draw.unlabeled].mean())
    return np.mean(errors)


@pytest.mark.parametrize("make", [LaplacianRLSClassifier, LaplacianSVC])
def test_digits_with_two_labels_per_class(make):
    X, y = load_digits(return_X_y=True)
    assert unlabeled_error(make(warm_start=True), X, y, 2) <= 8.0


@pytest.mark.skipif("WEAKLY_DATA" not in os.environ, reason="WEAKLY_DATA is not set")
@pytest.mark.parametrize(
    ("make", "limits"),
    [(LaplacianRLSClassifier, (20.5, 11.0, 8.5, 4.5)), (LaplacianSVC, (20.5, 11.0, 8.7, 5.8))],
)
def test_usps_four_against_nine(make, limits):
    data = load("usps")
    pair = np.isin(data.y, [4, 9])
    model = make(warm_start=True)
    for n_per_class, limit in zip((1, 5, 10, 50), limits, strict=True):
        assert unlabeled_error(model, data.X[pair], data.y[pair], n_per_class) <= limit


@pytest.mark.parametrize("n_per_class", [1, 2, 10])
def test_probabilities_mean_something(n_per_class):
    """Better than saying the accuracy of every row, and neither bold nor timid by more than 0.15."""
    X, y = load_digits(return_X_y=True)
    model = LaplacianRLSClassifier(warm_start=True)
    for draw in LabelDraws(n_per_class=n_per_class, n_repeats=3).split(X, y):
        model.fit(X, draw.mask(y))
        proba, truth = model.label_distributions_[draw.unlabeled], y[draw.unlabeled]
        accuracy = np.mean(proba.argmax(axis=1) == truth)
        flat = np.full_like(proba, (1 - accuracy) / 9)
        flat[np.arange(len(flat)), proba.argmax(axis=1)] = accuracy
        assert log_loss(truth, proba) < log_loss(truth, flat)
        assert abs(proba.max(axis=1).mean() - accuracy) < 0.15
