"""Transductive machines beside the WellSVM paper: their numbers, and protocols on data with an answer."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import SVC, LinearSVC

from benchmarks.papers import _protocols, load
from benchmarks.papers._protocols import published_split_error
from benchmarks.papers.wellsvm import METHODS, _transductive
from benchmarks.papers.wellsvm._transductive import MOONS, NEWSGROUPS, OPTIMIZERS, ORACLE, PUBLISHED_50
from weakly.model_selection import LabelDraws

TABLE6, TABLE7 = load("wellsvm").select(["table6", "table7"])


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Return a function that stores arrays as a data set."""
    monkeypatch.setenv("WEAKLY_DATA", str(tmp_path))
    _protocols._bunch.cache_clear()
    _transductive.technical_news.cache_clear()
    yield lambda name, **arrays: np.savez(tmp_path / f"{name}.npz", **arrays)
    _protocols._bunch.cache_clear()
    _transductive.technical_news.cache_clear()


def two_clusters(*sizes):
    y = np.repeat([0, 1], sizes)
    return 50.0 * y[:, None] + np.random.default_rng(0).normal(size=(len(y), 3)), y


def test_published_numbers_are_in_place():
    # totals over the three sets, added up apart from this code
    for row, total in (
        ("nabla-S3VM", 28.1),
        ("cS3VM", 29.7),
        ("USVM", 31.9),
        ("TSVM", 31.0),
        ("nabla-DA", 24.2),
        ("Newton", 41.2),
        ("SVM", 43.7),
        ("WellSVM", 30.6),
    ):
        assert sum(TABLE7.published[row, column] for column in TABLE7.columns) == pytest.approx(total)
    assert sum(TABLE6.published["TSVM", column] for column in TABLE6.columns) == pytest.approx(274.78)
    assert sum(MOONS.published.values()) == pytest.approx(348.9)
    assert MOONS.published["BB", "two moons"] == 0.0
    assert sum(NEWSGROUPS.published.values()) == pytest.approx(248.6)


def test_targets_are_those_of_the_project():
    ours = {place: value for place, value in TABLE7.targets.items() if place[0] != "WellSVM"}
    assert len(ours) == 22
    assert {row.removesuffix(", oracle shares") for row, _ in ours} == set(OPTIMIZERS)
    assert ours["nabla-DA", "g50c"] == 7.2
    assert {value for (_, column), value in ours.items() if column == "uspst"} == {
        TABLE7.published["SVM", "uspst"]
    }
    assert NEWSGROUPS.targets == NEWSGROUPS.published


def test_rows_that_were_there_before_keep_their_results():
    # fingerprints of stored results; these rows have no defaults of ours that could change
    assert TABLE7.fingerprint("SVM") == "d85be3074160"
    assert TABLE7.fingerprint("majority of the labels") == "22ad9120c36e"
    assert TABLE6.fingerprint("SVM") == "9eebf5342c71"
    for table in (TABLE6, TABLE7):
        for row in METHODS:
            assert not {"params_of", "true_shares"} & set(table.settings[row])


def test_another_paper_that_shows_published_numbers_shows_no_more_of_them():
    (others,) = load("fewlabel").select("others")
    assert not {row for row in others.rows if any(row.startswith(name) for name in PUBLISHED_50)}


@pytest.mark.parametrize("table", [TABLE6, TABLE7], ids=["table6", "table7"])
def test_every_optimiser_finds_far_clusters_of_a_published_split(stored, table):
    X, y = two_clusters(20, 20)
    splits = np.array([[0, 1, 20, 21], [2, 3, 22, 23]])
    for name in table.columns:
        stored(name, X=X, y=y, classes=["a", "b"], labeled_10=splits, labeled_50=splits)
    rows = [row for row in table.settings if row in OPTIMIZERS or row == ORACLE]
    assert len(rows) == (2 if table is TABLE6 else 7)
    text = "ssl_text" if table is TABLE6 else "text1"
    for row in rows:
        assert table.evaluate(table.settings[row], table.columns[0], 1) == 0.0
        assert table.evaluate(table.settings[row], text, 0) == 0.0


def test_parameters_may_differ_on_a_data_set(stored):
    X, y = two_clusters(12, 28)
    splits = np.array([[0, 12, 13]])
    for name in ("g50c", "text1"):
        stored(name, X=X, y=y, classes=["a", "b"], labeled_50=splits)
    settings = {
        "n_labels": 50,
        "estimator": "sklearn.neighbors.KNeighborsClassifier",
        "params": {"n_neighbors": 1},
        "supervised": True,
        "params_of": {"text1": {"n_neighbors": 3}},
    }
    before = json.dumps(settings)
    assert published_split_error(settings, "g50c", 0) == 0.0
    # among all three labels, class b has the majority everywhere
    assert published_split_error(settings, "text1", 0) == pytest.approx(100 * 11 / 37)
    assert json.dumps(settings) == before


