"""Assignments with quotas against the Hungarian method, integer programmes, and their own certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, linprog, milp

from weakly.solvers import _quotas
from weakly.solvers._quotas import assign_quotas


def value_of(scores, codes):
    return scores[np.arange(len(codes)), codes].sum()


def best_value(scores, least, most):
    """The largest sum of scores: an integer programme, or the Hungarian method where all bounds are equal."""
    n_rows, n_classes = scores.shape
    if (least == most).all():
        seats = np.repeat(scores, most, axis=1)
        return value_of(seats, linear_sum_assignment(seats, maximize=True)[1])
    one_each = np.kron(np.eye(n_rows), np.ones(n_classes))
    counts = np.kron(np.ones(n_rows), np.eye(n_classes))
    done = milp(
        -scores.ravel(),
        integrality=np.ones(scores.size),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(one_each, 1, 1), LinearConstraint(counts, least, most)],
    )
    assert done.success
    return -done.fun


def check_certificate(scores, least, most, found):
    """Quotas, signs of prices, maximisers; and that these prices bound the sum of any other assignment."""
    n_rows, n_classes = scores.shape
    tol = 1e-12 * (np.abs(scores).max(initial=0.0) + 1e-300)
    counts = np.bincount(found.codes, minlength=n_classes)
    assert found.codes.shape == (n_rows,)
    assert found.prices.shape == (n_classes,)
    assert ((least <= counts) & (counts <= most)).all()
    assert np.isfinite(found.prices).all()
    assert (found.prices[counts > least] <= 0).all()
    assert (found.prices[counts < most] >= 0).all()
    offset = scores + found.prices
    reached = offset[np.arange(n_rows), found.codes]
    assert (reached >= offset.max(axis=1, initial=-np.inf) - tol).all()
    # weak duality: counts that suit the prices best, and the best class of each row without any quotas
    suited = np.where(found.prices > 0, least, np.where(found.prices < 0, most, counts))
    bound = offset.max(axis=1, initial=-np.inf).sum() - found.prices @ suited
    assert value_of(scores, found.codes) == pytest.approx(bound, rel=1e-9, abs=(n_rows + 1) * 10 * tol)


@st.composite
def problems(draw, *, min_rows=0, max_rows=9, min_classes=1, max_classes=4, ties=True, exact=None):
    n_rows = draw(st.integers(min_rows, max_rows))
    n_classes = draw(st.integers(min_classes, max_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = n_rows, n_classes
    if ties and draw(st.booleans()):
        scores = rng.integers(-draw(st.integers(0, 3)), 1, shape).astype(float)
    else:
        scores = rng.normal(size=shape) + draw(st.sampled_from([0.0, 2.0])) * rng.normal(size=n_classes)
    counts = rng.multinomial(n_rows, rng.dirichlet(np.ones(n_classes)))
    if exact or (exact is None and draw(st.booleans())):
        return scores, counts, counts
    return (
        scores,
        np.maximum(counts - rng.integers(0, 3, n_classes), 0),
        counts + rng.integers(0, 3, n_classes),
    )


@settings(max_examples=300, deadline=None)
@given(problems(exact=True))
def test_equal_bounds_against_the_hungarian_method(problem):
    scores, quotas, _ = problem
    found = assign_quotas(scores, quotas, quotas)
    check_certificate(scores, quotas, quotas, found)
    assert value_of(scores, found.codes) == pytest.approx(best_value(scores, quotas, quotas), abs=1e-10)


@settings(max_examples=150, deadline=None)
@given(problems(min_rows=1, exact=False))
def test_intervals_against_an_integer_programme(problem):
    found = assign_quotas(*problem)
    check_certificate(*problem, found)
    assert value_of(problem[0], found.codes) == pytest.approx(best_value(*problem), abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(problems(min_rows=20, max_rows=120, min_classes=3, max_classes=6), st.sampled_from([1, 2, 64]))
def test_short_queues_and_samples_change_nothing(problem, depth):
    """Queues that run empty, and a start from prices that do not fit, end at the same sum."""
    plain = assign_quotas(*problem)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_quotas, "_DEPTH", depth)
        patched.setattr(_quotas, "_SAMPLED", 10)
        found = assign_quotas(*problem)
    check_certificate(*problem, plain)
    check_certificate(*problem, found)
    assert value_of(problem[0], found.codes) == pytest.approx(value_of(problem[0], plain.codes), abs=1e-10)


def extreme_differences(scores, least, most, codes):
    """``D[r, c]``, the largest ``prices[c] - prices[r]`` of all valid prices; the last has the price 0."""
    n_rows, n_classes = scores.shape
    counts = np.bincount(codes, minlength=n_classes)
    unit = np.eye(n_classes + 1)
    left = [unit[d] - unit[codes[i]] for i in range(n_rows) for d in range(n_classes)]
    right = [scores[i, codes[i]] - scores[i, d] for i in range(n_rows) for d in range(n_classes)]
    left += [unit[c] for c in range(n_classes) if counts[c] > least[c]]
    left += [-unit[c] for c in range(n_classes) if counts[c] < most[c]]
    right += [0.0] * (len(left) - len(right))
    span = range(n_classes + 1)
    bounds = [(None, None)] * n_classes + [(0, 0)]

    def largest(c, r):
        done = linprog(unit[r] - unit[c], left, right, bounds=bounds)
        return -done.fun if done.status == 0 else np.inf

    return np.array([[largest(c, r) for c in span] for r in span])


@settings(max_examples=60, deadline=None)
@given(problems(min_rows=1, max_rows=7, max_classes=3))
def test_prices_are_the_mean_of_extreme_ones(problem):
    scores, least, most = problem
    found = assign_quotas(*problem)
    largest = extreme_differences(*problem, found.codes)
    counts = np.bincount(found.codes, minlength=scores.shape[1])
    if len(scores) in (least.sum(), most.sum()):  # all may move together, and 0 is no bound for both sides
        members = np.flatnonzero(counts)
        among = largest[np.ix_(members, members)]
        expected = (among - among.T).mean(axis=0) / 2
        moved = found.prices[members] - expected
        np.testing.assert_allclose(moved, moved[0], atol=1e-6)
        signed = found.prices[least < most]
        assert abs(moved[0]) < 1e-6 or np.abs(signed).min() < 1e-6  # just far enough for the last sign
    else:
        members = np.append(np.flatnonzero((counts > 0) | (most > 0)), -1)
        among = largest[np.ix_(members, members)]
        mean = (among - among.T).mean(axis=0) / 2
        np.testing.assert_allclose(found.prices[members[:-1]], mean[:-1] - mean[-1], atol=1e-6)
    # A row is at a tie only if all valid prices leave it there.
    for row, code in zip(scores + found.prices, found.codes, strict=True):
        for other in np.flatnonzero((row >= row[code] - 1e-9) & (np.arange(len(row)) != code)):
            gap = row[code] - row[other] - found.prices[code] + found.prices[other]
            assert largest[other, code] + gap <= 1e-6


@settings(max_examples=100, deadline=None)
@given(problems(min_rows=1, max_rows=60, max_classes=6, ties=False))
def test_without_ties_prices_reproduce_the_assignment(problem):
    found = assign_quotas(*problem)
    ordered = np.sort(problem[0] + found.prices, axis=1)
    assert (np.argmax(problem[0] + found.prices, axis=1) == found.codes).all()
    if ordered.shape[1] > 1:
        assert (ordered[:, -1] > ordered[:, -2]).all()


@settings(max_examples=60, deadline=None)
@given(problems(min_rows=1, max_rows=30, min_classes=2, max_classes=2))
def test_two_classes_by_sorting_and_by_flow(problem):
    sorted_, flown = _quotas._threshold(*problem), _quotas._flow(*problem)
    assert value_of(problem[0], sorted_) == pytest.approx(value_of(problem[0], flown), abs=1e-12)


def test_two_classes_have_the_midpoint():
    gains = np.array([0.3, -1.0, 2.0, 0.7, 0.1])
    scores = np.column_stack([np.zeros(5), gains])
    found = assign_quotas(scores, np.array([3, 2]), np.array([3, 2]))
    assert found.codes.tolist() == [0, 0, 1, 1, 0]
    np.testing.assert_allclose(found.prices, [0.25, -0.25])  # between 0.3 and 0.7
    found = assign_quotas(scores, np.array([0, 0]), np.array([5, 2]))
    np.testing.assert_allclose(found.prices, [0.0, -0.5])  # the first class is between its bounds
    found = assign_quotas(scores, np.array([0, 0]), np.array([5, 5]))
    assert found.codes.tolist() == [1, 0, 1, 1, 1]
    assert found.prices.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_rows_and_classes_in_another_order(n_classes):
    rng = np.random.default_rng(n_classes)
    scores, quotas = rng.normal(size=(70, n_classes)), np.full(n_classes, 70 // n_classes)
    quotas[0] += 70 - quotas.sum()
    found = assign_quotas(scores, quotas, quotas)
    rows, classes = rng.permutation(70), rng.permutation(n_classes)
    other = assign_quotas(scores[np.ix_(rows, classes)], quotas[classes], quotas[classes])
    assert (classes[other.codes] == found.codes[rows]).all()
    np.testing.assert_allclose(other.prices, found.prices[classes], atol=1e-12)
    # What is added to the scores of a class goes off its price, and additions to rows change nothing.
    moves = rng.normal(size=n_classes)
    moved = assign_quotas(scores + moves + rng.normal(size=(70, 1)), quotas, quotas)
    assert (moved.codes == found.codes).all()
    np.testing.assert_allclose(moved.prices, found.prices - moves + moves.mean(), atol=1e-12)


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_equal_scores(n_classes, kind):
    scores, quotas = np.full((100, n_classes), 3, dtype=kind), np.full(n_classes, 100 // n_classes)
    found = assign_quotas(scores, quotas, quotas)
    assert (np.bincount(found.codes, minlength=n_classes) == quotas).all()
    assert (found.prices == 0).all()


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e299])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_tiny_and_huge_scores(n_classes, size):
    scores, least = np.random.default_rng(0).normal(size=(40, n_classes)), np.full(n_classes, 10)
    most = least + 20 // n_classes
    found, scaled = assign_quotas(scores, least, most), assign_quotas(scores * size, least, most)
    assert (found.codes == scaled.codes).all()
    np.testing.assert_allclose(scaled.prices / size, found.prices, atol=1e-12)
    mixed = np.where(np.random.default_rng(1).random(scores.shape) < 0.3, scores * size, scores)
    check_certificate(mixed, least, most, assign_quotas(mixed, least, most))


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_no_rows(n_classes):
    none, some = np.zeros(n_classes, dtype=int), np.full(n_classes, 4)
    for most in (none, some):
        found = assign_quotas(np.zeros((0, n_classes)), none, most)
        assert found.codes.shape == (0,)
        assert found.prices.tolist() == [0.0] * n_classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_without_rows_have_prices_out_of_reach(n_classes):
    scores = np.random.default_rng(0).normal(size=(20, n_classes))
    most = np.array([20, 0, 20][:n_classes])
    for least in (np.zeros(n_classes, dtype=int), np.minimum(most, 20 // (n_classes - 1))):
        found = assign_quotas(scores, least, most)
        check_certificate(scores, least, most, found)
        assert (scores + found.prices)[:, 1].max() < (scores + found.prices)[:, 0].max()
        margins = (scores + found.prices).max(axis=1) - (scores + found.prices)[:, 1]
        assert margins.min() == pytest.approx(np.ptp(scores))


def test_many_rows_prove_themselves():
    rng = np.random.default_rng(0)
    for scores in (
        rng.normal(size=(9000, 12)).astype(np.float32),
        rng.integers(0, 3, size=(9000, 12)),
        np.eye(12)[rng.geometric(0.3, size=9000) % 12],
        np.sort(rng.normal(size=(9000, 12)), axis=0),
    ):
        quotas = rng.multinomial(9000, np.full(12, 1 / 12))
        for slack in (0, 5):
            bounds = quotas - slack, quotas + slack
            found = assign_quotas(scores, *bounds)
            check_certificate(scores.astype(float), *bounds, found)
            again = assign_quotas(scores.copy(), *bounds)
            assert (again.codes == found.codes).all()
            assert (again.prices == found.prices).all()


def test_inputs_stay_as_they_are():
    scores = np.random.default_rng(0).normal(size=(30, 3))
    least, most, before = np.array([12, 3, 3]), np.array([10**18, 2**62, 2**62]), scores.copy()
    found = assign_quotas(scores, least, most)
    check_certificate(scores, least, most, found)
    assert (scores == before).all()
    assert least.tolist() == [12, 3, 3]
    assert most.tolist() == [10**18, 2**62, 2**62]


@pytest.mark.parametrize(
    ("scores", "least", "most", "message"),
    [
        (np.zeros(3), [1], [1], "at least one class"),
        (np.zeros((3, 0)), [], [], "at least one class"),
        (np.full((3, 2), np.nan), [1, 1], [2, 2], "finite"),
        (np.array([[0.0, -np.inf]]), [0, 0], [2, 2], "finite"),
        (np.array([[0.0, 2e300]]), [0, 0], [2, 2], "at most 1e\\+300"),
        (np.zeros((3, 2)), [1], [2, 2], "least needs one number for each of 2"),
        (np.zeros((3, 2)), [1, 1], [2, 2, 2], "most needs one number for each of 2"),
        (np.zeros((3, 2)), [0.5, 1], [2, 2], "least must have whole numbers"),
        (np.zeros((3, 2)), [1, 1], [2, np.inf], "most must have whole numbers"),
        (np.zeros((3, 2)), [-1, 1], [2, 2], "0 <= least <= most"),
        (np.zeros((3, 2)), [2, 1], [1, 3], "0 <= least <= most"),
        (np.zeros((3, 2)), [2, 2], [3, 3], "least sums to 4, more than there are rows: 3"),
        (np.zeros((3, 2)), [1, 1], [1, 1], "most sums to 2, fewer than there are rows: 3"),
    ],
)
def test_what_cannot_be(scores, least, most, message):
    with pytest.raises(ValueError, match=message):
        assign_quotas(scores, np.array(least), np.array(most))
