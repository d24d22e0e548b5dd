"""Transductive machines against a convex solver, lists of labelings, and what all optimisers promise."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons

from tests.oracles.convex import fit_margin
from tests.oracles.labelings import all_signs
from tests.oracles.transductions import fit_machines
from weakly.solvers import fit_rows
from weakly.solvers._centered_rows import CenteredRows
from weakly.solvers._label_sets import SignSet
from weakly.spaces import FeatureSpace, KernelSpace
from weakly.svm import _transduction_problem as _transduction
from weakly.svm._transduction_problem import Found, Ground, Transduction, finish, settle
from weakly.svm._transduction_search import SEARCHES, _Descent, _swap, solve_transduction

OPTIMIZERS = pytest.mark.parametrize("optimizer", SEARCHES)
SEEDS = st.integers(0, 10_000)


def rbf(X, width=2.0):
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * width**2))


SPACES = {
    "rbf": lambda X: KernelSpace(rbf(X)),
    "linear kernel": lambda X: KernelSpace(X @ X.T),
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(sp.csr_array(X)),
}


def transduction(space, known, signs, least, most, labeled_cost=1.0, unlabeled_cost=1.0):
    n_rows = space.n_rows
    unlabeled = np.setdiff1d(np.arange(n_rows), known)
    costs = np.full(n_rows, float(unlabeled_cost))
    costs[known] = labeled_cost
    share = np.clip((least + most) / 2 / max(len(unlabeled), 1), 0.01, 0.99)
    label_set = SignSet(np.asarray(known), np.asarray(signs, dtype=float), n_rows, least, most)
    return Transduction(Ground(space, unlabeled), label_set, costs, float(share))


def random_problem(seed):
    """Few rows, at times equal ones, any number of labels, and bounds that are equal in half of the cases."""
    rng = np.random.default_rng(seed)
    n_unlabeled, n_labeled = int(rng.integers(1, 10)), int(rng.integers(1, 5))
    n_rows = n_unlabeled + n_labeled
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += rng.choice([0, 2]) * rng.choice([-1, 1], n_rows)
    if rng.random() < 0.2:
        X = np.round(X)
    known = np.sort(rng.choice(n_rows, n_labeled, replace=False))
    least, most = (int(bound) for bound in np.sort(rng.integers(0, n_unlabeled + 1, 2)))
    if rng.random() < 0.5:
        least = most
    space = SPACES[list(SPACES)[seed % len(SPACES)]](X)
    costs = rng.choice([0.01, 1.0, 100.0], 2)
    return transduction(space, known, rng.choice([-1.0, 1.0], n_labeled), least, most, *costs)


def blobs(kind="rbf", n_rows=40, distance=8.0, seed=0):
    """Two clouds, of which the first row of each has a label, with two thirds of rows in the first."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n_rows) % 3 == 1, 1.0, -1.0)
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += distance / 2 * signs
    n_positive = int((signs[2:] > 0).sum())
    return transduction(SPACES[kind](X), [0, 1], signs[:2], n_positive, n_positive), signs


def gram_of(space):
    if isinstance(space, KernelSpace):
        return space.gram
    if isinstance(space, CenteredRows):
        return space.shifted_products()
    features = space.features.toarray() if sp.issparse(space.features) else space.features
    return features @ features.T


def root_of(gram):
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, values > 1e-12 * values[-1]]


def best_objective(problem, labels):
    """``J`` of these labels by another solver, which certifies it."""
    primal, dual = fit_machines(root_of(gram_of(problem.ground.space)), problem.costs, labels[None])
    assert primal[0] == pytest.approx(dual[0], rel=1e-8, abs=1e-9)
    return primal[0]


def objective_of(problem, result):
    """``J`` of the machine that was returned, term by term."""
    space, (labels,) = problem.ground.space, result.detail.labels
    scores = space.scores(result.x) + result.intercept
    slack = np.maximum(1 - labels * scores, 0)
    return float(space.inner(result.x, result.x)) / 2 + problem.costs @ slack**2 / 2


