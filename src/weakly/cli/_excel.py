"""The first sheet of an Excel workbook; only the cells that were filled are written, the others stay."""

from __future__ import annotations

import io
import warnings
from zipfile import BadZipFile

import pandas as pd

from weakly.cli._errors import UserError


def parse_workbook(raw):
    """Return the cells of a workbook's first sheet under its headers, and notes.

    The index counts the rows of the sheet from 0, the header's, for ``write_workbook`` to find them again.
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
    notes = [f"of {len(names)} sheets the first one, {names[0]!r}, is used."] if len(names) > 1 else []
    return cells, notes


def write_workbook(frame, file, *, raw, cells):
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
