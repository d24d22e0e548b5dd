"""Bags in all their forms, and scikit-learn's tools on them against lists of matrices and scaling by hand."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from weakly import BagMarginSVC, Bags, InstanceTransformer
from weakly.datasets import make_bags

MATRICES = [
    np.array([[0.0, 1.0], [2.0, 3.0]]),
    np.empty((0, 2)),
    np.array([[4.0, 5.0]]),
    np.array([[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]),
]
KINDS = {
    "dense": np.asarray,
    "float32": np.float32,
    "sparse": sp.csr_array,
    "old sparse": sp.csc_matrix,
    "frame": lambda matrix: pd.DataFrame(matrix, columns=["a", "b"]),
}
MODEL = BagMarginSVC(1.0, kernel="linear")


def plain(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def assert_same_bags(bags, matrices):
    assert len(bags) == len(matrices)
    assert bags.shape == (len(matrices), 2)
    assert bags.sizes.tolist() == [len(matrix) for matrix in matrices]
    assert bags.bag_of.tolist() == [number for number, matrix in enumerate(matrices) for _ in matrix]
    for bag, matrix in zip(bags, matrices, strict=True):
        np.testing.assert_array_equal(plain(bag), matrix)


@pytest.fixture(scope="module")
def data():
    return make_bags(40, bag_sizes=(2, 6), separation=2.5, random_state=0)


@pytest.fixture(scope="module")
def bags(data):
    return Bags.from_ids(data.X, data.bags)


def listed(data):
    return [data.X[data.bags == bag] for bag in range(len(data.bag_y))]


@pytest.mark.parametrize("kind", KINDS)
def test_bags_from_a_list(kind):
    given = Bags.from_list([KINDS[kind](matrix) for matrix in MATRICES])
    assert_same_bags(given, MATRICES)
    assert type(given.rows) is {"sparse": sp.csr_array, "frame": pd.DataFrame}.get(
        kind.split()[-1], np.ndarray
    )
    assert kind != "float32" or given.rows.dtype == np.float32
    assert kind != "frame" or given.rows.columns.tolist() == ["a", "b"]


def test_lists_of_lists_and_arrays_of_three_axes_are_lists_of_matrices():
    assert_same_bags(Bags.from_list([matrix.tolist() for matrix in MATRICES]), MATRICES)
    cube = np.arange(24.0).reshape(4, 3, 2)
    assert_same_bags(Bags.from_list(cube), list(cube))


@pytest.mark.parametrize("kind", KINDS)
def test_bags_from_offsets(kind):
    rows = KINDS[kind](np.vstack(MATRICES))
    given = Bags(rows, [0, 2, 2, 3, 6], ids=list("pqrs"))
    assert_same_bags(given, MATRICES)
    assert given.ids.tolist() == list("pqrs")
    assert Bags(rows, [0, 2, 2, 3, 6]).ids.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ids", [[3, 3, 5, 9, 9, 9], list("aabccc"), pd.Series([0.5, 0.5, 1, 2, 2, 2])])
def test_bags_from_ids(ids):
    given = Bags.from_ids(np.vstack(MATRICES), ids)
    assert_same_bags(given, [MATRICES[0], MATRICES[2], MATRICES[3]])
    assert given.ids.tolist() == sorted(set(ids))


def test_bags_from_a_frame():
    frame = pd.DataFrame(np.vstack(MATRICES), columns=["a", "b"], index=list("zyxwvu"))
    frame.insert(1, "photo", ["p", "p", "q", "r", "r", "r"])
    filled = [MATRICES[0], MATRICES[2], MATRICES[3]]
    assert_same_bags(Bags.from_frame(frame, bag="photo"), filled)
    frame["tiger"] = ["yes", "yes", "no", "yes", "yes", "yes"]
    given, y = Bags.from_frame(frame, bag="photo", label="tiger")
    assert_same_bags(given, filled)
    assert given.rows.columns.tolist() == ["a", "b"]
    assert (given.ids.tolist(), y.tolist()) == (["p", "q", "r"], ["yes", "no", "yes"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "key",
    [
        slice(1, 3),
        slice(None, None, -1),
        slice(0, 0),
        [3, 0, 0],
        [-1, 1],
        [],
        [True, False, False, True],
        np.array([False, True, True, False]),
        np.array([2, 1], dtype=np.int32),
        range(2),
    ],
    ids=str,
)
def test_several_bags_are_bags(kind, key):
    given = Bags(KINDS[kind](np.vstack(MATRICES)), [0, 2, 2, 3, 6], ids=list("pqrs"))[key]
    is_mask = not isinstance(key, slice) and len(key) == 4
    numbers = [n for n, kept in enumerate(key) if kept] if is_mask else None
    numbers = list(range(4))[key] if isinstance(key, slice) else list(key) if numbers is None else numbers
    assert isinstance(given, Bags)
    assert_same_bags(given, [MATRICES[number] for number in numbers])
    assert given.ids.tolist() == [list("pqrs")[number] for number in numbers]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [0, 1, 3, -1, -4, np.int64(2), np.uint8(3), np.intp(-2)])
def test_a_number_is_a_matrix(kind, number):
    given = Bags.from_list([KINDS[kind](matrix) for matrix in MATRICES])[number]
    assert not isinstance(given, Bags)
    np.testing.assert_array_equal(plain(given), MATRICES[number])


@pytest.mark.parametrize("number", [4, -5, [0, 4]])
def test_numbers_of_no_bag_are_index_errors(number):
    with pytest.raises(IndexError):
        Bags.from_list(MATRICES)[number]


def test_values_are_split_and_the_largest_of_each_bag_found():
    given = Bags.from_list(MATRICES)
    scores = np.array([1.0, 1.0, -2.0, 0.0, 3.0, 3.0])
    assert [part.tolist() for part in given.split(scores)] == [[1.0, 1.0], [], [-2.0], [0.0, 3.0, 3.0]]
    assert [part.shape for part in given.split(np.ones((6, 5)))] == [(2, 5), (0, 5), (1, 5), (3, 5)]
    assert given.largest(scores).tolist() == [0, -1, 2, 4]
    rng = np.random.default_rng(0)
    ids = np.sort(rng.integers(0, 30, 100))
    many, values = Bags.from_ids(rng.normal(size=(100, 1)), ids), rng.integers(0, 5, 100).astype(float)
    expected = [max(np.flatnonzero(ids == i), key=lambda row: (values[row], -row)) for i in np.unique(ids)]
    assert many.largest(values).tolist() == expected


def test_bags_that_are_all_empty():
    for given in (Bags.from_list([np.empty((0, 3))] * 2), Bags(np.empty((0, 3)), [0, 0, 0])):
        assert (len(given), given.sizes.tolist(), given.largest(np.empty(0)).tolist()) == (
            2,
            [0, 0],
            [-1, -1],
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_holds_everything(kind):
    given = Bags(KINDS[kind](np.vstack(MATRICES)), [0, 2, 2, 3, 6], ids=list("pqrs"))
    back = pickle.loads(pickle.dumps(given))
    assert_same_bags(back, MATRICES)
    assert back.ids.tolist() == list("pqrs")
    assert repr(back) == "Bags(4 bags, 6 instances of 2 features)"


def test_other_instances_in_bags_of_the_same_sizes():
    given = Bags.from_list(MATRICES)
    assert_same_bags(given.with_rows(-given.rows), [-matrix for matrix in MATRICES])
    with pytest.raises(ValueError, match="rise from 0 to the 5 rows"):
        given.with_rows(given.rows[:5])


def test_bags_are_no_matrix():
    for use in (np.asarray, StandardScaler().fit):
        with pytest.raises(TypeError, match="wrap a transformer of instances in InstanceTransformer"):
            use(Bags.from_list(MATRICES))


def test_scikit_learn_splits_bags_as_it_splits_lists(data, bags):
    parts = train_test_split(bags, data.bag_y, stratify=data.bag_y, random_state=0)
    expected = train_test_split(listed(data), data.bag_y, stratify=data.bag_y, random_state=0)
    for ours, theirs in zip(parts[:2], expected[:2], strict=True):
        assert isinstance(ours, Bags)
        for bag, matrix in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(bag, matrix)
    np.testing.assert_array_equal(parts[3], expected[3])


@pytest.mark.parametrize(
    "use",
    [
        lambda X, y: cross_val_score(MODEL, X, y, cv=StratifiedKFold(3, shuffle=True, random_state=0)),
        lambda X, y: cross_val_predict(MODEL, X, y, cv=3, method="decision_function"),
        lambda X, y: cross_val_predict(MODEL, X, y, cv=3),
        lambda X, y: GridSearchCV(MODEL, {"C": [0.01, 1.0]}, cv=3).fit(X, y).cv_results_["mean_test_score"],
        lambda X, y: GridSearchCV(MODEL, {"C": [0.01, 1.0]}, cv=3).fit(X, y).decision_function(X),
        lambda X, y: np.hstack(learning_curve(MODEL, X, y, cv=3, train_sizes=[0.5, 1.0])[1:3]),
    ],
    ids=["score", "decisions", "predictions", "search", "found", "curve"],
)
def test_scikit_learn_runs_on_bags_as_on_lists(data, bags, use):
    found = use(bags, data.bag_y)
    np.testing.assert_array_equal(found, use(listed(data), data.bag_y))
    assert len(np.unique(found)) > 1


def test_folds_by_hand_give_the_same_scores(data, bags):
    scores = cross_val_score(MODEL, bags, data.bag_y, cv=StratifiedKFold(3))
    matrices, expected = listed(data), []
    for train, test in StratifiedKFold(3).split(np.zeros(40), data.bag_y):
        model = clone(MODEL).fit([matrices[number] for number in train], data.bag_y[train])
        right = model.predict([matrices[number] for number in test]) == data.bag_y[test]
        expected.append(right.mean())
    np.testing.assert_array_equal(scores, expected)


def test_a_pipeline_scales_instances(data):
    shifted = 3 + 5 * data.X * np.arange(1, 11)
    train = data.bags < 30
    pipeline = make_pipeline(InstanceTransformer(StandardScaler()), MODEL)
    given = Bags.from_ids(shifted, data.bags)
    pipeline.fit(given[:30], data.bag_y[:30])
    by_hand = (shifted - shifted[train].mean(axis=0)) / shifted[train].std(axis=0)
    model = clone(MODEL).fit((by_hand[train], data.bags[train]), data.bag_y[:30])
    expected = model.decision_function((by_hand[~train], data.bags[~train]))
    np.testing.assert_allclose(pipeline.decision_function(given[30:]), expected, atol=1e-6)
    matrices = [shifted[data.bags == bag] for bag in range(30, 40)]
    np.testing.assert_allclose(pipeline.decision_function(matrices), expected, atol=1e-6)
    scaled = pipeline[0].transform(given)
    np.testing.assert_allclose(scaled.rows, by_hand)
    np.testing.assert_array_equal(scaled.offsets, given.offsets)


def test_a_supervised_transformer_sees_the_labels_of_the_bags(data, bags):
    adapter = InstanceTransformer(SelectKBest(f_classif, k=3)).fit(bags, data.bag_y)
    chosen = np.sort(np.argsort(-f_classif(data.X, data.bag_y[data.bags])[0])[:3])
    np.testing.assert_array_equal(adapter.transform(bags).rows, data.X[:, chosen])
    np.testing.assert_array_equal(adapter.transform(data.X), data.X[:, chosen])  # rows are bags of one
    with pytest.raises(ValueError, match="40 bags and 39 labels in y: bag 39 has none"):
        adapter.fit(bags, data.bag_y[:-1])


def test_transformers_of_frames_of_sparse_rows_and_of_missing_values(bags):
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "y": [0.0, 2.0, 4.0]})
    given = Bags(frame, [0, 2, 3])
    adapter = InstanceTransformer(SimpleImputer())
    np.testing.assert_array_equal(adapter.fit_transform(given).rows, [[1, 0], [2, 2], [3, 4]])
    assert adapter.feature_names_in_.tolist() == adapter.get_feature_names_out().tolist() == ["x", "y"]
    scaler = InstanceTransformer(StandardScaler(with_mean=False))
    sparse = scaler.fit_transform(bags.with_rows(sp.csr_array(bags.rows)))
    np.testing.assert_allclose(sparse.rows.toarray(), bags.rows / bags.rows.std(axis=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bags.from_list([*MATRICES, np.ones((1, 3))]), "Bag 4 has 3 features and bag 0 has 2"),
        (lambda: Bags.from_list([np.ones((2, 2)), np.ones(2)]), "Bag 1 is no matrix"),
        (lambda: Bags.from_ids(np.ones((3, 2)), [0, 2, 1]), "not sorted: bag 1 at row 2 comes after bag 2"),
        (lambda: Bags.from_ids(np.ones((3, 2)), list("bba")), "bag 'a' at row 2 comes after bag 'b'"),
        (lambda: Bags.from_ids(np.ones((3, 2)), [0, 1]), "3 rows and ids of shape"),
        (lambda: Bags(np.ones((3, 2)), [0, 2]), "rise from 0 to the 3 rows"),
        (lambda: Bags(np.ones((3, 2)), [1, 3]), "rise from 0"),
        (lambda: Bags(np.ones((3, 2)), [0, 2, 1, 3]), "rise from 0"),
        (lambda: Bags(np.ones((3, 2)), [0.0, 1.5, 3.0]), "whole numbers"),
        (lambda: Bags(np.ones((3, 2)), []), "one more than there are bags"),
        (lambda: Bags(np.ones((3, 2)), [[0, 3]]), "whole numbers"),
        (lambda: Bags(np.ones((3, 2)), [0, 1, 3], ids=["a"]), "2 bags and 1 ids: give one id per bag"),
    ],
)
def test_errors_name_the_bag(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"bag": "picture"}, "no column 'picture': it has"),
        ({}, {"bag": "photo", "label": "lion"}, "no column 'lion'"),
        ({"photo": ["p", None, "q"]}, {"bag": "photo"}, "Row 1 has no bag id"),
        ({"photo": [1.0, 2.0, np.nan]}, {"bag": "photo"}, "Row 2 has no bag id"),
        ({"photo": ["q", "q", "p"]}, {"bag": "photo"}, "bag 'p' at row 2 comes after bag 'q'"),
        ({"tiger": [1, 0, 0]}, {"bag": "photo", "label": "tiger"}, "Bag 'p' has several labels in column"),
    ],
)
def test_errors_of_frames_name_column_and_bag(change, arguments, message):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "photo": ["p", "p", "q"], "tiger": [1, 1, 0]} | change)
    with pytest.raises(ValueError, match=message):
        Bags.from_frame(frame, **arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_name_their_bag_in_every_form(bad):
    matrices = [matrix.copy() for matrix in MATRICES]
    matrices[3][1, 1] = bad
    y, rows = [0, 0, 1, 1], np.vstack(matrices)
    named = Bags(rows, [0, 2, 2, 3, 6], ids=list("pqrs"))
    for given, labels, name in (
        (matrices, y, 3),
        ([sp.csr_array(matrix) for matrix in matrices], y, 3),
        ((rows, list("pprsss")), [0, 1, 1], "'s'"),
        ((sp.csr_array(rows), list("pprsss")), [0, 1, 1], "'s'"),
        (named, y, "'s'"),
        (named.with_rows(sp.csr_array(rows)), y, "'s'"),
        (named.with_rows(pd.DataFrame(rows)), y, "'s'"),
        (np.stack([np.zeros((3, 2)), matrices[3]]), [0, 1], 1),
    ):
        with pytest.raises(ValueError, match=f"Bag {name} contains NaN or infinity"):
            MODEL.fit(given, labels)


def test_labels_too_few_or_too_many_name_the_bag(data, bags):
    for given in (bags, listed(data), (data.X, data.bags)):
        with pytest.raises(ValueError, match=r"40 bags and 38 labels in y: bag 38 has none\. Give one label"):
            MODEL.fit(given, data.bag_y[:-2])
        with pytest.raises(ValueError, match="40 bags and 41 labels in y: the last is for bag 39"):
            MODEL.fit(given, np.r_[data.bag_y, 1])
    names = np.array([f"b{number:02d}" for number in range(40)])[data.bags]
    with pytest.raises(ValueError, match="bag 'b39' has none"):
        MODEL.fit((data.X, names), data.bag_y[:-1])
    with pytest.raises(ValueError, match="as a list of matrices or as"):
        MODEL.fit(data.X, data.bag_y)


@pytest.mark.parametrize("setting", ["method", "global"])
def test_frames_pass_through_a_pipeline(data, bags, setting):
    pipeline = make_pipeline(InstanceTransformer(StandardScaler()), clone(MODEL))
    expected = pipeline.fit(bags, data.bag_y).decision_function(bags)
    with config_context(transform_output="pandas" if setting == "global" else "default"):
        if setting == "method":
            pipeline.set_output(transform="pandas")
        pipeline.fit(bags, data.bag_y)
        np.testing.assert_allclose(pipeline.decision_function(bags), expected)
        assert isinstance(pipeline[0].transform(bags).rows, pd.DataFrame)


def test_a_pipeline_takes_bags_that_are_all_empty(data, bags):
    pipeline = make_pipeline(InstanceTransformer(StandardScaler()), clone(MODEL)).fit(bags, data.bag_y)
    assert pipeline.predict([np.empty((0, 10)), np.empty((0, 10))]).tolist() == [0, 0]
    assert Bags.from_list([np.empty((0, 10))]).shape == (1, 10)


@pytest.mark.parametrize("key", [(slice(None), 0), (0, 1), None, [[0, 1], [2, 3]]])
def test_bags_have_one_axis(bags, key):
    with pytest.raises(IndexError):
        bags[key]


@pytest.mark.parametrize("n_values", [3, 400])
def test_values_must_fit_the_instances(bags, n_values):
    with pytest.raises(ValueError, match=f"{n_values} values for 153 instances"):
        bags.split(np.arange(n_values))


@pytest.mark.parametrize(
    "ids",
    [
        [0.0, 0.0, np.nan],
        np.array(["a", "a", None], dtype=object),
        np.array(["2026-01-01", "2026-01-01", "NaT"], dtype="datetime64[D]"),
        pd.Series(["a", "a", None], dtype="string"),
    ],
)
def test_missing_ids_are_named(ids):
    with pytest.raises(ValueError, match="Row 2 has no bag id"):
        Bags.from_ids(np.ones((3, 2)), ids)


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0]]], "Bag 1 has instances of several lengths"),
        ([np.ones((2, 2)), np.ones((4, 0))], "Bag 1 is no matrix"),
        ([pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"a": [1.0], "c": [2.0]})], "other columns"),
        ((pd.DataFrame({"a": [1.0, 2.0, None]}, dtype="Float64"), [0, 1, 1]), "Bag 1 contains NaN"),
        ((np.array([[1.0], [2.0], [None]], dtype=object), [0, 1, 1]), "Bag 1 contains NaN"),
    ],
)
def test_wrong_instances_name_the_bag(bags, message):
    with pytest.raises(ValueError, match=message):
        MODEL.fit(bags, [0, 1])


@pytest.mark.parametrize("key", [20, -21, [0, 100], np.zeros(7, dtype=bool), "a", 1.5, (0, 1)])
def test_a_bag_that_is_not_there_says_how_many_there_are(key):
    bags = Bags(np.ones((60, 2)), np.arange(0, 61, 3))
    with pytest.raises(IndexError, match="There are 20 bags"):
        bags[key]


@pytest.mark.parametrize("rows", [None, np.ones(3), np.ones((2, 2, 2))])
def test_what_is_no_matrix_of_instances_is_named(rows):
    with pytest.raises(ValueError, match=r"rows have shape .* give a matrix of instances"):
        Bags.from_ids(rows, np.zeros(3))


def test_what_is_no_list_of_bags_is_named():
    with pytest.raises(TypeError, match="bags must be a list of matrices, one per bag, got None"):
        Bags.from_list(None)


@pytest.mark.parametrize("transformer", [None, "scale", StandardScaler, SVC()])
def test_what_does_not_transform_is_named(transformer):
    bags = Bags(np.ones((6, 2)), [0, 3, 6])
    with pytest.raises(TypeError, match=r"transformer is .*give an object that fits and transforms"):
        InstanceTransformer(transformer).fit(bags)
