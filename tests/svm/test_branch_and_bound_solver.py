"""Branch and bound against a list of all labelings; what the quick optimisers miss; and early ends."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.convex import fit_margin
from tests.oracles.transductions import fit_machines, list_transductions, root_of
from weakly.datasets import make_two_moons
from weakly.solvers._label_sets import SignSet
from weakly.spaces import FeatureSpace, KernelSpace
from weakly.svm import _branch_and_bound
from weakly.svm._branch_and_bound import solve_branch_and_bound
from weakly.svm._branch_kernels import probe, promise
from weakly.svm._pivot_kernels import dual_of, fit, turn_to
from weakly.svm._transduction_problem import Ground, Transduction
from weakly.svm._transduction_search import SEARCHES, solve_transduction

SEEDS = range(24)


def transduction(space, known, signs, least, most, labeled_cost=1.0, unlabeled_cost=1.0):
    n_rows = space.n_rows
    unlabeled = np.setdiff1d(np.arange(n_rows), known)
    costs = np.full(n_rows, float(unlabeled_cost))
    costs[known] = labeled_cost
    label_set = SignSet(known, np.asarray(signs, dtype=float), n_rows, least, most)
    share = (least + most) / 2 / max(len(unlabeled), 1)
    return Transduction(Ground(space, unlabeled), label_set, costs, share)


def rbf_space(X, width=1.0):
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    return KernelSpace(np.exp(-distances / (2 * width**2)))


@cache
def problem_of(seed):
    """Two clouds, near or far, with a label or two each; every other problem is one of a kernel."""
    rng = np.random.default_rng(seed)
    n_unlabeled = 12 if seed % 6 == 5 else int(rng.integers(6, 10))
    signs = np.repeat([-1.0, 1.0], rng.integers(1, 3, 2))
    n_rows = n_unlabeled + len(signs)
    is_positive = rng.random(n_rows) < rng.choice([0.3, 0.5])
    known = np.sort(rng.choice(n_rows, len(signs), replace=False))
    is_positive[known] = signs > 0
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += rng.choice([0.5, 1.0, 2.0]) * np.where(is_positive, 1, -1)
    n_positive = int(np.clip(is_positive.sum() - (signs > 0).sum(), 1, n_unlabeled - 1))
    reach = seed % 3  # 0: the number of positive signs is given
    least, most = max(n_positive - reach, 0), min(n_positive + reach // 2, n_unlabeled)
    costs = rng.choice([0.1, 1.0, 10.0, 100.0], 2)
    space = rbf_space(X) if seed % 2 else FeatureSpace(X)
    return transduction(space, known, signs, least, most, *costs)


def gram_of(problem):
    space = problem.ground.space
    return space.gram if isinstance(space, KernelSpace) else np.asarray(space.features @ space.features.T)


def listing_of(problem):
    known = problem.label_set
    return list_transductions(
        gram_of(problem), problem.costs, known.known, known.signs, known.least, known.most
    )


@cache
def listed(seed):
    return listing_of(problem_of(seed))


def check_machine(problem, result):
    """The labels are within the balance, and the machine is the one of these labels."""
    (labels,) = result.detail.labels
    known = problem.label_set
    assert np.isin(labels, [-1, 1]).all()
    assert (labels[known.known] == known.signs).all()
    assert known.least <= (labels[problem.ground.unlabeled] > 0).sum() <= known.most
    space = problem.ground.space
    scores = space.scores(result.x) + result.intercept
    norm = float(space.inner(result.x, result.x))
    value = norm / 2 + problem.costs @ np.maximum(1 - labels * scores, 0) ** 2 / 2
    assert result.objective[-1] == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert len(result.objective) == len(result.criterion)
    assert (np.diff(result.objective) <= 1e-7 * result.objective[-1]).all()


def lowest_bound(result):
    return result.objective[-1] * (1 - result.criterion[-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_optimum_is_that_of_all_labelings(seed):
    problem, listing = problem_of(seed), listed(seed)
    assert listing.gap <= 1e-9
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert result.status == "converged"
    assert result.criterion[-1] == 0
    assert result.objective[-1] == pytest.approx(listing.best, rel=1e-7)
    assert (listing.within(1e-6) == result.detail.labels).all(axis=1).any()


def test_optimum_without_a_good_start(monkeypatch):
    """From the labels of the worst scores: then all depends on the branches that are not explored."""
    monkeypatch.setattr(_branch_and_bound, "_STARTS", ())
    monkeypatch.setattr(_branch_and_bound, "settle", first_labels)
    n_visited = 0
    for seed in range(60):
        problem = problem_of(seed)
        result = solve_branch_and_bound(problem)
        n_visited += result.n_iter
        assert result.objective[-1] == pytest.approx(listed(seed).best, rel=1e-7)
        assert len(result.objective) > 1
    assert n_visited > 600


def first_labels(problem, found, tol):
    """Stands for `settle`: leave labels as they are, and turn the scores of the first machine around."""
    sign = 1.0 if found.machine is None else -1.0
    labels = problem.best_labels(sign * (found.values + found.offset))
    machine = problem.machine_of(labels, None, tol)
    return machine, labels, [machine.objective]


@pytest.mark.parametrize("seed", [1, 2, 11, 16, 17, 20, 23])
def test_bounds_and_gains_of_nodes(seed):
    """The bound is the machine of the rows that have a sign, and a gain never promises too much."""
    problem = problem_of(seed)
    rows = _branch_and_bound._rows_of(problem)
    root = root_of(gram_of(problem))
    rng = np.random.default_rng(seed)
    n_sharp = n_gains = 0
    for _ in range(10):
        signs = rng.choice([-1.0, 1.0], len(problem.costs))
        signs[rng.random(len(signs)) < 0.6] = 0.0
        signs[problem.label_set.known] = problem.label_set.signs
        table = _branch_and_bound._blank_table(rows)
        bound, primal = fit(rows, table, signs, np.inf)
        signed = np.flatnonzero(signs)
        (value,), _ = fit_machines(root[signed], problem.costs[signed], signs[None, signed])
        assert bound == pytest.approx(value, rel=1e-9)
        assert primal == pytest.approx(value, rel=1e-9)
        probe(rows, table, signs)
        for row in np.flatnonzero(signs == 0):
            more = np.append(signed, row)
            both = np.append(np.tile(signs[signed], (2, 1)), [[1.0], [-1.0]], axis=1)
            values, _ = fit_machines(root[more], problem.costs[more], both)
            promised = np.array([promise(rows, table, signs, bound, row, side) for side in (0, 1)])
            assert (promised <= values * (1 + 1e-12)).all()
            np.testing.assert_allclose(promised, bound + table.gains[row], rtol=1e-9)
            n_sharp += np.isclose(promised, values, rtol=1e-6).sum()
            n_gains += 2
    assert n_sharp > n_gains / 4


def test_the_list_is_right_about_a_machine():
    for seed in (4, 5):
        problem, listing = problem_of(seed), listed(seed)
        labels = listing.labels[np.argmin(listing.values)]
        root = root_of(gram_of(problem))
        value, _, _ = fit_margin(
            root, np.eye(root.shape[1]), labels, problem.costs, squared=True, intercept=True
        )
        assert listing.best == pytest.approx(value, rel=1e-7)


def test_no_optimiser_is_below_the_optimum():
    excess = {name: [] for name in SEARCHES}
    for seed in SEEDS:
        best = listed(seed).best
        for name in SEARCHES:
            value = solve_transduction(problem_of(seed), name).objective[-1]
            excess[name].append(value / best - 1)
    for name, values in excess.items():
        n_met = sum(value <= 1e-6 for value in values)
        print(f"{name:>12}: mean excess {np.mean(values):.4f}, optimum in {n_met} of {len(values)}")
        assert min(values) >= -1e-6


def unlike(n_rows=40, seed=3):
    """Two clouds that overlap, which take some hundred nodes."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n_rows) % 2, 1.0, -1.0)
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += signs
    return X, signs


