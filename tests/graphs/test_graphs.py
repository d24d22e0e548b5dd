import copy
import pickle

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_similarity
from threadpoolctl import threadpool_limits

from tests.oracles.brute_graph import joined, neighbor_affinity, radius_affinity, reachable, roughness
from weakly.graphs import Graph, affinity_graph, neighbor_graph, radius_graph
from weakly.graphs._neighbors import find_neighbors

X = np.random.default_rng(0).normal(size=(40, 5))
DISTANCES = cdist(X, X)
SCALES = np.sort(DISTANCES, axis=1)[:, [0, 3, 7]]  # itself, the 3rd and the 7th neighbour
BANDWIDTH = 1.3
WEIGHTS = {
    "binary": lambda i, j: 1.0,
    "rbf": lambda i, j: np.exp(-(DISTANCES[i, j] ** 2) / (2 * BANDWIDTH**2)),
    "self-tuning": lambda i, j: np.exp(-(DISTANCES[i, j] ** 2) / (SCALES[i, 2] * SCALES[j, 2])),
    "cosine": lambda i, j: max(X[i] @ X[j] / np.sqrt((X[i] @ X[i]) * (X[j] @ X[j])), 0),
}
BRIEFLY = settings(max_examples=25, deadline=None)


def mean(pair):
    return sum(pair) / 2


def search_distances(weights):
    return np.maximum(1 - cosine_similarity(X), 0) if weights == "cosine" else DISTANCES


# Neighbours and weights


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("symmetrize", ["max", "mean"])
def test_neighbours_and_weights_by_brute_force(weights, symmetrize):
    graph = neighbor_graph(X, n_neighbors=9, weights=weights, symmetrize=symmetrize, bandwidth=BANDWIDTH)
    expected = neighbor_affinity(
        search_distances(weights), 9, WEIGHTS[weights], join=max if symmetrize == "max" else mean
    )
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("transform", "options", "atol"),
    [
        (sp.csr_array, {}, 1e-10),
        (sp.csr_matrix, {}, 1e-10),
        (lambda rows: rows.astype(np.float32), {}, 1e-5),
        (lambda rows: sp.csr_array(rows, dtype=np.float32), {}, 1e-5),
        (lambda rows: np.hstack([rows, np.zeros((40, 20))]), {}, 1e-10),  # too wide for a tree
        (lambda rows: rows @ rows.T, {"is_kernel": True}, 1e-7),
    ],
    ids=["csr", "csr_matrix", "float32", "csr-float32", "wide", "kernel"],
)
def test_every_form_of_the_rows_gives_one_graph(weights, transform, options, atol):
    rows = transform(X)
    graph = neighbor_graph(rows, n_neighbors=9, weights=weights, bandwidth=BANDWIDTH, **options)
    expected = neighbor_affinity(search_distances(weights), 9, WEIGHTS[weights])
    assert graph.affinity.dtype == rows.dtype
    assert graph.affinity.has_sorted_indices
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=atol)


def test_local_scale_with_few_neighbours_is_the_last():
    graph = neighbor_graph(X, n_neighbors=3)
    expected = neighbor_affinity(
        DISTANCES, 3, lambda i, j: np.exp(-(DISTANCES[i, j] ** 2) / (SCALES[i, 1] * SCALES[j, 1]))
    )
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)


def test_bandwidth_defaults_to_the_median_neighbour_distance():
    graph = neighbor_graph(X, n_neighbors=4, weights="rbf")
    width = np.median(np.sort(DISTANCES, axis=1)[:, 1:5])
    expected = neighbor_affinity(DISTANCES, 4, lambda i, j: np.exp(-(DISTANCES[i, j] ** 2) / (2 * width**2)))
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)


