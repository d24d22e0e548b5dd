"""Kernels of samples that anchors connect: sums against the values of all samples, and other blocks."""

import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from weakly import FewLabelClassifier
from weakly.auto import build_bank
from weakly.auto._anchor_kernels import AnchorLinks
from weakly.auto._kernels import Size
from weakly.graphs._anchor_map import AnchorMap
from weakly.model_selection import LabelDraws
from weakly.rows._blocks import ArrayBlocks, row_keys

N_ROWS = 300


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0, 0, 0], [4, 0, 0, 0], [0, 4, 0, 0]])
    return centres[np.arange(N_ROWS) % 3] + rng.normal(size=(N_ROWS, 4))


@pytest.fixture(scope="module")
def partial_labels():
    return np.where(np.arange(N_ROWS) < 15, np.arange(N_ROWS) % 3, -1)


@pytest.fixture(scope="module")
def bank(rows):
    return build_bank(ArrayBlocks(rows, 37), n_classes=3, graph="anchor", preparation="raw", random_state=0)


@pytest.fixture(scope="module")
def candidates(bank, rows):
    return {candidate.name: candidate.space for candidate in at_all(bank, rows)}


def at_all(bank, rows):
    """The kernels with the values of all samples."""
    return bank.at(ArrayBlocks(rows), np.arange(rows.shape[0]))[0]


def affinity_of(bank, rows, k):
    """``Z M^-1 Z'`` between all rows, as a dense matrix."""
    Z = bank.reference.views(rows).weights(k).toarray()
    masses = Z.sum(axis=0)
    return Z[:, masses > 0] / masses[masses > 0] @ Z[:, masses > 0].T


def centred_and_scaled(K):
    H = np.eye(len(K)) - 1 / len(K)
    K = H @ K @ H
    return K / np.trace(K) * len(K)


def in_blocks(monkeypatch, block_rows):
    monkeypatch.setattr("weakly.auto._few_label.ArrayBlocks", lambda X: ArrayBlocks(X, block_rows))


