"""ProbabilisticLabelSVC against machines it turns into, and on inputs of every kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from tests.samples import few_labels, label_of_each
from tests.solvers.test_label_walk import walk_densely
from weakly import ProbabilisticLabelSVC, WestonWatkinsSVC
from weakly.model_selection import PartiallyLabeledKFold
from weakly.spaces import FeatureSpace
from weakly.svm._weston_watkins_solver import solve_weston_watkins


def blobs(n_classes=3, n_labeled=2, seed=0, std=1.5, n_rows=120):
    return few_labels(n_classes, n_labeled, seed, std, n_rows)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_walks_that_end_at_once_leave_a_supervised_machine(n_classes, kernel):
    """[plsvm] section II C: with both alphas 0 unlabelled rows are novel, and cost nothing."""
    X, _, partial = blobs(n_classes, n_labeled=6)
    settings = {"kernel": kernel, "gamma": 0.05, "tol": 1e-9}
    model = ProbabilisticLabelSVC(2.0, alpha_unlabeled=0.0, class_prior=None, **settings).fit(X, partial)
    np.testing.assert_array_equal(model.novelty_, partial < 0)
    known = partial >= 0
    peer = WestonWatkinsSVC(2.0, **settings).fit(X[known], partial[known])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    # rows that no walk leads to a label have the shares of the labels
    np.testing.assert_allclose(model.label_distributions_[~known], 1 / n_classes)


@pytest.mark.parametrize("harden", [False, True])
@pytest.mark.parametrize("class_prior", [None, "labeled", [1, 2, 5]])
def test_probabilities_are_scaled_hardened_and_taught(class_prior, harden):
    """Step by step, from dense algebra to the solver."""
    X, _, partial = blobs()
    partial[np.flatnonzero(partial == 2)[1]] = -1  # now shares of the labels are 2, 2, 1
    model = ProbabilisticLabelSVC(
        3.0,
        alpha_labeled=0.2,
        alpha_unlabeled=0.9,
        class_prior=class_prior,
        harden=harden,
        kernel="linear",
        tol=1e-8,
    ).fit(X, partial)
    walk = walk_densely(model.graph_, partial, 3, 0.2, 0.9)
    F, novelty = walk[:, :3], walk[:, 3]
    if class_prior is not None:
        shares = np.array([2, 2, 1] if class_prior == "labeled" else class_prior)
        F = F / F.sum(axis=0) * shares
        F = F / F.sum(axis=1, keepdims=True) * (1 - novelty)[:, None]
    np.testing.assert_allclose(model.novelty_, novelty, atol=1e-7)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-7)
    if harden:
        F = np.eye(3)[F.argmax(axis=1)] * (1 - novelty)[:, None]
    result = solve_weston_watkins(FeatureSpace(X), 3.0 * F, tol=1e-8)
    expected = 2 * (X @ result.x + result.intercept)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-3)


def test_hardening_is_for_more_than_two_classes():
    for n_classes in (2, 3):
        X, _, partial = blobs(n_classes, std=4.0)
        auto = ProbabilisticLabelSVC().fit(X, partial).decision_function(X)
        given = ProbabilisticLabelSVC(harden=n_classes > 2).fit(X, partial).decision_function(X)
        other = ProbabilisticLabelSVC(harden=n_classes <= 2).fit(X, partial).decision_function(X)
        np.testing.assert_array_equal(auto, given)
        assert np.abs(auto - other).max() > 1e-3


def test_unlabelled_rows_help():
    with_them, without = [], []
    for seed in range(5):
        X, y, partial = blobs(4, seed=seed, std=3.0, n_rows=300)
        with_them.append(np.mean(ProbabilisticLabelSVC().fit(X, partial).transduction_ != y))
        known = partial >= 0
        without.append(np.mean(WestonWatkinsSVC().fit(X[known], y[known]).predict(X) != y))
    assert np.mean(with_them) < 0.7 * np.mean(without)


@pytest.mark.filterwarnings("ignore:.* rows lie in parts of the graph")
def test_a_class_never_labelled_is_novel():
    X, y = load_digits(return_X_y=True)
    aucs = []
    for novel in (0, 3, 6):
        partial = np.full(len(y), -1)
        for code in set(range(10)) - {novel}:
            rows = np.flatnonzero(y == code)[:10]
            partial[rows] = y[rows]
        hidden = partial < 0
        model = ProbabilisticLabelSVC(alpha_unlabeled=0.99).fit(X, partial)
        aucs.append(roc_auc_score(y[hidden] == novel, model.novelty_[hidden]))
    assert min(aucs) > 0.95


@pytest.mark.filterwarnings("ignore:.* rows lie in parts of the graph")
def test_labels_that_are_wrong_are_overruled():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    partial = np.full(len(y), -1)
    labeled = np.concatenate([np.flatnonzero(y == code)[:10] for code in range(10)])
    partial[labeled] = y[labeled]
    clean = np.mean(ProbabilisticLabelSVC().fit(X, partial).transduction_ != y)
    wrong = rng.choice(labeled, 10, replace=False)
    partial[wrong] = (y[wrong] + rng.integers(1, 10, 10)) % 10
    corrected = ProbabilisticLabelSVC(alpha_labeled=0.8).fit(X, partial)
    assert np.mean(corrected.transduction_ != y) < 1.5 * clean
    assert np.mean(corrected.transduction_[wrong] == y[wrong]) > 0.7


@pytest.mark.filterwarnings("ignore:.* rows lie in parts of the graph")
@pytest.mark.parametrize(
    ("as_type", "name"), [(int, -1), (float, np.nan), (str, "novel"), (lambda code: f"digit {code}", "other")]
)
def test_novel_rows_have_a_name(as_type, name):
    X, y, _ = blobs(3, n_labeled=8)
    known = y < 2
    names = np.array([as_type(code) for code in y], dtype=object if as_type is not int else int)
    labels = np.where(known & (np.arange(len(y)) < 60), names, -1 if as_type is int else None)
    labels = pd.Series(labels.tolist()) if as_type is float else labels
    settings = {"alpha_unlabeled": 0.9, "novelty_threshold": 0.75}
    settings |= {"novel_label": "other"} if name == "other" else {}
    model = ProbabilisticLabelSVC(**settings).fit(X, labels)
    expected = [as_type(code) if code < 2 else name for code in y]
    for answer in (model.transduction_, model.predict(X + 0.01)):
        right = [a == b or (a != a and b != b) for a, b in zip(answer.tolist(), expected, strict=True)]
        assert np.mean(right) > 0.95
    without = ProbabilisticLabelSVC(alpha_unlabeled=0.9).fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(X), without.decision_function(X))
    assert set(without.predict(X).tolist()) == {as_type(0), as_type(1)}


def test_novelty_by_rows_and_by_their_kernel():
    X, _, partial = blobs(2, n_labeled=8)
    new = X[::2] + 0.3
    settings = {"alpha_unlabeled": 0.9, "novelty_threshold": 0.5}
    rows = ProbabilisticLabelSVC(kernel="linear", **settings).fit(X, partial)
    gram = ProbabilisticLabelSVC(kernel="precomputed", **settings).fit(X @ X.T, partial)
    answers = rows.predict(new)
    assert set(answers) == {-1, 0, 1}
    np.testing.assert_array_equal(gram.predict(new @ X.T), answers)
    # by hand: one step of the walk to the five nearest
    distances = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    nearby = rows.novelty_[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
    np.testing.assert_array_equal(answers == -1, 0.1 + 0.9 * nearby > 0.5)


def test_every_container():
    X, y, partial = blobs()
    names = np.array(["red", "green", "blue"], dtype=object)[y]
    names[partial < 0] = None
    expected = ProbabilisticLabelSVC(kernel="linear").fit(X, names).transduction_
    for rows in (sp.csr_array(X), sp.csr_matrix(X), pd.DataFrame(X).rename(columns=str), X.tolist()):
        model = ProbabilisticLabelSVC(kernel="linear").fit(rows, pd.Series(names))
        np.testing.assert_array_equal(model.transduction_, expected)
    graph = ProbabilisticLabelSVC().fit(X, partial).graph_
    for given in (graph, graph.affinity, graph.affinity.toarray()):
        model = ProbabilisticLabelSVC(graph=given).fit(X, partial)
        np.testing.assert_allclose(model.novelty_, ProbabilisticLabelSVC().fit(X, partial).novelty_)
    narrow = ProbabilisticLabelSVC().fit(X.astype(np.float32), np.where(partial < 0, np.nan, partial))
    assert narrow.decision_function(X.astype(np.float32)).dtype == np.float32


def test_one_label_of_each_of_26_classes_and_one_unlabelled_row():
    X, y, partial = label_of_each(12, 8)
    assert np.mean(ProbabilisticLabelSVC(n_neighbors=10).fit(X, partial).transduction_ == y) > 0.95
    nearly = y.copy()
    nearly[5] = -1
    assert ProbabilisticLabelSVC().fit(X, nearly).transduction_[5] == y[5]


def test_weights_of_rows():
    X, _, partial = blobs(std=3.0)
    X = X / 10
    weights = np.ones(len(X))
    off = np.flatnonzero(partial == 0)[0]
    weights[off] = 0
    weights[-20:] = 0.5
    model = ProbabilisticLabelSVC(1.0, kernel="linear", tol=1e-7).fit(X, partial, sample_weight=weights)
    hidden = partial.copy()
    hidden[off] = -1
    walk = walk_densely(model.graph_, hidden, 3, 0.0, 0.99)
    np.testing.assert_allclose(model.novelty_, walk[:, -1], atol=1e-6)
    taught = np.eye(3)[model.label_distributions_.argmax(axis=1)] * (1 - model.novelty_)[:, None]
    result = solve_weston_watkins(FeatureSpace(X), weights[:, None] * taught, tol=1e-7)
    np.testing.assert_allclose(model.decision_function(X), 2 * (X @ result.x + result.intercept), atol=1e-3)


def test_rows_that_no_label_reaches():
    X, _, partial = blobs(2, std=0.5)
    far = np.vstack([X, X[:10] + 1000])
    with pytest.warns(UserWarning, match="10 rows lie in parts of the graph without a label"):
        model = ProbabilisticLabelSVC().fit(far, np.append(partial, [-1] * 10))
    np.testing.assert_allclose(model.novelty_[-10:], 1)
    np.testing.assert_allclose(model.label_distributions_[-10:], 0.5)


@pytest.mark.filterwarnings("ignore:.* rows lie in parts of the graph")
def test_a_row_without_neighbours():
    """An unlabelled one is novel and teaches nothing; a labelled one keeps its label."""
    X, _, partial = blobs(2, n_labeled=5, std=3.0)
    X = X / 10
    lonely, labeled = np.flatnonzero(partial < 0)[0], np.flatnonzero(partial == 1)[0]
    affinity = ProbabilisticLabelSVC().fit(X, partial).graph_.affinity.toarray()
    for row in (lonely, labeled):
        affinity[row] = affinity[:, row] = 0
    model = ProbabilisticLabelSVC(1.0, graph=affinity, class_prior=None, kernel="linear", tol=1e-6)
    model.fit(X, partial)
    assert (model.novelty_[lonely], model.novelty_[labeled]) == (1, 0)
    np.testing.assert_allclose(model.label_distributions_[[lonely, labeled]], [[0.5, 0.5], [0, 1]])
    others = np.arange(len(X)) != lonely
    graph = affinity[np.ix_(others, others)]
    without = model.set_params(graph=graph).fit(X[others], partial[others]).decision_function(X)
    again = model.set_params(graph=affinity).fit(X, partial).decision_function(X)
    np.testing.assert_allclose(again, without, atol=5e-3)


def test_errors_say_what_to_do():
    X, _, partial = blobs(2)
    with pytest.raises(ValueError, match="novel_label is 1, which is a class"):
        ProbabilisticLabelSVC(novelty_threshold=0.5, novel_label=1).fit(X, partial)
    with pytest.raises(ValueError, match="class_prior must be"):
        ProbabilisticLabelSVC(class_prior=[1, 2, 3]).fit(X, partial)
    with pytest.raises(ValueError, match="lower n_neighbors, or pass a graph"):
        ProbabilisticLabelSVC(n_neighbors=200).fit(X, partial)
    with pytest.raises(ValueError, match="'alpha_unlabeled' parameter"):
        ProbabilisticLabelSVC(alpha_unlabeled=1.0).fit(X, partial)
    with pytest.raises(ValueError, match="graph has 2 rows"):
        ProbabilisticLabelSVC(graph=np.ones((2, 2))).fit(X, partial)


def test_same_result_again_and_after_pickling(capsys):
    X, y, partial = blobs(std=3.0)
    model = ProbabilisticLabelSVC(novelty_threshold=0.9, verbose=1).fit(X, partial)
    assert "probabilities" in capsys.readouterr().err
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    search = GridSearchCV(ProbabilisticLabelSVC(), {"C": [0.1, 10.0]}, cv=PartiallyLabeledKFold(2)).fit(
        X, partial
    )
    assert np.mean(search.predict(X) == y) > 0.7
