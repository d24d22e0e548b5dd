"""Samples and weights of sizes that arithmetic cannot hold."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from weakly import ExclusiveLaplacianSVC, FewLabelClassifier, LaplacianRLSClassifier, LaplacianSVC
from weakly._compat import check_sample_weight
from weakly.graphs import neighbor_graph
from weakly.rows._arrays import squarable


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("dtype", "size", "found"),
    [
        (np.float32, 1e18, np.float32),
        (np.float32, 1e20, np.float64),
        (np.float32, 1e-30, np.float64),
        (np.float32, 0.0, np.float32),
        (np.float64, 1e100, np.float64),
        (np.float64, 1e-100, np.float64),
    ],
)
def test_squares_must_be_numbers(kind, dtype, size, found):
    X = kind((size * np.array([[1.0, 0.0], [0.0, -2.0]])).astype(dtype))
    assert squarable(X).dtype == found


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_squares_that_no_type_holds(kind, size):
    with pytest.raises(ValueError, match=r"X has entries of size 1e.160 at most.*scale the features"):
        squarable(kind(np.full((2, 2), -size)))


def labeled_pairs(size, dtype):
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = size * (5 * truth[:, None] + rng.normal(size=(60, 3)))
    return X.astype(dtype), np.where(np.arange(60) < 8, truth, -1)


@pytest.mark.parametrize(
    ("estimator", "dtype", "size"),
    [
        (LaplacianRLSClassifier(graph="anchor", n_components=20), np.float64, 1e-200),
        (LaplacianSVC(), np.float64, 1e200),
        (LaplacianSVC(), np.float64, 1e-200),
        (FewLabelClassifier(), np.float64, 1e200),
    ],
)
def test_the_size_of_samples_is_named(estimator, dtype, size):
    X, y = labeled_pairs(size, dtype)
    with pytest.raises(ValueError, match="does not hold: scale the features"):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "dtype", "size"),
    [
        (LaplacianRLSClassifier(), np.float32, 3e17),
        (LaplacianRLSClassifier(), np.float32, 1e30),
        (LaplacianRLSClassifier(graph_penalty=0), np.float32, 1e30),
        (LaplacianSVC(approximation="nystroem"), np.float32, 1e-25),
        (LaplacianRLSClassifier(), np.float32, 1e-25),
        (LaplacianRLSClassifier(graph="anchor", n_components=20), np.float32, 1e30),
        (LaplacianRLSClassifier(graph="anchor", n_components=20), np.float32, 1e-25),
        (LaplacianRLSClassifier(kernel="linear"), np.float64, 1e12),
        (LaplacianSVC(), np.float64, 1e-100),
    ],
)
def test_other_sizes_change_nothing(estimator, dtype, size):
    X, y = labeled_pairs(size, dtype)
    plain = clone(estimator).set_params(random_state=0).fit(*labeled_pairs(1.0, np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator.set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    assert np.isfinite(model.predict_proba(X)).all()


def test_lengths_of_edges_are_those_of_double_precision():
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    wanted = neighbor_graph(X).affinity.toarray()
    for size in (1e-30, 1e17):
        found = neighbor_graph(X * np.float32(size)).affinity.toarray()
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(60, 1e300), "sample_weight has entries from 1e.300"),
        (np.full(60, "heavy"), "sample_weight cannot be used: could not convert string"),
        (np.full(60, -1.0), "sample_weight"),
    ],
)
def test_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, np.ones((60, 2)))


def test_large_weights_and_penalties_cancel():
    X, y = labeled_pairs(1.0, np.float64)
    plain = LaplacianSVC(ambient_penalty=1e-3).fit(X, y)
    heavy = LaplacianSVC(ambient_penalty=1e27, graph_penalty=1e29).fit(X, y, sample_weight=np.full(60, 1e30))
    np.testing.assert_allclose(heavy.decision_function(X), plain.decision_function(X), rtol=1e-9)


def test_penalties_too_far_apart_are_named():
    X, y = labeled_pairs(1.0, np.float64)
    for seed in range(5):
        model = LaplacianRLSClassifier(1e-300, graph="anchor", n_components=20, random_state=seed)
        with pytest.raises(ValueError, match="ambient_penalty"):
            model.fit(X, y)


def test_features_far_from_the_origin_are_named():
    """In float32 differences between neighbors are made of rounding."""
    X, y = labeled_pairs(1.0, np.float64)
    with pytest.raises(ValueError, match=r"features of size 1e.05 .* center and scale X, use float64"):
        LaplacianRLSClassifier(kernel="linear").fit((X + 1e5).astype(np.float32), y)


def test_a_kernel_too_large_for_its_penalty_is_named():
    X, y = labeled_pairs(1.0, np.float64)
    gram = 1e140 * (X @ X.T + 1)
    with pytest.raises(ValueError, match=r"entries of size .* in units of ambient_penalty: scale X or raise"):
        LaplacianRLSClassifier(kernel="precomputed", graph_penalty=0).fit(gram, y)


def test_a_solution_that_is_not_finite_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 3)) + 5 * np.eye(3)[np.arange(60) % 3]
    y = np.where(np.arange(60) < 12, np.arange(60) % 3, -1)
    with pytest.raises(ValueError, match=r"no finite solution.*exclusive_penalty=1e.300"):
        ExclusiveLaplacianSVC(exclusive="sum", exclusive_penalty=1e300).fit(X, y)
