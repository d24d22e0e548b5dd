import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.dense import kernel_root, manifold_penalty, random_laplacian, ridge
from weakly.kernels import Kernel
from weakly.rows._arrays import namespace_on
from weakly.solvers import solve_ridge
from weakly.spaces import (
    CorrectedSpace,
    FeatureSpace,
    KernelSpace,
    ScoreFunction,
    build_space,
    deform,
    restrict,
)

KINDS = ["kernel", "features", "csr"]
BRIEFLY = settings(max_examples=25, deadline=None)


def make_space(rng, kind, n_rows, n_params):
    """Return a space and the dense matrices ``A`` and ``R`` of its scores and its norm."""
    Z = rng.normal(size=(n_rows, n_params))
    if kind == "kernel":
        gram = Kernel("rbf", gamma=0.5 / n_params)(Z)
        return KernelSpace(gram), gram, gram
    if kind == "csr":
        Z *= rng.random(Z.shape) < 0.5
        return FeatureSpace(sp.csr_array(Z)), Z, np.eye(n_params)
    return FeatureSpace(Z), Z, np.eye(n_params)


def make_deformed(rng, kind, n_rows, n_params, *, graph=0.7):
    base, A, R = make_space(rng, kind, n_rows, n_params)
    laplacian = random_laplacian(rng, n_rows)
    space = deform(base, sp.csr_array(laplacian), ambient=0.3, graph=graph)
    return space, A, 0.3 * R + graph * A.T @ laplacian @ A


def columns(rng, n_rows, n_columns):
    return rng.normal(size=(n_rows, n_columns) if n_columns else n_rows)


# Every space: scores, adjoint, norm


@BRIEFLY
@given(
    st.integers(0, 2**16),
    st.sampled_from(KINDS),
    st.sampled_from([None, 0.0, 0.7]),
    st.integers(2, 12),
    st.integers(1, 8),
    st.integers(0, 3),
)
def test_scores_adjoint_and_norm_agree_with_the_matrices(seed, kind, graph, n_rows, n_params, n_columns):
    rng = np.random.default_rng(seed)
    if graph is None:
        space, A, R = make_space(rng, kind, n_rows, n_params)
    else:
        space, A, R = make_deformed(rng, kind, n_rows, n_params, graph=graph)
    assert (space.n_rows, space.n_params) == A.shape
    a, b = columns(rng, A.shape[1], n_columns), columns(rng, A.shape[1], n_columns)
    v = columns(rng, n_rows, n_columns)
    np.testing.assert_allclose(space.scores(a), A @ a, atol=1e-12)
    np.testing.assert_allclose(space.scores(a, np.array([1, 0])), (A @ a)[[1, 0]], atol=1e-12)
    norm = (a * (R @ b)).sum(axis=0)
    np.testing.assert_allclose(space.inner(a, b), norm, atol=1e-9)
    np.testing.assert_allclose(space.inner(a, b, space.scores(b)), norm, atol=1e-9)
    np.testing.assert_allclose(space.inner(space.adjoint(v), a), (v * (A @ a)).sum(axis=0), atol=1e-8)


def test_deformed_kernel_by_its_formula():
    space, gram, _ = make_deformed(np.random.default_rng(0), "kernel", 15, 3)
    T = 0.3 * np.eye(15) + 0.7 * space.laplacian.toarray() @ gram
    deformed = space.scores(space.adjoint(np.eye(15)))
    np.testing.assert_allclose(deformed, gram @ np.linalg.inv(T), atol=1e-10)
    np.testing.assert_allclose(deformed, deformed.T, atol=1e-10)
    theta = np.random.default_rng(1).normal(size=(15, 2))
    np.testing.assert_allclose(space.apply(theta, gram @ theta), T @ theta, atol=1e-10)


