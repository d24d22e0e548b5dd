"""Table 11 of the WellSVM paper: its numbers, and its protocol on data with a known answer."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from weakly.papers.wellsvm._clustering import TABLE11, clustering_accuracy

FEW = {"C": (0.1, 1.0), "balance": (0.03, 0.3), "width": ("linear", 1.0)}


@pytest.fixture
def house(tmp_path, monkeypatch):
    """Clusters of 24 and 16 rows, 4 rows of the larger with the other class; one entry is missing."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [24, 16])
    X = rng.normal(size=(40, 3)) + 9.0 * y[:, None]
    X[5, 1] = np.nan
    y[:4] = 1
    np.savez(tmp_path / "house.npz", X=X, y=y, classes=["no", "yes"])
    monkeypatch.setenv("WEAKLY_DATA", str(tmp_path))
    X[5, 1] = np.nanmean(X[:, 1])
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_the_table_has_the_papers_numbers():
    # totals over the 14 sets, added up apart from this code
    for row, total in (("WellSVM", 1044), ("k-means", 915)):
        assert sum(TABLE11.published[row, column] for column in TABLE11.columns) == total


def test_a_single_cluster_has_the_share_of_the_larger_class(house):
    measured = clustering_accuracy(TABLE11.settings["one cluster"], "house", 0)
    assert measured == {"value": 50.0, "adjusted_rand": 0.0, "smaller_cluster": 0.0}


def test_k_means_is_the_mean_over_starts(house):
    X, y = house
    shares = [np.mean(KMeans(2, n_init=1, random_state=start).fit_predict(X) == y) for start in range(10)]
    measured = clustering_accuracy(TABLE11.settings["k-means"], "house", 0)
    assert measured["value"] == pytest.approx(100 * np.mean([max(share, 1 - share) for share in shares]))


@pytest.mark.parametrize("row", ["WellSVM", "WellSVM, as published"])
def test_the_grid_gives_its_best_entry(house, row):
    settings = TABLE11.settings[row] | {"grid": FEW}
    measured = clustering_accuracy(settings, "house", 0)
    assert measured["value"] == pytest.approx(90.0)  # with the planted clusters 4 of 40 rows are wrong
    assert measured["smaller_cluster"] == pytest.approx(0.4)
    entry = {name: (value,) for name, value in measured["setting"].items()}
    assert clustering_accuracy(settings | {"grid": entry}, "house", 0) == measured
    if row == "WellSVM":
        narrow = clustering_accuracy(settings | {"grid": FEW | {"balance": (0.0,)}}, "house", 0)
        assert narrow["smaller_cluster"] == 0.5  # the balance holds


def test_defaults_need_no_grid(house):
    assert clustering_accuracy(TABLE11.settings["WellSVM, defaults"], "house", 0)["value"] == 90.0
