"""Both transductive machines: against LIBLINEAR and each other, their balance, and inputs of every kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import dirichlet_multinomial
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import weakly.svm._transduction as transduction
import weakly.svm._transductive as transductive
from weakly import TransductiveLinearSVC, TransductiveSVC, WellSVC
from weakly.estimators._calibration import expected_prior
from weakly.exceptions import FitInterruptedWarning
from weakly.model_selection import PartiallyLabeledKFold
from weakly.svm._branch_and_bound import solve_branch_and_bound
from weakly.svm._transductive import OPTIMIZERS

SEARCHING = [name for name in OPTIMIZERS if name != "branch_and_bound"]
LINEAR = ["annealing", "multi_switch"]
MACHINES = [
    *(TransductiveSVC(optimizer=name) for name in OPTIMIZERS),
    *(TransductiveLinearSVC(optimizer=name) for name in LINEAR),
]
every_machine = pytest.mark.parametrize(
    "machine", MACHINES, ids=lambda m: f"{type(m).__name__}-{m.optimizer}"
)


def blobs(sizes=(40, 40), distance=5.0, n_labeled=2, n_features=3, seed=0):
    """Gaussian classes at equal distances, and the same labels with all but a few of each class hidden."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    n_features = max(n_features, len(sizes))
    X = rng.normal(size=(len(y), n_features)) + distance / np.sqrt(2) * np.eye(n_features)[y]
    partial = np.full(len(y), -1)
    for code in range(len(sizes)):
        partial[rng.choice(np.flatnonzero(y == code), n_labeled, replace=False)] = code
    return X, y, partial


def keeps_the_balance(model, hidden):
    counts = np.array([(model.transduction_[hidden] == label).sum() for label in model.classes_])
    return (np.abs(counts - model.class_prior_ * hidden.sum()) < 1).all()


@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_all_rows_labelled_is_a_support_vector_machine(as_type):
    X, y, _ = blobs((50, 20), distance=1.0)
    # Its intercept is penalised, with a large scale by next to nothing.
    rival = LinearSVC(C=0.35, intercept_scaling=1e3, dual=False, tol=1e-10, max_iter=10**5).fit(X, y)
    for model in (TransductiveSVC(0.7, kernel="linear", tol=1e-8), TransductiveLinearSVC(0.7, tol=1e-8)):
        model.fit(as_type(X), y)
        np.testing.assert_allclose(model.decision_function(as_type(X)), rival.decision_function(X), atol=1e-4)
    gram = TransductiveSVC(0.7, kernel="precomputed", tol=1e-8).fit(X @ X.T, y)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), rival.decision_function(X), atol=1e-4)


@every_machine
def test_the_objective_is_that_of_liblinear_for_the_labels_found(machine):
    X, _, partial = blobs((10, 6), distance=3.0)
    hidden = partial < 0
    params = {"C": 2.0, "C_unlabeled": 0.5, "tol": 1e-7}
    params |= {"kernel": "linear"} if isinstance(machine, TransductiveSVC) else {}
    model = type(machine)(optimizer=machine.optimizer, **params).fit(X, partial)
    signs = np.where(model.transduction_ == 1, 1.0, -1.0)
    signs[~hidden] = np.where(partial[~hidden] == 1, 1.0, -1.0)
    np.testing.assert_array_equal(model.result_.detail.labels[0], signs)
    costs = np.where(hidden, 0.5, 2.0)
    rival = LinearSVC(C=0.5, intercept_scaling=1e3, dual=False, tol=1e-10, max_iter=10**5)
    scores = rival.fit(X, signs, sample_weight=costs).decision_function(X)
    value = (rival.coef_**2).sum() / 2 + costs @ np.maximum(1 - signs * scores, 0) ** 2 / 2
    assert model.result_.objective[-1] == pytest.approx(value, rel=1e-5)
    assert (np.diff(model.result_.objective) <= 1e-9).all()


def test_no_optimizer_is_below_the_global_minimum():
    X, _, partial = blobs((8, 8), distance=2.0)
    exact = TransductiveSVC(optimizer="branch_and_bound").fit(X, partial).result_
    assert exact.status == "converged"
    assert exact.criterion[-1] <= 1e-4
    for name in SEARCHING:
        found = TransductiveSVC(optimizer=name).fit(X, partial).result_.objective[-1]
        assert found >= exact.objective[-1] * (1 - 1e-6)


