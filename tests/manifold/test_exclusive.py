"""ExclusiveLaplacianSVC against the Laplacian machine, a convex solver, and on inputs of every kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from tests.oracles.dense import manifold_penalty
from tests.oracles.exclusive import fit_exclusive
from tests.samples import label_of_each
from weakly import ExclusiveLaplacianSVC, LaplacianSVC
from weakly.graphs import neighbor_graph
from weakly.model_selection import LabelDraws

pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")


def make_rows(n_rows=90, n_classes=4, std=3.0, n_per_class=3, seed=0):
    X, y = make_blobs(n_rows, n_features=3, centers=n_classes, cluster_std=std, random_state=seed)
    draw = next(LabelDraws(n_per_class=n_per_class, random_state=seed).split(X, y))
    return X / X.std(), y, draw.mask(y), draw.labeled


@pytest.mark.parametrize("graph_penalty", [0.0, 0.1])
@pytest.mark.parametrize(
    "params", [{}, {"kernel": "linear"}, {"approximation": "nystroem", "n_components": 40, "random_state": 0}]
)
def test_without_charge_it_is_the_laplacian_machine(params, graph_penalty):
    """With neither graph it is a machine for each class against the rest."""
    X, _, partial, _ = make_rows()
    settings = {"graph_penalty": graph_penalty, **params}
    model = ExclusiveLaplacianSVC(exclusive_penalty=0.0, **settings).fit(X, partial)
    peer = LaplacianSVC(solver="newton", **settings).fit(X, partial)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-6)
    # and nearly so with nearly none, by the other solver
    nearly = ExclusiveLaplacianSVC(exclusive_penalty=1e-9, exclusive="sum", tol=1e-7, **settings)
    np.testing.assert_allclose(
        nearly.fit(X, partial).decision_function(X), peer.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_whole_problem_matches_a_convex_solver(loss, kernel):
    X, y, partial, labeled = make_rows(40)
    graph = neighbor_graph(X, n_neighbors=4)
    L = graph.laplacian("unnormalized").toarray()
    Z = X if kernel == "linear" else np.linalg.cholesky(rbf_kernel(X, gamma=0.5) + 1e-8 * np.eye(40))
    signs = np.where(y[labeled][:, None] == np.arange(4), 1.0, -1.0)
    penalty = manifold_penalty(Z, L, 0.05, 0.02)
    value, scores = fit_exclusive(Z, penalty, labeled, signs, np.ones(len(labeled)), 0.5, loss=loss)
    model = ExclusiveLaplacianSVC(
        0.05, graph_penalty=0.02, exclusive_penalty=0.5, exclusive="sum", smoothing=1e-5, loss=loss, tol=1e-7,
        kernel=kernel, gamma=0.5, graph=graph, laplacian="unnormalized", class_prior=None,
    ).fit(X, partial)  # fmt: skip
    assert model.result_.objective[-1] == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-3)


def test_two_classes_share_a_function():
    """Scores are f and -f: pairs are never both positive, and the sum makes them smaller."""
    X, _, partial, _ = make_rows(n_classes=2)
    plain = {"class_prior": None}
    free = LaplacianSVC(**plain).fit(X, partial).decision_function(X)
    pairs = ExclusiveLaplacianSVC(exclusive_penalty=5.0, **plain).fit(X, partial)
    np.testing.assert_allclose(pairs.decision_function(X), free, atol=1e-4)
    assert pairs.multi_positive_count_ == 0
    total = ExclusiveLaplacianSVC(exclusive_penalty=5.0, exclusive="sum", **plain).fit(X, partial)
    assert np.abs(total.decision_function(X)).mean() < 0.8 * np.abs(free).mean()


def rows_of(name):
    if name == "blobs":
        return make_rows(200, 5, 2.5)[:3:2]
    X, y = (load_iris if name == "iris" else load_digits)(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std() if name == "iris" else X / 16
    X, y = X[-600:], y[-600:]
    return X, next(LabelDraws(n_per_class=3, random_state=1).split(X, y)).mask(y)


@pytest.mark.parametrize("exclusive", ["sum", "pairs"])
@pytest.mark.parametrize("name", ["blobs", "iris", "digits"])
def test_claims_do_not_grow_with_the_charge(name, exclusive):
    """But for scores within the smoothing, which are as good as 0."""
    X, partial = rows_of(name)
    settings = {"graph_penalty": 0.0, "gamma": "mean-distance", "smoothing": 1e-2, "tol": 1e-5}
    model = ExclusiveLaplacianSVC(1e-2, exclusive=exclusive, class_prior=None, **settings)
    others, counts = partial < 0, []
    for charge in (0.0, 0.01, 0.1, 1.0):
        model.set_params(exclusive_penalty=charge).fit(X, partial)
        claims = (model.decision_function(X)[others] > 1e-2).sum(axis=1)
        assert model.multi_positive_count_ == (claims > 1).sum()
        counts.append(model.multi_positive_count_)
    assert counts[0] > 0
    assert (np.diff(counts) <= 0).all()
    assert counts[-1] < counts[0] / 2


@pytest.mark.parametrize("solver", ["lbfgs", "apg"])
@pytest.mark.parametrize("exclusive", ["sum", "pairs"])
def test_paths_begin_at_the_laplacian_machine(exclusive, solver):
    X, _, partial, _ = make_rows(150, 5)
    model = ExclusiveLaplacianSVC(exclusive_penalty=1.0, exclusive=exclusive, solver=solver).fit(X, partial)
    assert (np.diff(model.result_.objective) <= 0).all()
    assert len(model.multi_positive_path_) == len(model.result_.objective)
    free = ExclusiveLaplacianSVC(exclusive_penalty=0.0).fit(X, partial)
    assert model.multi_positive_path_[0] == free.multi_positive_count_
    assert model.multi_positive_path_[-1] == model.multi_positive_count_


def test_every_container():
    X, y, partial, _ = make_rows()
    names = np.array(["red", "green", "blue", "white"], dtype=object)[y]
    names[partial < 0] = None
    expected = ExclusiveLaplacianSVC(kernel="linear").fit(X, names).transduction_
    for rows in (sp.csr_array(X), pd.DataFrame(X).rename(columns=str), X.tolist()):
        model = ExclusiveLaplacianSVC(kernel="linear").fit(rows, pd.Series(names))
        np.testing.assert_array_equal(model.transduction_, expected)
    narrow = ExclusiveLaplacianSVC().fit(X.astype(np.float32), np.where(partial < 0, np.nan, partial))
    assert narrow.decision_function(X.astype(np.float32)).dtype == np.float32
    wide = ExclusiveLaplacianSVC().fit(X, partial)
    assert np.mean(narrow.transduction_ == wide.transduction_) > 0.97
    gram = rbf_kernel(X, gamma=0.5)
    given = ExclusiveLaplacianSVC(kernel="precomputed", graph=wide.graph_, tol=1e-8).fit(gram, partial)
    rows = ExclusiveLaplacianSVC(gamma=0.5, graph=wide.graph_, tol=1e-8).fit(X, partial)
    np.testing.assert_allclose(given.decision_function(gram), rows.decision_function(X), atol=1e-5)


def test_26_classes_one_unlabelled_row_and_weights():
    X, y, partial = label_of_each(8, 6)
    assert np.mean(ExclusiveLaplacianSVC().fit(X, partial).transduction_ == y) > 0.9
    nearly = y.copy()
    nearly[5] = -1
    assert ExclusiveLaplacianSVC().fit(X, nearly).transduction_[5] == y[5]
    X, y, partial, labeled = make_rows()
    twice = np.ones(len(y))
    twice[labeled] = 2.0
    heavy = ExclusiveLaplacianSVC(2e-3, graph_penalty=0.2, exclusive_penalty=0.2)
    np.testing.assert_allclose(  # twice of everything is the same problem
        heavy.fit(X, partial, sample_weight=twice).decision_function(X),
        ExclusiveLaplacianSVC().fit(X, partial).decision_function(X),
        atol=1e-3,
    )


def test_warnings_errors_and_pickles(capsys):
    X, _, partial, _ = make_rows()
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter \(now 2\)"):
        ExclusiveLaplacianSVC(exclusive="sum", max_iter=2, exclusive_penalty=10).fit(X, partial)
    for wrong in (
        {"exclusive": "all"},
        {"exclusive_penalty": -1.0},
        {"smoothing": 0.0},
        {"solver": "newton"},
    ):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            ExclusiveLaplacianSVC(**wrong).fit(X, partial)
    model = ExclusiveLaplacianSVC(verbose=1).fit(X, partial)
    assert "exclude" in capsys.readouterr().err
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
