"""Ridge regression at many penalties against refits, plain solves and the density of a Gaussian."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from weakly.auto._ridge_path import solve_ridge_path

PENALTIES = np.array([1e-3, 0.1, 10.0])


def problem(seed, n_rows, rank, n_columns):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_rows, rank))
    return Z @ Z.T / rank, rng.normal(size=(n_rows, n_columns))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**16),
    st.integers(2, 15),
    st.integers(1, 20),
    st.integers(1, 3),
    st.sampled_from([0.0, 1.0, 25.0]),
)
def test_held_out_scores_are_those_of_refits(seed, n_rows, rank, n_columns, constant):
    gram, targets = problem(seed, n_rows, rank, n_columns)
    (path,) = solve_ridge_path(gram, targets, PENALTIES, constants=(constant,))
    full = gram + constant
    for p, penalty in enumerate(PENALTIES):
        for i in range(n_rows):
            others = np.delete(np.arange(n_rows), i)
            left = full[np.ix_(others, others)] + penalty * np.eye(n_rows - 1)
            refit = full[i, others] @ np.linalg.solve(left, targets[others])
            np.testing.assert_allclose(path.held_out[p, i], refit, rtol=1e-10, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 12), st.integers(1, 20), st.sampled_from([0.0, 1.0]))
def test_coefficients_solve_the_system_and_precision_is_its_inverse_diagonal(seed, n_rows, rank, constant):
    gram, targets = problem(seed, n_rows, rank, 2)
    (path,) = solve_ridge_path(gram, targets, PENALTIES, constants=(constant,))
    for p, penalty in enumerate(PENALTIES):
        system = gram + constant + penalty * np.eye(n_rows)
        np.testing.assert_allclose(system @ path.coefficients[p], targets, atol=1e-8)
        np.testing.assert_allclose(path.precision[p], np.diag(np.linalg.inv(system)), rtol=1e-8)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_evidence_is_a_gaussian_density_at_its_best_scale(constant, n_columns):
    gram, targets = problem(0, 9, 4, n_columns)
    (path,) = solve_ridge_path(gram, targets, PENALTIES, constants=(constant,))

    def log_density(penalty, variance):
        covariance = variance * (gram + constant + penalty * np.eye(9))
        return multivariate_normal(cov=covariance).logpdf(targets.T).sum()

    exact = [log_density(*pair) for pair in zip(PENALTIES, path.variance, strict=True)]
    np.testing.assert_allclose(np.diff(path.log_evidence), np.diff(exact), rtol=1e-9)
    for penalty, variance, best in zip(PENALTIES, path.variance, exact, strict=True):
        assert log_density(penalty, 1.05 * variance) < best > log_density(penalty, 0.95 * variance)


def test_a_stack_of_kernels_is_each_alone():
    (first, targets), (second, _) = problem(0, 8, 3, 2), problem(1, 8, 5, 2)
    both = solve_ridge_path(np.stack([first, second]), targets, PENALTIES, constants=(0.0, 1.0))
    for constant, path in zip((0.0, 1.0), both, strict=True):
        for place, gram in enumerate((first, second)):
            (alone,) = solve_ridge_path(gram, targets, PENALTIES, constants=(constant,))
            for name in ("coefficients", "held_out", "precision", "variance", "log_evidence"):
                np.testing.assert_allclose(getattr(path, name)[place], getattr(alone, name), rtol=1e-10)


def test_free_columns_count_in_the_scale():
    gram, _ = problem(0, 6, 3, 2)
    one_hot = np.eye(2)[[0, 1, 1, 0, 1, 0]] - 0.5
    (both,) = solve_ridge_path(gram, one_hot, PENALTIES, n_free=1)
    (one,) = solve_ridge_path(gram, one_hot[:, :1], PENALTIES)
    # Two opposite columns say what one does, at twice the scale.
    np.testing.assert_allclose(both.variance, 2 * one.variance)
    np.testing.assert_allclose(np.diff(both.log_evidence), np.diff(one.log_evidence))
