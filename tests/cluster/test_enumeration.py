"""The objective of each method against its least value over all labelings of twelve rows."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from weakly import (
    CuttingPlaneMaxMarginClustering,
    GeneralizedMaxMarginClustering,
    IterativeSVRClustering,
    KernelKMeans,
    WellClustering,
)

N_ROWS = 12
BALANCE = 0.3  # 5 to 7 rows of 12
SIGNS = np.array(
    [(-1.0, *rest) for rest in product([-1.0, 1.0], repeat=N_ROWS - 1)]
)  # mirror images are alike
BALANCED = SIGNS[np.abs(SIGNS.sum(axis=1)) <= BALANCE * N_ROWS]
GIVEN = {"kernel": "precomputed", "random_state": 0}
each_seed = pytest.mark.parametrize("seed", range(3))


def kernels(seed):
    """A kernel of rows in two groups that overlap, by themselves and within a Gaussian."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 3)) + 1.5 * (np.arange(N_ROWS) % 2)[:, None]
    return {"linear": X @ X.T, "rbf": rbf_kernel(X, gamma=0.2)}


def centred(gram):
    means = gram.mean(axis=0)
    return gram - means - means[:, None] + means.mean()


def quiet_fit(model, gram):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(gram)


def from_starts(model, gram, n_starts=30):
    """Fits from random labels of equal sizes."""
    rng = np.random.default_rng(0)
    starts = [rng.permutation(N_ROWS) % 2 for _ in range(n_starts)]
    return [quiet_fit(type(model)(**{**model.get_params(), "init": start}), gram) for start in starts]


def never_rises(fits):
    return all((np.diff(fit.result_.objective) <= 1e-9 * fit.result_.objective[0]).all() for fit in fits)


def fits_that_reach(best, model, gram):
    """Fits from many starts and the model's own, and their objectives, of which the least is the best."""
    fits = [*from_starts(model, gram), model.fit(gram)]
    assert never_rises(fits)
    reached = np.array([fit.result_.objective[-1] for fit in fits])
    assert reached.min() >= best * (1 - 1e-5)
    assert reached.min() <= best * (1 + 1e-5)
    return fits, reached


def box_duals(gram, signs, C, ridge=0.0, offsets=0.0, n_sweeps=3000):
    """Maximise ``sum_i (1 - y_i b) a_i - a'(Q + ridge) a / 2`` over ``0 <= a <= C`` for many signs ``y``."""
    slopes = 1 - signs * np.reshape(offsets, (-1, 1))
    a, scores = np.zeros_like(signs), np.zeros_like(signs)  # scores are K (y a)
    curvature = np.diag(gram) + ridge
    for _ in range(n_sweeps):
        moved = 0.0
        for i in range(N_ROWS):
            gradient = slopes[:, i] - signs[:, i] * scores[:, i] - ridge * a[:, i]
            new = np.clip(a[:, i] + gradient / curvature[i], 0.0, C)
            change, a[:, i] = new - a[:, i], new
            scores += np.outer(change * signs[:, i], gram[i])
            moved = max(moved, np.abs(change).max())
        if moved < 1e-11 * min(C, 1.0):
            break
    return (slopes * a).sum(axis=1) - ((signs * a * scores).sum(axis=1) + ridge * (a * a).sum(axis=1)) / 2


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("balance", [BALANCE, 0.0, None])
@each_seed
def test_means(kernel, balance, seed):
    gram = kernels(seed)[kernel]
    sizes = (SIGNS > 0).sum(axis=1)
    limit = N_ROWS - 2 if balance is None else balance * N_ROWS
    signs = SIGNS[np.abs(N_ROWS - 2 * sizes) <= limit]
    inside = np.full(len(signs), np.trace(gram))
    for side in (signs > 0, signs < 0):
        inside -= np.einsum("ti,ij,tj->t", side * 1.0, gram, side * 1.0) / side.sum(axis=1)
    model = KernelKMeans(balance=balance, n_init=60, tol=1e-10, **GIVEN).fit(gram)
    assert never_rises([model])
    assert model.inertia_ == pytest.approx(inside.min(), rel=1e-9)
    labels = 2.0 * model.labels_ - 1
    assert inside[(signs == labels).all(axis=1)] == pytest.approx(inside.min(), rel=1e-9)
    fits = from_starts(KernelKMeans(balance=balance, tol=1e-10, kernel="precomputed"), gram)
    assert never_rises(fits)
    reached = np.array([fit.inertia_ for fit in fits])
    assert reached.min() >= inside.min() * (1 - 1e-9)
    assert reached.min() <= inside.min() * 1.02


