"""Scores and weights of kernels against refits, and the fits that follow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, multivariate_normal, norm

from weakly.auto import build_bank
from weakly.auto._blend import Blend, Fits, average, blend
from weakly.auto._choice import PENALTIES, Problem, choose, label_probabilities, solve_ridge_path
from weakly.spaces import Coordinates


@pytest.fixture(scope="module")
def bank():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [3, 0], [0, 3]])
    return build_bank(centres[np.arange(90) % 3] + rng.normal(size=(90, 2)), n_classes=3, random_state=0)


def problem(bank, n_classes=3, n_labels=12, shares=None):
    rows = np.arange(n_labels) * 7
    codes = bank.order[rows] % 3 % n_classes
    given = np.full(n_classes, 1 / n_classes) if shares is None else np.array(shares)
    return Problem(rows, codes, given, shares is not None)


def refit(gram, targets, penalty, i):
    others = np.delete(np.arange(len(targets)), i)
    left = gram[np.ix_(others, others)] + penalty * np.eye(len(others))
    return gram[i, others] @ np.linalg.solve(left, targets[others])


def rule_b_by_refits(gram, posed):
    """The second rule, written from its definition: refit without each label, at each penalty."""
    n_labels = len(posed.rows)
    log_likelihoods = []
    for penalty in PENALTIES:
        held_out = np.array([refit(gram, posed.targets, penalty, i) for i in range(n_labels)])
        spread = np.sqrt(np.mean(np.sum(held_out**2, axis=1)))
        likely = np.zeros(n_labels)
        for scale in (0.25, 0.5, 1.0, 2.0):
            scores = scale * held_out / spread
            if posed.n_classes == 2:
                sign = np.where(posed.codes == 1, 1, -1)
                likely += norm.cdf(sign * (scores[:, 1] - scores[:, 0])) / 4
            else:
                odds = np.exp(scores)
                likely += (odds / odds.sum(axis=1, keepdims=True))[np.arange(n_labels), posed.codes] / 4
        likely = 0.99 * likely + 0.01 / posed.n_classes
        log_likelihoods.append(np.log(likely).sum())
    return np.log(np.mean(np.exp(log_likelihoods)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_second_rule_is_that_of_refits(bank, n_classes):
    posed = problem(bank, n_classes)
    choice = choose(bank.candidates, posed)
    for model in (0, 3, 11, 20, len(bank.candidates) + 2, len(bank.candidates) + 30):
        space = bank.candidates[model % len(bank.candidates)].space
        gram = space.gram(posed.rows) + (model >= len(bank.candidates))
        np.testing.assert_allclose(choice.scores[1, model], rule_b_by_refits(gram, posed), rtol=1e-9)


def test_held_out_scores_are_means_over_penalties_of_refits(bank):
    posed = problem(bank)
    choice = choose(bank.candidates[:1], posed)
    gram = bank.candidates[0].space.gram(posed.rows)
    refits = np.array([[refit(gram, posed.targets, p, i) for i in range(12)] for p in PENALTIES])
    # The first rule's weights are the evidence of each penalty.
    evidence = []
    for penalty in PENALTIES:
        system = gram + penalty * np.eye(12)
        scale = np.trace(posed.targets.T @ np.linalg.solve(system, posed.targets)) / (12 * 2)
        evidence.append(-12 * np.log(scale) - np.linalg.slogdet(system)[1])
    weights = np.exp(np.array(evidence) - max(evidence))
    expected = np.einsum("p,pic->ic", weights / weights.sum(), refits)
    np.testing.assert_allclose(choice.held_out[0, 0], expected, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_of_all_classes_sum_to_one(n_classes):
    scores = np.random.default_rng(0).normal(size=(7, n_classes)) * 50
    each = [label_probabilities(scores, np.full(7, code)) for code in range(n_classes)]
    np.testing.assert_allclose(np.sum(each, axis=0), 1)
    assert np.min(each) >= 0.01 / n_classes  # no label can cost more than that


def test_hypotheses_are_weighed_by_the_probability_of_the_labels():
    shares = np.full(2, 0.5)
    posed = Problem(np.arange(10), np.array([0] * 9 + [1]), shares, False)
    counts = np.array([9, 1])
    equal = multinomial(10, [0.5, 0.5]).pmf(counts)
    grid = np.linspace(0.0005, 0.9995, 1000)
    unknown = np.mean([multinomial(10, [1 - p, p]).pmf(counts) for p in grid])  # shares drawn uniformly
    np.testing.assert_allclose(np.diff(posed.log_priors()), np.log(unknown / equal), rtol=1e-4)
    assert Problem(posed.rows, posed.codes, shares, True).log_priors().tolist() == [0.0]


def test_weights_are_scores_times_priors(bank):
    posed = problem(bank, n_labels=6)
    choice = choose(bank.candidates, posed)
    assert choice.log_odds > 0
    families = [candidate.family for candidate in bank.candidates]
    priors = np.array([(5 if f == "sup" else 1) / families.count(f) for f in families])
    hypotheses = np.exp(posed.log_priors())
    expected = np.exp(choice.scores) * np.concatenate([priors * hypotheses[0], priors * hypotheses[1]])
    expected /= expected.sum(axis=1, keepdims=True)
    expected[expected < 1e-4] = 0
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(choice.weights(), expected, atol=1e-12)
    is_supervised = np.tile(np.array(families) == "sup", 2)
    assert (choice.weights(supervised=True)[:, ~is_supervised] == 0).all()
    np.testing.assert_allclose(choice.weights(supervised=True).sum(axis=1), 1)


def test_supervised_kernels_decide_alone_where_the_labels_speak_for_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    noise = build_bank(X, n_classes=2, random_state=0)
    rows = np.arange(40)
    codes = (X[noise.order[rows]] @ [1.0, -1, 1] > 0).astype(int)
    choice = choose(noise.candidates, Problem(rows, codes, np.full(2, 0.5), False))
    assert choice.log_odds < 0
    np.testing.assert_array_equal(choice.weights(), choice.weights(supervised=True))


def test_log_odds_compare_mean_likelihoods_of_families(bank):
    posed = problem(bank)
    choice = choose(bank.candidates, posed)
    families = np.tile([candidate.family for candidate in bank.candidates], 2)
    hypotheses = np.repeat(np.exp(posed.log_priors()), len(bank.candidates))
    odds = []
    for scores in choice.scores:
        likely = {f: np.sum((np.exp(scores) * hypotheses)[families == f]) for f in set(families)}
        likely = {f: total / (np.sum(families == f) / 2) for f, total in likely.items()}
        odds.append(np.log(np.mean([likely["lap"], likely["graph"], likely["pca"]]) / likely["sup"]))
    np.testing.assert_allclose(choice.log_odds, np.mean(odds))


@pytest.mark.parametrize("shares", [None, (0.2, 0.3, 0.5)])
def test_blend_is_the_weighted_sum_of_ridge_functions(bank, shares):
    posed = problem(bank, shares=shares)
    choice = choose(bank.candidates, posed)
    fits = Fits(bank.candidates, choice, posed)
    weights = choice.weights()
    expected = np.zeros((90, 6))
    for rule, model in np.argwhere(weights > 0):
        K = bank.candidates[model % len(bank.candidates)].space.gram(slice(None)) + choice.constants[model]
        function = K[:, posed.rows] @ choice.coefficients[rule, model]
        expected[:, 3 * rule : 3 * rule + 3] += weights[rule, model] * function
    np.testing.assert_allclose(blend(fits, weights).scores(), expected, atol=1e-9)
    (found,) = average(fits, [weights], bank, None)
    expected += np.tile(posed.level, 2)
    rules = [expected[:, :3], expected[:, 3:]]
    mean = sum(part / np.sqrt(np.mean(part**2)) for part in rules)
    expected = mean / np.sqrt(np.mean(mean**2))
    np.testing.assert_allclose(found.blend.known, expected, atol=1e-9)
    np.testing.assert_allclose(Blend(found.blend.parts, found.blend.offset).scores(), expected, atol=1e-9)


def test_known_shares_set_the_mean_of_the_scores(bank):
    posed = problem(bank, shares=(0.2, 0.3, 0.5))
    choice = choose(bank.candidates, posed)
    (found,) = average(Fits(bank.candidates, choice, posed), [choice.weights()], bank, None)
    scores = found.blend.scores()
    # Kernels are centred: over all rows only the level is left, whatever the labels say.
    np.testing.assert_allclose(scores.mean(axis=0) / scores.mean(axis=0)[2], posed.level / posed.level[2])


@pytest.mark.parametrize("model", [0, 2, 15, 60])
@pytest.mark.parametrize("n_labels", [8, 80])
def test_fits_with_all_labels_solve_the_ridge_system(bank, model, n_labels):
    everything = Problem(np.arange(n_labels), bank.order[:n_labels] % 3, np.full(3, 1 / 3), False)
    choice = choose(bank.candidates, everything.first(6))
    assert len(choice.problem.rows) == 6
    found = Fits(bank.candidates, choice, everything)(1, model)
    space = bank.candidates[model % len(bank.candidates)].space
    system = space.gram(everything.rows) + choice.constants[model]
    system += choice.penalties[1, model] * np.eye(n_labels)
    np.testing.assert_allclose(system @ found, everything.targets, atol=1e-7)


def test_kernels_in_groups_are_scored_as_all_at_once(monkeypatch, bank):
    posed = problem(bank)
    whole = choose(bank.candidates, posed)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "600KB")
    parts = choose(bank.candidates, posed)
    for name in ("scores", "coefficients", "held_out", "penalties"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)


def test_first_labels_keep_one_of_each_class():
    codes = np.array([0] * 50 + [1] * 50 + [2])
    few = Problem(np.arange(101), codes, np.full(3, 1 / 3), False).first(10)
    assert set(few.codes) == {0, 1, 2}
    assert len(few.rows) == 10
    assert (few.codes == codes[few.rows]).all()


def test_blends_add_and_combine_columns():
    where = Coordinates(np.array([[1.0], [3.0]]))
    one = Blend([(where, np.array([[2.0, 0.0]]))], np.array([1.0, 0.0]))
    other = Blend([(where, np.array([[0.0, 1.0]]))], np.array([0.0, 5.0]))
    both = one + other
    assert len(both.parts) == 1
    np.testing.assert_allclose(both.scores(), [[-1, 4], [3, 6]])
    np.testing.assert_allclose((both @ np.array([[1.0], [2.0]])).scores(), [[7], [15]])


# Ridge regression at many penalties


THREE_PENALTIES = np.array([1e-3, 0.1, 10.0])


def ridge_problem(seed, n_rows, rank, n_columns):
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
    gram, targets = ridge_problem(seed, n_rows, rank, n_columns)
    (path,) = solve_ridge_path(gram, targets, THREE_PENALTIES, constants=(constant,))
    full = gram + constant
    for p, penalty in enumerate(THREE_PENALTIES):
        for i in range(n_rows):
            others = np.delete(np.arange(n_rows), i)
            left = full[np.ix_(others, others)] + penalty * np.eye(n_rows - 1)
            refit = full[i, others] @ np.linalg.solve(left, targets[others])
            np.testing.assert_allclose(path.held_out[p, i], refit, rtol=1e-10, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 12), st.integers(1, 20), st.sampled_from([0.0, 1.0]))
def test_coefficients_solve_the_system_and_precision_is_its_inverse_diagonal(seed, n_rows, rank, constant):
    gram, targets = ridge_problem(seed, n_rows, rank, 2)
    (path,) = solve_ridge_path(gram, targets, THREE_PENALTIES, constants=(constant,))
    for p, penalty in enumerate(THREE_PENALTIES):
        system = gram + constant + penalty * np.eye(n_rows)
        np.testing.assert_allclose(system @ path.coefficients[p], targets, atol=1e-8)
        np.testing.assert_allclose(path.precision[p], np.diag(np.linalg.inv(system)), rtol=1e-8)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_evidence_is_a_gaussian_density_at_its_best_scale(constant, n_columns):
    gram, targets = ridge_problem(0, 9, 4, n_columns)
    (path,) = solve_ridge_path(gram, targets, THREE_PENALTIES, constants=(constant,))

    def log_density(penalty, variance):
        covariance = variance * (gram + constant + penalty * np.eye(9))
        return multivariate_normal(cov=covariance).logpdf(targets.T).sum()

    exact = [log_density(*pair) for pair in zip(THREE_PENALTIES, path.variance, strict=True)]
    np.testing.assert_allclose(np.diff(path.log_evidence), np.diff(exact), rtol=1e-9)
    for penalty, variance, best in zip(THREE_PENALTIES, path.variance, exact, strict=True):
        assert log_density(penalty, 1.05 * variance) < best > log_density(penalty, 0.95 * variance)


def test_a_stack_of_kernels_is_each_alone():
    (first, targets), (second, _) = ridge_problem(0, 8, 3, 2), ridge_problem(1, 8, 5, 2)
    both = solve_ridge_path(np.stack([first, second]), targets, THREE_PENALTIES, constants=(0.0, 1.0))
    for constant, path in zip((0.0, 1.0), both, strict=True):
        for place, gram in enumerate((first, second)):
            (alone,) = solve_ridge_path(gram, targets, THREE_PENALTIES, constants=(constant,))
            for name in ("coefficients", "held_out", "precision", "variance", "log_evidence"):
                np.testing.assert_allclose(getattr(path, name)[place], getattr(alone, name), rtol=1e-10)


def test_free_columns_count_in_the_scale():
    gram, _ = ridge_problem(0, 6, 3, 2)
    one_hot = np.eye(2)[[0, 1, 1, 0, 1, 0]] - 0.5
    (both,) = solve_ridge_path(gram, one_hot, THREE_PENALTIES, n_free=1)
    (one,) = solve_ridge_path(gram, one_hot[:, :1], THREE_PENALTIES)
    # Two opposite columns say what one does, at twice the scale.
    np.testing.assert_allclose(both.variance, 2 * one.variance)
    np.testing.assert_allclose(np.diff(both.log_evidence), np.diff(one.log_evidence))
