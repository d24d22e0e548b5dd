"""Tables in and out: text, Parquet and Excel, every cell and header that is not ours untouched.

Of an Excel workbook it is the first sheet; only the cells that were filled are written, the others stay.
"""

from __future__ import annotations

import gzip
import io
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from zipfile import BadZipFile

import pandas as pd

from weakly.cli._errors import UserError, did_you_mean
from weakly.cli._files import STANDARD_STREAM, replacing, require_different, require_free
from weakly.cli._text import DEFAULT_DIALECT, SEPARATORS, Dialect, parse_text

_GZIP = b"\x1f\x8b"  # with which such files begin


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a file under its own headers, which may repeat, and the way to write them back.

    Text files hold only text: a cell ``007`` must come back as ``007``, whatever number it is learned as.
    ``dialect`` is how the table is written as text, whatever its own format.
    """

    cells: pd.DataFrame
    writer: Callable
    notes: tuple = ()
    dialect: Dialect = DEFAULT_DIALECT

    def require_column(self, name):
        """Refuse a name that no column has, and say which come near."""
        if name not in self.cells.columns:
            hint = did_you_mean(name, self.cells.columns)
            if self.cells.shape[1] == 1:
                hint += f" One column only: are the fields separated by {_either(SEPARATORS.values())}?"
            raise UserError(f"no column {name!r} in the table: {hint}")

    def position(self, name):
        """Return where the one column of that name stands."""
        self.require_column(name)
        positions = [place for place, head in enumerate(self.cells.columns) if head == name]
        if len(positions) > 1:
            raise UserError(f"{len(positions)} columns are named {name!r}: rename all but the one to fill.")
        return positions[0]

    def write(self, frame, path):
        """Write a frame the way the table was read, to the standard output as text."""
        with replacing(path) as file:
            (self.dialect.write if path == STANDARD_STREAM else self.writer)(frame, file)


def read_table(path):
    """Read a table in the format its suffix names, or text from the standard input for ``-``."""
    name = "the standard input" if path == STANDARD_STREAM else repr(str(path))
    reader = _READERS[_format_of(path)]
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_STREAM else path.read_bytes()
        table = reader(raw)
    except (OSError, EOFError, zlib.error, ValueError, NotImplementedError) as error:
        raise UserError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    if table.cells.empty:
        raise UserError(f"{name} holds no rows.")
    return table


def output_path(source, out, *, force=False, word="labeled"):
    """Return where the filled table goes, having checked it before any work is done."""
    suffix = "" if source == STANDARD_STREAM else source.name[-len(_format_of(source)) :]
    out = out or source.with_name(f"{source.name.removesuffix(suffix)}.{word}{suffix}" if suffix else "-")
    if out == STANDARD_STREAM:
        return out
    require_different({"the table": source, "--out": out})
    if not out.name.lower().endswith((suffix or ".csv").lower()):
        raise UserError(f"--out {str(out)!r} must end in {suffix or '.csv'!r} like the table.")
    require_free(out, force=force)
    return out


def _format_of(path):
    """Return the suffix in lower case; the standard streams hold CSV."""
    if path == STANDARD_STREAM:
        return ".csv"
    for suffix in _READERS:
        if path.name.lower().endswith(suffix):
            return suffix
    raise UserError(
        f"{str(path)!r} has the unsupported suffix {path.suffix!r}: use one of {', '.join(_READERS)}."
    )


def _read_text(raw, separators):
    if raw.startswith(_GZIP):
        raise UserError("the file is compressed: let its name end in .gz.")
    cells, dialect, notes = parse_text(raw, separators)
    return Table(cells, dialect.write, tuple(notes), dialect)


def _read_gzip(raw, separators):
    cells, dialect, notes = parse_text(gzip.decompress(raw), separators)
    return Table(cells, partial(_write_gzip, dialect=dialect), tuple(notes), dialect)


def _write_gzip(frame, file, dialect):
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:  # the same bytes for the same table
        dialect.write(frame, compressed)


def _read_parquet(raw):
    return Table(pd.read_parquet(io.BytesIO(raw)), pd.DataFrame.to_parquet)


def _read_workbook(raw):
    """Read the first sheet.

    The index counts the rows of the sheet from 0, the header's, for ``_write_workbook`` to find them again.
    """
    _require_openpyxl()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of openpyxl, about features that hold no cells
            with pd.ExcelFile(io.BytesIO(raw), engine="openpyxl") as book:
                names = book.sheet_names
                rows = pd.read_excel(book, header=None, dtype=object, keep_default_na=False, na_values=[""])
    except (BadZipFile, LookupError, SyntaxError, TypeError):  # the third of broken XML
        raise UserError("the file is no Excel workbook, or damaged.") from None
    if rows.empty:
        raise UserError(f"the first sheet, {names[0]!r}, is empty: a table has a header and rows.")
    heads = ["" if pd.isna(head) else str(head) for head in rows.iloc[0]]
    cells = rows.iloc[1:].dropna(how="all").set_axis(heads, axis=1)
    notes = (f"of {len(names)} sheets the first one, {names[0]!r}, is used.",) if len(names) > 1 else ()
    return Table(cells, partial(_write_workbook, raw=raw, cells=cells), notes)


def _write_workbook(frame, file, *, raw, cells):
    """Write the workbook again with new columns and the cells that differ from those read."""
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        book = load_workbook(io.BytesIO(raw))
    sheet = book.worksheets[0]
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if place < cells.shape[1]:
            column = column[column.notna() & (column != cells.iloc[:, place])]
        else:
            _set(sheet.cell(1, place + 1), name)
        for row, value in column.items():
            _set(sheet.cell(row + 1, place + 1), value)
    book.save(file)


def _set(cell, value):
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"  # text that begins with = is no formula


def _require_openpyxl():
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise UserError("tables in .xlsx need openpyxl: pip install 'weakly[xlsx]'") from None


_COMMA_OR_OTHER, _TAB = tuple(SEPARATORS), ("\t",)
_READERS = {
    ".csv": partial(_read_text, separators=_COMMA_OR_OTHER),
    ".tsv": partial(_read_text, separators=_TAB),
    ".csv.gz": partial(_read_gzip, separators=_COMMA_OR_OTHER),
    ".tsv.gz": partial(_read_gzip, separators=_TAB),
    ".parquet": _read_parquet,
    ".xlsx": _read_workbook,
}


def _either(words):
    *first, last = words
    return f"{', '.join(first)} or {last}"
