"""The Laplacian classifiers with their scores on the simplex."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from weakly import LaplacianRLSClassifier, LaplacianSVC
from weakly.graphs import neighbor_graph
from weakly.manifold._simplex_admm import solve_simplex
from weakly.model_selection import LabelDraws
from weakly.spaces import KernelSpace, deform

ESTIMATORS = {
    "squared": LaplacianRLSClassifier(simplex=True),
    "squared_hinge": LaplacianSVC(simplex=True),
    "hinge": LaplacianSVC(loss="hinge", simplex=True),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")


def make_rows(n_rows):
    """Three overlapping classes, three labels of each."""
    X, y = make_blobs(n_rows, n_features=3, centers=3, cluster_std=3.0, random_state=0)
    draw = next(LabelDraws(n_per_class=3).split(X, y))
    return X, y, draw.mask(y), draw.labeled


@pytest.fixture(scope="module")
def blobs():
    return make_rows(90)


def targets_of(loss, codes):
    onehot = (codes[:, None] == np.arange(3)).astype(float)
    return onehot if loss == "squared" else 2 * onehot - 1


def shares_of(model, X):
    """Scores without the intercept, at the level of equal shares."""
    columns = model._score(X)[:, :-1]
    return columns + 1 / columns.shape[1]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", ESTIMATORS)
def test_whole_problem_matches_cvxpy(loss, kernel):
    X, y, partial, labeled = make_rows(25)
    X = X / X.std()
    a, g, targets = 0.01, 0.05, targets_of(loss, y[labeled])
    graph = neighbor_graph(X, n_neighbors=4)
    Z = np.linalg.cholesky(rbf_kernel(X, gamma=0.5) + 1e-10 * np.eye(25)) if kernel == "rbf" else X
    values, vectors = np.linalg.eigh(graph.laplacian("unnormalized").toarray())
    root_L = vectors * np.sqrt(np.maximum(values, 0))

    u, offset = cp.Variable((Z.shape[1], 3)), cp.Variable((1, 3))
    f = 1 / 3 + Z @ u
    seen = f[labeled] + np.ones((9, 1)) @ offset if loss == "hinge" else f[labeled]
    losses = {
        "squared": cp.sum_squares(targets - seen) / 2,
        "squared_hinge": cp.sum_squares(cp.pos(1 - cp.multiply(targets, seen))) / 2,
        "hinge": cp.sum(cp.pos(1 - cp.multiply(targets, seen))),
    }
    penalty = a / 2 * cp.sum_squares(u) + g / 2 * cp.sum_squares(root_L.T @ f)
    problem = cp.Problem(cp.Minimize(losses[loss] + penalty), [f >= 0, cp.sum(f, axis=1) == 1])
    problem.solve(solver=cp.CLARABEL)

    params = {"ambient_penalty": a, "graph_penalty": g, "kernel": kernel, "gamma": 0.5, "graph": graph}
    params |= {"laplacian": "unnormalized", "tol": 1e-8, "max_iter": 20_000}
    model = clone(ESTIMATORS[loss]).set_params(**params).fit(X, partial)
    assert (f.value < 1e-6).any()
    assert model.result_.objective[-1] == pytest.approx(problem.value, rel=1e-4)
    np.testing.assert_allclose(shares_of(model, X), f.value, atol=1e-3)


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_result_is_that_of_the_solver(blobs, loss):
    X, y, partial, labeled = blobs
    weights = np.linspace(0.5, 2, len(X))
    model = clone(ESTIMATORS[loss]).fit(X, partial, sample_weight=weights)
    space = deform(KernelSpace(model.kernel_(X)), model.graph_.laplacian(), ambient=1e-3, graph=0.1)
    result = solve_simplex(
        space, labeled, targets_of(loss, y[labeled]), weights[labeled], loss=loss, tol=100 * model.tol
    )
    assert model.n_iter_ == result.n_iter > 1
    assert model.result_.detail is None
    np.testing.assert_allclose(shares_of(model, X), space.scores(result.x) + 1 / 3, atol=1e-6)
    np.testing.assert_allclose(model.result_.intercept, result.intercept, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"graph_penalty": 0.0, "max_iter": 5000}])
@pytest.mark.parametrize("loss", ESTIMATORS)
def test_scores_are_shares_and_without_it_are_not(blobs, loss, settings):
    X, _, partial, _ = blobs
    free = clone(ESTIMATORS[loss]).set_params(simplex=False, **settings).fit(X, partial)
    shares = shares_of(clone(ESTIMATORS[loss]).set_params(**settings).fit(X, partial), X)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=2e-3)
    assert shares.min() > -2e-3
    assert np.mean(np.abs(shares) < 2e-3) > 0.01  # the constraint is active
    assert np.abs(shares_of(free, X) - shares).max() > 0.05


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_published_as_any_other(blobs, loss):
    """New rows are scored like training rows; shares of the classes shift the level; pickles predict."""
    X, _, partial, _ = blobs
    model = clone(ESTIMATORS[loss]).fit(X, partial)
    assert (model.predict(X) == model.transduction_).all()
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(X).mean(axis=0), -1 / 3, atol=1e-8)
    assert model.temperature_ == pytest.approx(np.log2(3))  # there are no held-out scores to fit it
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    plain = clone(model).set_params(class_prior=None).fit(X, partial)
    expected = shares_of(plain, X) - 1 / 3 + plain.result_.intercept
    np.testing.assert_allclose(plain.decision_function(X), expected, atol=1e-10)


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_two_classes_have_no_such_constraint(blobs, loss):
    X, _, partial, _ = blobs
    binary = np.where(partial == 2, 1, partial)
    model = clone(ESTIMATORS[loss]).fit(X, binary)
    free = clone(ESTIMATORS[loss]).set_params(simplex=False).fit(X, binary)
    np.testing.assert_array_equal(model.label_distributions_, free.label_distributions_)


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_every_container(blobs, loss):
    X, _, partial, _ = blobs
    names = np.array(["a", "b", "c"], dtype=object)
    model = clone(ESTIMATORS[loss]).fit(X, partial)
    text = clone(ESTIMATORS[loss]).fit(sp.csr_matrix(X), np.where(partial >= 0, names[partial], None))
    assert np.mean(text.transduction_ == names[model.transduction_]) > 0.98
    single = clone(ESTIMATORS[loss]).fit(X.astype(np.float32), partial)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.label_distributions_, model.label_distributions_, atol=2e-2)


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_digits_are_told_apart_as_well(loss):
    X, y = load_digits(return_X_y=True)
    accuracies = []
    for simplex in (False, True):
        model = clone(ESTIMATORS[loss]).set_params(simplex=simplex, warm_start=True)
        draws = LabelDraws(n_per_class=2, n_repeats=3).split(X, y)
        accuracies.append(np.mean([np.mean(model.fit(X, d.mask(y)).transduction_ == y) for d in draws]))
        assert model.result_.converged
    free, held = accuracies
    assert held > 0.9
    assert abs(held - free) < 0.01


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_approximations_are_used_as_they_are(loss):
    """All landmarks make the exact kernel; few make features, which have no values of their own."""
    X, _, partial, _ = make_rows(60)
    exact = clone(ESTIMATORS[loss]).set_params(ambient_penalty=0.1).fit(X, partial)
    nystroem = clone(exact).set_params(approximation="nystroem", random_state=0).fit(X, partial)
    np.testing.assert_allclose(nystroem.label_distributions_, exact.label_distributions_, atol=1e-2)
    few = clone(nystroem).set_params(n_components=10).fit(X, partial)
    assert few.result_.x.shape == (10, 3)
    assert (few.predict(X) == few.transduction_).all()
    assert shares_of(few, X).min() > -1e-2


def test_warm_start_follows_the_parameter(blobs):
    X, _, partial, _ = blobs
    settings = {"approximation": "nystroem", "n_components": 10, "random_state": 0}
    model = LaplacianRLSClassifier(warm_start=True, **settings).fit(X, partial)
    model.set_params(simplex=True).fit(X, partial)
    cold = LaplacianRLSClassifier(simplex=True, **settings).fit(X, partial)
    np.testing.assert_array_equal(model.label_distributions_, cold.label_distributions_)
    again = model.fit(X, partial)
    np.testing.assert_array_equal(again.label_distributions_, cold.label_distributions_)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_iterative_solver_is_an_error(blobs, loss):
    X, _, partial, _ = blobs
    with pytest.raises(ValueError, match="simplex=True needs a factorization: use solver"):
        clone(ESTIMATORS[loss]).set_params(solver="cg").fit(X, partial)


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_what_does_not_fit_says_what_to_set(blobs, loss, monkeypatch):
    X, _, partial, _ = blobs
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "60KB")
    wide = sp.csr_array(np.hstack([X] * 70))
    with pytest.raises(MemoryError, match=r"simplex=True needs .* approximation='nystroem'"):
        clone(ESTIMATORS[loss]).set_params(kernel="linear").fit(wide, partial)
    settings = {"approximation": "nystroem", "n_components": 10, "random_state": 0}
    model = clone(ESTIMATORS[loss]).set_params(kernel="linear", **settings).fit(wide, partial)
    assert model.result_.converged


def test_truncated_iteration_is_one_warning(blobs):
    X, _, partial, _ = blobs
    with pytest.warns(match="raise max_iter"):
        model = LaplacianRLSClassifier(simplex=True, max_iter=2).fit(X, partial)
    assert (model.result_.status, model.n_iter_) == ("max_iter", 2)


def test_verbose_counts_iterations(blobs, capsys):
    X, _, partial, _ = blobs
    LaplacianRLSClassifier(simplex=True, verbose=1).fit(X, partial)
    printed = capsys.readouterr().err
    assert all(text in printed for text in ("graph", "space", "iterate", "iteration 11 "))