@pytest.mark.parametrize("optimizer", LINEAR)
def test_both_machines_agree_on_rows(optimizer):
    X, _, partial = blobs((60, 30), distance=4.0)
    params = {"C": 1.0, "C_unlabeled": 0.1, "optimizer": optimizer, "tol": 1e-7}
    kernel = TransductiveSVC(kernel="linear", **params).fit(X, partial)
    for rows in (X, sp.csr_array(X)):
        linear = TransductiveLinearSVC(**params).fit(rows, partial)
        np.testing.assert_allclose(linear.decision_function(rows), kernel.decision_function(X), atol=1e-5)
        np.testing.assert_allclose(X @ linear.coef_[0] + linear.intercept_, linear.decision_function(rows))


@every_machine
def test_separated_classes_are_found_from_a_label_each(machine):
    X, y, partial = blobs((15, 10), distance=9.0, n_labeled=1)
    model = type(machine)(optimizer=machine.optimizer, class_prior=9 / 23).fit(X, partial)
    np.testing.assert_array_equal(model.transduction_, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.score(X, y) == 1.0


def test_unlabelled_rows_help():
    errors, without = [], []
    for seed in range(5):
        X, y, partial = blobs((100, 100), 3.2, 2, 10, seed)
        errors.append(np.mean(TransductiveSVC().fit(X, partial).transduction_ != y))
        known = partial >= 0
        without.append(np.mean(TransductiveSVC().fit(X[known], y[known]).predict(X) != y))
    assert np.mean(errors) < 0.1
    assert np.mean(errors) < np.mean(without) - 0.05


@every_machine
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_labels_keep_the_balance_whatever_the_rows(machine, seed, data):
    """Random rows, with ties, far outliers and shares that do not fit them; two classes and three."""
    rng = np.random.default_rng(seed)
    n_classes = data.draw(st.sampled_from([2, 3]))
    X = rng.integers(-2, 3, size=(n_classes + data.draw(st.integers(1, 9)), 2)).astype(float)
    X[rng.integers(len(X))] *= data.draw(st.sampled_from([1.0, 100.0]))
    partial = np.full(len(X), -1)
    partial[:n_classes] = np.arange(n_classes)
    shares = data.draw(st.lists(st.floats(0.05, 1.0), min_size=n_classes, max_size=n_classes))
    model = type(machine)(optimizer=machine.optimizer, class_prior=shares, C_unlabeled=0.3).fit(X, partial)
    assert keeps_the_balance(model, partial < 0)
    signs = model.result_.detail.labels > 0
    wanted = model.class_prior_[-len(signs) :] * (partial < 0).sum()
    assert (np.abs(signs[:, partial < 0].sum(axis=1) - wanted) < 1).all()
    np.testing.assert_array_equal(signs[-1, :n_classes], partial[:n_classes] == n_classes - 1)


@pytest.mark.parametrize("machine", [TransductiveSVC(), TransductiveLinearSVC()])
def test_rows_that_are_all_the_same_are_shared_out(machine):
    partial = np.array([0, 1] + [-1] * 10)
    model = machine.fit(np.ones((12, 3)), partial)
    assert keeps_the_balance(model, partial < 0)
    assert np.isfinite(model.predict_proba(np.ones((1, 3)))).all()


@pytest.mark.parametrize("sizes", [(60, 20), (50, 30, 10)])
def test_predictions_on_the_training_rows_keep_the_balance_too(sizes):
    X, _, partial = blobs(sizes, distance=1.5)
    model = TransductiveSVC(class_prior=np.ones(len(sizes))).fit(X, partial)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_array_equal(model.label_distributions_.argmax(axis=1), model.transduction_)
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_)
    assert keeps_the_balance(model, partial < 0)


def test_offsets_are_left_alone_where_the_scores_keep_the_balance():
    X, _, partial = blobs((30, 30), distance=9.0)
    model = TransductiveLinearSVC().fit(X, partial)
    np.testing.assert_array_equal(model.intercept_, model.result_.intercept)


@pytest.mark.parametrize("optimizer", SEARCHING)
def test_several_classes(optimizer):
    X, y, partial = blobs((40, 20, 20), distance=7.0)
    model = TransductiveSVC(optimizer=optimizer, class_prior=[2, 1, 1]).fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.97
    assert model.decision_function(X).shape == (80, 3)
    assert model.result_.detail.labels.shape == (3, 80)
    assert keeps_the_balance(model, partial < 0)


@pytest.mark.parametrize("machine", [TransductiveSVC(), TransductiveLinearSVC()])
def test_one_label_of_each_of_26_classes(machine):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(26), 8)
    X = 20 * rng.normal(size=(26, 8))[y] + rng.normal(size=(208, 8))
    partial = np.where(np.arange(208) % 8 == 0, y, -1)
    model = machine.fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.9
    assert keeps_the_balance(model, partial < 0)


