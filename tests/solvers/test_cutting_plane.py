"""Cutting planes over labels against a list of all labelings, given to cvxpy."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, LinearSVC

from tests.oracles.convex import fit_margin
from tests.oracles.labelings import all_signs, relaxation
from weakly.solvers import KernelMachine, LinearMachine, solve_box_dual, solve_cutting_plane, weigh_labels
from weakly.solvers import _cutting_plane as cutting_plane
from weakly.solvers import _linear_machine as linear
from weakly.solvers._label_machine import box, supervised_scores
from weakly.solvers._label_sets import SignSet

LOSSES = ["hinge", "squared_hinge"]


def tiny(seed, loss, *, n_rows=8, n_known=2, margin=0, costs=(2.0, 0.7)):
    """Rows in two clumps, a sign of each clump, and the kernel; all labelings with half of them positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) + np.where(np.arange(n_rows) % 2, 0.5, -0.5)[:, None]
    known, signs = np.arange(n_known), np.where(np.arange(n_known) % 2, 1.0, -1.0)
    half = (n_rows - n_known) // 2
    label_set = SignSet(known, signs, n_rows, half - margin, half + margin)
    C = np.where(np.arange(n_rows) < n_known, costs[0], costs[1])
    machine = KernelMachine(X @ X.T, label_set, C, loss, tol=1e-6)
    return machine, all_signs(known, signs, n_rows, half - margin, half + margin)


def oracle(machine, labels):
    kernels = [machine.kernel * np.outer(y, y) for y in labels]
    return relaxation(kernels, machine.upper, machine.ridge)[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_the_dual_of_one_labeling_matches_cvxpy(loss, seed):
    machine, labels = tiny(seed, loss)
    y, costs = labels[0], machine.upper if loss == "hinge" else 1 / machine.ridge
    matrix = machine.kernel * np.outer(y, y) + np.diag(machine.ridge)
    result = solve_box_dual(matrix, machine.upper, tol=1e-9)
    lower, vectors = np.linalg.eigh(machine.kernel)
    Z = (vectors * np.sqrt(np.maximum(lower, 0)))[:, -3:]
    value, u, _ = fit_margin(Z, np.eye(3), y, costs, squared=loss == "squared_hinge")
    assert result.converged
    assert result.objective[-1] == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(machine.kernel @ (y * result.x), Z @ u, atol=1e-4)


def test_the_hinge_dual_matches_libsvm():
    # LIBSVM has an offset; a kernel of rows and their mirror images leaves nothing for it to do.
    rng = np.random.default_rng(0)
    half = rng.normal(size=(30, 4)) + 0.5
    X, y = np.vstack([half, -half]), np.repeat([1.0, -1.0], 30)
    costs = rng.uniform(0.1, 3.0, size=30)
    expected = SVC(C=1.0, kernel="linear", tol=1e-8).fit(X, y, sample_weight=np.tile(costs, 2))
    upper, _ = box(np.tile(costs, 2), "hinge")
    result = solve_box_dual(np.outer(y, y) * (X @ X.T), upper, tol=1e-9, max_iter=100_000)
    np.testing.assert_allclose(X @ X.T @ (result.x * y), expected.decision_function(X), atol=1e-5)


def test_the_squared_hinge_dual_matches_liblinear():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), rng.choice([-1.0, 1.0], size=60)
    costs = rng.uniform(0.1, 3.0, size=60)
    # LIBLINEAR charges C xi^2, without the half.
    expected = LinearSVC(C=0.5, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(
        X, y, sample_weight=costs
    )
    upper, ridge = box(costs, "squared_hinge")
    result = solve_box_dual(np.outer(y, y) * (X @ X.T) + np.diag(ridge), upper, tol=1e-10)
    np.testing.assert_allclose(X.T @ (result.x * y), expected.coef_[0], atol=1e-6)


def test_a_row_of_zeros_and_a_warm_start():
    matrix, upper = np.diag([0.0, 2.0, 4.0]), np.array([3.0, 1.0, 1.0])
    result = solve_box_dual(matrix, upper)
    np.testing.assert_allclose(result.x, [3.0, 0.5, 0.25])
    assert matrix[0, 0] == 0.0  # the caller's matrix stays as it was
    again = solve_box_dual(matrix, upper, start=result.x + 1e-12)
    assert again.n_iter == 1
    assert solve_box_dual(matrix, upper, tol=1e-9, max_iter=1, start=np.zeros(3)).criterion[0] == 1.0


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n),
            st.lists(st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.5]), min_size=n, max_size=n),
            st.integers(0, n - 1),
            st.tuples(st.integers(0, n), st.integers(0, n)),
        )
    )
)
def test_the_best_signs_are_the_best_of_all(case):
    dual, scores, n_known, bounds = (np.array(part) for part in case)
    n_rows = len(dual)
    known, signs = np.arange(int(n_known)), np.where(np.arange(int(n_known)) % 2, 1.0, -1.0)
    least, most = sorted(int(min(b, n_rows - n_known)) for b in bounds)
    best = SignSet(known, signs, n_rows, least, most).best(dual, scores)
    listed = all_signs(known, signs, n_rows, least, most)
    assert any((best == one).all() for one in listed)
    assert best @ (dual * scores) == pytest.approx((listed @ (dual * scores)).max())


