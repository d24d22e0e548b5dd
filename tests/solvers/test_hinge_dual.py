"""Pairwise steps on the hinge dual against cvxpy, LIBSVM, the closed form and a NumPy twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from tests.oracles.convex import fit_hinge_offset
from tests.solvers.problems import make_problem
from weakly.solvers import prox_hinge, solve_hinge_dual


def offset_problem(kind="kernel", *, n_columns=3, seed=0, **kwargs):
    """Gram matrix, features with that Gram matrix, offsets that lean towards the signs, signs and weights."""
    problem = make_problem(kind, n_columns=n_columns, seed=seed, **kwargs)
    rng = np.random.default_rng(seed + 100)
    offsets = 0.3 * problem.y + rng.normal(size=problem.y.shape) + rng.normal(size=n_columns)
    return problem.Z @ problem.Z.T, problem.Z, offsets, problem.y, problem.weights


def scores_of(result, gram, offsets):
    return offsets + gram @ result.x + result.intercept


# The Gram matrix of three plain features has rank 3.
@pytest.mark.parametrize("kind", ["kernel", "features"])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_columns_match_cvxpy(kind, size, seed):
    gram, Z, offsets, y, weights = offset_problem(kind, size=size, seed=seed)
    result = solve_hinge_dual(gram, offsets, y, weights, tol=1e-8)
    assert result.converged
    oracle = [fit_hinge_offset(Z, f0, column, weights) for f0, column in zip(offsets.T, y.T, strict=True)]
    assert result.objective[-1] == pytest.approx(sum(value for value, _ in oracle), rel=1e-6)
    expected = np.column_stack([scores for _, scores in oracle])
    np.testing.assert_allclose(scores_of(result, gram, offsets), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["kernel", "features"])
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_without_offsets_it_is_libsvm(kind, size):
    gram, _, offsets, y, weights = offset_problem(kind, size=size)
    gram = gram.astype(np.float32).astype(np.float64)  # LIBSVM keeps single precision
    result = solve_hinge_dual(gram, np.zeros_like(offsets), y, weights, tol=1e-8)
    for k in range(3):
        theirs = SVC(kernel="precomputed", tol=1e-8).fit(gram, y[:, k], sample_weight=weights)
        ours = gram @ result.x[:, k] + result.intercept[k]
        np.testing.assert_allclose(ours, theirs.decision_function(gram), atol=1e-6)
        np.testing.assert_allclose(result.intercept[k], theirs.intercept_[0], atol=1e-6)


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 60),
    size=st.floats(1e-3, 1e2),
    same_weights=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_with_an_identity_matrix_it_is_the_prox(seed, n_rows, size, same_weights):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], (n_rows, 2))
    offsets = 0.5 * y + rng.normal(size=(n_rows, 2))
    weights = np.full(n_rows, size) if same_weights else size * rng.uniform(0.5, 2, n_rows)
    result = solve_hinge_dual(np.eye(n_rows), offsets, y, weights, tol=1e-10)
    closed = prox_hinge(offsets, y, weights)
    np.testing.assert_allclose(offsets + result.x, closed.x, atol=1e-8)
    np.testing.assert_allclose(result.detail.dual, closed.detail.dual, atol=1e-8)
    np.testing.assert_allclose(result.intercept, closed.intercept, atol=1e-8)
    assert result.objective[-1] == pytest.approx(closed.objective[-1], rel=1e-7, abs=1e-12)


def test_dual_point_certifies_the_gap():
    gram, Z, offsets, y, weights = offset_problem(size=3.0)
    result = solve_hinge_dual(gram, offsets, y, weights, tol=1e-2)
    beta, w = result.detail.dual, weights[:, None]
    assert ((beta >= 0) & (beta <= w)).all()
    np.testing.assert_allclose((y * beta).sum(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(result.x, y * beta)
    u = Z.T @ result.x
    slack = np.maximum(1 - y * scores_of(result, gram, offsets), 0)
    objectives = weights @ slack + (u**2).sum(axis=0) / 2
    bounds = (beta * (1 - y * offsets)).sum(axis=0) - (u**2).sum(axis=0) / 2
    assert result.objective[-1] == pytest.approx(objectives.sum())
    assert result.criterion[-1] == pytest.approx(np.max((objectives - bounds) / objectives), rel=1e-6)
    assert 1e-6 < result.criterion[-1] < 1e-2 < result.criterion[0]


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_violation_is_below_the_tolerance(tol):
    gram, _, offsets, y, weights = offset_problem(size=3.0)
    result = solve_hinge_dual(gram, offsets, y, weights, tol=tol)
    residuals = y - offsets - gram @ result.x
    growing = np.where(y > 0, result.detail.dual < weights[:, None], result.detail.dual > 0)
    shrinking = np.where(y > 0, result.detail.dual > 0, result.detail.dual < weights[:, None])
    lead = np.where(growing, residuals, -np.inf).max(axis=0) - np.where(shrinking, residuals, np.inf).min(
        axis=0
    )
    assert (lead <= tol * (1 + 1e-6)).all()
    assert lead.max() > tol / 1e4  # not because of far too many steps


def numpy_twin(gram, f0, y, w, n_iter):
    """The same pairs with unsigned ``beta``, as the LIBSVM paper writes them, by whole arrays."""
    beta, lead = np.zeros(len(y)), y * (1 - y * f0)
    for _ in range(n_iter):
        up = np.where(y > 0, beta < w, beta > 0)
        low = np.where(y > 0, beta > 0, beta < w)
        i = np.argmax(np.where(up, lead, -np.inf))
        curvature = np.maximum(gram[i, i] + np.diag(gram) - 2 * gram[i], 1e-12)
        j = np.argmax(np.where(low & (lead < lead[i]), (lead[i] - lead) ** 2 / curvature, -np.inf))
        room_i = w[i] - beta[i] if y[i] > 0 else beta[i]
        room_j = beta[j] if y[j] > 0 else w[j] - beta[j]
        step = min((lead[i] - lead[j]) / curvature[j], room_i, room_j)
        beta[i] = (w[i] if y[i] > 0 else 0.0) if step == room_i else beta[i] + y[i] * step
        beta[j] = (0.0 if y[j] > 0 else w[j]) if step == room_j else beta[j] - y[j] * step
        lead = lead - step * (gram[i] - gram[j])  # not anew: a free pair ties, and rounding says who is next
    return beta


def test_compiled_steps_are_those_of_the_twin():
    gram, _, offsets, y, weights = offset_problem()
    for n_iter in (1, 7, 30):
        result = solve_hinge_dual(gram, offsets, y, weights, tol=1e-300, max_iter=n_iter)
        twin = [numpy_twin(gram, offsets[:, k], y[:, k], weights, n_iter) for k in range(3)]
        np.testing.assert_allclose(result.detail.dual, np.column_stack(twin), atol=1e-12)
        assert (result.status, result.n_iter) == ("max_iter", n_iter)


def test_a_solution_is_a_start_without_steps():
    gram, _, offsets, y, weights = offset_problem(size=3.0)
    cold = solve_hinge_dual(gram, offsets, y, weights)
    again = solve_hinge_dual(gram, offsets, y, weights, dual=cold.detail.dual)
    assert cold.n_iter > 20
    assert again.n_iter <= 1
    np.testing.assert_allclose(again.x, cold.x, atol=1e-6)
    near = solve_hinge_dual(gram, offsets + 1e-4 * np.sin(offsets), y, weights, dual=cold.detail.dual)
    assert near.n_iter < cold.n_iter
    assert near.criterion[0] < 1e-3 < cold.criterion[0]
    assert near.converged


@pytest.mark.parametrize("change", ["heavier", "other signs", "smaller box", "outside", "one side"])
def test_any_start_leads_to_the_same_point(change):
    gram, _, offsets, y, weights = offset_problem(size=3.0)
    dual = solve_hinge_dual(gram, offsets, y, weights).detail.dual
    if change == "heavier":
        dual = dual + 0.1
    elif change == "other signs":
        y = y[:, ::-1]
    elif change == "smaller box":
        weights = weights / 5
    elif change == "outside":
        dual = np.where(y > 0, -1.0, 1e6)
    else:
        dual = np.where(y > 0, dual, 0)
    cold = solve_hinge_dual(gram, offsets, y, weights, tol=1e-8)
    warm = solve_hinge_dual(gram, offsets, y, weights, tol=1e-8, dual=dual)
    np.testing.assert_allclose((y * warm.detail.dual).sum(axis=0), 0, atol=1e-10)
    assert ((warm.detail.dual >= 0) & (warm.detail.dual <= weights[:, None])).all()
    np.testing.assert_allclose(scores_of(warm, gram, offsets), scores_of(cold, gram, offsets), atol=1e-6)


def test_inputs_are_left_as_they_were():
    gram, _, offsets, y, weights = offset_problem()
    dual = np.full(y.shape, 0.2)
    copies = [array.copy() for array in (gram, offsets, y, weights, dual)]
    solve_hinge_dual(gram, offsets, y, weights, dual=dual)
    for array, copy in zip((gram, offsets, y, weights, dual), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_equal_rows_of_both_signs_have_no_curvature():
    """Two rows of one point pull against each other; the heavier sign wins, and the lighter pays in full."""
    gram = np.ones((3, 3))
    y, weights = np.array([[1.0], [1.0], [-1.0]]), np.array([2.0, 1.0, 1.0])
    result = solve_hinge_dual(gram, np.zeros((3, 1)), y, weights, tol=1e-10)
    np.testing.assert_allclose(scores_of(result, gram, 0), 1, atol=1e-9)
    np.testing.assert_allclose(result.detail.dual[2], 1, atol=1e-9)
    assert result.objective[-1] == pytest.approx(2.0)


def test_the_bias_is_the_mean_of_the_free_rows_or_the_middle_of_the_bounds():
    gram, _, offsets, y, weights = offset_problem(size=3.0)
    rough = solve_hinge_dual(gram, offsets, y, weights, tol=1e-2)
    free = (rough.detail.dual > 0) & (rough.detail.dual < weights[:, None])
    residuals = y - offsets - gram @ rough.x
    np.testing.assert_allclose(rough.intercept, np.mean(residuals, axis=0, where=free), atol=1e-12)
    y, weights = np.array([[1.0], [-1.0]]), np.full(2, 0.25)
    for offsets in (np.array([[5.0], [-7.0]]), np.array([[-7.0], [5.0]])):  # both beyond, both short
        result = solve_hinge_dual(np.eye(2), offsets, y, weights)
        assert result.intercept.tolist() == prox_hinge(offsets, y, weights).intercept.tolist() == [1.0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_sign_is_a_matter_of_the_bias(sign):
    gram, _, offsets, _, weights = offset_problem()
    y = np.full(offsets.shape, sign)
    for dual in (None, np.full(offsets.shape, 0.3)):
        result = solve_hinge_dual(gram, offsets, y, weights, dual=dual)
        np.testing.assert_array_equal(result.x, 0)
        np.testing.assert_array_equal(result.intercept, prox_hinge(offsets, y, weights).intercept)
        np.testing.assert_allclose((y * (offsets + result.intercept)).min(axis=0), 1)
        assert result.converged
        assert result.n_iter == 0


def test_result_does_not_depend_on_threads_or_other_columns(monkeypatch):
    gram, _, offsets, y, weights = offset_problem(n_columns=4)
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 4)
    several = solve_hinge_dual(gram, offsets, y, weights)
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 1)
    one = solve_hinge_dual(gram, offsets, y, weights)
    np.testing.assert_array_equal(one.x, several.x)
    alone = solve_hinge_dual(gram, offsets[:, [2]], y[:, [2]], weights)
    np.testing.assert_array_equal(alone.detail.dual[:, 0], several.detail.dual[:, 2])


def test_float32_stays():
    gram, _, offsets, y, weights = offset_problem()
    single = solve_hinge_dual(gram.astype(np.float32), offsets.astype(np.float32), y, weights)
    assert single.x.dtype == single.intercept.dtype == np.float32
    double = solve_hinge_dual(gram, offsets, y, weights)
    np.testing.assert_allclose(scores_of(single, gram, offsets), scores_of(double, gram, offsets), atol=1e-4)


def test_truncated_run_says_so_in_the_record():
    gram, _, offsets, y, weights = offset_problem(size=3.0)
    result = solve_hinge_dual(gram, offsets, y, weights, max_iter=3)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    assert result.criterion[-1] > 1e-2


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_weights_are_named(bad):
    gram, _, offsets, y, weights = offset_problem()
    weights[4] = bad
    with pytest.raises(ValueError, match="weights must be positive"):
        solve_hinge_dual(gram, offsets, y, weights)


def test_a_dual_of_another_problem_is_named():
    gram, _, offsets, y, weights = offset_problem()
    with pytest.raises(ValueError, match="dual has shape"):
        solve_hinge_dual(gram, offsets, y, weights, dual=np.zeros((3, 3)))


def test_more_steps_than_a_word_can_count():
    y = np.array([[1.0], [-1.0]])
    result = solve_hinge_dual(4 * np.eye(2), np.zeros((2, 1)), y, np.ones(2), max_iter=10**25)
    np.testing.assert_allclose(result.x, y / 4)
