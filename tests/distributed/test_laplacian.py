"""Laplacian methods on Dask collections, through anchors: the same as in memory."""

import os
import signal
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weakly import (
    ExclusiveLaplacianSVC,
    LaplacianRLSClassifier,
    LaplacianRLSRegressor,
    LaplacianSVC,
    ProbabilisticLabelSVC,
)
from weakly.manifold._charged_rows import BlockOthers
from weakly.manifold._exclusive_solver import OtherRows
from weakly.regularizers import Exclusive
from weakly.rows._blocks import ArrayBlocks
from weakly.spaces import anchor_space, block_anchor_graph

from .test_linear import classes, sparse_chunks

ANCHORS = {"graph": "anchor", "n_components": 40, "random_state": 0}
CHUNKS = [(250, 100, 250), (50,) * 12]  # the last has chunks without a label


SCHEDULER = {"scheduler": "threads", "num_workers": 2}


def assert_same(found, expected, X, atol=1e-6):
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=0, atol=atol)
    assert isinstance(found.transduction_, da.Array)
    np.testing.assert_array_equal(found.transduction_.compute(), expected.transduction_)
    np.testing.assert_allclose(
        found.label_distributions_.compute(), expected.label_distributions_, rtol=0, atol=atol
    )
    assert found.temperature_ == pytest.approx(expected.temperature_, abs=atol)


@pytest.mark.parametrize("lengths", CHUNKS)
@pytest.mark.parametrize(
    "model",
    [
        LaplacianRLSClassifier(**ANCHORS),
        LaplacianRLSClassifier(solver="cg", tol=1e-10, **ANCHORS),
        LaplacianSVC(class_prior=[0.2, 0.5, 0.3], **ANCHORS),
        LaplacianSVC(loss="hinge", tol=1e-9, class_prior=None, **ANCHORS),
    ],
)
def test_classifier_is_that_in_memory(model, lengths):
    X, y = classes(600, 5, 3)
    assert (y.reshape(12, 50) < 0).all(axis=1).any()
    weights = np.random.default_rng(1).uniform(0.2, 2, 600)
    expected = model.fit(X, y, weights)
    decided = expected.decision_function(X)
    expected_parts = expected.transduction_, expected.label_distributions_, expected.temperature_
    chunked = da.from_array(X, chunks=(lengths, 5))
    found = model.fit(chunked, da.from_array(y, chunks=(lengths,)), da.from_array(weights, chunks=(lengths,)))
    np.testing.assert_allclose(found.decision_function(chunked).compute(), decided, rtol=0, atol=1e-6)
    assert found.transduction_.chunks == (lengths,)
    np.testing.assert_array_equal(found.transduction_.compute(), expected_parts[0])
    np.testing.assert_allclose(found.label_distributions_.compute(), expected_parts[1], rtol=0, atol=1e-6)
    assert found.temperature_ == pytest.approx(expected_parts[2], abs=1e-6)


def test_more_labels_than_anchors():
    X, y = classes(600, 5, 3)
    y[:200] = np.random.default_rng(0).integers(3, size=200)
    settings = {**ANCHORS, "n_components": 12}
    expected = LaplacianSVC(**settings).fit(X, y)
    assert_same(LaplacianSVC(**settings).fit(da.from_array(X, chunks=(150, 5)), y), expected, X)


def test_two_classes_of_strings_in_a_dataframe():
    X, y = classes(400, 3, 2)
    names = np.array(["no", "yes", None], dtype=object)[y]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["y"] = names
    lazy = dd.from_pandas(table, npartitions=4)
    expected = LaplacianRLSClassifier(**ANCHORS).fit(table[["a", "b", "c"]], names)
    found = LaplacianRLSClassifier(**ANCHORS).fit(lazy[["a", "b", "c"]], lazy["y"])
    assert_same(found, expected, table[["a", "b", "c"]])
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.predict(lazy[["a", "b", "c"]]).compute().tolist() == expected.transduction_.tolist()


def test_sparse_rows_and_single_precision():
    X, y = classes(500, 120, 2, np.float32)
    X[np.abs(X) < 1] = 0
    settings = {**ANCHORS, "n_neighbors": 7}
    expected = LaplacianSVC(**settings).fit(sp.csr_array(X), y)
    found = LaplacianSVC(**settings).fit(sparse_chunks(sp.csr_array(X), (200, 300)), y)
    assert found.label_distributions_.dtype == np.float32
    scores = expected.decision_function(sp.csr_array(X))
    np.testing.assert_allclose(
        found.decision_function(sp.csr_array(X)), scores, atol=1e-4 * np.abs(scores).max()
    )
    np.testing.assert_array_equal(found.transduction_.compute(), expected.transduction_)


