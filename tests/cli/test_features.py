import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weakly.cli._errors import UserError
from weakly.cli._features import CLIP, TablePreparation


def prepare_features(frame):
    """Turn columns into features; return the matrix and the list of ``Column`` decisions."""
    preparation = TablePreparation()
    return preparation.fit_transform(frame), preparation.columns_


def features_of(**columns):
    matrix, decisions = prepare_features(pd.DataFrame(columns))
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return dense, {decision.name: decision for decision in decisions}


def test_numbers_are_standardised_and_missing_ones_marked():
    matrix, decisions = features_of(x=[1.0, 3.0, np.nan, 5.0])
    filled = np.array([1.0, 3.0, 3.0, 5.0])
    np.testing.assert_allclose(matrix[:, 0], (filled - 3) / np.sqrt(2))
    np.testing.assert_array_equal(matrix[:, 1], [0, 0, 1, 0])
    assert decisions["x"].used_as == "number, standardised, 1 missing set to the median and marked"


def test_cells_that_are_no_numbers_are_missing_and_told():
    matrix, decisions = features_of(x=["?", "", *map(str, [3, 4] * 74)])
    np.testing.assert_array_equal(matrix[:, 1], [1, 1] + [0] * 148)
    assert decisions["x"].used_as == (
        "number, standardised, 2 missing (1 not read: '?') set to the median and marked"
    )


def test_numbers_too_large_to_square_are_missing():
    matrix, decisions = features_of(x=["1e308", "-1e200", *map(str, [3, 4] * 10)])
    np.testing.assert_array_equal(matrix[:, 1], [1, 1] + [0] * 20)
    np.testing.assert_allclose(np.abs(matrix[2:, 0]).max(), np.abs(matrix[2:, 0]).min(), rtol=0.3)
    assert "2 missing set to the median" in decisions["x"].used_as


@pytest.mark.parametrize(
    "values",
    [
        ["9999-12-31", "0001-01-01"] * 2,
        [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)] * 2,
    ],
    ids=["text", "date"],
)
def test_dates_at_the_ends_of_the_calendar(values):
    matrix, _ = features_of(x=values)
    np.testing.assert_allclose(matrix, [[1], [-1], [1], [-1]])


def test_blank_text_is_missing():
    matrix, decisions = features_of(x=["a", "b", "", " ", "a", "b"], empty=[""] * 6)
    np.testing.assert_array_equal(matrix.sum(axis=0), [2, 2, 2])
    assert decisions["empty"].used_as == "dropped: empty"


def test_dates_in_unclear_order_are_dropped_and_say_why():
    _, decisions = features_of(x=["01/02/2024", "03/04/2024"], kept=[1.0, 3.0])
    assert "day and month in unclear order" in decisions["x"].used_as


def test_declared_categories_stay_categories():
    _, decisions = features_of(x=pd.Categorical([1, 2, 1, 2]))
    assert decisions["x"].kind == "category"


def test_columns_of_one_name_are_all_used():
    frame = pd.DataFrame([[1.0, 5.0], [2.0, 4.0], [4.0, 4.0]], columns=["a", "a"])
    matrix, decisions = prepare_features(frame)
    assert matrix.shape == (3, 2)
    assert [decision.name for decision in decisions] == ["a", "a"]


def test_outliers_are_clipped_and_infinities_are_missing():
    values = np.r_[np.zeros(50), 1e6, np.inf]
    matrix, _ = features_of(x=values)
    assert matrix[50, 0] == CLIP
    np.testing.assert_array_equal(matrix[:, 1], np.isinf(values))


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True, False],
        pd.array([1, 0, 1, 0], dtype="Int64"),
        [Decimal(2), Decimal(1), Decimal(2), Decimal(1)],
        pd.to_datetime(["2024-01-02", "2024-01-01"] * 2),
        ["2024-01-02", "2024-01-01"] * 2,
        [datetime.date(2024, 1, 2), datetime.date(2024, 1, 1)] * 2,
        pd.to_timedelta([2, 1, 2, 1], unit="D"),
    ],
    ids=["boolean", "nullable", "decimal", "datetime", "iso text", "date", "duration"],
)
def test_everything_with_an_order_becomes_a_number(values):
    matrix, decisions = features_of(x=values)
    np.testing.assert_allclose(matrix, [[1], [-1], [1], [-1]])
    assert decisions["x"].kind == "number"


