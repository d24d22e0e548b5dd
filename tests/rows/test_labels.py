import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score

from weakly import LabelView, encode_labels
from weakly.rows._labels import find_unlabeled
from weakly.rows._selection import mask_labels

NAN = float("nan")


def decode(view):
    """Labels of all rows, None where unlabelled."""
    return [None if code == -1 else view.classes[code] for code in view.codes]


# One entry for each row of the table in the module's documentation, and for each container.
TABLE = {
    "integers": (np.array([3, -1, 7, -1]), [3, None, 7, None]),
    "small integers": (np.array([3, -1, 7, -1], dtype=np.int8), [3, None, 7, None]),
    "list of integers": ([3, -1, 7, -1], [3, None, 7, None]),
    "unsigned": (np.array([0, 255, 1], dtype=np.uint8), [0, 255, 1]),
    "floats": (np.array([3.0, NAN, 7.0, -2.0]), [3.0, None, 7.0, -2.0]),
    "float32": (np.array([0.0, NAN, 1.0], dtype=np.float32), [0.0, None, 1.0]),
    "list of floats": ([3.0, NAN, 7], [3.0, None, 7.0]),
    "objects": (np.array(["b", None, "a", NAN, pd.NA], dtype=object), ["b", None, "a", None, None]),
    "list of strings": (["b", None, "a"], ["b", None, "a"]),
    "tuple of strings": (("b", None, "a"), ["b", None, "a"]),
    "strings without gaps": (np.array(["b", "-2", "a"]), ["b", "-2", "a"]),
    "integers with None": ([3, None, 7, None], [3, None, 7, None]),
    "integers with NA": ([3, pd.NA, 7], [3, None, 7]),
    "booleans": (np.array([True, False, True]), [True, False, True]),
    "booleans with None": ([True, None, False], [True, None, False]),
    "column of integers": (pd.Series([3, -1, 7], index=[5, 5, 5]), [3, None, 7]),
    "column of floats": (pd.Series([3.0, NAN, 7.0]), [3.0, None, 7.0]),
    "column of strings": (pd.Series(["b", None, "a"], index=[9, 8, 7]), ["b", None, "a"]),
    "column of objects": (pd.Series(["b", None, "a", NAN], dtype=object), ["b", None, "a", None]),
    "string dtype": (pd.Series(["b", None, "a"], dtype="string"), ["b", None, "a"]),
    "nullable integers": (pd.Series([3, None, 7], dtype="Int64"), [3, None, 7]),
    "nullable integers, no gap": (pd.Series([3, -1, 7], dtype="Int64"), [3, None, 7]),
    "nullable floats": (pd.Series([3, None, 7], dtype="Float64"), [3.0, None, 7.0]),
    "nullable booleans": (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
    "categories": (pd.Series(["b", None, "a"], dtype="category"), ["b", None, "a"]),
    "number categories": (pd.Series([3, None, 7], dtype="category"), [3, None, 7]),
    "bare categorical": (pd.Categorical(["b", None, "a"]), ["b", None, "a"]),
    "unused categories": (pd.Categorical(["b", None, "a"], categories=["z", "b", "a"]), ["b", None, "a"]),
    "index": (pd.Index(["b", None, "a"]), ["b", None, "a"]),
}


@pytest.mark.parametrize("kind", TABLE)
def test_table_of_types(kind):
    y, expected = TABLE[kind]
    view = encode_labels(y)
    assert decode(view) == expected
    assert view.classes.tolist() == sorted({label for label in expected if label is not None})
    assert view.labeled.tolist() == [i for i, label in enumerate(expected) if label is not None]
    assert view.labeled_codes.tolist() == [code for code in view.codes if code != -1]
    assert view.codes.dtype == view.labeled.dtype == np.intp


@pytest.mark.parametrize("kind", TABLE)
def test_find_unlabeled_marks_the_same_rows(kind):
    y, expected = TABLE[kind]
    values, mask = find_unlabeled(y)
    assert mask.dtype == bool
    assert mask.tolist() == [label is None for label in expected]
    assert values[~mask].tolist() == [label for label in expected if label is not None]


@pytest.mark.parametrize(
    ("y", "unlabeled", "expected"),
    [
        ([-1, 1, -1, 1], None, [-1, 1, -1, 1]),
        ([-1, 1, 0, 0], 0, [-1, 1, None, None]),
        ([-1.0, 1.0, NAN], None, [-1.0, 1.0, None]),
        ([-1.0, 1.0, 0.0, NAN], -1, [None, 1.0, 0.0, None]),
        (["a", "?", "b"], "?", ["a", None, "b"]),
        (["a", "?", "b", None], "?", ["a", None, "b", None]),
        (["a", "?", "b", None], None, ["a", "?", "b", None]),
        ([-1, 1, 2], NAN, [-1, 1, 2]),
        ([-1, 1, 2], pd.NA, [-1, 1, 2]),
        ([1, 2, 3], "?", [1, 2, 3]),
        ([True, False, True, False], None, [True, False, True, False]),
        (pd.Series([-1, 1, None], dtype="Int64"), None, [-1, 1, None]),
        (pd.Series([-1, 1, 5]), 5, [-1, 1, None]),
        (pd.Series(["a", "?", "b"], dtype="category"), "?", ["a", None, "b"]),
        (np.array([9, 0, 1], dtype=np.uint8), 9, [None, 0, 1]),
    ],
)
def test_override(y, unlabeled, expected):
    assert decode(encode_labels(y, unlabeled=unlabeled)) == expected


def test_class_minus_one_is_never_guessed():
    with pytest.raises(ValueError, match=r"one class only.*set unlabeled=None"):
        encode_labels([-1, 1, -1, 1])
    with pytest.raises(ValueError, match=r"set unlabeled='-1' if it marks them, unlabeled=None if it is"):
        encode_labels(["-1", "1", None])
    assert decode(encode_labels(["-1", "1", None], unlabeled=None)) == ["-1", "1", None]


@pytest.mark.parametrize(
    "y",
    [
        np.array([3.0, -1.0, 7.0]),
        np.array([3, -1, 7], dtype=np.float32),
        [3.0, -1, 7.0],
        np.array([3, -1, 7], dtype=object),
        pd.Series([3.0, -1.0, 7.0]),
        pd.Series([3, -1, 7], dtype="category"),
    ],
    ids=["float64", "float32", "list", "objects", "column", "categories"],
)
def test_float_minus_one_is_unlabeled_as_in_scikit_learn(y):
    with pytest.warns(UserWarning, match=r"entries -1: taken as unlabeled.*unlabeled=None if"):
        assert decode(encode_labels(y)) == [3, None, 7]
    assert decode(encode_labels(y, unlabeled=-1)) == [3, None, 7]
    assert decode(encode_labels(y, unlabeled=None)) == [3, -1, 7]


@pytest.mark.parametrize("y", [[3.0, -1.0, 7.0, NAN], [3, -1, 7, None], pd.Series([3, -1, 7, None])])
def test_minus_one_beside_missing_entries_is_refused(y):
    """As in a CSV column that has -1 in some cells and nothing in others."""
    with pytest.raises(ValueError, match=r"both missing entries and -1.*set unlabeled=-1"):
        encode_labels(y)
    assert decode(encode_labels(y, unlabeled=-1)) == [3, None, 7, None]


@pytest.mark.parametrize("container", [np.array, list, lambda y: pd.Series(y, dtype=object)])
@pytest.mark.parametrize("text", ["", " ", "-1", "-1.0", "nan", "None", "<NA>"])
def test_text_that_looks_like_a_marker_is_refused(text, container):
    """As ``list(map(str, y))`` and, before pandas 3, ``y.astype(str)`` make of missing entries."""
    y = container(["a", text, "b", text])
    with pytest.raises(ValueError, match=f"unlabeled={text!r} if it marks them"):
        encode_labels(y)
    assert decode(encode_labels(y, unlabeled=text)) == ["a", None, "b", None]
    assert decode(encode_labels(y, unlabeled=None)) == ["a", text, "b", text]


def test_words_are_classes_where_missing_entries_are_kept_as_such():
    assert decode(encode_labels(["None", "nan", None])) == ["None", "nan", None]


def test_minus_one_is_a_number_among_numbers():
    assert find_unlabeled([-1.0, 0.5, NAN], continuous=True)[1].tolist() == [False, False, True]


@pytest.mark.parametrize(
    "y",
    [
        [],
        [-1, -1],
        [None, None],
        [NAN, NAN],
        pd.Series([None, None], dtype="Int64"),
        pd.Series([], dtype=int),
    ],
)
def test_all_unlabelled(y):
    with pytest.raises(ValueError, match="no labelled row: give at least one label"):
        encode_labels(y)


def test_hint_is_given_only_where_minus_one_is_the_marker():
    with pytest.raises(ValueError, match="no labelled row") as caught:
        encode_labels([None, None])
    assert "-1" not in str(caught.value)
    with pytest.raises(ValueError, match="no labelled row") as caught:
        encode_labels([-1, -1])
    assert "set unlabeled=None" in str(caught.value)


@pytest.mark.parametrize("y", [[3, -1, 3], ["a", None, "a"], [1.0, NAN, 1.0], [True, True]])
def test_single_class(y):
    with pytest.raises(ValueError, match=r"y has one class only.*at least two classes"):
        encode_labels(y)


def test_class_seen_once():
    view = encode_labels(["a", "b", "a", None, "c"])
    assert view.codes.tolist() == [0, 1, 0, -1, 2]
    assert view.frequencies.tolist() == [0.5, 0.25, 0.25]


def test_nothing_unlabelled():
    view = encode_labels([2, 0, 2])
    assert view.codes.tolist() == [1, 0, 1]
    assert view.labeled.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a", None], "mixes labels of types.*use one type"),
        ([0.5, 1.5, NAN], "continuous"),
        (np.zeros((3, 2)), "1d"),
        ([[0, 1], [1, 0]], "1d"),
        (3, "1d"),
        (None, "1d"),
    ],
)
def test_targets_that_are_not_classes(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y)