def test_families_are_those_of_the_bank_of_neighbours(bank):
    families = [candidate.family for candidate in bank.candidates]
    assert [families.count(name) for name in ("sup", "lap", "graph", "pca")] == [5, 12, 28, 11]


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_sums_are_those_of_the_values_of_all_rows(rows, kind):
    X = sp.csr_array(np.where(np.abs(rows) > 1, rows, 0)) if kind == "csr" else rows
    bank = build_bank(ArrayBlocks(X, 37), n_classes=3, graph="anchor", random_state=0)
    for candidate in at_all(bank, X):
        where = candidate.space.coordinates
        values = where.values.toarray() if sp.issparse(where.values) else where.values
        np.testing.assert_allclose(where.mean, values.mean(axis=0), atol=1e-12)
        Z = values - values.mean(axis=0)
        Z = Z if where.rotation is None else Z @ where.rotation
        np.testing.assert_allclose(where.mean_squares, (Z**2).mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(np.trace(candidate.space.gram(slice(None))) / N_ROWS, 1, rtol=1e-8)


@pytest.mark.parametrize("k", [3, 5])
def test_functions_of_the_anchor_graph(bank, candidates, rows, k):
    """Against the eigenvectors of the affinity of all rows, a dense matrix."""
    found, vectors = np.linalg.eigh(affinity_of(bank, rows, k))
    found, vectors = found[::-1], vectors[:, ::-1]
    first = found > 1e-8
    for time in (3, 30):
        expected = vectors[:, first] * np.exp(time * (found[first] - 1)) @ vectors[:, first].T
        gram = candidates[f"heat, time {time}, {k} anchors"].gram(slice(None))
        np.testing.assert_allclose(gram, centred_and_scaled(expected), atol=1e-8)
    expected = vectors[:, :5] @ vectors[:, :5].T
    gram = candidates[f"5 eigenvectors, {k} anchors"].gram(slice(None))
    np.testing.assert_allclose(gram, centred_and_scaled(expected), atol=1e-8)


@pytest.mark.parametrize(("k", "power", "suffix"), [(3, 1, ""), (5, 1, ""), (5, 2, "^2")])
@pytest.mark.parametrize("penalty", [0.1, 100.0])
def test_deformed_kernels(bank, candidates, rows, k, power, suffix, penalty):
    distances = euclidean_distances(rows)
    median = np.median(distances[np.triu_indices(N_ROWS, 1)])
    K = np.exp(-(distances**2) / (2 * (0.7 * median) ** 2))
    L = np.linalg.matrix_power(np.eye(N_ROWS) - affinity_of(bank, rows, k), power)
    expected = np.linalg.solve(np.eye(N_ROWS) + penalty * K @ L, K)
    found = candidates[f"rbf with {penalty:g} L{suffix}, {k} anchors"].gram(slice(None))
    np.testing.assert_allclose(found, centred_and_scaled(expected), atol=1e-6)


def test_common_clusters(bank, candidates, rows):
    indicators = candidates["9 clusters of components"].coordinates.values.toarray()
    runs = np.split(indicators, 10, axis=1)
    assert all((run.sum(axis=1) == 1).all() for run in runs)
    together = sum((np.argmax(run, 1)[:, None] == np.argmax(run, 1)).astype(float) for run in runs)
    gram = candidates["9 clusters of components"].gram(slice(None))
    np.testing.assert_allclose(gram, centred_and_scaled(together), atol=1e-10)


def test_weights_on_fewer_anchors(rows):
    anchors = rows[::10]
    links = AnchorLinks(AnchorMap(anchors, 5))
    nearest, weights = links.nearest(rows)  # rows that are anchors have distance 0
    fewer_nearest, expected = AnchorMap(anchors, 3).nearest(rows)
    np.testing.assert_array_equal(nearest[:, :3], fewer_nearest)
    np.testing.assert_allclose(links.fewer(weights, 3), expected, atol=1e-12)
    copies = AnchorMap(np.repeat(anchors, 5, axis=0), 5).nearest(anchors)[1]
    np.testing.assert_allclose(links.fewer(copies, 3), 1 / 3)


@pytest.mark.parametrize(("mode", "kind"), [("auto", "dense"), ("safe", "csr")])
def test_many_blocks_are_one(monkeypatch, rows, partial_labels, mode, kind):
    X = sp.csr_array(np.maximum(rows, 0)) if kind == "csr" else rows
    in_blocks(monkeypatch, N_ROWS)
    one = FewLabelClassifier(mode, graph="anchor", random_state=0).fit(X, partial_labels)
    in_blocks(monkeypatch, 37)
    many = FewLabelClassifier(mode, graph="anchor", random_state=0).fit(X, partial_labels)
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(many.label_distributions_, one.label_distributions_, atol=1e-8)
    np.testing.assert_array_equal(many.supervised_, one.supervised_)
    np.testing.assert_allclose(many.predict_proba(X), many.label_distributions_, atol=1e-9)
    order = np.random.default_rng(1).permutation(N_ROWS)
    permuted = FewLabelClassifier(mode, graph="anchor", random_state=0).fit(X[order], partial_labels[order])
    np.testing.assert_allclose(permuted.label_distributions_, one.label_distributions_[order], atol=1e-8)


def test_supervised_kernels_are_those_of_the_bank_of_neighbours(rows, partial_labels):
    """They know no graph, and up to 1000 rows are exact in both."""
    neighbours, anchors = (
        FewLabelClassifier(graph=graph, preparation="raw", random_state=0).fit(rows, partial_labels)
        for graph in ("knn", "anchor")
    )
    scores = [
        {name: score for name, family, score, _ in model.candidates_.tolist() if family == "sup"}
        for model in (neighbours, anchors)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    np.testing.assert_array_equal(neighbours.supervised_, anchors.supervised_)


def test_digits_are_about_as_well_known_as_by_neighbours():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    right = {}
    for graph in ("knn", "anchor"):
        model = FewLabelClassifier(graph=graph, random_state=0).precompute(X, 10)
        draws = itertools.islice(LabelDraws(n_per_class=5, random_state=0).split(X, truth), 3)
        right[graph] = np.mean(
            [np.mean(model.fit(X, draw.mask(truth)).transduction_ == truth) for draw in draws]
        )
    assert right["anchor"] > max(right["knn"] - 0.03, 0.9)


def test_large_tables_take_blocks_by_themselves(monkeypatch, rows, partial_labels):
    rows, partial_labels = rows[:100], partial_labels[:100]
    asked = FewLabelClassifier(graph="anchor", random_state=0).fit(rows, partial_labels)
    monkeypatch.setattr("weakly.auto._few_label.MOST_NEIGHBOR_ROWS", 99)
    by_itself = FewLabelClassifier(random_state=0).fit(rows, partial_labels)
    np.testing.assert_array_equal(by_itself.label_distributions_, asked.label_distributions_)
    assert any("neighbours" in name for name in fitted_names(rows, partial_labels, graph="knn"))
    assert any("neighbours" in name for name in fitted_names(rows, partial_labels, effort="full"))


def fitted_names(rows, y, **settings):
    return FewLabelClassifier(random_state=0, **settings).fit(rows, y).candidates_["kernel"]


def test_total_variation_needs_edges(rows, partial_labels):
    with pytest.raises(ValueError, match="no edges"):
        FewLabelClassifier(graph="anchor", effort="full").fit(rows, partial_labels)


def test_precomputed_sums_serve_other_labels(monkeypatch, rows, partial_labels):
    model = FewLabelClassifier(graph="anchor", random_state=0).precompute(rows, n_classes=3)
    fresh = FewLabelClassifier(graph="anchor", random_state=0).fit(rows, partial_labels)
    monkeypatch.setattr("weakly.auto._few_label.build_bank", None)  # any attempt to build would fail
    np.testing.assert_array_equal(
        model.fit(rows, partial_labels).label_distributions_, fresh.label_distributions_
    )
    with pytest.raises(TypeError):
        model.fit(rows + 1, partial_labels)
    with pytest.raises(TypeError):
        FewLabelClassifier(graph="anchor", random_state=0).fit(rows, partial_labels)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(rows), model.predict_proba(rows))


def test_of_many_labels_the_first_are_fitted(monkeypatch, rows):
    y = np.arange(N_ROWS) % 3
    monkeypatch.setattr("weakly.auto._few_label.MOST_SCORED", 20)
    monkeypatch.setattr("weakly.auto._few_label.MOST_FITTED", 60)
    many = FewLabelClassifier(graph="anchor", class_prior=[1, 1, 1], random_state=0).fit(rows, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    first = np.argsort(row_keys(rows, seed))[:60]
    partial = np.full(N_ROWS, -1)
    partial[first] = y[first]
    few = FewLabelClassifier(graph="anchor", class_prior=[1, 1, 1], random_state=0).fit(rows, partial)
    np.testing.assert_allclose(many.decision_function(rows), few.decision_function(rows), atol=1e-10)


def test_float32_in_float32_out(rows, partial_labels):
    short = rows.astype(np.float32)
    model = FewLabelClassifier(graph="anchor", random_state=0).fit(short, partial_labels)
    assert model.decision_function(short).dtype == model.label_distributions_.dtype == np.float32
    exact = FewLabelClassifier(graph="anchor", random_state=0).fit(short.astype(float), partial_labels)
    # Keys of rows, and so landmarks and anchors, are those of their bytes: the two models are not one.
    assert np.mean(model.transduction_ == exact.transduction_) > 0.9


@pytest.mark.parametrize("n_rows", [2, 3, 5, 12])
def test_very_few_rows(n_rows):
    X = (np.arange(n_rows) % 2)[:, None].astype(float)
    y = np.where(np.arange(n_rows) < 2, np.arange(n_rows) % 2, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FewLabelClassifier(graph="anchor", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, np.arange(n_rows) % 2)


def test_rows_that_are_all_equal_get_even_odds():
    y = np.array([0, 1] * 2 + [-1] * 16)
    model = FewLabelClassifier(graph="anchor", random_state=0).fit(np.ones((20, 3)), y)
    np.testing.assert_allclose(model.label_distributions_[5:], 0.5, atol=1e-6)


def test_memory_does_not_grow_with_values_of_rows(monkeypatch):
    """Kernels with 60 landmarks would hold 192 MB of values of 200,000 rows."""
    monkeypatch.setattr("weakly.auto._bank.SIZE_OF_MANY", Size(60, 8, 8, 1))
    monkeypatch.setattr("weakly.auto._anchor_kernels.N_ANCHORS", 30)
    monkeypatch.setattr("weakly.auto._bank.SAMPLE_ROWS", 3000)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200_000)
    X = rng.normal(size=(200_000, 20)).astype(np.float32) + 2 * y[:, None].astype(np.float32)
    tracemalloc.start()
    model = FewLabelClassifier(graph="anchor", random_state=0).fit(
        X, np.where(np.arange(200_000) < 20, y, -1)
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6, peak
    assert np.mean(model.transduction_ == y) > 0.95