def check(problem, result, *, tol=1e-4):
    """Labels within the balance, a history that never rises, and the best machine for these labels."""
    (labels,) = result.detail.labels
    known = problem.label_set
    assert np.isin(labels, [-1, 1]).all()
    np.testing.assert_array_equal(labels[known.known], known.signs)
    assert known.least <= (labels[problem.ground.unlabeled] > 0).sum() <= known.most
    assert result.objective[-1] == pytest.approx(objective_of(problem, result), rel=1e-9, abs=1e-12)
    assert (np.diff(result.objective) <= 1e-7 * result.objective[:-1]).all()
    assert len(result.criterion) == len(result.objective)
    assert result.objective[-1] == pytest.approx(best_objective(problem, labels), rel=tol, abs=tol**2)


@given(seed=SEEDS)
@settings(max_examples=80, deadline=None)
def test_best_labels_have_the_least_loss(seed):
    problem = random_problem(seed)
    known, unlabeled = problem.label_set, problem.ground.unlabeled
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=rng.choice([0.5, 3.0]), size=len(problem.costs)) + rng.normal()
    listed = all_signs(known.known, known.signs, known.n_rows, known.least, known.most)
    losses = (np.maximum(1 - listed[:, unlabeled] * scores[unlabeled], 0) ** 2).sum(axis=1)
    labels = problem.best_labels(scores)
    assert (listed == labels).all(axis=1).any()
    reached = (np.maximum(1 - labels[unlabeled] * scores[unlabeled], 0) ** 2).sum()
    assert reached == pytest.approx(losses.min(), rel=1e-12, abs=1e-12)


def test_losses_of_labels():
    problem, signs = blobs()
    problem = replace(problem, costs=np.where(np.arange(40) < 2, 3.0, 0.5))
    np.testing.assert_array_equal(problem.unlabeled_costs, [0, 0] + [0.5] * 38)
    np.testing.assert_array_equal(problem.labeled_loss.positive, [0, 3] + [0] * 38)
    np.testing.assert_array_equal(problem.labeled_loss.negative, [3, 0] + [0] * 38)
    scores = np.random.default_rng(0).normal(size=40)
    losses = np.maximum(1 - signs * scores, 0) ** 2 / 2
    expected = 3 * losses[:2].sum() + 0.25 * 0.5 * losses[2:].sum()
    assert problem.loss_of(signs, 0.25).value(scores) == pytest.approx(expected, rel=1e-12)


@given(seed=SEEDS)
@settings(max_examples=80, deadline=None)
def test_settling_never_raises_the_objective(seed):
    problem = random_problem(seed)
    scores = np.random.default_rng(seed).normal(size=len(problem.costs))
    machine, labels, history = settle(problem, Found(scores, 0.0), 1e-8)
    assert (np.diff(history) <= 1e-9 * np.array(history[:-1])).all()
    assert history[-1] == machine.objective
    np.testing.assert_array_equal(labels, problem.best_labels(machine.scores))
    for value, signs in ((history[0], problem.best_labels(scores)), (history[-1], labels)):
        assert value == pytest.approx(best_objective(problem, signs), rel=1e-6, abs=1e-9)


@OPTIMIZERS
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_any_small_problem(optimizer, seed):
    problem = random_problem(seed)
    result = solve_transduction(problem, optimizer, tol=1e-6)
    check(problem, result, tol=1e-5)
    assert solve_transduction(problem, optimizer).status == "converged"
    scores = problem.ground.space.scores(result.x) + result.intercept
    own = problem.loss_of(problem.best_labels(scores)).value(scores)  # labels differ where scores tie
    assert problem.loss_of(result.detail.labels[0]).value(scores) == pytest.approx(own, rel=1e-9, abs=1e-12)


@OPTIMIZERS
@pytest.mark.parametrize("kind", SPACES)
def test_clouds_far_apart_are_labeled_without_error(optimizer, kind):
    problem, signs = blobs(kind)
    result = solve_transduction(problem, optimizer)
    np.testing.assert_array_equal(result.detail.labels, [signs])
    check(problem, result)
    free = replace(problem, label_set=replace(problem.label_set, least=5, most=30))
    np.testing.assert_array_equal(solve_transduction(free, optimizer).detail.labels, [signs])


@OPTIMIZERS
def test_a_kernel_and_its_features_give_the_same_labels(optimizer):
    features, _ = blobs("dense", distance=3.0, seed=1)
    kernel, _ = blobs("linear kernel", distance=3.0, seed=1)
    results = [solve_transduction(problem, optimizer, tol=1e-8) for problem in (features, kernel)]
    np.testing.assert_array_equal(results[0].detail.labels, results[1].detail.labels)
    assert results[0].objective[-1] == pytest.approx(results[1].objective[-1], rel=1e-8)
    np.testing.assert_allclose(
        features.ground.space.scores(results[0].x) + results[0].intercept,
        kernel.ground.space.scores(results[1].x) + results[1].intercept,
        atol=1e-5,
    )


