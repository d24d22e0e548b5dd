"""``python -m benchmarks.papers``: run the published tables again, beside the papers' numbers."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from benchmarks import papers
from weakly.cli._console import SafeConsole
from weakly.cli._errors import UserError, did_you_mean, one_line_errors

app = typer.Typer(no_args_is_help=True, help="Run published tables again, beside the papers' numbers.")

Results = Annotated[Path, typer.Option(help="Folder of the stored results.")]


@app.command("list")
def list_papers() -> None:
    """List the papers and their tables."""
    shown = Table("paper", "table", "what it shows", "rows run", "draws (quick)")
    for paper in _selected("all"):
        for table in paper.tables:
            draws = f"{table.repeats} ({table.quick_repeats})"
            shown.add_row(paper.key, table.key, table.caption, str(len(table.settings)), draws)
    SafeConsole().print(shown)


@app.command("run")
def run_papers(
    key: Annotated[str, typer.Argument(help="Key of a paper, or 'all'.")],
    table: Annotated[list[str] | None, typer.Option(help="Only this table; may be given again.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Draws per entry.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers measure instead.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few draws only, a part of the full run.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is stored and measure again.")] = False,
    results: Results = papers.RESULTS,
) -> None:
    """Measure what is not stored yet; a stopped run goes on where it was."""
    console = SafeConsole()
    with one_line_errors():
        chosen = [(paper, _tables(paper, table)) for paper in _selected(key)]
    options = {
        "repeats": repeats,
        "quick": quick,
        "jobs": jobs,
        "scheduler": scheduler,
        "fresh": fresh,
        "results": results,
    }
    failed = 0
    for paper, tables in chosen:
        try:
            with one_line_errors(), _storing(results):
                summary = _run_with_bar(console, paper, [each.key for each in tables], **options)
        except KeyboardInterrupt:
            command = "the same command without --fresh" if fresh else "the same command"
            console.print(f"Stopped. What is finished is stored; {command} goes on from here.")
            raise typer.Exit(130) from None
        with one_line_errors(), _storing(results):
            for each in tables:
                _show(console, paper, each, results)
        _tell(console, summary)
        failed += len(summary.failures)
    if failed:
        raise typer.Exit(1)


@app.command("report")
def report(results: Results = papers.RESULTS) -> None:
    """Write the page of every table that has stored results, and one page of all of them."""
    console = SafeConsole()
    chosen = _selected("all")
    with one_line_errors(), _storing(results):
        for paper in chosen:
            for table in paper.tables:
                _write(console, paper, table, results)
        console.print(f"written: {papers.report(chosen, results)}", soft_wrap=True)


@contextmanager
def _storing(results: Path):
    """Tell of a folder that cannot be made, read or written as of the user's mistake."""
    try:
        yield
    except BrokenPipeError:  # of the output, not of the folder
        raise
    except OSError as error:
        raise UserError(f"cannot use --results {str(results)!r}: {error.strerror or error}") from None


def _selected(key: str) -> list[papers.Paper]:
    if key != "all" and key not in papers.available():
        raise UserError(f"unknown paper {key!r}: {did_you_mean(key, [*papers.available(), 'all'])}")
    return [papers.load(name) for name in (papers.available() if key == "all" else [key])]


def _tables(paper: papers.Paper, wanted: list[str] | None) -> tuple[papers.Table, ...]:
    try:
        return paper.select(wanted or None)
    except ValueError as error:
        raise UserError(str(error)) from None


def _run_with_bar(console, paper, tables, **options) -> papers.Summary:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console)
    task = bar.add_task("measuring", total=None)

    def advance(done, total, outcome):
        label = _name(outcome.cell) if outcome else "measuring"
        bar.update(task, completed=done, total=total, description=label)
        if outcome is None:  # the data is there
            console.rule(f"{paper.key}: {paper.title}", align="left")
            bar.start()

    try:
        return papers.run(paper, tables, progress=advance, **options)
    except ValueError as error:
        if bar.live.is_started:
            raise
        absent = str(error).splitlines()[0]
        raise UserError(f"{absent} The error of weakly.datasets.load shows how to convert it.") from None
    finally:
        bar.stop()


def _show(console: SafeConsole, paper: papers.Paper, table: papers.Table, results: Path) -> None:
    entries = papers.compare(paper, table, results).entries
    shown = Table(
        table.column_title,
        *table.columns,
        title=f"{table.caption} ({table.unit})",
        show_lines=True,
        title_justify="left",
    )
    for row in table.rows:
        shown.add_row(
            row,
            *(
                Text("\n").join(map(Text, papers.entry_lines(entries[row, column], table.reference)))
                for column in table.columns
            ),
        )
    console.print(shown)
    _write(console, paper, table, results)


def _write(console: SafeConsole, paper: papers.Paper, table: papers.Table, results: Path) -> None:
    """Write the page and the plot of a table that has results, and say whether this source gave them."""
    try:
        written = papers.render(paper, table, results)
    except ImportError as error:
        written = papers.render(paper, table, results, plot=False)
        console.print(str(error))
    if not written:
        console.print(f"{paper.key} {table.key}: no results are stored for today's settings.")
        return
    console.print("written:", ", ".join(map(str, written)), soft_wrap=True)
    comparison = papers.compare(paper, table, results)
    n_results, n_outdated = len(comparison.records), comparison.n_outdated
    measured = "all measured with this source"
    if n_outdated:
        measured = f"{n_outdated} measured with another version of the source"
    console.print(f"{paper.key} {table.key}: {n_results} results, {measured}.", soft_wrap=True)


def _tell(console: SafeConsole, summary: papers.Summary) -> None:
    counts = f"{summary.stored} measured, {summary.found} found, {len(summary.failures)} failed"
    console.print(f"{summary.total} cells: {counts}.")
    if summary.found == summary.total:
        console.print("Nothing was measured: all cells were stored before. To measure again, add --fresh.")
    for error, failures in summary.grouped_failures().items():
        cells = [_name(failure.cell) for failure in failures]
        shown = "; ".join(cells[:3]) + ("; ..." if len(cells) > 3 else "")
        for line in ("", f"{len(failures)} failed with {error}", f"({shown})"):
            console.print(line, style="red")
        for line in failures[0].error.splitlines():
            console.print(line)


def _name(cell: papers.Cell) -> str:
    return f"{cell.table}: {cell.row}, {cell.column}, draw {cell.seed}"


if __name__ == "__main__":
    app()
