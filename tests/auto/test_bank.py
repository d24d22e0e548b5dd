"""Every kernel of a bank against its formula on dense matrices."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from weakly import encode_labels
from weakly.auto import build_bank, learn_preparation
from weakly.auto._bank import pose
from weakly.auto._blend import Fits, average
from weakly.auto._choice import choose
from weakly.auto._spectra import graph_spectrum, principal_components
from weakly.graphs import neighbor_graph
from weakly.rows._blocks import ArrayBlocks

N_ROWS = 60


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])
    return centres[np.arange(N_ROWS) % 3] + rng.normal(size=(N_ROWS, 3))


@pytest.fixture(scope="module")
def bank(rows):
    return build_bank(rows, n_classes=3, preparation="raw", random_state=0)


def test_blocks_are_read_as_one_array(bank, rows):
    parts = build_bank(ArrayBlocks(rows, 7), n_classes=3, preparation="raw", random_state=0)
    np.testing.assert_array_equal(parts.order, bank.order)
    for candidate, expected in zip(parts.candidates, bank.candidates, strict=True):
        np.testing.assert_array_equal(candidate.space.gram(slice(None)), expected.space.gram(slice(None)))


@pytest.mark.parametrize("graph", ["knn", "anchor"])
def test_what_a_bank_says_of_its_samples_is_what_the_function_says_of_new_ones(rows, graph):
    """From values held or from sums over blocks: whatever connects the samples, it is one function."""
    blocks = ArrayBlocks(rows, 17)
    bank = build_bank(blocks, n_classes=3, graph=graph, random_state=0)
    labels = encode_labels(np.where(np.arange(N_ROWS) < 12, np.arange(N_ROWS) % 3, -1))
    posed = pose(labels, blocks, bank, None, 10)
    assert len(posed.problem.rows) == 10
    choice = choose(posed.candidates, posed.problem)
    (found,) = average(Fits(posed.candidates, choice, posed.problem), [choice.weights()], bank, blocks)
    scores = found.blend.function(bank.reference)(rows)
    np.testing.assert_allclose(np.mean(scores**2), 1)
    np.testing.assert_allclose(bank.decisions(blocks, found.blend).X, scores, atol=1e-9)


def gram_of(bank, name):
    """The kernel of that name between all rows, in the order of the input."""
    (space,) = [candidate.space for candidate in bank.candidates if candidate.name == name]
    back = np.argsort(bank.order)
    return space.gram(slice(None))[np.ix_(back, back)]


def centred_and_scaled(K):
    H = np.eye(len(K)) - 1 / len(K)
    K = H @ K @ H
    return K / np.trace(K) * len(K)


def rbf(rows, width):
    distances = euclidean_distances(rows)
    median = np.median(distances[np.triu_indices(len(rows), 1)])
    return np.exp(-(distances**2) / (2 * (width * median) ** 2)), distances / median


def laplacian(rows, k):
    return neighbor_graph(rows, n_neighbors=k).laplacian("symmetric").toarray()


@pytest.mark.parametrize("width", [0.35, 0.7, 1.4])
def test_supervised_kernels(bank, rows, width):
    expected, in_medians = rbf(rows, width)
    np.testing.assert_allclose(
        gram_of(bank, f"rbf, width {width:g}"), centred_and_scaled(expected), atol=1e-8
    )
    np.testing.assert_allclose(gram_of(bank, "linear"), centred_and_scaled(rows @ rows.T), atol=1e-10)
    expected = centred_and_scaled(np.exp(-in_medians))
    np.testing.assert_allclose(gram_of(bank, "exp(-distance)"), expected, atol=1e-8)


@pytest.mark.parametrize(("k", "power", "suffix"), [(5, 1, ""), (10, 1, ""), (10, 2, "^2")])
@pytest.mark.parametrize("penalty", [0.1, 100.0])
def test_deformed_kernels(bank, rows, k, power, suffix, penalty):
    K, _ = rbf(rows, 0.7)
    L = np.linalg.matrix_power(laplacian(rows, k), power)
    # (K^-1 + g L^p)^-1 without the inverse of an ill-conditioned K.
    expected = np.linalg.solve(np.eye(N_ROWS) + penalty * K @ L, K)
    found = gram_of(bank, f"rbf with {penalty:g} L{suffix}, {k} neighbours")
    np.testing.assert_allclose(found, centred_and_scaled(expected), atol=1e-6)


@pytest.mark.parametrize("k", [5, 10])
def test_functions_of_the_graph(bank, rows, k):
    L = laplacian(rows, k)
    for time in (3, 30, 300):
        expected = centred_and_scaled(sla.expm(-time * L))
        np.testing.assert_allclose(gram_of(bank, f"heat, time {time}, {k} neighbours"), expected, atol=1e-8)
    for e in (0.01, 0.001):
        expected = centred_and_scaled(e * np.linalg.inv(L + e * np.eye(N_ROWS)))
        np.testing.assert_allclose(gram_of(bank, f"resolvent, {e:g}, {k} neighbours"), expected, atol=1e-7)
    _, vectors = np.linalg.eigh(L)
    for m in (2, 10, 40):
        expected = centred_and_scaled(vectors[:, :m] @ vectors[:, :m].T)
        np.testing.assert_allclose(gram_of(bank, f"{m} eigenvectors, {k} neighbours"), expected, atol=1e-7)


def test_functions_of_the_covariance(bank, rows):
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / N_ROWS)
    values, parts = values[::-1], centred @ directions[:, ::-1]
    for m in (1, 2):
        expected = centred_and_scaled(parts[:, :m] @ parts[:, :m].T)
        np.testing.assert_allclose(gram_of(bank, f"{m} components"), expected, atol=1e-10)
    np.testing.assert_allclose(
        gram_of(bank, "squared spectrum"), centred_and_scaled((parts * values) @ parts.T), atol=1e-10
    )
    for d in (0.1, 1.0):
        expected = centred_and_scaled((parts / (values + d * values.mean())) @ parts.T)
        np.testing.assert_allclose(gram_of(bank, f"whitened, {d:g}"), expected, atol=1e-10)


def test_common_clusters_count_the_runs_that_agree(bank):
    (candidate,) = [c for c in bank.candidates if c.name == "9 clusters of components"]
    coordinates = candidate.space.coordinates
    clusterings = coordinates.mapping.measure
    labels = np.column_stack(
        [
            euclidean_distances(bank.reference.links.searched @ clusterings.embed.directions, centres).argmin(
                axis=1
            )
            for centres in clusterings.centres
        ]
    )
    agreeing = (labels[:, None, :] == labels[None]).mean(axis=2)
    np.testing.assert_allclose(candidate.space.gram(slice(None)), centred_and_scaled(agreeing), atol=1e-10)


def test_new_rows_that_copy_training_rows_have_their_coordinates(bank, rows):
    for candidate in bank.candidates:
        coordinates = candidate.space.coordinates
        mapped, held = coordinates.mapping(rows[bank.order]), coordinates.values
        if sp.issparse(held):
            mapped, held = mapped.toarray(), held.toarray()
        np.testing.assert_allclose(mapped, held, atol=1e-9, err_msg=candidate.name)


def test_new_rows_between_two_others_lie_between_them(bank, rows):
    (candidate,) = [c for c in bank.candidates if c.name == "10 eigenvectors, 5 neighbours"]
    mapping, held = candidate.space.coordinates.mapping, candidate.space.coordinates.values
    place = bank.order[0]
    near = rows[[place]] + 1e-9
    np.testing.assert_allclose(mapping(near), held[[0]], atol=1e-6)
    far = mapping(rows[[place]] + 0.3)
    assert (far <= held.max(axis=0)).all()
    assert (far >= held.min(axis=0)).all()


def test_sparse_rows_have_the_kernels_of_dense_ones(rows):
    positive = np.where(rows > -1.0, rows + 1, 0)
    dense = build_bank(positive, n_classes=2, preparation="raw", random_state=0)
    sparse = build_bank(sp.csr_array(positive), n_classes=2, preparation="raw", random_state=0)
    np.testing.assert_array_equal(dense.order, sparse.order)
    for a, b in zip(dense.candidates, sparse.candidates, strict=True):
        # Clusters and spectra with equal eigenvalues may come out another way round.
        if a.family in ("sup", "lap"):
            np.testing.assert_allclose(
                a.space.gram(slice(None)), b.space.gram(slice(None)), atol=1e-6, err_msg=a.name
            )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_do_not_see_where_rows_lie(dtype):
    """Rows far from 0 have the kernels of the same rows around it, up to what the type can tell."""
    rng = np.random.default_rng(0)
    X = (2 * rng.normal(size=(3, 20))[np.arange(150) % 3] + rng.normal(size=(150, 20))).astype(np.float32)
    near, far = (build_bank((X + shift).astype(dtype), n_classes=3, random_state=0) for shift in (0, 1000))
    for a, b in zip(near.candidates, far.candidates, strict=True):
        K, L = (
            c.space.gram(slice(None))[np.ix_(np.argsort(bank.order), np.argsort(bank.order))].ravel()
            for c, bank in ((a, near), (b, far))
        )
        assert np.corrcoef(K, L)[0, 1] > (0.8 if "clusters" in a.name else 0.99), a.name


def test_clusters_are_named_by_how_many_there_are():
    bank = build_bank(np.random.default_rng(0).normal(size=(60, 3)), n_classes=26, random_state=0)
    clusters = [c for c in bank.candidates if "clusters" in c.name]
    assert len({c.name for c in clusters}) == len(clusters) == 3
    for candidate in clusters:
        centres = candidate.space.coordinates.mapping.measure.centres
        assert {len(part) for part in centres} == {int(candidate.name.split()[0])} == {12}


def test_lanczos_finds_what_dense_algebra_finds(monkeypatch, rows):
    graph = neighbor_graph(np.vstack([rows, rows + 0.1]), n_neighbors=8)
    exact, vectors = graph_spectrum(graph, 10)
    monkeypatch.setattr("weakly.auto._spectra._DENSE_ROWS", 0)
    found, other = graph_spectrum(graph, 10)
    np.testing.assert_allclose(found, exact, atol=1e-3)
    # The same plane, whatever the signs: all angles between the two are 0.
    cosines = np.linalg.svd(vectors[:, :3].T @ other[:, :3] / len(vectors))[1]
    np.testing.assert_allclose(cosines, 1, atol=1e-3)


@pytest.mark.parametrize("shape", [(40, 8), (8, 40), (50, 30), (30, 50)])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_principal_components_on_every_path(monkeypatch, shape, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.7) * np.linspace(1, 3, shape[1])
    centred = X - X.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / len(X))
    if min(shape) == 30:
        monkeypatch.setattr("weakly.auto._spectra._GRAM_SIDE", 0)  # Lanczos
    found, rotation = principal_components(sp.csr_array(X) if kind == "csr" else X, 4)
    np.testing.assert_allclose(found, values[::-1][:4], rtol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(rotation * directions[:, ::-1][:, :4], axis=0)), 1, atol=1e-4)


def test_equal_samples_have_no_component():
    variances, directions = principal_components(np.full((50, 51), 2.5), 4)
    np.testing.assert_allclose(variances, 0, atol=1e-25)
    assert np.isfinite(directions).all()


def test_components_are_as_many_as_fit_half_the_memory_limit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(8, 40))
    all_values, all_directions = principal_components(X, 6)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", str(2 * 3 * 40 * 8))
    values, directions = principal_components(X, 6)
    np.testing.assert_array_equal(values, all_values[:3])
    np.testing.assert_array_equal(directions, all_directions[:, :3])
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "1")
    assert principal_components(X, 6)[1].shape == (40, 1)


def hashed_text(n_samples, n_features, seed=0):
    """Sparse samples that have entries in few of very many features, and the same in those alone."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(n_features, 70, replace=False))
    X = rng.random((n_samples, 70)) * (rng.random((n_samples, 70)) < 0.3)
    X[:, 0] = 1
    narrow = sp.csr_array(X)
    wide = sp.csr_array((narrow.data, columns[narrow.indices], narrow.indptr), shape=(n_samples, n_features))
    return wide, narrow