@OPTIMIZERS
def test_single_precision_of_sparse_rows(optimizer):
    """Their entries are single, all sums are double."""
    problem, _ = blobs("sparse", distance=3.0)
    single = problem.ground.space.features.astype(np.float32)
    grounds = [Ground(FeatureSpace(X), np.arange(2, 40)) for X in (single, single.astype(np.float64))]
    results = [solve_transduction(replace(problem, ground=ground), optimizer) for ground in grounds]
    np.testing.assert_array_equal(results[0].detail.labels, results[1].detail.labels)
    assert results[0].objective[-1] == pytest.approx(results[1].objective[-1], rel=1e-7)
    assert results[0].x.dtype == np.float64


@OPTIMIZERS
def test_signs_exchanged_and_rows_in_another_order(optimizer):
    problem, signs = blobs(distance=3.0, seed=2)
    expected = solve_transduction(problem, optimizer)
    order = np.random.default_rng(0).permutation(40)
    space = KernelSpace(problem.ground.space.gram[np.ix_(order, order)])
    known = np.sort(np.flatnonzero(order < 2))
    n_positive = 38 - problem.label_set.most
    turned = transduction(space, known, -signs[order[known]], n_positive, n_positive)
    result = solve_transduction(turned, optimizer)
    np.testing.assert_array_equal(result.detail.labels[0], -expected.detail.labels[0, order])
    assert result.objective[-1] == pytest.approx(expected.objective[-1], rel=1e-6)


@OPTIMIZERS
def test_no_unlabeled_rows(optimizer):
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(12, 2)), rng.choice([-1.0, 1.0], 12)
    problem = transduction(KernelSpace(rbf(X)), np.arange(12), signs, 0, 0, labeled_cost=2.0)
    result = solve_transduction(problem, optimizer, tol=1e-8)
    assert (result.status, result.n_iter) == ("converged", 0)
    np.testing.assert_array_equal(result.detail.labels, [signs])
    check(problem, result, tol=1e-6)


@OPTIMIZERS
@pytest.mark.parametrize("kind", ["rbf", "dense"])
@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1), (1, 1)])
def test_one_unlabeled_row(optimizer, kind, least, most):
    X = np.array([[-1.0, 0.0], [1.0, 0.2], [0.6, 0.1]])
    problem = transduction(SPACES[kind](X), [0, 1], [-1.0, 1.0], least, most)
    result = solve_transduction(problem, optimizer)
    check(problem, result)
    assert result.detail.labels[0, 2] == (1 if most else -1)


@OPTIMIZERS
@pytest.mark.parametrize("signs", [[1.0], [-1.0, -1.0]])
def test_labels_of_one_sign(optimizer, signs):
    """The balance alone brings in the other class."""
    X = np.random.default_rng(3).normal(size=(15, 2))
    problem = transduction(KernelSpace(rbf(X)), np.arange(len(signs)), signs, 6, 6)
    check(problem, solve_transduction(problem, optimizer))


@OPTIMIZERS
def test_rows_that_are_all_equal(optimizer):
    """No function tells them apart; the balance still holds, and the offset is that of the majority."""
    problem = transduction(KernelSpace(np.ones((9, 9))), [0, 1], [-1.0, 1.0], 2, 2)
    result = solve_transduction(problem, optimizer, tol=1e-8)
    assert (result.detail.labels > 0).sum() == 3
    assert result.status == "converged"
    # 3 (1 - t) = 6 (1 + t), and nothing is gained by a function.
    assert result.objective[-1] == pytest.approx((3 * (4 / 3) ** 2 + 6 * (2 / 3) ** 2) / 2, rel=1e-9)


@OPTIMIZERS
def test_callbacks_see_every_stage_and_stop(optimizer):
    problem, _ = blobs(distance=3.0)
    seen = []
    whole = solve_transduction(problem, optimizer, callback=seen.append)
    assert whole.status == "converged"
    assert seen == list(range(whole.n_iter + 1))
    assert whole.n_iter > 2
    for last in (0, 1, 2):
        stopped = solve_transduction(problem, optimizer, callback=lambda n, last=last: n >= last)
        assert (stopped.status, stopped.n_iter) == ("stopped", last)
        check(problem, stopped)
        assert len(stopped.objective) == 1  # one machine, and no further labels