def test_infinite_label():
    with pytest.raises(ValueError, match="not whole numbers"):
        encode_labels([np.inf, 0.0, 1.0])


@pytest.mark.filterwarnings("default::sklearn.exceptions.DataConversionWarning")
def test_column_vector_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        view = encode_labels(np.array([[0], [-1], [1]]))
    assert view.codes.tolist() == [0, -1, 1]


def test_input_is_untouched():
    y = np.array(["a", None, "b"], dtype=object)
    encode_labels(y)
    mask_labels(y, [0])
    assert y.tolist() == ["a", None, "b"]


def test_targets_of_two_classes_are_one_signed_column():
    targets = encode_labels(["b", None, "a", "b"]).targets()
    assert targets.tolist() == [[1.0], [-1.0], [1.0]]
    assert targets.dtype == np.float64


def test_targets_of_more_classes_are_one_against_the_rest():
    targets = encode_labels([2, -1, 0, 1]).targets(np.float32)
    assert targets.tolist() == [[-1, -1, 1], [1, -1, -1], [-1, 1, -1]]
    assert targets.dtype == np.float32


def test_view_is_frozen():
    view = encode_labels([0, 1])
    assert isinstance(view, LabelView)
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.classes = np.array([1])


def test_every_kind_of_missing_entry():
    entries = np.array([None, "a", pd.NA, pd.NaT, np.float32("nan")], dtype=object)
    assert find_unlabeled(entries)[1].tolist() == [True, False, True, True, True]


