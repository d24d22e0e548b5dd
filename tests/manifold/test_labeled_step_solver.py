"""The step on the side of the functions against cvxpy and its closed form."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.dense import kernel_root
from tests.oracles.variation import fit_variation
from weakly.kernels import Kernel
from weakly.losses import LOSSES
from weakly.manifold._labeled_step import LabeledStep
from weakly.spaces import CorrectedSpace, KernelSpace, build_smoother

AMBIENT, COUPLING = 0.05, 0.1


def make_space(rng, kind, n_rows=20):
    """Return a space and its dense kernel."""
    X = rng.normal(size=(n_rows, 3))
    if kind == "kernel":
        gram = Kernel("rbf", gamma=0.2)(X)
        return KernelSpace(gram), gram
    return CorrectedSpace(sp.csr_array(X) if kind == "csr" else X, 0.3), X @ X.T + 0.3 * np.eye(n_rows)


def make_step(kind, loss, n_columns, *, seed=0, tol=1e-4):
    rng = np.random.default_rng(seed)
    space, gram = make_space(rng, kind)
    rows, targets = rng.permutation(20)[:7], rng.choice([-1.0, 1.0], (7, n_columns))
    targets[:2] = [[-1.0], [1.0]]
    weights = rng.uniform(0.2, 3, 7)
    smoother = build_smoother(space, AMBIENT / COUPLING)
    step = LabeledStep(smoother, rows, targets, weights, loss=loss, coupling=COUPLING, tol=tol)
    return step, gram, rng


def by_cvxpy(step, gram, values):
    return fit_variation(
        kernel_root(gram),
        None,
        step.rows,
        step.targets,
        step.weights,
        loss=step.loss.name,
        ambient=AMBIENT,
        graph_weight=0.0,
        near=values,
        coupling=COUPLING,
    )


@pytest.mark.parametrize("kind", ["kernel", "features", "csr"])
def test_newton_for_any_smooth_loss_is_the_closed_form_of_the_squared_one(kind):
    unnamed = replace(LOSSES["squared"], name="a parabola")
    (exact, _, rng), (newton, _, _) = (make_step(kind, loss, 3, tol=1e-10) for loss in ("squared", unnamed))
    values = rng.normal(size=(20, 3))
    np.testing.assert_allclose(newton(values).scores, exact(values).scores, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize("kind", ["kernel", "features", "csr"])
@pytest.mark.parametrize(("seed", "n_columns"), [(0, 1), (1, 3)])
def test_objective_and_scores_match_cvxpy(kind, loss, seed, n_columns):
    step, gram, rng = make_step(kind, loss, n_columns, seed=seed, tol=1e-7)
    values = rng.normal(size=(20, n_columns))
    given = values.copy()
    point, oracle = step(values), by_cvxpy(step, gram, values)
    np.testing.assert_array_equal(values, given)
    np.testing.assert_allclose(point.scores, oracle.scores, atol=1e-4)
    # Where no row lies on its margin the intercept has a range.
    seen = (point.scores + point.intercept)[step.rows]
    expected = (oracle.scores + oracle.intercept)[step.rows]
    losses = [
        step.weights
        @ ((step.targets - f) ** 2 / 2 if loss == "squared" else np.maximum(1 - step.targets * f, 0))
        for f in (seen, expected)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-3, atol=1e-4)
    near = COUPLING / 2 * ((point.scores - values) ** 2).sum()
    assert step.objective(point, AMBIENT) + near == pytest.approx(oracle.value, rel=1e-4)
    np.testing.assert_allclose(
        gram @ step.smoother.parameters(point.values, point.scores), point.scores, atol=1e-3
    )


def test_weights_pull_their_rows():
    light, _, rng = make_step("kernel", "squared", 1)
    values, weights = rng.normal(size=(20, 1)), light.weights.copy()
    weights[3] *= 1000
    heavy = LabeledStep(light.smoother, light.rows, light.targets, weights, loss="squared", coupling=COUPLING)
    misses = [abs(step(values).scores[step.rows[3]] - step.targets[3])[0] for step in (light, heavy)]
    assert misses[1] < 0.01 * misses[0]


def test_a_hinge_started_at_its_last_answer_finds_the_same():
    warm, gram, rng = make_step("kernel", "hinge", 2, tol=1e-7)
    first, second = rng.normal(size=(2, 20, 2))
    warm(first)
    cold = make_step("kernel", "hinge", 2, tol=1e-7)[0]
    np.testing.assert_allclose(warm(second).scores, cold(second).scores, atol=1e-5)
    np.testing.assert_allclose(warm(second).scores, by_cvxpy(warm, gram, second).scores, atol=1e-4)


def test_without_labels_nearby_a_step_is_the_smoother():
    """A loss of next to no weight leaves the smoother alone."""
    step, _, rng = make_step("kernel", "squared", 1)
    tiny = LabeledStep(
        step.smoother, step.rows, step.targets, 1e-9 * step.weights, loss="squared", coupling=COUPLING
    )
    values = rng.normal(size=(20, 1))
    np.testing.assert_allclose(tiny(values).scores, step.smoother(values), atol=1e-6)
