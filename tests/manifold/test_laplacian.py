"""The Laplacian estimators against scikit-learn, cvxpy and direct linear algebra."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import special_ortho_group
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, LinearSVC

from weakly import LaplacianRLSClassifier, LaplacianRLSRegressor, LaplacianSVC
from weakly.datasets import make_two_moons
from weakly.graphs import neighbor_graph
from weakly.model_selection import LabelDraws, PartiallyLabeledKFold
from weakly.rows._selection import mask_labels
from weakly.spaces import build_space

CLASSIFIERS = [
    LaplacianRLSClassifier(),
    LaplacianSVC(),
    LaplacianSVC(loss="hinge"),
    LaplacianRLSClassifier(solver="cg", early_stopping=False),
    LaplacianSVC(solver="cg", early_stopping=False),
]


@pytest.fixture(scope="module")
def blobs():
    """Three overlapping classes, five labels of each."""
    X, y = make_blobs(120, n_features=4, centers=3, cluster_std=3.0, random_state=0)
    draw = next(LabelDraws(n_per_class=5).split(X, y))
    return X, y, draw.mask(y), draw.labeled


def plain(estimator, **params):
    return clone(estimator).set_params(class_prior=None, **params)


def test_rls_without_graph_is_kernel_ridge(blobs):
    X, y, partial, labeled = blobs
    model = plain(LaplacianRLSClassifier(), graph_penalty=0, ambient_penalty=0.3, gamma=0.05).fit(X, partial)
    targets = np.where(y[labeled][:, None] == np.arange(3), 1.0, -1.0)
    ridge = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.05).fit(X[labeled], targets)
    np.testing.assert_allclose(model._moments(model._score(X)[:, :-1]), ridge.predict(X), atol=1e-10)


def test_svc_without_graph_is_the_squared_hinge_machine(blobs):
    X, _, partial, labeled = blobs
    model = plain(LaplacianSVC(), graph_penalty=0, ambient_penalty=0.3, kernel="linear").fit(X, partial)
    for k in range(3):
        machine = LinearSVC(C=0.5 / 0.3, fit_intercept=False, tol=1e-10, max_iter=100_000)
        machine.fit(X[labeled], partial[labeled] == k)
        scores = machine.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X)[:, k], scores, atol=1e-6)


def test_hinge_without_graph_is_libsvm(blobs):
    X, _, partial, labeled = blobs
    model = plain(LaplacianSVC(loss="hinge", tol=1e-8), graph_penalty=0, ambient_penalty=0.3, gamma=0.05)
    model.fit(X, partial)
    for k in range(3):
        machine = SVC(C=1 / 0.3, gamma=0.05, tol=1e-10).fit(X[labeled], partial[labeled] == k)
        np.testing.assert_allclose(
            model._score(X)[:, k] + model.result_.intercept[k], machine.decision_function(X), atol=1e-5
        )


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_binary_objective_matches_cvxpy(loss):
    """The whole problem, over the coefficients of all rows, as the papers state it."""
    moons = make_two_moons(40, n_per_class=4, noise=0.2, random_state=3)
    labeled = moons.labeled
    a, g, gamma = 0.05, 0.5, 1.0
    graph = neighbor_graph(moons.X, n_neighbors=4)
    K, L = rbf_kernel(moons.X, gamma=gamma), graph.laplacian("unnormalized").toarray()
    signs = np.where(moons.y[labeled] == 1, 1.0, -1.0)

    coefficients, offset = cp.Variable(40), cp.Variable()
    root_K = np.linalg.cholesky(K + 1e-10 * np.eye(40))
    values, vectors = np.linalg.eigh(L)
    root_L = vectors * np.sqrt(np.maximum(values, 0))
    f = K @ coefficients
    margins = 1 - cp.multiply(signs, f[labeled] + (offset if loss == "hinge" else 0))
    losses = {
        "squared": cp.sum_squares(margins) / 2,
        "squared_hinge": cp.sum_squares(cp.pos(margins)) / 2,
        "hinge": cp.sum(cp.pos(margins)),
    }
    penalty = a / 2 * cp.sum_squares(root_K.T @ coefficients) + g / 2 * cp.sum_squares(root_L.T @ f)
    problem = cp.Problem(cp.Minimize(losses[loss] + penalty))
    problem.solve(solver=cp.CLARABEL)

    params = {"ambient_penalty": a, "graph_penalty": g, "gamma": gamma, "graph": graph, "tol": 1e-9}
    params |= {"laplacian": "unnormalized", "class_prior": None}
    model = (
        LaplacianRLSClassifier(**params) if loss == "squared" else LaplacianSVC(loss=loss, **params)
    ).fit(moons.X, moons.y_partial)
    assert model.result_.objective[-1] == pytest.approx(problem.value, rel=1e-6)
    scores = model._score(moons.X)[:, 0] + model.result_.intercept
    expected = f.value + (offset.value if loss == "hinge" else 0)
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("make", [LaplacianRLSClassifier, LaplacianSVC])
def test_iterations_reach_the_direct_solution(blobs, make, kernel):
    X, _, partial, _ = blobs
    params = {"kernel": kernel, "ambient_penalty": 0.1, "class_prior": None}
    direct = make(**params).fit(X, partial)
    iterated = make(solver="cg", early_stopping=False, tol=1e-10, **params).fit(X, partial)
    assert iterated.result_.status == "converged"
    np.testing.assert_allclose(iterated.decision_function(X), direct.decision_function(X), atol=1e-6)
    assert iterated.result_.objective[-1] == pytest.approx(direct.result_.objective[-1], rel=1e-8)


def test_regressor_solves_its_normal_equations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] ** 2 + 5
    labeled = np.arange(0, 30, 3)
    a, g = 0.2, 0.7
    graph = neighbor_graph(X, n_neighbors=3)
    model = LaplacianRLSRegressor(a, graph_penalty=g, gamma=0.5, graph=graph).fit(X, mask_labels(y, labeled))
    K, L = rbf_kernel(X, gamma=0.5), graph.laplacian().toarray()
    J = np.diag(np.isin(np.arange(30), labeled).astype(float))
    centre = y[labeled].mean()
    # [tvsvm] Eq. (8), with the mean of the targets taken off
    coefficients = np.linalg.solve(J @ K + a * np.eye(30) + g * L @ K, J @ (y - centre))
    np.testing.assert_allclose(model.transduction_, K @ coefficients + centre, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), model.transduction_, atol=1e-10)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_training_rows_are_scored_alike(blobs, estimator):
    X, _, partial, _ = blobs
    model = clone(estimator).fit(X, partial)
    assert (model.predict(X) == model.transduction_).all()
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-8)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-12)
    assert (model.classes_[model.label_distributions_.argmax(axis=1)] == model.transduction_).all()
    assert (model.decision_function(X).argmax(axis=1) == model.label_distributions_.argmax(axis=1)).all()


@pytest.mark.parametrize("estimator", CLASSIFIERS[:3], ids=str)
def test_one_model_in_every_container(blobs, estimator):
    """Sparse, float32, strings, reordered columns: the same answer."""
    X, _, partial, _ = blobs
    model = clone(estimator).fit(X, partial)
    names = np.array(["a", "b", "c"], dtype=object)
    as_text = np.where(partial >= 0, names[partial], None)
    text_model = clone(estimator).fit(sp.csr_matrix(X), as_text)
    assert (text_model.transduction_ == names[model.transduction_]).all()
    narrow = clone(estimator).fit(X.astype(np.float32), partial)
    assert narrow.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.label_distributions_, model.label_distributions_, atol=2e-2)
    # Distances, and so everything, are the same after a rotation.
    rotated = clone(estimator).fit(X @ special_ortho_group.rvs(4, random_state=0), partial)
    np.testing.assert_allclose(rotated.label_distributions_, model.label_distributions_, atol=1e-5)


@pytest.mark.parametrize("estimator", CLASSIFIERS[:3], ids=str)
def test_permuting_rows_permutes_the_answer(blobs, estimator):
    X, _, partial, _ = blobs
    order = np.random.default_rng(1).permutation(len(X))
    model = clone(estimator).set_params(gamma=0.05).fit(X, partial)
    permuted = clone(estimator).set_params(gamma=0.05).fit(X[order], partial[order])
    np.testing.assert_allclose(permuted.decision_function(X), model.decision_function(X), atol=1e-5)
    assert (permuted.transduction_ == model.transduction_[order]).all()


def test_precomputed_kernel_and_graph_are_the_same_model(blobs):
    X, _, partial, _ = blobs
    K = rbf_kernel(X, gamma=0.05)
    graph = neighbor_graph(X, n_neighbors=5)
    model = LaplacianRLSClassifier(gamma=0.05).fit(X, partial)
    given = LaplacianRLSClassifier(kernel="precomputed", graph=graph.affinity).fit(K, partial)
    np.testing.assert_allclose(given.label_distributions_, model.label_distributions_, atol=1e-8)
    assert (given.predict(K[:7]) == model.predict(X[:7])).all()
    by_function = LaplacianRLSClassifier(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05)).fit(X, partial)
    np.testing.assert_allclose(by_function.label_distributions_, model.label_distributions_, atol=1e-8)


def test_all_landmarks_make_nystroem_exact(blobs):
    X, _, partial, _ = blobs
    exact = LaplacianRLSClassifier(0.1, approximation=None).fit(X, partial)
    landmarks = LaplacianRLSClassifier(0.1, approximation="nystroem", n_components=1000, random_state=0)
    assert landmarks.fit(X, partial)._function.theta.shape[0] <= len(X)
    np.testing.assert_allclose(landmarks.label_distributions_, exact.label_distributions_, atol=1e-4)


def test_more_labels_than_features_takes_the_primal(blobs):
    X, y, _, _ = blobs
    primal = LaplacianSVC(kernel="linear").fit(X, y)
    dual = LaplacianSVC(kernel="precomputed", graph=neighbor_graph(X)).fit(X @ X.T, y)
    assert primal.result_.x.shape[0] == 4
    np.testing.assert_allclose(primal.label_distributions_, dual.label_distributions_, atol=1e-5)


def test_warm_start_reuses_the_geometry_and_nothing_else(blobs):
    X, y, partial, _ = blobs
    other = next(LabelDraws(n_per_class=2, random_state=5).split(X, y)).mask(y)
    warm = LaplacianRLSClassifier(warm_start=True).fit(X, partial)
    space = warm._warm[1][-1]
    warm.fit(X, other)
    assert warm._warm[1][-1] is space
    cold = LaplacianRLSClassifier().fit(X, other)
    np.testing.assert_array_equal(warm.label_distributions_, cold.label_distributions_)
    for change in ({"graph_penalty": 1.0}, {"gamma": 0.3}, {"n_neighbors": 7}):
        changed = clone(warm).fit(X, partial).set_params(**change).fit(X, other)
        fresh = LaplacianRLSClassifier(**change).fit(X, other)
        np.testing.assert_array_equal(changed.label_distributions_, fresh.label_distributions_)
    shifted = warm.fit(X + 1e-3 * X**2, other)
    assert shifted._warm[1][-1] is not space


def test_warm_start_publishes_the_geometry_it_uses(blobs):
    """Whatever was fitted in between."""
    X, _, partial, labeled = blobs
    model = LaplacianRLSClassifier(warm_start=True).fit(X, partial)
    kernel, graph = model.kernel_, model.graph_
    some = np.union1d(labeled, np.arange(40))
    model.set_params(warm_start=False).fit(X[some], partial[some])
    assert model.graph_ is not graph
    model.set_params(warm_start=True).fit(X, partial)
    assert model.kernel_ == kernel
    assert model.graph_.n_rows == len(X)


def test_warm_start_keeps_rows_of_its_own(blobs):
    X, _, partial, _ = blobs
    rows = X.copy()
    model = LaplacianRLSClassifier(warm_start=True).fit(rows, partial)
    rows *= -5
    model.fit(X, partial)
    assert (model.predict(X) == model.transduction_).all()


def test_warm_start_takes_any_function_as_kernel(blobs):
    X, _, partial, _ = blobs
    model = LaplacianRLSClassifier(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05), warm_start=True)
    space = model.fit(X, partial)._warm[1][-1]
    assert model.fit(X, partial)._warm[1][-1] is space
    model.set_params(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, partial)
    assert model._warm[1][-1] is not space


@pytest.mark.parametrize("estimator", CLASSIFIERS[:3], ids=str)
def test_pickles_predict_the_same(blobs, estimator):
    X, _, partial, _ = blobs
    model = clone(estimator).set_params(warm_start=True).fit(X, partial)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert (copy.fit(X, partial).transduction_ == model.transduction_).all()


def test_weights_scale_the_loss(blobs):
    """Weight 2 on a row is the loss counted twice: the objective of [y, y] on a doubled labelled row."""
    X, _, partial, labeled = blobs
    weights = np.ones(len(X))
    weights[labeled[:4]] = 2
    params = {"graph_penalty": 0, "gamma": 0.05, "class_prior": None}
    weighted = LaplacianSVC(**params).fit(X, partial, sample_weight=weights)
    doubled = np.concatenate([np.arange(len(X)), labeled[:4]])
    repeated = LaplacianSVC(**params).fit(X[doubled], partial[doubled])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_weight_zero_takes_the_label_away(blobs):
    X, _, partial, labeled = blobs
    weights = np.ones(len(X))
    weights[labeled[::5]] = 0
    hidden = partial.copy()
    hidden[labeled[::5]] = -1
    weighted = LaplacianRLSClassifier().fit(X, partial, sample_weight=weights)
    unlabeled = LaplacianRLSClassifier().fit(X, hidden)
    np.testing.assert_array_equal(weighted.label_distributions_, unlabeled.label_distributions_)


def test_given_class_shares_move_the_decisions(blobs):
    X, _, partial, _ = blobs
    shares = [np.bincount(m.transduction_, minlength=3) / len(X) for m in (
        LaplacianRLSClassifier(class_prior=prior).fit(X, partial)
        for prior in ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8])
    )]  # fmt: skip
    assert (np.argmax(shares, axis=1) == [0, 1, 2]).all()
    assert np.diagonal(shares).min() > 0.5


@pytest.mark.parametrize("prior", [[0.6, 0.3, 0.1], None])
def test_rows_without_reach_get_the_class_shares(blobs, prior):
    X, _, partial, _ = blobs
    model = LaplacianRLSClassifier(class_prior=prior).fit(X, partial)
    shares = [1 / 3] * 3 if prior is None else prior
    np.testing.assert_allclose(model.predict_proba(X[:2] + 1e4), [shares, shares], atol=1e-6)
    binary = LaplacianRLSClassifier().fit(X, np.where(partial == 2, 1, partial))
    np.testing.assert_allclose(binary.predict_proba(X[:1] + 1e4), [[1 / 3, 2 / 3]], atol=1e-6)


def test_parts_without_a_label_are_reported_once():
    X = np.vstack([np.random.default_rng(0).normal(c, 0.1, size=(20, 2)) for c in (0, 5, 10)])
    y = np.full(60, -1)
    y[0], y[20] = 0, 1
    with pytest.warns(UserWarning, match="^20 rows lie in parts of the graph without a label") as caught:
        model = LaplacianRLSClassifier().fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(model.label_distributions_).all()


def test_not_converged_is_one_warning(blobs):
    X, _, partial, _ = blobs
    with pytest.warns(match="raise max_iter"):
        model = LaplacianRLSClassifier(solver="cg", early_stopping=False, max_iter=2).fit(X, partial)
    assert model.result_.status == "max_iter"


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("make", [LaplacianRLSClassifier, LaplacianSVC])
def test_early_stopping_keeps_the_decisions(make, kernel):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, y[:500]
    partial = next(LabelDraws(n_per_class=6).split(X, y)).mask(y)
    direct = make(kernel=kernel).fit(X, partial)
    stopped = make(kernel=kernel, solver="cg").fit(X, partial)
    assert stopped.result_.status == "stopped"
    assert np.mean(stopped.transduction_ == direct.transduction_) > 0.97
    excess = stopped.result_.objective[-1] / direct.result_.objective[-1] - 1
    assert 0 <= excess < 0.05


def test_early_stopping_does_not_turn_one_loss_into_the_other():
    """The first Newton step of the squared hinge, where every row is active, is the squared loss."""
    X, y = load_digits(return_X_y=True)
    partial = next(LabelDraws(n_per_class=6).split(X[:400], y[:400])).mask(y[:400])
    svc, rls = (
        make(kernel="linear", solver="cg").fit(X[:400] / 16, partial)
        for make in (LaplacianSVC, LaplacianRLSClassifier)
    )
    assert np.abs(svc.decision_function(X[:400] / 16) - rls.decision_function(X[:400] / 16)).max() > 0.1


def test_verbose_reports_stages(blobs, capsys):
    X, _, partial, _ = blobs
    LaplacianRLSClassifier(verbose=1).fit(X, partial)
    printed = capsys.readouterr().err
    assert all(f"[LaplacianRLSClassifier] {stage}" in printed for stage in ("graph", "space", "solve"))
    LaplacianRLSClassifier(verbose=1, solver="cg").fit(X, partial)
    assert "iteration 11 " in capsys.readouterr().err


def test_wide_sparse_rows_iterate_when_a_factor_would_not_fit(monkeypatch):
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "100KB")
    X = sp.random_array((150, 400), density=0.05, random_state=0, format="csr")
    y = np.full(150, -1)
    y[:4] = [0, 1, 0, 1]
    model = LaplacianRLSClassifier(kernel="linear", early_stopping=False).fit(X, y)
    assert model.result_.detail is None  # only the iterative solver leaves it out
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "1GB")
    direct = LaplacianRLSClassifier(kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), direct.decision_function(X), atol=1e-3)


def test_grid_search_and_cross_validation_with_unlabeled_rows():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], np.array(list("abcdefghij"), dtype=object)[y[:300]]
    partial = next(LabelDraws(n_per_class=4).split(X, y)).mask(y)
    folds = PartiallyLabeledKFold(4)
    scores = cross_val_score(LaplacianRLSClassifier(), X, partial, cv=folds)
    assert len(scores) == 4
    assert scores.mean() > 0.7
    search = GridSearchCV(LaplacianRLSClassifier(), {"graph_penalty": [0, 0.1]}, cv=folds).fit(X, partial)
    assert np.mean(search.predict(X) == y) > 0.8


@pytest.mark.parametrize(
    "setting", [{"kernel": "poly"}, {"ambient_penalty": 1e-6, "laplacian": "unnormalized"}]
)
@pytest.mark.parametrize("make", [LaplacianRLSClassifier, LaplacianSVC])
def test_float32_rows_are_solved_as_float64(make, setting):
    X, y = load_wine(return_X_y=True)
    partial = next(LabelDraws(n_per_class=5).split(X, y)).mask(y)
    single = make(**setting).fit(X.astype(np.float32), partial)
    double = make(**setting).fit(X.astype(np.float32).astype(np.float64), partial)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.label_distributions_, double.label_distributions_, atol=1e-4)


def test_hopeless_conditioning_is_said():
    X, y = load_digits(return_X_y=True)
    partial = next(LabelDraws(n_per_class=2).split(X[:300], y[:300])).mask(y[:300])
    with pytest.raises(ValueError, match=r"to rounding.*raise ambient_penalty"):
        LaplacianRLSClassifier(1e-14, graph_penalty=1e8, laplacian="unnormalized").fit(X[:300], partial)
    with pytest.warns(match="rounding leaves nothing to gain"):
        LaplacianRLSClassifier(1e-8, graph_penalty=1e6, laplacian="unnormalized", n_neighbors=8).fit(
            X[:300], partial
        )


@pytest.mark.parametrize("prior", [True, False, np.False_, "uniform", 1.0])
def test_what_is_no_class_prior_is_refused(blobs, prior):
    X, _, partial, _ = blobs
    with pytest.raises(ValueError, match="The 'class_prior' parameter"):
        LaplacianRLSClassifier(class_prior=prior).fit(X, partial)


def test_a_number_is_the_proportion_of_the_second_of_two_classes(blobs):
    X, _, partial, _ = blobs
    two = np.where(partial == 2, 1, partial)
    number, both = (LaplacianRLSClassifier(class_prior=p).fit(X, two) for p in (0.7, [0.3, 0.7]))
    np.testing.assert_allclose(number.label_distributions_, both.label_distributions_)


def test_direct_solvers_keep_the_memory_limit(blobs, monkeypatch):
    X, _, partial, _ = blobs
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "60KB")
    wide = sp.csr_array(np.hstack([X] * 50))
    for params in ({"loss": "hinge"}, {"solver": "newton"}):
        with pytest.raises(MemoryError, match="direct solver needs"):
            LaplacianSVC(kernel="linear", **params).fit(wide, partial)


def test_a_failed_fit_leaves_no_model(blobs):
    X, _, partial, _ = blobs
    model = LaplacianRLSClassifier()
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.minimum(partial, 0))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_corrected_approximation_is_its_own_kernel_solved_exactly():
    """Features plus a diagonal, formed densely, and given as a kernel."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    partial = next(LabelDraws(n_per_class=3).split(X, y)).mask(y)
    params = {"class_prior": None, "graph": neighbor_graph(X, n_neighbors=8)}
    settings = {"approximation": "nystroem", "n_components": 40, "random_state": 0}
    model = LaplacianRLSClassifier(early_stopping=False, tol=1e-9, **settings, **params).fit(X, partial)
    features = build_space(X, model.kernel_, **settings).features
    lost = 1 - np.mean((features**2).sum(axis=1))
    assert lost > 0.1
    exact = LaplacianRLSClassifier(kernel="precomputed", **params).fit(
        features @ features.T + lost * np.eye(400), partial
    )
    assert model.result_.objective[-1] == pytest.approx(exact.result_.objective[-1], rel=1e-6)
    assert (model.transduction_ == exact.transduction_).all()
    # New rows: the features alone.
    coefficients = features.T @ exact._function.theta[:, :-1]
    np.testing.assert_allclose(model.decision_function(X), features @ coefficients, atol=1e-4)


