"""Tables in and out: CSV, TSV and Parquet, every cell and header that is not ours untouched."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd

from weakly.cli._errors import UserError, did_you_mean

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a file under its own headers, which may repeat, and the way to write them back.

    Text files hold only text: a cell ``007`` must come back as ``007``, whatever number it is learnt as.
    """

    cells: pd.DataFrame
    writer: Callable
    notes: tuple = ()

    def require_column(self, name):
        """Refuse a name that no column has, and say which come near."""
        if name not in self.cells.columns:
            hint = did_you_mean(name, self.cells.columns)
            if self.cells.shape[1] == 1:
                hint += f" One column only: are the fields separated by {_either(_SEPARATORS.values())}?"
            raise UserError(f"no column {name!r} in the table: {hint}")

    def position(self, name):
        """Return where the one column of that name stands."""
        self.require_column(name)
        positions = [place for place, head in enumerate(self.cells.columns) if head == name]
        if len(positions) > 1:
            raise UserError(f"{len(positions)} columns are named {name!r}: rename all but the one to fill.")
        return positions[0]

    def write(self, frame, path):
        """Write a frame the way the table was read."""
        try:
            self.writer(frame, path)
        except OSError as error:
            raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def read_table(path):
    """Read a table in the format its suffix names."""
    try:
        reader = _READERS[path.suffix.lower()]
    except KeyError:
        raise UserError(
            f"{str(path)!r} has the unsupported suffix {path.suffix!r}: use one of {', '.join(_READERS)}."
        ) from None
    try:
        table = reader(path)
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = " (save the table as UTF-8)" if isinstance(error, UnicodeDecodeError) else ""
        raise UserError(f"cannot read {str(path)!r}: {reason}{hint}") from None
    if table.cells.empty:
        raise UserError(f"{str(path)!r} holds no rows.")
    return table


def output_path(source, out, *, force=False):
    """Return where the filled table goes, having checked it before any work is done."""
    out = out or source.with_name(f"{source.stem}.labeled{source.suffix}")
    if out.resolve() == source.resolve():
        raise UserError(f"--out {str(out)!r} is the table itself: choose another name.")
    if out.suffix.lower() != source.suffix.lower():
        raise UserError(f"--out {str(out)!r} must end in {source.suffix!r} like the table.")
    require_free(out, force=force)
    return out


def require_free(path, *, force=False):
    """Refuse a file to be written where there is no directory or, unless forced, where there is a file."""
    if not path.parent.is_dir():
        raise UserError(f"cannot write {str(path)!r}: the directory {str(path.parent)!r} does not exist.")
    if path.exists() and not force:
        raise UserError(f"{str(path)!r} exists already: add --force to overwrite it.")


def _read_text(path, separators):
    text, encoding = _decode(path.read_bytes())
    separator = _find_separator(text, separators)
    # The header is read as a row like any other: pandas would rename repeated and empty names.
    rows = pd.read_csv(io.StringIO(text), sep=separator, header=None, dtype=str, na_filter=False)
    cells = rows.iloc[1:].reset_index(drop=True).set_axis(rows.iloc[0].tolist(), axis=1)
    notes = []
    if separator != separators[0]:
        notes.append(f"the fields are separated by {_SEPARATORS[separator]}; the result is written alike.")
    if encoding == "cp1252":
        notes.append("the file is not UTF-8: read, and written, as Windows-1252 (Latin).")
    writer = partial(pd.DataFrame.to_csv, sep=separator, encoding=encoding, index=False)
    return Table(cells, writer, tuple(notes))


def _decode(raw):
    """Return the text of a file and its encoding."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16"), "utf-16"
    if raw.startswith(codecs.BOM_UTF8):
        return raw.decode("utf-8-sig"), "utf-8-sig"
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return raw.decode("cp1252"), "cp1252"


def _find_separator(text, separators):
    """Return the separator that the header holds most often outside quotes, the first of them on a tie."""
    header = re.sub(r'"[^"]*"', "", text.lstrip().partition("\n")[0])
    return max(separators, key=header.count)


def _read_parquet(path):
    return Table(pd.read_parquet(path), pd.DataFrame.to_parquet)


_READERS = {
    ".csv": partial(_read_text, separators=tuple(_SEPARATORS)),
    ".tsv": partial(_read_text, separators=("\t",)),
    ".parquet": _read_parquet,
}


def _either(words):
    *first, last = words
    return f"{', '.join(first)} or {last}"