@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("rbf", 0.1), ("rbf", 1.0)])
@pytest.mark.parametrize("seed", range(2))
def test_regressions(kernel, C, seed):
    gram = kernels(seed)[kernel]
    regression = SVR(kernel="precomputed", C=C, epsilon=0.0, tol=1e-7)

    def objective(signs):
        fit = regression.fit(gram, signs)
        a = np.zeros(N_ROWS)
        a[fit.support_] = fit.dual_coef_[0]
        return a @ gram @ a / 2 + C * np.abs(signs - gram @ a - fit.intercept_).sum()

    best = min(objective(signs) for signs in BALANCED)
    regressions = IterativeSVRClustering(C=C, balance=BALANCE, tol=1e-6, **GIVEN)
    fits, reached = fits_that_reach(best, regressions, gram)
    assert reached[-1] <= best * (1 + 1e-5)  # from the spectral start
    for fit in fits[:3]:
        own = objective(2.0 * fit.result_.detail.labels[0] - 1)
        assert fit.result_.objective[-1] == pytest.approx(own, rel=1e-5)


def least_margin_loss(gram, C, reach):
    """Minimum over signs, functions whose scores sum to 0, and offsets within reach."""
    gram = centred(gram)
    machine = SVC(kernel="precomputed", C=C, tol=1e-7)
    values, offsets = np.full(len(SIGNS), np.nan), np.full(len(SIGNS), np.nan)
    for t, signs in enumerate(SIGNS):
        if signs.max() < 0:
            offsets[t] = -np.inf  # without a bound the offset alone would do
            continue
        fit = machine.fit(gram, signs)
        a = np.zeros(N_ROWS)
        a[fit.support_] = fit.dual_coef_[0]
        offsets[t] = fit.intercept_[0]
        values[t] = a @ gram @ a / 2 + C * np.maximum(1 - signs * (gram @ a + offsets[t]), 0).sum()
    # Where the best offset is out of reach, the end on that side is the best: the problem is convex.
    outside = np.abs(offsets) > reach
    ends = np.copysign(reach, offsets[outside])
    values[outside] = box_duals(gram, SIGNS[outside], C, offsets=ends)
    return values.min()


@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("rbf", 0.2), ("rbf", 1.0)])
@pytest.mark.parametrize("seed", range(2))
def test_margins_of_functions_with_an_offset(kernel, C, seed):
    gram = kernels(seed)[kernel]
    best = least_margin_loss(gram, C, BALANCE)
    planes = CuttingPlaneMaxMarginClustering(C=C, balance=BALANCE, tol=1e-6, **GIVEN)
    fits, reached = fits_that_reach(best, planes, gram)
    assert reached[-1] <= best * 1.15  # from the spectral start
    for fit in fits:
        decisions = fit.decision_function(gram) + fit.threshold_
        assert abs(decisions.mean()) <= BALANCE + 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 1.0])
@each_seed
def test_the_bound_of_a_relaxation(kernel, C, seed):
    gram, balance_cost = kernels(seed)[kernel], 0.02
    model = GeneralizedMaxMarginClustering(C=C, balance_cost=balance_cost, kernel="precomputed", tol=1e-6)
    bounds = model.fit(gram).result_.objective
    values, vectors = np.linalg.eigh(gram + 1e-6 * np.trace(gram) / N_ROWS * np.eye(N_ROWS))
    root = vectors * np.sqrt(values)

    def value_and_gradient(point):
        u, offset = point[:-1], point[-1]
        z = root @ u + offset
        value = u @ u / 2 + balance_cost * z.sum() ** 2 + C * np.maximum(1 - z * z, 0).sum()
        slopes = 2 * balance_cost * z.sum() - 2 * C * z * (np.abs(z) < 1)
        return value, np.append(u + root.T @ slopes, slopes.sum())

    def near(signs):
        """A function with about these signs: regression with a ridge."""
        u = np.linalg.solve(root.T @ root + 0.1 * np.eye(N_ROWS), root.T @ (signs - signs.mean()))
        return np.append(2 * u, signs.mean())

    starts = sorted((near(signs) for signs in SIGNS), key=lambda point: value_and_gradient(point)[0])[:40]
    found = [minimize(value_and_gradient, start, jac=True, method="L-BFGS-B").fun for start in starts]
    least = min(*found, C * N_ROWS)  # the last is no function at all
    assert bounds[-1] <= least * (1 + 1e-9)
    assert bounds[-1] >= (1 - 1e-5 if C < 1 else 0.65) * least
    assert (np.diff(bounds) >= 0).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("rbf", 0.1), ("rbf", 1.0)])
@pytest.mark.parametrize("seed", [0, 2])
def test_mixtures_of_splits(loss, kernel, C, seed):
    gram = centred(kernels(seed)[kernel])
    upper, ridge = (C, 0.0) if loss == "hinge" else (np.inf, 1 / C)
    alone = box_duals(gram, BALANCED, upper, ridge)
    params = {"C": C, "loss": loss, "balance": BALANCE, "oracle": "restarts", "tol": 1e-4, **GIVEN}
    model = quiet_fit(WellClustering(**params), kernels(seed)[kernel])
    objective = model.result_.objective
    assert (np.diff(objective) <= 1e-9 * objective[0]).all()
    assert objective[-1] <= alone.min() * (1 + 1e-3)
    labels = 2.0 * model.labels_ - 1
    widest = alone[(labels == BALANCED).all(axis=1)]
    assert len(widest) == 1
    assert widest[0] <= alone.min() * (1 + 1e-6)
