import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.svm import SVC

from tests.oracles.convex import fit_margin
from tests.solvers.problems import KINDS, make_problem, without
from weakly.solvers import solve_hinge
from weakly.spaces import FeatureSpace, KernelSpace


def design_of(problem):
    """Gram matrix of the rows, whatever the space."""
    return problem.Z @ problem.Z.T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_hinge_has_the_objective_and_scores_of_a_convex_solver(kind, size):
    space, Z, y, weights = make_problem(kind, size=size)
    result = solve_hinge(space, y, weights)
    oracle = [
        fit_margin(Z, np.eye(Z.shape[1]), column, weights, squared=False, intercept=True) for column in y.T
    ]
    np.testing.assert_allclose(result.objective[-1], sum(value for value, _, _ in oracle), rtol=1e-6)
    expected = np.column_stack([Z @ u + b for _, u, b in oracle])
    np.testing.assert_allclose(space.scores(result.x) + result.intercept, expected, atol=1e-4)
    assert result.intercept.shape == (2,)
    assert result.converged


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_constant_in_the_kernel_is_a_matter_of_the_intercept(kind):
    """Single precision, in which LIBSVM holds kernels, sees nothing but the constant."""
    _, Z, y, weights = make_problem("features", n_columns=1, size=3.0)
    tall = np.hstack([Z, np.full((len(Z), 1), 3e3)])
    shifted = {"kernel": KernelSpace(tall @ tall.T), "features": FeatureSpace(tall)}
    result = solve_hinge(shifted.get(kind, FeatureSpace(sp.csr_array(tall))), y, weights)
    value, _, _ = fit_margin(Z, np.eye(Z.shape[1]), y[:, 0], weights, squared=False, intercept=True)
    assert result.objective[-1] == pytest.approx(value, rel=1e-6)
    assert (result.status, result.criterion[-1] <= 1e-6) == ("converged", True)


def test_what_no_precision_can_tell_apart_is_not_converged():
    """The constant of the kernel leaves double precision a hundredth of what tells samples apart."""
    _, Z, y, weights = make_problem("features", n_columns=1, size=3.0)
    tall = np.hstack([Z, np.full((len(Z), 1), 1e9)])
    result = solve_hinge(KernelSpace(tall @ tall.T), y, weights, max_iter=10_000)
    assert result.criterion[-1] > 1e-6
    assert result.status in ("max_iter", "stalled")


@pytest.mark.parametrize("kind", KINDS)
def test_hinge_is_svc(kind):
    problem = make_problem(kind, n_columns=1)
    gram, y, weights = design_of(problem), problem.y, problem.weights
    theirs = SVC(kernel="precomputed", tol=1e-8).fit(gram, y[:, 0], sample_weight=weights)
    result = solve_hinge(problem.space, y, weights, tol=1e-8)
    np.testing.assert_allclose(
        (problem.space.scores(result.x) + result.intercept)[:, 0], theirs.decision_function(gram), atol=1e-6
    )
    np.testing.assert_allclose(result.intercept, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_duality_gap_is_nonnegative_and_falls_with_the_tolerance(kind, tol):
    space, _, y, weights = make_problem(kind, size=3.0)
    result = solve_hinge(space, y, weights, tol=tol)
    assert 0 <= result.criterion[-1] <= tol
    assert result.converged


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_zero_is_absent(kind):
    problem = make_problem(kind)
    problem.weights[3] = 0
    rest = without(problem, 3)
    result = solve_hinge(problem.space, problem.y, problem.weights)
    smaller = solve_hinge(rest.space, rest.y, rest.weights)
    np.testing.assert_allclose(result.objective, smaller.objective, rtol=1e-6)
    assert result.criterion[-1] < 1e-5
    np.testing.assert_allclose(
        np.delete(problem.space.scores(result.x), 3, axis=0), rest.space.scores(smaller.x), atol=1e-4
    )


def refitted(gram, y, weights, splits):
    """Scores of rows by machines fitted on the others."""
    scores = np.empty(len(y))
    for rest, fold in splits:
        machine = SVC(kernel="precomputed", tol=1e-8)
        machine.fit(gram[np.ix_(rest, rest)], y[rest], sample_weight=weights[rest])
        scores[fold] = machine.decision_function(gram[np.ix_(fold, rest)])
    return scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_positive", [3, 20])
def test_held_out_scores_are_those_of_machines_fitted_on_the_other_folds(kind, n_positive):
    problem = make_problem(kind, n_columns=1)
    y = -np.ones(40)
    y[np.argsort(problem.Z[:, -1])[:n_positive]] = 1
    held_out = solve_hinge(problem.space, y[:, None], problem.weights, tol=1e-8).detail.held_out[:, 0]
    splits = StratifiedKFold(min(10, n_positive)).split(y, y)
    expected = refitted(design_of(problem), y, problem.weights, splits)
    np.testing.assert_allclose(held_out, expected, atol=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_without_its_only_row_a_sign_is_never_said(sign):
    problem = make_problem("kernel", n_rows=8, n_columns=1)
    y = np.full(8, -sign)
    y[2] = sign
    held_out = solve_hinge(problem.space, y[:, None], problem.weights, tol=1e-8).detail.held_out[:, 0]
    assert held_out[2] == -sign
    others = [(rest, fold) for rest, fold in LeaveOneOut().split(y) if fold[0] != 2]
    expected = refitted(problem.space.gram, y, problem.weights, others)
    np.testing.assert_allclose(np.delete(held_out, 2), np.delete(expected, 2), atol=1e-5)


@pytest.mark.parametrize("n_positive", [1, 2, 30])
def test_at_most_ten_refits(n_positive, monkeypatch):
    problem = make_problem("kernel", n_rows=60, n_columns=1)
    y = -np.ones((60, 1))
    y[:n_positive] = 1
    fits = []

    class CountingSVC(SVC):
        def fit(self, *args, **kwargs):
            fits.append(1)
            return super().fit(*args, **kwargs)

    monkeypatch.setattr("weakly.solvers._hinge.SVC", CountingSVC)
    solve_hinge(problem.space, y, problem.weights)
    assert len(fits) <= 11


def test_any_number_of_iterations_can_be_asked_for():
    space, _, y, weights = make_problem("kernel")
    assert solve_hinge(space, y, weights, max_iter=10**21).converged


def test_truncated_run_says_so_in_the_record_and_nowhere_else():
    space, _, y, weights = make_problem("kernel")
    result = solve_hinge(space, y, weights, max_iter=2)
    assert result.status == "max_iter"
    assert result.criterion[-1] > 1e-3


@pytest.mark.parametrize("max_iter", [3_000_000_000, 10**25])
def test_more_iterations_than_libsvm_can_count(max_iter):
    space = KernelSpace(4 * np.eye(2))
    signs = np.array([[1.0], [-1.0]])
    result = solve_hinge(space, signs, np.ones(2), max_iter=max_iter)
    np.testing.assert_allclose(result.x, signs / 4, rtol=1e-6)
