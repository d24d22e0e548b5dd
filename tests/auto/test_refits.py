"""Methods that see labels as candidates: their scores come from labels they did not see."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from weakly.auto import build_bank
from weakly.auto._blend import Fits, average
from weakly.auto._choice import Problem, choose, success_probabilities
from weakly.auto._refits import N_FOLDS, refit
from weakly.solvers import SolverResult


class Parrot:
    """Repeats the labels it is shown, and says the first class of all other rows."""

    def fit(self, X, y):
        self.shown_ = getattr(self, "shown_", [])
        self.shown_.append(y.copy())
        self.classes_ = np.unique(y[y >= 0])
        place = np.searchsorted(self.classes_, np.where(y < 0, self.classes_[0], y))
        self.label_distributions_ = np.eye(len(self.classes_))[place]
        return self


class Oracle(Parrot):
    """Knows the class of every row."""

    def __init__(self, truth):
        self.truth = truth

    def fit(self, X, y):
        self.classes_ = np.unique(y[y >= 0])
        self.label_distributions_ = np.where(self.truth[:, None] == self.classes_, 0.99, 0.005)
        return self


@pytest.fixture(scope="module")
def posed():
    rng = np.random.default_rng(0)
    bank = build_bank(rng.normal(size=(120, 3)), n_classes=3, random_state=0)
    truth = rng.integers(3, size=120)
    rows = np.arange(30)
    problem = Problem(rows, truth[rows], np.full(3, 1 / 3), False)
    fits = Fits(bank.candidates, choose(bank.candidates, problem), problem)
    return bank, fits, truth


def test_a_method_that_only_repeats_labels_gets_no_weight(posed):
    bank, fits, _ = posed
    (ours,) = average(fits, [fits.choice.weights()], bank, None)
    parrot = Parrot()
    found = refit(parrot, bank, fits, ours)
    # It is right about every label it saw, and yet no better than a guess.
    assert (found.average.blend.scores()[:30].argmax(axis=1) == fits.problem.codes).all()
    assert found.log_likelihood < 30 * np.log(1 / 3)
    assert found.weight < 0.1
    # The first fit sees all labels; of the others each hides its part, and together all of them, once.
    hidden = [np.flatnonzero((parrot.shown_[0] >= 0) & (shown < 0)) for shown in parrot.shown_[1:]]
    assert len(hidden) == N_FOLDS
    np.testing.assert_array_equal(np.sort(np.concatenate(hidden)), np.arange(30))


def test_a_method_that_knows_gets_all_weight_by_its_likelihood(posed):
    bank, fits, truth = posed
    (ours,) = average(fits, [fits.choice.weights()], bank, None)
    found = refit(Oracle(truth), bank, fits, ours)
    scores = np.log(np.where(truth[:30, None] == np.arange(3), 0.99, 0.005))
    expected = np.log(success_probabilities(scores - scores.mean(axis=1, keepdims=True), fits.problem)).sum()
    np.testing.assert_allclose(found.log_likelihood, expected)
    kernels = logsumexp(fits.choice.scores[1] + fits.choice.log_priors)
    np.testing.assert_allclose(found.weight, expit(expected - kernels))
    assert found.weight > 0.99
    np.testing.assert_array_equal(found.average.blend.scores().argmax(axis=1), truth)
    np.testing.assert_allclose(np.mean(found.average.blend.scores() ** 2), 1)


def test_a_method_that_agrees_is_not_weighed(posed):
    bank, fits, _ = posed
    (ours,) = average(fits, [fits.choice.weights()], bank, None)
    assert refit(Oracle(ours.blend.scores().argmax(axis=1)), bank, fits, ours) is None


class Recorder(Oracle):
    """Keeps the shares it is given."""

    def set_params(self, class_prior):
        self.given_ = [*getattr(self, "given_", []), (class_prior, len(class_prior))]


def test_known_shares_reach_the_method_and_do_not_count_twice(posed):
    bank, fits, truth = posed
    known = Problem(fits.problem.rows, fits.problem.codes, np.array([0.6, 0.3, 0.1]), True)
    shared = Fits(bank.candidates, choose(bank.candidates, known), known)
    (ours,) = average(shared, [shared.choice.weights()], bank, None)
    recorder = Recorder(truth)
    found = refit(recorder, bank, shared, ours)
    np.testing.assert_allclose(recorder.given_[0][0], [0.6, 0.3, 0.1])
    plain = refit(Oracle(truth), bank, fits, ours)
    np.testing.assert_allclose(found.log_likelihood, plain.log_likelihood)


def test_a_fold_that_leaves_one_class_has_no_answer():
    bank = build_bank(np.random.default_rng(0).normal(size=(40, 2)), n_classes=2, random_state=0)
    problem = Problem(np.arange(2), np.array([0, 1]), np.full(2, 0.5), False)
    fits = Fits(bank.candidates, choose(bank.candidates, problem), problem)
    (ours,) = average(fits, [fits.choice.weights()], bank, None)
    found = refit(Parrot(), bank, fits, ours @ -np.eye(2))
    np.testing.assert_allclose(found.log_likelihood, 2 * np.log(0.5))


class Interrupted(Oracle):
    """Ends its last fold as a fit does whose user pressed Ctrl-C: with a model, and a status."""

    def __init__(self, truth, status, after):
        super().__init__(truth)
        self.status, self.after, self.n_fits = status, after, 0

    def fit(self, X, y):
        self.n_fits += 1
        status = self.status if self.n_fits == self.after else "converged"
        self.result_ = SolverResult(np.zeros(1), np.zeros(1), np.zeros(1), 1, status)
        return super().fit(X, y)


@pytest.mark.parametrize("status", ["interrupted", "stopped"])
@pytest.mark.parametrize("after", [1, 2, N_FOLDS + 1])
def test_an_interrupt_of_a_refit_ends_the_fit(posed, status, after):
    bank, fits, truth = posed
    (ours,) = average(fits, [fits.choice.weights()], bank, None)
    method = Interrupted(truth, status, after)
    with pytest.raises(KeyboardInterrupt):
        refit(method, bank, fits, ours)
    assert method.n_fits == after
