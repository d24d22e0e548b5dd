import io

import pandas as pd
import pytest

from weakly.cli._text import DEFAULT_DIALECT, Dialect, parse_text

ANY = (",", ";", "\t", "|")


def text_of(frame, dialect=DEFAULT_DIALECT):
    file = io.BytesIO()
    dialect.write(frame, file)
    assert not file.closed
    return file.getvalue().decode(dialect.encoding)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_come_back_and_cells_keep_theirs(end):
    text = f'a,"b\n{end}",c{end}"x\r\ny","x\ny","x\ry"{end}1,2,3{end}'
    cells, dialect, _ = parse_text(text.encode(), ANY)
    assert dialect.line_end == end
    assert cells.to_numpy().tolist() == [["x\r\ny", "x\ny", "x\ry"], ["1", "2", "3"]]
    assert text_of(cells, dialect) == text


def test_the_separator_is_looked_for_in_a_header_of_several_lines():
    cells, dialect, _ = parse_text(b'"a,b\nc,d";e\n1;2\n', ANY)
    assert (dialect.separator, list(cells.columns)) == (";", ["a,b\nc,d", "e"])


def test_an_empty_first_name_does_not_hide_the_separator():
    cells, dialect, _ = parse_text(b"\tb\n1\t2\n", ANY)
    assert (dialect.separator, list(cells.columns)) == ("\t", ["", "b"])


@pytest.mark.parametrize(
    ("rows", "decimal"),
    [
        ("1,5;x\n2,25;y\n", ","),
        ("1.5;x\n2.25;y\n", "."),
        ("1;x\n2;y\n", "."),
        ("1,5;2.5\n2,5;3.5\n", "."),
        ("a, b;x\nc, d;y\n", "."),
        ("1,234;x\n2,345;y\n", "."),
    ],
    ids=["comma", "point", "none", "tie", "words", "thousands"],
)
def test_decimal_mark(rows, decimal):
    _, dialect, _ = parse_text(f"a;b\n{rows}".encode(), ANY)
    assert dialect.decimal == decimal


def test_numbers_are_written_with_the_mark_of_the_file():
    frame = pd.DataFrame({"text": ["1.5"], "number": [0.25]})
    assert text_of(frame, Dialect(separator=";", decimal=",")) == "text;number\n1.5;0,25\n"
    assert text_of(frame, Dialect(decimal=",")) == 'text,number\n1.5,"0,25"\n'


def test_nul_and_other_control_characters_come_back():
    text = "a,b\nx\x00y,\x1b[2J\x07\n"
    cells, dialect, _ = parse_text(text.encode(), ANY)
    assert text_of(cells, dialect) == text


def test_carriage_returns_that_end_no_line_need_no_quotes():
    cells, dialect, _ = parse_text(b"a,b\nx\ry,1\n\r,2\n", ANY)
    assert cells.to_numpy().tolist() == [["x\ry", "1"], ["\r", "2"]]
    assert text_of(cells, dialect) == 'a,b\n"x\ry",1\n"\r",2\n'


def test_large_cells():
    cells, _, _ = parse_text(b"a,b\n" + b"x" * 200_000 + b",2\n", ANY)
    assert len(cells["a"][0]) == 200_000