def overlapping(cost=1.0):
    X, signs = unlike()
    return transduction(rbf_space(X), np.arange(2), signs[:2], 19, 19, cost, cost)


def test_rows_in_another_order_and_signs_exchanged():
    X, signs = unlike()
    order = np.random.default_rng(0).permutation(len(X))
    known = np.sort(np.flatnonzero(order < 2))
    turned = transduction(rbf_space(X[order]), known, -signs[order[known]], 19, 19)
    expected, result = solve_branch_and_bound(overlapping()), solve_branch_and_bound(turned)
    assert expected.status == result.status == "converged"
    assert expected.n_iter > 100
    assert result.objective[-1] == pytest.approx(expected.objective[-1], rel=1e-7)
    np.testing.assert_array_equal(result.detail.labels[0], -expected.detail.labels[0][order])


def test_rows_that_occur_twice_are_rows_that_cost_twice():
    X, signs = unlike(12)
    once = transduction(rbf_space(X), np.arange(2), signs[:2], 5, 5, 2.0, 2.0)
    pairs = np.repeat(X, 2, axis=0)
    twice = transduction(rbf_space(pairs), np.arange(4), np.repeat(signs[:2], 2), 10, 10, 1.0, 1.0)
    single, double = solve_branch_and_bound(once), solve_branch_and_bound(twice)
    # Two equal rows may differ in their sign, but that the best labeling has no use for.
    assert double.objective[-1] == pytest.approx(single.objective[-1], rel=1e-7)
    np.testing.assert_array_equal(double.detail.labels[0, ::2], single.detail.labels[0])


