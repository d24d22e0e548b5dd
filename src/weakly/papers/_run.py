"""Measure the cells of a paper that are not stored yet."""

from __future__ import annotations

import math
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import joblib

from weakly.papers._environment import machine, versions
from weakly.papers._model import Cell, Paper, Table
from weakly.papers._store import Store

RESULTS = Path("benchmarks") / "results"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one cell.

    Parameters
    ----------
    cell : Cell
        Which one.
    status : {"stored", "skipped", "failed"}
        Skipped means that another run stored it first.
    error : str, default=""
        Traceback of a failed cell.
    """

    cell: Cell
    status: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did.

    Parameters
    ----------
    total : int
        Cells asked for.
    found : int
        Cells stored before, or meanwhile by another run.
    stored : int
        Cells this run stored.
    failures : tuple of Outcome
        Cells whose evaluation raised.
    """

    total: int
    found: int
    stored: int
    failures: tuple[Outcome, ...]

    def grouped_failures(self) -> dict[str, list[Outcome]]:
        """Group failures by the last line of their traceback.

        Returns
        -------
        dict of str to list of Outcome
            One entry per distinct error.
        """
        groups: dict[str, list[Outcome]] = {}
        for failure in self.failures:
            groups.setdefault(failure.error.strip().splitlines()[-1], []).append(failure)
        return groups


def run(
    paper: Paper,
    tables: Any = None,
    *,
    repeats: int | None = None,
    quick: bool = False,
    jobs: int = 1,
    results: str | Path = RESULTS,
    progress: Callable[[int, int, Outcome | None], Any] | None = None,
) -> Summary:
    """Measure what is missing of a paper's tables.

    Finished cells are stored at once, one line each, and never measured again: a run that was stopped, even
    killed, goes on where it was. Several runs may share a folder of results.

    Parameters
    ----------
    paper : Paper
        The paper.
    tables : str, list of str or None, default=None
        Keys of tables; None is all of them.
    repeats : int or None, default=None
        Seeds per entry; None leaves it to the table.
    quick : bool, default=False
        Take the few seeds of each table's quick run, a part of the full one.
    jobs : int, default=1
        Processes; they share the cores.
    results : str or Path, default="benchmarks/results"
        Folder of the stored results.
    progress : callable or None, default=None
        ``progress(done, total, outcome)``, called first with ``outcome=None`` and then after each cell.

    Returns
    -------
    Summary
        Counts, and the cells that failed with their tracebacks.

    Raises
    ------
    ValueError
        If ``repeats`` or ``jobs`` is below 1, or ``tables`` names no table.

    See Also
    --------
    render : Put the stored results beside the published ones.

    Examples
    --------
    >>> import tempfile
    >>> from weakly.papers import Paper, Table, run
    >>> table = Table("t1", "Squares", rows=("x",), columns=("2", "3"), settings={"x": {}},
    ...               evaluate=lambda settings, column, seed: int(column) ** 2)
    >>> paper = Paper("demo", "A demonstration", "nowhere", (table,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run(paper, repeats=2, results=folder)
    ...     again = run(paper, repeats=2, results=folder)
    >>> first.stored, again.stored, again.found
    (4, 0, 4)
    """
    for name, value in (("repeats", repeats), ("jobs", jobs)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}: give a whole number of at least 1.")
    wanted: list[tuple[Table, Cell]] = []
    finished: set[Cell] = set()
    for table in paper.select(tables):
        n_seeds = repeats or (table.quick_repeats if quick else table.repeats)
        wanted += [(table, cell) for cell in table.cells(paper.key, n_seeds)]
        finished |= Store(result_path(results, paper, table)).finished().keys()
    pending = [(table, cell) for table, cell in wanted if cell not in finished]

    report = progress or (lambda done, total, outcome: None)
    outcomes: list[Outcome] = []
    report(len(wanted) - len(pending), len(wanted), None)
    tasks = [(table, cell, result_path(results, paper, table)) for table, cell in _rotate(pending)]
    for outcome in _outcomes(tasks, jobs):
        outcomes.append(outcome)
        report(len(wanted) - len(pending) + len(outcomes), len(wanted), outcome)

    stored = sum(outcome.status == "stored" for outcome in outcomes)
    failures = tuple(outcome for outcome in outcomes if outcome.status == "failed")
    return Summary(len(wanted), len(wanted) - stored - len(failures), stored, failures)


def result_path(results: str | Path, paper: Paper, table: Table) -> Path:
    """Return where the cells of a table are stored."""
    return Path(results) / paper.key / f"{table.key}.jsonl"


def _rotate(pending: list[Any]) -> list[Any]:
    """Start somewhere else in each process, so that runs at the same time share the work."""
    start = os.getpid() % len(pending) if pending else 0
    return pending[start:] + pending[:start]


def _outcomes(tasks: list[tuple[Table, Cell, Path]], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from (_measure(*task) for task in tasks)
        return
    threads = max(1, joblib.cpu_count() // jobs)
    with joblib.parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=threads):
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(
            joblib.delayed(_measure)(*task) for task in tasks
        )


def _measure(table: Table, cell: Cell, path: Path) -> Outcome:
    """Evaluate one cell and store it, in whatever process this is."""
    store = Store(path)
    if cell in store.finished():
        return Outcome(cell, "skipped")
    settings = table.settings[cell.row]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            values = _as_values(table.evaluate(settings, cell.column, cell.seed))
    except Exception:
        return Outcome(cell, "failed", traceback.format_exc())
    measured = {
        **values,
        "seconds": round(time.perf_counter() - start, 4),
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "settings": settings,
        "versions": versions(),
        "machine": machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return Outcome(cell, "stored" if store.add(cell, measured) else "skipped")


def _as_values(measured: float | Mapping[str, Any]) -> dict[str, Any]:
    values = dict(measured) if isinstance(measured, Mapping) else {"value": measured}
    values["value"] = float(values["value"])
    if not math.isfinite(values["value"]):
        raise ValueError(f"evaluate returned {values['value']}: a cell must be a finite number.")
    return values
