"""Columns of any kind to one matrix of features, and a line about every decision.

No column outweighs the others by its unit: standardized numbers, one-hot levels and tf-idf vectors of unit
length all differ by at most about 2 in squared distance between two unrelated rows, on average. Some columns
weigh less: numbers whose outliers are clipped, a rare true, categories of two or of one dominant level.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from weakly.cli._cells import MISSING_WORDS, how_read, read_cells, read_days, read_like
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
    """What becomes of a column: ``number``, ``category``, ``text`` or ``dropped``, and why.

    ``how`` names the way in which its cells are read, in this table and in others.
    """

    name: str
    kind: str
    detail: str
    how: str = ""
    values: pd.Series | None = None

    @property
    def used_as(self):
        return f"dropped: {self.detail}" if self.kind == "dropped" else self.detail


class TablePreparation(TransformerMixin, BaseEstimator):
    """Columns of a table as one matrix of features.

    What a column is, its levels, words, median and scale are those of the table it is fitted to, see
    ``columns_``. Columns of another table are found by name; cells that do not fit are missing, new levels
    count as rare ones.
    """

    def fit(self, frame, y=None):
        """Decide what the columns are, and learn what that takes."""
        self.fit_transform(frame)
        return self

    def fit_transform(self, frame, y=None):
        """Fit, and return the features: CSR where text or many levels make them sparse."""
        frame = frame.reset_index(drop=True)
        columns = [_judge(frame.iloc[:, place]) for place in range(frame.shape[1])]  # names may repeat
        self.columns_ = [replace(column, values=None) for column in columns]
        used = self._used(columns)
        if not used:
            reasons = (
                "; ".join(f"{column.name}: {column.detail}" for column in columns)
                or "the table has no other column"
            )
            raise UserError(f"no column is left to learn from ({reasons}).")
        keys = {
            kind: [key for key, column in used.items() if column.kind == kind]
            for kind in ("number", "category", "text")
        }
        keys["gaps"] = [key for key in keys["number"] if used[key].values.isna().any()]
        self.transformer_ = _transformer(keys, n_rows=len(frame))
        usable = pd.DataFrame({key: column.values for key, column in used.items()})
        matrix = self.transformer_.fit_transform(usable)
        for key in keys["text"]:  # plain numbers: each of NumPy's would be saved as an array
            words = self.transformer_.named_transformers_[f"text {key}"]
            words.vocabulary_ = {word: int(place) for word, place in words.vocabulary_.items()}
        return _as_rows(matrix)

    def transform(self, frame):
        """Return the features of another table with these columns, and maybe others, in any order."""
        usable = {key: _fill(column, values) for key, column, _, values in self._read(frame)}
        return _as_rows(self.transformer_.transform(pd.DataFrame(usable)))

    def notes(self, frame, expected=()):
        """Tell what of another table is not used or not understood; of columns, but for the expected ones."""
        known = {*_numbered(column.name for column in self.columns_), *_numbered(expected)}
        extra = [name for name, number in _numbered(frame.columns) if (name, number) not in known]
        if extra:
            yield f"columns that the model does not know are left out: {', '.join(map(repr, extra))}."
        levels = self._levels()
        for key, column, cells, values in self._read(frame):
            unread = cells[values.isna() & ~_is_blank(cells)]
            if len(unread):
                told = _told(unread.map(str))
                yield f"{column.name}: {len(unread)} of {len(cells)} cells taken as missing{told}."
            new = values[values.notna() & ~values.isin(levels[key])] if key in levels else values[:0]
            if len(new):
                which = f"new to the model, such as {', '.join(map(repr, new.unique()[:MAX_UNREAD]))}"
                yield f"{column.name}: {len(new)} of {len(cells)} cells of categories {which}."

    def _used(self, columns):
        return {str(place): column for place, column in enumerate(columns) if column.kind != "dropped"}

    def _levels(self):
        """Return the known categories of each column that has them."""
        encoder = self.transformer_.named_transformers_["levels"]
        keys = next(keys for name, _, keys in self.transformer_.transformers_ if name == "levels")
        return dict(zip(keys, encoder.categories_, strict=True)) if keys else {}

    def _read(self, frame):
        """Yield key, column, cells and values of each column that is used."""
        frame = frame.reset_index(drop=True)
        places = {head: place for place, head in enumerate(_numbered(frame.columns))}
        heads = list(_numbered(column.name for column in self.columns_))
        used = self._used(self.columns_)
        absent = [heads[int(key)][0] for key in used if heads[int(key)] not in places]
        if absent:
            raise UserError(
                f"the table has no column {', '.join(map(repr, absent))}, which the model learned from: add "
                "what is absent, with empty cells where values are unknown."
            )
        for key, column in used.items():
            cells = frame.iloc[:, places[heads[int(key)]]]
            yield key, column, cells, _read_again(cells, column.how)


def _numbered(names):
    """Yield each name with the number of times it came before."""
    before = Counter()
    for name in names:
        yield name, before[name]
        before[name] += 1


def _as_rows(matrix):
    return sp.csr_array(matrix) if sp.issparse(matrix) else matrix


def _transformer(keys, n_rows):
    numbers = make_pipeline(
        SimpleImputer(strategy="median"),
        StandardScaler(),
        FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP}),
    )
    levels = OneHotEncoder(
        min_frequency=_rare_below(n_rows),
        max_categories=MAX_LEVELS,
        handle_unknown="infrequent_if_exist",
    )
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
        return _number(name, _as_floats(column), "plain number")
    if kind == "boolean":
        return _scaled(name, _as_floats(column), "true/false as 1/0", "boolean")
    if kind in _DATE_TYPES:
        return _scaled(name, read_days(column), "date as days", "plain date")
    if kind in _DURATION_TYPES:
        return _scaled(name, _in_days(column), "duration in days", "duration")
    if kind == "string":
        reading = read_cells(column)
        return _judge_text(name, reading, how_read(column, reading))
    if kind == "categorical":
        return _words(name, _as_labels(column), "labels")
    return Column(name, "dropped", f"values of kind {kind!r}")


def _judge_text(name, reading, how):
    if not reading.values.count():
        return Column(name, "dropped", "empty")
    if reading.kind == "number":
        return _number(name, reading.values, how, reading.unread)
    if reading.kind == "boolean":
        return _scaled(name, reading.values, "true/false as 1/0", how)
    if reading.kind == "date":
        return _scaled(name, reading.values, "date as days", how, reading.unread)
    if reading.kind == "unclear date":
        return Column(name, "dropped", "dates with day and month in unclear order, write them as 2024-12-31")
    return _words(name, reading.values, how)


def _read_again(column, how):
    """Read a column of another table the way it was read in the first, whatever the type of its cells."""
    kind = pd.api.types.infer_dtype(column.dropna())
    if how == "labels":
        return _as_labels(column)
    if how == "duration" and kind in _DURATION_TYPES:
        return _in_days(column)
    if how in ("plain date", "day first", "month first") and kind in _DATE_TYPES:
        return read_days(column)
    is_numeric = how not in ("words", "duration", "plain date", "day first", "month first")
    if is_numeric and kind in (*_NUMBER_TYPES, "boolean"):
        return pd.Series(_as_floats(column))
    return read_like(_as_labels(column), how)


def _fill(column, values):
    """Fill what is missing in words, and take out numbers that are too large."""
    if column.kind == "number":
        return _in_range(values)
    return values.where(values.notna(), "" if column.kind == "text" else MISSING_LEVEL)


def _is_blank(cells):
    return cells.isna() | cells.astype(str).str.strip().str.lower().isin(MISSING_WORDS)


def _as_floats(column):
    return column.to_numpy(dtype=float, na_value=np.nan)


def _in_days(column):
    return pd.to_timedelta(column) / pd.Timedelta(days=1)


def _as_labels(column):
    return column.astype(object).map(str, na_action="ignore")


def _in_range(values):
    return values.where(values.abs() < TOO_LARGE)


def _number(name, values, how, unread=()):
    if len(values) > 1 and np.isfinite(values).all() and (np.diff(values) == 1).all():
        return Column(name, "dropped", "counts the rows")
    return _scaled(name, values, "number", how, unread)


def _scaled(name, values, what, how, unread=()):
    values = _in_range(pd.Series(values))
    if values.nunique(dropna=False) < 2:
        return Column(name, "dropped", "constant")
    n_missing = int(values.isna().sum())
    filled = f", {n_missing} missing{_told(unread)} set to the median and marked" if n_missing else ""
    return Column(name, "number", f"{what}, standardised{filled}", how, values)


def _told(unread):
    """Name a few of the cells that could not be read."""
    if not len(unread):
        return ""
    words = list(dict.fromkeys(unread))
    shown = [repr(word if len(word) <= 20 else word[:19] + "…") for word in words[:MAX_UNREAD]]
    return f" ({len(unread)} not read: {', '.join(shown)}{', ...' if len(words) > MAX_UNREAD else ''})"


def _words(name, column, how):
    present = column.dropna()
    n_levels = present.nunique()
    if n_levels > len(present) / 2 and present.map(_count_words).mean() >= 3:
        text = column.where(column.notna(), "")
        return Column(name, "text", f"text, tf-idf of up to {MAX_WORDS} words", how, text)
    if n_levels == len(present) > 1:
        return Column(name, "dropped", "every value differs, like an identifier")
    return _category(name, column.where(column.notna(), MISSING_LEVEL), how)


def _count_words(text):
    return len(WORD.findall(text))


def _category(name, values, how):
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
    return Column(name, "category", f"category, {kept} levels{grouped}", how, values)