@BRIEFLY
@given(st.integers(0, 2**16), st.integers(2, 25), st.data())
def test_tied_rows_have_neighbours_at_the_right_distances(seed, n_rows, data):
    rows = np.random.default_rng(seed).integers(0, 3, size=(n_rows, 2)).astype(float)
    n_neighbors = data.draw(st.integers(1, n_rows - 1))
    # With "mean" an edge has weight 1 both ways and 0.5 one way: both together are the out-degrees.
    one_way = neighbor_graph(rows, n_neighbors=n_neighbors, weights="binary", symmetrize="mean").affinity
    distances = cdist(rows, rows)
    assert one_way.sum() == n_rows * n_neighbors
    assert not one_way.diagonal().any()
    furthest = np.sort(distances, axis=1)[:, n_neighbors]
    i, j = one_way.nonzero()
    assert (distances[i, j] <= np.maximum(furthest[i], furthest[j]) + 1e-12).all()
    strictly_nearer = (distances < furthest[:, None] - 1e-12) & ~np.eye(n_rows, dtype=bool)
    assert (one_way.toarray()[strictly_nearer] > 0).all()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array, lambda rows: np.tile(rows, 4)])
def test_more_duplicates_than_neighbours(weights, as_type):
    rows = np.repeat(np.random.default_rng(1).normal(3, 1, (4, 5)), 20, axis=0)
    graph = neighbor_graph(as_type(rows), n_neighbors=8, weights=weights)
    assert not graph.affinity.diagonal().any()
    np.testing.assert_allclose(graph.affinity.data, 1, atol=1e-12)  # duplicates are as alike as can be
    assert ((graph.affinity > 0).sum(axis=1) >= 8).all()
    i, j = graph.affinity.nonzero()
    np.testing.assert_array_equal(i // 20, j // 20)


def test_duplicates_beside_other_rows_keep_finite_weights():
    rows = np.vstack([np.zeros((12, 2)), np.random.default_rng(1).normal(size=(20, 2))])
    for weights in ("self-tuning", "rbf"):
        affinity = neighbor_graph(rows, n_neighbors=9, weights=weights).affinity
        assert np.isfinite(affinity.data).all()
        assert ((affinity.data > 0) & (affinity.data <= 1)).all()


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_rows_of_zeros_have_no_angle_and_stay_alone(as_type):
    rng = np.random.default_rng(1)
    rows = rng.random((30, 8)) * np.where(rng.random((30, 8)) < 0.2, 1, 0.02)  # mostly far apart
    rows[[3, 7]] = 0
    graph = neighbor_graph(as_type(rows), n_neighbors=4, weights="cosine")
    similarity = cosine_similarity(rows)
    expected = neighbor_affinity(1 - similarity, 4, lambda i, j: similarity[i, j])
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)
    assert not graph.degrees[[3, 7]].any()


def test_opposite_rows_are_no_edge():
    rows = np.array([[1.0, 0.0], [2.0, 0.1], [-1.0, 0.0], [-3.0, 0.1]])
    graph = neighbor_graph(rows, n_neighbors=3, weights="cosine")
    assert graph.affinity.nnz == 4
    np.testing.assert_array_equal(graph.components, [0, 0, 1, 1])


# Ties, threads, approximation


def grid(side, n_features=2):
    """Integer points: most distances are tied."""
    rows = np.zeros((side**2, n_features))
    rows[:, :2] = [[i, j] for i in range(side) for j in range(side)]
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        grid(30),
        grid(30, n_features=20),
        grid(50, n_features=20),
        grid(50, n_features=20).astype(np.float32),
        sp.csr_array(grid(30)),
        sp.csr_array(grid(50), dtype=np.float32),
    ],
    ids=["tree", "wide", "many", "float32", "csr", "csr-float32"],
)
def test_threads_do_not_change_the_graph(rows):
    with threadpool_limits(1):
        one = neighbor_graph(rows, n_neighbors=3).affinity
    with threadpool_limits(2):
        two = neighbor_graph(rows, n_neighbors=3).affinity
    assert (one != two).nnz == 0


@pytest.fixture(scope="module")
def approximate():
    """Graphs of a search that takes long to compile, by the number of threads."""
    pytest.importorskip("pynndescent")
    rows = np.random.default_rng(0).normal(size=(3000, 20)).astype(np.float32)
    options = {"weights": "binary", "symmetrize": "mean", "random_state": 0}
    found, before = {}, numba.get_num_threads()
    for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(n_threads)
        found[n_threads] = neighbor_graph(rows, search="approximate", **options).affinity
    numba.set_num_threads(before)
    return rows, options, found