@pytest.mark.parametrize("kind", ["features", "csr"])
def test_deformed_features_by_their_formula(kind):
    space, Z, T = make_deformed(np.random.default_rng(0), kind, 15, 4)
    C = np.linalg.cholesky(T)
    small = restrict(space, np.arange(15)).space
    np.testing.assert_allclose(small.features, Z @ np.linalg.inv(C).T, atol=1e-10)
    np.testing.assert_allclose(
        space.scores(space.adjoint(np.eye(15))), Z @ np.linalg.inv(T) @ Z.T, atol=1e-10
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [float, np.float64])  # a grid search passes NumPy's
def test_float32_stays_float32(kind, number):
    rng = np.random.default_rng(0)
    base, A, _ = make_space(rng, kind, 12, 3)
    single = A.astype(np.float32) if kind == "kernel" else base.features.astype(np.float32)
    laplacian = sp.csr_array(random_laplacian(rng, 12), dtype=np.float32)
    space = deform(type(base)(single), laplacian, ambient=number(0.5), graph=number(0.5))
    values = np.ones((12, 2), dtype=np.float32)
    theta = space.adjoint(values)
    small = restrict(space, np.arange(12))
    outputs = [theta, space.scores(theta), space.apply(theta, values)]
    assert [output.dtype for output in outputs] == [np.float32] * 3
    assert space.dtype == np.float32
    # Factorisations, and the small problems they lead to, are in float64.
    result = solve_ridge(small.space, values.astype(np.float64), np.ones(12))
    assert small.space.dtype == small.lift(result.x).dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ambient": 0.0}, "ambient is 0.0"),
        ({"ambient": np.nan}, "ambient is nan"),
        ({"graph": -1.0}, "graph is -1.0"),
        ({"graph": np.inf}, "graph is inf"),
        ({"laplacian": sp.csr_array((3, 3))}, r"laplacian has shape \(3, 3\) for 2 rows"),
    ],
)
def test_deform_names_bad_arguments(arguments, message):
    arguments = {"laplacian": sp.csr_array((2, 2)), "ambient": 1.0, "graph": 1.0} | arguments
    with pytest.raises(ValueError, match=message):
        deform(KernelSpace(np.eye(2)), **arguments)


# Weighted ridge and the restriction to labelled rows


@pytest.mark.parametrize("kind", KINDS)
def test_leverage_is_the_diagonal_of_the_hat_matrix(kind):
    rng = np.random.default_rng(0)
    space, A, _ = make_space(rng, kind, 14, 5)
    weights = rng.random(14) * (rng.random(14) < 0.8)
    Z = kernel_root(A) if kind == "kernel" else A
    hat = Z @ ridge(Z, np.eye(Z.shape[1]), np.eye(14), weights)
    normal = space.normal_equations(weights)
    np.testing.assert_allclose(space.scores(normal.solve(np.eye(14))), hat, atol=1e-10)
    np.testing.assert_allclose(normal.leverage(), np.diag(hat), atol=1e-10)


def test_an_indefinite_kernel_is_named():
    with pytest.raises(ValueError, match="kernel is not positive semi-definite"):
        KernelSpace(np.array([[1.0, 3.0], [3.0, 1.0]])).normal_equations(np.ones(2))


@pytest.mark.parametrize("graph", [0.0, 0.7])
@pytest.mark.parametrize(
    ("kind", "n_params", "smaller"),
    [
        ("kernel", 3, KernelSpace),
        ("features", 20, KernelSpace),
        ("csr", 20, KernelSpace),
        ("features", 4, FeatureSpace),
        ("csr", 4, FeatureSpace),
    ],
)
def test_restriction_has_the_optimum_of_all_rows(kind, n_params, smaller, graph):
    rng = np.random.default_rng(0)
    space, A, _ = make_deformed(rng, kind, 30, n_params, graph=graph)
    rows, targets, weights = np.array([20, 3, 11, 4, 29, 8]), rng.normal(size=(6, 3)), rng.random(6)
    small = restrict(space, rows)
    assert type(small.space) is smaller
    theta = small.lift(solve_ridge(small.space, targets, weights).x)
    Z = kernel_root(A) if kind == "kernel" else A
    penalty = manifold_penalty(Z, space.laplacian.toarray(), 0.3, graph)
    expected = Z @ ridge(Z[rows], penalty, targets, weights)
    np.testing.assert_allclose(space.scores(theta), expected, atol=1e-9)


# From rows to a space

X = np.random.default_rng(0).normal(size=(60, 3))
RBF = Kernel("rbf", gamma=0.4)
BUILDS = {
    "exact": (RBF, {}),
    "nystroem": (RBF, {"approximation": "nystroem", "n_components": 20, "random_state": 0}),
    "fourier": (RBF, {"approximation": "fourier", "n_components": 50, "random_state": 0}),
    "linear": (Kernel("linear"), {}),
    "poly": (Kernel("poly", degree=2), {"approximation": "nystroem", "n_components": 9, "random_state": 0}),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array, lambda rows: rows.astype(np.float32)])
def test_function_scores_training_rows_as_the_space_does(build, as_type, monkeypatch):
    monkeypatch.setattr("weakly.spaces._base.BLOCK_ROWS", 7)
    monkeypatch.setattr("weakly.spaces._build.BLOCK_ROWS", 11)
    kernel, arguments = BUILDS[build]
    rows = as_type(X)
    space = build_space(rows, kernel, **arguments)
    theta = np.random.default_rng(1).normal(size=(space.n_params, 2)).astype(rows.dtype)
    function = pickle.loads(pickle.dumps(space.function(theta)))
    assert function(rows).dtype == theta.dtype
    assert space.dtype == (np.float64 if isinstance(space, KernelSpace) else rows.dtype)
    atol = 1e-10 if rows.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(function(rows), space.scores(theta), atol=atol)
    np.testing.assert_allclose(space.function(theta[:, 0])(rows), space.scores(theta)[:, 0], atol=atol)


