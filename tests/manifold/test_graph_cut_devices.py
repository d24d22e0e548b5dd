"""Graph cuts and the walk of labels on a device, here the CPU, against NumPy, cvxpy and dense algebra."""

import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs

from weakly import (
    CheegerRLSClassifier,
    CheegerSVC,
    ProbabilisticLabelSVC,
    TotalVariationRLSClassifier,
    TotalVariationSVC,
)
from weakly.graphs import affinity_graph, neighbor_graph
from weakly.kernels import Kernel
from weakly.manifold._cheeger_solver import solve_cheeger
from weakly.manifold._total_variation_solver import solve_total_variation
from weakly.model_selection import LabelDraws
from weakly.solvers import Edges, project_simplex, prox_total_variation, solve_label_walk, solve_poisson
from weakly.spaces import CorrectedSpace, KernelSpace, build_smoother

CUTS = [TotalVariationRLSClassifier(), TotalVariationSVC(), CheegerRLSClassifier(), CheegerSVC()]
all_cuts = pytest.mark.parametrize("estimator", CUTS, ids=lambda e: type(e).__name__)
pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")


@pytest.fixture(scope="module")
def problem():
    """A graph of 300 rows, and values whose last column is constant."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3))
    values[:, 2] = 0.5
    return neighbor_graph(rng.normal(size=(300, 3)), n_neighbors=4), values


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, n_features=5, centers=3, cluster_std=2.0, random_state=1)
    return X, next(LabelDraws(n_per_class=2, random_state=0).split(X, y)).mask(y)


def incidence_of(graph):
    """``B`` as a dense matrix, and the weights."""
    heads, tails, weights = graph.edges
    B = np.zeros((len(heads), graph.n_rows))
    B[np.arange(len(B)), heads], B[np.arange(len(B)), tails] = 1, -1
    return B, weights


@pytest.mark.parametrize(("tol", "max_iter"), [(1e-4, 1000), (1e-8, 20_000), (0.0, 37)])
@pytest.mark.parametrize("weight", [0.05, 2.0])
def test_prox_takes_the_steps_of_numpy(problem, weight, tol, max_iter):
    graph, values = problem
    settings = {"weight": weight, "tol": tol, "max_iter": max_iter}
    edges = Edges.of(graph)
    expected = prox_total_variation(edges, values, **settings)
    found = prox_total_variation(edges.to("cpu"), torch.from_numpy(values), **settings)
    assert (found.n_iter, found.status) == (expected.n_iter, expected.status)
    np.testing.assert_allclose(found.x.numpy(), expected.x, atol=1e-10)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-10)
    np.testing.assert_allclose(found.criterion, expected.criterion, rtol=1e-4, atol=1e-12)
    # The dual of one is a start for the other.
    again = prox_total_variation(edges, values, **settings, dual=found.detail.dual.numpy())
    warm = prox_total_variation(edges.to("cpu"), torch.from_numpy(values), **settings, dual=found.detail.dual)
    np.testing.assert_allclose(warm.x.numpy(), again.x, atol=1e-10)
    assert warm.n_iter == (0 if tol else max_iter)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gap_of_the_prox_is_that_of_its_dual(problem, dtype):
    graph, values = problem
    v = torch.tensor(values, dtype=dtype)
    result = prox_total_variation(Edges.of(graph).to("cpu"), v, weight=0.3, tol=1e-3)
    assert result.x.dtype == dtype
    B, weights = incidence_of(graph)
    p, v = result.detail.dual.numpy().T, v.numpy().astype(float)
    assert (np.abs(p) <= 0.3 * weights[:, None] + 1e-12).all()
    g = v - B.T @ p
    np.testing.assert_allclose(result.x.numpy(), g, atol=1e-6 if dtype == torch.float32 else 1e-12)
    objectives = 0.3 * weights @ np.abs(B @ g) + ((g - v) ** 2).sum(axis=0) / 2
    dual_objectives = (v**2 - g**2).sum(axis=0) / 2
    gap = np.max((objectives - dual_objectives) / np.maximum(objectives, 1e-300))
    assert 0 < gap <= 1e-3
    assert result.criterion[-1] == pytest.approx(gap, rel=1e-5)


def test_prox_matches_cvxpy():
    rng = np.random.default_rng(2)
    weights = np.triu(rng.uniform(0.1, 2, (12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    graph, v = affinity_graph(weights + weights.T), rng.normal(size=(12, 2))
    g = cp.Variable((12, 2))
    variation = cp.sum(cp.abs(graph.incidence() @ g))
    cp.Problem(cp.Minimize(0.5 * variation + cp.sum_squares(g - v) / 2)).solve(solver=cp.CLARABEL)
    edges = Edges.of(graph).to("cpu")
    found = prox_total_variation(edges, torch.from_numpy(v), weight=0.5, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(found.x.numpy(), g.value, atol=1e-4)


def test_prox_without_edges_and_with_a_wrong_dual():
    edges = Edges.of(affinity_graph(np.zeros((3, 3)))).to("cpu")
    values = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(prox_total_variation(edges, values).x, values)
    with pytest.raises(ValueError, match=r"dual has shape \(1, 0\): it must be \(2, 0\)"):
        prox_total_variation(edges, values, dual=torch.zeros(1, 0))
    with pytest.raises(ValueError, match="weight is 0"):
        prox_total_variation(edges, values, weight=0)


def test_rows_on_the_simplex_are_those_of_numpy():
    values = np.random.default_rng(0).normal(size=(50, 4))
    found = project_simplex(torch.from_numpy(values)).numpy()
    np.testing.assert_allclose(found, project_simplex(values), atol=1e-14)
    assert found.min() == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def make_space(rng, kind, convert):
    Z = rng.normal(size=(40, 3))
    if kind == "kernel":
        gram = Kernel("rbf", gamma=0.3)(Z)
        return KernelSpace(convert(gram)), gram
    return CorrectedSpace(convert(Z), 0.4), Z @ Z.T + 0.4 * np.eye(40)


@pytest.mark.parametrize("kind", ["kernel", "features"])
def test_smoother_is_its_closed_form(kind):
    rng = np.random.default_rng(3)
    space, K = make_space(rng, kind, torch.from_numpy)
    smooth = build_smoother(space, 0.2)
    G = K @ np.linalg.inv(K + 0.2 * np.eye(40))
    values, rows = rng.normal(size=(40, 2)), np.array([3, 11, 30])
    tensor = torch.from_numpy(values.copy())
    np.testing.assert_allclose(smooth(tensor).numpy(), G @ values, atol=1e-5)
    near, pull = [], rng.normal(size=(3, 2))
    moved, scores = smooth.adapt(tensor, rows, lambda scores: near.append(scores) or pull)
    np.testing.assert_allclose(near[0], (G @ values)[rows], atol=1e-5)
    np.testing.assert_array_equal(tensor.numpy(), values)
    values[rows] += pull
    np.testing.assert_allclose(moved.numpy(), values, atol=1e-14)
    np.testing.assert_allclose(scores.numpy(), G @ values, atol=1e-5)
    np.testing.assert_allclose(smooth.block(rows), G[np.ix_(rows, rows)], atol=1e-5)
    theta = np.linalg.solve(K + 0.2 * np.eye(40), values)
    np.testing.assert_allclose(smooth.parameters(moved, scores).numpy(), theta, atol=1e-4)
    if kind == "kernel":
        assert smooth.mean_leverage == pytest.approx(np.trace(G) / 40, rel=1e-5)
        with pytest.raises(ValueError, match="not positive semi-definite"):
            build_smoother(KernelSpace(torch.tensor([[1.0, 9.0], [9.0, 1.0]])), 0.1)


@pytest.mark.parametrize("kind", ["kernel", "features"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_iterations_are_those_of_numpy(kind, n_columns):
    """Without normalisation the problem of total variation is convex; Cheeger's is followed a few steps."""
    rng = np.random.default_rng(4)
    graph = neighbor_graph(rng.normal(size=(40, 2)), n_neighbors=3)
    rows = np.arange(6)
    targets = np.where(rng.random((6, n_columns)) < 0.5, -1.0, 1.0)
    targets[0], targets[1] = 1, -1
    start, results = rng.uniform(-1, 1, (40, n_columns)), {}
    for name, convert in (("numpy", np.asarray), ("device", torch.from_numpy)):
        smoother = build_smoother(make_space(np.random.default_rng(5), kind, convert)[0], 0.1)
        problem = (smoother, graph, rows, targets, np.ones(6), start)
        variation = [
            solve_total_variation(*problem, loss=loss, tol=1e-6, max_iter=200)
            for loss in ("squared", "hinge")
        ]
        ratio = solve_cheeger(*problem, loss="hinge", step=0.1, shares=np.full(n_columns, 0.5), max_iter=10)
        results[name] = [*variation, ratio]
    for expected, found in zip(results["numpy"], results["device"], strict=True):
        assert isinstance(found.x, np.ndarray)
        # Products with an exact kernel are in float32 on either side.
        atol = 1e-6 if kind == "features" else 1e-4
        np.testing.assert_allclose(found.detail.graph_side, expected.detail.graph_side, atol=atol)
        np.testing.assert_allclose(found.x, expected.x, atol=100 * atol)
        np.testing.assert_allclose(found.objective[-1], expected.objective[-1], rtol=1e-4)