@OPTIMIZERS
def test_an_interrupt_keeps_what_was_found(optimizer):
    problem, _ = blobs(distance=3.0)

    def interrupted():
        search = SEARCHES[optimizer](problem)
        yield next(search)
        yield next(search)
        raise KeyboardInterrupt

    result = finish(problem, interrupted(), tol=1e-4)
    assert (result.status, result.n_iter) == ("interrupted", 2)
    check(problem, result)
    asked = solve_transduction(problem, optimizer, callback=lambda n: n >= 2)
    np.testing.assert_array_equal(result.detail.labels, asked.detail.labels)


def test_an_interrupt_before_anything_was_found():
    problem, _ = blobs(distance=3.0)

    def interrupted():
        raise KeyboardInterrupt
        yield

    result = finish(problem, interrupted(), tol=1e-6)
    assert (result.status, result.n_iter) == ("interrupted", 0)
    check(problem, result)
    supervised = problem.supervised(1e-6)
    root = root_of(gram_of(problem.ground.space))[:2]
    value, _, _ = fit_margin(
        root, np.eye(root.shape[1]), problem.label_set.signs, np.ones(2), squared=True, intercept=True
    )
    assert supervised.objective == pytest.approx(value, rel=1e-6)
    _, labels, history = settle(problem, Found(supervised.scores, 0.0), 1e-6, most_rounds=1)
    np.testing.assert_array_equal(result.detail.labels[0], labels)
    np.testing.assert_allclose(result.objective, history, rtol=1e-6)


def test_an_interrupt_of_a_callback():
    problem, _ = blobs(distance=3.0)

    def interrupting(n):
        if n == 3:
            raise KeyboardInterrupt

    result = solve_transduction(problem, callback=interrupting)
    assert (result.status, result.n_iter) == ("interrupted", 3)
    check(problem, result)


def test_a_machine_that_is_not_done(monkeypatch):
    problem, _ = blobs(distance=3.0)
    monkeypatch.setattr(_transduction, "fit_rows", partial(fit_rows, max_iter=1))
    result = solve_transduction(problem, "multi_switch", tol=1e-12)
    assert result.status == "max_iter"
    assert result.criterion[-1] > 1e-12


@pytest.mark.parametrize("kind", SPACES)
def test_centered_functions(kind):
    ground = blobs(kind, distance=3.0)[0].ground
    centering = np.eye(40)
    centering[:, ground.unlabeled] -= 1 / len(ground.unlabeled)
    expected = centering @ gram_of(ground.space) @ centering.T
    np.testing.assert_allclose(gram_of(ground.centered), expected, atol=1e-10)
    np.testing.assert_allclose(gram_of(ground.coordinates), expected, atol=1e-8)
    for space in (ground.centered, ground.coordinates):
        theta = np.random.default_rng(0).normal(size=space.n_params)
        assert space.scores(theta)[ground.unlabeled].mean() == pytest.approx(0, abs=1e-5)
    assert ground.coordinates.n_params <= (40 if kind == "rbf" else 2)


@pytest.mark.parametrize("kind", SPACES)
def test_centered_functions_with_an_offset_are_the_same_functions(kind):
    problem, signs = blobs(kind, distance=3.0)
    ground, loss = problem.ground, problem.loss_of(signs)
    expected = fit_rows(ground.space, loss, tol=1e-10)
    for space in (ground.centered, ground.coordinates):
        fit = fit_rows(space, loss, tol=1e-10)
        assert fit.objective == pytest.approx(expected.objective, rel=1e-8)
        np.testing.assert_allclose(fit.scores, expected.scores, atol=1e-5)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("is_labeled", [False, True])
def test_back_to_the_space_that_was_given(kind, is_labeled):
    """With no unlabelled rows it is centred on all."""
    ground = blobs(kind)[0].ground
    ground = Ground(ground.space, np.zeros(0, dtype=int)) if is_labeled else ground
    theta = np.random.default_rng(0).normal(size=ground.centered.n_params)
    raw, offset = ground.uncentered(theta, 0.7)
    expected = ground.centered.scores(theta) + 0.7
    np.testing.assert_allclose(ground.space.scores(raw) + offset, expected, atol=1e-9)
    metric = gram_of(ground.centered) if isinstance(ground.space, KernelSpace) else np.eye(len(theta))
    assert ground.space.inner(raw, raw) == pytest.approx(theta @ metric @ theta, rel=1e-9)