def test_function_leaves_the_training_matrices_behind():
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    space = build_space(rows, RBF, approximation="nystroem", n_components=10, random_state=0)
    assert len(pickle.dumps(space.function(np.ones((10, 1))))) < 10_000 < rows.nbytes
    space = build_space(rows[:500], RBF)
    assert len(pickle.dumps(space.function(np.ones((500, 1))))) < 100_000 < space.gram.nbytes


def test_function_of_given_rows_multiplies_them():
    gram = X @ X.T
    space = build_space(gram, Kernel("precomputed"))
    theta = np.ones((60, 1))
    assert isinstance(space.function(theta), ScoreFunction)
    np.testing.assert_allclose(space.function(theta)(gram[:4]), gram[:4] @ theta)


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "cosine"])
def test_nystroem_with_all_rows_is_exact(name):
    kernel = Kernel(name, gamma=0.4)
    space = build_space(X, kernel, approximation="nystroem", n_components=1000, random_state=0)
    assert space.n_params <= 60
    np.testing.assert_allclose(space.features @ space.features.T, kernel(X), atol=1e-6)
    new = np.random.default_rng(5).normal(size=(4, 3))
    assert space.feature_map(new).shape == (4, space.n_params)


def test_nystroem_of_repeated_rows_drops_the_directions_of_rounding():
    rows = np.repeat(X[:5], 10, axis=0)
    space = build_space(rows, RBF, approximation="nystroem", n_components=50)
    assert space.n_params == 5
    np.testing.assert_allclose(space.features @ space.features.T, RBF(rows), atol=1e-9)


def test_fourier_is_the_kernel_within_monte_carlo_error():
    n_components = 4000
    space = build_space(X, RBF, approximation="fourier", n_components=n_components, random_state=0)
    error = space.features @ space.features.T - RBF(X)
    deviation = np.sqrt(1.5 / n_components)  # the largest an entry can have
    assert np.sqrt((error**2).mean()) < deviation
    assert np.abs(error).max() < 5 * deviation


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_the_seed_decides_the_approximation(approximation):
    def features(seed):
        options = {"approximation": approximation, "n_components": 10, "random_state": seed}
        return build_space(X, RBF, **options).features

    np.testing.assert_array_equal(features(3), features(3))
    assert not np.array_equal(features(3), features(4))


@pytest.mark.parametrize("approximation", ["auto", None])
def test_linear_kernels_use_the_shorter_side(approximation):
    linear = Kernel("linear")
    assert build_space(X, linear, approximation=approximation).features is X
    wide = build_space(X[:2], linear, approximation=approximation)
    np.testing.assert_allclose(wide.gram, X[:2] @ X[:2].T)


def test_beyond_the_limit_auto_is_nystroem(monkeypatch):
    n_bytes = 2 * 60 * 60 * 8  # the Gram matrix and its factor
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", str(n_bytes))
    assert isinstance(build_space(X, RBF), KernelSpace)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", str(n_bytes - 1))
    space = build_space(X, RBF, n_components=10, random_state=0)
    assert (type(space), space.n_params) == (FeatureSpace, 10)
    assert isinstance(build_space(X.astype(np.float32), RBF), FeatureSpace)  # Gram matrices are float64
    assert isinstance(build_space(sp.csr_array((60, 90)), Kernel("linear")), FeatureSpace)


@pytest.mark.parametrize(
    ("approximation", "message"),
    [
        (None, "exact kernel on 60 rows needs 56.2 KB.*limit of 1 KB.*approximation='nystroem'"),
        ("nystroem", "30 features on 60 rows needs 14.1 KB.*limit of 1 KB: lower n_components"),
        ("fourier", "30 random features needs 14.8 KB.*limit of 1 KB: lower n_components"),
    ],
)
def test_what_does_not_fit_says_size_limit_and_remedy(approximation, message, monkeypatch):
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "1KB")
    with pytest.raises(MemoryError, match=message + ".*WEAKLY_MEMORY_LIMIT"):
        build_space(X, RBF, approximation=approximation, n_components=30, random_state=0)


