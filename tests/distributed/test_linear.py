"""Linear machines on Dask collections: the same as in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from weakly import TransductiveLinearSVC, WellSVC
from weakly.losses._transductive import TwoSided, balancing_level
from weakly.rows._blocks import ArrayBlocks
from weakly.solvers import assign_quotas, fit_rows
from weakly.solvers._label_sets import SignSet
from weakly.spaces import FeatureSpace
from weakly.svm._border_quotas import assign_block_quotas
from weakly.svm._order_statistics import kth_largest, level_of_blocks
from weakly.svm._summed_rows import MOST_GRAM_COLUMNS, SummedRows
from weakly.svm._summed_transduction import SummedTransduction
from weakly.svm._transduction_problem import Ground, Transduction
from weakly.svm._transduction_search import solve_transduction


def classes(n_rows, n_features, n_classes, dtype=np.float64):
    rng = np.random.default_rng(0)
    centers = 1.6 * rng.normal(size=(n_classes, n_features))
    y = rng.integers(n_classes, size=n_rows)
    partial = np.full(n_rows, -1)
    for code in range(n_classes):
        partial[rng.choice(np.flatnonzero(y == code), 5, replace=False)] = code
    return (centers[y] + rng.normal(size=(n_rows, n_features))).astype(dtype), partial


def sparse_chunks(X, lengths):
    starts = np.cumsum([0, *lengths[:-1]])
    parts = [
        da.from_delayed(dask.delayed(X[start : start + n]), shape=(n, X.shape[1]), dtype=X.dtype)
        for start, n in zip(starts, lengths, strict=True)
    ]
    return da.concatenate(parts)


def machine_problem(is_sparse, n_rows=400, n_features=12):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_features)) + 2
    if is_sparse:
        X = sp.csr_array(X * (rng.random(X.shape) < 0.3))
    known = np.where(rng.random(n_rows) < 0.1, rng.choice([-3.0, 2.0], n_rows), 0.0)
    return X, known, rng.uniform(-1, 1, n_rows)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("most_columns", [MOST_GRAM_COLUMNS, 1])
def test_machine_is_the_minimum(is_sparse, most_columns, monkeypatch):
    monkeypatch.setattr("weakly.svm._summed_rows.MOST_GRAM_COLUMNS", most_columns)
    X, known, labels = machine_problem(is_sparse)
    dense, mean, cost = X.toarray() if is_sparse else X, np.full(12, 1.5), 0.7
    use_products = is_sparse or most_columns == 1
    fit = SummedRows(ArrayBlocks(X, 90), mean, known, use_products).fit(labels, cost, tol=1e-10)
    free = cost * (known == 0)
    p, q = np.maximum(known, 0) + free * (1 + labels) / 2, np.maximum(-known, 0) + free * (1 - labels) / 2

    def objective(point):
        t = (dense - mean) @ point[:-1] + point[-1]
        right, left = np.maximum(1 - t, 0), np.maximum(1 + t, 0)
        slope = q * left - p * right
        value = point[:-1] @ point[:-1] / 2 + (p @ right**2 + q @ left**2) / 2
        return value, np.append(point[:-1] + slope @ (dense - mean), slope.sum())

    end = minimize(objective, np.zeros(13), jac=True, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(np.append(fit.theta, fit.offset), end.x, rtol=0, atol=2e-7)
    assert fit.objective == pytest.approx(end.fun, rel=1e-10)
    assert fit.converged
    in_memory = fit_rows(FeatureSpace(dense - mean), TwoSided(p, q), tol=1e-10)
    np.testing.assert_allclose(fit.theta, in_memory.theta, rtol=0, atol=1e-7 if use_products else 1e-12)


@pytest.mark.parametrize("optimizer", ["annealing", "multi_switch"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_search_is_that_in_memory(optimizer, is_sparse):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(900, 10)) + 1
    X[:300] += 2 * np.sign(rng.normal(size=10))
    X = sp.csr_array(X * (rng.random(X.shape) < 0.5)) if is_sparse else X
    labeled = np.array([0, 10, 20, 400, 500, 600])
    signs, costs = np.repeat([1.0, -1.0], 3), np.full(900, 0.05)
    costs[labeled] = 5.0
    known = np.zeros(900)
    known[labeled] = 5 * signs
    unlabeled = np.flatnonzero(known == 0)
    label_set = SignSet(labeled, signs, 900, 297, 298)
    share = 297.5 / len(unlabeled)
    ground = Ground(FeatureSpace(X), unlabeled)
    expected = solve_transduction(Transduction(ground, label_set, costs, share), optimizer, tol=1e-9)
    rows = SummedRows(ArrayBlocks(X, 200), np.asarray(X[unlabeled].mean(axis=0)), known, is_sparse)
    problem = SummedTransduction(rows, 0.05, share, 297, 298, len(unlabeled), 30.0)
    found = solve_transduction(problem, optimizer, tol=1e-9)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-6, atol=1e-9)
    assert found.intercept == pytest.approx(expected.intercept, rel=1e-6)
    assert found.objective[-1] == pytest.approx(expected.objective[-1], rel=1e-10)


@pytest.mark.parametrize("k", [1, 5, 700, 9000, 25000])
def test_rank_is_that_of_sorting(k):
    rng = np.random.default_rng(0)
    values = rng.normal(size=30_000)
    values[rng.random(30_000) < 0.3] = 0.25
    values[::7] = -np.inf
    expected = np.sort(values)[::-1][k - 1]
    rank = kth_largest(ArrayBlocks(values), k)
    assert rank.value == expected
    assert (rank.n_above, rank.n_equal) == ((values > expected).sum(), (values == expected).sum())


@pytest.mark.parametrize("factor", [0.01, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("share", [0.07, 0.5])
def test_level_is_that_in_memory(factor, share):
    values = factor * np.random.default_rng(3).normal(size=5000)
    level = level_of_blocks(ArrayBlocks(values, 700), np.asarray, share)
    assert expit(values - level).mean() == pytest.approx(share, abs=1e-10)
    if factor < 100:  # beyond, whole intervals are as good
        assert level == pytest.approx(balancing_level(values, share), abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("digits", [8, 2])
def test_quotas_are_those_in_memory(n_classes, digits):
    rng = np.random.default_rng(n_classes)
    scores = np.round(rng.normal(size=(6000, n_classes)) + 0.4 * np.arange(n_classes), digits)
    known = np.where(rng.random(6000) < 0.02, 1.0, 0.0)
    free = np.flatnonzero(known == 0)
    wanted = rng.dirichlet(np.full(n_classes, 5.0)) * len(free)
    bounds = np.floor(wanted).astype(int), np.ceil(wanted).astype(int)
    expected = assign_quotas(scores[free], *bounds)
    found = assign_block_quotas(ArrayBlocks(scores, 1000), known, *bounds, n_sampled=500)
    np.testing.assert_allclose(np.diff(found.prices), np.diff(expected.prices), rtol=0, atol=1e-12)
    codes = (scores + found.prices).argmax(axis=1)
    codes[found.rows] = found.codes
    counts = np.bincount(codes[free], minlength=n_classes)
    assert (bounds[0] <= counts).all()
    assert (counts <= bounds[1]).all()
    total = scores[free, codes[free]].sum()
    assert total == pytest.approx(scores[free, expected.codes].sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(140, 160))
def test_quotas_hold_where_scores_tie(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(206, 4)).astype(float)
    wanted = rng.dirichlet(np.full(4, 3.0)) * 206
    bounds = np.floor(wanted).astype(int), np.ceil(wanted).astype(int)
    found = assign_block_quotas(ArrayBlocks(scores, 50), np.zeros(206), *bounds, n_sampled=20)
    codes = (scores + found.prices).argmax(axis=1)
    codes[found.rows] = found.codes
    counts = np.bincount(codes, minlength=4)
    assert ((bounds[0] <= counts) & (counts <= bounds[1])).all()
    best = assign_quotas(scores, *bounds)
    assert scores[np.arange(206), codes].sum() == pytest.approx(scores[np.arange(206), best.codes].sum())


@pytest.mark.parametrize(
    ("n_classes", "dtype", "optimizer"), [(2, np.float64, "annealing"), (3, np.float32, "multi_switch")]
)
def test_fit_is_that_in_memory(n_classes, dtype, optimizer):
    X, y = classes(500, 5, n_classes, dtype)
    weights = np.random.default_rng(4).uniform(0.5, 2, len(y)).astype(dtype)
    chunks = (200, 0, 180, 120)
    rows, labels = da.from_array(X, chunks=(chunks, 5)), da.from_array(y, chunks=(chunks,))
    settings = {"tol": 1e-8, "optimizer": optimizer}
    expected = TransductiveLinearSVC(**settings).fit(X, y, weights)
    model = TransductiveLinearSVC(**settings).fit(rows, labels, da.from_array(weights, chunks=(chunks,)))
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.transduction_.compute(), expected.transduction_)
    found = model.label_distributions_.compute()
    np.testing.assert_allclose(found, expected.label_distributions_, rtol=1e-5)
    assert found.dtype == dtype
    assert model.C_unlabeled_ == expected.C_unlabeled_
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.predict(X))


def test_sparse_chunks_with_rows_that_are_equal():
    X, y = classes(300, 6, 2)
    X[50:200] = X[50]  # more than a class may have: they are shared out
    X = sp.csr_array(X)
    settings = {"tol": 1e-8, "optimizer": "multi_switch", "class_prior": 0.4}
    expected = TransductiveLinearSVC(**settings).fit(X, y)
    model = TransductiveLinearSVC(**settings).fit(sparse_chunks(X, (120, 100, 80)), y)
    share = (model.transduction_.compute()[y < 0] == 1).mean()
    assert share == (expected.transduction_[y < 0] == 1).mean()
    assert share == pytest.approx(0.4, abs=1 / (y < 0).sum())
    assert model.result_.objective[-1] == pytest.approx(expected.result_.objective[-1], rel=0.05)


def test_labels_on_all_rows():
    X, _ = classes(60, 4, 2)
    y = (X[:, 0] > 0).astype(int)
    expected = TransductiveLinearSVC(tol=1e-8).fit(X, y)
    model = TransductiveLinearSVC(tol=1e-8).fit(da.from_array(X, chunks=(25, 4)), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)


def test_fit_on_a_cluster(client, monkeypatch):
    # Every round trip takes its time.
    monkeypatch.setattr("weakly.svm._transduction_search.COST_FACTORS", np.ones(1))
    X, y = classes(400, 4, 2)
    rows = da.from_array(X, chunks=(150, 4)).persist()
    settings = {"tol": 1e-8, "optimizer": "multi_switch"}
    model = TransductiveLinearSVC(**settings).fit(rows, da.from_array(y, chunks=150))
    expected = TransductiveLinearSVC(**settings).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    np.testing.assert_array_equal(model.transduction_.compute(), expected.transduction_)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.predict(X))


def test_estimators_for_one_machine_say_so():
    with pytest.raises(ValueError, match=r"WellSVC takes rows in memory.*TransductiveLinearSVC"):
        WellSVC().fit(da.ones((4, 2)), [0, 1, -1, -1])
