import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weakly.cli._errors import UserError
from weakly.cli._tables import output_path, read_table, write_table


def test_text_cells_are_typed_for_learning_and_kept_for_writing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,flag,note,big\n007, TRUE ,a,1e3\n,false,NA,\n010,n/a,b,2\n")
    table = read_table(path)
    np.testing.assert_array_equal(table.typed["zip"], [7, np.nan, 10])
    assert table.typed["flag"].tolist()[:2] == [True, False]
    assert table.typed["flag"].isna().tolist() == [False, False, True]
    assert table.typed["note"].isna().tolist() == [False, True, False]
    np.testing.assert_array_equal(table.typed["big"], [1000, np.nan, 2])
    write_table(table.written, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == path.read_text()


def test_a_column_with_one_word_among_numbers_is_text(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\t1\nx\t2\n")
    typed = read_table(path).typed
    assert typed["a"].tolist() == ["1", "x"]
    assert typed["b"].tolist() == [1, 2]


def test_byte_order_mark_and_short_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1\n2,3\n".encode("utf-8-sig"))
    typed = read_table(path).typed
    assert list(typed.columns) == ["a", "b"]
    np.testing.assert_array_equal(typed["b"], [np.nan, 3])


def test_parquet_keeps_types_and_index(tmp_path):
    frame = pd.DataFrame(
        {"y": pd.array([1, None], dtype="Int8"), "c": pd.Categorical(["a", "b"])}, index=[4, 4]
    )
    frame.to_parquet(tmp_path / "t.parquet")
    write_table(read_table(tmp_path / "t.parquet").written, tmp_path / "u.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "u.parquet"), frame)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "No columns"),
        ("t.csv", b"a,b\n", "holds no rows"),
        ("t.csv", b"a,b\n1,\xe9\n", "UTF-8"),
        ("t.csv", b'a,b\n"1,2\n', "EOF"),
        ("t.parquet", b"nothing of the kind", "cannot read"),
        ("t.xlsx", b"", "'.xlsx': use one of .csv, .tsv, .parquet"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(message)):
        read_table(tmp_path / name)


def test_absent_file_and_directory(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserError, match="Is a directory"):
        read_table(tmp_path / "folder.csv")


def test_output_path(tmp_path):
    source = tmp_path / "a.b.csv"
    source.touch()
    assert output_path(source, None) == tmp_path / "a.b.labeled.csv"
    assert output_path(source, tmp_path / "other.csv") == tmp_path / "other.csv"
    with pytest.raises(UserError, match="the table itself"):
        output_path(source, Path(tmp_path, "x", "..", "a.b.csv"))
    with pytest.raises(UserError, match=r"must end in '\.csv'"):
        output_path(source, tmp_path / "other.parquet")
    with pytest.raises(UserError, match="does not exist"):
        output_path(source, tmp_path / "nowhere" / "other.csv")