def test_approximate_search_finds_almost_all_neighbours(approximate):
    rows, options, found = approximate
    exact = neighbor_graph(rows, search="exact", **options).affinity
    for affinity in found.values():
        assert affinity.sum() == exact.sum() == 5 * 3000
        assert not affinity.diagonal().any()
        assert exact.minimum(affinity).sum() > 0.95 * exact.sum()


def test_threads_do_not_change_the_approximate_graph(approximate):
    one, *others = approximate[2].values()
    assert all((one != other).nnz == 0 for other in others)


# Radius


@pytest.mark.parametrize("weights", ["binary", "rbf", "cosine"])
@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_radius_graph_by_brute_force(weights, as_type):
    radius = 1.1 if weights == "cosine" else 2.0
    lengths = np.sqrt(2 * search_distances(weights)) if weights == "cosine" else DISTANCES
    graph = radius_graph(as_type(X), radius=radius, weights=weights, bandwidth=BANDWIDTH)
    expected = radius_affinity(lengths, radius, WEIGHTS[weights])
    assert 0 < np.count_nonzero(expected) < 1000
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)


def test_self_tuning_in_a_radius_uses_the_furthest_row_within():
    graph = radius_graph(X, radius=2.0, weights="self-tuning")
    within = np.where(DISTANCES <= 2.0, DISTANCES, 0).max(axis=1)
    expected = radius_affinity(
        DISTANCES, 2.0, lambda i, j: np.exp(-(DISTANCES[i, j] ** 2) / (within[i] * within[j]))
    )
    np.testing.assert_allclose(graph.affinity.toarray(), expected, atol=1e-10)


def test_rows_out_of_reach_are_isolated_and_duplicates_joined():
    rows = np.array([[0.0, 0], [0, 0], [0.5, 0], [9, 9]])
    for weights in ("binary", "self-tuning", "rbf"):
        graph = radius_graph(rows, radius=1.0, weights=weights)
        assert graph.affinity[0, 1] == 1
        np.testing.assert_array_equal(graph.degrees > 0, [True, True, True, False])
        for kind in ("symmetric", "unnormalized", "random-walk"):
            laplacian = graph.laplacian(kind).toarray()
            assert np.isfinite(laplacian).all()
            assert not laplacian[3].any()
            assert not laplacian[:, 3].any()


# Laplacians, incidence, components


def random_affinity(seed, n_rows):
    """Sparse symmetric weights, rows without any among them."""
    rng = np.random.default_rng(seed)
    one_way = rng.random((n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < rng.random() * 0.5)
    np.fill_diagonal(one_way, 0)
    one_way[0] = one_way[:, 0] = 0
    return joined(one_way, max)


@BRIEFLY
@given(st.integers(0, 2**16), st.integers(2, 15), st.sampled_from([np.float64, np.float32]))
def test_laplacians_by_brute_force(seed, n_rows, dtype):
    W = random_affinity(seed, n_rows)
    graph = affinity_graph(W.astype(dtype))
    f = np.random.default_rng(seed).normal(size=n_rows)
    degrees = W.sum(axis=1)
    inverse = np.array([1 / d if d > 0 else 0 for d in degrees])
    connected = np.diag((degrees > 0).astype(float))
    unnormalized = graph.laplacian("unnormalized")
    symmetric = graph.laplacian()
    walk = graph.laplacian("random-walk")
    assert unnormalized.dtype == symmetric.dtype == walk.dtype == dtype
    atol = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(graph.degrees, degrees, atol=atol)
    np.testing.assert_allclose(unnormalized.toarray(), np.diag(degrees) - W, atol=atol)
    np.testing.assert_allclose(walk.toarray(), connected - inverse[:, None] * W, atol=atol)
    half = np.sqrt(inverse)
    np.testing.assert_allclose(symmetric.toarray(), connected - half[:, None] * W * half, atol=atol)
    np.testing.assert_allclose(unnormalized.sum(axis=1), 0, atol=atol)
    np.testing.assert_allclose(walk.sum(axis=1), 0, atol=atol)
    np.testing.assert_allclose(f @ unnormalized @ f, roughness(W, f, 2), atol=100 * atol)
    np.testing.assert_allclose(f @ symmetric @ f, roughness(W, half * f, 2), atol=100 * atol)
    for laplacian in (unnormalized, symmetric):
        assert np.linalg.eigvalsh(laplacian.toarray()).min() > -atol


@BRIEFLY
@given(st.integers(0, 2**16), st.integers(2, 15))
def test_incidence_gives_the_total_variation(seed, n_rows):
    W = random_affinity(seed, n_rows)
    f = np.random.default_rng(seed).normal(size=n_rows)
    incidence = affinity_graph(W).incidence()
    assert incidence.shape == (np.count_nonzero(np.triu(W)), n_rows)
    np.testing.assert_allclose(np.abs(incidence @ f).sum(), roughness(W, f, 1))
    np.testing.assert_allclose(incidence @ np.ones(n_rows), 0, atol=1e-12)
    edges = [tuple(np.flatnonzero(row)) for row in incidence.toarray()]
    assert edges == sorted(edges)


@BRIEFLY
@given(st.integers(0, 2**16), st.integers(2, 20), st.data())
def test_components_and_unreached_rows(seed, n_rows, data):
    W = random_affinity(seed, n_rows) * (np.random.default_rng(seed + 1).random() < 0.5)
    graph = affinity_graph(W)
    labeled = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), min_size=1, unique=True)))
    joins = reachable(W)
    np.testing.assert_array_equal(graph.components[:, None] == graph.components, joins)
    np.testing.assert_array_equal(graph.unreached(labeled), ~joins[:, labeled].any(axis=1))


