"""The classifier as users meet it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.expected_failures import of_marker
from weakly import FewLabelClassifier
from weakly.auto._few_label import verdict_of
from weakly.model_selection import LabelDraws

CHECKED = [
    FewLabelClassifier(random_state=0),
    FewLabelClassifier(mode="safe", unlabeled=None, random_state=0),
]


@parametrize_with_checks(CHECKED, expected_failed_checks=of_marker, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:500]
    draw = next(LabelDraws(n_per_class=2, random_state=0).split(X[rows], y[rows]))
    return X[rows], y[rows], draw.mask(y[rows])


def three_clusters(n_rows):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    return np.array([[0.0, 0, 0, 0], [3, 0, 0, 0], [0, 3, 0, 0]])[y] + rng.normal(size=(n_rows, 4)), y


@pytest.fixture(scope="module")
def model(digits):
    X, _, partial = digits
    return FewLabelClassifier(random_state=0).fit(X, partial)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 3)) + 2.5 * y[:, None]
    return X, y, np.where(np.arange(80) < 8, y, -1)


def test_unlabelled_digits_help(digits, model):
    _, y, partial = digits
    hidden = partial < 0
    ours = np.mean(model.transduction_[hidden] == y[hidden])
    assert ours > np.mean(model.supervised_[hidden] == y[hidden]) + 0.05
    assert model.evidence_.log_odds > 4
    assert str(model.evidence_) == model.evidence_.verdict
    assert "trust" in model.evidence_.verdict


def test_noise_is_left_to_the_supervised_kernels():
    """Classes that no structure of the rows follows: labels decide, and the odds do not say otherwise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X @ [1.0, -1, 1, -1] > 0).astype(int)
    model = FewLabelClassifier(random_state=0).fit(X, np.where(np.arange(300) < 60, y, -1))
    assert model.evidence_.log_odds < 2
    assert np.mean(model.transduction_ == model.supervised_) > 0.95


@pytest.mark.parametrize("mode", ["auto", "safe"])
def test_permuted_rows_have_permuted_answers(digits, mode):
    X, _, partial = digits
    order = np.random.default_rng(1).permutation(len(X))
    straight = FewLabelClassifier(mode, random_state=0).fit(X, partial)
    permuted = FewLabelClassifier(mode, random_state=0).fit(X[order], partial[order])
    np.testing.assert_array_equal(permuted.label_distributions_, straight.label_distributions_[order])
    np.testing.assert_array_equal(permuted.supervised_, straight.supervised_[order])
    assert permuted.evidence_ == straight.evidence_


@pytest.mark.parametrize("scale", [1.0, 37.0])
def test_permuted_rows_of_a_standardised_table(blobs, scale):
    X, _, partial = blobs
    X = X * [1.0, scale, 1.0]
    order = np.random.default_rng(1).permutation(len(X))
    straight = FewLabelClassifier(random_state=0).fit(X, partial)
    permuted = FewLabelClassifier(random_state=0).fit(X[order], partial[order])
    assert straight.preparation_.startswith("standardize")
    np.testing.assert_array_equal(permuted.label_distributions_, straight.label_distributions_[order])