def test_empty_features_change_no_kernel_and_take_no_memory():
    wide, narrow = hashed_text(60, 2**20)
    tracemalloc.start()
    found = build_bank(wide, n_classes=3, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20  # a dense direction for each sample alone would take 480 MB
    wanted = build_bank(narrow, n_classes=3, random_state=0)
    names = [c.name for c in wanted.candidates if "clusters" not in c.name]  # which hang on the order of keys
    for name in names:
        np.testing.assert_allclose(gram_of(found, name), gram_of(wanted, name), atol=1e-6, err_msg=name)


def test_equal_rows_have_equal_coordinates():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(25, 4)), 2, axis=0)
    bank = build_bank(X, n_classes=2, random_state=0)
    back = np.argsort(bank.order)
    for candidate in bank.candidates:
        Z = candidate.space.coordinates.of(back)
        np.testing.assert_allclose(Z[::2], Z[1::2], atol=1e-8, err_msg=candidate.name)


PREPARATIONS = {
    "standardize": np.column_stack([np.arange(30.0), 1e4 * np.sin(np.arange(30.0))]),
    "raw": np.random.default_rng(0).integers(0, 256, size=(30, 64)).astype(float),
    "normalize": sp.csr_array(np.abs(np.random.default_rng(0).normal(size=(30, 50)))),
    "tf-idf": sp.csr_array(np.random.default_rng(0).integers(0, 4, size=(30, 50)).astype(float)),
}


