"""Cells of text as truth values, numbers or dates: a column is what nearly all of its cells can be."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
ENOUGH = 0.95  # share of the cells that must be read; the others count as missing

# A currency sign first or right after the sign of the number, or a unit last.
_AFFIX = re.compile(r"(?<![^+-])[$€£¥]\s?|\s?[$€£¥%]$")
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
    text = cells.astype(object).str.strip()
    text = text.mask(text.str.lower().isin(MISSING_WORDS))
    truths = text.str.lower().map({"true": 1.0, "false": 0.0})
    if truths.count() == text.count():
        return _reading("boolean", truths, text)
    numbers = _read_numbers(text)
    if numbers.count() >= ENOUGH * text.count():
        return _reading("number", numbers, text)
    day_first, month_first = (_read_dates(text, order) for order in (r"\4-\3-\1", r"\4-\1-\3"))
    if max(day_first.count(), month_first.count()) < ENOUGH * text.count():
        return _reading("words", text, text)
    if day_first.count() == month_first.count() and not day_first.equals(month_first):
        return _reading("unclear date", text, text)
    return _reading("date", max(day_first, month_first, key=pd.Series.count), text)


def _reading(kind, values, text):
    return Reading(kind, values, text[values.isna() & text.notna()])


def _read_numbers(text):
    """Read numbers in the notation that fits more cells, decimal point or comma; a point on a tie."""
    plain = pd.to_numeric(text, errors="coerce").astype(float)
    if plain.count() == text.count():
        return plain
    bare = text.str.replace(_AFFIX, "", regex=True)
    with_point, with_comma = (_read_notation(bare, *marks) for marks in ((".", ","), (",", ".")))
    return with_comma if with_comma.count() > with_point.count() else with_point


def _read_notation(bare, decimal, thousands):
    whole = rf"(?:\d+|\d{{1,3}}(?:[{thousands}'\s]\d{{3}})+)"
    pattern = rf"[+-]?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][+-]?\d+)?"
    plain = bare.where(bare.str.fullmatch(pattern, na=False))
    plain = plain.str.replace(rf"[{thousands}'\s]", "", regex=True).str.replace(decimal, ".")
    return pd.to_numeric(plain, errors="coerce").astype(float)


def _read_dates(text, order):
    """Read dates, having put day, month and year in the order of ISO 8601."""
    iso = text.str.replace(_DAY_MONTH_YEAR, order, regex=True)
    return to_days(pd.to_datetime(iso, format="ISO8601", errors="coerce", utc=True))


def to_days(dates):
    """Return days since 1970, counted in milliseconds: finer units have no room for the year 9999."""
    since = dates.dt.as_unit("ms") - pd.Timestamp(0, tz="UTC").as_unit("ms")
    return since.dt.total_seconds() / 86400
