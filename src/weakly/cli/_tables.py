"""Tables in and out: CSV, TSV and Parquet, every cell that is not ours untouched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pandas as pd

from weakly.cli._errors import UserError, did_you_mean

MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")


@dataclass(frozen=True, slots=True)
class Table:
    """A table twice: typed for learning, and as it stands in the file for writing back.

    Text files hold only text: a cell ``007`` must come back as ``007``, whatever number it is learnt as.
    """

    typed: pd.DataFrame
    written: pd.DataFrame

    def column(self, name):
        """Return a typed column, or say which names come near."""
        if name not in self.typed.columns:
            hint = did_you_mean(name, self.typed.columns)
            if self.typed.shape[1] == 1:
                hint += " One column only: are the fields separated by something else than commas?"
            raise UserError(f"no column {name!r} in the table: {hint}")
        return self.typed[name]


def read_table(path):
    """Read a table in the format its suffix names."""
    reader, _ = _format(path)
    try:
        table = reader(path)
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = " (save the table as UTF-8)" if isinstance(error, UnicodeDecodeError) else ""
        raise UserError(f"cannot read {str(path)!r}: {reason}{hint}") from None
    if table.typed.empty:
        raise UserError(f"{str(path)!r} holds no rows.")
    return table


def write_table(frame, path):
    """Write a table in the format its suffix names."""
    _, writer = _format(path)
    try:
        writer(frame, path)
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def output_path(source, out):
    """Return where the filled table goes, having checked it before any work is done."""
    out = out or source.with_name(f"{source.stem}.labeled{source.suffix}")
    if out.resolve() == source.resolve():
        raise UserError(
            f"--out {str(out)!r} is the table itself: choose another name, nothing is overwritten."
        )
    if out.suffix.lower() != source.suffix.lower():
        raise UserError(f"--out {str(out)!r} must end in {source.suffix!r} like the table.")
    require_directory(out)
    return out


def require_directory(path):
    """Refuse a file to be written into a directory that does not exist."""
    if not path.parent.is_dir():
        raise UserError(f"cannot write {str(path)!r}: the directory {str(path.parent)!r} does not exist.")


def _format(path):
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMATS)
        raise UserError(
            f"{str(path)!r} has the unsupported suffix {path.suffix!r}: use one of {known}."
        ) from None


def _read_text(path, separator):
    written = pd.read_csv(
        path, sep=separator, dtype=str, na_filter=False, index_col=False, encoding="utf-8-sig"
    )
    return Table(typed=written.apply(_typed), written=written)


def _write_text(frame, path, separator):
    frame.to_csv(path, sep=separator, index=False)


def _read_parquet(path):
    frame = pd.read_parquet(path)
    return Table(typed=frame, written=frame)


_FORMATS = {
    ".csv": (partial(_read_text, separator=","), partial(_write_text, separator=",")),
    ".tsv": (partial(_read_text, separator="\t"), partial(_write_text, separator="\t")),
    ".parquet": (_read_parquet, pd.DataFrame.to_parquet),
}


def _typed(cells):
    """Read a column of text as true/false, as numbers, or leave it as text; missing words become missing."""
    text = cells.str.strip()
    lowered = text.str.lower()
    text = text.mask(lowered.isin(MISSING_WORDS))
    present = text.notna()
    if present.any() and lowered[present].isin(["true", "false"]).all():
        return (lowered == "true").astype("boolean").mask(~present)
    numbers = pd.to_numeric(text, errors="coerce")
    return numbers if numbers.notna().equals(present) else text