def test_correction_brings_an_approximation_near_the_exact_kernel():
    X, y = load_digits(return_X_y=True)
    errors = []
    for params in ({"approximation": None}, {"solver": "auto"}, {"solver": "cholesky"}):
        settings = {"approximation": "nystroem", "n_components": 100, "random_state": 0} | params
        model = LaplacianRLSClassifier(warm_start=True, n_neighbors=8, **settings)
        draws = list(LabelDraws(n_per_class=3, n_repeats=5).split(X, y))
        errors.append(
            np.mean([model.fit(X, d.mask(y)).transduction_[d.unlabeled] != y[d.unlabeled] for d in draws])
        )
    exact, corrected, plain = errors
    assert corrected < exact + 0.01
    assert corrected < plain - 0.02


@pytest.mark.parametrize("make", [LaplacianRLSClassifier, LaplacianSVC])
def test_corrected_approximation_in_every_container(make):
    """One label per class, as strings; rounding may move a row or two at a border."""
    X, y = load_digits(return_X_y=True)
    X, names = X[:500], np.array(list("abcdefghij"), dtype=object)[y[:500]]
    partial = next(LabelDraws(n_per_class=1).split(X, names)).mask(names)
    settings = {"approximation": "nystroem", "n_components": 60, "random_state": 0, "n_neighbors": 8}
    model = make(**settings).fit(X, partial)
    for rows in (sp.csr_matrix(X), X.astype(np.float32)):
        other = make(**settings).fit(rows, partial)
        assert np.mean(other.transduction_ == model.transduction_) > 0.98
        assert np.mean(other.predict(rows) == model.predict(X)) > 0.98
        assert other.predict_proba(rows).dtype == rows.dtype