def test_renamed_classes_have_renamed_answers(digits, model):
    X, _, partial = digits
    names = np.array(list("qwertzuiop"), dtype=object)
    renamed = np.array([None if code < 0 else names[code] for code in partial], dtype=object)
    other = FewLabelClassifier(random_state=0).fit(X, renamed)
    np.testing.assert_array_equal(other.transduction_, names[model.transduction_])
    columns = [other.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(other.label_distributions_[:, columns], model.label_distributions_, rtol=1e-10)
    decisions = other.decision_function(X)[:, columns]
    np.testing.assert_allclose(decisions, model.decision_function(X), atol=1e-10)


def test_two_renamed_classes_change_the_sign_only(blobs):
    X, _, partial = blobs
    model = FewLabelClassifier(random_state=0).fit(X, partial)
    other = FewLabelClassifier(random_state=0).fit(X, np.where(partial < 0, -1, 1 - partial))
    np.testing.assert_array_equal(other.decision_function(X), -model.decision_function(X))


@pytest.mark.parametrize("effort", ["fast", "full"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_copies_of_training_rows_are_predicted_as_they_were(digits, effort, kind):
    X, _, partial = digits
    X, partial = X[:200], partial[:200]
    rows = sp.csr_array(X) if kind == "csr" else X
    model = FewLabelClassifier(effort=effort, random_state=0).fit(rows, partial)
    np.testing.assert_array_equal(model.predict(rows), model.transduction_)
    np.testing.assert_allclose(model.predict_proba(rows), model.label_distributions_, atol=1e-9)


def test_equal_training_rows_get_equal_answers_that_new_copies_share():
    X, y = three_clusters(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    model = FewLabelClassifier(random_state=0).fit(X, np.where(np.arange(180) % 12 == 0, y, -1))
    np.testing.assert_allclose(model.label_distributions_[::3], model.label_distributions_[2::3], atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X[::3]), model.label_distributions_[::3], atol=1e-9)


def test_same_seed_same_answer(digits, model):
    X, _, partial = digits
    again = FewLabelClassifier(random_state=0).fit(X, partial)
    np.testing.assert_array_equal(again.label_distributions_, model.label_distributions_)


def test_safe_mode_is_the_mean_with_the_supervised_kernels(digits, model):
    X, _, partial = digits
    safe = FewLabelClassifier("safe", random_state=0).fit(X, partial)
    np.testing.assert_array_equal(safe.supervised_, model.supervised_)
    supervised = 2 * safe.decision_function(X) - model.decision_function(X)
    np.testing.assert_array_equal(supervised.argmax(axis=1), model.supervised_)
    assert safe.candidates_["weight"][safe.candidates_["family"] == "sup"].sum() > 0.5


def test_weights_of_candidates(model):
    table = model.candidates_
    np.testing.assert_allclose(table["weight"].sum(), 1)
    assert (np.diff(table["weight"]) <= 0).all()
    assert set(table["family"]) == {"sup", "lap", "graph", "pca"}
    assert (table["score"] < 0).all()
    assert len(pd.DataFrame(table)) == len(table)


def test_total_variation_is_scored_by_labels_it_did_not_see(digits, model):
    X, y, partial = digits
    full = FewLabelClassifier(effort="full", random_state=0).fit(X, partial)
    (line,) = full.candidates_[full.candidates_["family"] == "tv"]
    assert 0 < line["weight"] < 1
    np.testing.assert_allclose(full.candidates_["weight"].sum(), 1)
    assert 20 * np.log(0.01 / 10) < line["score"] < 0
    assert np.mean(full.transduction_ == y) > np.mean(model.transduction_ == y)


def test_total_variation_is_left_out_where_it_says_the_same():
    X, y = make_moons(400, noise=0.06, random_state=0)
    full = FewLabelClassifier(effort="full", random_state=0).fit(X, np.where(np.arange(400) < 20, y, -1))
    assert np.mean(full.transduction_ == y) > 0.99
    assert "tv" not in full.candidates_["family"]


def test_precomputed_kernels_serve_other_labels(monkeypatch, digits):
    X, _, partial = digits
    model = FewLabelClassifier(random_state=0).precompute(X, n_classes=10)
    fresh = FewLabelClassifier(random_state=0).fit(X, partial).label_distributions_
    monkeypatch.setattr("weakly.auto._few_label.build_bank", None)  # any attempt to build would fail
    np.testing.assert_array_equal(model.fit(X, partial).label_distributions_, fresh)


def test_warm_start_notices_other_rows(blobs):
    X, _, partial = blobs
    model = FewLabelClassifier(warm_start=True, random_state=0).fit(X, partial)
    kept = model._warm[1]
    assert model.fit(X, partial)._warm[1] is kept
    model.fit(X + 1, partial)
    assert model._warm[1] is not kept
    assert "_warm" not in pickle.loads(pickle.dumps(model)).__dict__


def test_precomputed_kernels_outlive_fits_with_fewer_classes(monkeypatch):
    X, y = three_clusters(60)
    rows = sp.csr_array(np.abs(X))
    model = FewLabelClassifier(random_state=0).precompute(rows, np.int64(3))
    kept = model._warm[1]
    model.fit(rows, np.where((np.arange(60) < 12) & (y < 2), y, -1))
    assert model._warm[1] is kept
    monkeypatch.setattr("weakly.auto._few_label.build_bank", None)
    model.fit(rows.copy(), np.where(np.arange(60) < 12, y, -1))


def test_repeated_sparse_entries_are_their_sum():
    X, y = three_clusters(60)
    counts = sp.csr_array(np.round(np.abs(X) * 3))
    twice = np.repeat(np.arange(counts.nnz), 2)
    halves = sp.csr_array(
        (counts.data[twice] / 2, counts.indices[twice], 2 * counts.indptr), shape=counts.shape
    )
    partial = np.where(np.arange(60) < 12, y, -1)
    plain, summed = (FewLabelClassifier(random_state=0).fit(rows, partial) for rows in (counts, halves))
    np.testing.assert_array_equal(summed.label_distributions_, plain.label_distributions_)
    np.testing.assert_array_equal(plain.predict(halves), plain.predict(counts))


def test_sparse_new_rows_after_dense_ones(blobs):
    X, _, partial = blobs
    model = FewLabelClassifier(random_state=0).fit(X, partial)
    np.testing.assert_allclose(model.predict_proba(sp.csr_array(X)), model.label_distributions_, atol=1e-9)


def test_a_marker_among_the_categories_is_no_class(blobs):
    X, _, partial = blobs
    names = pd.Series(pd.Categorical(np.array(["a", "b", "?"])[partial]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FewLabelClassifier(unlabeled="?", random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["a", "b"]


def test_rows_that_say_nothing_leave_given_shares():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FewLabelClassifier(class_prior=[0.8, 0.2], random_state=0).fit(
            np.ones((20, 3)), [0, 1] * 3 + [-1] * 14
        )
    assert (model.transduction_ == 0).all()


def test_given_shares_move_the_border(blobs):
    X, _, partial = blobs
    counts = [
        np.sum(FewLabelClassifier(class_prior=[1 - p, p], random_state=0).fit(X, partial).transduction_)
        for p in (0.2, 0.5, 0.8)
    ]
    assert counts[0] < counts[1] < counts[2]
    by_name = FewLabelClassifier(class_prior={1: 0.8, 0: 0.2}, random_state=0).fit(X, partial)
    assert by_name.transduction_.sum() == counts[2]


def test_classes_without_a_label_are_told(blobs):
    X, _, partial = blobs
    names = pd.Series(pd.Categorical.from_codes(partial, ["a", "b", "c"]))
    with pytest.warns(UserWarning, match="no sample is labeled 'c'"):
        model = FewLabelClassifier(random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["a", "b"]
    with pytest.warns(UserWarning, match="no sample is labeled 5"):
        FewLabelClassifier(class_prior={0: 0.4, 1: 0.4, 5: 0.2}, random_state=0).fit(X, partial)
    with pytest.raises(ValueError, match="no proportion for \\[1\\]"):
        FewLabelClassifier(class_prior={0: 0.4}, random_state=0).fit(X, partial)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 12])
def test_very_few_rows(n_rows):
    X = (np.arange(n_rows) % 2)[:, None].astype(float)
    y = np.where(np.arange(n_rows) < 2, np.arange(n_rows) % 2, -1)
    model = FewLabelClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, np.arange(n_rows) % 2)


def test_one_label_of_each_of_26_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(26), 12)
    X = (4 * rng.normal(size=(26, 10)))[y] + rng.normal(size=(312, 10))
    model = FewLabelClassifier(random_state=0).fit(X, np.where(np.arange(312) % 12 == 0, y, -1))
    assert np.mean(model.transduction_ == y) > 0.95
    assert model.predict_proba(X).shape == (312, 26)


def test_rows_that_are_all_equal_get_even_odds():
    model = FewLabelClassifier(random_state=0).fit(np.ones((20, 3)), [0, 1] * 2 + [-1] * 16)
    np.testing.assert_allclose(model.label_distributions_[5:], 0.5, atol=1e-6)


def test_float32_in_float32_out(blobs):
    X, _, partial = blobs
    model = FewLabelClassifier(random_state=0).fit(X.astype(np.float32), partial)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32
    exact = FewLabelClassifier(random_state=0).fit(X.astype(np.float32).astype(float), partial)
    assert np.mean(model.transduction_ == exact.transduction_) > 0.95


def test_more_labels_than_choose(monkeypatch, digits):
    X, y, _ = digits
    partial = np.where(np.arange(len(y)) < 200, y, -1)
    exact = FewLabelClassifier(random_state=0).fit(X, partial)
    monkeypatch.setattr("weakly.auto._few_label.MOST_SCORED", 60)
    quick = FewLabelClassifier(random_state=0).fit(X, partial)
    monkeypatch.setattr("weakly.auto._few_label.MOST_FITTED", 60)
    fewer = FewLabelClassifier(random_state=0).fit(X, partial)
    hidden = slice(200, None)
    right = [np.mean(m.transduction_[hidden] == y[hidden]) for m in (exact, quick, fewer)]
    assert right[1] > right[2]
    assert abs(right[0] - right[1]) < 0.03


def test_probabilities_are_about_right(digits, model):
    _, y, partial = digits
    hidden = partial < 0
    accuracy = np.mean(model.transduction_[hidden] == y[hidden])
    assert abs(model.label_distributions_[hidden].max(axis=1).mean() - accuracy) < 0.15


def test_many_rows_take_the_approximate_path(monkeypatch):
    X, y = three_clusters(600)
    partial = np.where(np.arange(600) < 15, y, -1)
    exact = FewLabelClassifier(random_state=0).fit(X, partial)
    monkeypatch.setattr("weakly.auto._bank.MANY_ROWS", 100)
    monkeypatch.setattr("weakly.auto._spectra._DENSE_ROWS", 100)
    monkeypatch.setattr("weakly.auto._kernels.KMEANS_ROWS", 200)
    many = FewLabelClassifier(random_state=0).fit(X, partial)
    assert np.mean(many.transduction_ == exact.transduction_) > 0.9
    assert np.mean(many.predict(X) == many.transduction_) > 0.995


def test_progress_is_shown(blobs, capsys):
    X, _, partial = blobs
    FewLabelClassifier(verbose=1, random_state=0).fit(X, partial)
    shown = capsys.readouterr().err
    assert all(stage in shown for stage in ("neighbours", "graph spectra", "choice"))


@pytest.mark.parametrize(
    ("odds", "words"),
    [(9.0, "trust"), (3.0, "suggest"), (0.0, "do not say"), (-3.0, "supervised kernels")],
)
def test_verdicts(odds, words):
    assert words in verdict_of(odds)


def test_nothing_warns_on_ordinary_rows(blobs):
    X, _, partial = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FewLabelClassifier(effort="full", random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(partial, 2))
