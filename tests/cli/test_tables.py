import gzip
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from weakly.cli._errors import UserError
from weakly.cli._tables import output_path, read_table, require_free

GZIPPED = gzip.compress(b"a,b\n1,2\n", mtime=0)  # the same bytes in every process: they name the test


def written_again(path):
    """Read a table, write it, and return the bytes of the copy."""
    table = read_table(path)
    copy = path.with_stem("again")
    table.write(table.cells, copy)
    return copy.read_bytes()


def test_text_cells_come_back_as_they_were(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,flag,note\n007, TRUE ,a\n,false,NA\n")
    assert read_table(path).cells.to_numpy().tolist() == [["007", " TRUE ", "a"], ["", "false", "NA"]]
    assert written_again(path) == path.read_bytes()


def test_headers_come_back_as_they_were(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,a,b,,species\n1,2,3,4,x\n")
    assert written_again(path) == path.read_bytes()
    assert read_table(path).position("species") == 4
    with pytest.raises(UserError, match="2 columns are named 'a'"):
        read_table(path).position("a")


@pytest.mark.parametrize(
    ("separator", "suffix"), [(",", ".csv"), (";", ".csv"), ("\t", ".csv"), ("|", ".csv"), ("\t", ".tsv")]
)
def test_separators(tmp_path, separator, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_text(
        f'"a; b, c|d"{separator}b{separator}c\n1,5{separator}2{separator}3\n'.replace(
            "1,5", '"1,5"' if separator == "," else "1,5"
        )
    )
    table = read_table(path)
    assert list(table.cells.columns) == ["a; b, c|d", "b", "c"]
    assert table.cells.iloc[0].tolist() == ["1,5", "2", "3"]
    assert len(table.notes) == (suffix == ".csv" and separator != ",")
    copy = written_again(path).decode()
    assert copy.splitlines()[1] == path.read_text().splitlines()[1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nné,3\n".encode(encoding))
    table = read_table(path)
    assert table.cells.columns.tolist() == ["a", "b"]
    assert table.cells.iloc[0].tolist() == ["né", "3"]
    assert [("Windows-1252" in note) for note in table.notes] == [True] * (encoding == "cp1252")
    assert written_again(path) == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "line", "n_fields"),
    [
        ("a,b\n1,2\n1\n", 3, 1),
        ("a,b\n1,2,3\n", 2, 3),
        ('a,b\n"x\ny",2\n\n1,2,3\n', 5, 3),
        ("a,b\r\n1,2\r\n1,2,3,4\r\n", 3, 4),
        ('a,b\n"1,2",3\n1,"2",3\n', 3, 3),
    ],
    ids=["short", "long", "below a cell of two lines", "crlf", "quoted"],
)
def test_rows_of_another_width_are_refused(tmp_path, text, line, n_fields):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(UserError, match=rf"line {line} has {n_fields} fields?, the header has 2: complete"):
        read_table(path)


def test_blank_lines_are_passed_over(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n  \na,b\n\n1,2\n   \n3,4\n\n")
    assert read_table(path).cells.to_numpy().tolist() == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize(("suffix", "separator"), [(".csv.gz", ";"), (".tsv.gz", "\t"), (".CSV.GZ", ",")])
def test_compressed_text(tmp_path, suffix, separator):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(gzip.compress(f"a{separator}b\r\n1{separator}2\r\n".encode()))
    table = read_table(path)
    assert output_path(path, None) == tmp_path / f"t.labeled{suffix}"
    for name in ("one", "two"):
        table.write(table.cells, tmp_path / name)
    assert gzip.decompress((tmp_path / "one").read_bytes()) == gzip.decompress(path.read_bytes())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_parquet_keeps_types_and_index(tmp_path):
    frame = pd.DataFrame(
        {"y": pd.array([1, None], dtype="Int8"), "c": pd.Categorical(["a", "b"])}, index=[4, 4]
    )
    frame.to_parquet(tmp_path / "t.parquet")
    written_again(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "again.parquet"), frame)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "the file is empty: a table has a header and rows"),
        ("t.csv", b" \n\n", "the file is empty"),
        ("t.csv", b"a,b\n", "holds no rows"),
        ("t.csv", b'""\n', "holds no rows"),
        ("t.csv", b"a,b\n1,\x81\n", "the file is no text in utf-8 or cp1252: save the table as UTF-8."),
        ("t.csv", b"\xff\xfea", "the file is no text in utf-16: save"),
        ("t.csv", b'a,b\n1,2\n"1,2\n3,4\n', "a quote in the row that begins in line 3 is never closed"),
        ("t.csv", GZIPPED, "the file is compressed: let its name end in .gz"),
        ("t.csv.gz", b"a,b\n1,2\n", "Not a gzipped file"),
        ("t.csv.gz", GZIPPED[:-9], "cannot read"),
        ("t.parquet", b"nothing of the kind", "cannot read"),
        ("t.xlsx", b"", "cannot read"),
        ("t.xlsx", b"nothing of the kind", "cannot read"),
        ("t.ods", b"", "'.ods': use one of .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .xlsx"),
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
    assert output_path(source, Path("-")) == output_path(Path("-"), None) == Path("-")
    assert output_path(Path("-"), tmp_path / "other.csv") == tmp_path / "other.csv"
    with pytest.raises(UserError, match=r"must end in '\.csv'"):
        output_path(Path("-"), tmp_path / "other.parquet")


def test_the_table_itself_under_another_name_is_not_written(tmp_path):
    source = tmp_path / "a.csv"
    source.touch()
    os.link(source, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to("a.csv")
    for name in ("hard.csv", "soft.csv"):
        with pytest.raises(UserError, match="the table itself"):
            output_path(source, tmp_path / name, force=True)


def test_nothing_is_overwritten_unless_forced(tmp_path):
    source, taken = tmp_path / "a.csv", tmp_path / "a.labeled.csv"
    source.touch()
    taken.touch()
    with pytest.raises(UserError, match="exists already: add --force"):
        output_path(source, None)
    with pytest.raises(UserError, match="exists already: add --force"):
        require_free(taken)
    assert output_path(source, None, force=True) == taken
    with pytest.raises(UserError, match="the table itself"):
        output_path(source, source, force=True)