@all_cuts
@pytest.mark.parametrize("approximation", [None, "nystroem"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cuts_are_those_of_numpy(estimator, approximation, dtype, blobs):
    X, partial = blobs
    X = X.astype(dtype)
    settings = {
        "approximation": approximation, "n_components": 60, "random_state": 0,
        "graph": neighbor_graph(X, n_neighbors=5),
    }  # fmt: skip
    expected = clone(estimator).set_params(**settings).fit(X, partial)
    found = clone(estimator).set_params(**settings, device="cpu").fit(X, partial)
    # Products with an exact kernel are in float32 on either side, and the hinge is solved to 1e-4 in a step.
    is_double = approximation == "nystroem" and dtype == np.float64
    atol = (1e-4 if "SVC" in type(estimator).__name__ else 1e-6) if is_double else 1e-3
    np.testing.assert_allclose(found.result_.detail.graph_side, expected.result_.detail.graph_side, atol=atol)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=atol)
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)
    assert found.n_iter_ == expected.n_iter_


@all_cuts
def test_tensors_in_give_tensors_out(estimator, blobs):
    X, partial = blobs
    params = {"random_state": 0, "max_iter": 30}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*ended at criterion")
        expected = clone(estimator).set_params(**params).fit(X, partial)
        model = clone(estimator).set_params(**params).fit(torch.from_numpy(X), torch.from_numpy(partial))
    scores = model.decision_function(torch.from_numpy(X))
    assert isinstance(scores, torch.Tensor)
    np.testing.assert_allclose(scores.numpy(), expected.decision_function(X), atol=1e-3)
    assert isinstance(model.predict(torch.from_numpy(X)), torch.Tensor)
    assert isinstance(model.transduction_, np.ndarray)
    host = model.to_numpy()
    assert host.device is None
    assert b"torch" not in pickle.dumps(host)
    np.testing.assert_allclose(host.decision_function(X), scores.numpy(), atol=1e-8)


