"""Measure the cells of a paper that are not stored yet."""

from __future__ import annotations

import math
import os
import random
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import joblib

from benchmarks.papers._environment import environment
from benchmarks.papers._model import Cell, Paper, Table
from benchmarks.papers._store import Store
from weakly.datasets._load import find_file
from weakly.exceptions import FitInterruptedWarning

RESULTS = Path("benchmarks") / "results"
_ALONE = threading.Lock()
Task = tuple[Table, Cell, Path]  # a cell, and where it is stored


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one cell: "stored"; "skipped", as another run stored it first; or "failed".

    ``error`` is the traceback of a failed cell.
    """

    cell: Cell
    status: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did.

    Of the ``total`` of cells asked for, so many were ``found``, stored before or meanwhile by another run,
    and so many were ``stored`` by this one. ``failures`` are the cells whose evaluation raised.
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
    scheduler: Any = None,
    fresh: bool = False,
    results: str | Path = RESULTS,
    progress: Callable[[int, int, Outcome | None], Any] | None = None,
) -> Summary:
    """Measure what is missing of a paper's tables.

    Finished cells are stored at once, one line each, and not measured again: a run that was stopped, even
    killed, goes on where it was. Several runs at the same time may share a folder of results and the work.

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
    scheduler : str, cluster or None, default=None
        Address of a Dask scheduler whose workers measure, instead of processes here; see
        :func:`weakly.distributed.connect`. They need the package and the data, results are stored here.
    fresh : bool, default=False
        Forget the stored results of these tables first, those of more seeds included.
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
        If ``repeats`` or ``jobs`` is below 1, ``tables`` names no table, or the data of a table that has
        cells to measure is absent.

    See Also
    --------
    render : Put the stored results beside the published ones.

    Examples
    --------
    >>> import tempfile
    >>> from benchmarks.papers import Paper, run
    >>> paper = Paper.demo(("2", "3"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run(paper, repeats=2, results=folder)
    ...     again = run(paper, repeats=2, results=folder)
    >>> first.stored, again.stored, again.found
    (4, 0, 4)
    """
    for name, value in (("repeats", repeats), ("jobs", jobs)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}: give a whole number of at least 1.")
    total = 0
    tasks: list[Task] = []
    for table in paper.select(tables):
        path = result_path(results, paper, table)
        finished = {} if fresh else Store(path).finished()
        cells = list(table.cells(paper.key, repeats or (table.quick_repeats if quick else table.repeats)))
        tasks += [(table, cell, path) for cell in cells if cell not in finished]
        total += len(cells)
    for name in sorted({name for table, _, _ in tasks for name in table.datasets}):
        find_file(name)
    report = progress or (lambda done, total, outcome: None)
    outcomes: list[Outcome] = []
    with _connected(scheduler) as client:
        for path in {path for _, _, path in tasks} if fresh else ():
            Store(path).clear()
        report(total - len(tasks), total, None)
        for outcome in _outcomes(_shuffled(tasks), jobs, client):
            outcomes.append(outcome)
            report(total - len(tasks) + len(outcomes), total, outcome)

    stored = sum(outcome.status == "stored" for outcome in outcomes)
    failures = tuple(outcome for outcome in outcomes if outcome.status == "failed")
    return Summary(total, total - stored - len(failures), stored, failures)


@contextmanager
def demo_results() -> Iterator[tuple[Paper, Path]]:
    """A small paper and the folder of its results, for as long as an example needs them."""
    with tempfile.TemporaryDirectory() as folder:
        paper = Paper.demo()
        run(paper, repeats=2, results=folder)
        yield paper, Path(folder)


def result_path(results: str | Path, paper: Paper, table: Table) -> Path:
    """Return where the cells of a table are stored."""
    return Path(results) / paper.key / f"{table.key}.jsonl"


def _shuffled(tasks: list[Task]) -> list[Task]:
    """Order the cells differently in each process, so that runs at the same time share the work.

    The cells of a row stay together, and so do those of a column in it: what a method computes once per data
    set is then reused.
    """
    order = random.Random()

    def groups(tasks: list[Task], *names: str) -> list[list[Task]]:
        found = groupby(tasks, key=lambda task: [getattr(task[1], name) for name in names])
        together = [list(cells) for _, cells in found]
        return order.sample(together, len(together))

    return [
        task
        for row in groups(tasks, "table", "row")
        for cells in groups(row, "column")
        for task in order.sample(cells, len(cells))
    ]


def _connected(scheduler: Any) -> AbstractContextManager[Any]:
    if scheduler is None:
        return nullcontext()
    from weakly.distributed import connect

    return connect(scheduler)


def _outcomes(tasks: list[Task], jobs: int, client: Any) -> Iterator[Outcome]:
    if client is not None:
        yield from _outcomes_of_cluster(tasks, client)
        return
    if jobs == 1:
        yield from (_measure(*task) for task in tasks)
        return
    threads = max(1, joblib.cpu_count() // jobs)
    with joblib.parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=threads):
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(
            joblib.delayed(_measure_for)(os.getpid(), *task) for task in tasks
        )


def _outcomes_of_cluster(tasks: list[Task], client: Any) -> Iterator[Outcome]:
    """Workers evaluate, and this process stores."""
    from weakly.distributed import spread

    for place, measured in spread(client, _evaluate_alone, [(table, cell) for table, cell, _ in tasks]):
        yield _stored(*tasks[place][1:], measured)


def _evaluate_alone(table: Table, cell: Cell) -> dict[str, Any] | str:
    """One cell at a time in a process, whatever threads it has: warnings are caught for all of them."""
    with _ALONE:
        return _evaluate(table, cell)


def _measure_for(parent: int, *task: Any) -> Outcome:
    """Measure a cell in a worker that ends with its parent."""
    _leave_with(parent)
    return _measure(*task)


@cache
def _leave_with(parent: int) -> None:
    """End this process soon after its parent: a killed parent cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _measure(table: Table, cell: Cell, path: Path) -> Outcome:
    """Evaluate one cell and store it, in whatever process this is."""
    if cell in Store(path).finished():
        return Outcome(cell, "skipped")
    return _stored(cell, path, _evaluate(table, cell))


def _stored(cell: Cell, path: Path, measured: dict[str, Any] | str) -> Outcome:
    """Keep what was measured, or say what went wrong."""
    if isinstance(measured, str):
        return Outcome(cell, "failed", measured)
    return Outcome(cell, "stored" if Store(path).add(cell, measured) else "skipped")


def _evaluate(table: Table, cell: Cell) -> dict[str, Any] | str:
    """What is to be stored of a cell; or the traceback of an error."""
    settings = table.settings[cell.row]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            warnings.simplefilter("error", FitInterruptedWarning)
            values = _as_values(table.evaluate(settings, cell.column, cell.seed))
    except FitInterruptedWarning:  # a model cut short is none to measure
        raise KeyboardInterrupt from None
    except Exception:
        return traceback.format_exc()
    return {
        **values,
        "seconds": round(time.perf_counter() - start, 4),
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "settings": settings,
        **environment(),
    }


def _as_values(measured: float | Mapping[str, Any]) -> dict[str, Any]:
    values = dict(measured) if isinstance(measured, Mapping) else {"value": measured}
    values["value"] = float(values["value"])
    if not math.isfinite(values["value"]):
        raise ValueError(f"evaluate returned {values['value']}: a cell must be a finite number.")
    return values
