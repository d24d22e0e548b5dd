import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

from weakly.kernels import Kernel, resolve_kernel

RNG = np.random.default_rng(0)
X = RNG.random((30, 4)) * (RNG.random((30, 4)) < 0.7)  # non-negative, with zeros
Y = RNG.random((7, 4))


def chi2_distance(x, z):
    total = x + z
    return sum((a - b) ** 2 / t for a, b, t in zip(x, z, total, strict=True) if t > 0)


def cosine(x, z):
    return x @ z / np.sqrt((x @ x) * (z @ z)) if x.any() and z.any() else 0.0


FORMULAS = {
    "rbf": lambda x, z: np.exp(-0.7 * ((x - z) ** 2).sum()),
    "linear": lambda x, z: x @ z,
    "poly": lambda x, z: (0.7 * (x @ z) + 0.5) ** 2,
    "chi2": lambda x, z: np.exp(-0.7 * chi2_distance(x, z)),
    "cosine": cosine,
}


def kernel_of(name):
    return Kernel(name, gamma=0.7, degree=2, coef0=0.5)


@pytest.mark.parametrize("name", FORMULAS)
def test_gram_matrix_follows_the_formula(name):
    expected = np.array([[FORMULAS[name](x, z) for z in Y] for x in X])
    np.testing.assert_allclose(kernel_of(name)(X, Y), expected, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_second_argument_defaults_to_the_first(name):
    np.testing.assert_allclose(kernel_of(name)(X), kernel_of(name)(X, X.copy()), atol=1e-7)


@pytest.mark.parametrize("name", [name for name in FORMULAS if name != "chi2"])
@pytest.mark.parametrize("as_sparse", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows_give_the_dense_gram_matrix(name, as_sparse):
    gram = kernel_of(name)(as_sparse(X), as_sparse(Y))
    assert isinstance(gram, np.ndarray)
    np.testing.assert_allclose(gram, kernel_of(name)(X, Y), atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_float32_stays_float32(name):
    gram = kernel_of(name)(X.astype(np.float32), Y.astype(np.float32))
    assert gram.dtype == np.float32
    np.testing.assert_allclose(gram, kernel_of(name)(X, Y), atol=1e-5)


def test_precomputed_rows_are_their_own_kernel():
    gram = X @ X.T
    assert resolve_kernel("precomputed", gram)(gram) is gram


def test_callable_sees_both_matrices():
    kernel = resolve_kernel(lambda a, b: 2 * a @ b.T, X)
    np.testing.assert_allclose(kernel(X, Y), 2 * X @ Y.T)
    np.testing.assert_allclose(kernel(X), 2 * X @ X.T)


GAMMA_RULES = {
    "median": lambda rows: 1 / (2 * (np.median(pdist(rows)) / 2) ** 2),
    "mean-distance": lambda rows: 1 / (2 * np.mean(pdist(rows) ** 2)),
    "scale": lambda rows: 1 / (rows.shape[1] * np.mean((rows - rows.mean()) ** 2)),
}


@pytest.mark.parametrize("rule", GAMMA_RULES)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "chi2"])
def test_gamma_rules_by_brute_force(rule, kernel):
    rows = np.random.default_rng(1).random((400, 3))
    np.testing.assert_allclose(resolve_kernel(kernel, rows, gamma=rule).gamma, GAMMA_RULES[rule](rows))


@pytest.mark.parametrize("rule", GAMMA_RULES)
def test_gamma_rules_on_sparse_and_float32_rows(rule):
    expected = GAMMA_RULES[rule](X)
    np.testing.assert_allclose(resolve_kernel("rbf", sp.csr_array(X), gamma=rule).gamma, expected)
    single = resolve_kernel("rbf", X.astype(np.float32), gamma=rule)
    np.testing.assert_allclose(single.gamma, expected, rtol=1e-5)


@pytest.mark.parametrize("rule", ["median", "mean-distance"])
def test_gamma_of_many_rows_is_near_that_of_all_pairs(rule):
    rows = np.random.default_rng(2).normal(size=(3000, 2))
    np.testing.assert_allclose(
        resolve_kernel("rbf", rows, gamma=rule).gamma, GAMMA_RULES[rule](rows), rtol=0.1
    )


def test_scale_is_the_one_of_svc():
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    gamma = resolve_kernel("rbf", X, gamma="scale").gamma
    ours, theirs = SVC(gamma=gamma).fit(X, y), SVC(gamma="scale").fit(X, y)
    np.testing.assert_allclose(ours.decision_function(Y), theirs.decision_function(Y), rtol=1e-9)


def test_gamma_is_a_number_as_given_and_unused_where_the_kernel_has_none():
    assert resolve_kernel("rbf", X, gamma=np.float32(0.5)).gamma == 0.5
    assert resolve_kernel("linear", X, gamma="median").gamma == resolve_kernel("linear", Y).gamma


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_features", [7, 30, 64, 500])
def test_median_of_mostly_repeated_rows_passes_over_the_zeros(n_features, as_type):
    rng = np.random.default_rng(n_features)
    repeated = np.tile(rng.normal(3, 1, n_features), (80, 1))
    rows = np.vstack([repeated, rng.normal(size=(20, n_features))])
    distances = pdist(rows)
    expected = 2 / np.median(distances[distances > 0]) ** 2
    np.testing.assert_allclose(resolve_kernel("rbf", as_type(rows)).gamma, expected)


@pytest.mark.parametrize("rule", GAMMA_RULES)
@pytest.mark.parametrize("n_features", [1, 7, 30, 64])
@pytest.mark.parametrize("n_rows", [1, 100])
def test_rows_that_are_one_point_have_kernel_one(rule, n_features, n_rows):
    rows = np.tile(np.random.default_rng(n_features).normal(3, 1, n_features), (n_rows, 1))
    if rule == "scale":
        rows[:] = 2.0  # the variance is over all entries
    np.testing.assert_allclose(resolve_kernel("rbf", rows, gamma=rule)(rows), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel is 'sigmoid'.*rbf"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma is -1.0.*positive"),
        ({"kernel": "rbf", "gamma": 0}, "gamma is 0.*positive"),
        ({"kernel": "rbf", "gamma": np.nan}, "gamma is nan"),
        ({"kernel": "rbf", "gamma": np.inf}, "gamma is inf"),
        ({"kernel": "rbf", "gamma": "auto"}, "gamma is 'auto'.*median"),
        ({"kernel": "chi2", "X": X - 0.5}, "chi2.*negative"),
        ({"kernel": "chi2", "X": sp.csr_array(X)}, "chi2.*dense"),
        ({"kernel": "precomputed"}, r"precomputed.*square.*\(30, 4\)"),
        ({"kernel": "precomputed", "X": sp.eye_array(3, format="csr")}, "precomputed.*dense"),
        ({"kernel": "precomputed", "X": np.triu(np.ones((3, 3)))}, "precomputed.*symmetric"),
    ],
)
def test_errors_name_the_argument(arguments, message):
    arguments = {"X": X} | arguments
    with pytest.raises(ValueError, match=message):
        resolve_kernel(arguments.pop("kernel"), arguments.pop("X"), **arguments)


