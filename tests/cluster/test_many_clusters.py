"""More than two clusters: by splits of splits, by all labels at once, and the better of two starts."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import weakly.cluster._alternating
import weakly.cluster._relaxations
from tests.cluster.test_methods import allowed_sizes
from weakly import IterativeSVRClustering, WellClustering
from weakly.cluster._base import divide
from weakly.spaces import FeatureSpace, KernelSpace

METHODS = [WellClustering, IterativeSVRClustering]
each_method = pytest.mark.parametrize("kind", METHODS)
each_number = pytest.mark.parametrize("n_clusters", [3, 4, 5, 7])


def blobs(n_clusters, n_each=20, apart=9.0, seed=0):
    """Groups of rows that are as far from each other, of sizes that differ by a quarter."""
    rng = np.random.default_rng(seed)
    sizes = n_each + (np.arange(n_clusters) % 3 - 1) * n_each // 8
    y = rng.permutation(np.repeat(np.arange(n_clusters), sizes))
    return rng.normal(size=(len(y), n_clusters)) + apart * np.eye(n_clusters)[y], y


def keeps_to_bounds(model, n_rows):
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    return set(sizes.tolist()) <= allowed_sizes(n_rows, model.n_clusters, model.balance)


@each_method
@each_number
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_planted_clusters_are_found(kind, n_clusters, kernel):
    X, y = blobs(n_clusters)
    model = kind(n_clusters, kernel=kernel, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert keeps_to_bounds(model, len(X))
    new, y_new = blobs(n_clusters, seed=1)
    assert adjusted_rand_score(y_new, model.predict(new)) > 0.9
    assert model.decision_function(new).shape == (len(new), n_clusters)
    np.testing.assert_array_equal(model.decision_function(new).argmax(axis=1), model.predict(new))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.threshold_.shape == (n_clusters,)
    assert (np.diff(model.result_.objective) <= 0).all()
    assert model.result_.converged
    firsts = [model.labels_.tolist().index(c) for c in range(n_clusters)]
    assert firsts == sorted(firsts)


@each_method
@each_number
@pytest.mark.parametrize("balance", [0.0, 0.1, 0.5])
def test_sizes_where_rows_have_no_clusters(kind, n_clusters, balance):
    X = np.random.default_rng(n_clusters).normal(size=(61, 4)) ** 3  # a few rows far from the others
    model = kind(n_clusters, balance=balance, random_state=0).fit(X)
    assert keeps_to_bounds(model, 61)
    assert (np.diff(model.result_.objective) <= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    free = (model.decision_function(X) + model.threshold_).argmax(axis=1)
    np.testing.assert_allclose(np.bincount(free, minlength=n_clusters) / 61, model.free_shares_)


@each_method
@pytest.mark.parametrize("n_clusters", [3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_lower_of_two_starts_is_published(kind, n_clusters, seed, monkeypatch):
    module, name = {
        WellClustering: (weakly.cluster._relaxations, "solve_joint_margin"),
        IterativeSVRClustering: (weakly.cluster._alternating, "solve_iterative_svr"),
    }[kind]
    solve, runs = getattr(module, name), []

    def spy(*args, **kwargs):
        result = solve(*args, **kwargs)
        if kwargs.get("n_clusters", n_clusters) == n_clusters:  # the others are splits in two
            runs.append((args[1], result))
        return result

    monkeypatch.setattr(module, name, spy)
    X, _ = blobs(n_clusters, apart=1.5, seed=seed)
    model = kind(n_clusters, random_state=0).fit(X)
    assert len(runs) == 2
    values = [result.objective[-1] for _, result in runs]
    chosen = runs[int(np.argmin(values))][1]
    np.testing.assert_array_equal(model.result_.objective, chosen.objective)
    assert adjusted_rand_score(chosen.detail.labels[0], model.result_.detail.labels[0]) == 1.0
    assert (
        np.mean(model.result_.detail.labels[0] == model.labels_) > 0.9
    )  # the same numbers, and nearly the same rows
    assert (runs[0][0] != runs[1][0]).any()
    for start, _ in runs:
        sizes = np.bincount(start, minlength=n_clusters)
        assert set(sizes.tolist()) <= allowed_sizes(len(X), n_clusters, 0.3)


@each_method
@pytest.mark.parametrize("n_clusters", [3, 5])
def test_given_labels_are_the_only_start(kind, n_clusters):
    X, y = blobs(n_clusters)
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(len(y)) < 0.2, rng.integers(n_clusters, size=len(y)), y)
    model = kind(n_clusters, init=noisy).fit(X)
    assert np.mean(model.labels_ == y) > 0.95  # with the numbers of the noisy ones
    again = kind(n_clusters, init=model.labels_).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.result_.objective[-1] <= model.result_.objective[-1] * (1 + 1e-2)
    lopsided = np.minimum(np.arange(len(y)), n_clusters - 1)  # nearly all in the last one
    assert keeps_to_bounds(kind(n_clusters, init=lopsided).fit(X), len(X))


@each_method
def test_rows_and_kernels_give_the_same_clusters(kind):
    X, y = blobs(4)
    labels = kind(4, kernel="linear", random_state=0).fit(X).labels_
    for other in (
        kind(4, kernel="linear", random_state=0).fit(sp.csr_array(X)),
        kind(4, kernel="precomputed", random_state=0).fit(X @ X.T),
        kind(4, kernel="linear", approximation="nystroem", n_components=4, random_state=0).fit(X),
    ):
        assert adjusted_rand_score(labels, other.labels_) > 0.99
    assert adjusted_rand_score(labels, y) > 0.95


@settings(max_examples=150, deadline=None)
@given(
    n_rows=st.integers(2, 40),
    n_clusters=st.integers(2, 12),
    balance=st.sampled_from([0.0, 0.05, 0.3, 0.6, 0.99]),
    extreme=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_splits_of_splits_keep_to_the_bounds(n_rows, n_clusters, balance, extreme, seed):
    n_clusters = min(n_clusters, n_rows)
    sizes = allowed_sizes(n_rows, n_clusters, balance)
    least, most = max(min(sizes), 1), max(sizes)
    rng = np.random.default_rng(seed)

    def split(space, fewest, largest):
        """Any number of positive signs that is asked for, among any rows."""
        assert 1 <= fewest <= largest < space.n_rows
        count = rng.choice([fewest, largest]) if extreme else rng.integers(fewest, largest + 1)
        signs = np.where(np.arange(space.n_rows) < count, 1.0, -1.0)
        return rng.permutation(signs), rng.random()

    codes = divide(FeatureSpace(np.zeros((n_rows, 1))), n_clusters, least, most, split)
    counts = np.bincount(codes, minlength=n_clusters)
    assert len(counts) == n_clusters
    assert least <= counts.min() <= counts.max() <= most


def test_the_larger_side_of_an_odd_number_is_where_the_objective_is_lower():
    """One group on the left and two on the right: the left side must get one of three clusters."""
    X = np.array([0.0, 0.1, 10.0, 10.1, 12.0, 12.1])[:, None]
    seen = []

    def split(space, fewest, largest):
        values = np.sort(space.features[:, 0])
        cut = min(range(fewest, largest + 1), key=lambda k: values[k - 1] - values[k])
        seen.append((space.n_rows, fewest, largest))
        return np.where(space.features[:, 0] < values[cut], 1.0, -1.0), values[cut - 1] - values[cut]

    codes = divide(FeatureSpace(X), 3, 2, 2, split)
    assert codes.tolist() == [0, 0, 1, 1, 2, 2]
    assert seen == [(6, 2, 2), (6, 4, 4), (4, 2, 2)]


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_parts_of_spaces(as_type):
    X = np.random.default_rng(0).normal(size=(8, 3))
    rows = np.array([1, 4, 6])
    part = FeatureSpace(as_type(X)).part(rows)
    np.testing.assert_allclose(part.scores(np.eye(3)), X[rows])
    kernel = KernelSpace(X @ X.T).part(rows)
    np.testing.assert_allclose(kernel.gram, X[rows] @ X[rows].T)