LABELS = {
    "integers": st.integers(0, 6),
    "negative integers": st.integers(-9, -2),
    # NumPy's strings cannot end in a null character.
    "strings": st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3).filter(
        lambda text: text.strip() not in ("", "-1", "nan", "NaN", "NaT")
    ),
    "whole floats": st.sampled_from([-3.0, -2.0, 0.0, 1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("kind", LABELS)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_encode_then_decode_gives_the_labels_back(kind, data):
    label = LABELS[kind]
    labels = data.draw(st.lists(st.none() | label, min_size=2, max_size=18))
    labels += data.draw(st.lists(label, min_size=2, max_size=2, unique=True))
    marker = {"integers": -1, "negative integers": -1, "strings": None, "whole floats": NAN}[kind]
    view = encode_labels([marker if value is None else value for value in labels])
    assert decode(view) == labels
    assert (np.diff(view.labeled) > 0).all()
    assert view.frequencies.sum() == pytest.approx(1)
    signs = view.targets()
    winners = (signs[:, 0] > 0).astype(int) if view.n_classes == 2 else signs.argmax(axis=1)
    assert winners.tolist() == view.labeled_codes.tolist()


@given(
    labels=st.lists(st.integers(0, 4), min_size=3, max_size=20).filter(lambda y: len(set(y)) > 1),
    to_type=st.sampled_from(
        [
            lambda y: np.array(y),
            lambda y: np.array(y, dtype=np.uint8),
            lambda y: np.array(y, dtype=float),
            lambda y: [f"c{label}" for label in y],
            lambda y: pd.Series(y, dtype="Int64"),
            lambda y: pd.Series([f"c{label}" for label in y], dtype="category"),
        ]
    ),
    data=st.data(),
)
@settings(max_examples=50, deadline=None)
def test_masked_labels_read_back_as_unlabelled(labels, to_type, data):
    y = to_type(labels)
    keep = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    masked = mask_labels(y, np.array(keep))
    _, mask = find_unlabeled(masked)
    assert (~mask).tolist() == keep
    assert masked[~mask].tolist() == np.asarray(y)[~mask].tolist()
    assert mask_labels(y, np.flatnonzero(keep)).tolist() == pytest.approx(masked.tolist(), nan_ok=True)


@pytest.mark.parametrize(
    ("y", "dtype", "expected"),
    [
        (np.array([1, 2, 3], dtype=np.int8), np.int64, [1, 2, -1]),
        (np.array([1, 2, 255], dtype=np.uint8), np.int64, [1, 2, -1]),
        (np.array([1, 2, 3], dtype=np.uint32), np.int64, [1, 2, -1]),
        (np.array(["a", "b", "c"]), object, ["a", "b", None]),
        (np.array([True, False, True]), object, [True, False, None]),
        (pd.Series(["a", "b", "c"], dtype="category"), object, ["a", "b", None]),
        (pd.Series([1, 2, 3], dtype="Int64"), np.int64, [1, 2, -1]),
    ],
)
def test_mask_labels_chooses_the_marker_by_type(y, dtype, expected):
    masked = mask_labels(y, [0, 1])
    assert masked.dtype == dtype
    assert masked.tolist() == expected


def test_mask_labels_of_floats():
    masked = mask_labels(np.array([1.0, -1.0, 2.0], dtype=np.float32), [0, 1])
    assert masked.dtype == np.float32
    assert masked[:2].tolist() == [1.0, -1.0]
    assert np.isnan(masked[2])


def test_mask_labels_keeps_none_or_all():
    assert mask_labels([1, 2], []).tolist() == [-1, -1]
    assert mask_labels([1, 2], [0, 1]).tolist() == [1, 2]
    assert mask_labels([1, 2], [True, False]).tolist() == [1, -1]


def test_mask_labels_refuses_a_class_minus_one():
    with pytest.raises(ValueError, match=r"class -1.*use other integers or strings"):
        mask_labels([-1, 1], [0])


class TestAwkwardContainers:
    def test_nan_in_a_list_of_strings(self):
        assert decode(encode_labels(["a", NAN, "b"])) == ["a", None, "b"]

    def test_one_column_frame_of_integers(self):
        assert decode(encode_labels(pd.DataFrame({"y": [0, -1, 1]}))) == [0, None, 1]

    def test_frame_of_two_columns(self):
        with pytest.raises(ValueError, match="2 columns"):
            encode_labels(pd.DataFrame({"y": [0, 1], "z": [0, 1]}))

    @pytest.mark.parametrize("dtype", ["string", object])
    def test_override_beside_missing_entries(self, dtype):
        y = pd.Series(["a", "?", pd.NA, "b"], dtype=dtype)
        assert decode(encode_labels(y, unlabeled="?")) == ["a", None, None, "b"]

    def test_one_label_of_each_of_26_classes(self):
        assert encode_labels([*range(26), -1, -1]).n_classes == 26

    def test_rule_reads_the_type_not_the_values(self):
        assert decode(encode_labels(pd.Series([0, 1, -1, None], dtype="Int64"))) == [0, 1, None, None]

    @pytest.mark.parametrize(
        "y",
        [
            [0, None, 1],
            pd.Series([0, None, 1], dtype="Int64"),
            pd.Series([True, None, False], dtype="boolean"),
        ],
        ids=["list", "nullable integers", "nullable booleans"],
    )
    def test_numbers_with_gaps_are_scored_as_numbers(self, y):
        view = encode_labels(y)
        predicted = view.classes[view.labeled_codes]
        assert accuracy_score(np.asarray(predicted.tolist()), predicted) == 1.0

    def test_mixed_types_without_gaps(self):
        with pytest.raises(ValueError, match="use one type"):
            encode_labels([1, "a"])

    def test_continuous_numbers_with_none(self):
        with pytest.raises(ValueError, match="continuous"):
            encode_labels([0.5, 1.5, None])

    def test_bytes(self):
        assert decode(encode_labels(np.array([b"a", b"b"]))) == [b"a", b"b"]

    def test_mask_labels_of_uint64(self):
        _, mask = find_unlabeled(mask_labels(np.array([1, 2], dtype=np.uint64), [0]))
        assert mask.tolist() == [False, True]

    @pytest.mark.parametrize("keep", [[5], [True]])
    def test_mask_labels_checks_keep(self, keep):
        with pytest.raises(ValueError, match="keep"):
            mask_labels([1, 2], keep)


def test_mask_labels_leaves_missing_labels_hidden():
    assert mask_labels(["a", None, "b"], [0, 1, 2]).tolist() == ["a", None, "b"]
    assert mask_labels(pd.Series([1, None, 2], dtype="Int64"), [0, 1, 2]).tolist() == [1, -1, 2]
