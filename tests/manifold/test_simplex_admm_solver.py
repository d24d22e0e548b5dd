"""Laplacian problems on the simplex against cvxpy, and against the solvers without the constraint."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.dense import manifold_penalty, random_laplacian
from tests.oracles.simplex import fit_simplex
from tests.solvers.problems import KINDS, make_space
from weakly.manifold._simplex_admm import solve_simplex
from weakly.solvers import project_simplex, solve_restricted
from weakly.spaces import CorrectedSpace, DeformedSpace, FeatureSpace, KernelSpace, deform

LOSSES = ["squared", "squared_hinge", "hinge"]


class Shares(NamedTuple):
    """A space over all rows, the same functions as features with their penalty, and labels."""

    space: DeformedSpace
    Z: np.ndarray
    penalty: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    def targets(self, loss):
        onehot = (self.codes[:, None] == np.arange(3)).astype(float)
        return onehot if loss == "squared" else 2 * onehot - 1

    def solve(self, loss, **kwargs):
        return solve_simplex(self.space, self.rows, self.targets(loss), self.weights, loss=loss, **kwargs)

    def shares(self, result):
        return self.space.scores(result.x) + 1 / 3


def make_shares(kind, *, n_rows=25, n_features=4, n_labeled=9, ambient=0.05, graph=0.01, seed=0):
    """Make three classes of equal size whose labels, being heavy, push scores out of the simplex."""
    rng = np.random.default_rng(seed)
    base, Z = make_space(rng, kind, n_rows, n_features)
    laplacian = random_laplacian(rng, n_rows)
    space = deform(base, sp.csr_array(laplacian), ambient=ambient, graph=graph)
    scores = Z @ rng.normal(size=Z.shape[1])
    noisy = scores + 0.3 * scores.std() * rng.normal(size=n_rows)
    rows = rng.permutation(n_rows)[:n_labeled]
    codes = np.argsort(np.argsort(noisy[rows])) * 3 // n_labeled
    penalty = manifold_penalty(Z, laplacian, ambient, graph)
    return Shares(space, Z, penalty, rows, codes, rng.uniform(1, 5, n_labeled))


def assert_optimal(problem, loss, result, *, rel=1e-4, atol=1e-3):
    oracle = fit_simplex(*problem[1:4], problem.targets(loss), problem.weights, loss=loss, level=1 / 3)
    assert result.converged
    assert np.count_nonzero(oracle.shares < 1e-6) >= 3  # the constraint is active
    assert result.objective[-1] == pytest.approx(oracle.value, rel=rel)
    np.testing.assert_allclose(problem.shares(result), oracle.shares, atol=atol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_objective_and_shares_match_cvxpy(kind, loss, seed):
    problem = make_shares(kind, seed=seed)
    assert_optimal(problem, loss, problem.solve(loss, tol=1e-6))
    # With fewer features than labels the step on the labelled rows is taken in the features.
    assert (kind != "kernel") == (problem.Z.shape[1] < len(problem.rows))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["kernel", "features"])
def test_without_a_graph(kind, loss):
    problem = make_shares(kind, graph=0.0)
    assert_optimal(problem, loss, problem.solve(loss, tol=1e-6, max_iter=5000))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_default_tolerance_is_enough(loss):
    problem = make_shares("kernel")
    assert_optimal(problem, loss, problem.solve(loss), rel=2e-3, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_level_costs_nothing_but_a_constant(loss):
    """The problem as printed, [tvsvm] Eqs. (93) and (118), in a kernel that reaches every level."""
    problem = make_shares("kernel", n_features=8)
    result = problem.solve(loss, tol=1e-7)
    printed = fit_simplex(*problem[1:4], problem.targets(loss), problem.weights, loss=loss)
    np.testing.assert_allclose(problem.shares(result), printed.shares, atol=1e-3)
    level = np.linalg.solve(problem.Z, np.ones(len(problem.Z)))
    constant = level @ problem.penalty @ level / 6
    assert constant > 1e-3 * printed.value
    assert result.objective[-1] + constant == pytest.approx(printed.value, rel=1e-5)


def test_features_that_cannot_sum_to_one_have_no_solution_as_printed():
    problem = make_shares("features")
    printed = fit_simplex(*problem[1:4], problem.targets("squared"), problem.weights, loss="squared")
    assert printed.shares is None


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("coupling", [0.05, 0.5, 5.0])
def test_any_coupling_leads_to_the_same_shares(loss, coupling):
    problem = make_shares("kernel")
    default = problem.solve(loss, tol=1e-7, max_iter=20_000)
    other = problem.solve(loss, coupling=coupling, tol=1e-7, max_iter=20_000)
    assert default.converged
    assert other.converged
    assert default.n_iter != other.n_iter
    np.testing.assert_allclose(problem.shares(other), problem.shares(default), atol=1e-4)


def test_the_default_coupling_knows_the_units():
    """Factors common to loss and penalties, and to the kernel and its penalty, change no iterate."""
    problem = make_shares("kernel")
    space, base = problem.space, problem.space.base
    result = problem.solve("squared")
    scaled = deform(
        KernelSpace(7 * base.gram), space.laplacian, ambient=7 * 3 * space.ambient, graph=3 * space.graph
    )
    other = solve_simplex(scaled, problem.rows, problem.targets("squared"), 3 * problem.weights)
    assert other.n_iter == result.n_iter
    np.testing.assert_allclose(scaled.scores(other.x), space.scores(result.x), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_constraint_is_idle_it_is_ridge(kind):
    """Least squares of one-hot targets sums to 1 by itself; light weights keep it above 0."""
    problem = make_shares(kind)
    weights = problem.weights / 1e4
    result = solve_simplex(problem.space, problem.rows, problem.targets("squared"), weights, tol=1e-8)
    free = solve_restricted(problem.space, problem.rows, problem.targets("squared") - 1 / 3, weights)
    shares = problem.space.scores(free.x) + 1 / 3
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-8)
    assert shares.min() > 0
    np.testing.assert_allclose(problem.shares(result), shares, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["kernel", "features"])
def test_history_ends_at_the_returned_point(kind, loss):
    problem = make_shares(kind)
    result = problem.solve(loss, tol=1e-3)
    assert len(result.objective) == len(result.criterion) == result.n_iter + 1
    assert result.criterion[-1] <= 1e-3 < result.criterion[-2]
    f = problem.shares(result)
    assert np.linalg.norm(f - project_simplex(f)) <= result.criterion[-1] * np.linalg.norm(f) * 1.001
    scores, targets = (f - 1 / 3)[problem.rows] + result.intercept, problem.targets(loss)
    residual = targets - scores if loss == "squared" else np.maximum(1 - targets * scores, 0)
    losses = residual if loss == "hinge" else residual**2 / 2
    u = np.linalg.lstsq(problem.Z, f - 1 / 3)[0]
    objective = (problem.weights @ losses).sum() + np.einsum("ik,ij,jk->", u, problem.penalty, u) / 2
    assert result.objective[-1] == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_criterion_bounds_the_optimality_conditions(loss, tol):
    """At the solution a step along minus the gradient is undone by the projection."""
    problem = make_shares("kernel")
    result, space = problem.solve(loss, tol=tol), problem.space
    f = problem.shares(result)
    forces = np.zeros_like(f)
    forces[problem.rows] = problem.weights[:, None] * (problem.targets(loss) - f[problem.rows])
    downhill = forces - space.ambient * result.x - space.graph * (space.laplacian @ (f - 1 / 3))
    scale = 2 * np.linalg.norm(f) + max(np.linalg.norm(downhill), np.linalg.norm(forces))
    error = np.linalg.norm(f - project_simplex(f + downhill))
    assert error <= 1.05 * result.criterion[-1] * scale
    assert error > 1e-3 * tol * scale


@pytest.mark.parametrize("loss", LOSSES)
def test_start_is_equal_shares(loss):
    problem = make_shares("kernel")
    result = problem.solve(loss, max_iter=3)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    per_row = {"squared": 1 / 3, "squared_hinge": (4 / 9 + 32 / 9) / 2, "hinge": 2 / 3 + 8 / 3}[loss]
    assert result.objective[0] == pytest.approx(per_row * problem.weights.sum())
    assert result.criterion[0] == 1


def test_labels_of_one_class_are_a_matter_of_the_intercept():
    problem = make_shares("kernel")
    problem.codes[:] = 1
    result = problem.solve("hinge")
    np.testing.assert_allclose(problem.shares(result), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(result.intercept, [-1, 1, -1])


def test_without_weight_all_shares_are_equal():
    problem = make_shares("kernel")
    result = solve_simplex(problem.space, problem.rows, problem.targets("squared"), np.zeros(9))
    assert result.converged
    np.testing.assert_allclose(problem.shares(result), 1 / 3, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_callback_sees_shares_and_stops(loss):
    problem = make_shares("kernel")
    seen = []
    result = problem.solve(loss, callback=lambda shares: seen.append(shares) or len(seen) >= 4)
    assert (result.status, result.n_iter, len(seen)) == ("stopped", 4, 4)
    np.testing.assert_array_equal(seen[-1], problem.shares(result))

    def interrupt(shares):
        seen.append(shares)
        if len(seen) == 8:
            raise KeyboardInterrupt

    interrupted = problem.solve(loss, callback=interrupt)
    assert (interrupted.status, interrupted.n_iter) == ("interrupted", 4)
    np.testing.assert_array_equal(interrupted.x, result.x)
    np.testing.assert_array_equal(interrupted.objective, result.objective)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_untouched(kind, loss):
    problem = make_shares(kind)
    matrix = problem.space.base.gram if kind == "kernel" else problem.space.base.features
    targets = problem.targets(loss)
    arrays = (problem.space.laplacian, matrix, problem.rows, targets, problem.weights)
    copies = [array.copy() for array in arrays]
    solve_simplex(problem.space, problem.rows, targets, problem.weights, loss=loss)
    assert all(abs(array - copy).max() == 0 for array, copy in zip(arrays, copies, strict=True))


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_features(loss):
    problem = make_shares("features")
    space = problem.space
    single = deform(
        FeatureSpace(space.base.features.astype(np.float32)),
        space.laplacian.astype(np.float32),
        ambient=space.ambient,
        graph=space.graph,
    )
    result = solve_simplex(single, problem.rows, problem.targets(loss), problem.weights, loss=loss)
    assert result.converged
    np.testing.assert_allclose(problem.shares(result), problem.shares(problem.solve(loss)), atol=1e-3)


def test_an_inexact_factorisation_is_said():
    rng = np.random.default_rng(0)
    gram = np.ones((25, 25)) + 1e-12 * np.diag(rng.random(25))
    laplacian = sp.csr_array(1e13 * random_laplacian(rng, 25))
    space = deform(KernelSpace(gram), laplacian, ambient=1e-6, graph=1.0)
    result = solve_simplex(space, np.arange(3), np.eye(3), np.ones(3), max_iter=5)
    assert result.status == "stalled"
    assert result.criterion[-1] > 1e-3


def test_bad_arguments_are_named():
    problem = make_shares("kernel")
    with pytest.raises(ValueError, match="loss is 'logistic'"):
        solve_simplex(*problem[::3], problem.targets("squared"), problem.weights, loss="logistic")
    for coupling in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="coupling is"):
            problem.solve("squared", coupling=coupling)
    corrected = deform(CorrectedSpace(problem.Z, 0.1), problem.space.laplacian, ambient=1.0, graph=1.0)
    with pytest.raises(ValueError, match="CorrectedSpace has no factorisation"):
        solve_simplex(corrected, problem.rows, problem.targets("squared"), problem.weights)