def test_categories_are_one_hot_with_rare_levels_together():
    values = ["b"] * 4 + ["a"] * 3 + ["rare", "rarer"] + [None, None]
    matrix, decisions = features_of(x=values)
    # Levels in order: (missing), a, b, then the group of rare ones.
    expected = np.zeros((11, 4))
    expected[np.arange(11), [2] * 4 + [1] * 3 + [3, 3] + [0, 0]] = 1
    np.testing.assert_array_equal(matrix, expected)
    assert decisions["x"].used_as == "category, 3 levels, 2 rare ones grouped"


def test_many_levels_are_limited():
    values = np.repeat([f"level{i}" for i in range(80)], 3)
    matrix, decisions = features_of(x=values)
    assert matrix.shape[1] == 50
    assert decisions["x"].used_as == "category, 49 levels, 31 rare ones grouped"


def test_text_becomes_unit_vectors_of_words():
    texts = ["the red rose", "a white tulip grows", None, "the red rose grows here"]
    matrix, decisions = features_of(x=texts)
    assert decisions["x"].kind == "text"
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), [1, 1, 0, 1])
    assert matrix[0] @ matrix[3] > matrix[1] @ matrix[3] > 0


def test_words_of_any_script_make_text():
    _, decisions = features_of(x=["красная роза растёт", "белый тюльпан растёт", "роза и тюльпан"])
    assert decisions["x"].kind == "text"


def test_useless_columns_are_dropped_and_say_why():
    _, decisions = features_of(
        key=["a1", "b2", "c3", "d4"],
        row=[10, 11, 12, 13],
        same=[1, 1, 1, 1],
        word=["x"] * 4,
        empty=[None] * 4,
        lists=[[1], [2], [3], [4]],
        kept=[1, 2, 2, 1],
    )
    assert {name: decision.used_as for name, decision in decisions.items()} == {
        "key": "dropped: every value differs, like an identifier",
        "row": "dropped: counts the rows",
        "same": "dropped: constant",
        "word": "dropped: constant",
        "empty": "dropped: empty",
        "lists": "dropped: values of kind 'mixed'",
        "kept": "number, standardised",
    }


def test_no_column_left():
    with pytest.raises(UserError, match="same: constant"):
        features_of(same=[1, 1])


def test_wide_text_stays_sparse():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(500)])
    texts = [" ".join(rng.choice(words, 5)) for _ in range(100)]
    matrix, _ = prepare_features(pd.DataFrame({"text": texts, "x": rng.normal(size=100)}))
    assert sp.issparse(matrix)
    assert matrix.format == "csr"


def test_repeated_index_does_not_matter():
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "d": ["2024-01-01", None, "2024-01-03"]})
    expected, _ = prepare_features(frame)
    got, _ = prepare_features(frame.set_index(pd.Index([7, 7, 7])))
    np.testing.assert_array_equal(got, expected)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def fitted(**columns):
    preparation = TablePreparation()
    return preparation, dense(preparation.fit_transform(pd.DataFrame(columns)))


