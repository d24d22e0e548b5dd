"""Bad input is an error that names the argument; awkward input works."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from weakly import LaplacianRLSClassifier, LaplacianRLSRegressor, LaplacianSVC

ESTIMATORS = [LaplacianRLSClassifier(), LaplacianSVC(), LaplacianSVC(loss="hinge")]
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(20, 3))
LABELS = np.array([0, 1] * 3 + [-1] * 14)


def spoiled(rows, value):
    rows = rows.copy()
    rows[3, 1] = value
    return rows


BAD = {
    "NaN in X": (spoiled(ROWS, np.nan), LABELS, {}, "X contains NaN"),
    "infinity in X": (spoiled(ROWS, np.inf), LABELS, {}, "X contains infinity"),
    "text in X": (ROWS.astype(str).astype(object) + "x", LABELS, {}, "could not convert string"),
    "one-dimensional X": (ROWS[:, 0], LABELS, {}, "Expected 2D array"),
    "too few labels": (ROWS, LABELS[:-1], {}, "inconsistent numbers of samples"),
    "no y": (ROWS, None, {}, "requires y"),
    "no label": (ROWS, np.full(20, -1), {}, "y has no labelled row"),
    "one class": (ROWS, np.where(LABELS == 0, 0, -1), {}, "y has one class only"),
    "continuous labels": (ROWS, ROWS[:, 0], {}, "Unknown label type"),
    "n_neighbors = n": (ROWS, LABELS, {"n_neighbors": 20}, "n_neighbors"),
    "n_neighbors = 0": (ROWS, LABELS, {"n_neighbors": 0}, "n_neighbors"),
    "negative ambient_penalty": (ROWS, LABELS, {"ambient_penalty": -1.0}, "ambient_penalty"),
    "zero ambient_penalty": (ROWS, LABELS, {"ambient_penalty": 0.0}, "ambient_penalty"),
    "negative graph_penalty": (ROWS, LABELS, {"graph_penalty": -0.1}, "graph_penalty"),
    "NaN graph_penalty": (ROWS, LABELS, {"graph_penalty": np.nan}, "graph_penalty"),
    "unknown kernel": (ROWS, LABELS, {"kernel": "gauss"}, "kernel"),
    "NaN from a callable kernel": (ROWS, LABELS, {"kernel": lambda A, B: A @ B.T * np.nan}, "returned NaN"),
    "sparse precomputed kernel": (sp.csr_array(ROWS @ ROWS.T), LABELS, {"kernel": "precomputed"}, "dense"),
    "negative gamma": (ROWS, LABELS, {"gamma": -1.0}, "gamma"),
    "kernel not square": (ROWS, LABELS, {"kernel": "precomputed"}, "square Gram matrix"),
    "kernel not symmetric": (rng.normal(size=(20, 20)), LABELS, {"kernel": "precomputed"}, "symmetric"),
    "chi2 of negative rows": (ROWS, LABELS, {"kernel": "chi2"}, "negative entries"),
    "affinity not square": (ROWS, LABELS, {"graph": np.ones((20, 19))}, "affinity has shape"),
    "affinity of other rows": (ROWS, LABELS, {"graph": np.ones((19, 19))}, "graph has 19 rows"),
    "negative affinity": (ROWS, LABELS, {"graph": -np.ones((20, 20))}, "affinity has negative"),
    "NaN affinity": (ROWS, LABELS, {"graph": np.full((20, 20), np.nan)}, "affinity contains NaN"),
    "asymmetric affinity": (ROWS, LABELS, {"graph": np.triu(np.ones((20, 20)))}, "not symmetric"),
    "unknown weights": (ROWS, LABELS, {"graph_weights": "heat"}, "graph_weights"),
    "random-walk Laplacian": (ROWS, LABELS, {"laplacian": "random-walk"}, "laplacian"),
    "fourier of a linear kernel": (
        ROWS, LABELS, {"approximation": "fourier", "kernel": "linear"}, "approximation='fourier'",
    ),
    "no components": (ROWS, LABELS, {"approximation": "nystroem", "n_components": 0}, "n_components"),
    "three proportions": (ROWS, LABELS, {"class_prior": [1, 1, 1]}, "positive proportions"),
    "a zero share": (ROWS, LABELS, {"class_prior": [0.0, 1.0]}, "positive proportions"),
    "unknown solver": (ROWS, LABELS, {"solver": "magic"}, "solver"),
    "tol of zero": (ROWS, LABELS, {"tol": 0.0}, "tol"),
    "list of markers": (ROWS, LABELS, {"unlabeled": [-1, -2]}, "unlabeled"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_bad_input_is_named(estimator, case):
    X, y, params, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(**params).fit(X, y)


@pytest.mark.parametrize("case", ["NaN in X", "n_neighbors = n", "negative affinity", "no y"])
def test_bad_input_is_named_by_the_regressor(case):
    X, y, params, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        LaplacianRLSRegressor(**params).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(20, np.nan), "no labelled row"),
        (np.where(LABELS < 0, np.nan, np.inf), "infinity"),
        (np.array(["a"] * 20, dtype=object), "must hold numbers"),
    ],
)
def test_bad_targets_of_the_regressor(y, message):
    with pytest.raises(ValueError, match=message):
        LaplacianRLSRegressor().fit(ROWS, y)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, LaplacianRLSRegressor()], ids=str)
def test_bad_weights_are_named(estimator, weight):
    weights = np.ones(20)
    weights[2] = weight
    with pytest.raises(ValueError, match="sample_weight"):
        clone(estimator).fit(ROWS, LABELS, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight"):
        clone(estimator).fit(ROWS, LABELS, sample_weight=np.ones(7))


def test_hinge_has_no_iterative_solver():
    with pytest.raises(ValueError, match="squared_hinge"):
        LaplacianSVC(loss="hinge", solver="cg").fit(ROWS, LABELS)


def test_new_rows_must_fit():
    model = LaplacianRLSClassifier().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(ROWS[:, :2])


def assert_works(estimator, X, y):
    model = clone(estimator).fit(X, y)
    n_classes = len(model.classes_)
    assert model.transduction_.shape == (X.shape[0],)
    assert np.isin(model.transduction_, model.classes_).all()
    assert model.label_distributions_.shape == (X.shape[0], n_classes)
    assert np.isfinite(model.label_distributions_).all()
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-5)
    return model


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
class TestAwkwardInput:
    def test_one_unlabeled_row(self, estimator):
        y = np.arange(20) % 2
        y[7] = -1
        assert_works(estimator, ROWS, y)

    def test_no_unlabeled_row(self, estimator):
        assert_works(estimator, ROWS, np.arange(20) % 2)

    def test_one_label_of_each_of_26_classes(self, estimator):
        X = rng.normal(size=(260, 5))
        y = np.full(260, -1)
        y[:26] = np.arange(26)
        model = assert_works(estimator, X, y)
        assert len(model.classes_) == 26

    def test_class_with_one_label_beside_many(self, estimator):
        assert_works(estimator, ROWS, np.array([0] * 10 + [1] + [-1] * 9))

    def test_duplicated_rows(self, estimator):
        X = np.repeat(ROWS[:4], 10, axis=0)
        y = np.full(40, -1)
        y[[0, 10, 20, 30]] = [0, 1, 0, 1]
        model = assert_works(estimator, X, y)
        assert (model.transduction_ == np.repeat([0, 1, 0, 1], 10)).all()

    def test_all_rows_the_same(self, estimator):
        assert_works(estimator, np.ones((20, 3)), LABELS)

    def test_constant_columns(self, estimator):
        assert_works(estimator, np.hstack([ROWS, np.ones((20, 2))]), LABELS)

    def test_isolated_rows(self, estimator):
        affinity = np.ones((20, 20))
        affinity[15:] = affinity[:, 15:] = 0
        with pytest.warns(UserWarning, match="5 rows"):
            assert_works(clone(estimator).set_params(graph=affinity), ROWS, LABELS)

    def test_unsorted_csr(self, estimator):
        X = sp.csr_matrix(ROWS)
        X.indices = X.indices.reshape(20, 3)[:, ::-1].ravel().copy()
        X.data = X.data.reshape(20, 3)[:, ::-1].ravel().copy()
        X.has_sorted_indices = False
        before = X.indices.copy()
        model = assert_works(estimator, X, LABELS)
        expected = clone(estimator).fit(ROWS, LABELS)
        np.testing.assert_allclose(model.label_distributions_, expected.label_distributions_, atol=1e-6)
        np.testing.assert_array_equal(X.indices, before)  # the caller's matrix is left alone

    def test_callable_kernel_of_integers_or_sparse_products(self, estimator):
        counts = np.random.default_rng(0).integers(0, 5, size=(20, 6))
        for kernel in (lambda A, B: (A @ B.T).astype(int), lambda A, B: sp.csr_array(A) @ sp.csr_array(B).T):
            model = assert_works(clone(estimator).set_params(kernel=kernel), counts, LABELS)
            linear = clone(estimator).set_params(kernel="linear").fit(counts, LABELS)
            np.testing.assert_allclose(model.label_distributions_, linear.label_distributions_, atol=1e-5)

    def test_outlier_far_from_a_tight_cluster_stays_in_the_graph(self, estimator):
        X = np.vstack([0.01 * ROWS, [[50.0, 50.0, 50.0]]])
        model = assert_works(estimator, X, np.append(LABELS, -1))
        assert (model.graph_.degrees > 0).all()

    def test_real_class_minus_one(self, estimator):
        y = np.where(LABELS < 0, 99, 2 * LABELS - 1)
        model = assert_works(clone(estimator).set_params(unlabeled=99), ROWS, y)
        assert model.classes_.tolist() == [-1, 1]

    def test_labels_of_every_type(self, estimator):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
        known = LABELS >= 0
        expected = clone(estimator).fit(ROWS, LABELS).transduction_
        for y, classes in (
            (np.where(known, np.array(["no", "yes"], dtype=object)[LABELS], None), ["no", "yes"]),
            (np.where(known, LABELS.astype(float), np.nan), [0.0, 1.0]),
            (pd.Series(np.where(known, LABELS, pd.NA), dtype="Int64"), [0, 1]),
            (pd.Series(pd.Categorical.from_codes(LABELS, ["no", "yes"])), ["no", "yes"]),
        ):
            model = clone(estimator).fit(frame, y)
            assert model.transduction_.tolist() == [classes[code] for code in expected]


@st.composite
def awkward_problems(draw):
    """Rows with ties, duplicates and constant columns, and any labels that hold two classes."""
    n_rows = draw(st.integers(7, 25))
    values = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e3])
    X = draw(hnp.arrays(float, (n_rows, draw(st.integers(1, 4))), elements=values))
    y = draw(hnp.arrays(int, n_rows, elements=st.integers(-1, 3)))
    y[:2] = [0, 1]
    return X, y


@pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@given(problem=awkward_problems(), sparse=st.booleans(), narrow=st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_valid_input_works(estimator, problem, sparse, narrow):
    X, y = problem
    X = X.astype(np.float32) if narrow else X
    assert_works(estimator, sp.csr_matrix(X) if sparse else X, y)


@given(
    place=st.tuples(st.integers(0, 19), st.integers(0, 2)),
    value=st.sampled_from([np.nan, np.inf, -np.inf]),
    sparse=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_any_spoiled_entry_is_named(place, value, sparse):
    X = ROWS.copy()
    X[place] = value
    with pytest.raises(ValueError, match="X contains"):
        LaplacianRLSClassifier().fit(sp.csr_matrix(X) if sparse else X, LABELS)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, LaplacianRLSRegressor()], ids=repr)
def test_a_callable_kernel_is_called_where_it_plays_a_part_and_nowhere_else(estimator):
    calls = []

    def kernel(A, B):
        calls.append(A.shape)
        return A @ B.T

    y = np.where(LABELS < 0, np.nan, LABELS) if isinstance(estimator, LaplacianRLSRegressor) else LABELS
    settings = {"kernel": kernel, "graph": "anchor", "n_components": 6, "n_neighbors": 2, "random_state": 0}
    model = clone(estimator).set_params(**settings)
    model.fit(ROWS, y).predict(ROWS)
    assert not calls
    model.set_params(approximation="nystroem").fit(ROWS, y)
    assert calls
