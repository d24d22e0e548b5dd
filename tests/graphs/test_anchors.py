"""Anchor graphs against dense matrices, and what estimators make of them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from weakly import (
    ExclusiveLaplacianSVC,
    LaplacianRLSClassifier,
    LaplacianRLSRegressor,
    LaplacianSVC,
    ProbabilisticLabelSVC,
    TotalVariationRLSClassifier,
)
from weakly.datasets import make_two_moons
from weakly.graphs import AnchorGraph, AnchorMap, anchor_graph
from weakly.graphs._anchor_map import ANCHOR_WEIGHTS, learn_anchors, main_anchors
from weakly.rows._blocks import ArrayBlocks, sample_rows
from weakly.spaces import FeatureSpace, KernelSpace, deform


def rows(n_rows=120, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def dense_laplacian(graph):
    Z = graph.weights.toarray().astype(np.float64)
    return np.eye(len(Z)) - Z @ np.diag(1 / np.maximum(Z.sum(axis=0), 1e-300)) @ Z.T


@pytest.mark.parametrize("weights", ANCHOR_WEIGHTS)
def test_weights_lie_on_the_nearest_anchors_and_sum_to_one(weights):
    X, anchors = rows(), rows(20, seed=1)
    graph = anchor_graph(X, anchors=anchors, n_neighbors=4, weights=weights)
    Z = graph.weights.toarray()
    np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-12)
    assert Z.min() >= 0
    distances = cdist(X, anchors, "cosine" if weights == "cosine" else "euclidean")
    fourth = np.sort(distances, axis=1)[:, 3:4]
    assert not Z[distances > fourth + 1e-12].any()


def test_weights_follow_their_formulas():
    X, anchors = rows(), rows(20, seed=1)
    squared = cdist(X, anchors, "sqeuclidean")
    nearest = np.argsort(squared, axis=1)[:, :4]
    near = np.take_along_axis(squared, nearest, 1)
    wanted = {
        "self-tuning": np.exp(-near / near[:, 3:]),
        "rbf": np.exp(-near / (2 * 0.7**2)),
        "binary": np.ones_like(near),
    }
    for weights, values in wanted.items():
        graph = anchor_graph(X, anchors=anchors, n_neighbors=4, weights=weights, bandwidth=0.7)
        found = np.take_along_axis(graph.weights.toarray(), nearest, 1)
        np.testing.assert_allclose(found, values / values.sum(axis=1, keepdims=True), rtol=1e-9)


def test_cosine_weights_are_the_cosines():
    X, anchors = rows(), rows(20, seed=1)
    graph = anchor_graph(X, anchors=anchors, n_neighbors=3, weights="cosine")
    cosines = np.maximum(1 - cdist(X, anchors, "cosine"), 0)
    kept = np.where(graph.weights.toarray() > 0, cosines, 0)
    np.testing.assert_allclose(
        graph.weights.toarray(), kept / kept.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-12
    )


def test_reconstruction_is_the_nearest_mean_of_anchors():
    X, anchors = rows(15), rows(20, seed=1)
    Z = anchor_graph(X, anchors=anchors, n_neighbors=4, weights="reconstruction").weights.toarray()
    for x, z in zip(X, Z, strict=True):
        nearest = anchors[np.argsort(((anchors - x) ** 2).sum(axis=1))[:4]]
        best = minimize(
            lambda w, x=x, nearest=nearest: ((x - w @ nearest) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert ((x - z @ anchors) ** 2).sum() <= best.fun + 1e-6 * (1 + best.fun)


@pytest.mark.parametrize("weights", ANCHOR_WEIGHTS)
def test_laplacian_is_that_of_the_dense_graph(weights):
    graph = anchor_graph(rows(), n_anchors=25, n_neighbors=4, weights=weights, random_state=0)
    L = dense_laplacian(graph)
    values, features = rows(seed=2), rows(n_columns=6, seed=3)
    np.testing.assert_allclose(graph.laplacian() @ values, L @ values, atol=1e-12)
    np.testing.assert_allclose(graph.laplacian() @ values[:, 0], L @ values[:, 0], atol=1e-12)
    np.testing.assert_allclose(graph.laplacian().smoothness(features), features.T @ L @ features, atol=1e-10)
    sparse = sp.csr_array(features)
    np.testing.assert_allclose(graph.laplacian().smoothness(sparse), features.T @ L @ features, atol=1e-10)
    Z = graph.weights.toarray()
    np.testing.assert_allclose(graph.laplacian().smoothness(graph.weights), Z.T @ L @ Z, atol=1e-12)
    np.testing.assert_allclose(graph.affinity.toarray(), np.eye(len(L)) - L, atol=1e-12)
    assert np.linalg.eigvalsh(L).min() > -1e-12
    np.testing.assert_allclose(graph.laplacian().diagonal(), L.diagonal(), atol=1e-12)
    own = np.random.default_rng(5).random(len(L))
    coupled, wanted = graph.laplacian().coupled(0.3, own), 0.3 * L + np.diag(own)
    np.testing.assert_allclose(coupled @ values, wanted @ values, atol=1e-12)
    np.testing.assert_allclose(coupled.smoothness(graph.weights), Z.T @ wanted @ Z, atol=1e-12)


def test_an_anchor_without_rows_changes_nothing():
    X = rows()
    anchors = np.vstack([rows(10, seed=1), np.full((1, 3), 1e6)])
    with_one, without = (anchor_graph(X, anchors=a, n_neighbors=3) for a in (anchors, anchors[:-1]))
    values = rows(seed=2)
    np.testing.assert_allclose(with_one.laplacian() @ values, without.laplacian() @ values, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_the_origin_nothing_changes(dtype):
    X = rows().astype(dtype)
    graphs = [anchor_graph(X + shift, anchors=rows(20, seed=1) + shift, n_neighbors=3) for shift in (0, 1000)]
    tolerance = {np.float32: 2e-3, np.float64: 1e-9}[dtype]
    np.testing.assert_allclose(*(g.weights.toarray() for g in graphs), atol=tolerance)


def test_sparse_rows_and_blocks_give_the_same_graph(monkeypatch):
    X = rows(200, 130) * (np.random.default_rng(4).random((200, 130)) < 0.2)
    dense, sparse = (
        anchor_graph(form, n_anchors=30, n_directions=None, random_state=0) for form in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(dense.weights.toarray(), sparse.weights.toarray(), atol=1e-10)
    monkeypatch.setattr("weakly.graphs._anchor_map._BLOCK_ENTRIES", 300)
    small = anchor_graph(X, n_anchors=30, n_directions=None, random_state=0)
    np.testing.assert_allclose(dense.weights.toarray(), small.weights.toarray(), atol=1e-12)


def test_many_columns_are_compared_along_the_principal_directions():
    rng = np.random.default_rng(0)
    hidden, frame = rng.normal(size=(300, 10)), np.linalg.qr(rng.normal(size=(150, 10)))[0]
    mapping = learn_anchors(ArrayBlocks(hidden @ frame.T), n_anchors=20, n_neighbors=3, random_state=0)
    assert mapping.directions.shape == (150, 50)
    # All variance is in ten directions, so that distances, and with them the weights, are the same.
    anchors = mapping.anchors @ mapping.directions.T
    direct = AnchorMap(anchors, 3)(hidden @ frame.T).toarray()
    np.testing.assert_allclose(mapping(hidden @ frame.T).toarray(), direct, atol=1e-9)


def test_empty_features_change_no_anchor_graph():
    rng = np.random.default_rng(0)
    hidden = sp.csr_array(rng.normal(size=(90, 40)) * (rng.random((90, 40)) < 0.3))
    columns = np.sort(rng.choice(2**20, 40, replace=False))
    wide = sp.csr_array((hidden.data, columns[hidden.indices], hidden.indptr), shape=(90, 2**20))
    mapping = learn_anchors(ArrayBlocks(wide), n_anchors=20, n_neighbors=3, random_state=0)
    assert mapping.directions.shape == (40, 40)  # a rotation, so that all distances are those of the features
    direct = AnchorMap(mapping.anchors @ mapping.directions.T, 3)
    np.testing.assert_allclose(mapping(wide).toarray(), direct(hidden.toarray()).toarray(), atol=1e-9)


def test_comparing_all_of_very_many_sparse_features_asks_the_memory_limit(monkeypatch):
    X = sp.random_array((90, 2**20), density=1e-5, format="csr", rng=0)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "100MB")
    with pytest.raises(MemoryError, match="set n_directions"):
        anchor_graph(X, n_anchors=20, n_directions=None, random_state=0)


def test_directions_see_all_rows_of_a_sorted_file():
    rng = np.random.default_rng(0)
    X = np.zeros((600, 120))
    X[:300, :40], X[300:, 60:100] = rng.normal(size=(300, 40)), 3 * rng.normal(size=(300, 40))
    mapping = learn_anchors(ArrayBlocks(X), n_anchors=10, n_neighbors=3, random_state=0)
    energy = (mapping.directions**2).sum(axis=1)
    assert energy[60:100].sum() > 35  # of 50 directions: the second half varies most
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weakly.graphs._anchor_map._DIRECTION_ROWS", 200)
        mapping = learn_anchors(ArrayBlocks(X), n_anchors=10, n_neighbors=3, random_state=0)
    assert (mapping.directions**2).sum(axis=1)[60:100].sum() > 35


def test_whole_numbers_are_rows_too():
    mapping = AnchorMap(np.array([[0.0], [4.0], [9.0]]), 2, "reconstruction")
    np.testing.assert_allclose(mapping(np.array([[1]])).toarray(), [[0.75, 0.25, 0]], atol=1e-7)


def test_kernels_are_exact_for_single_precision():
    X, anchors = (rows(seed=s).astype(np.float32) * np.float32(1e18) for s in (0, 1))
    found = AnchorMap(anchors[:20], 4)(X).toarray()
    wanted = AnchorMap(anchors[:20].astype(np.float64), 4)(X.astype(np.float64)).toarray()
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    # Where single precision cannot hold the distances, double does.
    far = X * np.float32(1e10)
    found = AnchorMap(anchors[:20], 4)(far).toarray()
    wanted = AnchorMap(anchors[:20].astype(np.float64), 4)(far.astype(np.float64)).toarray()
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    with pytest.raises(ValueError, match="overflow float64: scale the features"):
        AnchorMap(anchors[:20].astype(np.float64), 4)(X.astype(np.float64) * 1e280)


def test_a_row_belongs_to_the_component_of_the_anchor_that_weighs_most():
    # The row lies behind the face of the outer two anchors, seen from the nearest one.
    anchors = np.array([[0.0, 0.2], [-1.0, -0.1], [1.0, -0.1]])
    graph = anchor_graph(
        np.array([[0.0, -0.15]] * 3), anchors=anchors, n_neighbors=3, weights="reconstruction"
    )
    Z = graph.weights.toarray()
    assert Z[0, 0] == 0
    np.testing.assert_array_equal(main_anchors(graph.weights), Z.argmax(axis=1))


def test_anchors_are_at_most_a_third_of_the_rows():
    assert anchor_graph(rows(90), n_anchors=1000, random_state=0).weights.shape == (90, 30)
    assert anchor_graph(rows(8), n_anchors=1000, n_neighbors=3, random_state=0).weights.shape == (8, 6)


def test_a_given_anchor_graph_is_kept_by_a_warm_start(monkeypatch):
    moons = make_two_moons(200, random_state=0)
    graph = anchor_graph(moons.X, n_anchors=30, n_neighbors=3, random_state=0)
    monkeypatch.setattr(AnchorGraph, "affinity", property(lambda self: pytest.fail("Z M^-1 Z' is too large")))
    model = LaplacianRLSClassifier(graph=graph, warm_start=True).fit(moons.X, moons.y_partial)
    before = model._warm[1][3]
    assert model.fit(moons.X, moons.y)._warm[1][3] is before


def test_anchors_of_a_memory_mapped_file(tmp_path):
    X = rows(500).astype(np.float32)
    X.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=X.shape)
    y = np.full(500, -1)
    y[:20] = X[:20, 0] > 0
    models = [
        LaplacianRLSClassifier(graph="anchor", n_components=50, random_state=0).fit(form, y)
        for form in (X, mapped)
    ]
    np.testing.assert_array_equal(*(model.label_distributions_ for model in models))


def test_components_and_unreached_rows():
    X = np.vstack([rows(50), rows(50) + 100])
    graph = anchor_graph(X, anchors=np.vstack([rows(9, seed=1), rows(9, seed=1) + 100]), n_neighbors=3)
    assert len(np.unique(graph.components)) == 2
    np.testing.assert_array_equal(graph.unreached(np.array([3])), np.arange(100) >= 50)
    y = np.full(100, -1)
    y[:8] = np.arange(8) % 2
    with pytest.warns(UserWarning, match="50 rows lie in parts of the graph without a label"):
        LaplacianRLSClassifier(graph=graph).fit(X, y)


def closed_form(Z, L, labeled, targets, ambient, graph):
    """Scores of the minimiser of the squared loss with both penalties, over functions of the anchors."""
    Zl = Z[labeled]
    system = Zl.T @ Zl + ambient * np.eye(Z.shape[1]) + graph * Z.T @ L @ Z
    return Z @ np.linalg.solve(system, Zl.T @ targets)


def test_laplacian_rls_is_the_closed_form_on_anchors():
    moons = make_two_moons(300, noise=0.1, random_state=0)
    model = LaplacianRLSClassifier(
        graph="anchor", n_components=40, n_neighbors=3, class_prior=None, random_state=0
    ).fit(moons.X, moons.y_partial)
    labeled = np.flatnonzero(moons.y_partial >= 0)
    Z, L = model.graph_.weights.toarray(), dense_laplacian(model.graph_)
    targets = np.where(moons.y_partial[labeled] == 1, 1.0, -1.0)
    scores = closed_form(Z, L, labeled, targets, ambient=1e-3, graph=0.1)
    np.testing.assert_allclose(model.decision_function(moons.X), scores, atol=1e-8)
    np.testing.assert_array_equal(model.transduction_, (scores > 0).astype(int))


def test_regressor_is_the_closed_form_on_anchors():
    X = rows(200)
    y = np.full(200, np.nan)
    y[:30] = X[:30, 0]
    model = LaplacianRLSRegressor(graph="anchor", n_components=30, n_neighbors=3, random_state=0).fit(X, y)
    Z, L = model.graph_.weights.toarray(), dense_laplacian(model.graph_)
    level = y[:30].mean()
    scores = closed_form(
        Z, L, np.arange(30), y[:30] - level, ambient=model.ambient_penalty, graph=model.graph_penalty
    )
    np.testing.assert_allclose(model.predict(X), scores + level, atol=1e-8)


def test_kernels_are_deformed_by_anchors_too():
    X = rows(80)
    graph = anchor_graph(X, n_anchors=20, random_state=0)
    gram = np.exp(-cdist(X, X, "sqeuclidean"))
    space = deform(KernelSpace(gram), graph.laplacian(), ambient=0.1, graph=0.5)
    values = rows(80, 2, seed=5)
    T = 0.1 * np.eye(80) + 0.5 * dense_laplacian(graph) @ gram
    np.testing.assert_allclose(space.adjoint(values), np.linalg.solve(T, values), rtol=1e-8)
    features = rows(80, 5, seed=6)
    space = deform(FeatureSpace(features), graph.laplacian(), ambient=0.1, graph=0.5)
    T = 0.1 * np.eye(5) + 0.5 * features.T @ dense_laplacian(graph) @ features
    np.testing.assert_allclose(space.adjoint(values), np.linalg.solve(T, features.T @ values), rtol=1e-8)


@pytest.mark.parametrize("estimator", [LaplacianRLSClassifier, LaplacianSVC, ExclusiveLaplacianSVC])
@pytest.mark.parametrize("form", ["dense", "csr", "float32"])
def test_estimators_learn_two_moons_through_anchors(estimator, form):
    moons = make_two_moons(400, noise=0.05, random_state=0)
    X = {"dense": moons.X, "csr": sp.csr_array(moons.X), "float32": moons.X.astype(np.float32)}[form]
    model = estimator(graph="anchor", n_components=60, n_neighbors=3, random_state=0).fit(X, moons.y_partial)
    assert np.mean(model.transduction_ == moons.y) > 0.97
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    assert model.predict_proba(X).dtype == X.dtype


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_kernels_with_the_anchor_graph_have_the_closed_form(approximation):
    moons = make_two_moons(150, noise=0.1, random_state=0)
    graph = anchor_graph(moons.X, n_anchors=30, n_neighbors=3, random_state=0)
    model = LaplacianRLSClassifier(
        graph=graph, n_components=150, approximation=approximation, gamma=2.0, class_prior=None,
        early_stopping=False, ambient_penalty=0.01, tol=1e-10, random_state=0,
    ).fit(moons.X, moons.y_partial)  # fmt: skip
    is_labeled = moons.y_partial >= 0
    targets = np.where(moons.y_partial == 1, 1.0, -1.0) * is_labeled
    gram = np.exp(-2 * cdist(moons.X, moons.X, "sqeuclidean"))
    system = is_labeled[:, None] * gram + 0.01 * np.eye(150) + 0.1 * dense_laplacian(graph) @ gram
    scores = gram @ np.linalg.solve(system, targets)
    np.testing.assert_allclose(model.decision_function(moons.X), scores, atol=1e-5)


def test_mistakes_are_named():
    X, y = rows(30), np.r_[0, 1, np.full(28, -1)]
    with pytest.raises(ValueError, match="n_neighbors is 8: it must be from 1 to the number of anchors, 5"):
        anchor_graph(X, n_anchors=5, n_neighbors=8)
    for bad in (None, "5", 2.5, True, 0):
        with pytest.raises(
            ValueError, match=f"n_neighbors is {bad!r}: it must be a whole number of at least"
        ):
            anchor_graph(X, n_anchors=5, n_neighbors=bad)
    with pytest.raises(ValueError, match="n_anchors is 0: it must be a whole number of at least 1"):
        anchor_graph(X, n_anchors=0)
    with pytest.raises(ValueError, match="anchors have 2 columns and rows 3"):
        anchor_graph(X, anchors=X[:, :2])
    with pytest.raises(ValueError, match="weights of anchors are 'cubic'"):
        anchor_graph(X, weights="cubic")
    with pytest.raises(ValueError, match="selection is 'best': use 'k-means' or 'random'"):
        anchor_graph(X, selection="best")
    with pytest.raises(ValueError, match="n_directions is 9: it must be from 1 to n_features = 3"):
        anchor_graph(X, n_directions=9)
    with pytest.raises(ValueError, match="pass rows, not a Gram matrix"):
        LaplacianRLSClassifier(kernel="precomputed", graph="anchor").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="'graph' parameter of TotalVariationRLSClassifier must be"):
        TotalVariationRLSClassifier(graph="anchor").fit(X, y)
    with pytest.raises(ValueError, match="'reconstruction' needs graph='anchor'"):
        LaplacianRLSClassifier(graph_weights="reconstruction").fit(X, y)


def test_samples_do_not_depend_on_blocks():
    X = rows(100)
    drawn = [sample_rows(ArrayBlocks(X, size), 20, 0) for size in (7, 1000)]
    np.testing.assert_array_equal(*drawn)
    np.testing.assert_array_equal(sample_rows(ArrayBlocks(X), 200, 0), X)
    assert len(np.unique(drawn[0][:, 0])) == 20


def test_sums_over_blocks_are_those_of_all_rows():
    X, weights = rows(100), np.arange(100.0)
    for size in (1, 7, 100):
        gram, total = ArrayBlocks(X, size).reduce(lambda x, w: (x.T @ (w[:, None] * x), w.sum()), weights)
        np.testing.assert_allclose(gram, X.T @ (weights[:, None] * X), rtol=1e-10)
        assert total == weights.sum()
        norms = ArrayBlocks(X, size).map(lambda x: (x**2).sum(axis=1), width=None, dtype=float)
        np.testing.assert_allclose(norms, (X**2).sum(axis=1))


def test_anchors_are_found_on_a_device_as_well(tmp_path):
    moons = make_two_moons(300, noise=0.1, random_state=0)
    settings = {"graph": "anchor", "n_components": 40, "n_neighbors": 3, "random_state": 0}
    host, placed = (
        LaplacianRLSClassifier(device=device, **settings).fit(moons.X, moons.y_partial)
        for device in (None, "cpu")
    )
    np.testing.assert_allclose(host.graph_.weights.toarray(), placed.graph_.weights.toarray(), atol=1e-12)
    assert placed.graph_.feature_map.device == "cpu"
    back = placed.to_numpy()
    assert back._function.feature_map.device is None
    assert back.graph_.feature_map.device is None
    np.testing.assert_allclose(host.decision_function(moons.X), back.decision_function(moons.X), atol=1e-9)


@pytest.mark.parametrize("simplex", [False, True])
def test_kernels_on_a_device_with_the_anchor_graph(simplex):
    X = rows(90)
    y = np.full(90, -1)
    y[:12] = np.arange(12) % 3
    found = [
        LaplacianRLSClassifier(
            graph="anchor", n_components=20, n_neighbors=3, approximation=None, simplex=simplex,
            device=device, random_state=0,
        ).fit(X, y).decision_function(X)
        for device in (None, "cpu")
    ]  # fmt: skip
    np.testing.assert_allclose(*found, atol=1e-8)


@pytest.mark.parametrize(
    "estimator", [LaplacianRLSClassifier, LaplacianSVC, ExclusiveLaplacianSVC, ProbabilisticLabelSVC]
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_one_text_label_of_each_class_and_a_row_far_from_all(estimator, is_sparse):
    truth = np.repeat(["east", "north", "west"], 40)
    centres = np.repeat([[9.0, 0.0], [0.0, 9.0], [-9.0, 0.0]], 40, axis=0)
    X = np.vstack([centres + rows(120, 2), [[0.0, 1000.0]]]).astype(np.float32)
    y = np.full(121, None, dtype=object)
    y[[0, 40, 80]] = truth[[0, 40, 80]]
    model = estimator(graph="anchor", n_components=30, n_neighbors=3, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 rows lie in parts of the graph")
        model.fit(sp.csr_array(X) if is_sparse else X, y)
    np.testing.assert_array_equal(model.transduction_[:120], truth)
    assert np.isfinite(model.predict_proba(X)).all()
