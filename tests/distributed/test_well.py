"""WellSVC on Dask collections: the same as in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from weakly import WellSVC
from weakly.solvers import KernelMachine, weigh_labels
from weakly.solvers._label_sets import SignSet


def two_blobs(distance, n_rows=300, n_labeled=20, seed=0):
    X, y = make_blobs(n_rows, centers=[[-distance, 0], [distance, 0]], random_state=seed)
    return X, np.where(np.arange(n_rows) < n_labeled, y, -1), y


def records(model):
    """What the solver reports of each problem."""
    return model.result_ if isinstance(model.result_, list) else [model.result_]


def assert_same(model, expected, rel):
    """Objectives and nearly all labels agree."""
    for found, wanted in zip(records(model), records(expected), strict=True):
        assert found.objective[-1] == pytest.approx(wanted.objective[-1], rel=rel)
    assert isinstance(model.transduction_, da.Array)
    assert np.mean(model.transduction_.compute() == expected.transduction_) >= 0.99
    assert model.C_unlabeled_ == expected.C_unlabeled_


@pytest.mark.parametrize("distance", [2, 3])
@pytest.mark.parametrize(
    "settings", [{}, {"class_prior": 0.5, "refine": 3}, {"class_prior": None, "center": False}]
)
def test_fit_is_that_in_memory(distance, settings):
    X, partial, _ = two_blobs(distance)
    rows = da.from_array(X, chunks=((120, 0, 100, 80), 2))
    expected = WellSVC(kernel="linear", tol=1e-4, **settings).fit(X, partial)
    model = WellSVC(kernel="linear", tol=1e-4, **settings).fit(rows, partial)
    assert_same(model, expected, rel=1e-3)
    assert repr(model.kernel_) == repr(expected.kernel_)
    decisions, wanted = model.decision_function(X), expected.decision_function(X)
    np.testing.assert_allclose(decisions, wanted, rtol=0, atol=0.05 * np.abs(wanted).max())
    np.testing.assert_array_equal(model.predict(rows).compute(), model.predict(X))
    np.testing.assert_array_equal(model.transduction_.compute(), model.predict(X))
    shares = model.label_distributions_.compute()
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=1e-10)
    counts = np.bincount(model.transduction_.compute(), minlength=2)
    np.testing.assert_allclose(model.predicted_shares_, counts / 300)


@pytest.mark.filterwarnings("ignore:WellSVC stopped:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_labelings_of_three_classes(is_sparse, dtype):
    """The first two labelings are found without a choice between equal ones: all settings can be compared,
    with a Gram matrix, which in memory is the way that is solved tightly.
    """
    X, y = make_blobs(240, centers=3, n_features=6, cluster_std=4.0, random_state=1)
    rng = np.random.default_rng(0)
    X = (X * (rng.random(X.shape) < 0.7) / 8).astype(dtype)
    partial = np.where(np.arange(240) < 30, y, -1)
    weights = rng.uniform(0.5, 2, 240)
    weights[:3] = 0.0
    parts = [X[:100], X[100:150], X[150:]]
    if is_sparse:
        parts = [sp.csr_array(part) for part in parts]
    chunks = [da.from_delayed(dask.delayed(part), part.shape, dtype) for part in parts]
    settings = {"tol": 1e-6, "max_labels": 2, "offset": 0.7, "class_prior": [0.3, 0.3, 0.4]}
    gram = X.astype(np.float64) @ X.T.astype(np.float64)
    expected = WellSVC(kernel="precomputed", **settings).fit(gram, partial, weights)
    lengths = (100, 50, 90)
    y_rows, w_rows = da.from_array(partial, chunks=(lengths,)), da.from_array(weights, chunks=(lengths,))
    model = WellSVC(kernel="linear", **settings).fit(da.concatenate(chunks), y_rows, w_rows)
    assert_same(model, expected, rel=1e-5)
    np.testing.assert_array_equal(model.class_prior_, expected.class_prior_)
    assert [result.n_iter for result in records(model)] == [result.n_iter for result in records(expected)]
    wanted = expected.decision_function(gram)
    np.testing.assert_allclose(model.decision_function(X), wanted, rtol=0, atol=2e-3 * np.abs(wanted).max())
    assert model.label_distributions_.compute().dtype == dtype


def test_mixture_of_many_labelings_is_weighted_well():
    X, y = make_blobs(300, centers=2, n_features=5, cluster_std=6.0, random_state=3)
    partial = np.where(np.arange(300) < 20, y, -1)
    model = WellSVC(kernel="linear", tol=1e-3, class_prior=0.5).fit(da.from_array(X, chunks=(80, 5)), partial)
    result = records(model)[0]
    labels = result.detail.labels.compute().astype(np.float64)
    assert len(labels) > 3
    assert ((labels[:, 20:] > 0).sum(axis=1) == 140).all()
    costs = np.where(partial < 0, model.C_unlabeled_, 1.0)
    signs = SignSet(np.arange(20), 2.0 * y[:20] - 1, 300, 140, 140)
    machine = KernelMachine(X @ X.T, signs, costs, center=True, tol=1e-6)
    found = weigh_labels(machine, labels, result.detail.weights, np.zeros(300), tol=1e-5)
    assert result.objective[-1] == pytest.approx(found.objective, rel=1e-3)
    scores = machine.scores((found.weights @ (found.dual * labels))[None])[0]
    assert np.mean((scores > 0) == model.transduction_.compute()) >= 0.99


def test_labels_on_all_rows():
    X, _, y = two_blobs(1, n_rows=60)
    expected = WellSVC(kernel="linear", tol=1e-6).fit(X, y)
    assert_same(
        WellSVC(kernel="linear", tol=1e-6).fit(da.from_array(X, chunks=(25, 2)), y), expected, rel=1e-5
    )


def test_too_few_labelings_warn():
    X, y = make_blobs(300, centers=2, n_features=5, cluster_std=6.0, random_state=3)
    partial = np.where(np.arange(300) < 20, y, -1)
    with pytest.warns(ConvergenceWarning, match="raise max_labels"):
        WellSVC(kernel="linear", max_labels=2).fit(da.from_array(X, chunks=(80, 5)), partial)


def test_fit_on_a_cluster(client):
    X, partial, _ = two_blobs(3)
    rows = da.from_array(X, chunks=(120, 2)).persist()
    model = WellSVC(kernel="linear", tol=1e-4).fit(rows, da.from_array(partial, chunks=120))
    assert_same(model, WellSVC(kernel="linear", tol=1e-4).fit(X, partial), rel=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear", "loss": "hinge"},
        {"kernel": "linear", "oracle": "step"},
        {"kernel": "linear", "oracle": "restarts"},
        {"kernel": "linear", "approximation": "nystroem"},
        {"kernel": np.dot},
    ],
)
def test_other_machines_say_what_to_set(settings):
    with pytest.raises(ValueError, match="kernel='linear', loss='squared_hinge', oracle='ascent'"):
        WellSVC(**settings).fit(da.ones((4, 2)), [0, 1, -1, -1])
