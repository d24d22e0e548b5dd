"""Laplacian methods on a device: the numbers of NumPy, in the kind of array that came in."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import pairwise_kernels

from tests.samples import four_digits
from weakly import ExclusiveLaplacianSVC, LaplacianRLSClassifier, LaplacianRLSRegressor, LaplacianSVC
from weakly.graphs import anchor_graph, neighbor_graph
from weakly.graphs._neighbors import nearest_on_device
from weakly.kernels import Kernel, resolve_kernel
from weakly.rows._arrays import require_fit, resolve_device, to_host
from weakly.rows._device import free_bytes
from weakly.solvers import solve_conjugate
from weakly.spaces import (
    CorrectedSpace,
    FeatureSpace,
    KernelSpace,
    build_space,
    deform,
    restrict,
    whiten,
)

CLASSIFIERS = (LaplacianRLSClassifier, LaplacianSVC, ExclusiveLaplacianSVC)
SPACES = {
    "exact": {},
    "nystroem": {"approximation": "nystroem", "n_components": 40},
    "linear": {"kernel": "linear"},
}


@pytest.fixture(scope="module")
def digits():
    X, y = four_digits()
    partial = np.full(320, -1)
    partial[:240:6] = y[:240:6]
    return X[:240], partial[:240], X[240:]


def settings_of(estimator, space, solver):
    """Direct solvers where the space has a factorisation, or iterations to the end."""
    settings = {**SPACES[space], "random_state": 0}
    if estimator is ExclusiveLaplacianSVC:
        return {**settings, "tol": 1e-11, "ambient_penalty": 0.1, "exclusive": "sum"}
    if solver == "direct":
        name = "newton" if estimator is LaplacianSVC else "cholesky"
        return {**settings, "solver": name}
    settings |= {"solver": "cg", "tol": 1e-11, "max_iter": 20_000, "ambient_penalty": 0.1}
    return settings if estimator is LaplacianRLSRegressor else {**settings, "early_stopping": False}


def fit_both(estimator, settings, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # single precision cannot meet every tolerance
        return (
            estimator(**settings).fit(X, y),
            estimator(device="cpu", **settings).fit(X, y),
        )


def relative_difference(a, b):
    return np.abs(a - b).max() / np.abs(a).max()


CASES = [
    (estimator, space, solver)
    for estimator in (*CLASSIFIERS, LaplacianRLSRegressor)
    for space in SPACES
    for solver in (("any",) if estimator is ExclusiveLaplacianSVC else ("direct", "cg"))
]


@pytest.mark.parametrize(("estimator", "space", "solver"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-3)])
def test_scores_are_those_of_numpy(digits, estimator, space, solver, dtype, tolerance):
    X, partial, new = digits
    X, new = X.astype(dtype), new.astype(dtype)
    is_regressor = estimator is LaplacianRLSRegressor
    y = np.where(partial < 0, np.nan, partial) if is_regressor else partial
    host, placed = fit_both(estimator, settings_of(estimator, space, solver), X, y)
    score = "predict" if is_regressor else "decision_function"
    wanted, found = getattr(host, score)(new), getattr(placed, score)(new)
    assert isinstance(found, np.ndarray)
    assert found.dtype == wanted.dtype == dtype
    if estimator is ExclusiveLaplacianSVC:
        tolerance *= 10  # its descent ends where rounding, which differs, lets it go no further
    assert relative_difference(wanted, found) < tolerance
    if not is_regressor:
        assert np.abs(host.label_distributions_ - placed.label_distributions_).max() < 10 * tolerance


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_in_tensors_out(digits, estimator, dtype):
    X, partial, new = (torch.as_tensor(part) for part in digits)
    X, new = X.to(dtype), new.to(dtype)
    model = estimator().fit(X, partial, sample_weight=torch.ones(len(X)))
    for name in ("decision_function", "predict_proba"):
        found = getattr(model, name)(new)
        assert isinstance(found, torch.Tensor)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), getattr(model, name)(new.numpy()))
    labels = model.predict(new)
    assert isinstance(labels, torch.Tensor)
    assert labels.dtype == torch.int64
    assert isinstance(model.predict(new.numpy()), np.ndarray)
    assert isinstance(model.transduction_, np.ndarray)
    assert model.device is None  # the parameter is the user's


def test_text_labels_stay_arrays(digits):
    X, partial, new = digits
    names = np.array([None if code < 0 else f"digit {code}" for code in partial], dtype=object)
    model = LaplacianRLSClassifier().fit(torch.as_tensor(X), names)
    labels = model.predict(torch.as_tensor(new))
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == LaplacianRLSClassifier().fit(X, names).predict(new).tolist()


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LaplacianRLSRegressor])
@pytest.mark.parametrize("space", [*SPACES, "fourier"])
def test_a_model_brought_to_numpy_needs_no_torch(digits, estimator, space, tmp_path):
    X, partial, new = digits
    settings = SPACES.get(space, {"approximation": "fourier", "n_components": 40})
    y = np.where(partial < 0, np.nan, partial) if estimator is LaplacianRLSRegressor else partial
    device = torch.device("cpu")
    placed = estimator(device=device, warm_start=True, random_state=0, **settings).fit(X, y)
    host = placed.to_numpy()
    assert host.device is None
    assert placed.device is device
    score = "predict" if estimator is LaplacianRLSRegressor else "decision_function"
    wanted = getattr(placed, score)(new)
    assert relative_difference(wanted, getattr(host, score)(new)) < 1e-9
    content = pickle.dumps(host)
    assert b"torch" not in content
    again = getattr(pickle.loads(pickle.dumps(placed)), score)(new)
    np.testing.assert_array_equal(again, wanted)


def test_a_host_model_brought_to_numpy_is_a_copy(digits):
    X, partial, new = digits
    model = LaplacianSVC().fit(X, partial)
    copied = model.to_numpy()
    assert copied is not model
    np.testing.assert_array_equal(copied.decision_function(new), model.decision_function(new))


def test_regressor_follows_its_rows(digits):
    X, partial, new = (torch.as_tensor(part) for part in digits)
    y = torch.where(partial < 0, torch.nan, partial.double())
    found = LaplacianRLSRegressor().fit(X, y).predict(new)
    wanted = LaplacianRLSRegressor().fit(X.numpy(), y.numpy()).predict(new.numpy())
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-8, atol=1e-9)


def test_warm_start_keeps_the_space_of_one_device(digits):
    X, partial, new = digits
    model = LaplacianRLSClassifier(warm_start=True, device="cpu").fit(X, partial)
    kept = model._warm[1][3]
    other = partial.copy()
    other[0] = (other[0] + 1) % 4
    assert model.fit(X, other)._warm[1][3] is kept
    cold = LaplacianRLSClassifier().fit(X, other)
    assert relative_difference(cold.decision_function(new), model.decision_function(new)) < 1e-8
    assert model.set_params(device=None).fit(X, other)._warm[1][3] is not kept


@pytest.mark.parametrize("name", ["hinge", "simplex", "precomputed", "chi2", "callable", "cosine", "anchor"])
def test_other_choices_work_on_a_device(digits, name):
    X, partial, new = digits
    X, new = np.abs(X), np.abs(new)
    settings = {
        "hinge": {"loss": "hinge"},
        "simplex": {"simplex": True},
        "precomputed": {"kernel": "precomputed"},
        "chi2": {"kernel": "chi2"},
        "callable": {"kernel": lambda A, B: (1 + A @ B.T / 1000) ** 2},
        "cosine": {"kernel": "cosine", "graph_weights": "cosine"},
        "anchor": {"graph": "anchor"},
    }[name]
    if name == "precomputed":
        X, new = (pairwise_kernels(rows, X, metric="rbf", gamma=1e-3) for rows in (X, new))
    host, placed = fit_both(LaplacianSVC, {**settings, "random_state": 0}, X, partial)
    assert relative_difference(host.decision_function(new), placed.decision_function(new)) < 1e-8


def test_devices_that_are_not_there(digits, monkeypatch):
    X, partial, _ = digits
    for wrong in ("gpu", "cuda:99", "meta", 3.5):
        with pytest.raises(ValueError, match=r"device is .*use None or 'cpu'"):
            LaplacianRLSClassifier(device=wrong).fit(X, partial)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert resolve_device("cuda") == "cuda:1"
    assert resolve_device(torch.device("cuda", 0)) == "cuda:0"
    with pytest.raises(ValueError, match="'cuda:0' or 'cuda:1'"):
        resolve_device("cuda:2")


def test_sparse_rows_are_refused(digits):
    import scipy.sparse as sp

    X, partial, _ = digits
    with pytest.raises(ValueError, match=r"X\.toarray\(\)"):
        LaplacianRLSClassifier(device="cpu").fit(sp.csr_array(X), partial)


def test_without_torch_the_error_says_what_to_install(digits, monkeypatch):
    X, partial, _ = digits
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'weakly\[gpu\]'"):
        LaplacianSVC(device="cuda").fit(X, partial)
    LaplacianSVC().fit(X, partial)


def test_the_core_does_without_torch(tmp_path):
    script = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import numpy as np
from weakly import LaplacianRLSClassifier
X = np.random.default_rng(0).normal(size=(30, 2))
y = np.full(30, -1); y[:2] = [0, 1]
model = LaplacianRLSClassifier().fit(X, y)
model.to_numpy().predict(X)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


def test_rows_too_many_for_the_memory(monkeypatch):
    with pytest.raises(MemoryError, match="lower it, or raise the limit"):
        require_fit(2**50, "a matrix", "lower it", "cpu")
    assert free_bytes("cpu") is None
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5 * 2**30, 8 * 2**30))
    require_fit(4 * 2**30, "a matrix", "lower it", "cuda:0")
    with pytest.raises(MemoryError, match=r"a matrix needs 6 GB and cuda:0 has 5 GB left: lower it\."):
        require_fit(6 * 2**30, "a matrix", "lower it", "cuda:0")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_are_the_nearest(dtype, monkeypatch):
    monkeypatch.setattr("weakly.graphs._neighbors._DEVICE_ENTRIES", {"cpu": 500})  # several blocks
    X = np.random.default_rng(1).normal(size=(60, 5)).astype(dtype) + dtype(100)  # far from the origin
    X[7] = X[3]
    neighbors, distances = nearest_on_device(X, 4, "cpu")
    exact = pairwise_distances(X.astype(np.float64))
    np.fill_diagonal(exact, np.inf)
    np.testing.assert_array_equal(neighbors, exact.argsort(axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :4], atol=1e-4)
    assert distances[3, 0] == distances[7, 0] == 0


def test_neighbours_of_distant_clusters_in_single_precision():
    X = np.random.default_rng(1).normal(size=(80, 3)).astype(np.float32)
    X[40:] += np.float32(1e4)
    neighbors, _ = nearest_on_device(X, 4, "cpu")
    exact = pairwise_distances(X.astype(np.float64))
    np.fill_diagonal(exact, np.inf)
    np.testing.assert_array_equal(np.sort(neighbors), np.sort(exact.argsort(axis=1)[:, :4]))


def test_kernels_of_distant_clusters_in_single_precision():
    X = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)
    X[10:] += np.float32(1e4)
    kernel = resolve_kernel("rbf", X, gamma=0.5)
    exact = np.exp(-0.5 * pairwise_distances(X.astype(np.float64), metric="sqeuclidean"))
    np.testing.assert_allclose(kernel(torch.as_tensor(X)).numpy(), exact, atol=2e-3)  # of float32 at 1e4


def test_new_rows_may_be_sparse(digits):
    X, y, new = digits
    model = LaplacianRLSClassifier(device="cpu").fit(X, y)
    scores = model.decision_function(new)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(new)), scores, atol=1e-12)


def test_labels_agree_where_iterations_stop_early(digits):
    X, y = digits[0].astype(np.float32), digits[1]
    settings = {"approximation": "nystroem", "n_components": 60, "random_state": 0}
    host, placed = (LaplacianSVC(device=device, **settings).fit(X, y) for device in (None, "cpu"))
    assert host.result_.status == "stopped"
    assert np.mean(host.transduction_ == placed.transduction_) > 0.99


def test_tensors_that_numpy_cannot_hold():
    rows = torch.eye(4)
    assert to_host(rows.to(torch.bfloat16)).dtype == np.float32
    with pytest.raises(ValueError, match=r"pass it as .to_dense\(\)"):
        to_host(rows.to_sparse())


def test_unknown_devices_of_functions_are_named():
    for function in (neighbor_graph, anchor_graph):
        with pytest.raises(ValueError, match="device is 'gpu7'"):
            function(np.eye(9), device="gpu7")


@pytest.mark.parametrize("weights", ["self-tuning", "cosine", "rbf"])
def test_graphs_are_those_of_the_host(digits, weights):
    X = digits[0].copy()
    X[5] = 0  # a row without an angle
    host = neighbor_graph(X, n_neighbors=6, weights=weights)
    placed = neighbor_graph(X, n_neighbors=6, weights=weights, device="cpu")
    assert abs(host.affinity - placed.affinity).max() < 1e-12


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "cosine"])
def test_kernels_are_those_of_scikit_learn(digits, name):
    X, _, new = digits
    X, new = X + 100.0, new + 100.0
    settings = {"rbf": {"gamma": 1e-3}, "poly": {"gamma": 0.1, "degree": 2, "coef0": 1.0}}.get(name, {})
    kernel = Kernel(name, **settings)
    for rows, others in ((X, None), (new, X)):
        wanted = pairwise_kernels(rows, others, metric=name, **settings)
        found = kernel(torch.as_tensor(rows), None if others is None else torch.as_tensor(others)).numpy()
        assert relative_difference(wanted, found) < 1e-9


@pytest.fixture(scope="module")
def pairs(digits):
    """The three kinds of space, on the host and on the device."""
    X = digits[0]
    kernel = Kernel("rbf", gamma=1e-3)
    choices = (
        (KernelSpace, {"approximation": None}),
        (FeatureSpace, {"approximation": "nystroem", "n_components": 20, "random_state": 0}),
        (
            CorrectedSpace,
            {"approximation": "nystroem", "n_components": 20, "random_state": 0, "corrected": True},
        ),
    )
    return [
        (kind, build_space(X, kernel, **choice), build_space(X, kernel, device="cpu", **choice))
        for kind, choice in choices
    ]


def test_spaces_answer_in_the_kind_they_are_asked_in(digits, pairs):
    rng = np.random.default_rng(2)
    laplacian = neighbor_graph(digits[0]).laplacian()
    for kind, host, placed in pairs:
        assert isinstance(placed, kind)
        assert (host.xp.device, str(placed.xp.device)) == (None, "cpu")
        spaces = [deform(space, laplacian, ambient=0.1, graph=1.0) for space in (host, placed)]
        theta, values = rng.normal(size=(host.n_params, 2)), rng.normal(size=(host.n_rows, 2))
        questions = [
            lambda s, as_kind, t=theta: s.scores(as_kind(t)),
            lambda s, as_kind, t=theta: s.scores(as_kind(t), np.array([3, 5])),
            lambda s, as_kind, t=theta: s.induced(as_kind(t)),
            lambda s, as_kind, t=theta: s.inner(as_kind(t), as_kind(t[:, ::-1].copy())),
            lambda s, as_kind, v=values: s.base.adjoint(as_kind(v)),
        ]
        if kind is not CorrectedSpace:
            questions.append(lambda s, as_kind, v=values: s.adjoint(as_kind(v)))
        for ask in questions:
            wanted = ask(spaces[0], np.asarray)
            assert isinstance(ask(spaces[1], np.asarray), np.ndarray)
            assert isinstance(ask(spaces[1], torch.as_tensor), torch.Tensor)
            np.testing.assert_allclose(ask(spaces[1], np.asarray), wanted, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(ask(spaces[1], torch.as_tensor).numpy(), wanted, rtol=1e-8, atol=1e-8)


def test_restrictions_are_those_of_the_host(digits, pairs):
    laplacian = neighbor_graph(digits[0]).laplacian()
    for kind, host, placed in pairs:
        if kind is CorrectedSpace:
            continue
        spaces = [deform(space, laplacian, ambient=0.1, graph=1.0) for space in (host, placed)]
        for rows in (np.arange(5), np.arange(60)):  # fewer and more rows than features
            grams = []
            for space in spaces:
                small = restrict(space, rows).space
                grams.append(small.gram if hasattr(small, "gram") else small.features @ small.features.T)
            assert isinstance(grams[1], np.ndarray)
            assert relative_difference(*grams) < 1e-9
        if kind is FeatureSpace:
            features = [whiten(space).space.features for space in spaces]
            assert isinstance(features[1], torch.Tensor)
            assert relative_difference(features[0], features[1].numpy()) < 1e-9


def test_iterates_stay_on_the_device(digits, pairs):
    laplacian = neighbor_graph(digits[0]).laplacian()
    _, _, placed = pairs[0]
    seen = []
    result = solve_conjugate(
        deform(placed, laplacian, ambient=0.1, graph=1.0),
        np.array([0, 1]),
        np.array([[1.0], [-1.0]]),
        np.ones(2),
        loss="squared_hinge",
        callback=lambda scores: seen.append(type(scores)),
    )
    assert set(seen) == {torch.Tensor}
    assert isinstance(result.x, np.ndarray)
    assert result.converged


def test_a_large_gpu_holds_an_exact_kernel_beyond_the_limit(digits, monkeypatch):
    X, partial, new = digits
    settings = {"approximation": None, "ambient_penalty": 0.1, "early_stopping": False, "tol": 1e-10}
    direct = LaplacianRLSClassifier(**settings).fit(X, partial)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "500KB")  # the Gram matrix alone takes 450
    with pytest.raises(MemoryError, match="an exact kernel on 240 rows"):
        LaplacianRLSClassifier(device="cpu", **settings).fit(X, partial)
    for module in ("weakly.rows._device", "weakly.spaces._build"):
        monkeypatch.setattr(f"{module}.free_bytes", lambda device: 2**40)
    placed = LaplacianRLSClassifier(device="cpu", **settings).fit(X, partial)
    assert placed.n_iter_ > direct.n_iter_ == 1  # there is no room for a factorisation
    # Scores alone: probabilities need the held-out scores that only a factorisation has.
    assert relative_difference(direct.decision_function(new), placed.decision_function(new)) < 1e-8