@pytest.mark.parametrize("lengths", CHUNKS)
def test_regressor_is_that_in_memory(lengths):
    X, _ = classes(600, 4, 2)
    y = np.full(600, np.nan)
    y[::25] = X[::25] @ np.arange(4.0)
    weights = np.random.default_rng(1).uniform(0, 1, 600) * (np.arange(600) % 3 > 0)
    expected = LaplacianRLSRegressor(**ANCHORS).fit(X, y, weights)
    chunked = da.from_array(X, chunks=(lengths, 4))
    found = LaplacianRLSRegressor(**ANCHORS).fit(chunked, da.from_array(y, chunks=(lengths,)), weights)
    assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-12)
    np.testing.assert_allclose(found.transduction_.compute(), expected.transduction_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.predict(chunked).compute(), expected.predict(X), rtol=0, atol=1e-9)


def test_regressor_wants_targets():
    X = da.ones((20, 2), chunks=(10, 2))
    with pytest.raises(ValueError, match="no labelled row"):
        LaplacianRLSRegressor(**{**ANCHORS, "n_components": 9}).fit(X, np.full(20, np.nan))


@pytest.mark.parametrize("exclusive", ["sum", "pairs"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_exclusive_classes_are_those_in_memory(exclusive, n_classes):
    X, y = classes(600, 2, n_classes)
    y[:] = -1
    y[:40] = np.random.default_rng(0).integers(n_classes, size=40)  # so that classes claim the same rows
    settings = {"exclusive": exclusive, "exclusive_penalty": 0.05, "ambient_penalty": 0.05, "tol": 1e-9}
    settings["graph_penalty"] = 1e-3
    expected = ExclusiveLaplacianSVC(**settings, **ANCHORS).fit(X, y)
    found = ExclusiveLaplacianSVC(**settings, **ANCHORS).fit(da.from_array(X, chunks=(300, 2)), y)
    assert_same(found, expected, X)
    assert found.result_.objective[-1] == pytest.approx(expected.result_.objective[-1], rel=1e-12)
    assert found.multi_positive_count_ == expected.multi_positive_count_
    assert found.multi_positive_path_[0] == expected.multi_positive_path_[0]
    if n_classes > 2:
        assert found.multi_positive_path_[0] > found.multi_positive_count_


def test_charge_of_blocks_is_that_of_rows():
    X, _ = classes(300, 3, 2)
    graph = block_anchor_graph(ArrayBlocks(X, 70), n_anchors=20, n_neighbors=4, random_state=0)
    labeled = np.array([3, 80, 81, 299])
    space = anchor_space(graph, labeled, ambient=0.1, graph=1.0)
    theta = np.random.default_rng(0).normal(size=(20, 3))
    scores, all_scores = space.scores(theta), graph.feature_map(X) @ theta
    charge, blocks, rows = Exclusive("sum", 0.1), BlockOthers(space.base), OtherRows(300, labeled)
    np.testing.assert_allclose(scores[:4], all_scores[labeled], rtol=1e-12)
    assert blocks.value(charge, scores) == pytest.approx(rows.value(charge, all_scores), rel=1e-12)
    assert blocks.n_shared(scores, 0.1) == rows.n_shared(all_scores, 0.1)
    np.testing.assert_allclose(
        space.base.adjoint(blocks.slope(charge, scores)),
        graph.feature_map(X).T @ rows.slope(charge, all_scores),
        atol=1e-10,
    )


def test_moments_are_those_of_all_scores():
    X, _ = classes(300, 3, 2)
    graph = block_anchor_graph(ArrayBlocks(X, 70), n_anchors=20, n_neighbors=4, random_state=0)
    space = anchor_space(graph, np.array([5]), ambient=0.1, graph=1.0)
    theta = 100 + np.random.default_rng(0).normal(size=(20, 2))
    scores = graph.feature_map(X) @ theta
    mean, spread = space.base.moments(theta)
    np.testing.assert_allclose(mean, scores.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spread, scores.std(axis=0), rtol=1e-10)
    L = np.eye(300) - graph.feature_map(X) @ np.diag(1 / graph.masses) @ graph.feature_map(X).T
    inner = space.inner(theta, theta)
    expected = 0.1 * (theta**2).sum(axis=0) + np.einsum("ij,ij->j", scores, L @ scores)
    np.testing.assert_allclose(inner, expected, rtol=1e-10)


def test_unreached_rows_are_counted():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(70, 2)) + 50])
    y = np.full(220, -1)
    y[[0, 1, 2, 3]] = [0, 1, 0, 1]
    model = LaplacianSVC(**{**ANCHORS, "n_components": 20, "n_neighbors": 2})
    chunked = da.from_array(X, chunks=(55, 2))
    with pytest.warns(UserWarning, match="rows lie in parts") as in_memory:
        model.fit(X, y)
    with pytest.warns(UserWarning, match="rows lie in parts") as lazily:
        model.fit(chunked, y)
    assert [str(w.message) for w in lazily] == [str(w.message) for w in in_memory]


