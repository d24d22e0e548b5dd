"""Small quadratic programs by interior points, against cvxpy and closed forms."""

import cvxpy as cp
import numpy as np
import pytest

from weakly.solvers._interior import solve_interior


def solve_by_cvxpy(Q, q, A, b):
    """With a root of ``Q``; returns the objective, the point and the multipliers of ``Ax = b``."""
    values, vectors = np.linalg.eigh(Q)
    root = (vectors * np.sqrt(np.maximum(values, 0))).T
    x = cp.Variable(len(q))
    equalities = A @ x == b
    problem = cp.Problem(cp.Minimize(cp.sum_squares(root @ x) / 2 + q @ x), [equalities, x >= 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, x.value, -equalities.dual_value


def of_planes(seed, n_planes, reach, *, rank=3, scale=1.0):
    """Weights of planes that repeat, more of them than dimensions, with a bounded, a free or no offset."""
    rng = np.random.default_rng(seed)
    Z = np.sqrt(scale) * rng.normal(size=(n_planes, rank))
    sizes, balances = rng.uniform(0.2, 1.0, n_planes), rng.uniform(-0.5, 0.5, n_planes)
    Z[-1], sizes[-1], balances[-1] = Z[0], sizes[0], balances[0]
    balances[1] = -balances[0]  # some weights have no balance
    n_more = 3 if 0 < reach < np.inf else 1
    Q = np.zeros((n_planes + n_more,) * 2)
    Q[:n_planes, :n_planes] = Z @ Z.T
    q, total, balance = np.append(-sizes, np.zeros(n_more)), np.zeros(len(Q)), np.zeros(len(Q))
    total[: n_planes + 1], balance[:n_planes] = 1, balances
    if reach == 0:
        return Q, q, total[None], np.ones(1)
    if reach < np.inf:
        q[-2:], balance[-2:] = reach, (-1, 1)
    return Q, q, np.array([total, balance]), np.array([1.0, 0.0])


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("reach", [0, 0.1, 1.0, np.inf])
@pytest.mark.parametrize("n_planes", [4, 30])
def test_weights_of_planes_match_cvxpy(n_planes, reach, scale):
    Q, q, A, b = of_planes(n_planes, n_planes, reach, scale=scale)
    found = solve_interior(Q, q, A, b)
    value, _, multipliers = solve_by_cvxpy(Q, q, A, b)
    assert found.gap <= 1e-9
    assert found.x.min() > 0
    np.testing.assert_allclose(A @ found.x, b, atol=1e-8)
    assert found.x @ Q @ found.x / 2 + q @ found.x == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_points_match_cvxpy_where_they_are_unique(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(12, 14))
    Q, q, A = Z @ Z.T, rng.normal(size=12), rng.normal(size=(3, 12))
    b = A @ np.where(np.arange(12) < 5, rng.uniform(size=12), 0)  # few points have these sums
    found = solve_interior(Q, q, A, b)
    _, x, multipliers = solve_by_cvxpy(Q, q, A, b)
    np.testing.assert_allclose(found.x, x, atol=1e-6)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-5)


def test_a_linear_program_ends_in_the_cheapest_corner():
    costs = np.array([3.0, 1.0, 2.0, 1.5])
    found = solve_interior(np.zeros((4, 4)), costs, np.ones((1, 4)), np.ones(1))
    np.testing.assert_allclose(found.x, [0, 1, 0, 0], atol=1e-8)
    np.testing.assert_allclose(found.multipliers, [1.0], atol=1e-8)


def test_one_point_alone_is_feasible():
    found = solve_interior(
        np.eye(2), np.array([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full(2, 3.0)
    )
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(found.multipliers, [-2 / 3, 4 / 3], atol=1e-7)  # A'y = x + q = (2, 0)


def test_a_tolerance_out_of_reach_ends_with_the_gap_it_got():
    found = solve_interior(*of_planes(0, 30, 0.1), tol=0.0)
    assert 0 < found.gap < 1e-9