@every_machine
def test_one_unlabelled_row(machine):
    X, y, _ = blobs((15, 15), distance=7.0)
    partial = np.where(np.arange(30) == 3, -1, y)
    assert machine.fit(X, partial).transduction_[3] == y[3]


@every_machine
def test_no_unlabelled_row(machine):
    X, y, _ = blobs((15, 15), distance=7.0)
    np.testing.assert_array_equal(machine.fit(X, y).transduction_, y)


@pytest.mark.parametrize("make", [lambda: TransductiveSVC(kernel="linear"), TransductiveLinearSVC])
def test_every_container(make):
    X, _, partial = blobs()
    expected = make().fit(X, partial).transduction_
    names = np.where(partial < 0, None, np.where(partial == 1, "yes", "no"))
    for rows in (sp.csr_matrix(X), sp.csr_array(X), pd.DataFrame(X), X.tolist()):
        model = make().fit(rows, names)
        assert model.transduction_.tolist() == np.where(expected == 1, "yes", "no").tolist()
    for rows in (X.astype(np.float32), sp.csr_array(X.astype(np.float32))):
        narrow = make().fit(rows, np.where(partial < 0, np.nan, partial))
        assert narrow.decision_function(rows).dtype == np.float32
        assert narrow.label_distributions_.dtype == np.float32
        np.testing.assert_array_equal(narrow.transduction_, expected)


@pytest.mark.parametrize(
    "kernel",
    ["rbf", "linear", "poly", "chi2", "cosine", lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2))],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_kernel_finds_separated_classes(kernel, dtype):
    X, y, partial = blobs((20, 15, 10), distance=9.0)
    X = np.exp(X / 4).astype(dtype)  # positive, for chi2, and the classes in different directions
    names = np.where(partial < 0, None, np.array(["a", "b", "c"])[partial])
    model = TransductiveSVC(kernel=kernel, class_prior=[18, 13, 8]).fit(X, names)
    assert model.transduction_.tolist() == np.array(["a", "b", "c"])[y].tolist()
    assert model.decision_function(X).dtype == dtype


def test_repeated_and_unsorted_entries_of_sparse_rows():
    X, _, partial = blobs()
    whole = sp.csr_array(X)
    columns = np.tile(np.arange(X.shape[1])[::-1], 2)
    halves = np.hstack([X[:, ::-1], X[:, ::-1]]).ravel() / 2
    pointers = np.arange(0, len(halves) + 1, len(columns))
    parts = sp.csr_array((halves, np.tile(columns, len(X)), pointers), shape=X.shape)
    expected = TransductiveLinearSVC().fit(whole, partial).decision_function(whole)
    np.testing.assert_allclose(TransductiveLinearSVC().fit(parts, partial).decision_function(parts), expected)


def test_wide_dense_rows_and_long_indices():
    X, y, partial = blobs((20, 20), distance=9.0)
    wide = np.hstack([X, np.zeros((40, 2000))])
    np.testing.assert_array_equal(TransductiveLinearSVC().fit(wide, partial).transduction_, y)
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    np.testing.assert_array_equal(TransductiveLinearSVC().fit(rows, partial).transduction_, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", LINEAR)
def test_features_that_no_sample_has_cost_nothing(optimizer, dtype):
    """Hashed text: a million features, of which few have an entry; steps over all of them took a minute."""
    X, y = make_blobs(40, n_features=5, centers=3, random_state=0)
    partial = np.where(np.arange(40) < 12, y, -1)
    places = np.array([3, 70, 4_000, 50_000, 2**20 - 1])
    narrow = sp.csr_array(X.astype(dtype))
    wide = sp.csr_array((narrow.data, places[narrow.indices], narrow.indptr), shape=(40, 2**20))
    expected, found = (
        TransductiveLinearSVC(optimizer=optimizer).fit(rows, partial) for rows in (narrow, wide)
    )
    np.testing.assert_allclose(found.decision_function(wide), expected.decision_function(narrow), rtol=1e-6)
    np.testing.assert_array_equal(found.coef_[:, places], expected.coef_)
    assert found.coef_.shape == (3, 2**20)
    assert np.count_nonzero(found.coef_) == expected.coef_.size
    assert found.decision_function(wide).dtype == expected.decision_function(narrow).dtype


def test_approximations_and_the_limit_of_memory(monkeypatch):
    X, y, partial = blobs()
    for approximation in ("nystroem", "fourier"):
        model = TransductiveSVC(approximation=approximation, n_components=60, random_state=0, class_prior=0.5)
        assert np.mean(model.fit(X, partial).transduction_ == y) > 0.9
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "90KB")
    assert np.mean(TransductiveSVC(n_components=30, random_state=0).fit(X, partial).transduction_ == y) > 0.9
    with pytest.raises(MemoryError, match="set approximation='nystroem'"):
        TransductiveSVC(approximation=None).fit(X, partial)
    with pytest.raises(MemoryError, match="use TransductiveLinearSVC"):
        TransductiveSVC(kernel="linear").fit(sp.csr_array(X), partial)
    assert np.mean(TransductiveLinearSVC().fit(sp.csr_array(X), partial).transduction_ == y) > 0.9


