"""WestonWatkinsSVC against LIBLINEAR and a convex solver, and on inputs of every kind."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from tests.oracles.pairs import fit_pairs
from weakly import WestonWatkinsSVC


def blobs(n_classes=3, seed=0):
    return make_blobs(90, n_features=4, centers=n_classes, cluster_std=3.0, random_state=seed)


def test_two_classes_are_a_support_vector_machine():
    """With ``f_1 = -f_0 = v / 2`` the objective is ``|v|^2 / 4 + C sum loss(v)``: LIBLINEAR's, at 2 C."""
    X, y = blobs(2)
    model = WestonWatkinsSVC(0.3, kernel="linear", tol=1e-9).fit(X, y)
    peer = LinearSVC(C=0.6, loss="hinge", tol=1e-9, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "precomputed", "rbf"])
def test_several_classes_with_weights(kernel):
    X, y = blobs()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    gram = {"linear": X, "precomputed": X @ X.T, "rbf": X}[kernel]
    model = WestonWatkinsSVC(0.5, kernel=kernel, gamma=0.2, class_weight=factors, tol=1e-9)
    scores = model.fit(gram, y, sample_weight=weights).decision_function(gram) / 2
    costs = np.zeros((len(y), 3))
    costs[np.arange(len(y)), y] = 0.5 * weights * np.array([factors[code] for code in y])
    features = X if kernel != "rbf" else np.linalg.cholesky(rbf_kernel(X, gamma=0.2) + 1e-10 * np.eye(len(X)))
    _, expected = fit_pairs(np.hstack([features, np.ones((len(y), 1))]), costs)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict(gram), expected.argmax(axis=1))


def test_wide_rows_are_a_gram_matrix():
    """Dense rows fewer than columns: the same machine, by a path that costs less."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 100)), np.arange(40) % 3
    wide = WestonWatkinsSVC(0.01, kernel="linear", tol=1e-8).fit(X, y)
    rows = WestonWatkinsSVC(0.01, kernel="linear", tol=1e-8).fit(sp.csr_array(X), y)
    assert (wide.result_.x.shape, rows.result_.x.shape) == ((40, 3), (100, 3))
    np.testing.assert_allclose(wide.decision_function(X), rows.decision_function(X), atol=1e-5)


def test_balanced_classes():
    X, y = blobs(2)
    kept = np.concatenate([np.flatnonzero(y == 0)[:10], np.flatnonzero(y == 1)])
    X, y = X[kept], y[kept]
    balanced = WestonWatkinsSVC(class_weight="balanced", tol=1e-8).fit(X, y)
    counts = np.bincount(y)
    by_hand = WestonWatkinsSVC(tol=1e-8).fit(X, y, sample_weight=len(y) / (2 * counts[y]))
    np.testing.assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), atol=1e-8)


def test_every_container():
    X, y = blobs()
    names = np.array(["red", "green", "blue"])[y]
    expected = WestonWatkinsSVC(kernel="linear").fit(X, names).predict(X)
    for rows in (sp.csr_array(X), sp.csr_matrix(X), pd.DataFrame(X).rename(columns=str), X.tolist()):
        model = WestonWatkinsSVC(kernel="linear").fit(rows, pd.Series(names))
        np.testing.assert_array_equal(model.predict(rows), expected)
    narrow = WestonWatkinsSVC(kernel="linear").fit(X.astype(np.float32), names)
    assert narrow.decision_function(X.astype(np.float32)).dtype == np.float32
    assert np.mean(narrow.predict(X.astype(np.float32)) == expected) > 0.98
    signs = WestonWatkinsSVC().fit(X, np.where(y == 0, -1, 1))  # here -1 is a class
    assert signs.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_one_row_of_each_of_two_classes(as_type):
    """By hand: ``v`` of length 2 / distance through the middle, as the intercept costs nothing there."""
    X = np.array([[-2.0, 0.0], [2.0, 0.0]])
    model = WestonWatkinsSVC(10.0, kernel="linear", tol=1e-10).fit(as_type(X), ["left", "right"])
    np.testing.assert_allclose(model.decision_function(as_type(X)), [-1, 1], atol=1e-6)
    np.testing.assert_allclose(model.decision_function(as_type(0 * X)), 0, atol=1e-6)


def test_probabilities_and_approximation():
    X, y = blobs(4)
    model = WestonWatkinsSVC(approximation="nystroem", n_components=90, random_state=0, tol=1e-6).fit(X, y)
    exact = WestonWatkinsSVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.01)
    shares = exact.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(exact.classes_[shares.argmax(axis=1)], exact.predict(X))


def test_search_over_parameters_and_errors(capsys):
    X, y = blobs()
    search = GridSearchCV(WestonWatkinsSVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    WestonWatkinsSVC(verbose=1).fit(X, y)
    assert "machine" in capsys.readouterr().err
    with pytest.raises(ValueError, match="at least 2"):
        WestonWatkinsSVC().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="'C' parameter"):
        WestonWatkinsSVC(C=-1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter \(now 2\)"):
        WestonWatkinsSVC(C=100, max_iter=2).fit(X, y)
