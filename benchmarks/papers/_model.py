"""What a paper is: its numbers as data, its protocol as one function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ACCURACY: dict[str, Any] = {"unit": "accuracy %", "lower_is_better": False}  # of a table


def by_place(
    numbers: Mapping[str, tuple[float | None, ...]], columns: tuple[str, ...]
) -> dict[tuple[str, str], float]:
    """Put the numbers of rows at their places in a table.

    Parameters
    ----------
    numbers : mapping of str to tuple
        Row to a number for each column; None leaves its place empty.
    columns : tuple of str
        Columns.

    Returns
    -------
    dict
        Row and column to number.
    """
    return {
        (row, column): float(value)
        for row, values in numbers.items()
        for column, value in zip(columns, values, strict=True)
        if value is not None
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: an entry of a table, for one seed.

    Parameters
    ----------
    paper, table, row, column : str
        Where the number belongs.
    seed : int
        The draw, from 0.
    fingerprint : str
        Hash of the settings behind the number, so that results of other settings never count as this one.
    """

    paper: str
    table: str
    row: str
    column: str
    seed: int
    fingerprint: str


@dataclass(frozen=True)
class Table:
    """A published table, and how to measure it again.

    Parameters
    ----------
    key : str
        Short name; the results are stored in a file of that name.
    caption : str
        What the table shows.
    rows, columns : tuple of str
        Names in the order of printing. Rows without settings are printed with the published numbers only.
    evaluate : callable
        ``evaluate(settings, column, seed)`` returns the number of one cell, or a mapping with the number
        under "value" and anything else worth storing. Must be a module-level function, so that it can run
        in another process.
    settings : mapping of str to mapping
        Row to everything that decides its numbers: data, method, parameters. Must be JSON.
    published : mapping of (row, column) to float
        The paper's numbers.
    targets : mapping of (row, column) to float
        The numbers this project aims at: at most this where lower is better, else at least this.
    reference : str
        What to call the source of the published numbers.
    unit : str
        What the numbers are.
    column_title : str
        What the columns vary.
    lower_is_better : bool
        Whether a smaller number wins.
    repeats, quick_repeats : int
        Seeds per cell in a full and in a quick run.
    rivals : tuple of str
        Rows measured here that are not methods of this project; the scoreboard does not count them.
    baseline : str
        Row that the other measured rows are held against over all columns, for tables whose columns are
        data sets; none if empty.
    mean_targets : mapping of str to float
        Row to the number this project aims at with the mean over all columns; shown beside the baseline.
    not_behind : mapping of str to tuple of str
        Row to rows that it should not do worse than; the page says in which columns it does.
    near : float
        How far from a published number one of ours may be to be called near to it; the page counts the
        columns of each row that are, unless it is 0.
    beside : tuple of str
        What else ``evaluate`` returns that belongs on the page; means over the seeds are shown.
    datasets : tuple of str
        What ``weakly.datasets.load`` must find for the table to be measured.
    differs : str
        Where this protocol departs from the paper's, and why.
    version : int
        Raise it when ``evaluate`` changes its meaning: stored results of other versions are left out.

    See Also
    --------
    Paper : Tables with a title and a reference.

    Examples
    --------
    >>> from benchmarks.papers import Paper
    >>> (table,) = Paper.demo(("2", "3")).tables
    >>> [(cell.column, cell.seed) for cell in table.cells("demo", repeats=2)]
    [('2', 0), ('2', 1), ('3', 0), ('3', 1)]
    """

    key: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    evaluate: Callable[[Mapping[str, Any], str, int], float | Mapping[str, Any]]
    settings: Mapping[str, Mapping[str, Any]]
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    targets: Mapping[tuple[str, str], float] = field(default_factory=dict)
    reference: str = "paper"
    unit: str = "error %"
    column_title: str = "labels per class"
    lower_is_better: bool = True
    repeats: int = 10
    quick_repeats: int = 2
    rivals: tuple[str, ...] = ()
    baseline: str = ""
    mean_targets: Mapping[str, float] = field(default_factory=dict)
    not_behind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    near: float = 0.0
    beside: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    differs: str = ""
    version: int = 1

    def __post_init__(self) -> None:
        others = [row for rows in self.not_behind.values() for row in rows]
        for name, extra in (("settings", ()), ("rivals", ()), ("mean_targets", ()), ("not_behind", others)):
            unknown = {*getattr(self, name), *extra} - set(self.rows)
            if unknown:
                raise ValueError(
                    f"{name} of table {self.key!r} name rows it does not have: {sorted(unknown)}."
                )
        if self.baseline and self.baseline not in self.settings:
            raise ValueError(f"baseline {self.baseline!r} of table {self.key!r} is no row with settings.")
        for name in ("published", "targets"):
            for row, column in getattr(self, name):
                if row not in self.rows or column not in self.columns:
                    raise ValueError(f"{name} of table {self.key!r} has no place for {(row, column)!r}.")

    def fingerprint(self, row: str) -> str:
        """Hash what decides the numbers of a row.

        Parameters
        ----------
        row : str
            A row with settings.

        Returns
        -------
        str
            Twelve hexadecimal digits.
        """
        content = json.dumps([self.version, self.settings[row]], sort_keys=True, allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def cells(self, paper: str, repeats: int) -> Iterator[Cell]:
        """Enumerate the measurements of the table, row by row.

        Parameters
        ----------
        paper : str
            Key of the paper.
        repeats : int
            Seeds per entry.

        Yields
        ------
        Cell
            Row by row, so that what a method computes once per data set can be reused.
        """
        for row in self.rows:
            if row not in self.settings:
                continue
            fingerprint = self.fingerprint(row)
            for column in self.columns:
                for seed in range(repeats):
                    yield Cell(paper, self.key, row, column, seed, fingerprint)


def table_of(
    methods: Mapping[str, Mapping[str, Any]],
    columns: tuple[str, ...],
    published: Mapping[str, tuple[float | None, ...]] | None = None,
    **rest: Any,
) -> Table:
    """Make a table of the methods that are measured, then of rows that are published only.

    Parameters
    ----------
    methods : mapping of str to mapping
        Row to its settings.
    columns : tuple of str
        Columns.
    published : mapping of str to tuple, default=None
        Row to a number for each column.
    **rest : object
        Further fields of the table.

    Returns
    -------
    Table
        Published rows come after the measured ones.
    """
    published = published or {}
    return Table(
        rows=(*methods, *(row for row in published if row not in methods)),
        columns=columns,
        settings=methods,
        published=by_place(published, columns),
        **rest,
    )


@dataclass(frozen=True)
class Paper:
    """A set of published tables.

    Parameters
    ----------
    key : str
        Short name; also the folder of its results.
    title : str
        Title.
    reference : str
        Authors, venue and year.
    tables : tuple of Table
        The tables measured here.

    See Also
    --------
    load : A paper by its key.
    """

    key: str
    title: str
    reference: str
    tables: tuple[Table, ...]

    @classmethod
    def demo(cls, columns: tuple[str, ...] = ("2",)) -> Paper:
        """Make a paper of one table with the squares of its columns, for examples.

        Parameters
        ----------
        columns : tuple of str, default=("2",)
            Numbers.

        Returns
        -------
        Paper
            Its table has one row, "x".
        """
        squares = table_of(
            {"x": {"power": 2}},
            columns,
            {"x": tuple(float(column) ** 2 for column in columns)},
            key="t1",
            caption="Squares",
            evaluate=lambda settings, column, seed: int(column) ** settings["power"],
        )
        return cls("demo", "A demonstration", "nowhere", (squares,))

    def select(self, keys: Any = None) -> tuple[Table, ...]:
        """Return some of the tables.

        Parameters
        ----------
        keys : str, list of str or None, default=None
            Keys of tables; None is all of them.

        Returns
        -------
        tuple of Table
            In the order of the paper.

        Raises
        ------
        ValueError
            If a key names no table.
        """
        if keys is None:
            return self.tables
        wanted = {keys} if isinstance(keys, str) else set(keys)
        known = [table.key for table in self.tables]
        if wanted - set(known):
            raise ValueError(
                f"tables={sorted(wanted - set(known))} of paper {self.key!r} not found: choose from {known}."
            )
        return tuple(table for table in self.tables if table.key in wanted)