def test_cost_of_unlabelled_rows():
    X, y, partial = blobs()  # 4 labels, 76 rows without
    assert TransductiveSVC(2.0).fit(X, partial).C_unlabeled_ == pytest.approx(np.sqrt(4 / 76))
    assert TransductiveLinearSVC(2.0).fit(X, partial).C_unlabeled_ == pytest.approx(4 / 76)
    nearly = np.where(np.arange(80) == 5, -1, y)
    for model in (TransductiveSVC(2.0), TransductiveLinearSVC(2.0)):
        assert model.fit(X, nearly).C_unlabeled_ == 2.0
        assert model.set_params(C_unlabeled=0.3).fit(X, partial).C_unlabeled_ == 0.3


@pytest.mark.parametrize("make", [TransductiveSVC, TransductiveLinearSVC])
def test_weights_of_labels(make):
    X, _, partial = blobs(distance=2.5)
    weights = np.where(partial >= 0, 3.0, 7.0)
    params = {"C_unlabeled": 0.1, "class_prior": 0.5, "tol": 1e-8}
    weighted = make(1.0, **params).fit(X, partial, sample_weight=weights).decision_function(X)
    np.testing.assert_allclose(weighted, make(3.0, **params).fit(X, partial).decision_function(X), atol=1e-6)
    row = np.flatnonzero(partial == 1)[0]
    weights[row] = 0.0
    hidden = np.where(np.arange(len(X)) == row, -1, partial)
    without = make(1.0, **params).fit(X, partial, sample_weight=weights).decision_function(X)
    np.testing.assert_allclose(without, make(3.0, **params).fit(X, hidden).decision_function(X), atol=1e-6)


@pytest.mark.parametrize("counts", [[3, 7], [25, 25], [1, 0, 9], [5, 4, 6, 5, 5]])
def test_expected_shares_are_a_posterior_mean(counts):
    counts = np.array(counts)
    total, mean = 0.0, 0.0
    for concentration in 2.0 ** np.arange(-1, 7):
        alpha = np.full(len(counts), concentration)
        likelihood = dirichlet_multinomial.pmf(counts, alpha, counts.sum())
        total += likelihood
        mean += likelihood * (counts + alpha) / (counts + alpha).sum()
    np.testing.assert_allclose(expected_prior(counts), mean / total)
    equal = 1 / len(counts)
    assert (np.abs(expected_prior(counts) - equal) <= np.abs(counts / counts.sum() - equal) + 1e-12).all()


def test_shares_come_from_the_labels_or_are_given():
    X, y, partial = blobs((60, 20), n_labeled=4)
    np.testing.assert_allclose(TransductiveSVC().fit(X, partial).class_prior_, [0.5, 0.5])
    partial[np.flatnonzero(y == 0)[:30]] = 0
    assert 0.05 < TransductiveSVC().fit(X, partial).class_prior_[1] < 0.2  # 4 of about 34 labels
    np.testing.assert_allclose(TransductiveSVC(class_prior=[3, 1]).fit(X, partial).class_prior_, [0.75, 0.25])
    np.testing.assert_allclose(TransductiveSVC(class_prior=0.3).fit(X, partial).class_prior_, [0.7, 0.3])


def test_errors_say_what_to_do():
    X, _, partial = blobs()
    with pytest.raises(ValueError, match=r"class_prior must be 'labeled', .*, 2 positive proportions"):
        TransductiveSVC(class_prior=[1, 2, 3]).fit(X, partial)
    with pytest.raises(ValueError, match="'class_prior' parameter"):
        TransductiveSVC(class_prior=None).fit(X, partial)
    with pytest.raises(ValueError, match="'optimizer' parameter"):
        TransductiveSVC(optimizer="exact").fit(X, partial)
    with pytest.raises(ValueError, match="'optimizer' parameter"):
        TransductiveLinearSVC(optimizer="cccp").fit(X, partial)


