"""Columns of any kind to one matrix of features, and a line about every decision.

No column outweighs the others by its unit: standardised numbers, one-hot levels and tf-idf vectors of unit
length all differ by at most about 2 in squared distance between two unrelated rows, on average. Some columns
weigh less: numbers whose outliers are clipped, a rare true, categories of two or of one dominant level.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from weakly.cli._cells import read_cells, to_days
from weakly.cli._errors import UserError

CLIP = 3.0  # standard deviations; a nearly constant column would otherwise rule the distances
TOO_LARGE = 1e150  # sums of squares of such numbers overflow
MAX_LEVELS = 50
MAX_WORDS = 5000
WORD = re.compile(r"\w+")
MISSING_LEVEL = "(missing)"
MAX_UNREAD = 3

_NUMBER_TYPES = ("integer", "floating", "mixed-integer-float", "decimal")
_DATE_TYPES = ("datetime64", "datetime", "date")
_DURATION_TYPES = ("timedelta64", "timedelta")


@dataclass(frozen=True, slots=True)
class Column:
    """What becomes of a column: ``number``, ``category``, ``text`` or ``dropped``, and why."""

    name: str
    kind: str
    detail: str
    values: pd.Series | None = None

    @property
    def used_as(self):
        return f"dropped: {self.detail}" if self.kind == "dropped" else self.detail


def prepare_features(frame):
    """Turn columns into features.

    Returns the matrix (CSR where text or many levels make it sparse) and the list of ``Column`` decisions.
    """
    frame = frame.reset_index(drop=True)
    columns = [_judge(frame.iloc[:, place]) for place in range(frame.shape[1])]  # names may repeat
    used = {str(position): column for position, column in enumerate(columns) if column.kind != "dropped"}
    if not used:
        reasons = (
            "; ".join(f"{column.name}: {column.detail}" for column in columns)
            or "the table has no other column"
        )
        raise UserError(f"no column is left to learn from ({reasons}).")
    usable = pd.DataFrame({key: column.values for key, column in used.items()})
    keys = {
        kind: [key for key, column in used.items() if column.kind == kind]
        for kind in ("number", "category", "text")
    }
    keys["gaps"] = [key for key in keys["number"] if used[key].values.isna().any()]
    matrix = _transformer(keys, n_rows=len(frame)).fit_transform(usable)
    return (sp.csr_array(matrix) if sp.issparse(matrix) else matrix), columns


def _transformer(keys, n_rows):
    numbers = make_pipeline(
        SimpleImputer(strategy="median"),
        StandardScaler(),
        FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP}),
    )
    levels = OneHotEncoder(min_frequency=_rare_below(n_rows), max_categories=MAX_LEVELS)
    words = [
        (
            f"text {key}",
            TfidfVectorizer(sublinear_tf=True, max_features=MAX_WORDS, token_pattern=WORD.pattern),
            key,
        )
        for key in keys["text"]
    ]
    return ColumnTransformer(
        [
            ("numbers", numbers, keys["number"]),
            ("gaps", MissingIndicator(features="all"), keys["gaps"]),
            ("levels", levels, keys["category"]),
            *words,
        ]
    )


def _rare_below(n_rows):
    return max(2, n_rows // 200)


def _judge(column):
    """Decide what a column is, from its values."""
    name, present = column.name, column.dropna()
    kind = pd.api.types.infer_dtype(present)
    if present.empty:
        return Column(name, "dropped", "empty")
    if kind in _NUMBER_TYPES:
        return _number(name, _as_floats(column))
    if kind == "boolean":
        return _scaled(name, _as_floats(column), "true/false as 1/0")
    if kind in _DATE_TYPES:
        return _scaled(name, to_days(pd.to_datetime(column, utc=True, errors="coerce")), "date as days")
    if kind in _DURATION_TYPES:
        return _scaled(name, pd.to_timedelta(column) / pd.Timedelta(days=1), "duration in days")
    if kind == "string":
        return _judge_text(name, read_cells(column))
    if kind == "categorical":
        return _words(name, column.astype(object).map(str, na_action="ignore"))
    return Column(name, "dropped", f"values of kind {kind!r}")


def _judge_text(name, reading):
    if not reading.values.count():
        return Column(name, "dropped", "empty")
    if reading.kind == "number":
        return _number(name, reading.values, reading.unread)
    if reading.kind == "boolean":
        return _scaled(name, reading.values, "true/false as 1/0")
    if reading.kind == "date":
        return _scaled(name, reading.values, "date as days", reading.unread)
    if reading.kind == "unclear date":
        return Column(name, "dropped", "dates with day and month in unclear order, write them as 2024-12-31")
    return _words(name, reading.values)


def _as_floats(column):
    return column.to_numpy(dtype=float, na_value=np.nan)


def _number(name, values, unread=()):
    if len(values) > 1 and (np.diff(values) == 1).all():
        return Column(name, "dropped", "counts the rows")
    return _scaled(name, values, "number", unread)


def _scaled(name, values, what, unread=()):
    values = pd.Series(values)
    values = values.where(values.abs() < TOO_LARGE)
    if values.nunique(dropna=False) < 2:
        return Column(name, "dropped", "constant")
    n_missing = int(values.isna().sum())
    filled = f", {n_missing} missing{_told(unread)} set to the median and marked" if n_missing else ""
    return Column(name, "number", f"{what}, standardised{filled}", values)


def _told(unread):
    """Name a few of the cells that could not be read."""
    if not len(unread):
        return ""
    words = list(dict.fromkeys(unread))
    shown = [repr(word if len(word) <= 20 else word[:19] + "…") for word in words[:MAX_UNREAD]]
    return f" ({len(unread)} not read: {', '.join(shown)}{', ...' if len(words) > MAX_UNREAD else ''})"


def _words(name, column):
    present = column.dropna()
    n_levels = present.nunique()
    if n_levels > len(present) / 2 and present.map(_count_words).mean() >= 3:
        text = column.where(column.notna(), "")
        return Column(name, "text", f"text, tf-idf of up to {MAX_WORDS} words", text)
    if n_levels == len(present) > 1:
        return Column(name, "dropped", "every value differs, like an identifier")
    return _category(name, column.where(column.notna(), MISSING_LEVEL))


def _count_words(text):
    return len(WORD.findall(text))


def _category(name, values):
    counts = values.value_counts()
    if len(counts) == 1:
        return Column(name, "dropped", "constant")
    # The group of rare levels takes one of the places.
    places = MAX_LEVELS - (len(counts) > MAX_LEVELS)
    kept = min(int((counts >= _rare_below(len(values))).sum()), places)
    if kept == 0:
        return Column(name, "dropped", "no value occurs often enough")
    rare = len(counts) - kept
    grouped = f", {rare} rare ones grouped" if rare else ""
    return Column(name, "category", f"category, {kept} levels{grouped}", values)