@pytest.mark.parametrize("kind", PREPARATIONS)
def test_preparation_is_detected(kind):
    X = PREPARATIONS[kind]
    preparation = learn_preparation(X)
    assert preparation.kind == kind
    prepared = preparation(X)
    if kind == "standardize":
        np.testing.assert_allclose(prepared.std(axis=0), 1)
    if kind in ("normalize", "tf-idf"):
        np.testing.assert_allclose(sp.linalg.norm(prepared, axis=1), 1)


def test_one_large_column_among_indicators_is_no_common_scale():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=(50, 30)), 1e4 * rng.random(50)]).astype(float)
    assert learn_preparation(X).kind == "standardize"


def test_preparation_can_be_told():
    X = PREPARATIONS["standardize"]
    np.testing.assert_allclose(learn_preparation(X, "raw")(X), X - X.mean(axis=0))
    with pytest.raises(ValueError, match="preparation is 'other'"):
        learn_preparation(X, "other")


def test_landmarks_fit_the_memory(monkeypatch):
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "100KB")
    bank = build_bank(np.random.default_rng(0).normal(size=(300, 3)), n_classes=2, random_state=0)
    assert bank.reference.landmarks.shape[0] == 50


@pytest.mark.parametrize("wrong", [{"effort": "some"}, {"n_classes": 1}])
def test_wrong_sizes_are_told(rows, wrong):
    with pytest.raises(ValueError, match=r"effort is .* and n_classes"):
        build_bank(rows, **{"n_classes": 2, **wrong})
