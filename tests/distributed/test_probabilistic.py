"""Probable labels and their machine on rows in blocks: the same as in memory."""

import os
import signal

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from weakly import ProbabilisticLabelSVC
from weakly.graphs import anchor_graph
from weakly.rows._blocks import ArrayBlocks
from weakly.solvers import solve_label_walk
from weakly.solvers._anchor_walk import solve_anchor_walk
from weakly.spaces import FeatureSpace
from weakly.svm import _bundle as _block_bundle
from weakly.svm._bundle import solve_block_weston_watkins
from weakly.svm._bundle_kernels import line_losses, pair_losses
from weakly.svm._weston_watkins_solver import solve_weston_watkins

from .test_linear import classes

ANCHORS = {"graph": "anchor", "n_components": 30, "random_state": 0}


SCHEDULER = {"scheduler": "threads", "num_workers": 2}


@pytest.mark.parametrize("alphas", [(0.0, 0.99), (0.5, 0.9), (0.7, 0.0), (0.0, 1 - 1e-7)])
def test_walk_on_anchors_solves_the_dense_system(alphas):
    X, codes = classes(200, 3, 3)
    graph = anchor_graph(X, n_anchors=25, n_neighbors=4, random_state=0)
    alpha = np.where(codes >= 0, *alphas)[:, None]
    ends = np.eye(4)[np.where(codes >= 0, codes, 3)]
    expected = np.linalg.solve(np.eye(200) - alpha * graph.affinity.toarray(), (1 - alpha) * ends)
    settings = {"alpha_labeled": alphas[0], "alpha_unlabeled": alphas[1]}
    found = solve_label_walk(graph, codes, 3, **settings)
    np.testing.assert_allclose(found.x, expected, rtol=0, atol=1e-9)
    labeled = np.flatnonzero(codes >= 0)
    walk = solve_anchor_walk(graph.masses, graph.gram, graph.weights[labeled], codes[labeled], 3, **settings)
    np.testing.assert_allclose(walk.totals, expected.sum(axis=0), rtol=1e-9, atol=1e-9)
    # A new row takes one step to the training rows.
    step = graph.weights[7].toarray() @ np.diag(1 / graph.masses) @ graph.weights.T @ expected
    new = alphas[1] * step + (1 - alphas[1]) * np.eye(4)[3]
    np.testing.assert_allclose(walk(graph.weights[[7]])[0], new.ravel(), rtol=0, atol=1e-9)


def test_walk_wants_to_end():
    with pytest.raises(ValueError, match=r"alpha_unlabeled is 1\.0: it must be at least 0 and below 1"):
        solve_anchor_walk(
            np.ones(1), np.ones((1, 1)), sp.csr_array([[1.0]]), np.zeros(1, int), 2, alpha_unlabeled=1.0
        )


def test_anchor_without_rows_is_left_alone():
    Z = sp.csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    walk = solve_anchor_walk(np.array([2.0, 0.0]), (Z.T @ Z).toarray(), Z[[0]], np.array([0]), 2)
    assert np.isfinite(walk.ends).all()
    np.testing.assert_allclose(walk(Z, np.array([0, -1])).sum(axis=1), 1)


def machine_problem(n_classes, is_soft, is_sparse):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(300, 8))
    costs = (
        rng.dirichlet(np.ones(n_classes), size=300)
        if is_soft
        else np.eye(n_classes)[X[:, :n_classes].argmax(1)]
    )
    costs[::7] = 0
    return sp.csr_array(X * (rng.random(X.shape) < 0.5)) if is_sparse else X, 2 * costs


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("is_soft", "is_sparse"), [(True, False), (False, True)])
def test_machine_is_that_in_memory(n_classes, is_soft, is_sparse):
    X, costs = machine_problem(n_classes, is_soft, is_sparse)
    expected = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-6)
    found = solve_block_weston_watkins(ArrayBlocks(X, 90), costs, n_classes=n_classes, n_params=8, tol=1e-6)
    assert expected.converged
    assert found.converged
    # Both are within their gap of the optimum, and so of each other; the norm of the space is its curvature.
    objective = expected.objective[-1]
    assert found.objective[-1] == pytest.approx(objective, rel=1.01e-6)
    apart = np.linalg.norm(np.vstack([found.x - expected.x, found.intercept - expected.intercept]))
    assert apart <= 2 * np.sqrt(2 * objective * 1e-6)
    np.testing.assert_allclose(found.x.sum(axis=1), 0, atol=1e-10)


def test_gap_holds_at_every_step():
    X, costs = machine_problem(3, True, False)
    optimum = solve_weston_watkins(FeatureSpace(X), costs, tol=1e-9).objective[-1]
    found = solve_block_weston_watkins(ArrayBlocks(X), costs, n_classes=3, n_params=8, tol=1e-6)
    assert (np.diff(found.objective) <= 0).all()
    assert (found.objective * (1 - found.criterion) <= optimum * (1 + 1e-8)).all()
    assert (found.objective >= optimum * (1 - 1e-8)).all()