def test_a_tree_that_is_not_explored_says_what_to_raise():
    X, _, partial = blobs((30, 30), distance=1.0)
    with pytest.warns(ConvergenceWarning, match=r"stopped at a relative gap of .* raise max_nodes"):
        model = TransductiveSVC(optimizer="branch_and_bound", max_nodes=5).fit(X, partial)
    assert model.result_.status == "max_iter"
    assert 0 < model.result_.criterion[-1] <= 1
    assert keeps_the_balance(model, partial < 0)


def test_an_interrupt_ends_with_what_was_found(monkeypatch):
    X, _, partial = blobs()

    def interrupt(progress, *state):
        raise KeyboardInterrupt

    monkeypatch.setattr(transduction.Progress, "count", interrupt)
    with pytest.warns(FitInterruptedWarning, match="TransductiveSVC was interrupted"):
        model = TransductiveSVC().fit(X, partial)
    assert model.result_.status == "interrupted"
    assert keeps_the_balance(model, partial < 0)


@every_machine
def test_same_result_again_and_after_pickling(machine, capsys):
    X, _, partial = blobs((12, 12))
    scores = machine.fit(X, partial).decision_function(X)
    np.testing.assert_array_equal(machine.fit(X, partial).decision_function(X), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).decision_function(X), scores)
    assert capsys.readouterr() == ("", "")
    machine.set_params(verbose=1).fit(X, partial)
    assert f"[{type(machine).__name__}] {machine.optimizer}: " in capsys.readouterr().err
    machine.set_params(verbose=0)


@pytest.mark.parametrize("make", [TransductiveSVC, TransductiveLinearSVC])
def test_search_over_parameters(make):
    X, y = make_blobs([60, 60], centers=[[-2, 0], [2, 0]], random_state=0)
    partial = np.where(np.arange(120) % 6 == 0, y, -1)
    search = GridSearchCV(make(), {"C_unlabeled": [0.01, 0.1]}, cv=PartiallyLabeledKFold(3)).fit(X, partial)
    assert np.mean(search.predict(X) == y) > 0.85


@pytest.mark.parametrize(
    "machine", [TransductiveSVC(kernel="linear", optimizer="multi_switch"), TransductiveLinearSVC()], ids=repr
)
@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_features", [3, 200])
def test_an_outlier_of_1e12_does_not_hide_the_other_samples(machine, n_features):
    X, y, partial = blobs((40, 40, 40), distance=20.0, n_features=n_features)
    X[np.flatnonzero(partial < 0)[10]] = 1e12
    assert np.mean(machine.fit(X, partial).transduction_ == y) > 0.8


@pytest.mark.parametrize("optimizer", LINEAR)
@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_outlier_among_sparse_samples(optimizer):
    X, y, partial = blobs((40, 40, 40), distance=9.0)
    X[np.flatnonzero(partial < 0)[10]] = 1e12
    model = TransductiveLinearSVC(optimizer=optimizer).fit(sp.csr_array(X), partial)
    assert np.mean(model.transduction_ == y) > 0.8


@pytest.mark.parametrize("machine", [TransductiveSVC(kernel="linear"), TransductiveLinearSVC()], ids=repr)
@pytest.mark.filterwarnings("error")
def test_features_of_very_different_scale(machine):
    X, _, partial = blobs((40, 40, 40))
    machine.fit(X * [1e-8, 1.0, 1e8], partial)
    assert machine.result_.converged


@pytest.mark.parametrize("machine", [*MACHINES, WellSVC(), WellSVC(loss="hinge")], ids=repr)
@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_beyond_the_range_of_costs(machine, weight):
    X, _, partial = blobs()
    with pytest.raises(ValueError, match="sample_weight has entries from 1e"):
        machine.fit(X, partial, sample_weight=np.full(len(X), weight))
    with pytest.raises(ValueError, match="C times sample_weight is"):
        clone(machine).set_params(C=weight).fit(X, partial)
    with pytest.raises(ValueError, match="C_unlabeled is"):
        clone(machine).set_params(C_unlabeled=weight).fit(X, partial)


def test_the_time_is_that_of_all_classes_together(monkeypatch):
    X, _, partial = blobs((20, 20, 20))
    clock, given = iter([0.0, 0.0, 1.0, 20.0]), []

    def solve(problem, max_seconds, **settings):
        given.append(max_seconds)
        return solve_branch_and_bound(problem, max_nodes=1)

    monkeypatch.setattr(transductive, "monotonic", lambda: next(clock))
    monkeypatch.setattr(transductive, "solve_branch_and_bound", solve)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        TransductiveSVC(optimizer="branch_and_bound", max_seconds=9).fit(X, partial)
    assert given == [3.0, 4.0, 0.0]  # a third of nine; half of eight; and the last came too late
