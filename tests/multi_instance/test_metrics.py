"""Success rates by hand, and scores of a classifier against scikit-learn's metrics."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from weakly import BagMarginSVC, Bags, CitationKNNClassifier
from weakly.datasets import make_bags
from weakly.multi_instance import SuccessRates, bag_scores, success_rates

IS_KEY = [[True, False], [False, True], [False, False, True], [True, True], [False], [False, False]]
Y_TRUE = [1, 1, 1, 1, 0, 0]


def test_rates_by_hand():
    # right, wrong place, missed though located, right by either key, right label, false alarm
    rates = success_rates(Y_TRUE, [1, 1, 0, 1, 0, 1], [0, 0, 2, 1, 0, 1], IS_KEY)
    assert rates == SuccessRates(of_relevant=2 / 4, of_predicted=2 / 4, harmonic=2 / 4)
    # fewer predicted: the first and the fourth, both located
    rates = success_rates(Y_TRUE, [1, 0, 0, 1, 0, 0], [0, 0, 2, 0, 0, 1], IS_KEY)
    assert rates == SuccessRates(of_relevant=2 / 4, of_predicted=2 / 2, harmonic=2 * 2 / 6)


def test_the_positive_class_can_be_named():
    truth = np.where(Y_TRUE, "cat", "other")
    rates = success_rates(truth, ["cat"] * 6, [0, 1, 0, 0, 0, 0], IS_KEY, positive_class="cat")
    assert rates == SuccessRates(3 / 4, 3 / 6, 6 / 10)


@pytest.mark.parametrize("seed", range(10))
def test_the_last_rate_is_the_harmonic_mean(seed):
    rng = np.random.default_rng(seed)
    is_key = [rng.random(size) < 0.5 for size in rng.integers(1, 6, 40)]
    located = [rng.integers(-1, len(keys)) for keys in is_key]
    y_true, y_pred = rng.integers(0, 2, (2, 40))
    rates = success_rates(y_true, y_pred, located, is_key)
    hits = sum(
        truth == guess == 1 and place >= 0 and keys[place]  # what negative bags call keys does not count
        for truth, guess, place, keys in zip(y_true, y_pred, located, is_key, strict=True)
    )
    assert hits > 0
    assert rates.of_relevant == pytest.approx(hits / sum(y_true))
    assert rates.of_predicted == pytest.approx(hits / sum(y_pred))
    assert rates.harmonic == pytest.approx(2 / (1 / rates.of_relevant + 1 / rates.of_predicted))


@pytest.mark.parametrize(
    ("y_true", "y_pred", "located"),
    [
        ([0] * 6, [0] * 6, [0] * 6),  # nothing relevant, nothing predicted
        (Y_TRUE, [0] * 6, [0, 1, 2, 0, 0, 0]),  # nothing predicted
        ([0] * 6, [0, 0, 0, 0, 1, 1], [0] * 6),  # nothing relevant
        (Y_TRUE, [1] * 6, [-1] * 6),  # nothing located
    ],
)
def test_rates_of_nothing_are_zero(y_true, y_pred, located):
    assert success_rates(y_true, y_pred, located, IS_KEY) == SuccessRates(0.0, 0.0, 0.0)


def test_empty_bags_have_no_place():
    assert success_rates([1, 1], [1, 0], [0, -1], [[True], []]) == SuccessRates(1 / 2, 1.0, 2 / 3)
    with pytest.raises(ValueError, match="Bag 1 has 0 instances: there is none at place 0"):
        success_rates([1, 1], [1, 0], [0, 0], [[True], []])


@pytest.mark.parametrize("place", [3, -2])
def test_places_outside_of_a_bag_are_named(place):
    with pytest.raises(ValueError, match=f"Bag 2 has 3 instances: there is none at place {place}"):
        success_rates(Y_TRUE, Y_TRUE, [0, 0, place, 0, 0, 0], IS_KEY)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        success_rates(Y_TRUE, Y_TRUE[:-1], [0] * 6, IS_KEY)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        success_rates(Y_TRUE, Y_TRUE, [0] * 6, IS_KEY[:-1])


@pytest.mark.parametrize("positive_class", [None, "cat"])
def test_scores_of_two_classes(positive_class):
    data = make_bags(60, separation=2.5, random_state=0)
    bags, y = Bags.from_ids(data.X, data.bags), np.array(["other", "cat"])[data.bag_y]
    if positive_class is None:
        y = data.bag_y
    model = BagMarginSVC(1.0, gamma="median", positive_class=positive_class).fit(bags[:30], y[:30])
    new, truth = bags[30:], y[30:]
    is_key = bags.split(data.y == 1)[30:]
    scores = bag_scores(model, new, truth, is_key)
    assert scores["accuracy"] == accuracy_score(truth, model.predict(new))
    assert scores["roc_auc"] == roc_auc_score(truth == model.classes_[1], model.decision_function(new))
    assert 0.5 < scores["roc_auc"] < 1
    positive = 1 if positive_class is None else "cat"
    rates = success_rates(
        truth, model.predict(new), model.key_instances(new), is_key, positive_class=positive
    )
    assert list(scores) == ["accuracy", "roc_auc", "of_relevant", "of_predicted", "harmonic"]
    assert [scores[name] for name in rates._fields] == list(rates)
    assert 0 < rates.harmonic < 1
    assert list(bag_scores(model, list(new), truth)) == ["accuracy", "roc_auc"]


def test_scores_of_three_classes():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    bags = [rng.normal(size=(3, 2)) + np.array([[0, 0], [1, 0], [0, 1]])[label] for label in y]
    model = CitationKNNClassifier(3, n_citers=3).fit(bags[:24], y[:24])
    scores = bag_scores(model, bags[24:], y[24:])
    proba = model.predict_proba(bags[24:])
    mean = np.mean([roc_auc_score(y[24:] == label, proba[:, label]) for label in range(3)])
    assert scores["accuracy"] == accuracy_score(y[24:], model.predict(bags[24:]))
    assert scores["roc_auc"] == pytest.approx(mean)
    assert scores["roc_auc"] > 0.5
    with pytest.raises(ValueError, match="is_key needs two classes"):
        bag_scores(model, bags[24:], y[24:], [[True] * 3] * 21)
