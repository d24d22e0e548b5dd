"""The door for Dask collections: what it takes, and what it says to do about the rest."""

import subprocess
import sys
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import weakly
from weakly import LaplacianSVC, TransductiveLinearSVC, encode_labels
from weakly.distributed import DaskBlocks, checked_rows, labels_of, rows_of
from weakly.rows._arrays import is_collection
from weakly.rows._blocks import ArrayBlocks

from .test_linear import classes, sparse_chunks


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=30), "b": rng.integers(9, size=30), "c": rng.random(30) > 0.5})
    table["y"] = pd.array([None] * 30, dtype="Int64")
    table.loc[[2, 17, 29], "y"] = [4, 7, 4]
    return table


def test_collections_are_told_by_their_type(frame):
    assert is_collection(da.ones(3))
    assert is_collection(dd.from_pandas(frame, npartitions=2))
    assert not any(is_collection(other) for other in (np.ones(3), frame, [1], sp.csr_array((2, 2)), None))


def test_package_does_without_dask():
    code = "import sys, weakly, weakly.svm, weakly.rows._blocks; assert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.int8, np.float64), (bool, float)],
)
def test_numbers_become_floats(given, kept):
    X = np.arange(12).reshape(6, 2).astype(given)
    blocks = rows_of(da.from_array(X, chunks=((2, 0, 4), 2)))
    assert blocks.dtype == kept
    assert blocks.X.chunks == ((2, 4), (2,))
    np.testing.assert_array_equal(blocks.X.compute(), X.astype(kept))


def test_sparse_chunks_stay_sparse():
    X = sp.random(10, 4, 0.5, random_state=0, format="csr")
    blocks = rows_of(sparse_chunks(sp.csc_array(X), (4, 6)))
    taken = blocks.take(np.array([9, 0, 5]))
    assert taken.format == "csr"
    np.testing.assert_array_equal(taken.toarray(), X.toarray()[[9, 0, 5]])


def test_dataframe_keeps_its_names(frame):
    table = dd.from_pandas(frame, npartitions=3)
    model = TransductiveLinearSVC()
    blocks = checked_rows(model, table[["a", "b", "c"]])
    np.testing.assert_array_equal(blocks.X.compute(), frame[["a", "b", "c"]].astype(float))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    filtered = rows_of(table[table.a > 0][["a"]])  # of partitions whose lengths nobody knows
    np.testing.assert_array_equal(filtered.X.compute(), frame.loc[frame.a > 0, ["a"]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (da.ones((4, 2))[da.ones(4) > 0], r"call X\.compute_chunk_sizes\(\)"),
        (da.ones((4, 2), chunks=1), r"call X\.rechunk\(\{1: -1\}\)"),
        (da.ones(4), "Expected 2D array, got 1D"),
        (da.from_array(np.array([["a"], ["b"]])), "it needs numbers"),
        (da.from_array(np.array([[1.0], [np.nan]])), "Input X contains NaN"),
        (da.from_array(np.array([[1.0], [np.inf]])), "Input X contains infinity"),
        (da.from_array(np.array([[np.inf], [-np.inf]])), "Input X contains infinity"),
        (da.ones((0, 2)), r"Found array with 0 sample\(s\)"),
        (dask.delayed(3), "pass a two-dimensional dask array or a dataframe"),
    ],
)
def test_errors_say_what_to_call(X, message):
    with pytest.raises(ValueError, match=message):
        rows_of(X)


@pytest.mark.parametrize("kind", ["array", "collection"])
@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -1, -1, -1, -1, 5, 3]),
        np.array([np.nan, 1.0, np.nan, np.nan, np.nan, 0.0, 1.0]),
        np.array(["u", None, None, None, None, None, "v"], dtype=object),
    ],
)
def test_labels_are_those_in_memory(y, kind):
    blocks = rows_of(da.ones((7, 1), chunks=((2, 0, 3, 2), 1)))
    weights = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.5, 3.0])
    given = da.from_array(y, chunks=((2, 0, 3, 2),)) if kind == "collection" else y.tolist()
    labels, found = labels_of(given, blocks, "auto", weights)
    expected = encode_labels(y, weights=weights)
    for name in ("classes", "labeled", "labeled_codes", "n_rows", "n_unlabeled", "n_classes", "frequencies"):
        np.testing.assert_array_equal(getattr(labels, name), getattr(expected, name))
    np.testing.assert_array_equal(labels.targets(), expected.targets())
    np.testing.assert_array_equal(found, weights[expected.labeled])


def test_labels_of_a_dataframe(frame):
    table = dd.from_pandas(frame, npartitions=3)
    labels, _ = labels_of(table["y"], rows_of(table[["a"]]))
    assert (labels.labeled.tolist(), labels.classes.tolist()) == ([2, 17, 29], [4, 7])
    in_memory, _ = labels_of(frame["y"], rows_of(table[["a"]]))
    assert in_memory.labeled.tolist() == [2, 17, 29]