def test_moons():
    moons = make_two_moons(80, n_per_class=1, random_state=0)
    known, y = np.sort(moons.labeled), np.where(moons.y > 0, 1.0, -1.0)
    problem = transduction(rbf_space(moons.X, 0.5), known, y[known], 39, 39, 10.0, 10.0)
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert result.status == "converged"
    np.testing.assert_array_equal(result.detail.labels[0], y)
    for name in SEARCHES:
        value = solve_transduction(problem, name).objective[-1]
        print(f"{name:>12}: excess on two moons {value / result.objective[-1] - 1:.4f}")
        assert value >= (1 - 1e-7) * result.objective[-1]


def test_sparse_rows_and_float_costs_per_row():
    dense = problem_of(0)
    costs = dense.costs * np.random.default_rng(0).uniform(0.5, 2, len(dense.costs))
    features = sp.csr_array(dense.ground.space.features)
    ground = Ground(FeatureSpace(features), dense.ground.unlabeled)
    problem = Transduction(ground, dense.label_set, costs, dense.share)
    known = dense.label_set
    listing = list_transductions(
        (features @ features.T).toarray(), costs, known.known, known.signs, known.least, known.most
    )
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert result.objective[-1] == pytest.approx(listing.best, rel=1e-6)


@pytest.mark.parametrize(
    ("n_known", "least", "most"),
    [(0, 3, 4), (0, 0, 8), (1, 4, 4), (2, 0, 0), (2, 6, 6), (8, 0, 0), (1, 0, 7)],
)
def test_few_labels_and_few_choices(n_known, least, most):
    X, signs = unlike(8)
    problem = transduction(rbf_space(X), np.arange(n_known), signs[:n_known], least, most, 5.0, 3.0)
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert result.status == "converged"
    assert result.objective[-1] == pytest.approx(listing_of(problem).best, rel=1e-6, abs=1e-12)


def test_unlabeled_rows_that_cost_nothing():
    X, signs = unlike(8)
    problem = transduction(rbf_space(X), np.arange(2), signs[:2], 3, 3, 5.0, 0.0)
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    primal, _ = fit_machines(np.linalg.cholesky(gram_of(problem)[:2, :2]), np.full(2, 5.0), signs[None, :2])
    assert result.objective[-1] == pytest.approx(primal[0], rel=1e-6)
    assert result.status == "converged"


