import datetime

import numpy as np
import pandas as pd
import pytest

from weakly.cli._cells import _far_days, read_cells


def days(*dates):
    return [(datetime.date.fromisoformat(date) - datetime.date(1970, 1, 1)).days for date in dates]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["007", " 10 ", "1e3", "", "NA"], [7, 10, 1000, np.nan, np.nan]),
        (["$4,123", "-$5", "€ 12.5", "3 €"], [4123, -5, 12.5, 3]),
        (["12%", "3.5 %"], [12, 3.5]),
        (["1,234", "12,345,678"], [1234, 12345678]),
        (["1 234", "1'234"], [1234, 1234]),
        (["1,23", "4,5", "1,234"], [1.23, 4.5, 1.234]),
        (["1.234,5", "1.234"], [1234.5, 1234]),
        (["0,126", "-0,500", "4,640"], [0.126, -0.5, 4.64]),
    ],
    ids=[
        "plain",
        "currency",
        "percent",
        "thousands",
        "other thousands",
        "decimal comma",
        "decimal comma 2",
        "three decimals",
    ],
)
def test_numbers(cells, numbers):
    reading = read_cells(pd.Series(cells))
    assert reading.kind == "number"
    np.testing.assert_array_equal(reading.values, numbers)
    assert reading.unread.empty


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-06-18", "2024-01-02"], days("2024-06-18", "2024-01-02")),
        (["18.06.2024", "02.01.2024"], days("2024-06-18", "2024-01-02")),
        (["6/18/2024", "1/2/2024"], days("2024-06-18", "2024-01-02")),
        (["18/06/2024 12:00", None], [days("2024-06-18")[0] + 0.5, np.nan]),
        (["9999-12-31", "0001-01-01"], days("9999-12-31", "0001-01-01")),
    ],
    ids=["iso", "dots", "month first", "time", "sentinels"],
)
def test_dates(cells, expected):
    reading = read_cells(pd.Series(cells, dtype=object))
    assert reading.kind == "date"
    np.testing.assert_array_equal(reading.values, expected)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("9999-12-31", days("9999-12-31")[0]),
        (datetime.date(1, 1, 1), days("0001-01-01")[0]),
        ("9999-12-31 12:00+06:00", days("9999-12-31")[0] + 0.25),
        ("2024-06-18", np.nan),  # pandas 2 reads it
        ("31.12.9999", np.nan),
    ],
)
def test_dates_that_pandas_2_has_no_room_for(cell, expected):
    np.testing.assert_equal(_far_days(cell), expected)


def test_day_and_month_that_cannot_be_told_apart():
    assert read_cells(pd.Series(["01/02/2024", "03/04/2024"])).kind == "unclear date"


@pytest.mark.parametrize(("n_numbers", "kind"), [(19, "number"), (18, "words")])
def test_one_cell_in_twenty_may_be_unreadable(n_numbers, kind):
    reading = read_cells(pd.Series(["?", *map(str, range(n_numbers))]))
    assert reading.kind == kind
    assert reading.unread.tolist() == (["?"] if kind == "number" else [])
    assert reading.values.isna().tolist() == [kind == "number"] + [False] * n_numbers


@pytest.mark.filterwarnings("error")
def test_infinite_numbers_are_missing_and_told():
    reading = read_cells(pd.Series(["1", "inf", "-inf", "1e999", "2"]))
    assert reading.kind == "number"
    np.testing.assert_array_equal(reading.values, [1, np.nan, np.nan, np.nan, 2])
    assert reading.unread.tolist() == ["inf", "-inf", "1e999"]


def test_underscores_are_no_part_of_numbers():
    assert read_cells(pd.Series(["1_0", "10"])).kind == "words"


def test_truth_values():
    reading = read_cells(pd.Series([" TRUE ", "false", "n/a"]))
    assert reading.kind == "boolean"
    np.testing.assert_array_equal(reading.values, [1, 0, np.nan])


@pytest.mark.parametrize(
    "cells", [["192.168.1.1", "10.0.0.1"], ["12:30", "11:15"], ["1-2", "3-4"], ["1", "x"]]
)
def test_words(cells):
    reading = read_cells(pd.Series(cells))
    assert reading.kind == "words"
    assert reading.values.tolist() == cells
