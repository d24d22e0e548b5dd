"""Margins of two clusters, against conic solvers, all labellings and laws that the problem obeys."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from weakly.cluster._margin_sdp import solve_margin_sdp
from weakly.kernels import Kernel

RIDGE = 1e-3


def rows_of(seed, n=12):
    return np.random.default_rng(seed).normal(size=(n, 3))


def gram_of(name, seed, n=12):
    X = rows_of(seed, n)
    return X @ X.T if name == "linear" else Kernel("rbf", gamma=0.3)(X)


def quadratic(kernel, balance_cost, ridge=RIDGE):
    """``A`` as it is defined, with the offset eliminated from the inverse."""
    n = len(kernel)
    inverse = np.linalg.inv(kernel + ridge * np.trace(kernel) / n * np.eye(n))
    e = np.ones(n)
    free = inverse - np.outer(inverse @ e, inverse @ e) / (e @ inverse @ e)
    return free / 2 + balance_cost * np.outer(e, e)


def default_balance(kernel, ridge=RIDGE):
    n = len(kernel)
    H = np.eye(n) - 1 / n
    return 1 / np.trace(2 * H @ (kernel + ridge * np.trace(kernel) / n * np.eye(n)) @ H)


def conic(kernel, C, balance_cost):
    """The primal, ``min tr(AZ) + C sum max(1 - Z_ii, 0)``; returns its value, ``Z`` and the dual."""
    A = quadratic(kernel, balance_cost)
    Z, short = cp.Variable(A.shape, PSD=True), cp.Variable(len(A), nonneg=True)
    reach = cp.diag(Z) + short >= 1
    problem = cp.Problem(cp.Minimize(cp.trace(A @ Z) + C * cp.sum(short)), [reach])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, Z.value, reach.dual_value


@pytest.mark.parametrize("name", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("balance_cost", [None, 0.01, 10.0])
def test_values_match_a_conic_solver(name, C, balance_cost):
    kernel = gram_of(name, 0)
    result = solve_margin_sdp(kernel, C, balance_cost=balance_cost, ridge=RIDGE, tol=1e-7)
    value, Z, g = conic(kernel, C, balance_cost or default_balance(kernel))
    assert result.converged
    assert result.objective[-1] == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(result.detail.dual, g, atol=1e-3 * g.max())
    values, vectors = np.linalg.eigh(Z)
    if values[-1] > 1e-3 and values[-2] < 0.9 * values[-1]:  # else no direction of margins stands out
        z = np.sqrt(len(Z)) * vectors[:, -1]
        z *= np.sign(z[np.abs(z).argmax()])
        K = kernel + RIDGE * np.trace(kernel) / len(kernel) * np.eye(len(kernel))
        np.testing.assert_allclose(K @ result.x + result.intercept, z, atol=1e-2)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_dual_is_feasible_and_the_gap_holds_the_optimum(C, tol):
    kernel = gram_of("rbf", 1)
    result = solve_margin_sdp(kernel, C, balance_cost=0.1, ridge=RIDGE, tol=tol)
    value = conic(kernel, C, 0.1)[0]
    assert result.detail.dual.min() >= 0
    assert result.detail.dual.max() <= C
    assert np.linalg.eigvalsh(quadratic(kernel, 0.1) - np.diag(result.detail.dual))[0] >= -1e-9
    assert result.objective[-1] == pytest.approx(result.detail.dual.sum())
    # the best primal value met is what objective and gap say; no history passes the optimum
    assert (result.objective <= value * (1 + 1e-6)).all()
    assert (result.objective / (1 - result.criterion) >= value * (1 - 1e-6)).all()
    assert len(result.objective) == len(result.criterion) == result.n_iter + 1
    assert (result.criterion[:-1] > tol).all()
    assert result.criterion[-1] <= tol


def least_over_signs(kernel, balance_cost):
    """Hard margins: the best of all labellings, each a quadratic program."""
    n = len(kernel)
    root = np.linalg.cholesky(quadratic(kernel, balance_cost))
    z, signs = cp.Variable(n), cp.Parameter(n)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ z)), [cp.multiply(signs, z) >= 1])
    values = []
    for rest in product([-1.0, 1.0], repeat=n - 1):
        signs.value = np.array([1.0, *rest])
        values.append(problem.solve(solver=cp.CLARABEL))
    return min(values)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_labelling_is_below_the_bound(seed):
    kernel = gram_of("rbf", seed, n=8)
    least = least_over_signs(kernel, 0.1)
    bound = solve_margin_sdp(kernel, 100.0, balance_cost=0.1, ridge=RIDGE).objective[-1]
    assert 0.5 * least < bound <= least * (1 + 1e-6)


def test_no_soft_margins_are_below_the_bound():
    kernel, C = gram_of("rbf", 2, n=8), 0.5
    bound = solve_margin_sdp(kernel, C, balance_cost=0.1, ridge=RIDGE).objective[-1]
    A = quadratic(kernel, 0.1)
    directions = np.random.default_rng(0).normal(size=(20_000, 8)) @ np.linalg.inv(np.linalg.cholesky(A))
    values = [
        np.einsum("ni,ij,nj->n", z, A, z) + C * np.maximum(1 - z**2, 0).sum(axis=1)
        for z in (scale * directions for scale in (0.1, 0.5, 1.0, 2.0))
    ]
    assert bound <= np.min(values)
    assert bound > 0.3 * np.min(values)


def test_margins_are_those_of_the_coefficients_with_the_best_offset():
    kernel = gram_of("rbf", 3, n=40)
    result = solve_margin_sdp(kernel, 1.0, ridge=RIDGE)
    ridged = kernel + RIDGE * np.trace(kernel) / 40 * np.eye(40)
    z = ridged @ result.x + result.intercept
    inverse = np.linalg.inv(ridged)
    offset = (
        -inverse.sum(axis=0) @ z / inverse.sum()
    )  # lambda of the least (z + lambda e)' K^-1 (z + lambda e)
    assert np.mean(z**2) == pytest.approx(1)
    assert z[np.abs(z).argmax()] > 0
    assert result.intercept == pytest.approx(-offset, abs=1e-8)
    np.testing.assert_allclose(result.x, inverse @ (z + offset), atol=1e-7)
    np.testing.assert_array_equal(result.detail.labels, [np.sign(z)])


def test_small_costs_are_paid_in_full():
    kernel = gram_of("rbf", 4)
    C = 0.9 * np.linalg.eigvalsh(quadratic(kernel, 0.1))[0]
    result = solve_margin_sdp(kernel, C, balance_cost=0.1, ridge=RIDGE)
    assert result.objective[-1] == pytest.approx(12 * C, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_a_multiple_of_the_kernel_divides_costs_and_values(scale):
    kernel = gram_of("rbf", 5, n=40)
    plain = solve_margin_sdp(kernel, 1.0, tol=1e-6)
    scaled = solve_margin_sdp(scale * kernel, 1.0 / scale, tol=1e-6)
    np.testing.assert_allclose(scale * scaled.objective[-1], plain.objective[-1], rtol=1e-5)
    np.testing.assert_allclose(
        scale * scaled.detail.dual, plain.detail.dual, atol=1e-4 * plain.detail.dual.max()
    )
    np.testing.assert_allclose(
        kernel @ (scale * scaled.x) + scaled.intercept, kernel @ plain.x + plain.intercept, atol=1e-3
    )


def test_the_order_of_rows_does_not_matter():
    kernel, order = gram_of("rbf", 6, n=40), np.random.default_rng(0).permutation(40)
    plain = solve_margin_sdp(kernel, 1.0, tol=1e-6)
    permuted = solve_margin_sdp(kernel[np.ix_(order, order)], 1.0, tol=1e-6)
    assert permuted.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-5)
    np.testing.assert_allclose(
        permuted.detail.dual, plain.detail.dual[order], atol=1e-4 * plain.detail.dual.max()
    )
    np.testing.assert_array_equal(permuted.detail.labels, plain.detail.labels[:, order])


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("share", [0.5, 0.25])
def test_two_blobs_are_split(share, C):
    is_first = np.random.default_rng(0).permutation(np.arange(60) < 60 * share)
    X = rows_of(7, n=60) + 8.0 * is_first[:, None]
    (labels,) = solve_margin_sdp(Kernel("rbf", gamma=0.02)(X), C).detail.labels
    truth = np.where(is_first, 1.0, -1.0)
    assert abs(labels @ truth) == 60


def test_nearly_singular_kernels_are_solved_to_a_small_gap():
    X = rows_of(8, n=80)
    kernel = Kernel("rbf", gamma=1e-3)(X)
    assert np.linalg.cond(kernel) > 1e14
    result = solve_margin_sdp(kernel, 1.0, ridge=1e-9, tol=1e-6)
    assert result.converged
    assert result.n_iter < 40


def test_a_callback_and_the_limit_end_the_steps():
    kernel, seen = gram_of("rbf", 9), []

    def stop_at_three():
        seen.append(1)
        return len(seen) == 3

    whole = solve_margin_sdp(kernel, 1.0)
    stopped = solve_margin_sdp(kernel, 1.0, callback=stop_at_three)
    limited = solve_margin_sdp(kernel, 1.0, max_iter=3)
    assert whole.n_iter > 3
    assert (stopped.status, stopped.n_iter) == ("stopped", 3)
    assert (limited.status, limited.n_iter) == ("max_iter", 3)
    np.testing.assert_array_equal(stopped.objective, whole.objective[:4])
    np.testing.assert_array_equal(limited.detail.dual, stopped.detail.dual)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.diag([1.0, 1.0, -1.0]), "not positive semi-definite"),
        (np.ones((3, 3)), "same to the kernel"),
    ],
)
def test_problems_without_an_answer_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        solve_margin_sdp(kernel, 1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e-24, 1e100])
def test_the_scale_of_the_kernel_is_that_of_the_cost(scale):
    """Only the product of both counts, however small or large either is."""
    kernel = gram_of("rbf", 0)
    expected = solve_margin_sdp(kernel, 1.0, tol=1e-6)
    result = solve_margin_sdp(scale * kernel, 1.0 / scale, tol=1e-6)
    np.testing.assert_allclose(scale * result.objective[-1], expected.objective[-1], rtol=1e-5)
    np.testing.assert_allclose(scale * result.detail.dual, expected.detail.dual, atol=1e-4)
    np.testing.assert_array_equal(result.detail.labels, expected.detail.labels)
    np.testing.assert_allclose(scale * kernel @ result.x, kernel @ expected.x, atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e-14])
def test_where_no_margin_is_worth_its_cost(C):
    """Zero margins cost ``C`` for each row, and nothing is cheaper."""
    result = solve_margin_sdp(gram_of("rbf", 0), C)
    assert result.converged
    assert result.objective[-1] == pytest.approx(C * len(result.detail.dual), rel=1e-3)
