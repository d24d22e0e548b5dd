"""RMSBoostClassifier against the printed algorithm, and what it promises of rounds and labels."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from tests.oracles.stumps import boost_as_printed
from tests.samples import few_labels
from weakly import RMSBoostClassifier
from weakly.boosting import kmeans_prior
from weakly.exceptions import FitInterruptedWarning
from weakly.model_selection import PartiallyLabeledKFold


def blobs(n_classes=3, n_labeled=4, seed=0, std=3.0, n_rows=120):
    return few_labels(n_classes, n_labeled, seed, std, n_rows)


def digits(n_labels=90, seed=0):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    partial = np.full(len(y), -1)
    partial[order[:n_labels]] = y[order[:n_labels]]
    return X, y, partial


class CountedTree(DecisionTreeClassifier):
    """A tree that is interrupted after some fits."""

    left = 3

    def fit(self, X, y, sample_weight=None):
        CountedTree.left -= 1
        if CountedTree.left < 0:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


# The algorithm


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("terms", [{"alpha": 0.4, "beta": 0.0}, {"alpha": 0.3, "beta": 0.1}])
def test_rounds_are_as_printed(n_classes, terms):
    """[rmsboost] section 2.4 in loops over rows, with the same weak classifier in both."""
    X, _, partial = blobs(n_classes)
    prior = np.random.default_rng(0).dirichlet(np.ones(n_classes), len(X))
    tree = DecisionTreeClassifier(max_depth=2)

    def fit(X, labels, weights):
        rows = weights > 0
        return tree.fit(X[rows], labels[rows], sample_weight=weights[rows] / weights.max()).predict(X)

    tree.set_params(random_state=0)
    expected = boost_as_printed(fit, X, partial, prior, **terms, margin=0.5, warm_up=3, nu=0.2, n_rounds=13)
    model = RMSBoostClassifier(
        13,
        learning_rate=0.2,
        **terms,
        margin=0.5,
        warm_up=3,
        prior=prior,
        response="hard",
        max_samples=None,
        estimator=tree,
    ).fit(X, partial)
    found = model.decision_function(X)
    np.testing.assert_allclose(found, expected[:, 1] if n_classes == 2 else expected, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, expected.argmax(axis=1))
    assert model.result_.n_iter == 13
    # the recorded objective is that of the scores
    f, known = expected, partial >= 0
    loss = np.exp(-f[known, partial[known]]).sum()
    loss += terms["alpha"] * (np.log(np.exp(f).sum(axis=1)) - (prior * f).sum(axis=1))[~known].sum()
    loss += terms["beta"] * np.maximum(0.5 - f.max(axis=1), 0)[~known].sum()
    np.testing.assert_allclose(model.result_.objective[-1], loss)


def test_without_terms_unlabelled_rows_count_for_nothing():
    X, _, partial = blobs()
    known = partial >= 0
    alone = RMSBoostClassifier(20, random_state=0).fit(X[known], partial[known])
    among = RMSBoostClassifier(20, alpha=0, beta=0, random_state=0).fit(X, partial)
    assert alone.prior_ is None
    assert among.prior_ is None
    assert np.mean(alone.predict(X) == among.predict(X)) > 0.9  # bins differ, since unlabelled rows set them
    same = RMSBoostClassifier(20, random_state=0, estimator=DecisionTreeClassifier(max_depth=3))
    alone = same.fit(X[known], partial[known]).decision_function(X)
    among = same.set_params(alpha=0, beta=0).fit(X, partial).decision_function(X)
    np.testing.assert_array_equal(alone, among)


def test_the_margin_can_go_without_a_prior():
    X, y, partial = blobs(std=1.0)
    model = RMSBoostClassifier(20, alpha=0.0, beta=0.1, random_state=0).fit(X, partial)
    assert model.prior_ is None
    supervised = RMSBoostClassifier(20, alpha=0.0, beta=0.0, random_state=0).fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.9
    assert model.decision_function(X).max(axis=1).mean() != supervised.decision_function(X).max(axis=1).mean()


def test_rising_scores_make_the_objective_fall():
    X, _, partial = digits()
    objective = RMSBoostClassifier(30, prior="graph", random_state=0).fit(X, partial).result_.objective
    assert len(objective) == 31
    falls = np.diff(np.delete(objective, 10)) < 0  # in round 10 the margin term comes in
    assert falls.mean() > 0.9


@pytest.mark.parametrize("n_classes", [2, 26])
def test_ten_thousand_rounds_do_not_overflow(n_classes):
    """Steps of 1 towards labels that nothing contradicts, for and against a prior."""
    y = np.arange(2 * n_classes) // 2
    X = np.concatenate([y, y + n_classes])[:, None]
    partial = np.concatenate([y, np.full(2 * n_classes, -1)])
    model = RMSBoostClassifier(
        10_000,
        learning_rate=1.0,
        alpha=1e-300,
        beta=1e-300,
        margin=1e5,
        n_trees=1,
        max_samples=None,
        response="hard",
        prior=np.full((len(X), n_classes), 1 / n_classes),
        random_state=0,
    ).fit(X, partial)
    assert model.decision_function(X).max() > 500
    for found in (model.predict_proba(X), model.result_.objective, model.result_.criterion):
        assert np.isfinite(found).all()
        assert (found >= 0).all()


def test_priors_and_labels_teach_more_than_labels():
    gains = []
    for seed in range(3):
        X, y, partial = digits(seed=seed)
        hidden = partial < 0
        both = RMSBoostClassifier(random_state=seed).fit(X, partial)
        labels = RMSBoostClassifier(alpha=0, beta=0, random_state=seed).fit(X, partial)
        gains.append(np.mean(both.transduction_[hidden] == y[hidden]))
        gains[-1] -= np.mean(labels.transduction_[hidden] == y[hidden])
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize("response", ["soft", "hard", "steepest"])
@pytest.mark.parametrize(
    "prior", ["staged", "graph", "kmeans", functools.partial(kmeans_prior, smoothing=1.0)]
)
def test_every_prior_and_response_learns(prior, response):
    X, y, partial = blobs(std=1.5)
    model = RMSBoostClassifier(20, prior=prior, response=response, random_state=0).fit(X, partial)
    assert np.mean(model.predict(X) == y) > 0.9
    np.testing.assert_allclose(model.prior_.sum(axis=1), 1)
    np.testing.assert_allclose(model.decision_function(X), model.result_.x, atol=1e-9)


# Rounds


def test_rounds_can_be_added_later():
    X, _, partial = blobs()
    once = RMSBoostClassifier(25, margin=2.0, random_state=0).fit(X, partial)
    twice = RMSBoostClassifier(10, margin=2.0, prior=once.prior_, warm_start=True, random_state=0)
    again = twice.fit(X, partial).set_params(n_estimators=25).fit(X, partial)
    whole = RMSBoostClassifier(25, margin=2.0, prior=once.prior_, random_state=0).fit(X, partial)
    np.testing.assert_array_equal(again.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(again.result_.objective, whole.result_.objective)
    with pytest.raises(ValueError, match="it can only grow"):
        again.set_params(n_estimators=5).fit(X, partial)
    # other labels are another problem
    other = partial.copy()
    other[np.flatnonzero(partial >= 0)[0]] = -1
    anew = RMSBoostClassifier(25, margin=2.0, prior=once.prior_, random_state=0).fit(X, other)
    warm = again.set_params(n_estimators=25).fit(X, other)
    np.testing.assert_array_equal(warm.decision_function(X), anew.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_at_the_decision(n_classes):
    X, _, partial = blobs(n_classes)
    model = RMSBoostClassifier(7, random_state=0).fit(X, partial)
    scores, labels = list(model.staged_decision_function(X)), list(model.staged_predict(X))
    assert len(scores) == len(labels) == 7
    np.testing.assert_array_equal(scores[-1], model.decision_function(X))
    np.testing.assert_array_equal(labels[-1], model.predict(X))
    # a model of fewer rounds is a beginning of one of more
    shorter = RMSBoostClassifier(4, prior=model.prior_, margin=0.35, random_state=0).fit(X, partial)
    np.testing.assert_array_equal(scores[3], shorter.decision_function(X))


def test_rounds_stop_when_labels_held_out_gain_nothing():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    settings = {"n_iter_no_change": 5, "random_state": 0}
    model = RMSBoostClassifier(300, **settings).fit(X, noise)
    assert model.n_estimators_ < 100
    assert model.result_.status == "converged"
    clear = RMSBoostClassifier(300, **settings).fit(X, (X[:, 0] > 0).astype(int))
    assert clear.n_estimators_ > model.n_estimators_


def test_an_interrupt_keeps_the_rounds_done():
    X, _, partial = blobs()
    CountedTree.left = 3
    with pytest.warns(FitInterruptedWarning):
        model = RMSBoostClassifier(10, prior="graph", estimator=CountedTree(max_depth=2)).fit(X, partial)
    assert model.result_.status == "interrupted"
    assert model.n_estimators_ == 3
    np.testing.assert_allclose(model.decision_function(X), model.result_.x)
    assert len(model.result_.objective) == 4
    # before the prior is there, there is nothing to keep
    for left in (3, 12):
        CountedTree.left = left
        with pytest.raises(KeyboardInterrupt):
            model.set_params(prior="staged").fit(X, partial)


def test_probabilities_of_labels_held_out_are_calibrated():
    X, y, partial = digits(300)
    hidden = partial < 0
    model = RMSBoostClassifier(alpha=0, beta=0, random_state=0).fit(X, partial)
    assert abs(model.predict_proba(X)[hidden].max(axis=1).mean() - model.score(X[hidden], y[hidden])) < 0.05
    # staged, one is as sure as that on average, though more often right
    both = RMSBoostClassifier(random_state=0).fit(X, partial)
    assert both.score(X[hidden], y[hidden]) > model.score(X[hidden], y[hidden])


def test_importances_point_at_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 4] > 0).astype(int)
    for estimator in (None, DecisionTreeClassifier(max_depth=2)):
        model = RMSBoostClassifier(10, estimator=estimator, random_state=0).fit(
            X, np.where(rng.random(300) < 0.3, y, -1)
        )
        assert model.feature_importances_.argmax() == 4
        np.testing.assert_allclose(model.feature_importances_.sum(), 1)


# Inputs


def test_kinds_of_input():
    X, _, partial = blobs()
    settings = {"n_estimators": 10, "random_state": 0}
    expected = RMSBoostClassifier(**settings).fit(X, partial)
    names = np.array(["ant", "bee", "cow"], dtype=object)
    strings = np.where(partial < 0, None, names[partial])
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = RMSBoostClassifier(**settings).fit(frame, pd.Series(strings))
    np.testing.assert_array_equal(named.predict(frame), names[expected.predict(X)])
    assert named.feature_names_in_.tolist() == list("abcde")
    single = RMSBoostClassifier(**settings).fit(X.astype(np.float32), partial)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    assert np.mean(single.predict(X.astype(np.float32)) == expected.predict(X)) > 0.95
    again = pickle.loads(pickle.dumps(expected))
    np.testing.assert_array_equal(again.decision_function(X), expected.decision_function(X))


def test_sparse_rows_are_refused():
    X, _, partial = blobs()
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        RMSBoostClassifier(2).fit(sp.csr_array(X), partial)


def test_few_rows_of_every_kind():
    one_each = RMSBoostClassifier(5, random_state=0).fit([[0.0], [5.0], [1.0]], [0, 1, -1])
    assert one_each.transduction_.tolist() == [0, 1, 0]
    X, y, partial = blobs(26, n_labeled=1, std=0.3, n_rows=260)
    many = RMSBoostClassifier(20, random_state=0).fit(X, partial)
    assert np.mean(many.transduction_ == y) > 0.9
    hidden_one = partial.copy()
    hidden_one[:] = y
    hidden_one[7] = -1
    assert RMSBoostClassifier(5, random_state=0).fit(X, hidden_one).transduction_[7] == y[7]


def test_missing_entries_are_a_value():
    """A column that is missing in one class, and nothing else."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    X[y == 1, 1] = np.nan
    for prior in ("kmeans", "graph", "staged"):  # which do not see it: the mean takes its place
        model = RMSBoostClassifier(20, prior=prior, max_features=None, random_state=0)
        model.fit(X, np.where(np.arange(200) < 60, y, -1))
        assert model.score(X, y) > 0.8
    alone = RMSBoostClassifier(20, alpha=0, beta=0, max_features=None, random_state=0).fit(X, y)
    assert alone.score(X, y) == 1


