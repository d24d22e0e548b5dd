import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import LinearSVC

from tests.oracles.convex import fit_margin
from tests.oracles.dense import ridge
from tests.solvers.problems import KINDS, make_problem, score_left_out, without
from weakly.graphs import anchor_graph, neighbor_graph
from weakly.solvers import SolverResult, solve_newton, solve_restricted, solve_ridge
from weakly.spaces import FeatureSpace, KernelSpace, deform

SOLVERS = {"ridge": solve_ridge, "newton": solve_newton}


def objective_at(problem, result, squared_hinge):
    """Objective at the returned point, summed over columns, from its definition."""
    space, _, y, weights = problem
    scores = space.scores(result.x)
    residual = np.maximum(1 - y * scores, 0) if squared_hinge else y - scores
    norm = space.gram @ result.x if isinstance(space, KernelSpace) else result.x
    return (weights @ residual**2).sum() / 2 + (result.x * norm).sum() / 2


# Ridge


@pytest.mark.parametrize("kind", KINDS)
def test_ridge_solves_the_normal_equations(kind):
    problem = make_problem(kind)
    space, Z, y, weights = problem
    result = solve_ridge(space, y, weights)
    expected = Z @ ridge(Z, np.eye(Z.shape[1]), y, weights)
    np.testing.assert_allclose(space.scores(result.x), expected, atol=1e-10)
    np.testing.assert_allclose(result.objective[-1], objective_at(problem, result, False))
    np.testing.assert_allclose(result.objective[0], (weights @ y**2).sum() / 2)
    assert result.objective[-1] < result.objective[0]
    assert result.criterion[-1] < 1e-10
    assert result.converged
    assert len(result.objective) == len(result.criterion) == result.n_iter + 1


@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_ridge_is_kernel_ridge(penalty):
    space, _, y, weights = make_problem("kernel")
    result = solve_ridge(space, y, weights / penalty)
    theirs = KernelRidge(alpha=penalty, kernel="precomputed").fit(space.gram, y, sample_weight=weights)
    np.testing.assert_allclose(space.scores(result.x), theirs.predict(space.gram), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_ridge_leave_one_out_is_refitting_without_each_row(kind):
    problem = make_problem(kind)
    held_out = solve_ridge(problem.space, problem.y, problem.weights).detail.held_out
    for row in range(len(problem.y)):
        rest = without(problem, row)
        theta = solve_ridge(rest.space, rest.y, rest.weights).x
        np.testing.assert_allclose(held_out[row], score_left_out(problem, theta, row).ravel(), atol=1e-10)


# Newton


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.1, 1.0, 100.0])
def test_newton_has_the_objective_and_scores_of_a_convex_solver(kind, size):
    problem = make_problem(kind, size=size)
    space, Z, y, weights = problem
    result = solve_newton(space, y, weights)
    oracle = [fit_margin(Z, np.eye(Z.shape[1]), column, weights, squared=True) for column in y.T]
    np.testing.assert_allclose(result.objective[-1], sum(value for value, _, _ in oracle), rtol=1e-6)
    expected = np.column_stack([Z @ u for _, u, _ in oracle])
    np.testing.assert_allclose(space.scores(result.x), expected, atol=1e-4)
    np.testing.assert_allclose(result.objective[-1], objective_at(problem, result, True))


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_newton_is_the_l2_svm(C):
    space, Z, y, weights = make_problem("features", n_columns=1)
    result = solve_newton(space, y, 2 * C * weights, tol=1e-10)  # theirs has no 1/2 on the loss
    theirs = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, C=C, tol=1e-10)
    theirs.fit(Z, y[:, 0], sample_weight=weights)
    np.testing.assert_allclose(result.x.T, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.1, 100.0])
def test_newton_descends_to_its_tolerance(kind, size):
    space, _, y, weights = make_problem(kind, size=size)
    result = solve_newton(space, y, weights, tol=1e-8)
    assert result.status == "converged"
    assert result.criterion[-1] <= 1e-8
    assert (np.diff(result.objective) <= 0).all()
    np.testing.assert_allclose(result.objective[0], y.shape[1] * weights.sum() / 2)
    assert len(result.objective) == len(result.criterion) == result.n_iter + 1


@pytest.mark.parametrize("max_iter", [1, 2])
def test_truncated_newton_says_so_at_the_point_it_returns(max_iter):
    problem = make_problem("kernel", size=100.0)
    result = solve_newton(problem.space, problem.y, problem.weights, max_iter=max_iter)
    assert result.status == "max_iter"
    assert not result.converged
    assert result.n_iter == max_iter
    assert result.criterion[-1] > 1e-6
    np.testing.assert_allclose(result.objective[-1], objective_at(problem, result, True))


