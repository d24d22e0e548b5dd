"""The automatic classifier on Dask collections: the same as in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weakly import FewLabelClassifier, LaplacianRLSClassifier

N_ROWS = 240
CHUNKS = (70, 100, 30, 40)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 3
    X = np.array([[0.0, 0, 0, 0], [3, 0, 0, 0], [0, 3, 0, 0]])[y] + rng.normal(size=(N_ROWS, 4))
    return X, np.where(np.arange(N_ROWS) < 18, y, -1)


def fit(X, y, **settings):
    return FewLabelClassifier(random_state=0, **settings).fit(X, y)


def chunked(X, y):
    return da.from_array(X, chunks=(CHUNKS, X.shape[1])), da.from_array(y, chunks=(CHUNKS,))


def sparse_chunks(X):
    starts = np.cumsum([0, *CHUNKS])
    parts = [
        da.from_delayed(dask.delayed(X[start : start + n]), shape=(n, X.shape[1]), dtype=X.dtype)
        for start, n in zip(starts, CHUNKS, strict=False)
    ]
    return da.concatenate(parts)


def assert_same(found, expected, X):
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(found.label_distributions_.compute(), expected.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(found.transduction_.compute(), expected.transduction_)
    np.testing.assert_array_equal(found.supervised_.compute(), expected.supervised_)
    assert found.temperature_ == pytest.approx(expected.temperature_, abs=1e-6)
    assert found.evidence_.log_odds == pytest.approx(expected.evidence_.log_odds, abs=1e-6)


@pytest.mark.parametrize("mode", ["auto", "safe"])
def test_arrays_are_fitted_as_in_memory(table, mode):
    X, y = table
    lazy_X, lazy_y = chunked(X, y)
    model = fit(lazy_X, lazy_y, mode=mode)
    for lazy in (model.transduction_, model.label_distributions_, model.supervised_):
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == CHUNKS
    assert_same(model, fit(X, y, mode=mode, graph="anchor"), X)
    np.testing.assert_allclose(
        model.predict_proba(lazy_X).compute(), model.label_distributions_.compute(), atol=1e-9
    )


def test_sparse_chunks_and_names_of_classes(table):
    X = sp.csr_array(np.maximum(np.round(table[0]), 0))
    y = np.array(["ant", "bee", "cat", None], dtype=object)[table[1]]
    expected = fit(X, y, graph="anchor")
    assert_same(fit(sparse_chunks(X), y), expected, X)
    assert expected.preparation_.startswith("tf-idf")


def test_dataframes(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    lazy = dd.from_pandas(frame, npartitions=3)
    model = fit(lazy[list("abcd")], lazy["y"])
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_same(model, fit(frame[list("abcd")], y, graph="anchor"), frame[list("abcd")])


def test_kernels_are_kept_for_other_labels(monkeypatch, table):
    X, y = chunked(*table)
    model = FewLabelClassifier(random_state=0).precompute(X, n_classes=3)
    expected = fit(X, y).label_distributions_.compute()
    monkeypatch.setattr("weakly.auto._few_label.build_bank", None)  # any attempt to build would fail
    np.testing.assert_array_equal(model.fit(X, y).label_distributions_.compute(), expected)
    with pytest.raises(TypeError):
        model.fit(X + 1, y)


@pytest.mark.parametrize("settings", [{"graph": "knn"}, {"effort": "full"}])
def test_what_needs_neighbours_is_refused(table, settings):
    with pytest.raises(ValueError, match="connected through anchors"):
        fit(*chunked(*table), **settings)


def test_rows_cross_between_machines(client, table):
    X, y = table
    assert_same(fit(*chunked(X, y)), fit(X, y, graph="anchor"), X)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("model", [FewLabelClassifier(), LaplacianRLSClassifier(graph="anchor")])
def test_the_size_of_samples_is_named(table, model, size):
    X, y = chunked(size * table[0], table[1])
    with pytest.raises(ValueError, match="scale the features"):
        model.fit(X, y)
