"""Total variation with a loss against cvxpy, where the problem is convex."""

import numpy as np
import pytest

from tests.oracles.brute_graph import roughness
from tests.oracles.dense import kernel_root
from tests.oracles.variation import fit_variation
from weakly.graphs import neighbor_graph
from weakly.kernels import Kernel
from weakly.manifold._total_variation_solver import solve_total_variation
from weakly.spaces import CorrectedSpace, KernelSpace, build_smoother

AMBIENT, COUPLING = 0.05, 0.1


class Cut:
    """Random rows, their graph and a few labels; ``n_columns`` classes, or two in a single column."""

    def __init__(self, seed=0, n_columns=1, *, n_rows=20, kind="kernel", n_labeled=6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 2))
        if kind == "kernel":
            self.gram = Kernel("rbf", gamma=0.5)(X)
            self.space = KernelSpace(self.gram)
        else:
            self.gram = X @ X.T + 0.5 * np.eye(n_rows)
            self.space = CorrectedSpace(X, 0.5)
        self.graph = neighbor_graph(X, n_neighbors=4)
        self.rows = rng.permutation(n_rows)[:n_labeled]
        codes = np.arange(n_labeled) % max(n_columns, 2)
        columns = np.arange(n_columns) if n_columns > 1 else [1]
        self.targets = np.where(codes[:, None] == columns, 1.0, -1.0)
        self.weights = rng.uniform(0.5, 2, n_labeled)
        self.start = rng.normal(size=(n_rows, n_columns))

    def solve(self, *, coupling=COUPLING, **options):
        smoother = build_smoother(self.space, AMBIENT / coupling)
        problem = (self.graph, self.rows, self.targets, self.weights, self.start)
        return solve_total_variation(smoother, *problem, ambient=AMBIENT, coupling=coupling, **options)

    def oracle(self, loss, graph_weight):
        problem = (kernel_root(self.gram), self.graph, self.rows, self.targets, self.weights)
        return fit_variation(*problem, loss=loss, ambient=AMBIENT, graph_weight=graph_weight)


def assert_optimal(cut, result, loss, graph_weight):
    oracle = cut.oracle(loss, graph_weight)
    assert result.converged
    assert result.objective[-1] == pytest.approx(oracle.value, rel=1e-5)
    np.testing.assert_allclose(cut.gram @ result.x, oracle.scores, atol=2e-3)
    np.testing.assert_allclose(result.detail.graph_side, oracle.scores, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_convex_problem_matches_cvxpy(loss, n_columns, seed):
    cut = Cut(seed, n_columns)
    result = cut.solve(loss=loss, graph_weight=0.04, tol=1e-7, max_iter=5000)
    assert_optimal(cut, result, loss, 0.04)
    assert result.criterion[-1] <= 1e-7


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize(
    ("kind", "coupling", "graph_weight"), [("corrected", 0.1, 0.04), ("kernel", 1.0, 0.2)]
)
def test_other_spaces_and_weights(loss, kind, coupling, graph_weight):
    cut = Cut(3, kind=kind)
    result = cut.solve(loss=loss, graph_weight=graph_weight, coupling=coupling, tol=1e-7, max_iter=20_000)
    assert_optimal(cut, result, loss, graph_weight)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_objective_is_that_of_the_two_sides(loss):
    cut = Cut(1, 3)
    result = cut.solve(loss=loss, max_iter=7, tol=0.0)
    assert (result.status, result.n_iter) == ("max_iter", 7)
    f, W = cut.gram @ result.x, cut.graph.affinity.toarray()
    margins = f[cut.rows] + result.intercept
    losses = (
        (cut.targets - margins) ** 2 / 2 if loss == "squared" else np.maximum(1 - cut.targets * margins, 0)
    )
    variation = sum(roughness(W, q, 1) for q in result.detail.graph_side.T)
    expected = (cut.weights @ losses).sum() + AMBIENT / 2 * np.vdot(result.x, f) + 0.04 * variation
    assert result.objective[-1] == pytest.approx(expected, rel=1e-4)
    shorter = cut.solve(loss=loss, max_iter=6, tol=0.0)
    after, before = result.detail.graph_side, shorter.detail.graph_side
    change = np.linalg.norm(after - before) / np.linalg.norm(before)
    assert result.criterion[-1] == pytest.approx(change)
    np.testing.assert_allclose(shorter.objective, result.objective[:7])
    assert len(result.objective) == len(result.criterion) == 8


def test_normalised_values_settle_on_a_cut():
    def normalize(values):
        return (values - values.mean(axis=0)) / values.std(axis=0)

    truth, rng = np.repeat([-1.0, 1.0], 15), np.random.default_rng(0)
    X = 4 * truth[:, None] + rng.normal(size=(30, 2))
    graph, rows = neighbor_graph(X, n_neighbors=8), np.array([0, 29])
    smoother = build_smoother(KernelSpace(Kernel("rbf", gamma=0.2)(X)), 0.1)
    result = solve_total_variation(
        smoother, graph, rows, truth[rows, None], np.ones(2), X[:, :1], normalize=normalize, tol=0.0
    )
    np.testing.assert_array_equal(np.sign(result.detail.graph_side[:, 0]), truth)
    np.testing.assert_allclose(result.detail.graph_side.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(result.detail.graph_side.std(), 1)
    assert (result.status, result.n_iter) == ("converged", 20)  # no row ever changed its class
    assert result.criterion[-1] == 0 < result.criterion[-2]


def test_the_callback_stops():
    calls = []
    result = Cut(0).solve(callback=lambda: calls.append(1) or len(calls) == 4, tol=0.0)
    assert (result.status, result.n_iter, len(calls), len(result.objective)) == ("stopped", 4, 4, 5)


def test_an_interrupt_returns_the_last_state():
    calls = []

    def interrupt():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    cut = Cut(0)
    result = cut.solve(callback=interrupt, tol=0.0)
    assert (result.status, result.n_iter, len(result.objective)) == ("interrupted", 3, 4)
    np.testing.assert_array_equal(result.detail.graph_side, cut.solve(max_iter=3, tol=0.0).detail.graph_side)


def test_an_interrupt_in_the_first_step_returns_the_start(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("weakly.manifold._total_variation_solver.prox_total_variation", interrupt)
    cut = Cut(0)
    result = cut.solve()
    assert (result.status, result.n_iter, len(result.objective)) == ("interrupted", 0, 1)
    np.testing.assert_array_equal(result.detail.graph_side, cut.start)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_any_number_of_threads_gives_the_same(loss, monkeypatch):
    cut, results = Cut(2, 3), []
    for n_threads in (1, 3):
        monkeypatch.setattr("weakly._threads._most_threads", lambda n_threads=n_threads: n_threads)
        results.append(cut.solve(loss=loss, max_iter=30))
    np.testing.assert_array_equal(results[0].x, results[1].x)
    np.testing.assert_array_equal(results[0].detail.graph_side, results[1].detail.graph_side)
    np.testing.assert_array_equal(results[0].objective, results[1].objective)


def test_inputs_are_untouched():
    cut = Cut(0)
    arrays = (cut.gram, cut.rows, cut.targets, cut.weights, cut.start)
    copies = [array.copy() for array in arrays]
    cut.solve(max_iter=5)
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))
