import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.convex import fit_margin
from tests.oracles.dense import kernel_root, ridge
from tests.solvers.problems import KINDS, make_manifold_problem
from weakly.solvers import solve_conjugate, solve_newton, solve_ridge
from weakly.spaces import FeatureSpace, KernelSpace, deform, restrict

LOSSES = ["squared", "squared_hinge"]


def solve(problem, **options):
    return solve_conjugate(problem.space, problem.rows, problem.y, problem.weights, **options)


def objectives(problem, theta, loss):
    """Objective of each column, from its definition."""
    space, _, _, rows, y, weights = problem
    is_kernel = isinstance(space.base, KernelSpace)
    A = space.base.gram if is_kernel else np.asarray(space.base.scores(np.eye(space.n_params)))
    f = A @ theta
    residual = np.maximum(1 - y * f[rows], 0) if loss == "squared_hinge" else y - f[rows]
    norm = (theta * (A @ theta if is_kernel else theta)).sum(axis=0)
    smoothness = (f * (space.laplacian.toarray() @ f)).sum(axis=0)
    return (weights @ residual**2 + space.ambient * norm + space.graph * smoothness) / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("graph", [0.0, 0.02])
def test_all_rows_give_the_solution_of_the_labelled_rows(kind, loss, graph):
    problem = make_manifold_problem(kind, graph=graph)
    result = solve(problem, loss=loss, tol=1e-10)
    small = restrict(problem.space, problem.rows)
    direct = solve_ridge if loss == "squared" else solve_newton
    expected = small.lift(direct(small.space, problem.y, problem.weights).x)
    assert result.status == "converged"
    np.testing.assert_allclose(
        problem.space.scores(result.x), problem.space.scores(expected), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_squared_loss_by_dense_algebra(kind):
    problem = make_manifold_problem(kind)
    u = ridge(problem.Z[problem.rows], problem.penalty, problem.y, problem.weights)
    result = solve(problem, tol=1e-10)
    np.testing.assert_allclose(problem.space.scores(result.x), problem.Z @ u, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_squared_hinge_by_a_convex_solver(kind):
    problem = make_manifold_problem(kind)
    labeled, penalty = problem.Z[problem.rows], problem.penalty
    oracle = [fit_margin(labeled, penalty, y, problem.weights, squared=True) for y in problem.y.T]
    result = solve(problem, loss="squared_hinge", tol=1e-9)
    np.testing.assert_allclose(result.objective[-1], sum(value for value, _, _ in oracle), rtol=1e-6)
    expected = np.column_stack([problem.Z @ u for _, u, _ in oracle])
    np.testing.assert_allclose(problem.space.scores(result.x), expected, atol=1e-4)
    assert {True, False} == set((problem.y * expected[problem.rows] > 1).ravel())  # rows on both sides


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("max_iter", [1, 3])
def test_criterion_is_the_gradient_in_function_space_by_finite_differences(kind, loss, max_iter):
    problem = make_manifold_problem(kind, n_rows=15, n_labeled=8, n_features=4)
    space, rows, y, weights = problem.space, problem.rows, problem.y, problem.weights
    result = solve(problem, loss=loss, tol=1e-12, max_iter=max_iter)
    step = 1e-6
    gradient = np.empty_like(result.x)
    for i in range(space.n_params):
        bump = np.zeros_like(result.x)
        bump[i] = step
        after, before = objectives(problem, result.x + bump, loss), objectives(problem, result.x - bump, loss)
        gradient[i] = (after - before) / (2 * step)
    pull = np.zeros((space.n_rows, y.shape[1]))
    pull[rows] = weights[:, None] * y
    if kind == "kernel":  # the gradient in coefficients is K times the one in function space
        gram = space.base.gram
        norms = [np.sqrt((g * np.linalg.solve(gram, g)).sum(axis=0)) for g in (gradient, gram @ pull)]
    else:
        norms = [np.linalg.norm(g, axis=0) for g in (gradient, space.base.adjoint(pull))]
    np.testing.assert_allclose(result.criterion[-1], np.max(norms[0] / norms[1]), rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_history_descends_and_ends_at_the_returned_point(kind, loss):
    problem = make_manifold_problem(kind)
    result = solve(problem, loss=loss)
    assert result.status == "converged"
    assert result.criterion[-1] <= 1e-6
    assert (np.diff(result.objective) < 0).all()
    assert 2 <= len(result.objective) == len(result.criterion) <= result.n_iter + 1
    np.testing.assert_allclose(result.objective[0], problem.y.shape[1] * problem.weights.sum() / 2)
    np.testing.assert_allclose(result.objective[-1], objectives(problem, result.x, loss).sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("max_iter", [1, 4])
def test_truncated_run_says_so(loss, max_iter):
    problem = make_manifold_problem("kernel")
    result = solve(problem, loss=loss, tol=1e-12, max_iter=max_iter)
    assert result.status == "max_iter"
    assert result.criterion[-1] > 1e-12
    np.testing.assert_allclose(result.objective[-1], objectives(problem, result.x, loss).sum())


class Watch:
    """Keep the scores seen; end the run at a given call."""

    def __init__(self, n_calls, interrupt):
        self.seen, self.n_calls, self.interrupt = [], n_calls, interrupt

    def __call__(self, scores):
        self.seen.append(scores.copy())
        if len(self.seen) < self.n_calls:
            return None
        if self.interrupt:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("interrupt", [False, True])
@pytest.mark.parametrize("n_calls", [1, 3])
def test_a_stopped_run_returns_the_point_it_was_at(kind, loss, interrupt, n_calls):
    problem = make_manifold_problem(kind)
    watch = Watch(n_calls, interrupt)
    result = solve(problem, loss=loss, tol=1e-12, callback=watch)
    assert result.status == ("interrupted" if interrupt else "stopped")
    assert len(watch.seen) == n_calls
    np.testing.assert_allclose(problem.space.scores(result.x), watch.seen[-1], atol=1e-10)
    np.testing.assert_allclose(result.objective[-1], objectives(problem, result.x, loss).sum())
    assert result.objective[-1] == result.objective.min() < result.objective[0]


def test_callback_sees_the_scores_of_all_rows_and_changes_nothing():
    problem = make_manifold_problem("kernel")
    watch = Watch(10**9, interrupt=False)
    watched, alone = solve(problem, callback=watch), solve(problem)
    np.testing.assert_array_equal(watched.x, alone.x)
    assert {scores.shape for scores in watch.seen} == {(problem.space.n_rows, problem.y.shape[1])}


class InterruptedSpace(KernelSpace):
    """A kernel during whose nth product the user presses Ctrl-C."""

    n_products = 0
    interrupt_at = None

    def scores(self, theta, rows=None):
        cls = type(self)
        cls.n_products += 1
        if cls.n_products == cls.interrupt_at:
            raise KeyboardInterrupt
        return super().scores(theta, rows)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_interrupt_at_any_product_returns_the_point_so_far(loss, monkeypatch):
    problem = make_manifold_problem("kernel")
    base = InterruptedSpace(problem.space.base.gram)
    space = deform(base, problem.space.laplacian, ambient=0.05, graph=0.02)

    def interrupted_at(product):
        monkeypatch.setattr(InterruptedSpace, "n_products", 0)
        monkeypatch.setattr(InterruptedSpace, "interrupt_at", product)
        return solve(problem._replace(space=space), loss=loss)

    assert interrupted_at(None).converged
    escaped = []
    # Three products come before the first step, when there is nothing to return.
    for product in range(4, InterruptedSpace.n_products + 1):
        try:
            result = interrupted_at(product)
        except KeyboardInterrupt:
            escaped.append(product)
            continue
        assert result.status in ("interrupted", "converged")
        np.testing.assert_allclose(result.objective[-1], objectives(problem, result.x, loss).sum())
        assert result.objective[-1] == result.objective.min()
    assert escaped == []


# Problems with a known relation


def test_a_duplicated_row_is_a_row_of_weight_two():
    problem = make_manifold_problem("features", graph=0.0)
    twice = np.append(np.arange(12), 5)
    weights = np.ones(12)
    weights[5] = 2
    Z = np.vstack([problem.Z, problem.Z[problem.rows[5]]])
    space = deform(FeatureSpace(Z), sp.csr_array((41, 41)), ambient=0.05, graph=0.0)
    for loss in LOSSES:
        weighted = solve(problem._replace(weights=weights), loss=loss, tol=1e-10)
        duplicated = solve_conjugate(
            space, np.append(problem.rows, 40), problem.y[twice], np.ones(13), loss=loss, tol=1e-10
        )
        np.testing.assert_allclose(weighted.x, duplicated.x, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_permuted_rows_give_permuted_scores(loss):
    problem = make_manifold_problem("kernel")
    space, order = problem.space, np.random.default_rng(1).permutation(40)
    base = KernelSpace(space.base.gram[np.ix_(order, order)])
    laplacian = sp.csr_array(space.laplacian.toarray()[np.ix_(order, order)])
    permuted = problem._replace(
        space=deform(base, laplacian, ambient=0.05, graph=0.02), rows=np.argsort(order)[problem.rows]
    )
    ours, theirs = solve(problem, loss=loss, tol=1e-10), solve(permuted, loss=loss, tol=1e-10)
    np.testing.assert_allclose(space.scores(ours.x)[order], permuted.space.scores(theirs.x), atol=1e-7)


def test_scaled_targets_give_scaled_scores():
    problem = make_manifold_problem("kernel")
    ours, scaled = solve(problem, tol=1e-10), solve(problem._replace(y=1000 * problem.y), tol=1e-10)
    np.testing.assert_allclose(
        1000 * problem.space.scores(ours.x), problem.space.scores(scaled.x), atol=1e-4, rtol=1e-6
    )


def test_each_column_is_solved_as_if_alone():
    problem = make_manifold_problem("kernel")
    together = problem.space.scores(solve(problem, loss="squared_hinge", tol=1e-10).x)
    for column in range(3):
        alone = solve(problem._replace(y=problem.y[:, [column]]), loss="squared_hinge", tol=1e-10)
        np.testing.assert_allclose(together[:, [column]], problem.space.scores(alone.x), atol=1e-7)


def test_a_kernel_and_its_features_have_one_solution():
    problem = make_manifold_problem("kernel")
    space = problem.space
    features = deform(
        FeatureSpace(kernel_root(space.base.gram)), space.laplacian, ambient=space.ambient, graph=space.graph
    )
    ours, theirs = solve(problem, tol=1e-10), solve(problem._replace(space=features), tol=1e-10)
    np.testing.assert_allclose(space.scores(ours.x), features.scores(theirs.x), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_targets_without_weight_need_no_iteration(loss):
    problem = make_manifold_problem("features")
    result = solve(problem._replace(weights=np.zeros(12)), loss=loss)
    assert (result.status, result.n_iter) == ("converged", 0)
    assert not result.x.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_float32_stays_float32(kind, loss):
    problem = make_manifold_problem(kind)
    base = problem.space.base
    matrix = base.gram if kind == "kernel" else base.features
    laplacian = problem.space.laplacian.astype(np.float32)
    space = deform(type(base)(matrix.astype(np.float32)), laplacian, ambient=0.05, graph=0.02)
    single = problem._replace(
        space=space, y=problem.y.astype(np.float32), weights=problem.weights.astype(np.float32)
    )
    result = solve(single, loss=loss, tol=1e-4)
    assert result.x.dtype == np.float32
    expected = problem.space.scores(solve(problem, loss=loss).x)
    np.testing.assert_allclose(space.scores(result.x), expected, atol=5e-2)
