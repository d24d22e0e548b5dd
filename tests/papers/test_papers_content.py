import numpy as np
import pytest

from weakly import papers
from weakly.papers import _protocols
from weakly.papers._protocols import transductive_accuracy, transductive_error

NEAREST = {
    "data": {"name": "usps", "classes": [4, 9]},
    "estimator": "sklearn.neighbors.KNeighborsClassifier",
    "params": {"n_neighbors": 1},
    "supervised": True,
}


@pytest.fixture
def small_usps(tmp_path, monkeypatch):
    """Ten far clusters of 20 rows; one row of class 9 lies among those of class 4."""
    y = np.repeat(np.arange(10), 20)
    X = 50.0 * y[:, None] + np.random.default_rng(0).normal(size=(200, 3))
    X[-1] = X[85]
    np.savez(tmp_path / "usps.npz", X=X, y=y, classes=[str(code) for code in range(10)])
    monkeypatch.setenv("WEAKLY_DATA", str(tmp_path))
    _protocols._rows.cache_clear()
    yield
    _protocols._rows.cache_clear()


def test_error_is_over_the_unlabelled_rows_of_the_wanted_classes(small_usps):
    # 40 rows, 2 of them labelled: the stray row is the one error, unless it is the labelled row of its class
    assert transductive_error(NEAREST, "1", seed=0) == pytest.approx(100 / 38)
    assert transductive_accuracy(NEAREST, "5", seed=0) == pytest.approx(100 - 100 / 30)


def test_draws_depend_on_the_seed_only(small_usps):
    spread = NEAREST | {"data": {"name": "usps", "classes": [4, 9], "rows": 30, "divide_by": 50}}
    values = [transductive_error(spread, "1", seed) for seed in (1, 2, 1)]
    assert values[0] == values[2]


def test_every_paper_loads_and_knows_its_key():
    assert {"tvsvm", "defaults"} <= set(papers.available())
    for key in papers.available():
        assert papers.load(key).key == key


def test_an_unknown_paper_is_refused():
    with pytest.raises(ValueError, match="choose from"):
        papers.load("nope")


@pytest.mark.parametrize("key", ["tvsvm", "defaults"])
def test_every_row_names_an_estimator_that_takes_its_settings(key):
    for table in papers.load(key).tables:
        for settings in table.settings.values():
            assert _protocols._class_of(settings["estimator"])(**settings["params"]).get_params()


def test_tvsvm_has_the_papers_numbers():
    binary, multiclass = papers.load("tvsvm").tables
    totals = []
    for table in (binary, multiclass):
        # two rows of ours stand beside the paper's one Lap-SVM
        printed = {place: value for place, value in table.published.items() if place[0] != "Lap-SVM, hinge"}
        assert len(printed) == 24
        totals.append(sum(printed.values()))
        assert all(
            table.published["Lap-SVM, hinge", column] == table.published["Lap-SVM", column]
            for column in table.columns
        )
    # totals of the printed tables, added up apart from this code
    assert totals == pytest.approx([130.65, 139.92])
    assert binary.published["Lap-RLS", "1"] == 18.09
    assert binary.published["Cheeger-SVM", "50"] == 2.73
    assert multiclass.published["Lap-SVM", "1"] == 49.95
    assert multiclass.published["TV-RLS", "10"] == 1.91
    assert {"Lap-RLS", "Lap-SVM"} <= set(binary.settings) == set(multiclass.settings)


@pytest.mark.parametrize("row", papers.load("tvsvm").tables[0].settings)
def test_tvsvm_separates_far_clusters(small_usps, row):
    for table in papers.load("tvsvm").tables:
        n_rows = 20 * len(table.settings[row]["data"]["classes"])
        n_unlabeled = n_rows - 5 * n_rows // 20
        assert table.evaluate(table.settings[row], "5", 0) == pytest.approx(100 / n_unlabeled)
