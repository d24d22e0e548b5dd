import numpy as np
import pandas as pd
import pytest

from weakly.cli._errors import UserError
from weakly.cli._target import read_target


def read(*cells, missing_words=()):
    return read_target(pd.Series(cells, dtype=object, name="kind"), missing_words)


@pytest.mark.parametrize("blank", ["", "  ", None, np.nan, pd.NA])
def test_only_blanks_are_missing(blank):
    target = read("none", "NA", blank, "null", "none")
    assert target.codes.tolist() == [1, 0, -1, 2, 1]
    assert target.classes == ["NA", "none", "null"]
    assert "'NA' is taken for a class; if it means missing, add --missing 'NA'." in target.notes


def test_words_that_mean_missing():
    target = read("a", "b", "none", "?", missing_words=["none", "?", "-"])
    assert target.codes.tolist() == [0, 1, -1, -1]
    assert target.notes == ["no label says '-', the word given with --missing."]


def test_filled_cells_say_the_most_frequent_spelling_without_blanks():
    target = read("setosa  ", "virginica", None)
    assert (target.classes, target.notes) == (["setosa", "virginica"], [])
    target = read("007", "10", "7", "7 ", None)
    assert target.classes == ["7", "10"]
    assert target.notes == [
        "the labels are 2 distinct numbers: taken as classes.",
        "'7', '007' are one number and one class; filled cells say '7'.",
    ]


def test_long_numbers_do_not_merge():
    assert len(read("12345678901234567890", "12345678901234567891", "").classes) == 2


def test_case_is_kept_and_told():
    target = read("Rose", "rose", "tulip", None)
    assert target.classes == ["Rose", "rose", "tulip"]
    assert target.notes == ["classes that differ only in case are kept apart: 'Rose', 'rose'."]


@pytest.mark.parametrize("labels", [("1.5", "2"), (1.5, 2.0)])
def test_few_decimals_are_classes(labels):
    target = read(*labels, None)
    assert target.codes.tolist() == [0, 1, -1]
    assert target.classes == list(labels)


def test_amounts_are_refused_in_the_words_of_the_command_line():
    with pytest.raises(UserError, match="column 'kind' holds 11 different numbers with decimals") as caught:
        read(*(f"{i}.5" for i in range(11)), None)
    assert "regressor" not in str(caught.value)
    assert len(read(*(f"{i}.5" for i in range(10)), None).classes) == 10


def test_labels_that_nearly_all_differ_are_told():
    target = read(*range(100), None)
    told = "the 100 labels are of 100 classes: hardly one to learn each of them from."
    assert target.notes == ["the labels are 100 distinct numbers: taken as classes.", told]
    assert told not in read(*(list(range(100)) * 2), None).notes


@pytest.mark.parametrize("labels", [("1_0", "10"), ("1_000", "1000"), ("1_0", "7")])
def test_underscores_are_no_part_of_numbers(labels):
    target = read(*labels, None)
    assert target.classes == sorted(labels)
    assert target.notes == []


@pytest.mark.parametrize("labels", [("3", "1", "2", "3"), (3, 1, 2, 3), (3.0, 1.0, 2.0, 3.0)])
def test_numbers_as_classes_are_told(labels):
    assert read(*labels, None).notes == ["the labels are 3 distinct numbers: taken as classes."]


def test_classes_are_in_the_order_of_numbers():
    assert read("10", "9", "-2", None).classes == ["-2", "9", "10"]


def test_lists_are_no_classes():
    with pytest.raises(UserError, match="lists or records"):
        read([1], [2], None)


def test_minus_one_beside_empty_cells_is_refused_unless_it_is_said_what_it_means():
    column = pd.Series(["1", "-1", "", "2", "-1", "1"], name="kind")
    with pytest.raises(UserError, match=r"both empty cells and -1.*--missing -1 if it means missing"):
        read_target(column)
    assert read_target(column, ["-1"]).codes.tolist() == [0, -1, -1, 1, -1, 0]
    assert read_target(column, [""]).codes.tolist() == [1, 0, -1, 2, 0, 1]
    assert read_target(pd.Series(["1", "-1", ""], name="sign")).codes.tolist() == [1, 0, -1]


@pytest.mark.parametrize("marker", ["-1", "-1.0"])
def test_minus_one_among_words_beside_empty_cells_is_refused_too(marker):
    column = pd.Series(["cat", marker, "", "dog", marker, "cat"], name="kind")
    with pytest.raises(UserError, match="both empty cells and -1"):
        read_target(column)
    assert read_target(column, [marker]).codes.tolist() == [0, -1, -1, 1, -1, 0]
    assert read_target(column, [""]).classes == [marker, "cat", "dog"]
