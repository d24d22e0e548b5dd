"""Trees against enumeration, against walks down their nodes one by one, and against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

from tests.oracles.stumps import best_names, least_error
from weakly.boosting._forest import TreeRules, grow_forest
from weakly.boosting._learners import N_BINS, Bins

BRIEFLY = settings(max_examples=40, deadline=None)


def seeds(n_trees, seed=0):
    return np.random.SeedSequence(seed).generate_state(n_trees, np.uint64)


def rules(n_trees=1, max_depth=None, min_samples_leaf=1, max_features=3, **others):
    return TreeRules(n_trees, max_depth, min_samples_leaf, max_features, **others)


def problem(seed, n_rows=30, n_classes=3, n_features=3, n_values=5):
    rng = np.random.default_rng(seed)
    binned = rng.integers(0, n_values, (n_rows, n_features)).astype(np.uint8)
    return binned, rng.integers(0, n_classes, n_rows), rng.exponential(size=n_rows)


def leaves_by_hand(forest, binned, tree=0):
    """Leaf of each row, by asking one node after the other."""
    starts, nodes = forest.arrays[:2]
    last = starts[tree + 1, 0] if tree + 1 < len(starts) else len(nodes)
    own = nodes[starts[tree, 0] : last]
    leaves = []
    for row in binned:
        at = 0
        while own[at]["child"] != at:
            at = int(own[at]["child"]) + int(row[own[at]["feature"]] > own[at]["cut"])
        leaves.append(int(own[at]["leaf"]))
    return np.array(leaves)


# Bins


def test_few_values_have_a_bin_each_and_missing_ones_their_own():
    X = np.array([[3.0, 1.0], [np.nan, 1.0], [7.0, 1.0], [4.0, np.nan]])
    assert Bins(X)(X).tolist() == [[1, 1], [0, 1], [3, 1], [2, 0]]
    # cuts lie half way, and beyond the ends the outer bins go on
    assert Bins(X)(np.array([[3.4, -9.0], [3.6, 9.0]])).tolist() == [[1, 1], [2, 1]]


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_rows=st.integers(300, 3000))
def test_many_values_are_binned_in_order_and_evenly(seed, n_rows):
    X = np.random.default_rng(seed).lognormal(size=(n_rows, 1))
    binned = Bins(X)(X)[:, 0].astype(int)
    assert (np.diff(binned[np.argsort(X[:, 0])]) >= 0).all()
    counts = np.bincount(binned, minlength=N_BINS + 1)[1:]
    assert counts.max() <= 2 * (n_rows / N_BINS) + 2


def test_columns_without_a_value_are_one_bin():
    X = np.column_stack([np.full(4, np.nan), np.arange(4.0)])
    assert Bins(X)(X)[:, 0].tolist() == [0, 0, 0, 0]


# Choice of a split


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 4))
def test_a_single_split_has_the_least_error_of_all(seed, n_classes):
    """[rmsboost] Eq. (19) over all trees of one split."""
    binned, labels, weights = problem(seed, n_classes=n_classes)
    stump = rules(max_depth=1, is_gini=False, is_exhaustive=True)
    forest, _ = grow_forest(binned, labels, weights, n_classes, stump, seeds(1))
    named = forest.shares(binned).argmax(axis=1)
    wrong = weights[named != labels].sum()
    np.testing.assert_allclose(wrong, least_error(binned, labels, weights, n_classes), rtol=1e-6)


@BRIEFLY
@given(seed=st.integers(0, 2**16), is_exhaustive=st.booleans())
def test_splits_by_purity_are_the_best_of_those_tried(seed, is_exhaustive):
    """Gain of a single split, against all splits in a loop; a random one is among them."""
    binned, labels, weights = problem(seed)
    stump = rules(max_depth=1, is_exhaustive=is_exhaustive)
    forest, _ = grow_forest(binned, labels, weights, 3, stump, seeds(1, seed))

    def purity(rows):
        per_class = np.bincount(labels[rows], weights[rows], minlength=3)
        return (per_class**2).sum() / per_class.sum()

    gains = [
        purity(binned[:, j] <= cut) + purity(binned[:, j] > cut) - purity(np.ones(30, bool))
        for j in range(3)
        for cut in np.unique(binned[:, j])[:-1]
    ]
    found = forest.gains.sum()
    if is_exhaustive:
        np.testing.assert_allclose(found, max(gains), rtol=1e-5)
    else:
        assert np.abs(np.array(gains) - found).min() < 1e-5 * max(gains)


def test_random_cuts_are_equally_likely_between_the_ends():
    binned = np.array([[10], [20], [13]], dtype=np.uint8)
    labels, weights = np.array([0, 1, 0]), np.ones(3)
    one_split = rules(n_trees=4000, max_depth=1, max_features=1)
    forest, _ = grow_forest(binned, labels, weights, 2, one_split, seeds(4000))
    starts, nodes = forest.arrays[:2]
    cuts = nodes["cut"][starts[:, 0]]
    shares = np.bincount(cuts, minlength=256)[10:20] / 4000
    assert shares.sum() == 1
    np.testing.assert_allclose(shares, 0.1, atol=4 * np.sqrt(0.09 / 4000))


# Leaves


@BRIEFLY
@given(seed=st.integers(0, 2**16), depth=st.sampled_from([1, 3, None]), smallest=st.integers(1, 6))
def test_leaves_hold_the_shares_of_their_rows(seed, depth, smallest):
    binned, labels, weights = problem(seed, n_rows=60)
    grown = rules(n_trees=3, max_depth=depth, min_samples_leaf=smallest, max_features=2)
    forest, drawn = grow_forest(binned, labels, weights, 3, grown, seeds(3, seed))
    assert drawn.all()
    expected = np.zeros((60, 3))
    for tree in range(3):
        leaves = leaves_by_hand(forest, binned, tree)
        for leaf in range(leaves.max() + 1):
            rows = leaves == leaf
            assert rows.sum() >= smallest
            per_class = np.bincount(labels[rows], weights[rows], minlength=3)
            expected[rows] += per_class / per_class.sum() / 3
        assert depth is None or leaves.max() + 1 <= 2**depth
    np.testing.assert_allclose(forest.shares(binned), expected, atol=1e-6)


def test_limits_beyond_a_word():
    binned, labels, weights = problem(0)
    deep, _ = grow_forest(binned, labels, weights, 3, rules(max_depth=10**25), seeds(1))
    free, _ = grow_forest(binned, labels, weights, 3, rules(), seeds(1))
    np.testing.assert_array_equal(leaves_by_hand(deep, binned), leaves_by_hand(free, binned))
    root, _ = grow_forest(binned, labels, weights, 3, rules(min_samples_leaf=10**25), seeds(1))
    assert not leaves_by_hand(root, binned).any()


@BRIEFLY
@given(seed=st.integers(0, 2**16))
def test_leaves_of_steepest_descent_are_the_best_of_all_names(seed):
    """[rmsboost] Eq. (18) over all ways to name the leaves of a tree."""
    binned, labels, weights = problem(seed, n_classes=3)
    vectors = np.random.default_rng(seed).normal(size=(30, 3))
    forest, _ = grow_forest(binned, labels, weights, 3, rules(max_depth=2), seeds(1, seed))
    named = forest.steepest(binned, vectors).shares(binned)
    assert set(np.unique(named)) <= {0.0, 1.0}
    best = best_names(leaves_by_hand(forest, binned), vectors)
    np.testing.assert_allclose((named * vectors).sum(), best, atol=1e-12)


def test_rows_are_drawn_in_proportion_to_their_weights():
    binned, labels, _ = problem(0, n_rows=50)
    weights = np.linspace(0, 1, 50)
    _, drawn = grow_forest(binned, labels, weights, 3, rules(n_trees=2000), seeds(2000), n_draws=40)
    expected = 1 - (1 - weights / weights.sum()) ** 40  # to be drawn once or more
    spread = np.sqrt(expected * (1 - expected) / 2000)
    assert (np.abs(drawn.mean(axis=0) - expected) <= 4.5 * spread).all()


def test_rows_drawn_often_count_as_often():
    """A tree without splits has the shares of the draws."""
    binned = np.zeros((2, 1), np.uint8)
    forest, _ = grow_forest(
        binned, np.array([0, 1]), np.array([3.0, 1.0]), 2, rules(4000, max_features=1), seeds(4000), n_draws=8
    )
    np.testing.assert_allclose(forest.shares(binned)[0], [0.75, 0.25], atol=4 * np.sqrt(0.1875 / 32000))


def test_free_shares_are_those_of_trees_that_did_not_draw_the_row():
    binned, labels, weights = problem(3)
    weights[7] = 100.0  # no tree goes without this row
    forest, drawn = grow_forest(binned, labels, weights, 3, rules(n_trees=5), seeds(5), n_draws=20)
    rows = np.arange(4, 30)
    found = forest.free_shares(binned, rows, drawn)
    starts, _, pointers, classes, shares = forest.arrays
    assert drawn[:, 7].all()
    for k, i in enumerate(rows):
        expected = np.zeros(3)
        for tree in np.flatnonzero(~drawn[:, i]):
            leaf = starts[tree, 1] + leaves_by_hand(forest, binned[i : i + 1], tree)[0]
            for e in range(pointers[leaf], pointers[leaf + 1]):
                expected[classes[e]] += shares[e] / (~drawn[:, i]).sum()
        np.testing.assert_allclose(found[k], expected, atol=1e-6)
    assert (found[rows == 7] == 0).all()


def test_weights_out_of_all_proportion_do_no_harm():
    binned, labels, weights = problem(1)
    weights[::3] *= 1e-30
    weights[::4] = 0
    for is_exhaustive in (False, True):
        forest, _ = grow_forest(binned, labels, weights, 3, rules(5, is_exhaustive=is_exhaustive), seeds(5))
        shares = forest.shares(binned)
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("n_draws", [0, 500])
def test_threads_do_not_change_trees(n_draws, monkeypatch):
    X, y = load_digits(return_X_y=True)
    binned, weights, grown = Bins(X)(X), np.ones(len(y)), []
    for n_threads in (1, 3):
        monkeypatch.setattr("weakly._threads._most_threads", lambda n_threads=n_threads: n_threads)
        forest, _ = grow_forest(binned, y, weights, 10, rules(6, max_features=8), seeds(6), n_draws=n_draws)
        grown.append(forest.shares(binned))
    np.testing.assert_array_equal(grown[0], grown[1])


def test_as_good_as_the_extra_trees_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    bins = Bins(X[train])
    forest, _ = grow_forest(
        bins(X[train]), y[train], np.ones(len(train)), 10, rules(100, max_features=8), seeds(100)
    )
    ours = np.mean(forest.shares(bins(X[test])).argmax(axis=1) == y[test])
    theirs = ExtraTreesClassifier(100, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    assert abs(ours - theirs) < 0.015
