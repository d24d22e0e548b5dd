"""SERBoost and AdaBoost.ML against loops over the printed formulas, and on inputs of every kind."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from tests.boosting.test_rms import blobs, digits
from weakly import AdaBoostMLClassifier, SERBoostClassifier

NU = 0.3


def tree_labels(X, labels, weights):
    """What a small tree says of weighted rows; the same call as in the estimators."""
    rows = weights > 0
    tree = DecisionTreeClassifier(max_depth=2)
    return tree.fit(X[rows], labels[rows], sample_weight=weights[rows] / weights.max()).predict(X)


def settings(n_rounds):
    return {
        "n_estimators": n_rounds,
        "learning_rate": NU,
        "response": "hard",
        "max_samples": None,
        "estimator": DecisionTreeClassifier(max_depth=2),
    }


def ser_as_printed(X, signs, q, alpha, n_rounds):
    """[serboost] for two classes, ``signs`` 0 where unlabelled."""
    F = np.zeros(len(X))
    for _ in range(n_rounds):
        pulls = np.where(
            signs != 0, signs * np.exp(-signs * F), alpha * np.exp(-q * F) * (q * np.cosh(F) - np.sinh(F))
        )
        named = tree_labels(X, (pulls > 0).astype(int), np.abs(pulls))
        F += NU * (2 * named - 1)
    return F


@pytest.mark.parametrize("n_classes", [2, 3])
def test_serboost_is_as_printed(n_classes):
    X, _, partial = blobs(n_classes)
    prior = np.random.default_rng(0).dirichlet(np.ones(n_classes), len(X))
    model = SERBoostClassifier(alpha=0.2, prior=prior, **settings(9)).fit(X, partial)
    columns = []
    for positive in [1] if n_classes == 2 else range(3):
        signs = np.where(partial < 0, 0, np.where(partial == positive, 1, -1))
        columns.append(ser_as_printed(X, signs, 2 * prior[:, positive] - 1, 0.2, 9))
    expected = columns[0] if n_classes == 2 else np.column_stack(columns)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    np.testing.assert_allclose(list(model.staged_decision_function(X))[-1], expected, atol=1e-9)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    if n_classes == 2:
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * expected)))
    assert isinstance(model.result_, list) == (n_classes > 2)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_adaboost_ml_is_as_printed(n_classes):
    """[adaboostml] Algorithm 1 with a shortened step, found by scipy."""
    X, y, partial = blobs(n_classes, n_labeled=15)
    X, y = X[partial >= 0], y[partial >= 0]
    rows, f = np.arange(len(y)), np.zeros((len(y), n_classes))
    for _ in range(8):
        named = tree_labels(X, y, 1 / (1 + np.exp(f[rows, y])))
        g = np.full_like(f, -1 / np.sqrt(n_classes * (n_classes - 1)))
        g[rows, named] = np.sqrt((n_classes - 1) / n_classes)

        def loss(s, f=f, g=g):
            return np.logaddexp(0, -(f + s * g)[rows, y]).sum()

        best = minimize_scalar(loss, bounds=(0, 10), method="bounded", options={"xatol": 1e-10}).x
        f = f + NU * best * g
    model = AdaBoostMLClassifier(**settings(8)).fit(X, y)
    found = model.decision_function(X)
    np.testing.assert_allclose(found, f[:, 1] if n_classes == 2 else f, atol=1e-4)
    np.testing.assert_allclose(model.result_.objective[-1], np.logaddexp(0, -f[rows, y]).sum(), rtol=1e-4)


def test_serboost_without_unlabelled_rows_is_supervised():
    X, _, partial = blobs()
    known = partial >= 0
    supervised = SERBoostClassifier(**settings(5)).fit(X[known], partial[known])
    among = SERBoostClassifier(alpha=0, **settings(5)).fit(X, partial)
    assert supervised.prior_ is None
    assert among.prior_ is None
    np.testing.assert_array_equal(supervised.decision_function(X), among.decision_function(X))


@pytest.mark.parametrize("prior", ["graph", "kmeans"])
def test_serboost_learns_with_each_prior(prior):
    X, y, partial = blobs(2, std=1.5)
    model = SERBoostClassifier(20, prior=prior, random_state=0).fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.8


def test_serboost_of_very_many_rounds_stays_finite():
    X, _, partial = blobs(2, std=0.5)
    model = SERBoostClassifier(
        5000, learning_rate=1.0, n_trees=1, max_samples=None, response="hard", prior="graph", random_state=0
    ).fit(X, partial)
    for found in (model.predict_proba(X), model.result_.objective, model.result_.criterion):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("estimator", [SERBoostClassifier, AdaBoostMLClassifier])
class TestBoth:
    def test_rounds_can_be_added_later(self, estimator):
        X, _, partial = blobs()
        whole = estimator(12, random_state=0).fit(X, partial)
        parts = estimator(5, warm_start=True, random_state=0).fit(X, partial)
        parts.set_params(n_estimators=12).fit(X, partial)
        np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))

    def test_rounds_stop_early(self, estimator):
        rng = np.random.default_rng(0)
        X, noise = rng.normal(size=(200, 4)), rng.integers(0, 3, 200)
        model = estimator(300, n_iter_no_change=5, random_state=0).fit(X, noise)
        assert model.n_estimators_ < 150
        assert len(list(model.staged_predict(X))) == model.n_estimators_

    def test_one_label_of_each_class(self, estimator):
        X = np.array([[0.0], [5.0], [1.0], [4.0]], dtype=np.float32)
        model = estimator(10, random_state=0).fit(X, ["low", "high", None, None])
        assert model.transduction_.tolist() == ["low", "high", "low", "high"]
        assert model.decision_function(X).dtype == np.float32

    def test_kinds_of_input(self, estimator):
        X, y = load_iris(return_X_y=True)
        names = np.array(["a", "b", "c"], dtype=object)[y]
        names[np.arange(150) % 3 > 0] = None
        frame = pd.DataFrame(X, columns=list("pqrs"))
        frame.iloc[::7, 2] = np.nan
        model = estimator(15, random_state=0).fit(frame, pd.Series(names))
        assert model.score(frame, np.array(["a", "b", "c"])[y]) > 0.85
        assert model.feature_importances_.shape == (4,)
        with pytest.raises(TypeError, match=r"toarray\(\)"):
            model.fit(sp.csr_array(X), y)


def test_adaboost_ml_is_calibrated():
    X, y, partial = digits(300)
    hidden = partial < 0
    model = AdaBoostMLClassifier(random_state=0).fit(X, partial)
    accuracy = model.score(X[hidden], y[hidden])
    assert accuracy > 0.9
    assert abs(model.predict_proba(X[hidden]).max(axis=1).mean() - accuracy) < 0.05


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("learning_rate", [1e12, 1e300])
def test_steps_beyond_all_measure(learning_rate):
    X, _, partial = blobs()
    model = SERBoostClassifier(5, learning_rate=learning_rate, random_state=0).fit(X, partial)
    assert all(np.isfinite(result.criterion).all() for result in model.result_)
    assert np.isfinite(model.predict_proba(X)).all()
