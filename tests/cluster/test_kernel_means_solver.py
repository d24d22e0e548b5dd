"""k-means in the space of a kernel, against all clusters of few rows and against scikit-learn."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel

import weakly.cluster._kernel_means_solver
from weakly.cluster._kernel_means_solver import seeded_codes, solve_kernel_means
from weakly.spaces import FeatureSpace, KernelSpace

SPACES = {
    "rbf": lambda X: KernelSpace(rbf_kernel(X, gamma=0.3)),
    "dense": FeatureSpace,
    "sparse": lambda X: FeatureSpace(sp.csr_array(X)),
}


def gram_of(space):
    if isinstance(space, KernelSpace):
        return space.gram
    Z = space.features
    return (Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T


@cache
def all_codes(n_rows, n_clusters):
    return np.array(list(product(range(n_clusters), repeat=n_rows)))


def within(gram, codes, n_clusters):
    """Sums of squared distances to the means, for many clusterings; infinite where a cluster is empty."""
    members = (codes[:, :, None] == np.arange(n_clusters)).astype(float)
    sizes = members.sum(axis=1)
    squares = np.einsum("tic,ij,tjc->tc", members, gram, members, optimize=True)
    sums = np.trace(gram) - (squares / np.maximum(sizes, 1)).sum(axis=1)
    return np.where(sizes.min(axis=1) > 0, sums, np.inf)


def random_codes(rng, n_starts, n_rows, n_clusters):
    """Clusters at random, none of them empty."""
    return np.array([rng.permutation(n_rows) % n_clusters for _ in range(n_starts)])


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize(
    ("n_clusters", "least", "most"), [(2, 1, None), (3, 1, None), (2, 4, 5), (3, 3, 3), (3, 2, 4)]
)
def test_the_best_of_many_starts_is_the_best_of_all(kind, n_clusters, least, most):
    rng = np.random.default_rng(n_clusters)
    space = SPACES[kind](rng.normal(size=(9, 2)))
    every = all_codes(9, n_clusters)
    counts = (every[:, :, None] == np.arange(n_clusters)).sum(axis=1)
    allowed = (counts.min(axis=1) >= least) & (counts.max(axis=1) <= (most or 9))
    best = within(gram_of(space), every[allowed], n_clusters).min()
    starts = random_codes(rng, 60, 9, n_clusters)
    if most is None:  # of rows in clusters of equal size, few lead to those of unequal ones
        draws = np.random.RandomState(0)
        seeded = seeded_codes(space, n_clusters, 20, draws, spread_out=True)
        starts = np.vstack([starts, seeded])
    result = solve_kernel_means(space, starts, n_clusters, least=least, most=most, tol=1e-12)
    assert result.detail.start_energies.min() >= best - 1e-9
    assert result.objective[-1] == pytest.approx(best, rel=1e-9)
    assert result.objective[-1] == pytest.approx(within(gram_of(space), result.detail.labels, n_clusters)[0])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_clusters=st.integers(2, 4),
    kind=st.sampled_from(sorted(SPACES)),
    room=st.sampled_from([0, 1, None]),
)
def test_runs_from_starts_out_of_bounds_count_for_what_they_become(seed, n_clusters, kind, room):
    rng = np.random.default_rng(seed)
    space = SPACES[kind](rng.normal(size=(12, 3)))
    least, most = (1, 12) if room is None else (12 // n_clusters - room, 12 // n_clusters + room)
    draws = np.random.RandomState(seed)
    starts = seeded_codes(space, n_clusters, 6, draws, spread_out=False)
    result = solve_kernel_means(space, starts, n_clusters, least=least, most=most, tol=1e-9)
    single = [
        solve_kernel_means(space, start[None], n_clusters, least=least, most=most, tol=1e-9)
        for start in starts
    ]
    reached = [within(gram_of(space), one.detail.labels, n_clusters)[0] for one in single]
    sizes = np.bincount(result.detail.labels[0], minlength=n_clusters)
    assert least <= sizes.min() <= sizes.max() <= most
    np.testing.assert_allclose(result.detail.start_energies, reached, atol=1e-9)
    assert result.objective[-1] == pytest.approx(min(reached), abs=1e-9)


def test_a_start_out_of_bounds_goes_on_after_its_first_round():
    """Its sum is less than any within the bounds: that must not look like the end of all gains."""
    X = np.array([0.0, 1.0, 2.0, 3.0, 50.0, 51.0])[:, None]
    result = solve_kernel_means(FeatureSpace(X), np.array([[0, 0, 0, 0, 1, 1]]), 2, least=3, most=3)
    np.testing.assert_array_equal(result.detail.labels, [[0, 0, 0, 1, 1, 1]])
    inside = X[:3].var() * 3 + X[3:].var() * 3
    assert result.objective[-1] == pytest.approx(inside)
    assert result.detail.start_energies[0] == pytest.approx(inside)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_scikit_learn(n_clusters, kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) + 5.0
    start = random_codes(rng, 1, 80, n_clusters)
    means = np.array([X[start[0] == c].mean(axis=0) for c in range(n_clusters)])
    reference = KMeans(n_clusters, init=means, n_init=1, tol=0, max_iter=1000).fit(X)
    result = solve_kernel_means(SPACES[kind](X), start, n_clusters, tol=1e-13)
    np.testing.assert_array_equal(result.detail.labels[0], reference.labels_)
    assert result.objective[-1] == pytest.approx(reference.inertia_, rel=1e-9)
    np.testing.assert_allclose(result.x.T, reference.cluster_centers_, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_clusters=st.integers(2, 5),
    kind=st.sampled_from(sorted(SPACES)),
    room=st.sampled_from([0, 2, None]),
    n_values=st.sampled_from([2, 100]),
)
def test_sums_never_rise_and_no_cluster_is_empty(seed, n_clusters, kind, room, n_values):
    rng = np.random.default_rng(seed)
    space = SPACES[kind](rng.integers(n_values, size=(20, 2)) / n_values)  # with equal rows
    starts = random_codes(rng, 4, 20, n_clusters)
    least, most = 1, 20
    if room is not None:
        least, most = max(20 // n_clusters - room, 1), -(-20 // n_clusters) + room
    result = solve_kernel_means(space, starts, n_clusters, least=least, most=most, tol=1e-12)
    gram = gram_of(space)
    assert (np.diff(result.objective) <= 1e-9).all()
    best = np.argmin(result.detail.start_energies)
    assert result.objective[0] == pytest.approx(within(gram, starts, n_clusters)[best], abs=1e-9)
    sizes = np.bincount(result.detail.labels[0], minlength=n_clusters)
    assert least <= sizes.min() <= sizes.max() <= most
    assert result.objective[-1] == pytest.approx(within(gram, result.detail.labels, n_clusters)[0], abs=1e-9)
    assert result.n_iter == len(result.objective) - 1
    spread = np.trace(gram) - gram.sum() / 20
    np.testing.assert_allclose(result.criterion[1:], -np.diff(result.objective) / (spread or 1.0), atol=1e-12)


def test_an_empty_cluster_gets_the_row_that_costs_the_least():
    rows = np.array([-10.0, -9.0, 9.0, 10.0])[:, None]
    # The means are -10, 0.5 and 9, and the nearest to both rows of the second is another one.
    filled = solve_kernel_means(FeatureSpace(rows), np.array([[0, 1, 2, 1]]), 3, max_iter=1)
    np.testing.assert_array_equal(filled.detail.labels, [[0, 0, 1, 2]])
    same = solve_kernel_means(FeatureSpace(np.ones((5, 2))), np.array([[0, 1, 2, 0, 0]]), 3)
    assert np.bincount(same.detail.labels[0], minlength=3).min() >= 1
    assert same.objective[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize(("least", "most"), [(1, None), (8, 12)])
def test_runs_together_are_runs_one_by_one(kind, least, most):
    rng = np.random.default_rng(3)
    space = SPACES[kind](rng.normal(size=(30, 3)))
    starts = random_codes(rng, 7, 30, 3)
    bounds = {"least": least, "most": most}
    together = solve_kernel_means(space, starts, 3, **bounds)
    single = [solve_kernel_means(space, start[None], 3, **bounds) for start in starts]
    np.testing.assert_allclose(
        together.detail.start_energies, [one.objective[-1] for one in single], rtol=1e-12
    )
    best = single[int(np.argmin(together.detail.start_energies))]
    np.testing.assert_array_equal(together.detail.labels, best.detail.labels)
    np.testing.assert_allclose(together.objective, best.objective, rtol=1e-12)
    np.testing.assert_allclose(together.x, best.x, atol=1e-12)
    assert together.n_iter == best.n_iter


@pytest.mark.parametrize("kind", SPACES)
def test_the_largest_score_says_the_nearest_mean(kind):
    rng = np.random.default_rng(5)
    space = SPACES[kind](rng.normal(size=(25, 3)))
    result = solve_kernel_means(space, random_codes(rng, 3, 25, 4), 4, tol=1e-12)
    gram, codes = gram_of(space), result.detail.labels[0]
    means = (codes[:, None] == np.arange(4)) / np.bincount(codes)
    distances = np.diag(gram)[:, None] - 2 * gram @ means + np.diag(means.T @ gram @ means)
    scores = space.scores(result.x) + result.intercept
    np.testing.assert_array_equal(scores.argmax(axis=1), distances.argmin(axis=1))
    np.testing.assert_allclose(scores, (np.diag(gram)[:, None] - distances) / 2, atol=1e-10)
    np.testing.assert_array_equal(scores.argmax(axis=1), codes)  # where runs have ended
    assert result.converged


def test_stopping_early():
    rng = np.random.default_rng(6)
    space = FeatureSpace(rng.normal(size=(200, 2)))
    starts = random_codes(rng, 2, 200, 6)
    stopped = solve_kernel_means(space, starts, 6, callback=lambda: True)
    assert (stopped.status, stopped.n_iter, len(stopped.objective)) == ("stopped", 1, 2)

    def interrupt():
        raise KeyboardInterrupt

    interrupted = solve_kernel_means(space, starts, 6, callback=interrupt)
    assert interrupted.status == "interrupted"
    np.testing.assert_array_equal(interrupted.detail.labels, stopped.detail.labels)
    cut = solve_kernel_means(space, starts, 6, tol=1e-12, max_iter=2)
    assert (cut.status, cut.n_iter) == ("max_iter", 2)
    none = solve_kernel_means(space, starts, 6, max_iter=0)
    assert (none.status, none.n_iter, len(none.objective)) == ("max_iter", 0, 1)
    np.testing.assert_allclose(none.detail.start_energies, within(gram_of(space), starts, 6))
    np.testing.assert_array_equal(none.detail.labels[0], starts[none.detail.start_energies.argmin()])
    calls = []
    solve_kernel_means(space, starts, 6, callback=lambda: calls.append(1))
    assert len(calls) >= 3


@pytest.mark.parametrize("kind", SPACES)
def test_narrow_numbers(kind):
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(40, 3)) + 3 * (np.arange(40) % 3)[:, None]).astype(np.float32)
    space = SPACES[kind](X)
    starts = random_codes(rng, 5, 40, 3)
    result = solve_kernel_means(space, starts, 3)
    wide = solve_kernel_means(SPACES[kind](X.astype(float)), starts, 3)
    np.testing.assert_array_equal(result.detail.labels, wide.detail.labels)
    assert result.objective[-1] == pytest.approx(wide.objective[-1], rel=1e-4)


@pytest.mark.parametrize("spread_out", [True, False])
@pytest.mark.parametrize("kind", SPACES)
def test_seeds_draw_the_rows_nearest_to_them(spread_out, kind):
    X = np.repeat([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]], 6, axis=0)
    X += 0.1 * np.random.default_rng(0).normal(size=X.shape)
    space, blobs = SPACES[kind](X), np.repeat(np.arange(3), 6)
    hits = 0
    for seed in range(20):
        codes = seeded_codes(space, 3, 1, np.random.RandomState(seed), spread_out=spread_out)[0]
        assert sorted(set(codes)) == [0, 1, 2]
        hits += len(set(zip(codes, blobs, strict=True))) == 3
    if spread_out:
        assert hits == 20 if kind != "rbf" else hits > 15
    else:
        assert hits < 15  # 6 in 19 at random
    same = seeded_codes(SPACES[kind](np.ones((4, 2))), 4, 1, np.random.RandomState(0), spread_out=True)[0]
    assert sorted(same) == [0, 1, 2, 3]


def test_sums_do_not_rise_where_a_matrix_is_no_kernel():
    random = np.random.default_rng(0)
    for _ in range(20):
        half = random.normal(size=(12, 12))
        starts = np.array([random.permutation(12) % 3 for _ in range(4)])
        result = solve_kernel_means(KernelSpace(half + half.T), starts, 3)
        assert (np.diff(result.objective) <= 0).all()
        assert result.detail.start_energies.min() == result.objective[-1]


def test_many_starts_go_in_blocks(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    starts = np.array([random.permutation(30) % 3 for _ in range(7)])
    at_once = solve_kernel_means(FeatureSpace(X), starts, 3)
    monkeypatch.setattr(weakly.cluster._kernel_means_solver, "_MOST_ENTRIES", 200)
    in_blocks = solve_kernel_means(FeatureSpace(X), starts, 3)
    np.testing.assert_allclose(in_blocks.detail.start_energies, at_once.detail.start_energies)
    np.testing.assert_array_equal(in_blocks.detail.labels, at_once.detail.labels)
