"""The total variation and Cheeger classifiers: every documented input, and what they promise."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from weakly import CheegerRLSClassifier, CheegerSVC, TotalVariationRLSClassifier, TotalVariationSVC
from weakly.datasets import make_two_moons
from weakly.exceptions import FitInterruptedWarning
from weakly.graphs import neighbor_graph
from weakly.model_selection import LabelDraws, PartiallyLabeledKFold
from weakly.spaces import CorrectedSpace, KernelSpace

ESTIMATORS = [TotalVariationRLSClassifier(), TotalVariationSVC(), CheegerRLSClassifier(), CheegerSVC()]
CHEEGER = ESTIMATORS[2:]
all_four = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")


@pytest.fixture(scope="module")
def blobs():
    """Three classes, one label of each."""
    X, y = make_blobs(150, n_features=4, centers=3, cluster_std=1.5, random_state=3)
    partial = next(LabelDraws(n_per_class=1).split(X, y)).mask(y)
    return X, y, partial


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, y[:500]
    return X, y, next(LabelDraws(n_per_class=3).split(X, y)).mask(y)


def fit(estimator, X, y, **params):
    """Fit a copy and check the shape of what it publishes."""
    model = clone(estimator).set_params(**params).fit(X, y)
    n_rows, n_classes = X.shape[0], len(model.classes_)
    assert model.transduction_.shape == model.function_transduction_.shape == (n_rows,)
    assert np.isin(model.transduction_, model.classes_).all()
    assert model.label_distributions_.shape == (n_rows, n_classes)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-5)
    best = model.classes_[model.label_distributions_.argmax(axis=1)]
    assert (best == model.transduction_).all()
    np.testing.assert_allclose(model.class_prior_.sum(), 1)
    side = model.result_.detail.graph_side
    assert side.shape == (n_rows, 1 if n_classes == 2 else n_classes)
    assert np.isfinite(side).all()
    assert np.isfinite(model.result_.x).all()
    assert model.n_iter_ == model.result_.n_iter <= model.max_iter
    return model


# Rows and labels


@all_four
def test_rows_in_every_container(estimator, blobs):
    X, y, partial = blobs
    model = fit(estimator, X, partial)
    assert np.mean(model.transduction_ == y) > 0.97
    for rows, least in ((sp.csr_matrix(X), 0.99), (sp.csr_array(X), 0.99), (X.astype(np.float32), 0.98)):
        other = fit(estimator, rows, partial)
        assert np.mean(other.transduction_ == model.transduction_) >= least
        assert np.mean(other.predict(rows) == model.predict(X)) >= least
        assert other.predict_proba(rows).dtype == rows.dtype
        assert other.label_distributions_.dtype == rows.dtype


@all_four
def test_labels_in_every_container(estimator, blobs):
    pd = pytest.importorskip("pandas")
    X, _, partial = blobs
    known = partial >= 0
    names = np.array(["ant", "bee", "cat"], dtype=object)
    expected = fit(estimator, X, partial).transduction_
    frame = pd.DataFrame(X, columns=list("abcd"))
    for rows, y, classes in (
        (X, np.where(known, names[partial], None), names),
        (frame, np.where(known, partial.astype(float), np.nan), np.arange(3.0)),
        (frame, pd.Series(np.where(known, partial, pd.NA), dtype="Int64"), np.arange(3)),
        (frame, pd.Series(pd.Categorical.from_codes(partial, names)), names),
    ):
        model = fit(estimator, rows, y)
        assert model.transduction_.tolist() == classes[expected].tolist()
        assert model.predict(rows).tolist() == model.function_transduction_.tolist()
    assert model.feature_names_in_.tolist() == list("abcd")


@all_four
def test_few_rows_without_label(estimator, blobs):
    X, y, _ = blobs
    single = y.copy()
    single[7] = -1
    model = fit(estimator, X, single)
    assert np.mean(model.transduction_ == y) > 0.98
    assert model.transduction_[7] == y[7]
    assert np.mean(fit(estimator, X, y).transduction_ == y) > 0.98


@all_four
def test_one_label_of_each_of_26_classes(estimator):
    codes = np.repeat(np.arange(26), 12)
    centres = np.random.default_rng(1).normal(size=(26, 10))
    X = 10 * centres[codes] + np.random.default_rng(2).normal(size=(312, 10))
    y = np.full(312, -1)
    y[::12] = np.arange(26)
    model = fit(estimator, X, y)
    assert len(model.classes_) == 26
    assert np.mean(model.transduction_ == codes) > 0.95


@all_four
def test_unbalanced_classes(estimator):
    for seed in range(3):
        X, y = make_blobs([160, 40], centers=[[0, 0], [8, 0]], random_state=seed)
        partial = next(LabelDraws(n_per_class=1, random_state=seed).split(X, y)).mask(y)
        assert np.mean(fit(estimator, X, partial).transduction_ == y) >= 0.95


@all_four
def test_weight_zero_takes_the_label_away(estimator, blobs):
    X, _, partial = blobs
    more = partial.copy()
    extra = np.flatnonzero(partial < 0)[:3]
    more[extra] = [0, 1, 2]
    weights = np.ones(len(X))
    weights[extra] = 0
    weighted = clone(estimator).fit(X, more, sample_weight=weights)
    np.testing.assert_array_equal(
        weighted.label_distributions_, fit(estimator, X, partial).label_distributions_
    )


# Kernels, approximations and graphs


@all_four
def test_precomputed_and_callable_kernels(estimator, blobs):
    X, _, partial = blobs
    graph = neighbor_graph(X)
    model = fit(estimator, X, partial, gamma=0.05, graph=graph)
    K = rbf_kernel(X, gamma=0.05)
    given = fit(estimator, K, partial, kernel="precomputed", graph=graph)
    np.testing.assert_allclose(given.label_distributions_, model.label_distributions_, atol=1e-4)
    assert (given.predict(K[:9]) == model.predict(X[:9])).all()
    called = fit(estimator, X, partial, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05), graph=graph)
    np.testing.assert_allclose(called.label_distributions_, model.label_distributions_, atol=1e-4)
    alone = fit(estimator, K, partial, kernel="precomputed")  # with neighbours by the kernel
    assert np.mean(alone.transduction_ == model.transduction_) > 0.95


@all_four
@pytest.mark.parametrize("as_type", [np.asarray, sp.csr_array])
def test_kernels_of_low_rank_follow_the_graph(estimator, as_type):
    """Two rings, which no linear function separates: the graph side does."""
    rng = np.random.default_rng(0)
    angles, y = rng.uniform(0, 2 * np.pi, 240), np.repeat([0, 1], 120)
    X = np.where(y == 0, 1.0, 4.0)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    X += 0.1 * rng.normal(size=X.shape)
    partial = np.full(240, -1)
    partial[[0, 120]] = 0, 1
    model = fit(estimator, as_type(X), partial, kernel="linear", warm_start=True)
    space = model._warm[1][-1].base
    assert isinstance(space, CorrectedSpace)
    assert space.features.shape == (240, 2)
    assert np.mean(model.transduction_ == y) == 1


@all_four
@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_approximations(estimator, approximation, digits):
    X, y, partial = digits
    params = {"approximation": approximation, "n_components": 200, "random_state": 0}
    model = fit(estimator, X, partial, **params)
    exact = fit(estimator, X, partial, approximation=None)
    assert np.mean(model.transduction_ == exact.transduction_) > 0.95
    assert np.mean(model.predict(X) == y) > 0.85
    for rows in (X.astype(np.float32), sp.csr_matrix(X)):
        other = fit(estimator, rows, partial, **params)
        assert np.mean(other.transduction_ == model.transduction_) > 0.98


@all_four
def test_all_landmarks_are_the_exact_kernel_with_own_values(estimator, blobs):
    X, _, partial = blobs
    model = fit(estimator, X, partial, approximation="nystroem", n_components=1000, random_state=0)
    assert np.mean(model.transduction_ == fit(estimator, X, partial).transduction_) > 0.97


def test_beyond_the_limit_auto_is_nystroem(blobs, monkeypatch):
    X, _, partial = blobs
    exact = TotalVariationRLSClassifier(warm_start=True).fit(X, partial)
    assert isinstance(exact._warm[1][-1].base, KernelSpace)
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", str(3 * 150 * 150 * 8 - 1))
    model = TotalVariationRLSClassifier(warm_start=True, n_components=20, random_state=0).fit(X, partial)
    assert isinstance(model._warm[1][-1].base, CorrectedSpace)
    with pytest.raises(MemoryError, match="approximation='nystroem'"):
        TotalVariationRLSClassifier(approximation=None).fit(X, partial)


@all_four
def test_given_graphs(estimator, blobs):
    X, _, partial = blobs
    model = fit(estimator, X, partial)
    for graph in (model.graph_, model.graph_.affinity, model.graph_.affinity.toarray()):
        given = fit(estimator, X, partial, graph=graph)
        np.testing.assert_allclose(given.label_distributions_, model.label_distributions_, atol=1e-12)
    with pytest.raises(ValueError, match="graph has 149 rows and X has 150"):
        fit(estimator, X, partial, graph=np.ones((149, 149)))


def parts(n_parts, n_rows=30):
    """Blobs so far apart that no edge joins them."""
    codes = np.repeat(np.arange(n_parts), n_rows)
    X = 50 * np.eye(n_parts)[codes] + np.random.default_rng(0).normal(size=(len(codes), n_parts))
    return X, codes, np.arange(n_parts) * n_rows


@all_four
@pytest.mark.parametrize("n_parts", [2, 3])
def test_parts_of_the_graph_follow_their_labels(estimator, n_parts):
    X, codes, first = parts(n_parts)
    partial = np.full(len(X), -1)
    partial[first] = codes[first]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(estimator, X, partial)
    np.testing.assert_array_equal(model.transduction_, codes)
    np.testing.assert_array_equal(model.predict(X), codes)


@all_four
def test_a_part_without_label_is_reported(estimator):
    X, codes, first = parts(3)
    partial = np.full(len(X), -1)
    partial[first[:2]] = 0, 1
    with pytest.warns(UserWarning, match="^30 rows lie in parts of the graph without a label") as caught:
        model = fit(estimator, X, partial)
    assert len(caught) == 1
    reached = codes < 2
    np.testing.assert_array_equal(model.transduction_[reached], codes[reached])


@all_four
def test_rows_without_neighbours(estimator, blobs):
    X, y, partial = blobs
    affinity = neighbor_graph(X).affinity.toarray()
    alone = np.flatnonzero(partial < 0)[:5]
    affinity[alone] = affinity[:, alone] = 0
    model = fit(estimator, X, partial, graph=affinity)
    joined = np.setdiff1d(np.arange(len(X)), alone)
    assert np.mean(model.transduction_[joined] == y[joined]) > 0.95
    fit(estimator, X, partial, graph=np.zeros_like(affinity))


# Shares of classes


@all_four
@pytest.mark.parametrize("prior", [[1, 1], [[1, 1, 1]], [0.5, 0.5, 0.0], [1, -1, 1], [1, np.nan, 1]])
def test_bad_shares_are_named(estimator, prior, blobs):
    X, _, partial = blobs
    with pytest.raises(
        ValueError, match=r"class_prior must be None, 3 positive proportions .* sorted order.* not"
    ):
        clone(estimator).set_params(class_prior=prior).fit(X, partial)


@all_four
def test_shares_are_normalised(estimator, blobs):
    X, _, partial = blobs
    one, other = (fit(estimator, X, partial, class_prior=prior) for prior in ([2, 1, 1], (0.5, 0.25, 0.25)))
    np.testing.assert_allclose(one.class_prior_, [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(one.label_distributions_, other.label_distributions_)


@pytest.mark.parametrize("estimator", CHEEGER, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_two_classes_are_parted_at_the_quantile(estimator, share):
    X = np.random.default_rng(0).normal(size=(200, 2))
    partial = np.full(200, -1)
    partial[[X[:, 0].argmin(), X[:, 0].argmax()]] = 0, 1
    model = fit(estimator, X, partial, class_prior=[1 - share, share])
    assert np.mean(model.transduction_ == 1) == pytest.approx(share, abs=0.02)


# Functions and new rows


@all_four
@pytest.mark.parametrize("name", ["moons", "digits"])
def test_new_rows_are_like_training_rows(estimator, name, digits):
    if name == "moons":
        moons = make_two_moons(400, noise=0.08, random_state=0)
        X, partial = moons.X, moons.y_partial
    else:
        X, _, partial = digits
    model = fit(estimator, X, partial)
    np.testing.assert_array_equal(model.predict(X), model.function_transduction_)
    assert np.mean(model.function_transduction_ == model.transduction_) > 0.95
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    near = X + 0.01 * X.std() * np.random.default_rng(0).normal(size=X.shape)
    assert np.mean(model.predict(near) == model.predict(X)) > 0.97


@all_four
def test_held_out_rows(estimator):
    X, y = load_digits(return_X_y=True)
    X, y = X[:800], y[:800]
    partial = next(LabelDraws(n_per_class=3).split(X[:500], y[:500])).mask(y[:500])
    model = fit(estimator, X[:500], partial)
    transduction, new = np.mean(model.transduction_ == y[:500]), np.mean(model.predict(X[500:]) == y[500:])
    assert new > transduction - 0.12 > 0.75


def test_digits_with_two_labels_per_class():
    X, y = load_digits(return_X_y=True)
    partial = next(LabelDraws(n_per_class=2, random_state=5).split(X, y)).mask(y)
    assert np.mean(TotalVariationRLSClassifier().fit(X, partial).transduction_ == y) >= 0.93


# Conventions


@all_four
def test_warm_start_is_the_cold_result(estimator, blobs):
    X, y, partial = blobs
    other = next(LabelDraws(n_per_class=2, random_state=5).split(X, y)).mask(y)
    warm = fit(estimator, X, partial, warm_start=True)
    space = warm._warm[1][-1]
    warm.fit(X, other)
    assert warm._warm[1][-1] is space
    np.testing.assert_array_equal(warm.label_distributions_, fit(estimator, X, other).label_distributions_)
    warm.set_params(resplit=False, max_iter=150, class_prior=[1, 1, 2]).fit(X, other)
    assert warm._warm[1][-1] is space
    for change in ({"coupling": 0.3}, {"ambient_penalty": 0.1}, {"gamma": 0.3}, {"n_neighbors": 7}):
        changed = fit(estimator, X, partial, warm_start=True).set_params(**change).fit(X, other)
        fresh = fit(estimator, X, other, **change)
        np.testing.assert_array_equal(changed.label_distributions_, fresh.label_distributions_)


@all_four
@pytest.mark.parametrize("approximation", [None, "nystroem", "fourier"])
def test_the_same_seed_gives_the_same(estimator, approximation, blobs):
    X, _, partial = blobs
    params = {"approximation": approximation, "n_components": 40, "random_state": 3}
    one, other = (fit(estimator, X, partial, **params) for _ in range(2))
    np.testing.assert_array_equal(one.label_distributions_, other.label_distributions_)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@all_four
def test_verbose_reports_stages(estimator, digits, capsys):
    X, _, partial = digits
    fit(estimator, X, partial)
    assert capsys.readouterr() == ("", "")
    fit(estimator, X, partial, verbose=1)
    printed = capsys.readouterr().err
    name = type(estimator).__name__
    assert all(f"[{name}] {stage}: " in printed for stage in ("graph", "space", "start", "iterate"))
    assert f"[{name}] iteration 1 " in printed


@all_four
def test_the_start_with_the_lower_end_is_kept(estimator, digits):
    X, _, partial = digits
    model = fit(estimator, X, partial)
    alone = fit(estimator, X, partial, resplit=False)
    energies = []
    for end in (alone, model):
        affinity, codes = end.graph_.affinity, end.result_.detail.graph_side.argmax(axis=1)
        masks = [codes == code for code in range(10)]
        energies.append(sum(affinity[m][:, ~m].sum() / min(m.sum(), (~m).sum()) for m in masks))
    assert energies[0] == pytest.approx(alone.result_.detail.start_energies[0], rel=1e-5)
    assert energies[1] == pytest.approx(model.result_.detail.start_energies.min(), rel=1e-5)
    assert alone.result_.detail.start_energies.tolist() == model.result_.detail.start_energies[:1].tolist()


@all_four
def test_labels_beside_the_border_find_the_cut(estimator):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.column_stack([5 * y, 0 * y]) + rng.normal(size=(300, 2))
    partial = np.full(300, -1)
    partial[[np.argsort(X[:150, 0])[-8], 150 + np.argsort(X[150:, 0])[8]]] = 0, 1
    model = fit(estimator, X, partial, n_neighbors=10)
    assert len(np.unique(model.graph_.components)) == 1
    assert np.mean(model.transduction_ == y) > 0.97


@all_four
def test_not_converged_is_one_warning(estimator, digits):
    X, _, partial = digits
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter \(now 1\)") as caught:
        model = fit(estimator, X, partial, max_iter=1)
    assert len([w for w in caught if w.category is ConvergenceWarning]) == 1
    assert (model.result_.status, model.n_iter_) == ("max_iter", 1)


@all_four
def test_pickles_and_clones(estimator, blobs):
    X, _, partial = blobs
    model = fit(estimator, X, partial, warm_start=True)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copy.fit(X, partial).transduction_, model.transduction_)
    assert not hasattr(clone(model), "transduction_")
    assert clone(model).get_params() == model.get_params()


@all_four
def test_grid_search(estimator, blobs):
    X, y, _ = blobs
    names = np.array(["ant", "bee", "cat"], dtype=object)[y]
    partial = next(LabelDraws(n_per_class=4).split(X, names)).mask(names)
    search = GridSearchCV(clone(estimator), {"coupling": [0.05, 0.2]}, cv=PartiallyLabeledKFold(3))
    search.fit(X, partial)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.mean(search.predict(X) == names) > 0.95


BAD = {
    "ambient_penalty": [0.0, -1.0],
    "coupling": [0.0, -1.0, np.nan],
    "resplit": ["no"],
    "tol": [-1.0],
    "max_iter": [0],
    "approximation": ["exact"],
}


@all_four
@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_named(estimator, name, blobs):
    X, _, partial = blobs
    for value in BAD[name]:
        with pytest.raises(ValueError, match=name):
            clone(estimator).set_params(**{name: value}).fit(X, partial)


def test_bad_parameters_of_one_family(blobs):
    X, _, partial = blobs
    for make in (TotalVariationRLSClassifier, TotalVariationSVC):
        with pytest.raises(ValueError, match="graph_penalty"):
            make(graph_penalty=0.0).fit(X, partial)
    for make in (CheegerRLSClassifier, CheegerSVC):
        for step in (0.0, "short"):
            with pytest.raises(ValueError, match="step"):
                make(step=step).fit(X, partial)


@all_four
def test_a_tolerance_of_zero(estimator, blobs):
    X, y, partial = blobs
    model = fit(estimator, X, partial, tol=0)
    assert np.mean(model.transduction_ == y) > 0.97


@all_four
def test_an_interrupt_from_the_second_start_is_said(estimator, blobs, monkeypatch):
    """Also where the first start led to the better cut, whose own iteration had converged."""
    X, _, partial = blobs
    iterate, calls = type(estimator)._iterate, []

    def interrupted_later(self, *args):
        calls.append(1)
        return replace(iterate(self, *args), status="converged" if len(calls) == 1 else "interrupted")

    monkeypatch.setattr(type(estimator), "_iterate", interrupted_later)
    monkeypatch.setattr("weakly.manifold._graph_cut._is_another", lambda start, end: True)
    model = clone(estimator)
    monkeypatch.setattr(model, "_rank", lambda values, *_: (float(len(calls)),), raising=False)
    with pytest.warns(FitInterruptedWarning):
        model.fit(X, partial)
    assert model.result_.status == "interrupted"
    assert len(calls) == 2