def refitted_newton(problem, row):
    """Score of a left-out row, and which rows the machine without it has inside the margin."""
    rest = without(problem, row)
    theta = solve_newton(rest.space, rest.y, rest.weights, tol=1e-12).x
    active = rest.y[:, 0] * rest.space.scores(theta)[:, 0] < 1
    return score_left_out(problem, theta, row).item(), np.insert(active, row, False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_newton_leave_one_out_is_exact_where_no_row_crosses_the_margin(kind, size):
    problem = make_problem(kind, n_columns=1, size=size)
    result = solve_newton(problem.space, problem.y, problem.weights, tol=1e-12)
    active = problem.y[:, 0] * problem.space.scores(result.x)[:, 0] < 1
    n_exact = 0
    for row in range(len(active)):
        score, active_without = refitted_newton(problem, row)
        if (np.delete(active, row) == np.delete(active_without, row)).all():
            n_exact += 1
            np.testing.assert_allclose(result.detail.held_out[row, 0], score, atol=1e-9)
    assert n_exact >= len(active) // 2
    assert active.all() == (size < 1 and kind == "kernel")  # rows beyond the margin are covered too


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_zero_is_absent(solver, kind):
    problem = make_problem(kind)
    problem.weights[7] = 0
    rest = without(problem, 7)
    result = SOLVERS[solver](*problem[::2], problem.weights)
    smaller = SOLVERS[solver](*rest[::2], rest.weights)
    left_out = score_left_out(problem, smaller.x, 7).ravel()
    np.testing.assert_allclose(problem.space.scores(result.x)[7], left_out, atol=1e-9)
    np.testing.assert_allclose(result.detail.held_out[7], left_out, atol=1e-9)
    np.testing.assert_allclose(
        np.delete(result.detail.held_out, 7, axis=0), smaller.detail.held_out, atol=1e-9
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_without_any_weight_nothing_is_learned(solver, kind, capfd):
    problem = make_problem(kind)
    result = SOLVERS[solver](problem.space, problem.y, np.zeros(len(problem.y)))
    assert result.converged
    assert not result.x.any()
    assert not result.detail.held_out.any()
    assert capfd.readouterr() == ("", "")  # LAPACK complains there of empty matrices


def test_contrary_labels_on_equal_rows_cancel():
    # The kernel is large, as a deformed one is, and the objective flat but for its rounding.
    y = np.array([[-1.0], [-1.0], [1.0], [-1.0], [1.0], [1.0]])
    result = solve_newton(KernelSpace(np.full((6, 6), 1000 / 3)), y, np.ones(6))
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, y, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_duplicated_row_is_a_row_of_weight_two(solver):
    _, Z, y, _ = make_problem("features")
    twice = np.append(np.arange(len(y)), 5)
    weights = np.ones(len(y))
    weights[5] = 2
    weighted = SOLVERS[solver](FeatureSpace(Z), y, weights)
    duplicated = SOLVERS[solver](FeatureSpace(Z[twice]), y[twice], np.ones(len(twice)))
    np.testing.assert_allclose(weighted.x, duplicated.x, atol=1e-9)
    np.testing.assert_allclose(weighted.objective[-1], duplicated.objective[-1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_untouched(solver, kind):
    space, _, y, weights = make_problem(kind)
    matrix = space.gram if kind == "kernel" else space.features
    before = matrix.copy(), y.copy(), weights.copy()
    SOLVERS[solver](space, y, weights)
    assert abs(before[0] - matrix).max() == 0
    np.testing.assert_array_equal(before[1], y)
    np.testing.assert_array_equal(before[2], weights)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays_float32(solver):
    space, _, y, weights = make_problem("kernel")
    double = SOLVERS[solver](space, y, weights)
    single = SOLVERS[solver](
        KernelSpace(space.gram.astype(np.float32)), y.astype(np.float32), weights.astype(np.float32)
    )
    assert single.x.dtype == single.detail.held_out.dtype == np.float32
    np.testing.assert_allclose(single.detail.held_out, double.detail.held_out, atol=1e-3)


def test_result_is_frozen_and_converged_only_by_status():
    result = SolverResult(np.zeros(1), np.zeros(1), np.zeros(1), 0, "stalled")
    assert not result.converged
    with pytest.raises(AttributeError):
        result.status = "converged"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("size", "status"), [(1.0, "converged"), (1e6, "stalled")])
def test_a_solution_that_rounding_spoiled_is_not_converged(solver, size, status):
    """Beside entries of 1e12 the identity has four digits, and so has what it is to settle."""
    rng = np.random.default_rng(0)
    Z, y = size * rng.normal(size=(30, 4)), np.sign(rng.normal(size=(30, 2)))
    result = SOLVERS[solver](KernelSpace(Z @ Z.T), y, np.ones(30))
    assert result.status == status
    assert (result.criterion[-1] <= 1e-6) == (status == "converged")


# By way of the labeled samples: what the record says of the factorization


@pytest.mark.parametrize(("graph", "status"), [(1.0, "converged"), (1e6, "stalled")])
@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_an_inexact_factorization_is_the_criterion(graph, status, loss):
    """The labeled samples are solved for exactly; what cannot be trusted is the way to all others."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 10)
    space = deform(KernelSpace(gram), neighbor_graph(X).laplacian(), ambient=1e-9, graph=graph)
    rows, y = np.arange(8), np.where(X[:8, :1] > 0, 1.0, -1.0)
    result = solve_restricted(space, rows, y, np.ones(8), loss=loss)
    assert result.status == status
    assert (result.criterion[-1] <= 1e-6) == (status == "converged")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_is_no_error_of_the_factorization(dtype):
    """Anchors of float32 samples under a heavy penalty: the same scores as in float64, and no complaint."""
    X = np.random.default_rng(0).normal(size=(150, 2)).astype(dtype)
    rows, y = np.arange(8), np.where(X[:8, :1] > 0, 1.0, -1.0)
    graph = anchor_graph(X, n_anchors=30, n_neighbors=3, random_state=0)
    Z = graph.weights.toarray().astype(np.float64)
    np.testing.assert_allclose(graph.gram, Z.T @ Z, rtol=1e-14)
    space = deform(FeatureSpace(graph.weights), graph.laplacian(), ambient=1e-3, graph=1e3)
    result = solve_restricted(space, rows, y, np.ones(8))
    laplacian = np.eye(150) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    normal = Z[rows].T @ Z[rows] + 1e-3 * np.eye(30) + 1e3 * Z.T @ laplacian @ Z
    expected = np.linalg.solve(normal, Z[rows].T @ y)
    np.testing.assert_allclose(result.x, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert (result.status, result.criterion[-1] <= 1e-6) == ("converged", True)
