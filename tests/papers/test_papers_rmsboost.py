"""The RMSBoost paper: draws, gradients by rounds and gains, against answers found apart."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from sklearn.datasets import load_digits

from benchmarks import papers
from benchmarks.papers.rmsboost import PAPER, _fit, _rounds, _sets
from benchmarks.papers.rmsboost._tables import ROWS, SUPERVISED
from weakly import RMSBoostClassifier

needs_data = pytest.mark.skipif(not os.environ.get("WEAKLY_DATA"), reason="needs the data of the paper")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
NEAREST = {
    "estimator": "sklearn.neighbors.KNeighborsClassifier",
    "params": {"n_neighbors": 1},
    "supervised": True,
}


def clear():
    for cached in (_sets.rows_of, _sets.draw, _fit._accuracy, _rounds.path):
        cached.cache_clear()


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """Three classes of 100 rows in place of Letter, two of them mixed up, every fourth row for testing."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(3), 100))
    X = np.clip(8 + 3 * (y > 0)[:, None] + 2 * rng.normal(size=(300, 4)), 0, 15).round()
    is_train = np.arange(300) % 4 != 0
    np.savez(tmp_path / "letter.npz", X=X.astype(np.uint8), y=y, classes=list("abc"), is_train=is_train)
    monkeypatch.setenv("WEAKLY_DATA", str(tmp_path))
    monkeypatch.setattr(_sets, "SHARE", 0.2)
    clear()
    yield X, y, is_train
    clear()


def table(key):
    return next(table for table in PAPER.tables if table.key == key)


def test_published_numbers():
    """Totals of the printed rows of Letter, added up apart from this code, and the two of the text."""
    accuracies, times = table("table2").published, table("table3").published
    assert sum(accuracies.values()) == pytest.approx(439.3 + 75.1 + 78.7)
    assert sum(times.values()) == pytest.approx(3391)
    assert not any(column == "generated" for _, column in times)
    assert not table("generated").published
    assert table("gains").published["RMSB, literal", "Letter"] == pytest.approx(
        accuracies["RMSB, literal", "Letter"] - accuracies["RMB", "Letter"]
    )
    assert "rmsboost" in papers.available()


def test_rows_are_the_defaults_but_for_what_they_say():
    plain = RMSBoostClassifier().get_params()
    changed = {
        "RMB": {"alpha": 0.0, "beta": 0.0},
        "margin only": {"alpha": 0.0, "beta": 0.005},
        "cluster only": {"beta": 0.0, "prior": "kmeans"},
        "RMSB, literal": {"prior": "kmeans", "response": "hard", "smoothing": 50.0},
        "RMSB, k-means": {"prior": "kmeans"},
        "RMSB, graph": {"prior": "graph"},
        "RMSB": {},
    }
    for row, params in changed.items():
        found = ROWS[row]["params"]
        assert {name: value for name, value in found.items() if value != plain[name]} == pytest.approx(params)
        assert set(found) == set(plain) - {"verbose"}
    assert {row for row in ROWS if ROWS[row].get("supervised")} == {"AML", "SVM", "RMB"}


@needs_data
def test_letter_has_the_sizes_of_the_paper():
    clear()
    first, other = _sets.draw("Letter", 0), _sets.draw("Letter", 1)
    assert (first.partial >= 0).sum() == 750
    assert (first.partial < 0).sum() == 14250
    assert first.X.shape == (15000, 16)
    assert first.X_test.shape == (5000, 16)
    assert len(np.unique(first.y)) == 26
    assert (first.partial != other.partial).any()
    np.testing.assert_array_equal(first.X_test, other.X_test)
    clear()


def test_the_generated_set_has_the_size_of_sensit():
    data = _sets.draw("generated", 0)
    assert data.X.shape == (78823, 100)
    assert data.X_test.shape == (19705, 100)
    assert (data.partial >= 0).sum() == 3941
    assert len(np.unique(data.y)) == 3
    clear()


def test_sets_without_a_test_part_hold_out_a_third():
    X, y = load_digits(return_X_y=True)
    data = _sets.draw("digits", 4)
    assert [len(data.y), len(data.y_test), (data.partial >= 0).sum()] == [1198, 599, 60]
    known = data.partial >= 0
    np.testing.assert_array_equal(data.partial[known], data.y[known])
    rows = np.vstack([data.X, data.X_test])
    labels = np.concatenate([data.y, data.y_test])
    found, expected = (np.column_stack(pair) for pair in ((rows, labels), (X, y)))
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    assert (_sets.draw("digits", 5).y_test != data.y_test).any()


def nearest_label_accuracy(seed):
    data = _sets.draw("Letter", seed)
    X, y = data.X[data.partial >= 0], data.partial[data.partial >= 0]
    assert len(y) == 45
    named = [y[((X - row) ** 2).sum(axis=1).argmin()] for row in data.X_test]
    return 100 * np.mean(np.array(named) == data.y_test)


def test_accuracy_and_gain_are_those_of_the_test_rows(letters):
    _, y, is_train = letters
    always = {
        "estimator": "sklearn.dummy.DummyClassifier",
        "params": {"strategy": "constant", "constant": 1},
        "supervised": True,
    }
    share = 100 * np.mean(y[~is_train] == 1)
    assert _fit.accuracy(always, "Letter", 0) == pytest.approx(share)
    for seed in (0, 3):
        nearest = nearest_label_accuracy(seed)
        assert _fit.accuracy(NEAREST, "Letter", seed) == pytest.approx(nearest)
        gained = _fit.gain({"ours": NEAREST, "theirs": always}, "Letter", seed)
        assert gained == pytest.approx(nearest - share)


