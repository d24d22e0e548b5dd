"""Tables of text: separator, encoding, line ends and decimal mark are found, and written as found."""

from __future__ import annotations

import codecs
import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from weakly.cli._cells import has_decimal_comma
from weakly.cli._errors import UserError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
N_SEEN = 1000  # rows that show the decimal mark

_RECORD = re.compile(r'(?:[^"\r\n]|"[^"]*"?)*')
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a table is written as text."""

    separator: str = ","
    encoding: str = "utf-8"
    line_end: str = "\n"
    decimal: str = "."

    def write(self, frame, file):
        """Write a frame into a binary file."""
        text = io.TextIOWrapper(file, encoding=self.encoding, newline="")
        try:
            frame.to_csv(
                _Lines(text, self.line_end),
                sep=self.separator,
                decimal=self.decimal,
                lineterminator=_Lines.line_end,
                index=False,
            )
        finally:
            text.detach()  # flushed; the file stays open for its owner


DEFAULT_DIALECT = Dialect()


class _Lines:
    """What csv writes, a row at a time, with line ends of another kind.

    For csv itself a row has to end in both characters: Python 3.11 quotes no cell with a carriage return
    unless the line end has one.
    """

    line_end = "\r\n"

    def __init__(self, text, line_end):
        self._text, self._line_end = text, line_end

    def write(self, row):
        return self._text.write(row.removesuffix(self.line_end) + self._line_end)


def parse_text(raw, separators):
    """Return the cells of a text file, all as text under its own headers, with its dialect and notes."""
    text, encoding = _decode(raw)
    if not text.strip():
        raise UserError("the file is empty: a table has a header and rows.")
    body = text.lstrip(" \r\n")
    header = _RECORD.match(body)[0]
    separator = max(separators, key=re.sub(r'"[^"]*"', "", header).count)  # the first of them on a tie
    end = _LINE_END.match(body, len(header))
    line_end = end[0] if end else "\n"
    cells = _parse(text, separator, line_end)
    decimal = "," if has_decimal_comma(cells.head(N_SEEN)) else "."
    dialect = Dialect(separator, encoding, line_end, decimal)
    notes = []
    if separator != separators[0]:
        notes.append(f"the fields are separated by {SEPARATORS[separator]}; the result is written alike.")
    if encoding == "cp1252":
        notes.append("the file is not UTF-8: read, and written, as Windows-1252 (Latin).")
    return cells, dialect, notes


def _decode(raw):
    """Return the text of a file and its encoding."""
    encodings = ("utf-8", "cp1252")
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ("utf-16",)
    if raw.startswith(codecs.BOM_UTF8):
        encodings = ("utf-8-sig",)
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            return raw.decode(encoding), encoding
    raise UserError(f"the file is no text in {' or '.join(encodings)}: save the table as UTF-8.")


def _parse(text, separator, line_end):
    options = {"sep": separator, "dtype": str, "na_filter": False}
    options["header"] = None  # read as a row like any other: pandas would rename repeated and empty names
    scanned = text
    if line_end == "\n" and "\r\n" not in text:  # carriage returns are no line ends, even outside quotes
        options["lineterminator"], scanned = line_end, text.replace("\r", " ")
    try:
        rows = pd.read_csv(io.StringIO(text), **options)
    except pd.errors.ParserError as error:
        _require_one_width(scanned, separator, open_quote="EOF inside string" in str(error))
        raise
    _require_one_width(scanned, separator)  # pandas completes short rows in silence
    return rows.iloc[1:].reset_index(drop=True).set_axis(rows.iloc[0].tolist(), axis=1)


def _require_one_width(text, separator, open_quote=False):
    """Refuse lines with more or fewer fields than the header, and a quote that is never closed."""
    records = _records(text, separator)
    line, width = next(records, (1, 1))  # of a quoted nothing
    for line, n_fields in records:
        if n_fields != width and not open_quote:
            raise UserError(
                f"line {line} has {n_fields} field{'s' * (n_fields != 1)}, the header has {width}: complete "
                "the line, or quote the fields that hold a separator."
            )
    if open_quote:
        raise UserError(f"a quote in the row that begins in line {line} is never closed.")


def _records(text, separator):
    """Yield the line in which each row begins and its number of fields, as pandas counts them."""
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    begin = 1
    for fields in reader:
        if len(fields) > 1 or "".join(fields).strip():  # blank lines are passed over
            yield begin, len(fields)
        begin = reader.line_num + 1
