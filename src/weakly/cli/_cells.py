"""Cells of text as truth values, numbers or dates: a column is what nearly all of its cells can be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
ENOUGH = 0.95  # share of the cells that must be read; the others count as missing

# A currency sign first or right after the sign of the number, or a unit last.
_AFFIX = re.compile(r"(?<![^+-])[$€£¥]\s?|\s?[$€£¥%]$")
_HAS_ALL_YEARS = pd.to_datetime(["9999-12-31"], errors="coerce").notna().all()  # from pandas 3 on
_DAY_MONTH_YEAR = re.compile(r"^(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")


@dataclass(frozen=True, slots=True)
class Reading:
    """A column as ``boolean``, ``number``, ``date`` (in days), ``unclear date`` or ``words``.

    ``unread`` holds the cells that are missing in ``values`` only because they could not be read.
    """

    kind: str
    values: pd.Series
    unread: pd.Series


def read_cells(cells):
    """Read a column of text."""
    text = _blank_to_missing(cells)
    truths = text.str.lower().map({"true": 1.0, "false": 0.0})
    if truths.count() == text.count():
        return _reading("boolean", truths, text)
    _, numbers = _read_numbers(text)
    if numbers.count() >= ENOUGH * text.count():
        return _reading("number", numbers.where(np.isfinite(numbers)), text)  # inf, 1e999
    day_first, month_first = (_read_dates(text, order) for order in (r"\4-\3-\1", r"\4-\1-\3"))
    if max(day_first.count(), month_first.count()) < ENOUGH * text.count():
        return _reading("words", text, text)
    if day_first.count() == month_first.count() and not day_first.equals(month_first):
        return _reading("unclear date", text, text)
    return _reading("date", max(day_first, month_first, key=pd.Series.count), text)


def has_decimal_comma(frame):
    """Whether more columns of text hold numbers with a decimal comma than with a point."""
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    if not any("," in cell for column in columns for cell in column):
        return False
    marks = [_decimal_mark(_blank_to_missing(column)) for column in columns]
    return marks.count(",") > marks.count(".")


def _decimal_mark(text):
    """Return the decimal mark of a column of numbers; None for other columns, and where no cell has one."""
    mark, numbers = _read_numbers(text)
    is_number = 0 < text.count() * ENOUGH <= numbers.count()
    return mark if is_number and text.str.contains(mark, regex=False).any() else None


def _blank_to_missing(cells):
    text = cells.astype(object).str.strip()
    return text.mask(text.str.lower().isin(MISSING_WORDS))


def _reading(kind, values, text):
    return Reading(kind, values, text[values.isna() & text.notna()])


def _read_numbers(text):
    """Return the decimal mark that fits more cells, a point on a tie, and the numbers read with it."""
    plain = pd.to_numeric(text, errors="coerce").astype(float)
    if plain.count() == text.count():
        return ".", plain
    bare = text.str.replace(_AFFIX, "", regex=True)
    with_point, with_comma = (_read_notation(bare, *marks) for marks in ((".", ","), (",", ".")))
    return (",", with_comma) if with_comma.count() > with_point.count() else (".", with_point)


def _read_notation(bare, decimal, thousands):
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{thousands}'\s]\d{{3}})+)"  # 0,126 is no 126
    pattern = rf"[+-]?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][+-]?\d+)?"
    plain = bare.where(bare.str.fullmatch(pattern, na=False))
    plain = plain.str.replace(rf"[{thousands}'\s]", "", regex=True).str.replace(decimal, ".")
    return pd.to_numeric(plain, errors="coerce").astype(float)


def _read_dates(text, order):
    """Read dates, having put day, month and year in the order of ISO 8601."""
    iso = text.str.replace(_DAY_MONTH_YEAR, order, regex=True)
    return read_days(iso, format="ISO8601")


def read_days(cells, **options):
    """Read dates as days since 1970; cells that are none are missing."""
    days = to_days(pd.to_datetime(cells, errors="coerce", utc=True, **options))
    if not _HAS_ALL_YEARS:
        lost = days.isna() & cells.notna()
        days[lost] = [_far_days(cell) for cell in cells[lost]]
    return days


def _far_days(cell):
    """Days to a date that pandas 2 has no room for, since it counts nanoseconds; NaN for any other cell."""
    try:
        date = datetime.fromisoformat(str(cell))
    except ValueError:
        return float("nan")
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    is_far = not pd.Timestamp.min.year < date.year < pd.Timestamp.max.year
    return (date - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1) if is_far else float("nan")


def to_days(dates):
    """Return days since 1970, counted in milliseconds: finer units have no room for the year 9999."""
    since = dates.dt.as_unit("ms") - pd.Timestamp(0, tz="UTC").as_unit("ms")
    return since.dt.total_seconds() / 86400


# How the cells of a column were read, the plainest first.
_HOW = {
    "boolean": ("boolean",),
    "number": ("plain number", "decimal point", "decimal comma"),
    "date": ("plain date", "day first", "month first"),
    "words": ("words",),
}


def how_read(cells, reading):
    """Name the plainest way of reading that gives what ``read_cells`` gave, for other tables."""
    for how in _HOW.get(reading.kind, ()):
        if read_like(cells, how).equals(_finite(reading.values)):
            return how
    return ""


def read_like(cells, how):
    """Read a column of text in one way, whatever else it may look like; cells that do not fit are missing."""
    text = _blank_to_missing(cells)
    match how:
        case "boolean":
            return text.str.lower().map({"true": 1.0, "false": 0.0})
        case "plain number":
            plain = pd.to_numeric(text, errors="coerce").astype(float)
            return _finite(plain.fillna(read_like(cells, "decimal point")) if plain.hasnans else plain)
        case "decimal point" | "decimal comma":
            marks = (".", ",") if how == "decimal point" else (",", ".")
            return _finite(_read_notation(text.str.replace(_AFFIX, "", regex=True), *marks))
        case "plain date":
            return read_days(text, format="ISO8601")
        case "day first" | "month first":
            return _read_dates(text, r"\4-\3-\1" if how == "day first" else r"\4-\1-\3")
        case "duration":
            return pd.to_timedelta(text, errors="coerce") / pd.Timedelta(days=1)
    return text


def _finite(values):
    """Infinite numbers as missing ones; words as they are."""
    return values.mask(values.abs() == float("inf")) if values.dtype.kind == "f" else values
