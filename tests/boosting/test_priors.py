"""Priors against loops over rows and clusters, and against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from tests.solvers.test_label_walk import walk_densely
from weakly import RMSBoostClassifier, encode_labels
from weakly.boosting import graph_prior, kmeans_prior, smoothed_prior
from weakly.boosting._priors import comparable_rows, find_prior
from weakly.graphs import affinity_graph, neighbor_graph
from weakly.graphs._cell_kernels import divisive_clusters

BRIEFLY = settings(max_examples=40, deadline=None)


def seeds(n_runs):
    return np.arange(n_runs, dtype=np.uint64)


# Clusters


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_clusters=st.integers(1, 40))
def test_clusters_are_as_many_as_wanted(seed, n_clusters):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    for clusters in divisive_clusters(X, n_clusters, seeds(3)):
        assert sorted(set(clusters)) == list(range(n_clusters))


def test_clusters_find_groups_that_lie_apart():
    X, y = make_blobs(200, n_features=4, centers=7, center_box=(-100, 100), random_state=0)
    # cut finer than the groups, so that an unlucky first centre does not matter: none holds rows of two
    for clusters in divisive_clusters(X, 40, seeds(5)):
        assert all(len(set(y[clusters == k])) == 1 for k in range(40))


def test_the_widest_cluster_is_cut():
    """Two far groups, one tight: all cuts but the first, into ten, go to the wide one."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.01, (50, 2)), rng.normal(50, 5, (50, 2))])
    for clusters in divisive_clusters(X, 40, seeds(5)):
        assert len(set(clusters[:50])) <= 9
        assert len(set(clusters[50:])) >= 31


def test_copies_of_rows_cannot_be_cut():
    X = np.repeat(np.arange(3.0)[:, None], 10, axis=0)
    for clusters in divisive_clusters(X, 20, seeds(3)):
        assert len(set(clusters)) == 3
        assert all(len(set(clusters[X[:, 0] == v])) == 1 for v in range(3))


# Priors


@pytest.mark.parametrize("smoothing", [0.5, 50.0])
def test_kmeans_prior_counts_labels(smoothing):
    """[rmsboost] Eq. (10) cluster by cluster."""
    X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=1)
    partial = np.where(np.arange(90) % 5 == 0, y, -1)
    found = kmeans_prior(X, partial, n_clusters=8, n_runs=4, smoothing=smoothing, random_state=3)
    rows = comparable_rows(X, encode_labels(partial))
    drawn = np.random.RandomState(3).randint(2**31, size=4).astype(np.uint64)
    expected = np.zeros((90, 3))
    for clusters in divisive_clusters(rows, 8, drawn):
        for i in range(90):
            mates = partial[clusters == clusters[i]]
            for c in range(3):
                share = (np.sum(mates == c) + smoothing / 3) / (np.sum(mates >= 0) + smoothing)
                expected[i, c] += share / 4
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_graph_prior_is_a_walk_to_labels():
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=1)
    partial = np.where(np.arange(60) % 6 == 0, y, -1)
    rows = comparable_rows(X, encode_labels(partial))
    walk = walk_densely(neighbor_graph(rows, n_neighbors=8), partial, 3, 0.0, 0.99)[:, :3]
    found = graph_prior(X, partial)
    np.testing.assert_allclose(found, walk / walk.sum(axis=1, keepdims=True), atol=1e-8)


