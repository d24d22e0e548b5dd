"""Regularisers against loops over pairs of rows, against sets, and against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.brute_graph import roughness
from tests.oracles.variation import cut_ratio, median_ratio
from weakly.graphs import affinity_graph
from weakly.regularizers import EXCLUSIVE, Exclusive, cheeger_ratio, total_variation

BRIEFLY = settings(max_examples=60, deadline=None)


def random_graph(rng, n_rows):
    weights = np.triu(rng.uniform(0.1, 2, (n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < 0.4), 1)
    return affinity_graph(weights + weights.T), weights + weights.T


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_rows=st.integers(2, 12), n_columns=st.integers(1, 3))
def test_scores_by_loops(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    graph, W = random_graph(rng, n_rows)
    scores = rng.integers(-3, 4, (n_rows, n_columns)) / 2  # with ties
    scores[:2] = [[0.0], [1.0]]
    np.testing.assert_allclose(total_variation(graph, scores), [roughness(W, f, 1) for f in scores.T])
    np.testing.assert_allclose(cheeger_ratio(graph, scores), [median_ratio(W, f) for f in scores.T])


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_rows=st.integers(2, 12), low=st.floats(-2, 2), height=st.floats(0.1, 5))
def test_indicators_by_sets(seed, n_rows, low, height):
    """Of a set the ratio is that of its cut, whatever its two levels."""
    rng = np.random.default_rng(seed)
    graph, W = random_graph(rng, n_rows)
    side = rng.random(n_rows) < 0.5
    side[:2] = True, False
    scores = (low + height * side)[:, None]
    cut = W[side][:, ~side].sum()
    np.testing.assert_allclose(total_variation(graph, scores), height * cut, atol=1e-9)
    np.testing.assert_allclose(cheeger_ratio(graph, scores), cut_ratio(W, side), atol=1e-9)


def test_levels_of_scores_bound_the_ratio():
    """The coarea formula: some level set is at least as good as the scores."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        graph, W = random_graph(rng, 9)
        scores = rng.normal(size=(9, 1))
        best = min(cut_ratio(W, scores[:, 0] > level) for level in np.sort(scores[:, 0])[:-1])
        assert best <= cheeger_ratio(graph, scores)[0] + 1e-12


def test_constants_and_graphs_without_edges():
    graph, _ = random_graph(np.random.default_rng(0), 5)
    empty = affinity_graph(np.zeros((5, 5)))
    constant = np.full((5, 1), 3.0)
    assert total_variation(graph, constant) == 0
    assert cheeger_ratio(graph, constant) == cheeger_ratio(empty, constant) == np.inf
    assert total_variation(empty, np.arange(5.0)[:, None]) == 0
    assert cheeger_ratio(empty, np.arange(5.0)[:, None]) == 0


@pytest.mark.parametrize("function", [total_variation, cheeger_ratio])
def test_float32_scores(function):
    graph, _ = random_graph(np.random.default_rng(1), 8)
    scores = np.random.default_rng(2).normal(size=(8, 2)).astype(np.float32)
    np.testing.assert_allclose(function(graph, scores), function(graph, scores.astype(float)), rtol=1e-5)


@BRIEFLY
@given(
    seed=st.integers(0, 2**16),
    n_classes=st.integers(2, 5),
    kind=st.sampled_from(EXCLUSIVE),
    smoothing=st.sampled_from([0.01, 0.5]),
)
def test_charges_and_their_derivatives(seed, n_classes, kind, smoothing):
    """Values by loops over classes, derivatives by finite differences."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(6, n_classes))
    near = np.abs(scores[..., None] - [0.0, smoothing]).min(axis=2) < 1e-3
    scores[near] += 5e-3  # off the kinks of the second derivative
    charge = Exclusive(kind, smoothing)

    def part(f):
        return 0 if f <= 0 else f * f / (2 * smoothing) if f < smoothing else f - smoothing / 2

    for row, value in zip(scores, charge.value(scores), strict=True):
        parts = [part(f) for f in row]
        pairs = sum(parts[m] * parts[k] for m in range(n_classes) for k in range(m))
        own = sum(p * p for p in parts) / 2
        assert value == pytest.approx(pairs + (own if kind == "sum" else 0), abs=1e-12)
    step = rng.normal(size=scores.shape)
    tiny = 1e-6
    slope = (charge.value(scores + tiny * step) - charge.value(scores - tiny * step)) / (2 * tiny)
    np.testing.assert_allclose((charge.gradient(scores) * step).sum(axis=1), slope, atol=1e-6)
    bend = (charge.gradient(scores + tiny * step) - charge.gradient(scores - tiny * step)) / (2 * tiny)
    np.testing.assert_allclose(charge.hessian_product(scores, step), bend, atol=1e-5)


@BRIEFLY
@given(seed=st.integers(0, 2**16), n_classes=st.integers(2, 6), smoothing=st.sampled_from([0.01, 0.3, 2.0]))
def test_smoothing_lacks_at_most_what_it_may(seed, n_classes, smoothing):
    """[per] Proposition 2 before its last bound, with the 1/2 that it lost."""
    scores = np.random.default_rng(seed).normal(size=(20, n_classes))
    positive = np.maximum(scores, 0).sum(axis=1)
    lacking = positive**2 / 2 - Exclusive("sum", smoothing).value(scores)
    assert (lacking >= -1e-12).all()
    assert (lacking <= smoothing * n_classes * positive / 2 + 1e-12).all()


def test_charges_that_are_none():
    for wrong, message in (({"kind": "all"}, "exclusive is 'all'"), ({"smoothing": 0.0}, "smoothing is 0")):
        with pytest.raises(ValueError, match=message):
            Exclusive(**wrong)