def test_the_same_result_in_every_run(blobs):
    X, partial = blobs[0].copy(), blobs[1]
    model = TotalVariationRLSClassifier(random_state=0, device="cpu", approximation="nystroem")
    X.flags.writeable = False  # which PyTorch would warn of
    sides = [clone(model).fit(X, partial).result_.detail.graph_side for _ in range(2)]
    np.testing.assert_array_equal(*sides)


def test_two_classes_are_those_of_numpy():
    X, y = load_digits(n_class=2, return_X_y=True)
    partial = next(LabelDraws(n_per_class=2, random_state=0).split(X, y)).mask(y)
    graph = neighbor_graph(X, n_neighbors=5)
    for estimator in CUTS:
        model = clone(estimator).set_params(graph=graph, random_state=0)
        expected, found = (clone(model).set_params(device=d).fit(X, partial) for d in (None, "cpu"))
        np.testing.assert_allclose(
            found.result_.detail.graph_side, expected.result_.detail.graph_side, atol=1e-3
        )
        np.testing.assert_array_equal(found.transduction_, expected.transduction_)


def test_poisson_solution_is_that_of_the_pseudo_inverse():
    rng = np.random.default_rng(6)
    graph = neighbor_graph(rng.normal(size=(60, 2)), n_neighbors=6)
    assert graph.components.max() == 0
    rows, targets = np.array([0, 7, 9]), np.array([[1.0], [-1.0], [-1.0]])
    sources = np.zeros((60, 1))
    sources[rows] = targets - targets.mean()
    u = np.linalg.pinv(graph.laplacian("unnormalized").toarray()) @ sources
    expected = u / u.std() * targets.std()
    found = solve_poisson(graph, rows, targets, tol=1e-10, device="cpu").x
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("alpha_labeled", [0.0, 0.5])
def test_walk_is_that_of_dense_algebra(alpha_labeled):
    rng = np.random.default_rng(7)
    affinity = neighbor_graph(rng.normal(size=(80, 2)), n_neighbors=3).affinity.toarray()
    affinity[5], affinity[:, 5] = 0, 0  # a row without edges
    codes = np.where(rng.random(80) < 0.2, rng.integers(3, size=80), -1)
    degrees = np.where(affinity.sum(axis=1) > 0, affinity.sum(axis=1), 1)
    scaled = affinity / np.sqrt(np.outer(degrees, degrees))
    sums = scaled.sum(axis=1, keepdims=True)
    P = scaled / np.where(sums > 0, sums, 1)
    alpha = np.where(codes >= 0, alpha_labeled, 0.99) * (sums[:, 0] > 0)
    Y = np.eye(4)[np.where(codes >= 0, codes, 3)]
    expected = np.linalg.solve(np.eye(80) - alpha[:, None] * P, (1 - alpha)[:, None] * Y)
    settings = {"alpha_labeled": alpha_labeled, "alpha_unlabeled": 0.99, "method": "iterative", "tol": 1e-12}
    found = solve_label_walk(affinity_graph(affinity), codes, 3, **settings, device="cpu")
    assert found.converged
    np.testing.assert_allclose(found.x, expected, atol=1e-9)