def test_marker_and_weight_of_labels():
    blocks = rows_of(da.ones((4, 1), chunks=(2, 1)))
    y = da.from_array(np.array([-1, 1, -1, 1]), chunks=2)
    assert labels_of(y, blocks, None)[0].n_unlabeled == 0
    with pytest.raises(ValueError, match="-1 means unlabeled"):
        labels_of(y, blocks)
    labels, weights = labels_of([0, 1, 0, 1], blocks, "auto", np.array([1.0, 0.0, 2.0, 3.0]))
    assert (labels.labeled.tolist(), weights.tolist()) == ([0, 2, 3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (da.ones(4, chunks=3), None, r"call y\.rechunk\(X\.chunks\[0\]\)"),
        (np.ones(3), None, "inconsistent numbers of samples"),
        (da.ones((4, 1)), None, "one entry for each row"),
        (da.from_array(np.array([None, None, None, None]), chunks=2), None, "no labelled row"),
        (da.from_array(np.array(["a", None, 1, 2], dtype=object), chunks=2), None, "mixes labels of types"),
        ([0, 1, 0, 1], -np.ones(4), "sample_weight has entries that are negative"),
    ],
)
def test_errors_of_labels(y, weights, message):
    with pytest.raises(ValueError, match=message):
        labels_of(y, rows_of(da.ones((4, 1), chunks=(2, 1))), "auto", weights)


def test_blocks_agree_with_those_in_memory():
    X = np.random.default_rng(0).normal(size=(11, 3))
    lazy, plain = DaskBlocks(da.from_array(X, chunks=((4, 5, 2), 3))), ArrayBlocks(X, 4)
    rows, values = np.array([0, 4, 10]), np.array([5.0, 6.0, 7.0])
    np.testing.assert_array_equal(lazy.spread(rows, values, -1.0).compute(), plain.spread(rows, values, -1.0))
    np.testing.assert_array_equal(lazy.numbers().compute(), plain.numbers())
    kept = lazy.keep(lazy.map(lambda block: block[:, 0], width=None, dtype=float))
    np.testing.assert_array_equal(kept.compute(), X[:, 0])
    assert lazy.of(kept).reduce(np.sum) == pytest.approx(X[:, 0].sum())


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_new_rows_are_scored_when_asked_for(method, n_classes):
    X, y = classes(120, 4, n_classes, np.float32)
    model = LaplacianSVC(n_neighbors=30).fit(X, y)
    expected = getattr(model, method)(X)
    found = getattr(model, method)(da.from_array(X, chunks=((50, 0, 70), 4)))
    assert found.chunks[0] == (50, 0, 70)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-5, atol=1e-6)


def test_new_rows_of_a_dataframe():
    X, y = classes(80, 3, 2)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LaplacianSVC(n_neighbors=30).fit(table, y)
    lazy = dd.from_pandas(table, npartitions=2)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="X has 2 features"):
        LaplacianSVC(n_neighbors=30).fit(X, y).predict(lazy.to_dask_array(lengths=True)[:, :2])


TAKES_COLLECTIONS = {
    "ExclusiveLaplacianSVC", "FewLabelClassifier", "LaplacianRLSClassifier", "LaplacianRLSRegressor",
    "LaplacianSVC", "ProbabilisticLabelSVC", "TransductiveLinearSVC", "WellSVC",
}  # fmt: skip
OF_ROWS = [
    name
    for name in weakly.__all__
    if isinstance(getattr(weakly, name), type)
    and hasattr(getattr(weakly, name), "predict")
    and not getattr(weakly, name).__module__.startswith("weakly.multi_instance")
]


@pytest.mark.parametrize("name", sorted(set(OF_ROWS) - TAKES_COLLECTIONS))
def test_others_refuse_to_gather_a_collection(name):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    rows = da.from_array(X, chunks=(20, 2))
    estimator = getattr(weakly, name)()
    with pytest.raises(ValueError, match=r"pass X\.compute\(\)"):
        estimator.fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there is nothing to learn
        estimator.fit(X, y)
    if hasattr(estimator, "classes_"):
        assert isinstance(estimator.predict(rows), da.Array)
        np.testing.assert_array_equal(estimator.predict(rows).compute(), estimator.predict(X))
    else:
        with pytest.raises(ValueError, match=r"pass X\.compute\(\)"):
            estimator.predict(rows)


def test_workers_are_not_sent_what_only_training_samples_have():
    """Each estimator names it; what its docstring says of training samples is the list to compare with."""
    per_sample = {"transduction_", "label_distributions_", "novelty_", "supervised_", "graph_"}
    estimators = [getattr(weakly, name) for name in weakly.__all__]
    estimators = [kind for kind in estimators if hasattr(kind, "_last_published")]
    assert len(estimators) > 20
    for kind in estimators:
        documented = {name for name in per_sample if f"    {name} :" in kind.__doc__}
        named = {name for base in kind.__mro__ for name in vars(base).get("_of_training", ())}
        assert documented <= named, kind.__name__
