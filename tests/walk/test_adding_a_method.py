"""The steps of "Adding a method" in CONTRIBUTING.md, walked once: a loss and an estimator, a file each."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.expected_failures import expected_failures
from tests.walk import toy_estimator, toy_loss
from tests.walk.toy_estimator import RobustLaplacianClassifier
from tests.walk.toy_loss import PSEUDO_HUBER
from weakly.graphs import neighbor_graph
from weakly.kernels import Kernel
from weakly.manifold._exclusive_solver import solve_exclusive
from weakly.manifold._total_variation_solver import solve_total_variation
from weakly.solvers import fit_rows, solve_conjugate, solve_newton, solve_restricted
from weakly.spaces import KernelSpace, build_smoother, deform

ROOT = Path(__file__).parents[2]
X, TRUTH = make_moons(120, noise=0.05, random_state=0)
PARTLY = np.where(np.arange(120) % 12 == 0, TRUTH, -1)
LABELED = np.flatnonzero(PARTLY >= 0)
SIGNS = 2.0 * PARTLY[LABELED, None] - 1


def deformed_space():
    graph = neighbor_graph(X, n_neighbors=5)
    return deform(
        KernelSpace(Kernel("rbf", gamma=2.0)(X)), graph.laplacian("symmetric"), ambient=0.1, graph=0.5
    )


def test_the_guide_names_the_files_of_this_walk():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    for module in (toy_loss, toy_estimator):
        assert Path(module.__file__).relative_to(ROOT).as_posix() in guide
        assert 'of "Adding a method"' in module.__doc__
    assert Path(__file__).relative_to(ROOT).as_posix() in guide


def test_step_2_the_loss_agrees_with_finite_differences():
    f, h = np.linspace(-4, 4, 81), 1e-5
    for y in (-np.ones(81), np.ones(81)):
        for function, derivative in (
            (PSEUDO_HUBER.value, PSEUDO_HUBER.slope),
            (PSEUDO_HUBER.slope, PSEUDO_HUBER.curvature),
        ):
            expected = (function(y, f + h) - function(y, f - h)) / (2 * h)
            np.testing.assert_allclose(derivative(y, f), expected, atol=1e-9)


def test_step_3_every_solver_with_a_loss_takes_it():
    """All that have this objective agree with a general optimizer, and with each other."""
    space, weights = deformed_space(), np.linspace(0.5, 2, len(LABELED))

    def objective(theta):
        scores = space.scores(theta[:, None])
        penalty = space.base.inner(space.apply(theta[:, None], scores), theta[:, None], scores)[0] / 2
        return penalty + weights @ PSEUDO_HUBER.value(SIGNS, scores[LABELED])[:, 0]

    settings = {"loss": PSEUDO_HUBER, "tol": 1e-8}
    results = [
        solve_restricted(space, LABELED, SIGNS, weights, **settings),
        solve_conjugate(space, LABELED, SIGNS, weights, **settings),
        solve_exclusive(space, LABELED, np.hstack([SIGNS, -SIGNS]), weights, penalty=0.0, **settings),
    ]
    assert {result.status for result in results} == {"converged"}
    first = space.scores(results[0].x)
    for result in results[1:]:
        np.testing.assert_allclose(space.scores(result.x)[:, :1], first, atol=1e-5)
    best = results[0].x[:, 0]
    assert objective(best) == pytest.approx(results[0].objective[-1], rel=1e-9)
    found = minimize(objective, best, method="L-BFGS-B", options={"maxiter": 20})
    assert found.fun >= objective(best) * (1 - 1e-8)
    small = KernelSpace(np.eye(len(LABELED)) * 3 + 0.5)
    newton = solve_newton(small, SIGNS, weights, **settings)
    rows = fit_rows(small, PSEUDO_HUBER.at(SIGNS[:, 0], weights), offset=0.0, tol=1e-8)
    np.testing.assert_allclose(small.scores(newton.x)[:, 0], rows.scores, atol=1e-6)


def test_step_3_the_alternating_directions_take_it():
    graph = neighbor_graph(X, n_neighbors=5)
    smoother = build_smoother(KernelSpace(Kernel("rbf", gamma=2.0)(X)), 0.1)
    start, weights = np.zeros((len(X), 1)), np.ones(len(LABELED))
    result = solve_total_variation(
        smoother, graph, LABELED, SIGNS, weights, start, loss=PSEUDO_HUBER, ambient=0.1, coupling=1.0
    )
    assert result.objective[-1] < weights @ PSEUDO_HUBER.value(SIGNS, 0 * SIGNS)[:, 0]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_step_4_the_estimator_learns_from_dense_and_sparse_samples(layout, solver):
    model = RobustLaplacianClassifier(solver=solver).fit(layout(X), PARTLY)
    assert (model.transduction_ == TRUTH).mean() > 0.95
    assert (model.predict(layout(X)) == TRUTH).mean() > 0.95
    assert model.result_.status in ("converged", "stopped")


def test_step_4_the_estimator_learns_from_strings():
    names = np.array(["moon", "sun"], dtype=object)[TRUTH]
    model = RobustLaplacianClassifier().fit(X, np.where(PARTLY >= 0, names, None))
    assert model.classes_.tolist() == ["moon", "sun"]
    assert (model.predict(X) == names).mean() > 0.95


@pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [RobustLaplacianClassifier()], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_step_5_scikit_learn_checks(estimator, check):
    check(estimator)


def test_nothing_else_was_edited():
    """The library does not know of the toys."""
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert "pseudo_huber" not in sources
    assert "RobustLaplacian" not in sources
    assert inspect.getmodule(RobustLaplacianClassifier) is toy_estimator
