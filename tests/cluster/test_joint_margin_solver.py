"""Margins of all clusters at once, against cvxpy and against all labelings of few rows."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import weakly.cluster._joint_margin
from tests.samples import interrupted_at
from weakly.cluster._joint_margin import solve_joint_margin
from weakly.solvers import KernelMachine, LinearMachine
from weakly.solvers._label_sets import SignSet

LOSSES = ["hinge", "squared_hinge"]
both_losses = pytest.mark.parametrize("loss", LOSSES)


def machine_for(X, costs, loss, kind="kernel", tol=1e-12, center=True):
    anything = SignSet(np.zeros(0, dtype=int), np.zeros(0), len(X), 0, len(X))
    settings = {"center": center, "tol": tol}
    if kind == "linear":
        return LinearMachine(sp.csr_array(X), anything, costs, loss, **settings)
    return KernelMachine(X @ X.T, anything, costs, loss, **settings)


class Reference:
    """The problem of one cluster against the rest in its primal form, by cvxpy; the rows are centred."""

    def __init__(self, X, costs, loss):
        Z = X - X.mean(axis=0)
        self.signs, w = cp.Parameter(len(X)), cp.Variable(X.shape[1])
        short = cp.pos(1 - cp.multiply(self.signs, Z @ w))
        losses = short if loss == "hinge" else cp.square(short) / 2
        self.problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + costs @ losses))
        self.known = {}

    def of_signs(self, signs):
        key = tuple(signs)
        if key not in self.known:
            self.signs.value = signs
            self.problem.solve(cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
            self.known[key] = self.problem.value
        return self.known[key]

    def __call__(self, codes, n_clusters):
        return sum(self.of_signs(np.where(codes == c, 1.0, -1.0)) for c in range(n_clusters))


def blobs(n_each, apart, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(3), n_each)
    X = rng.normal(size=(len(codes), n_features)) + apart * np.eye(3, n_features)[codes]
    return X, codes, rng


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_clusters=st.integers(2, 5),
    room=st.integers(0, 4),
    cost=st.sampled_from([0.02, 0.3, 3.0]),
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(["kernel", "linear"]),
    tol=st.sampled_from([1e-2, 1e-5]),
)
def test_the_objective_never_rises_and_bounds_hold(seed, n_clusters, room, cost, loss, kind, tol):
    rng = np.random.default_rng(seed)
    X, costs = rng.normal(size=(24, 4)), cost * rng.uniform(0.5, 2.0, 24)
    least, most = max(24 // n_clusters - room, 1), -(-24 // n_clusters) + room
    machine = machine_for(X, costs, loss, kind, tol=0.1 * tol)
    start = rng.permutation(24) % n_clusters
    result = solve_joint_margin(machine, start, n_clusters, least, most, tol=tol)
    assert (np.diff(result.objective) < 0).all()
    assert len(result.objective) == len(result.criterion) == result.n_iter
    sizes = np.bincount(result.detail.labels[0], minlength=n_clusters)
    assert least <= sizes.min() <= sizes.max() <= most
    assert result.x.shape == (24, n_clusters)
    Z = X - X.mean(axis=0)
    W = Z.T @ result.x
    signs = np.where(result.detail.labels[0][:, None] == np.arange(n_clusters), 1.0, -1.0)
    short = np.maximum(1 - signs * (Z @ W), 0)
    losses = short if loss == "hinge" else short**2 / 2
    value = (W**2).sum() / 2 + (costs @ losses).sum()
    assert result.objective[-1] == pytest.approx(value, rel=1e-9)


@both_losses
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_functions_are_the_machines_of_the_labels(loss, kind):
    X, _, rng = blobs(8, 2.0)
    costs = rng.uniform(0.1, 1.0, 24)
    machine = machine_for(X, costs, loss, kind)
    result = solve_joint_margin(machine, rng.permutation(24) % 3, 3, 6, 10, tol=1e-8)
    reference = Reference(X, costs, loss)
    assert result.objective[-1] == pytest.approx(reference(result.detail.labels[0], 3), rel=1e-6)
    assert result.converged
    assert result.criterion[-1] < 1


@both_losses
@pytest.mark.parametrize(("seed", "cost"), [(0, 0.2), (1, 1.0)])
def test_no_labeling_is_better_than_the_best_and_some_start_finds_it(loss, seed, cost):
    rng = np.random.default_rng(seed)
    X, costs = rng.normal(size=(7, 2)), np.full(7, cost)
    every = np.array(list(product(range(3), repeat=7)))
    counts = (every[:, :, None] == np.arange(3)).sum(axis=1)
    every = every[(counts.min(axis=1) >= 2) & (counts.max(axis=1) <= 3)]
    reference = Reference(X, costs, loss)
    best = min(reference(codes, 3) for codes in every)
    machine = machine_for(X, costs, loss)
    starts = every[rng.permutation(len(every))[:60]]
    found = [solve_joint_margin(machine, start, 3, 2, 3, tol=1e-7).objective[-1] for start in starts]
    assert min(found) >= best * (1 - 1e-6)
    assert min(found) == pytest.approx(best, rel=1e-5)
    assert np.mean(found) < np.mean([reference(start, 3) for start in starts])


@both_losses
@pytest.mark.parametrize("center", [True, False])
def test_both_paths_agree(loss, center):
    X, codes, rng = blobs(15, 2.5, seed=3)
    noisy = np.where(rng.random(45) < 0.2, rng.permutation(codes), codes)
    costs = np.full(45, 0.2)
    rows, gram = (
        solve_joint_margin(machine_for(X, costs, loss, kind, center=center), noisy, 3, 8, 25, tol=1e-7)
        for kind in ("linear", "kernel")
    )
    np.testing.assert_array_equal(rows.detail.labels, gram.detail.labels)
    assert rows.objective[-1] == pytest.approx(gram.objective[-1], rel=1e-6)
    Z = X - X.mean(axis=0) if center else X
    np.testing.assert_allclose(Z @ Z.T @ rows.x, Z @ Z.T @ gram.x, atol=1e-4)


@both_losses
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_blobs_from_a_noisy_start(loss, kind):
    X, codes, rng = blobs(40, 9.0, n_features=5)
    noisy = np.where(rng.random(120) < 0.25, rng.integers(3, size=120), codes)
    assert (noisy != codes).sum() > 10
    result = solve_joint_margin(machine_for(X, np.full(120, 0.02), loss, kind, tol=1e-4), noisy, 3, 30, 55)
    np.testing.assert_array_equal(result.detail.labels[0], codes)
    assert result.converged
    assert result.n_iter >= 1


def test_stopping_early():
    X, codes, rng = blobs(20, 2.0)
    machine, start = machine_for(X, np.full(60, 0.05), "hinge"), rng.permutation(codes)
    stopped = solve_joint_margin(machine, start, 3, 15, 25, callback=lambda: True)
    assert (stopped.status, stopped.n_iter, len(stopped.objective)) == ("stopped", 1, 1)
    np.testing.assert_array_equal(stopped.detail.labels[0], start)
    cut = solve_joint_margin(machine, start, 3, 15, 25, tol=1e-9, max_iter=1)
    assert (cut.status, cut.n_iter) == ("max_iter", 1)
    again = solve_joint_margin(machine, start, 3, 15, 25, tol=1e-9)
    assert again.n_iter > 1
    settled = solve_joint_margin(machine, again.detail.labels[0], 3, 15, 25, tol=1e-9)
    np.testing.assert_array_equal(settled.detail.labels, again.detail.labels)


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    X, codes, rng = blobs(20, 2.0)
    machine, start = machine_for(X, np.full(60, 0.05), "hinge"), rng.permutation(codes)
    interrupted = interrupted_at(3, weakly.cluster._joint_margin._fit)
    monkeypatch.setattr(weakly.cluster._joint_margin, "_fit", interrupted)
    result = solve_joint_margin(machine, start, 3, 15, 25, tol=1e-9)
    assert (result.status, result.n_iter, len(result.objective)) == ("interrupted", 2, 2)