COLUMNS = {
    "numbers": [1.0, 3.0, np.nan, 5.0, 1e200, np.inf],
    "numbers as text": ["1", "3.5", "", "1e3", " 7 ", "NA"],
    "thousands": ["1,234.5", "$2,000", "3.5 %", "7", "1e2", "2"],
    "decimal commas": ["1,5", "2.000,25", "3", "4 €", "5", "6,5"],
    "with a cell that is no number": [*map(str, range(3, 60, 2)), "?"],
    "true and false": ["true", "False", "TRUE", "", "false", "true"],
    "booleans": [True, False, None, True, False, True],
    "dates": ["2024-01-02", "2024-03-04", "", "2024-05-06", "2024-05-07", "1999-12-31"],
    "days first": ["13/01/2024", "02/03/2024", "04.05.2024", "05/06/2024", "06/07/2024", "01/01/2024"],
    "months first": ["01/13/2024", "02/03/2024", "04/05/2024", "05/06/2024", "06/07/2024", "01/01/2024"],
    "dates as such": [datetime.date(2024, 1, day) for day in (1, 2, 5, 9, 10, 20)],
    "durations": pd.to_timedelta([1, 2, 5, 9, None, 20], unit="h"),
    "categories": ["a", "b", "a", "b", "c", None],
    "declared categories": pd.Categorical(["NA", " x", "NA", " x", "NA", None]),
    "text": ["a red rose", "a white tulip", None, "some red tulip", "the white rose", "the red rose"],
    "nullable": pd.array([1, 5, None, 5, 7, 9], dtype="Int64"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_same_table_gives_the_same_features(name):
    preparation, expected = fitted(x=COLUMNS[name])
    frame = pd.DataFrame({"other": 1, "x": COLUMNS[name]})
    np.testing.assert_array_equal(dense(preparation.transform(frame)), expected)
    part = frame.iloc[[3, 1]]
    np.testing.assert_array_equal(dense(preparation.transform(part)), expected[[3, 1]])
    assert all("'other'" in note or "not read" in note for note in preparation.notes(frame))


@pytest.mark.parametrize(
    ("name", "cells", "like"),
    [
        ("decimal commas", ["1,500"], ["1,5"]),  # alone it would be 1500
        ("thousands", ["1,500"], ["1500"]),
        ("numbers as text", ["1,500 $"], ["1500"]),
        ("days first", ["03/02/2024"], ["2024-02-03"]),
        ("months first", ["03/02/2024"], ["2024-03-02"]),
        ("dates", ["03/02/2024"], [""]),  # the order of day and month is not known
        ("numbers as text", ["many"], [""]),
        ("numbers as text", [3.5], ["3.5"]),
        ("numbers", ["3"], [3.0]),
        ("decimal commas", [1.5], ["1,5"]),
        ("true and false", [True], ["true"]),
        ("booleans", ["TRUE"], [True]),
        ("dates", [datetime.date(2024, 5, 6)], ["2024-05-06"]),
        ("dates as such", ["2024-01-09"], [datetime.date(2024, 1, 9)]),
        ("durations", ["2 hours"], pd.to_timedelta([2], unit="h")),
        ("categories", ["zebra"], ["unseen"]),
        ("categories", ["NA"], [None]),
        ("text", ["NA"], [""]),
        ("nullable", ["5"], [5.0]),
    ],
)
def test_other_cells_are_read_as_the_first_were(name, cells, like):
    preparation, _ = fitted(x=COLUMNS[name])
    got, expected = (dense(preparation.transform(pd.DataFrame({"x": given}))) for given in (cells, like))
    np.testing.assert_array_equal(got, expected)


def test_new_levels_count_as_rare_ones_or_as_none():
    preparation, _ = fitted(rare=["a", "a", "b", "b", "c"], plain=["a", "a", "b", "b", "b"])
    matrix = dense(preparation.transform(pd.DataFrame({"rare": ["new", "c"], "plain": ["new", "a"]})))
    np.testing.assert_array_equal(matrix, [[0, 0, 1, 0, 0], [0, 0, 1, 1, 0]])


def test_codes_of_categories_may_be_numbers_in_another_table():
    preparation, matrix = fitted(x=["7", "8x", "7", "8x"])
    np.testing.assert_array_equal(dense(preparation.transform(pd.DataFrame({"x": [7]}))), matrix[:1])


def test_columns_are_found_by_name_and_number():
    frame = pd.DataFrame([[1.0, 9.0, "u", 3.0], [2.0, 5.0, "v", 9.0], [4.0, 5.5, "w", 4.0]])
    frame.columns = ["a", "a", "key", "b"]  # a key is dropped
    preparation = TablePreparation()
    expected = preparation.fit_transform(frame)
    mixed = frame.iloc[:, [3, 0, 1]]
    np.testing.assert_array_equal(preparation.transform(mixed), expected)
    with pytest.raises(UserError, match="no column 'a', 'b', which the model learned from"):
        preparation.transform(frame.iloc[:, [0, 2]])


def test_notes_tell_what_is_not_known():
    preparation, _ = fitted(x=[1.0, 3.0, 5.0], color=["red", "red", "blue"], key=["u", "v", "w"])
    frame = pd.DataFrame(
        {"x": ["1", "?", "NA"], "color": ["pink", "red", None], "key": 1, "new": 1, "target": 1}
    )
    assert list(preparation.notes(frame, ["target"])) == [
        "columns that the model does not know are left out: 'new'.",
        "x: 1 of 3 cells taken as missing (1 not read: '?').",
        "color: 1 of 3 cells of categories new to the model, such as 'pink'.",
    ]
    assert list(preparation.notes(frame.iloc[:0], ["new", "target"])) == []