@pytest.mark.parametrize(
    "model", [LaplacianSVC, LaplacianRLSClassifier, ExclusiveLaplacianSVC, ProbabilisticLabelSVC]
)
def test_errors_say_what_to_do(model):
    X, y = classes(60, 4, 2)
    rows = da.from_array(X, chunks=(30, 4))
    anchors = model(**ANCHORS)
    for graph, approximation in (("knn", "auto"), ("anchor", "nystroem")):
        with pytest.raises(ValueError, match="set graph='anchor' and approximation='auto'"):
            model(graph=graph, approximation=approximation).fit(rows, y)
    with pytest.raises(ValueError, match=r"call X\.compute_chunk_sizes\(\)"):
        anchors.fit(rows[rows[:, 0] > -100], y)
    with pytest.raises(ValueError, match=r"call X\.rechunk\(\{1: -1\}\)"):
        anchors.fit(da.from_array(X, chunks=(30, 2)), y)
    with pytest.raises(ValueError, match=r"call y\.rechunk\(X\.chunks\[0\]\)"):
        anchors.fit(rows, da.from_array(y, chunks=20))
    with pytest.raises(ValueError, match="set device=None"):
        model(device="cpu", **ANCHORS).fit(rows, y)
    with pytest.raises(ValueError, match="pass rows, not a Gram matrix"):
        model(kernel="precomputed", **ANCHORS).fit(rows, y)
    unknown = rows.map_blocks(np.copy, dtype=float, chunks=(rows.chunks[0], (np.nan,)))
    with pytest.raises(ValueError, match=r"unknown number of columns: call X\.compute_chunk_sizes\(\)"):
        anchors.fit(unknown, y)
    with pytest.raises(ValueError, match="lower n_neighbors"):
        model(n_neighbors=60, **ANCHORS).fit(rows, y)
    if hasattr(anchors, "simplex") and "simplex" in anchors.get_params():
        with pytest.raises(ValueError, match="set simplex=False"):
            model(simplex=True, **ANCHORS).fit(rows, y)
    if "graph_penalty" in anchors.get_params():
        with pytest.raises(ValueError, match="positive graph_penalty"):
            model(graph_penalty=0, **ANCHORS).fit(rows, y)


def dies_once(rows, folder, block_info=None):
    """The third block at its third visit takes its worker down, and only then."""
    number = block_info[None]["chunk-location"][0]
    if number == 2 and rows.shape[0]:
        visits = len(list(Path(folder).iterdir()))
        (Path(folder) / str(visits)).touch()
        if visits == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return rows


def test_worker_that_dies_changes_nothing(client, tmp_path):
    X, y = classes(600, 5, 3)
    expected = LaplacianSVC(**ANCHORS).fit(X, y)
    processes = set(client.run(os.getpid).values())
    rows = da.from_array(X, chunks=(60, 5)).map_blocks(
        dies_once, folder=str(tmp_path), dtype=X.dtype, meta=X[:0]
    )
    found = LaplacianSVC(**ANCHORS).fit(rows, da.from_array(y, chunks=60))
    assert len(list(tmp_path.iterdir())) > 3  # the visits went on
    assert_same(found, expected, X)
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != processes


def heavy_rows(block_id, n_rows, centers):
    """Rows around two centres, 20 MB of them, at no cost."""
    start = block_id[0] * n_rows
    rows = np.repeat(centers[None, :, :], n_rows // 2, axis=0).reshape(n_rows, -1)
    rows[:, 0] += np.sin(np.arange(start, start + n_rows))
    return rows


def test_rows_beyond_the_memory_of_the_workers():
    rng = np.random.default_rng(0)
    n_chunks, n_rows, n_columns = 101, 25_000, 100
    centers = rng.normal(size=(2, n_columns))
    rows = da.map_blocks(
        heavy_rows,
        n_rows=n_rows,
        centers=centers,
        chunks=((n_rows,) * n_chunks, n_columns),
        dtype=float,
        meta=np.empty((0, 0)),
    )
    numbers = da.arange(n_rows * n_chunks, chunks=n_rows)
    labels = da.where(numbers < 4, numbers % 2, -1)
    limit = 480 * 2**20  # of which the libraries take more than half
    assert rows.nbytes > 4 * limit
    settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": limit, "dashboard_address": ":0"}
    # No pauses and nothing put on disk: a worker that holds too much is ended.
    strict = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    with (
        dask.config.set(strict),
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = client.run(os.getpid)
        model = LaplacianRLSClassifier(graph="anchor", n_components=10, n_neighbors=3, random_state=0)
        model.fit(rows, labels)
        n_right = (model.transduction_ == numbers % 2)[-5 * n_rows :].sum().compute()
        assert client.run(os.getpid) == before
    assert n_right == 5 * n_rows