def test_a_graph_is_shared_by_copies_and_survives_pickling():
    graph = affinity_graph(random_affinity(3, 8))
    assert copy.deepcopy(graph) is graph
    assert copy.deepcopy({"graph": graph})["graph"] is graph
    graph.degrees, graph.components  # noqa: B018 (cached values travel along)
    again = pickle.loads(pickle.dumps(graph))
    assert (again.affinity != graph.affinity).nnz == 0
    np.testing.assert_array_equal(again.components, graph.components)


# A given affinity


@pytest.mark.parametrize(
    "as_type", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, np.ndarray.tolist]
)
def test_affinity_is_adopted_without_its_diagonal_and_left_untouched(as_type):
    W = random_affinity(5, 12)
    given_affinity = as_type(W + 3 * np.eye(12))
    before = copy.deepcopy(given_affinity)
    graph = affinity_graph(given_affinity)
    assert isinstance(graph, Graph)
    assert graph.n_rows == 12
    np.testing.assert_array_equal(graph.affinity.toarray(), W)
    difference = abs(sp.csr_array(before) - sp.csr_array(given_affinity))
    assert difference.nnz == 0


def test_stored_zeros_are_no_edges_and_repeated_entries_add_up():
    i, j = np.array([0, 1, 0, 1, 1, 2]), np.array([1, 0, 1, 0, 2, 1])
    affinity = sp.csr_array(sp.coo_array((np.array([1.0, 1, 2, 2, 0, 0]), (i, j)), shape=(3, 3)))
    graph = affinity_graph(affinity)
    assert graph.affinity.nnz == 2
    assert graph.affinity[0, 1] == 3
    np.testing.assert_array_equal(graph.unreached(np.array([0])), [False, False, True])


def test_affinity_with_rows_of_zeros():
    graph = affinity_graph(np.zeros((3, 3)))
    assert not graph.laplacian().toarray().any()
    assert graph.incidence().shape == (0, 3)
    assert len(set(graph.components)) == 3