@OPTIMIZERS
def test_features_beyond_the_number_of_samples_cost_nothing(optimizer):
    """The solver works in the span of the samples, and returns the function that their kernel gives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 300)) + 3 * np.repeat([-1.0, 1.0], 6)[:, None] * (np.arange(300) < 2)
    spaces = FeatureSpace(X), KernelSpace(X @ X.T)
    problems = [transduction(space, [0, 6], [-1, 1], 5, 5) for space in spaces]
    features, kernel = (solve_transduction(problem, optimizer, tol=1e-10) for problem in problems)
    assert problems[0].ground.centered.n_params == problems[0].ground.coordinates.n_params == 12
    assert features.objective[-1] == pytest.approx(kernel.objective[-1], rel=1e-9)
    np.testing.assert_allclose(features.x, X.T @ kernel.x, atol=1e-7)
    assert features.intercept == pytest.approx(kernel.intercept, abs=1e-7)


@pytest.mark.parametrize("optimizer", ["cccp", "gradient", "newton", "continuation"])
@pytest.mark.parametrize("kind", SPACES)
def test_the_balance_is_a_mean(optimizer, kind):
    problem, _ = blobs(kind, distance=2.0)
    wanted = 2 * problem.label_set.most / 38 - 1
    for found in SEARCHES[optimizer](problem):
        assert found.values[2:].mean() + found.offset == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("offset", [None, -0.3])
def test_descent_ends_where_newton_does(kind, offset):
    """On a convex loss, whose minimum there is no way to miss."""
    problem, signs = blobs(kind, distance=3.0)
    ground, loss = problem.ground, problem.loss_of(signs)
    descent = _Descent(problem, offset)
    found = descent.to(problem.smooth(problem.loss_of(signs, 0.1)))
    found = descent.to(problem.smooth(loss))
    expected = fit_rows(ground.centered, loss, offset=offset, tol=1e-10)
    np.testing.assert_allclose(found.values + found.offset, expected.scores, atol=0.02)
    assert found.machine is None


@pytest.mark.parametrize("optimizer", ["switching", "multi_switch"])
def test_switched_labels_keep_the_balance_and_lower_the_objective(optimizer, monkeypatch):
    X, y = make_moons(80, noise=0.05, random_state=0)
    known = np.sort([np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]])
    problem = transduction(KernelSpace(rbf(X, 1.0)), known, 2.0 * y[known] - 1, 39, 39)
    fitted = []

    def recorded(problem, labels, start, tol, factor=1.0):
        fitted.append((labels, factor))
        return whole(problem, labels, start, 1e-6, factor)

    whole = Transduction.machine_of
    monkeypatch.setattr(Transduction, "machine_of", recorded)
    values = [found.machine.objective for found in SEARCHES[optimizer](problem)]
    n_switches = 0
    for k, (labels, factor) in enumerate(fitted):
        assert (labels[problem.ground.unlabeled] > 0).sum() == 39
        if k and factor == fitted[k - 1][1]:
            n_switches += 1
            assert values[k] < values[k - 1]
            if optimizer == "switching":
                assert (labels != fitted[k - 1][0]).sum() == 2
    assert n_switches > 1
    assert fitted[0][1] < 0.01
    assert fitted[-1][1] == 1


def test_the_pair_that_gains_most_is_swapped():
    labels = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    best = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    scores = np.array([3.0, -0.5, -2.0, 1.0, -3.0, 2.0])
    swapped = _swap(labels, best, scores)
    assert swapped.tolist() == [1, 1, -1, -1, -1, 1]
    assert _swap(swapped, best, scores).tolist() == best.tolist()
    assert labels.tolist() == [1, 1, 1, -1, -1, -1]


def test_nothing_is_written_to():
    problem, _ = blobs("linear kernel", distance=3.0)
    dense, _ = blobs("dense", distance=3.0)
    arrays = [problem.ground.space.gram, dense.ground.space.features]
    for one in (problem, dense):
        arrays += [one.costs, one.ground.unlabeled, one.label_set.known, one.label_set.signs]
    for array in arrays:
        array.flags.writeable = False
    for optimizer in SEARCHES:
        solve_transduction(problem, optimizer)
        solve_transduction(dense, optimizer)
