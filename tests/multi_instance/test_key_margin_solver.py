"""Losses that groups share, and turns of machines and choices, against cvxpy, LIBSVM and brute force."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from tests.oracles.convex import fit_hinge_offset
from weakly.multi_instance._key_margin import solve_bag_margin, solve_group_hinge, solve_instance_margin

SOLVERS = [solve_bag_margin, solve_instance_margin]


def group_problem(seed, *, n_groups=14, size=1.0):
    """Features, signs, groups of one to five rows in any order, and a cost for each group."""
    rng = np.random.default_rng(seed)
    group_signs = np.where(np.arange(n_groups) % 2, 1.0, -1.0)
    groups = rng.permutation(np.repeat(np.arange(n_groups), rng.integers(1, 6, n_groups)))
    signs = group_signs[groups]
    Z = rng.normal(size=(len(groups), 4)) + 1.2 * signs[:, None] * [1.0, 0.5, 0.0, 0.0]
    return Z, signs, groups, size * rng.uniform(0.5, 2.0, n_groups)


def fit_groups(Z, signs, groups, costs):
    """The same problem in its primal form; returns the objective, the weights and the bias."""
    w, b = cp.Variable(Z.shape[1]), cp.Variable()
    slack = 1 - cp.multiply(signs, Z @ w + b)
    losses = [cost * cp.pos(cp.max(slack[np.flatnonzero(groups == g)])) for g, cost in enumerate(costs)]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + sum(losses)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, w.value, b.value


@pytest.mark.parametrize("size", [0.02, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_groups_match_cvxpy(seed, size):
    Z, signs, groups, costs = group_problem(seed, size=size)
    result = solve_group_hinge(Z @ Z.T, signs, groups, costs, tol=1e-8)
    value, w, b = fit_groups(Z, signs, groups, costs)
    assert result.converged
    assert result.objective[-1] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(Z.T @ result.x, w, atol=1e-4)
    if size > 0.02:  # else all groups are full, and the bias may be anything between two numbers
        assert result.intercept == pytest.approx(b, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_groups_that_are_full_partly_used_and_unused_meet_their_conditions(seed):
    Z, signs, groups, costs = group_problem(seed)
    result = solve_group_hinge(Z @ Z.T, signs, groups, costs, tol=1e-9)
    slack = 1 - signs * (Z @ Z.T @ result.x + result.intercept)
    worst = np.array([slack[groups == g].max() for g in range(len(costs))])
    used = np.array([result.detail.dual[groups == g].sum() for g in range(len(costs))])
    full = used > costs * (1 - 1e-9)
    assert (result.detail.dual >= 0).all()
    assert (used <= costs * (1 + 1e-9)).all()
    assert signs @ result.detail.dual == pytest.approx(0, abs=1e-9)
    assert full.any()
    assert (~full & (used > 0)).any()
    assert (used == 0).any()
    assert (worst[full] >= -1e-7).all()
    np.testing.assert_allclose(worst[~full & (used > 0)], 0, atol=1e-7)
    assert (worst[used == 0] <= 1e-7).all()
    active = result.detail.dual > 0  # only the worst rows of a group carry coefficients
    np.testing.assert_allclose(slack[active], worst[groups[active]], atol=1e-7)
    assert max(np.bincount(groups[active])) > 1


def test_the_gap_is_that_of_the_returned_points():
    Z, signs, groups, costs = group_problem(0)
    result = solve_group_hinge(Z @ Z.T, signs, groups, costs, tol=1e-2)
    w = Z.T @ result.x
    slack = 1 - signs * (Z @ w + result.intercept)
    primal = w @ w / 2 + sum(c * max(slack[groups == g].max(), 0) for g, c in enumerate(costs))
    bound = result.detail.dual.sum() - w @ w / 2
    np.testing.assert_array_equal(result.x, signs * result.detail.dual)
    assert result.objective[-1] == pytest.approx(primal)
    assert result.criterion[-1] == pytest.approx((primal - bound) / primal, rel=1e-6)
    assert 1e-9 < result.criterion[-1] < 1e-1
    assert bound <= fit_groups(Z, signs, groups, costs)[0] <= primal


@pytest.mark.parametrize("seed", range(3))
def test_an_earlier_dual_saves_steps(seed):
    Z, signs, groups, costs = group_problem(seed)
    before = solve_group_hinge(Z @ Z.T, signs, groups, costs, tol=1e-6)
    moved = Z + 0.01 * np.random.default_rng(seed + 50).normal(size=Z.shape)
    kept = before.detail.dual.copy()
    cold = solve_group_hinge(moved @ moved.T, signs, groups, costs, tol=1e-6)
    warm = solve_group_hinge(moved @ moved.T, signs, groups, costs, dual=before.detail.dual, tol=1e-6)
    np.testing.assert_array_equal(before.detail.dual, kept)  # what was handed over stays as it is
    assert warm.objective[-1] == pytest.approx(cold.objective[-1], rel=1e-5)
    np.testing.assert_allclose(moved.T @ warm.x, moved.T @ cold.x, atol=1e-4)
    assert warm.n_iter < cold.n_iter
    again = solve_group_hinge(Z @ Z.T, signs, groups, costs, dual=before.detail.dual, tol=1e-6)
    assert again.n_iter < before.n_iter / 5


@pytest.mark.parametrize("size", [0.3, 3.0])
def test_groups_of_one_are_libsvm(size):
    Z, signs, _, _ = group_problem(1)
    gram = (Z @ Z.T).astype(np.float32).astype(np.float64)  # LIBSVM keeps single precision
    costs = size * np.random.default_rng(0).uniform(0.5, 2.0, len(Z))
    ours = solve_group_hinge(gram, signs, np.arange(len(Z)), costs, tol=1e-8)
    theirs = SVC(kernel="precomputed", tol=1e-8).fit(gram, signs, sample_weight=costs)
    np.testing.assert_allclose(gram @ ours.x + ours.intercept, theirs.decision_function(gram), atol=1e-6)


def test_running_out_of_steps_is_said():
    Z, signs, groups, costs = group_problem(0)
    result = solve_group_hinge(Z @ Z.T, signs, groups, costs, max_iter=3)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    assert result.criterion[-1] > 1e-2


def bag_problem(seed, *, n_positive=8, n_negative=8, size=6, shift=2.0):
    """Bags in any order of rows, a moved row in each positive one."""
    rng = np.random.default_rng(seed)
    is_positive = rng.permutation(np.arange(n_positive + n_negative) < n_positive)
    bag_of = rng.permutation(np.repeat(np.arange(len(is_positive)), size))
    Z = rng.normal(size=(len(bag_of), 3))
    keys = np.array([np.flatnonzero(bag_of == bag)[0] for bag in np.flatnonzero(is_positive)])
    Z[keys, 0] += shift
    return Z, bag_of, is_positive, rng.uniform(0.5, 2.0, len(is_positive)), keys


def scores_of(result, Z):
    return Z @ (Z.T @ result.x) + result.intercept


def formula(solver, result, Z, bag_of, is_positive, costs):
    """The objective of the definition at the returned function, bag by bag."""
    scores, total = scores_of(result, Z), np.sum((Z.T @ result.x) ** 2) / 2
    for bag, (positive, cost) in enumerate(zip(is_positive, costs, strict=True)):
        inside = scores[bag_of == bag]
        if solver is solve_bag_margin:
            total += cost * max(1 - (1 if positive else -1) * inside.max(), 0)
            continue
        by_sign = [(max(1 - score, 0), max(1 + score, 0)) for score in inside]
        if not positive:
            total += cost * sum(as_negative for _, as_negative in by_sign)
            continue
        # the best signs of the instances of a positive bag, of which one at least is positive
        total += cost * min(
            sum(pair[0 if sign > 0 else 1] for pair, sign in zip(by_sign, signs, strict=True))
            for signs in product([1, -1], repeat=len(by_sign))
            if max(signs) > 0
        )
    return total


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shift", [0.5, 2.0])
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_turns_lower_the_objective_to_the_formula_at_the_returned_function(solver, shift, seed):
    Z, bag_of, is_positive, costs, _ = bag_problem(seed, shift=shift)
    result = solver(Z @ Z.T, bag_of, is_positive, costs, tol=1e-8)
    assert result.converged
    assert len(result.objective) == result.n_iter
    assert (np.diff(result.objective) <= 1e-6 * result.objective[:-1]).all()
    expected = formula(solver, result, Z, bag_of, is_positive, costs)
    assert result.objective[-1] == pytest.approx(expected, rel=1e-6)
    assert 0 <= result.criterion[-1] + 1e-12 < 1e-5


def gram_of(problem):
    Z, bag_of, is_positive, costs, _ = problem
    return Z @ Z.T, bag_of, is_positive, costs


@pytest.mark.parametrize("seed", range(4))
def test_the_last_representatives_have_the_largest_scores(seed):
    Z, bag_of, is_positive, costs, _ = bag_problem(seed)
    result = solve_bag_margin(Z @ Z.T, bag_of, is_positive, costs, tol=1e-8)
    scores, (choice,) = scores_of(result, Z), result.detail.labels
    assert (choice[~is_positive[bag_of]] == -1).all()
    for bag in np.flatnonzero(is_positive):
        rows = np.flatnonzero(bag_of == bag)
        assert choice[rows].sum() == choice[rows].max() == 1
        assert scores[rows][choice[rows] == 1].item() >= scores[rows].max() - 1e-6  # equal ones are as good


@pytest.mark.parametrize("seed", range(4))
def test_the_last_signs_are_those_of_the_scores_with_one_positive_in_each_positive_bag(seed):
    Z, bag_of, is_positive, costs, _ = bag_problem(seed)
    result = solve_instance_margin(Z @ Z.T, bag_of, is_positive, costs, tol=1e-8)
    scores, (choice,) = scores_of(result, Z), result.detail.labels
    expected = np.full(len(Z), -1.0)
    for bag in np.flatnonzero(is_positive):
        rows = np.flatnonzero(bag_of == bag)
        expected[rows[scores[rows] > 0]] = 1
        expected[rows[scores[rows].argmax()]] = 1
    np.testing.assert_array_equal(choice, expected)


def tiny(seed, *, n_negative=2, shift):
    """Two positive bags of three rows, and negative ones."""
    return bag_problem(seed, n_positive=2, n_negative=n_negative, size=3, shift=shift)


def least_over_representatives(Z, bag_of, is_positive, costs):
    positive = [np.flatnonzero(bag_of == bag) for bag in np.flatnonzero(is_positive)]
    negative = np.flatnonzero(~is_positive[bag_of])
    values = []
    for chosen in product(*positive):
        rows = np.r_[list(chosen), negative]
        values.append(
            fit_groups(Z[rows], np.where(is_positive, 1.0, -1.0)[bag_of[rows]], bag_of[rows], costs)[0]
        )
    return min(values)


def least_over_signs(Z, bag_of, is_positive, costs):
    in_bag = [signs for signs in product([1.0, -1.0], repeat=3) if max(signs) > 0]
    values = []
    for signs in product(in_bag, repeat=2):
        y = np.full(len(Z), -1.0)
        for bag, part in zip(np.flatnonzero(is_positive), signs, strict=True):
            y[bag_of == bag] = part
        values.append(fit_hinge_offset(Z, np.zeros(len(Z)), y, costs[bag_of])[0])
    return min(values)


BRUTE_FORCE = {solve_bag_margin: least_over_representatives, solve_instance_margin: least_over_signs}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_no_choice_is_better_than_the_best_of_all(solver, seed):
    Z, bag_of, is_positive, costs, _ = tiny(seed, shift=0.5)
    best = BRUTE_FORCE[solver](Z, bag_of, is_positive, costs)
    assert solver(Z @ Z.T, bag_of, is_positive, costs, tol=1e-8).objective[-1] >= best * (1 - 1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_planted_keys_give_the_best_of_all(solver, seed):
    Z, bag_of, is_positive, costs, keys = tiny(
        seed, n_negative=12, shift=6.0
    )  # other rows are plainly negative
    result = solver(Z @ Z.T, bag_of, is_positive, costs, tol=1e-8)
    best = BRUTE_FORCE[solver](Z, bag_of, is_positive, costs)
    assert result.objective[-1] == pytest.approx(best, rel=1e-5)
    assert (result.detail.labels[0][keys] == 1).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_ends_the_turns(solver):
    problem = gram_of(bag_problem(5))
    whole = solver(*problem)
    seen = []

    def stop_at_two(turn, objective):
        seen.append((turn, objective))
        return turn >= 2

    result = solver(*problem, callback=stop_at_two)
    assert whole.n_iter > 2
    assert (result.status, result.n_iter) == ("stopped", 2)
    assert seen == list(enumerate(whole.objective[:2], start=1))
    np.testing.assert_array_equal(result.objective, whole.objective[:2])


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limit_of_turns_is_said(solver):
    problem = gram_of(bag_problem(5))
    result = solver(*problem, max_iter=2)
    assert (result.status, result.n_iter, len(result.objective)) == ("max_iter", 2, 2)