def changed(value, at=(0, 1)):
    affinity = random_affinity(1, 6)
    affinity[at] = affinity[at[::-1]] = value
    return affinity


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((3, 4)), r"affinity has shape \(3, 4\).*square"),
        (changed(-1.0), "affinity has negative entries"),
        (changed(np.nan), "affinity contains NaN"),
        (changed(np.inf), "affinity contains infinity"),
        (np.triu(np.ones((3, 3))), "affinity is not symmetric"),
        (sp.csr_array(np.triu(np.ones((3, 3)))), "affinity is not symmetric"),
        (sp.csr_array(changed(-1.0)), "affinity has negative entries"),
    ],
)
def test_bad_affinities_are_named(affinity, message):
    with pytest.raises(ValueError, match=message):
        affinity_graph(affinity)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0.*1 to n_samples - 1 = 39"),
        ({"n_neighbors": 40}, "n_neighbors is 40"),
        *[({"n_neighbors": n}, f"n_neighbors is {n!r}") for n in (None, "5", 2.5, True, np.nan)],
        *[({"weights": "rbf", "bandwidth": width}, f"bandwidth is {width!r}") for width in ("1", np.nan)],
        ({"X": 1e200 * X}, "size 2e.200 at most.*scale the features"),
        ({"X": 1e-200 * X}, "size 2e-200 at most.*scale the features"),
        ({"weights": "heat"}, "graph weights are 'heat'.*self-tuning"),
        ({"symmetrize": "min"}, "symmetrize is 'min'"),
        ({"search": "fast"}, "search is 'fast'"),
        ({"weights": "rbf", "bandwidth": 0.0}, "bandwidth is 0.0"),
        ({"X": np.full((5, 2), np.nan)}, "X contains NaN"),
        ({"X": X @ X[:7].T, "is_kernel": True}, r"(?i)kernel.*square"),
    ],
)
def test_bad_arguments_of_neighbor_graph_are_named(arguments, message):
    arguments = {"X": X} | arguments
    with pytest.raises(ValueError, match=message):
        neighbor_graph(arguments.pop("X"), **arguments)


@pytest.mark.parametrize("width", [1e-300, 1e300])
def test_any_bandwidth_is_a_weight(width):
    weights = neighbor_graph(X, weights="rbf", bandwidth=width).affinity.data
    np.testing.assert_allclose(weights, 1 if width > 1 else np.finfo(np.float32).eps)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, None, "1"])
def test_bad_radius_is_named(radius):
    with pytest.raises(ValueError, match=f"radius is {radius!r}"):
        radius_graph(X, radius=radius)


def test_unknown_laplacian_is_named():
    with pytest.raises(ValueError, match=r"laplacian is 'signless'.*symmetric"):
        affinity_graph(np.zeros((2, 2))).laplacian("signless")


def test_laplacian_of_a_graph_of_integers():
    triangle = Graph(sp.csr_array(np.ones((3, 3), dtype=int) - np.eye(3, dtype=int)))
    np.testing.assert_allclose(triangle.laplacian().toarray(), 1.5 * np.eye(3) - 0.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_find_most_of_the_nearest_rows(dtype):
    X = load_digits().data.astype(dtype)
    exact = neighbor_graph(X, n_neighbors=8, weights="binary", search="exact").affinity.astype(bool)
    found = neighbor_graph(X, n_neighbors=8, weights="binary", search="cells", random_state=0).affinity
    assert exact.multiply(found.astype(bool)).sum() > 0.9 * exact.sum()
    again = neighbor_graph(X, n_neighbors=8, weights="binary", search="cells", random_state=0).affinity
    assert (found != again).nnz == 0


def test_rows_of_one_cell_are_all_compared():
    """Fewer rows than a cell may hold: the search is exact."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    exact = neighbor_graph(X, n_neighbors=4, search="exact").affinity
    cells = neighbor_graph(X, n_neighbors=4, search="cells").affinity
    np.testing.assert_allclose(cells.toarray(), exact.toarray())


def test_cells_with_very_many_equal_rows():
    """Half of the rows are one row, and some are alone in their cells."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros((1000, 2)), rng.normal(size=(990, 2)), 1000 * rng.normal(size=(10, 2))])
    found = find_neighbors(X, 5, "cells", False, 0)
    assert found.shape == (2000, 5)
    assert (found >= 0).all()
    assert (found != np.arange(2000)[:, None]).all()
    assert all(len(set(line)) == 5 for line in found)
    assert (np.abs(X[found[:1000]]).max(axis=(1, 2)) == 0).all()
    alone = np.argsort(np.linalg.norm(X[-10:, None] - X[None], axis=2), axis=1)[:, 1:6]
    np.testing.assert_array_equal(np.sort(found[-10:]), np.sort(alone))


def test_cells_need_dense_rows():
    with pytest.raises(ValueError, match="dense rows"):
        neighbor_graph(sp.csr_array(np.eye(9)), n_neighbors=2, search="cells")