def test_categories_as_numbers():
    """Classes are odd and even codes, which no single cut tells apart."""
    codes = np.arange(400) % 12
    model = RMSBoostClassifier(20, random_state=0).fit(codes[:, None], codes % 2)
    assert model.score(codes[:, None], codes % 2) == 1


def test_monotone_changes_of_columns_do_not_change_supervised_trees():
    X, _, partial = blobs()
    X = np.round(X, 1)  # few values, with a bin each
    settings = {"n_estimators": 10, "alpha": 0, "beta": 0, "random_state": 0}
    plain = RMSBoostClassifier(**settings).fit(X, partial)
    bent = RMSBoostClassifier(**settings).fit(np.exp(X), partial)
    np.testing.assert_array_equal(plain.decision_function(X), bent.decision_function(np.exp(X)))


def test_weights_of_rows():
    X, _, partial = blobs()
    settings = {"n_estimators": 10, "prior": "graph", "max_samples": None, "random_state": 0}
    plain = RMSBoostClassifier(**settings).fit(X, partial).decision_function(X)
    # all twice as heavy changes nothing but the objective
    heavy = RMSBoostClassifier(**settings).fit(X, partial, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(heavy.decision_function(X), plain, atol=1e-9)
    # labels without weight are no labels
    weights, hidden = np.ones(len(X)), partial.copy()
    first = np.flatnonzero(partial >= 0)[0]
    weights[first], hidden[first] = 0, -1
    without = RMSBoostClassifier(**settings).fit(X, partial, sample_weight=weights)
    same = RMSBoostClassifier(**settings).fit(X, hidden, sample_weight=weights)
    np.testing.assert_array_equal(without.decision_function(X), same.decision_function(X))


def test_parameters_can_be_searched():
    X, _, partial = blobs()
    model, folds = RMSBoostClassifier(5, prior="graph", random_state=0), PartiallyLabeledKFold(2)
    search = GridSearchCV(model, {"max_depth": [1, None]}, cv=folds, scoring="accuracy").fit(X, partial)
    by_hand = []
    for depth in (1, None):
        scores = []
        for train, test in folds.split(X, partial):
            fitted = model.set_params(max_depth=depth).fit(X[train], partial[train])
            scores.append(np.mean(fitted.predict(X[test]) == partial[test]))
        by_hand.append(np.mean(scores))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_params_["max_depth"] == (1, None)[int(np.argmax(by_hand))]


@pytest.mark.parametrize("max_features", ["sqrt", 2, 0.5, None])
def test_features_tried(max_features):
    X, y, partial = blobs(std=1.0)
    model = RMSBoostClassifier(10, max_features=max_features, random_state=0).fit(X, partial)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": KNeighborsClassifier()}, "takes no sample_weight"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"n_iter_no_change": 3, "max_samples": None}, "set max_samples"),
        ({"max_features": 1.5}, "max_features"),
        ({"prior": "none"}, "prior"),
        ({"response": "loud"}, "response"),
    ],
)
def test_errors_say_what_to_do(params, message):
    X, _, partial = blobs()
    with pytest.raises(ValueError, match=message):
        RMSBoostClassifier(**params).fit(X, partial)


def test_estimators_without_probabilities_or_trees():
    X, y, partial = blobs(std=1.0)
    model = RMSBoostClassifier(5, prior="graph", estimator=Perceptron(), random_state=0).fit(X, partial)
    assert model.score(X, y) > 0.8
    with pytest.raises(AttributeError, match="Perceptron has no feature_importances_"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(ValueError, match="response='steepest' needs"):
        RMSBoostClassifier(5, estimator=Perceptron(), response="steepest").fit(X, partial)


def test_progress_is_shown(capsys):
    X, _, partial = blobs()
    RMSBoostClassifier(3, verbose=1).fit(X, partial)
    shown = capsys.readouterr().err
    assert "prior" in shown
    assert "rounds" in shown