@pytest.mark.parametrize("on_text", [False, True])
def test_true_shares_are_those_of_the_hidden_rows(stored, on_text):
    X, y = two_clusters(30, 10)
    column = "text1" if on_text else "g50c"
    stored(column, X=X, y=y, classes=["a", "b"], labeled_50=np.array([[0, 1, 30, 31]]))
    settings = TABLE7.settings["nabla-DA"]
    # with equal shares, as among the labels, 10 of the 28 hidden rows of class a go to class b
    assert published_split_error(settings, column, 0) == pytest.approx(100 * 10 / 36)
    assert published_split_error(settings | {"true_shares": True}, column, 0) == 0.0


@pytest.fixture
def far_moons(stored):
    """Dense clusters of 20 rows for training, far apart, among as many rows with the wrong class."""
    X, y = two_clusters(20, 20)
    X, y, is_train = np.vstack([X, X]) / 10, np.append(y, 1 - y), np.repeat([True, False], 40)
    stored("two_moons", X=X, y=y, classes=["a", "b"], is_train=is_train)


@pytest.mark.usefixtures("far_moons")
@pytest.mark.parametrize("row", MOONS.settings)
def test_moons_have_one_label_of_each_class(row):
    measured = MOONS.evaluate(MOONS.settings[row], "two moons", 3)
    assert measured["value"] == pytest.approx(0.0)
    assert ("objective" in measured) is (row != "SVM")
    assert ("gap" in measured) is (row == "BB")
    if row == "BB":
        assert measured["gap"] <= MOONS.settings[row]["params"]["tol"]


def test_moons_without_unlabelled_rows_are_a_machine_of_two_labels(stored):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    stored("two_moons", X=X, y=y, classes=["a", "b"], is_train=np.ones(60, dtype=bool))
    draw = next(LabelDraws(n_per_class=1, n_repeats=1, random_state=5).split(X, y))
    assert len(draw.labeled) == 2
    model = SVC(C=10.0, gamma=2.0).fit(X[draw.labeled], y[draw.labeled])
    expected = 100 * (1 - model.score(X[draw.unlabeled], y[draw.unlabeled]))
    measured = MOONS.evaluate(MOONS.settings["SVM"], "two moons", 5)
    assert measured == {"value": pytest.approx(expected)}


TERMS = ["the", "chip", "and", "ball", "orbit", "cell", "goal", "rare"]


@pytest.fixture
def news(stored):
    """Documents of four groups: half of them use the words of their side, all use stop words."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, size=400)
    technical = groups % 2 == 0
    counts = rng.poisson(0.3, size=(400, 8))
    counts[:, [1, 4]] += 4 * technical[:, None]
    counts[:, [3, 6]] += 4 * ~technical[:, None]
    counts[:, [0, 2]] += 1
    counts[:, 7] = np.arange(400) == 0
    X = sp.csr_array(counts.astype(np.float32))
    parts = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    classes = np.array(["comp.a", "rec.b", "sci.c", "talk.d"])
    stored("news20", **parts, y=groups, classes=classes, vocab=np.array(TERMS))
    return counts, technical.astype(int)


def test_the_terms_in_most_documents_are_kept_without_stop_words(news):
    counts, technical = news
    rows, y = _transductive.technical_news(5)
    np.testing.assert_array_equal(y, technical)
    kept = [TERMS.index(term) for term in ("chip", "ball", "orbit", "cell", "goal")]
    np.testing.assert_array_equal(rows.toarray(), counts[:, kept])
    np.testing.assert_array_equal(_transductive.technical_news(None)[0].toarray(), counts)


@pytest.mark.usefixtures("news")
@pytest.mark.parametrize("row", ["multi-switch", "annealing"])
def test_groups_with_words_of_their_own_are_found(row):
    assert NEWSGROUPS.evaluate(NEWSGROUPS.settings[row], "18,774 rows", 0) > 90.0


def test_labels_alone_are_a_machine_of_the_rows_drawn(news):
    counts, technical = news
    counts = counts[:, [TERMS.index(term) for term in TERMS if term not in ("the", "and")]]
    rows = np.random.default_rng(2).choice(400, 150, replace=False)
    X, y = TfidfTransformer().fit_transform(counts[rows]), technical[rows]
    draw = next(LabelDraws(n_per_class=10, n_repeats=1, random_state=2).split(X, y))
    model = LinearSVC(random_state=0).fit(X[draw.labeled], y[draw.labeled])
    expected = 100 * model.score(X[draw.unlabeled], y[draw.unlabeled])
    measured = NEWSGROUPS.evaluate(NEWSGROUPS.settings["LinearSVC, labels only"], "150 rows", 2)
    assert measured == pytest.approx(expected)