def test_a_draw_is_the_random_state_of_its_fit(letters):
    data = _sets.draw("Letter", 2)
    known = data.partial >= 0
    peer = RMSBoostClassifier(alpha=0, beta=0, random_state=2).fit(data.X[known], data.partial[known])
    expected = 100 * peer.score(data.X_test, data.y_test)
    assert _fit.accuracy(SUPERVISED, "Letter", 2) == pytest.approx(expected)


def test_a_figure_varies_one_parameter(letters):
    settings = {**ROWS["RMSB, k-means"], "varied": "learning_rate"}
    data = _sets.draw("Letter", 1)
    peer = RMSBoostClassifier(learning_rate=0.3, prior="kmeans", random_state=1).fit(data.X, data.partial)
    expected = 100 * peer.score(data.X_test, data.y_test)
    assert _fit.varied_accuracy(settings, "0.3", 1) == pytest.approx(expected)


def test_the_clock_leaves_out_what_is_compiled(letters, monkeypatch):
    asked, clock = [], [0.0]

    def slow(settings, data, seed):
        asked.append((len(data.X), len(data.X_test)))
        clock[0] += 7.0 if len(asked) == 1 else 2.0

    def search(X, *, search, random_state):
        asked.append((len(X), search))
        clock[0] += 40.0

    monkeypatch.setattr(_fit, "_FEW", 20)
    monkeypatch.setattr(_fit, "predict", slow)
    monkeypatch.setattr(_fit, "neighbor_graph", search)
    monkeypatch.setattr(_fit, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert _fit.seconds(NEAREST, "Letter", 0) == pytest.approx(2.0)
    assert asked == [(40, 20), (40, "cells"), (225, 75)]


def objective(scores, codes, prior, terms):
    """Row by row, from the formulas."""
    total = 0.0
    for f, code, p in zip(scores, codes, prior, strict=True):
        if code >= 0:
            total += np.exp(-f[code])
        else:
            total += terms.alpha * (logsumexp(f) - p @ f) + terms.beta * max(0.0, terms.margin - f.max())
    return total


def test_gradient_is_that_of_the_objective():
    """A tiny fit, its scores after each of six rounds, against differences of the objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + 2 * (np.arange(30) % 3)[:, None]
    partial = np.where(np.arange(30) < 6, np.arange(30) % 3, -1)
    model = RMSBoostClassifier(6, warm_up=3, prior="graph", n_neighbors=3, random_state=0).fit(X, partial)
    for n_rounds, scores in enumerate(model.staged_decision_function(X), start=1):
        terms = _rounds.terms_of(model, partial, n_rounds)
        assert terms == pytest.approx((0.2, 0.02 if n_rounds >= 3 else 0.0, 0.3))
        slopes = _rounds.gradient(scores, partial, model.prior_, terms)
        flat = approx_fprime(
            scores.ravel(),
            lambda f, terms=terms: objective(f.reshape(30, 3), partial, model.prior_, terms),
            1e-7,
        )
        np.testing.assert_allclose(slopes, flat.reshape(30, 3), atol=1e-6)


def test_means_of_a_gradient_by_hand():
    slopes = np.array([[-3.0, 4.0], [0.0, -2.0], [0.6, -0.8], [-0.5, 0.5]])
    codes, is_right = np.array([0, -1, -1, -1]), np.array([True, True, False, False])
    found = _rounds.means(slopes, codes, is_right)
    unlabeled = (2 + 1 + np.sqrt(0.5)) / 3
    expected = {"labeled": 500, "unlabeled": 100 * unlabeled, "right": 200, "wrong": 65}
    assert found == pytest.approx(expected)


def test_rounds_begin_and_end_where_the_fit_does(letters):
    params = ROWS["RMSB, k-means"]["params"] | {"n_estimators": 5}
    data = _sets.draw("Letter", 0)
    peer = RMSBoostClassifier(5, prior="kmeans", random_state=0).fit(data.X, data.partial)

    def value(measure, column):
        return _rounds.value_after({"params": params, "measure": measure}, column, 0)

    assert value("accuracy", "5") == pytest.approx(100 * peer.score(data.X_test, data.y_test))
    hidden = data.partial < 0
    right = value("right", "5")
    assert right["rows"] == np.sum(peer.prior_[hidden].argmax(axis=1) == data.y[hidden])
    assert right["rows"] + value("wrong", "5")["rows"] == hidden.sum()
    # of a labelled row it is exp(-f_y), with the scores of the last round
    own = peer.decision_function(data.X)[~hidden, data.y[~hidden]]
    assert value("labeled", "5") == pytest.approx(100 * np.mean(np.exp(-own)))
    measures, _ = _rounds.path(json.dumps(params, sort_keys=True), 0)
    assert len(measures) == 5
    assert measures[0]["labeled"] > measures[-1]["labeled"]


def test_intervals_in_the_text_are_those_of_the_stored_gains():
    gains = table("gains")
    entries = papers.compare(PAPER, gains, RESULTS).entries
    for column in gains.columns:
        values = entries["RMSB", column].values
        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert f"{column} {low:.2f} to {high:.2f}" in gains.differs
