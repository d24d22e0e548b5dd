import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading

from weakly.model_selection import PartiallyLabeledKFold
from weakly.rows._labels import encode_labels


class NearestMeanOfLabeled(ClassifierMixin, BaseEstimator):
    """A stand-in that takes every kind of partially labelled y and insists on seeing unlabelled rows."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        view = encode_labels(y)
        assert (view.codes == -1).any()
        self.classes_ = view.classes
        self.means_ = np.array([X[view.codes == k].mean(axis=0) for k in range(view.n_classes)]) + self.shift
        return self

    def predict(self, X):
        distances = np.linalg.norm(X[:, None] - self.means_, axis=2)
        return self.classes_[distances.argmin(axis=1)]


class RecordsTraining(NearestMeanOfLabeled):
    n_rows = []

    def fit(self, X, y):
        self.n_rows.append(len(X))
        return super().fit(X, y)


def folds(y, n_splits=3, **options):
    return list(PartiallyLabeledKFold(n_splits, **options).split(None, y))


def assert_partition(splits, n_rows, expected_test_rows):
    tested = np.concatenate([test for _, test in splits])
    assert sorted(tested.tolist()) == sorted(expected_test_rows)
    for train, test in splits:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(n_rows))


@given(
    y=st.lists(st.integers(-1, 4), min_size=4, max_size=60).filter(
        lambda y: sum(y.count(c) for c in set(y) - {-1} if y.count(c) > 1) >= 4 and len(set(y) - {-1}) > 1
    ),
    n_splits=st.integers(2, 4),
    shuffle=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_folds_are_a_stratified_partition_of_the_labelled_rows(y, n_splits, shuffle):
    splits = folds(y, n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    y = np.array(y)
    testable = [i for i, label in enumerate(y) if label != -1 and np.sum(y == label) > 1]
    assert len(splits) == n_splits
    assert_partition(splits, len(y), testable)
    sizes = [len(test) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1
    for label in set(y) - {-1}:
        in_test = [np.sum(y[test] == label) for _, test in splits]
        assert max(in_test) - min(in_test) <= 1
        assert all((y[train] == label).any() for train, _ in splits)


def test_unlabelled_rows_are_in_every_training_part():
    y = np.array([0, -1, 1, 0, -1, 1, 0, 1])
    for train, test in folds(y):
        assert {1, 4} <= set(train)
        assert not {1, 4} & set(test)


def test_single_label_stays_in_training():
    y = np.array(["a", "b", "a", "b", "rare", None, "a", "b"], dtype=object)
    splits = folds(y)
    assert_partition(splits, 8, [0, 1, 2, 3, 6, 7])
    assert all(4 in train for train, _ in splits)


def test_class_with_fewer_rows_than_folds_is_spread():
    y = [0] * 8 + [1] * 2
    tests_of_rare = [sum(i >= 8 for i in test) for _, test in folds(y, 5)]
    assert sorted(tests_of_rare) == [0, 0, 0, 1, 1]


def test_every_class_may_be_rarer_than_the_folds():
    y = np.repeat(np.arange(10), 2)
    splits = folds(y, 5)
    assert_partition(splits, 20, range(20))
    assert all(len(set(y[train])) == 10 for train, _ in splits)


ROWS_OF = {
    "integers": np.array([0, 1, -1, 0, 1, -1]),
    "strings": np.array(["a", "b", None, "a", "b", None], dtype=object),
    "list": ["a", "b", None, "a", "b", None],
    "floats": np.array([0.0, 1.0, np.nan, 0.0, 1.0, np.nan]),
    "pandas strings": pd.Series(["a", "b", None, "a", "b", None], index=list("uvwxyz")),
    "pandas integers": pd.Series([0, 1, None, 0, 1, None], dtype="Int64"),
    "pandas categories": pd.Series(["a", "b", None, "a", "b", None], dtype="category"),
}


@pytest.mark.parametrize("kind", ROWS_OF)
def test_types_of_y(kind):
    splits = folds(ROWS_OF[kind], 2)
    assert [test.tolist() for _, test in splits] == [[0, 1], [3, 4]]
    assert [train.tolist() for train, _ in splits] == [[2, 3, 4, 5], [0, 1, 2, 5]]


def test_class_minus_one_with_its_own_marker():
    y = np.array([-1, 1, -1, 1, 0, 0])
    splits = folds(y, 2, unlabeled=0)
    assert_partition(splits, 6, [0, 1, 2, 3])
    assert_partition(folds(y, 2, unlabeled=None), 6, range(6))


def test_without_stratification_rows_are_dealt_in_order():
    y = np.array([0.5, np.nan, 1.5, 2.5, np.nan, 3.5])
    assert [test.tolist() for _, test in folds(y, 2, stratify=False)] == [[0, 3], [2, 5]]


def test_without_stratification_no_row_is_kept_back():
    assert_partition(folds(["a", "b", None, "c"], 3, stratify=False), 4, [0, 1, 3])


def test_shuffle_is_seeded():
    y = np.tile([0, 1, -1], 20)

    def tests(**options):
        return [test.tolist() for _, test in folds(y, **options)]

    assert tests(shuffle=True, random_state=1) == tests(shuffle=True, random_state=1)
    assert tests(shuffle=True, random_state=1) != tests(shuffle=True, random_state=2)
    assert tests(shuffle=True, random_state=1) != tests()


@pytest.mark.parametrize(
    ("y", "n_splits", "message"),
    [
        ([0, 1, 0, 1, -1], 5, "4 labelled rows to test: set n_splits to at most 4"),
        ([0, 0, 0, 1, -1], 4, r"3 labelled rows to test \(1 more stay in training.*n_splits to at most 3"),
        ([0, 1, -1], 2, r"0 labelled rows to test \(2 more .*\): label more rows"),
        ([-1, -1], 2, "no labelled row"),
        ([0.5, 1.5, 2.5], 2, "continuous.*stratify=False"),
        ([np.inf, 1.0, np.inf, 1.0], 2, "continuous.*stratify=False"),
        (None, 2, "y is required"),
    ],
)
def test_errors_say_what_to_do(y, n_splits, message):
    with pytest.raises(ValueError, match=message):
        PartiallyLabeledKFold(n_splits).split(None, y)


def test_too_few_rows_without_stratification():
    with pytest.raises(ValueError, match="n_splits to at most 2"):
        PartiallyLabeledKFold(3, stratify=False).split(None, [0.5, np.nan, 1.5])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PartiallyLabeledKFold(2).split(np.zeros((3, 1)), [0, 1, 0, 1])


@pytest.mark.parametrize("n_splits", [1, 0, 2.5, "3", True])
def test_n_splits_is_checked(n_splits):
    with pytest.raises(ValueError, match="n_splits"):
        PartiallyLabeledKFold(n_splits)


def test_seed_without_shuffle_is_refused():
    with pytest.raises(ValueError, match="random_state"):
        PartiallyLabeledKFold(3, random_state=0)


def test_repr_and_number_of_splits():
    splitter = PartiallyLabeledKFold(4, shuffle=True, random_state=3)
    assert splitter.get_n_splits() == 4
    assert "n_splits=4" in repr(splitter)
    assert "random_state=3" in repr(splitter)


@pytest.fixture
def blobs():
    X, y = make_blobs(90, centers=[[-5, 0], [5, 0], [0, 8]], random_state=0)
    hidden = np.arange(90) % 3 != 0
    return X, y, hidden


def test_cross_val_score_of_label_spreading(blobs):
    X, y, hidden = blobs
    scores = cross_val_score(
        LabelSpreading(), X, np.where(hidden, -1, y), cv=PartiallyLabeledKFold(3), scoring="accuracy"
    )
    assert scores.tolist() == [1.0, 1.0, 1.0]


NAMES = np.array(["ant", "bee", "cow"], dtype=object)


@pytest.mark.parametrize(
    "kind",
    [
        lambda y, hidden: np.where(hidden, -1, y),
        lambda y, hidden: np.where(hidden, np.nan, y),
        lambda y, hidden: np.where(hidden, None, NAMES[y]),
        lambda y, hidden: np.where(hidden, None, NAMES[y]).tolist(),
        lambda y, hidden: pd.Series(np.where(hidden, None, NAMES[y]), index=np.arange(90)[::-1]),
        lambda y, hidden: pd.Series(np.where(hidden, None, NAMES[y])).astype("category"),
    ],
    ids=["integers", "floats", "strings", "list", "pandas", "categories"],
)
def test_cross_val_score_with_unlabelled_rows_of_any_kind(blobs, kind):
    X, y, hidden = blobs
    cv = PartiallyLabeledKFold(5)
    partial = kind(y, hidden)
    RecordsTraining.n_rows.clear()
    assert cross_val_score(RecordsTraining(), X, partial, cv=cv).tolist() == [1.0] * 5
    assert RecordsTraining.n_rows == [84] * 5
    # Shifting all means to the far left makes every row belong to the rightmost one: a third is right.
    assert cross_val_score(NearestMeanOfLabeled(shift=-100.0), X, partial, cv=cv).mean() < 0.5


def test_score_equals_that_of_the_labelled_rows_alone(blobs):
    X, y, hidden = blobs
    X = X + np.random.default_rng(0).normal(scale=6, size=X.shape)

    class IgnoresUnlabeled(KNeighborsClassifier):
        def fit(self, X, y):
            return super().fit(X[y != -1], y[y != -1])

    cv = PartiallyLabeledKFold(5)
    ours = cross_val_score(IgnoresUnlabeled(), X, np.where(hidden, -1, y), cv=cv)
    X, y = X[~hidden], y[~hidden]
    alone = cross_val_predict(KNeighborsClassifier(), X, y, cv=cv)
    expected = [accuracy_score(y[test], alone[test]) for _, test in cv.split(X, y)]
    assert ours.tolist() == expected
    assert 0 < np.mean(ours) < 1


@pytest.mark.parametrize("names", [False, True])
def test_grid_search_finds_the_better_setting(blobs, names):
    X, y, hidden = blobs
    partial = np.where(hidden, None, NAMES[y]) if names else np.where(hidden, -1, y)
    search = GridSearchCV(
        NearestMeanOfLabeled(), {"shift": [-100.0, 0.0, 100.0]}, cv=PartiallyLabeledKFold(4, shuffle=True)
    ).fit(X, partial)
    assert search.best_params_ == {"shift": 0.0}
    assert search.best_score_ == 1.0
    assert search.predict(X).tolist() == (NAMES[y] if names else y).tolist()


def test_grid_search_of_label_spreading(blobs):
    X, y, hidden = blobs
    search = GridSearchCV(
        LabelSpreading(max_iter=200), {"gamma": [1e-6, 1.0]}, cv=PartiallyLabeledKFold(3), scoring="accuracy"
    ).fit(X, np.where(hidden, -1, y))
    assert search.best_params_ == {"gamma": 1.0}
    assert (search.predict(X) == y).all()