def test_more_features_than_memory_can_count_are_refused_before_they_are_drawn():
    with pytest.raises(MemoryError, match="lower n_components"):
        build_space(X, RBF, approximation="fourier", n_components=10**18, random_state=0)


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        (RBF, {"approximation": "exact"}, "approximation is 'exact'"),
        (RBF, {"n_components": 0}, "n_components is 0"),
        (Kernel("poly"), {"approximation": "fourier"}, "fourier.*kernel='rbf'.*'poly'"),
        (Kernel("precomputed"), {"approximation": "nystroem"}, "nystroem.*precomputed"),
    ],
)
def test_build_names_bad_arguments(kernel, arguments, message):
    with pytest.raises(ValueError, match=message):
        build_space(X @ X.T, kernel, **arguments)


def test_corrected_space_is_the_kernel_of_features_plus_a_diagonal():
    rng = np.random.default_rng(0)
    Z, theta, other = rng.normal(size=(9, 3)), rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    space, dense = CorrectedSpace(Z, 0.7), KernelSpace(Z @ Z.T + 0.7 * np.eye(9))
    rows = np.array([4, 1])
    np.testing.assert_allclose(space.scores(theta), dense.scores(theta), atol=1e-12)
    np.testing.assert_allclose(space.scores(theta, rows), dense.scores(theta, rows), atol=1e-12)
    np.testing.assert_allclose(space.inner(theta, other), dense.inner(theta, other), atol=1e-12)
    np.testing.assert_allclose(space.induced(theta), Z @ Z.T @ theta, atol=1e-12)
    np.testing.assert_allclose(space.function(theta)(Z), space.induced(theta), atol=1e-12)
    laplacian = sp.csr_array(random_laplacian(rng, 9))
    ours, theirs = (deform(base, laplacian, ambient=0.1, graph=0.5) for base in (space, dense))
    np.testing.assert_allclose(ours.inner(theta, other), theirs.inner(theta, other), atol=1e-10)


@pytest.mark.parametrize("kernel", [RBF, Kernel("poly", gamma=0.1), Kernel("cosine")])
def test_correction_restores_the_mean_of_the_diagonal(kernel):
    space = build_space(X, kernel, approximation="nystroem", n_components=2, corrected=True, random_state=0)
    restored = (space.features**2).sum(axis=1) + space.variance
    np.testing.assert_allclose(restored.mean(), np.diagonal(kernel(X)).mean())
    whole = build_space(X, kernel, approximation="nystroem", n_components=60, corrected=True, random_state=0)
    assert isinstance(whole, FeatureSpace)  # all rows are landmarks: nothing is lost


@pytest.mark.parametrize("kind", ["kernel", "features", "csr", "corrected"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_what_solvers_ask_of_the_kernel_of_a_space(kind, device):
    """Asked of dense algebra, wherever the matrix is."""
    Z = np.random.default_rng(0).normal(size=(9, 3))
    K = Z @ Z.T + (0.4 * np.eye(9) if kind == "corrected" else 0)
    place = sp.csr_array if kind == "csr" else namespace_on(device).place
    space = {
        "kernel": lambda: KernelSpace(place(K)),
        "corrected": lambda: CorrectedSpace(place(Z), 0.4),
    }.get(kind, lambda: FeatureSpace(place(Z)))()
    assert space.has_own_values == (kind == "corrected")
    assert space.mean_square == pytest.approx(np.trace(K) / 9)
    if kind != "corrected":
        rows = np.array([4, 1, 7])
        np.testing.assert_allclose(space.products(), K, atol=1e-14)
        np.testing.assert_allclose(space.products(rows), K[np.ix_(rows, rows)], atol=1e-14)
        assert space.largest_product >= np.abs(K).max() - 1e-14


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_kernels_and_features_answer_the_same_about_products(as_type):
    Z = np.random.default_rng(0).normal(size=(7, 3))
    features, kernel = FeatureSpace(as_type(Z)), KernelSpace(Z @ Z.T)
    combinations = sp.csr_array(np.random.default_rng(1).normal(size=(7, 2)))
    np.testing.assert_allclose(features.expand(combinations), kernel.expand(combinations))
    np.testing.assert_allclose(features.squared_norms(), kernel.squared_norms())
    np.testing.assert_allclose(features.column(2), kernel.column(2))
    assert kernel.has_gram
    assert not features.has_gram


def test_shifted_products_are_products_about_some_center():
    Z = np.random.default_rng(0).normal(size=(7, 3)) + 5
    centering = np.eye(7) - 1 / 7
    for space in (FeatureSpace(Z), KernelSpace(Z @ Z.T)):
        products = space.shifted_products()
        np.testing.assert_allclose(
            centering @ products @ centering, centering @ Z @ Z.T @ centering, atol=1e-12
        )