@pytest.mark.parametrize("seed", [11, 17, 23])
def test_few_nodes_leave_a_gap_that_holds(seed):
    problem, best = problem_of(seed), listed(seed).best
    whole = solve_branch_and_bound(problem)
    assert whole.n_iter > 3
    result = solve_branch_and_bound(problem, max_nodes=3)
    check_machine(problem, result)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    assert 0 < result.criterion[-1] < 1
    assert result.objective[-1] >= (1 - 1e-6) * best
    assert lowest_bound(result) <= (1 + 1e-9) * best


def test_the_bound_rises_with_the_nodes():
    problem = overlapping()
    best = solve_branch_and_bound(problem).objective[-1]
    bounds = []
    for max_nodes in (1, 10, 100, 1000):
        result = solve_branch_and_bound(problem, max_nodes=max_nodes)
        bounds.append(lowest_bound(result))
        assert result.n_iter == max_nodes
        assert bounds[-1] <= (1 + 1e-9) * best
        assert result.objective[-1] >= (1 - 1e-9) * best
    assert (np.diff(bounds) >= 0).all()
    assert bounds[-1] > bounds[0]


def test_a_gap_within_the_tolerance_will_do():
    result = solve_branch_and_bound(overlapping(), tol=0.99, max_nodes=1)
    assert result.status == "converged"
    assert 0 < result.criterion[-1] <= 0.99


def test_no_time():
    problem = overlapping()
    result = solve_branch_and_bound(problem, max_seconds=0.0)
    check_machine(problem, result)
    assert (result.status, result.n_iter, result.criterion[-1]) == ("max_iter", 0, 1)


@pytest.mark.parametrize("n_sweeps", [0, 1, 5])
def test_a_machine_that_is_cut_short_still_bounds(n_sweeps):
    """Time may run out within a node: the dual of what there is stays below the optimum, the primal above."""
    problem = overlapping()
    rows = _branch_and_bound._rows_of(problem)
    labels = problem.best_labels(np.arange(len(problem.costs), dtype=float))
    root = root_of(gram_of(problem))
    exact, *_ = fit_margin(root, np.eye(root.shape[1]), labels, problem.costs, squared=True, intercept=True)
    table = _branch_and_bound._blank_table(rows)
    table.left[0] = n_sweeps
    dual, primal = fit(rows, table, labels, np.inf)
    assert 0 < dual < exact * (1 - 1e-6)
    assert primal > exact * (1 + 1e-6)
    table.left[0] = 10**6
    assert fit(rows, table, labels, np.inf) == pytest.approx((exact, exact), rel=1e-6)


def test_an_outlier_of_1e12():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) + [4, 0] * np.where(np.arange(20) % 2, 1, -1)[:, None]
    X[7, 1] = 1e12
    problem = transduction(FeatureSpace(X), [0, 1], [-1, 1], 9, 9)
    result = solve_branch_and_bound(problem, max_nodes=200)
    assert np.isfinite(result.objective).all()
    np.testing.assert_array_equal(result.detail.labels[0], np.where(np.arange(20) % 2, 1, -1))


def test_callback_stops():
    problem, seen = overlapping(), []
    assert solve_branch_and_bound(problem, callback=seen.append).converged
    assert seen[0] == 0
    assert (np.diff(seen) > 0).all()
    assert (np.diff(seen) <= 256).all()
    result = solve_branch_and_bound(problem, callback=lambda n_nodes: n_nodes >= 500)
    check_machine(problem, result)
    assert result.status == "stopped"
    assert 500 <= result.n_iter < 500 + 256
    assert result.criterion[-1] > 0


def test_interrupts_stop(monkeypatch):
    problem = overlapping()
    best = solve_branch_and_bound(problem).objective[-1]
    calls = SimpleNamespace(left=2)
    whole = _branch_and_bound.explore

    def interrupted(*args):
        calls.left -= 1
        if calls.left < 0:
            raise KeyboardInterrupt
        return whole(*args)

    monkeypatch.setattr(_branch_and_bound, "explore", interrupted)
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert result.status == "interrupted"
    assert result.n_iter > 0
    assert lowest_bound(result) <= (1 + 1e-9) * best


