"""Stored results beside the published ones, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers._environment import source_hash
from benchmarks.papers._model import Paper, Table
from benchmarks.papers._run import result_path
from benchmarks.papers._store import Store


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a table: ours, the paper's, and the target.

    Parameters
    ----------
    row, column : str
        Its place.
    values : tuple of float
        Our number for each seed.
    published, target : float or None
        The paper's number and this project's.
    lower_is_better : bool
        Whether a smaller number wins.

    Examples
    --------
    >>> from benchmarks.papers import Entry
    >>> entry = Entry("SVM", "5", (10.0, 12.0), published=8.0, target=11.5, lower_is_better=True)
    >>> entry.mean, round(entry.standard_deviation, 3), entry.behind, entry.on_target
    (11.0, 1.414, True, True)
    """

    row: str
    column: str
    values: tuple[float, ...]
    published: float | None
    target: float | None
    lower_is_better: bool

    @property
    def mean(self) -> float:
        """Mean over the seeds; NaN without results."""
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def standard_deviation(self) -> float:
        """Sample standard deviation over the seeds; NaN below two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else float("nan")

    @property
    def behind(self) -> bool:
        """Whether ours is worse than the paper's by more than two standard errors of our mean."""
        if self.published is None or len(self.values) < 2:
            return False
        margin = 2 * self.standard_deviation / np.sqrt(len(self.values))
        return bool(self._deficit(self.published) > margin)

    @property
    def on_target(self) -> bool | None:
        """Whether our mean meets the target; None where there is no target or no result."""
        if self.target is None or not self.values:
            return None
        return self._deficit(self.target) <= 0

    def beats(self, other: Entry) -> bool:
        """Whether the mean is better than another's.

        Parameters
        ----------
        other : Entry
            An entry of the same table.

        Returns
        -------
        bool
            False where either has no result.
        """
        return self._deficit(other.mean) < 0

    def off_by(self) -> float | None:
        """How much better than the paper's ours is, negative if worse; None where one is missing.

        Returns
        -------
        float or None
            In units of the table.
        """
        return None if self.published is None or not self.values else -self._deficit(self.published)

    def _deficit(self, reference: float) -> float:
        return self.mean - reference if self.lower_is_better else reference - self.mean


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table with the stored results in place: every entry, measured or not, by row and column.

    ``records`` are the stored records that count.
    """

    table: Table
    entries: dict[tuple[str, str], Entry]
    records: tuple[dict[str, Any], ...]

    @property
    def ours(self) -> list[Entry]:
        """Measured entries of this project's methods."""
        return [entry for entry in self.entries.values() if entry.values and not self._is_rival(entry)]

    @property
    def ahead(self) -> list[Entry]:
        """Measured entries of rivals with a better mean than every row of ours in their column."""
        return [
            rival
            for rival in self.entries.values()
            if self._is_rival(rival)
            and (ours := [entry for entry in self.ours if entry.column == rival.column])
            and all(rival.beats(entry) for entry in ours)
        ]

    def beside(self, row: str, column: str) -> dict[str, float]:
        """Means over the seeds of what else the table shows of an entry.

        Parameters
        ----------
        row, column : str
            Place of the entry.

        Returns
        -------
        dict of str to float
            Only what was stored.
        """
        here = [record for record in self.records if (record["row"], record["column"]) == (row, column)]
        found = {name: [record[name] for record in here if name in record] for name in self.table.beside}
        return {name: float(np.mean(values)) for name, values in found.items() if values}

    @property
    def n_outdated(self) -> int:
        """Number of records measured with another version of the source than this one."""
        return sum(record.get("source") != source_hash() for record in self.records)

    def _is_rival(self, entry: Entry) -> bool:
        return entry.row in self.table.rivals


def compare(paper: Paper, table: Table, results: str | Path) -> Comparison:
    """Put the stored results of a table into its places.

    Parameters
    ----------
    paper : Paper
        The paper.
    table : Table
        One of its tables.
    results : str or Path
        Folder of the stored results.

    Returns
    -------
    Comparison
        Results of other settings than today's are left out.

    Examples
    --------
    >>> from benchmarks.papers import compare
    >>> from benchmarks.papers._run import demo_results
    >>> with demo_results() as (paper, folder):
    ...     len(compare(paper, paper.tables[0], folder).records)
    2
    """
    fingerprints = {row: table.fingerprint(row) for row in table.settings}
    current = {
        cell: record
        for cell, record in Store(result_path(results, paper, table)).finished().items()
        if fingerprints.get(cell.row) == cell.fingerprint
    }
    values: dict[tuple[str, str], list[float]] = {}
    for cell, record in sorted(current.items(), key=lambda item: item[0].seed):
        values.setdefault((cell.row, cell.column), []).append(record["value"])
    entries = {
        place: Entry(
            *place,
            values=tuple(values.get(place, ())),
            published=table.published.get(place),
            target=table.targets.get(place),
            lower_is_better=table.lower_is_better,
        )
        for place in ((row, column) for row in table.rows for column in table.columns)
    }
    return Comparison(table, entries, tuple(current.values()))