def test_machine_on_probable_labels_is_that_of_numpy():
    X, y = make_blobs(2100, n_features=4, centers=3, cluster_std=1.5, random_state=2)  # too many to factor
    partial = next(LabelDraws(n_per_class=3, random_state=0).split(X, y)).mask(y)
    names = np.array(["a", "b", "c", None], dtype=object)
    model = ProbabilisticLabelSVC(approximation="nystroem", n_components=30, random_state=0)
    expected = model.fit(X, partial)
    found = clone(model).fit(torch.from_numpy(X), torch.from_numpy(partial))
    np.testing.assert_allclose(found.novelty_, expected.novelty_, atol=1e-7)
    np.testing.assert_allclose(found.label_distributions_, expected.label_distributions_, atol=1e-7)
    scores = found.decision_function(torch.from_numpy(X[:50]))
    np.testing.assert_allclose(scores.numpy(), expected.decision_function(X[:50]), atol=1e-5)
    assert isinstance(found.predict(torch.from_numpy(X[:50])), torch.Tensor)
    np.testing.assert_array_equal(found.to_numpy().predict(X), expected.predict(X))
    named = clone(model).set_params(device="cpu").fit(X, names[partial])
    np.testing.assert_array_equal(named.predict(torch.from_numpy(X)), names[expected.predict(X)])