def test_rows_without_weight_follow_their_scores():
    signs = SignSet(np.zeros(0, dtype=int), np.zeros(0), 4, 2, 2)
    best = signs.best(np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.5, -0.2, 0.1, 0.3]))
    assert best.tolist() == [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize("rule", ["accelerated", "paper"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_some_labelings_match_cvxpy(rule, loss, seed):
    machine, labels = tiny(seed, loss)
    some = labels[:: max(1, len(labels) // 5)]
    first = np.full(len(some), 1 / len(some))
    found = weigh_labels(
        machine, some, first, np.zeros(len(machine.ridge)), rule=rule, tol=1e-5, max_iter=20_000
    )
    value = oracle(machine, some)
    assert found.gap <= 1e-5 * found.objective
    assert value * (1 - 1e-5) <= found.objective <= value * (1 + 2e-5)


def test_accelerated_weights_need_fewer_solves():
    machine, labels = tiny(0, "squared_hinge", n_rows=12)

    def count(rule):
        solves = []
        counted = KernelMachine(machine.kernel, machine.label_set, 1 / machine.ridge, tol=1e-8)
        solve = counted.solve
        counted.solve = lambda *args, **how: solves.append(0) or solve(*args, **how)
        first = np.full(len(labels), 1 / len(labels))
        weigh_labels(counted, labels, first, np.zeros(12), rule=rule, tol=1e-3, max_iter=5000)
        return len(solves)

    assert count("accelerated") < count("paper") / 3


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_restarts_reach_the_relaxation(loss, seed, margin):
    machine, labels = tiny(seed, loss, margin=margin)
    bound = oracle(machine, labels)
    result = solve_cutting_plane(machine, labels[0], oracle="restarts", tol=1e-5, max_labels=100)
    assert result.status in ("converged", "stalled")
    assert bound * (1 - 1e-5) <= result.objective[-1] <= bound * (1 + 1e-3)


@pytest.mark.parametrize("how", ["step", "ascent", "restarts"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_objectives_fall_to_the_relaxation_and_not_below(how, loss, seed):
    machine, labels = tiny(seed, loss)
    alone = [oracle(machine, label[None]) for label in labels]
    bound = oracle(machine, labels)
    assert bound <= min(alone) * (1 + 1e-5)
    worst = labels[int(np.argmax(alone))]
    result = solve_cutting_plane(machine, worst, oracle=how)
    assert (np.diff(result.objective) <= 1e-6 * result.objective[0]).all()
    assert result.objective[-1] >= bound * (1 - 1e-5)
    assert result.objective[0] == pytest.approx(max(alone), rel=1e-5)
    assert len(result.objective) == len(result.criterion) == result.n_iter
    assert result.detail.weights.sum() == pytest.approx(1.0)
    assert len(result.detail.labels) == len(result.detail.weights)
    assert all(any((row == label).all() for label in labels) for row in result.detail.labels)


def test_weights_that_did_not_settle_are_said_to_be_so(monkeypatch):
    machine, labels = tiny(1, "squared_hinge", n_rows=12)
    first, zero = np.full(len(labels), 1 / len(labels)), np.zeros(12)
    settled = weigh_labels(machine, labels, first, zero)
    assert settled.is_solved
    assert settled.gap <= 1e-3 * settled.objective
    hasty = weigh_labels(machine, labels, first, zero, max_iter=1)
    assert not hasty.is_solved
    assert hasty.gap > 1e-3 * hasty.objective
    start = labels[0]
    assert solve_cutting_plane(machine, start).status != "max_iter"
    monkeypatch.setattr(cutting_plane, "weigh_labels", partial(weigh_labels, max_iter=1))
    assert solve_cutting_plane(machine, start, max_labels=50).status == "max_iter"


def interrupt():
    raise KeyboardInterrupt


def test_why_it_stopped():
    machine, labels = tiny(1, "squared_hinge", n_rows=12)
    best = labels[int(np.argmin([oracle(machine, label[None]) for label in labels]))]
    full = solve_cutting_plane(machine, labels[0], tol=1e-6, max_labels=50)
    assert full.status in ("converged", "stalled")
    assert len(full.detail.labels) > 1
    assert solve_cutting_plane(machine, labels[0], tol=1e-6, max_labels=1).status == "max_iter"
    assert solve_cutting_plane(machine, labels[0], tol=1e-6, callback=lambda: True).status == "stopped"
    interrupted = solve_cutting_plane(machine, labels[0], tol=1e-6, callback=interrupt)
    assert (interrupted.status, interrupted.n_iter) == ("interrupted", 1)
    np.testing.assert_array_equal(interrupted.detail.labels, labels[:1])
    assert solve_cutting_plane(machine, best, tol=0.5).status == "converged"
    with pytest.raises(ValueError, match="use one of step, ascent, restarts"):
        solve_cutting_plane(machine, best, oracle="best")


def sparse_problem(loss, center, offset=0.0, seed=0, n_rows=60, n_features=12):
    """The same problem on sparse rows and on their Gram matrix, and some labelings."""
    rng = np.random.default_rng(seed)
    keep = (rng.random((n_rows, n_features)) < 0.3) & (np.arange(n_rows) != 3)[:, None]  # row 3 is empty
    X = sp.csr_array(rng.normal(size=(n_rows, n_features)) * keep)
    dense = X.toarray() - (X.toarray().mean(axis=0) if center else 0)
    known, signs = np.arange(10), np.where(np.arange(10) % 2, 1.0, -1.0)
    label_set = SignSet(known, signs, n_rows, 20, 30)
    costs = np.where(np.arange(n_rows) < 10, 2.0, rng.uniform(0.1, 0.5, size=n_rows))
    constant = offset * (dense**2).sum(axis=1).mean()
    gram = KernelMachine(dense @ dense.T + constant, label_set, costs, loss, tol=1e-10)
    labels = np.array([label_set.best(np.ones(n_rows), rng.normal(size=n_rows)) for _ in range(4)])
    rows = LinearMachine(X, label_set, costs, loss, center=center, offset=offset, tol=1e-13)
    return gram, rows, labels


@pytest.mark.parametrize("kind", [linear._Grouped, linear._Interleaved])
@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_linear_passes_solve_the_problem_of_the_gram_matrix(loss, center, offset, kind, monkeypatch):
    gram, rows, labels = sparse_problem(loss, center, offset)
    monkeypatch.setattr(rows, "_prepare", lambda labels, dual: kind(rows, labels, dual.copy()))
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    exact, norms, _ = gram.solve(labels, weights, np.zeros(60))
    dual, is_solved, n_passes = np.zeros(60), False, 0
    while not is_solved:
        dual, linear_norms, is_solved = rows.solve(labels, weights, dual)
        n_passes += 1
    assert n_passes < 500
    np.testing.assert_allclose(linear_norms, norms, rtol=1e-4)
    for machine, point in ((gram, exact), (rows, dual)):
        mixed = weights @ machine.label_set.coefficients(point, labels)
        scores = machine.scores(mixed[None])[0]
        if machine is gram:
            expected = scores
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_both_machines_weigh_labelings_alike(loss):
    gram, rows, labels = sparse_problem(loss, center=True)
    scores = []
    for machine in (gram, rows):
        found = weigh_labels(machine, labels, np.full(4, 0.25), np.zeros(60), tol=1e-8, max_iter=20_000)
        assert found.gap <= 1e-8 * found.objective
        mixed = found.weights @ machine.label_set.coefficients(found.dual, labels)
        scores.append(machine.scores(mixed[None])[0])
    np.testing.assert_allclose(*scores, atol=1e-4)


@pytest.mark.parametrize("center", [True, False])
def test_machines_agree_on_rows_and_on_known_signs(center):
    gram, rows, _ = sparse_problem("squared_hinge", center)
    some = np.array([0, 3, 17])
    np.testing.assert_allclose(rows.of_rows(some), gram.of_rows(some), atol=1e-12)
    known, signs = rows.label_set.known, rows.label_set.signs
    np.testing.assert_allclose(
        supervised_scores(rows, known, signs), supervised_scores(gram, known, signs), atol=1e-6
    )


def test_many_patterns_go_side_by_side():
    _, rows, labels = sparse_problem("hinge", center=True)
    assert isinstance(rows._prepare(labels[:1], np.zeros(60)), linear._Grouped)
    assert isinstance(rows._prepare(labels, np.zeros(60)), linear._Interleaved)
    many = np.repeat(labels, 20, axis=0)  # 80 bits would not fit an integer
    assert isinstance(rows._prepare(many, np.zeros(60)), linear._Interleaved)
    few = np.vstack([labels[0], labels[0]])
    assert isinstance(rows._prepare(few, np.zeros(60)), linear._Grouped)


@pytest.mark.parametrize("far", [np.float32(1e4), 1e8])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_samples_far_from_zero_are_centered_first(loss, far, kind):
    """The same as near zero; there, rows with many zeros are to keep them."""
    rng = np.random.default_rng(0)
    near = np.round(rng.normal(size=(60, 3)) * 64) / 64  # exact at any offset
    signs = SignSet(np.arange(4), np.array([1.0, -1.0, 1.0, -1.0]), 60, 25, 30)
    labels = np.array([signs.best(np.ones(60), near[:, k]) for k in range(2)])
    found = []
    for X in (near, (near + np.array([far, 0, far])).astype(np.asarray(far).dtype)):
        machine = LinearMachine(kind(X), signs, np.full(60, 0.1), loss, offset=1.0)
        dual, norms, _ = machine.solve(labels, np.full(2, 0.5), np.zeros(60))
        theta, constants = machine.function(signs.coefficients(dual, labels))
        scores = machine.scores(signs.coefficients(dual, labels)).T
        np.testing.assert_allclose(X.astype(float) @ theta + constants, scores, atol=1e-6)
        found.append((dual, norms, scores))
    for near_zero, far_away in zip(*found, strict=True):
        np.testing.assert_allclose(far_away, near_zero, rtol=1e-6, atol=1e-6)


def test_squares_beyond_single_precision():
    X = sp.csr_array((np.random.default_rng(0).normal(size=(20, 3)) * 1e19).astype(np.float32))
    signs = SignSet(np.arange(2), np.array([1.0, -1.0]), 20, 9, 9)
    machine = LinearMachine(X, signs, np.ones(20))
    result = solve_cutting_plane(machine, signs.best(np.ones(20), np.arange(20.0)))
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.objective).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kernel_that_is_none(loss):
    rng = np.random.default_rng(0)
    vectors, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    indefinite = (vectors * np.linspace(-3, 3, 12)) @ vectors.T
    signs = SignSet(np.arange(2), np.array([1.0, -1.0]), 12, 5, 5)
    machine = KernelMachine(indefinite, signs, np.full(12, 10.0), loss)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        solve_cutting_plane(machine, signs.best(np.ones(12), np.arange(12.0)))