def test_rows_out_of_reach_have_an_equal_prior():
    X = np.concatenate([np.arange(20.0), np.arange(1000.0, 1010.0)])[:, None]
    partial = np.full(30, -1)
    partial[[0, 19]] = 0, 1
    assert graph_prior(X, partial, n_neighbors=2)[25].tolist() == [0.5, 0.5]


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_steps=st.integers(0, 4), sharpness=st.floats(0.5, 8))
def test_smoothing_by_loops(seed, n_steps, sharpness):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 1, (8, 8)) * (rng.random((8, 8)) < 0.4), 1)
    W = W + W.T
    posterior, partial = rng.dirichlet(np.ones(3), 8), np.array([0, -1, 1, -1, -1, 2, -1, -1])
    expected = posterior.copy()
    for _ in range(n_steps):
        for i in range(8):
            if partial[i] >= 0:
                expected[i] = np.arange(3) == partial[i]
        expected = np.array([W[i] @ expected / W[i].sum() if W[i].any() else expected[i] for i in range(8)])
    expected = expected**sharpness / (expected**sharpness).sum(axis=1, keepdims=True)
    expected[partial >= 0] = np.eye(3)[partial[partial >= 0]]
    # of three labels, one of each class, two standard errors are half of all rows
    assume((np.abs(expected[partial < 0].mean(axis=0) - 1 / 3) < 0.5).all())
    found = smoothed_prior(
        posterior, encode_labels(partial), affinity_graph(W), n_steps=n_steps, sharpness=sharpness
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("n_labels", [40, 400])
def test_classes_are_held_to_their_shares_among_the_labels(n_labels):
    """A teacher that favours a class: its share comes down to two standard errors above the labels'."""
    rng = np.random.default_rng(0)
    partial = np.full(2000, -1)
    partial[:n_labels] = np.arange(n_labels) % 4 // 3  # three quarters are of the first
    lonely = affinity_graph(np.zeros((2000, 2000)))
    posterior = rng.dirichlet([30, 3], 2000)
    found = smoothed_prior(posterior, encode_labels(partial), lonely, sharpness=1.0)[n_labels:]
    share = (0.75 * n_labels + 0.5) / (n_labels + 1)
    limit = share + 2 * np.sqrt(share * (1 - share) / n_labels)
    before = posterior[n_labels:, 0].mean()
    np.testing.assert_allclose(found[:, 0].mean(), min(limit, before), atol=2e-3)
    # one factor for each class: odds change by the same ratio in all rows
    odds = (found[:, 0] / found[:, 1]) / (posterior[n_labels:, 0] / posterior[n_labels:, 1])
    np.testing.assert_allclose(odds, odds[0])


def test_the_scale_that_suits_the_labels_is_taken():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    signal = y[:, None] + 0.1 * rng.normal(size=(100, 1))
    labels = encode_labels(np.where(np.arange(100) < 40, y, -1))
    noise_is_large = np.hstack([signal, 100 * rng.normal(size=(100, 3))])
    scaled = comparable_rows(noise_is_large, labels)
    np.testing.assert_allclose(scaled, (noise_is_large - noise_is_large.mean(0)) / noise_is_large.std(0))
    noise_is_small = np.hstack([signal, 0.001 * rng.normal(size=(100, 30))])
    np.testing.assert_array_equal(comparable_rows(noise_is_small, labels), noise_is_small)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", [0.001, 100])
def test_rows_whose_squares_overflow(noise):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = np.hstack([y[:, None] + 0.1 * rng.normal(size=(100, 1)), noise * rng.normal(size=(100, 30))])
    labels = encode_labels(np.where(np.arange(100) < 40, y, -1))
    expected, found = comparable_rows(X, labels), comparable_rows(1e200 * X, labels)
    unit = np.abs(X).max() if noise < 1 else 1.0  # scaled rows have none
    np.testing.assert_allclose(found * unit, expected, rtol=1e-9)


def test_missing_entries_count_as_the_mean():
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan], [2.0, np.nan]])
    rows = comparable_rows(X, encode_labels([0, 1, -1, -1]))
    np.testing.assert_allclose(rows, [[-np.sqrt(2), 0], [0, 0], [np.sqrt(2), 0], [0, 0]])


# Priors that users give


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("prior", [graph_prior, kmeans_prior])
def test_samples_that_are_none_are_refused(prior):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, -1, -1, -1, 0])
    for n_labels in (5, 7):  # fewer were taken by one in silence, more raised an IndexError
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            prior(X, np.resize(y, n_labels))
    X[3, 0] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        prior(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        prior(sp.csr_matrix(y[:, None]), y)


def test_given_priors_are_scaled_and_functions_called():
    X, y = np.zeros((3, 1)), ["b", None, "a"]
    labels = encode_labels(y)
    given = np.array([[2.0, 2.0], [1.0, 3.0], [5.0, 0.0]])
    expected = [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]
    np.testing.assert_allclose(find_prior(given, X, y, labels, 8, 50.0, 0), expected)

    def mine(rows, targets):
        assert rows is X
        assert targets is y
        return given

    np.testing.assert_allclose(find_prior(mine, X, y, labels, 8, 50.0, 0), expected)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (np.ones((5, 2)), r"shape \(5, 2\): it must be \(6, 2\)"),
        (np.ones((6, 3)), r"shape \(6, 3\): it must be \(6, 2\)"),
        (np.zeros((6, 2)), "rows of zeros"),
        (-np.ones((6, 2)), "negative"),
        (np.full((6, 2), np.nan), "not finite"),
        (lambda X, y: [1, 2], "it must be"),
    ],
)
def test_priors_that_are_none_are_refused(prior, message):
    model = RMSBoostClassifier(2, prior=prior)
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(12.0).reshape(6, 2), [0, 1, -1, -1, -1, -1])