def test_losses_and_slopes_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    f, costs = rng.normal(size=(20, 4)), rng.random((20, 4)) * (rng.random((20, 4)) < 0.6)
    slopes, shares = np.empty_like(f), np.array([0.0, 0.4, 2.0])
    loss, change = pair_losses(f, costs, slopes), rng.normal(size=f.shape)

    def by_definition(f):
        pairs = ((p, q) for p in range(4) for q in range(4) if p != q)
        return sum(costs[:, p] @ np.maximum(1 - (f[:, p] - f[:, q]), 0) for p, q in pairs)

    assert loss == pytest.approx(by_definition(f), rel=1e-12)
    along = [by_definition(f + share * change) for share in shares]
    np.testing.assert_allclose(line_losses(f, change, costs, shares), along, rtol=1e-12)
    for i, p in ((0, 0), (3, 2), (11, 3)):
        step = np.zeros_like(f)
        step[i, p] = 1e-6
        assert slopes[i, p] == pytest.approx(
            (by_definition(f + step) - by_definition(f - step)) / 2e-6, abs=1e-6
        )


def test_machine_stops_where_it_is_told():
    X, costs = machine_problem(3, True, False)
    settings = {"n_classes": 3, "n_params": 8, "tol": 1e-9}
    assert solve_block_weston_watkins(ArrayBlocks(X), costs, max_iter=3, **settings).status == "max_iter"
    stopped = solve_block_weston_watkins(ArrayBlocks(X), costs, callback=lambda: True, **settings)
    assert (stopped.status, stopped.n_iter) == ("stopped", 1)
    nothing = solve_block_weston_watkins(ArrayBlocks(X), 0 * costs, **settings)
    assert (nothing.status, np.abs(nothing.x).max()) == ("converged", 0)


SETTINGS = [
    (2, {"harden": False}),
    (4, {"alpha_labeled": 0.4, "harden": True, "class_prior": None}),
    (3, {"alpha_unlabeled": 0.9, "novelty_threshold": 0.5, "novel_label": 99}),
]


@pytest.mark.parametrize(("n_classes", "settings"), SETTINGS)
@pytest.mark.parametrize("lengths", [(250, 100, 250), (50,) * 12])
def test_estimator_is_that_in_memory(n_classes, settings, lengths):
    X, y = classes(600, 4, n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, 600)
    weights[::9] = 0
    model = ProbabilisticLabelSVC(C=0.1, tol=1e-5, **settings, **ANCHORS)
    expected = model.fit(X, y, weights)
    known = expected.label_distributions_, expected.novelty_, expected.transduction_
    decided, labels, objective = (
        expected.decision_function(X),
        expected.predict(X),
        expected.result_.objective[-1],
    )
    chunked = da.from_array(X, chunks=(lengths, 4))
    found = model.fit(chunked, da.from_array(y, chunks=(lengths,)), da.from_array(weights, chunks=(lengths,)))
    np.testing.assert_allclose(found.label_distributions_.compute(), known[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.novelty_.compute(), known[1], rtol=0, atol=1e-12)
    assert found.transduction_.chunks == (lengths,)
    assert found.result_.objective[-1] == pytest.approx(objective, rel=1e-5)
    # Decisions differ by no more than those of two functions within their gaps can.
    reach = 4 * np.sqrt(2 * objective * 1e-5) * np.sqrt(2)
    np.testing.assert_allclose(found.decision_function(chunked).compute(), decided, rtol=0, atol=reach)
    ordered = np.sort(decided, axis=1) if n_classes > 2 else np.column_stack([-decided, decided]) / 2
    is_clear = np.abs(ordered[:, -1] - ordered[:, -2]) > 2 * reach
    assert is_clear.mean() > 0.9
    np.testing.assert_array_equal(found.transduction_.compute()[is_clear], known[2][is_clear])
    np.testing.assert_array_equal(found.predict(chunked).compute()[is_clear], labels[is_clear])
    if "novel_label" in settings:
        assert 0 < (known[2] == 99).sum() < 600


def test_labels_of_strings():
    X, y = classes(300, 3, 2)
    names = np.array(["no", "yes", None], dtype=object)[y]
    settings = {"novelty_threshold": 0.6, "alpha_unlabeled": 0.9, **ANCHORS}
    expected = ProbabilisticLabelSVC(**settings).fit(X, names)
    found = ProbabilisticLabelSVC(**settings).fit(
        da.from_array(X, chunks=(100, 3)), da.from_array(names, chunks=100)
    )
    assert (found.transduction_.compute() == expected.transduction_).mean() > 0.99
    assert set(found.transduction_.compute()) <= {"no", "yes", "novel"}


def test_worker_that_dies_with_what_it_kept(client, monkeypatch):
    X, y = classes(400, 4, 2)
    model = ProbabilisticLabelSVC(**ANCHORS)
    rows, labels = da.from_array(X, chunks=(80, 4)), da.from_array(y, chunks=80)
    with dask.config.set(scheduler="threads"):
        expected = model.fit(rows, labels).result_.objective
    search, calls = _block_bundle._search, []

    def search_amid_trouble(*arguments):
        calls.append(None)
        if len(calls) == 4:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        return search(*arguments)

    monkeypatch.setattr(_block_bundle, "_search", search_amid_trouble)
    found = model.fit(rows, labels).result_.objective
    assert len(calls) > 6
    np.testing.assert_allclose(found, expected, rtol=1e-12)
