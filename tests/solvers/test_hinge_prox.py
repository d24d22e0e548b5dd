"""The prox of the hinge loss against cvxpy, closed forms and its optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.convex import fit_hinge_offset
from weakly.solvers import prox_hinge


def random_problem(seed, n_rows=30, n_columns=3, size=1.0, same_weights=False):
    rng = np.random.default_rng(seed)
    targets = rng.choice([-1.0, 1.0], (n_rows, n_columns))
    targets[:2] = [[1.0], [-1.0]]
    values = 0.5 * targets + rng.normal(size=(n_rows, n_columns)) + rng.normal(size=n_columns)
    weights = np.full(n_rows, size) if same_weights else size * rng.uniform(0.5, 2, n_rows)
    return values, targets, weights


def objective_at(h, b, values, targets, weights):
    slack = np.maximum(1 - targets * (h + b), 0)
    return weights @ slack + ((h - values) ** 2).sum(axis=0) / 2


@pytest.mark.parametrize("size", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_columns_match_cvxpy(size, seed):
    values, targets, weights = random_problem(seed, size=size)
    result = prox_hinge(values, targets, weights)
    # Moves of h from e are the features' part of the scores, with an identity matrix for features.
    oracle = [fit_hinge_offset(np.eye(30), e, y, weights) for e, y in zip(values.T, targets.T, strict=True)]
    assert result.objective[-1] == pytest.approx(sum(value for value, _ in oracle), rel=1e-6)
    expected = np.column_stack([scores for _, scores in oracle])
    np.testing.assert_allclose(result.x + result.intercept, expected, atol=1e-4)
    assert result.converged
    assert 0 <= result.criterion[-1] <= 1e-12


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 60),
    size=st.floats(1e-3, 1e3),
    same_weights=st.booleans(),
    rounded=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_optimality_conditions_hold_and_no_point_nearby_is_better(seed, n_rows, size, same_weights, rounded):
    values, targets, weights = random_problem(seed, n_rows, size=size, same_weights=same_weights)
    if rounded:  # so that corners coincide and flat pieces are common
        values = values.round()
    result = prox_hinge(values, targets, weights)
    h, b, beta, w = result.x, result.intercept, result.detail.dual, weights[:, None]
    margins = targets * (h + b)
    assert (beta >= 0).all()
    assert (beta <= w).all()
    np.testing.assert_allclose((targets * beta).sum(axis=0), 0, atol=1e-11 * weights.sum())
    np.testing.assert_allclose(h, values + targets * beta, atol=1e-12)
    np.testing.assert_allclose(margins[(beta > 0) & (beta < w)], 1, atol=1e-11)
    assert (margins[beta == 0] >= 1 - 1e-11).all()
    assert (margins[beta == w] <= 1 + 1e-11).all()
    here = objective_at(h, b, values, targets, weights)
    assert result.objective[-1] == pytest.approx(here.sum())
    rng = np.random.default_rng(seed)
    for distance in (1e-4, 1e-2, 1.0):
        moved, shifted = h + distance * rng.normal(size=h.shape), b + distance * rng.normal(size=b.shape)
        for other in [(moved, b), (h, shifted), (moved, shifted)]:
            assert (here <= objective_at(*other, values, targets, weights) * (1 + 1e-12)).all()


def test_the_middle_of_the_best_biases():
    targets = np.array([[1.0], [-1.0]])
    # Both rows beyond their margins: 1 - 5 <= b <= -1 + 7. Both short of them: -1 - 5 + w <= b <= 1 + 7 - w.
    right = prox_hinge(np.array([[5.0], [-7.0]]), targets, np.full(2, 0.25))
    wrong = prox_hinge(np.array([[-7.0], [5.0]]), targets, np.full(2, 0.25))
    assert right.intercept.tolist() == [1.0]
    assert right.x.ravel().tolist() == [5.0, -7.0]
    assert right.objective[-1] == 0
    assert wrong.intercept.tolist() == [1.0]
    assert wrong.x.ravel().tolist() == [-6.75, 4.75]


@pytest.mark.parametrize("n_rows", [3, 3000])
def test_a_flat_piece_is_found_despite_rounding(n_rows):
    """Weights 0.1 and 0.2 of one sign balance 0.3 of the other, though not in the last digits."""
    values = np.repeat([-4.0, -3.0, 7.0], n_rows // 3)[:, None]
    targets = np.repeat([1.0, 1.0, -1.0], n_rows // 3)[:, None]
    weights = np.repeat([0.1, 0.2, 0.3], n_rows // 3)
    result = prox_hinge(values, targets, weights)
    # All rows stay short of their margins: -1 - 7 + 0.3 <= b <= 1 + 3 - 0.2.
    np.testing.assert_allclose(result.intercept, (-7.7 + 3.8) / 2, atol=1e-9)
    np.testing.assert_array_equal(result.detail.dual[:, 0], weights)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_sign_moves_nothing_but_the_bias(sign):
    values = sign * np.array([[0.1, 4.0], [0.7, 3.0], [-2.0, 5.0]])
    result = prox_hinge(values, np.full((3, 2), sign), np.ones(3))
    np.testing.assert_array_equal(result.x, values)
    np.testing.assert_array_equal(result.detail.dual, 0)
    np.testing.assert_allclose(result.intercept, [sign * 3.0, sign * -2.0])
    assert result.objective[-1] == pytest.approx(0, abs=1e-15)
    assert result.criterion[-1] < 1e-6


def test_columns_do_not_meet():
    values, targets, weights = random_problem(1, n_columns=4)
    targets[:, 2] = 1
    together = prox_hinge(values, targets, weights)
    for k in range(4):
        alone = prox_hinge(values[:, [k]], targets[:, [k]], weights)
        np.testing.assert_allclose(together.x[:, [k]], alone.x, atol=1e-13)
        np.testing.assert_allclose(together.intercept[k], alone.intercept[0], atol=1e-13)


def test_shifts_and_swapped_signs_pass_through():
    """Shifting the values shifts the bias the other way, and swapping the signs swaps everything."""
    values, targets, weights = random_problem(2)
    plain = prox_hinge(values, targets, weights)
    shifted = prox_hinge(values + 3, targets, weights)
    swapped = prox_hinge(-values, -targets, weights)
    np.testing.assert_allclose(shifted.x, plain.x + 3, atol=1e-12)
    np.testing.assert_allclose(shifted.intercept, plain.intercept - 3, atol=1e-12)
    np.testing.assert_allclose(swapped.x, -plain.x, atol=1e-12)
    np.testing.assert_allclose(swapped.intercept, -plain.intercept, atol=1e-12)


def test_float32_stays():
    values, targets, weights = random_problem(3)
    result = prox_hinge(values.astype(np.float32), targets, weights)
    assert result.x.dtype == result.intercept.dtype == np.float32
    np.testing.assert_allclose(result.x, prox_hinge(values, targets, weights).x, atol=1e-5)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_weights_are_named(bad):
    values, targets, weights = random_problem(0)
    weights[4] = bad
    with pytest.raises(ValueError, match="weights must be positive"):
        prox_hinge(values, targets, weights)
