"""Exclusive classes against a convex solver, Newton's method, and each solver against the others."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.dense import manifold_penalty, random_laplacian
from tests.oracles.exclusive import exclusive_objective, fit_exclusive
from tests.solvers.problems import KINDS, make_space
from weakly.manifold._exclusive_solver import solve_exclusive
from weakly.regularizers import Exclusive
from weakly.solvers import solve_restricted
from weakly.spaces import deform

ROWS = np.arange(9)


def make(kind, *, n_rows=30, n_classes=3, ambient=0.05, graph=0.02, seed=0):
    """A deformed space, the same as plain features with their penalty, and signs of nine rows.

    Every third row is labelled for two classes, so that there is something to exclude.
    """
    rng = np.random.default_rng(seed)
    base, Z = make_space(rng, kind, n_rows, 4)
    laplacian = random_laplacian(rng, n_rows)
    space = deform(base, sp.csr_array(laplacian), ambient=ambient, graph=graph)
    signs = np.where(np.arange(9)[:, None] % 3 == np.arange(n_classes), 1.0, -1.0)
    signs[::3, 1] = 1.0
    return space, Z, manifold_penalty(Z, laplacian, ambient, graph), signs, rng.uniform(0.5, 2, 9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_as_a_convex_solver(kind, loss):
    space, Z, penalty, signs, weights = make(kind)
    value, scores = fit_exclusive(Z, penalty, ROWS, signs, weights, 0.7, loss=loss)
    free = solve_restricted(space, ROWS, signs, weights, loss="squared_hinge")
    for smoothing in (1e-2, 1e-4):
        result = solve_exclusive(
            space, ROWS, signs, weights, penalty=0.7, loss=loss, smoothing=smoothing, tol=1e-8
        )
        assert result.converged
        found = space.scores(result.x)
        np.testing.assert_allclose(found, scores, atol=2 * smoothing)
        # [per] Proposition 2, with its 1/2: what the smoothed objective may lack
        slack = 0.7 * smoothing / 2 * 3 * np.maximum(scores[9:], 0).sum()
        assert value - slack - 1e-8 <= result.objective[-1] <= value + 1e-8
    assert np.abs(found - space.scores(free.x)).max() > 0.05  # the charge does something


@pytest.mark.parametrize("exclusive", ["sum", "pairs"])
@pytest.mark.parametrize("kind", KINDS)
def test_solvers_agree_and_objectives_fall(kind, exclusive):
    space, _, _, signs, weights = make(kind, seed=1)
    start = solve_restricted(space, ROWS, signs, weights, loss="squared_hinge").x
    results = [
        solve_exclusive(
            space,
            ROWS,
            signs,
            weights,
            penalty=0.5,
            exclusive=exclusive,
            solver=solver,
            start=start,
            tol=1e-7,
        )
        for solver in ("lbfgs", "apg")
    ]
    for result in results:
        assert result.converged
        assert (np.diff(result.objective) <= 1e-13).all()
        assert result.criterion[-1] <= 1e-7
    assert results[0].objective[-1] == pytest.approx(results[1].objective[-1], rel=1e-6)
    np.testing.assert_allclose(results[0].x, results[1].x, atol=1e-4)


def test_the_printed_algorithm_on_a_tiny_problem():
    """With little to bound, its constant is small enough to arrive."""
    rng = np.random.default_rng(0)
    base, _ = make_space(rng, "kernel", 6, 2)
    space = deform(base, sp.csr_array(random_laplacian(rng, 6)), ambient=1.0, graph=0.1)
    signs = np.array([[1.0, -1.0], [1.0, 1.0]])
    settings = {"penalty": 0.1, "smoothing": 1.0}
    ours = solve_exclusive(space, np.array([0, 1]), signs, np.ones(2), **settings, tol=1e-8)
    printed = solve_exclusive(
        space, np.array([0, 1]), signs, np.ones(2), **settings, solver="paper", max_iter=30_000, tol=1e-6
    )
    assert printed.objective[-1] == pytest.approx(ours.objective[-1], rel=1e-6)
    # and otherwise it does not
    space, _, _, signs, weights = make("kernel")
    printed = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, solver="paper", max_iter=500)
    assert printed.status == "max_iter"
    ours = solve_exclusive(space, ROWS, signs, weights, penalty=1.0)
    gained = (printed.objective[0] - printed.objective[-1]) / (printed.objective[0] - ours.objective[-1])
    assert gained < 0.01
    with pytest.raises(ValueError, match="exact kernels"):
        solve_exclusive(make("features")[0], ROWS, signs, weights, penalty=1.0, solver="paper")


@pytest.mark.parametrize("kind", KINDS)
def test_without_charge_it_is_the_laplacian_machine(kind):
    space, Z, penalty, signs, weights = make(kind)
    expected = solve_restricted(space, ROWS, signs, weights, loss="squared_hinge", tol=1e-12)
    for solver in ("lbfgs", "apg"):
        result = solve_exclusive(space, ROWS, signs, weights, penalty=0.0, solver=solver, tol=1e-7)
        np.testing.assert_allclose(space.scores(result.x), space.scores(expected.x), atol=1e-6)
    if kind == "features":
        value = exclusive_objective(Z, result.x, penalty, ROWS, signs, weights, 0.0)
        assert result.objective[-1] == pytest.approx(value, rel=1e-9)


def test_the_stationary_point_of_pairs():
    """Its gradient vanishes, by finite differences of the objective in the coefficients."""
    space, Z, penalty, signs, weights = make("features", seed=2)
    result = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, exclusive="pairs", tol=1e-8)
    charge = Exclusive("pairs", 1e-2)

    def objective(u):
        base = exclusive_objective(Z, u, penalty, ROWS, signs, weights, 0.0)
        return base + charge.value((Z @ u)[9:]).sum()

    assert result.objective[-1] == pytest.approx(objective(result.x), rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(10):
        step = 1e-5 * rng.normal(size=result.x.shape)
        slope = (objective(result.x + step) - objective(result.x - step)) / 2
        assert abs(slope) < 1e-9


def test_starts_stops_and_errors():
    space, _, _, signs, weights = make("kernel")
    done = solve_exclusive(space, ROWS, signs, weights, penalty=1.0)
    again = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, start=done.x)
    assert again.n_iter <= 2
    seen = []

    def watch(scores):
        seen.append(scores.shape)
        return len(seen) == 3

    stopped = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, callback=watch)
    assert (stopped.status, stopped.n_iter, seen[0]) == ("stopped", 3, (30, 3))

    def interrupt(scores):
        if watch(scores):
            raise KeyboardInterrupt

    seen.clear()
    interrupted = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, callback=interrupt)
    assert (interrupted.status, interrupted.n_iter) == ("interrupted", 3)
    np.testing.assert_array_equal(interrupted.x, stopped.x)
    cut = solve_exclusive(space, ROWS, signs, weights, penalty=1.0, max_iter=2)
    assert (cut.status, cut.n_iter) == ("max_iter", 2)
    with pytest.raises(ValueError, match="exclusive is"):
        solve_exclusive(space, ROWS, signs, weights, penalty=1.0, exclusive="all")