def test_interrupt_before_the_tree(monkeypatch):
    def interrupted(problem):
        raise KeyboardInterrupt

    monkeypatch.setitem(_branch_and_bound.SEARCHES, "annealing", interrupted)
    problem = overlapping()
    result = solve_branch_and_bound(problem)
    check_machine(problem, result)
    assert (result.status, result.n_iter, result.criterion[-1]) == ("interrupted", 0, 1)


def test_table_holds_the_inverse_and_what_it_leaves():
    problem = overlapping(10.0)
    rows = _branch_and_bound._rows_of(problem)
    table = _branch_and_bound._blank_table(rows)
    rng = np.random.default_rng(0)
    bordered = np.block([[rows.matrix, np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
    for _ in range(30):
        support = rng.random(40) < 0.3
        turn_to(rows.matrix, table, support)
        inside = np.append(support, True)
        inverse = np.linalg.inv(bordered[np.ix_(inside, inside)])
        across = bordered[np.ix_(~inside, inside)]
        outside = bordered[np.ix_(~inside, ~inside)] - across @ inverse @ across.T
        np.testing.assert_allclose(table.entries[np.ix_(inside, inside)], -inverse, atol=1e-10)
        np.testing.assert_allclose(table.entries[np.ix_(~inside, inside)], across @ inverse, atol=1e-10)
        np.testing.assert_allclose(table.entries[np.ix_(~inside, ~inside)], outside, atol=1e-10)


def test_promises_hold_in_a_wrong_table():
    problem = problem_of(11)
    rows, root = _branch_and_bound._rows_of(problem), root_of(gram_of(problem))
    signs = np.zeros(len(problem.costs))
    signs[problem.label_set.known] = problem.label_set.signs
    table = _branch_and_bound._blank_table(rows)
    bound, _ = fit(rows, table, signs, np.inf)
    rng = np.random.default_rng(0)
    table.entries[:] *= 1 + 0.5 * rng.random(table.entries.shape)
    table.scores[:] -= 0.5
    probe(rows, table, signs)
    n_wrong = 0
    for row in problem.ground.unlabeled:
        more = np.append(np.flatnonzero(signs), row)
        both = np.append(np.tile(problem.label_set.signs, (2, 1)), [[1.0], [-1.0]], axis=1)
        values, _ = fit_machines(root[more], problem.costs[more], both)
        for side in (0, 1):
            assert promise(rows, table, signs, bound, row, side) <= values[side] * (1 + 1e-12)
            n_wrong += bound + table.gains[row, side] > values[side] * (1 + 1e-12)
    assert n_wrong > 0


def test_the_bound_of_any_coefficients_holds():
    problem, listing = problem_of(5), listed(5)
    rows = _branch_and_bound._rows_of(problem)
    rng = np.random.default_rng(0)
    for labels, value in zip(listing.labels[:50], listing.values[:50], strict=True):
        table = _branch_and_bound._blank_table(rows)
        fit(rows, table, labels, np.inf)
        for size in (1e-6, 1e-3, 0.1, 1.0):  # some get the wrong sign, and no sum is 0
            x = table.x + rng.normal(size=len(labels)) * size * np.abs(table.x).max()
            assert dual_of(rows, x, labels) <= value * (1 + 1e-12)


def test_gap_is_that_of_the_lowest_open_branch():
    search = _branch_and_bound._Search(overlapping(), 1e-4)
    assert search.gap(10.0) == 1
    search.tree.depth[0] = 2
    search.tree.n_left[:3] = 1, 2, 0
    search.tree.bounds[:3] = [[0.0, 5.0], [3.0, 4.0], [1.0, 2.0]]
    assert search.gap(10.0) == pytest.approx(0.7)
    search.tree.n_left[1] = 1
    assert search.gap(10.0) == pytest.approx(0.6)
    search.tree.depth[0] = -1
    assert search.gap(10.0) == 0