def test_rounding_is_no_asymmetry():
    gram = X @ X.T
    resolve_kernel("precomputed", gram + 1e-8 * np.triu(gram))


@pytest.mark.parametrize("function", [lambda a, b: a[0] @ b[0], lambda a, b: b @ a.T])
def test_callable_with_a_wrong_shape(function):
    with pytest.raises(ValueError, match=r"kernel returned an array of shape .* 30 and 7 rows"):
        resolve_kernel(function, X)(X, Y)


@pytest.mark.parametrize("rule", ["median", "mean-distance", "scale"])
def test_gamma_does_not_depend_on_the_origin(rule):
    rows = np.random.default_rng(0).normal(size=(50, 3)) * 6
    here, far = (resolve_kernel("rbf", X, gamma=rule).gamma for X in (rows, rows + 1e8))
    assert far == pytest.approx(here, rel=1e-5)


@pytest.mark.parametrize("shift", [1e6, 1e8])
@pytest.mark.parametrize("container", [np.array, sp.csr_matrix], ids=["dense", "filled csr"])
def test_distances_do_not_care_where_samples_lie(shift, container):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20, 3)), 3)
    new = np.round(rng.normal(size=(4, 3)), 3)
    exact = np.exp(-0.7 * ((new[:, None] - X) ** 2).sum(axis=2))
    far = Kernel("rbf", gamma=0.7)(container(new + shift), container(X + shift))
    np.testing.assert_allclose(far, exact, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_what_is_infinitely_far_in_units_of_the_width_has_the_kernel_zero():
    assert Kernel("rbf", gamma=1e300)(np.array([[0.0], [1e10]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
