"""``weakly papers``: run the published tables again and put the results side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from weakly import papers
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
    Console().print(shown)


@app.command("run")
def run_papers(
    key: Annotated[str, typer.Argument(help="Key of a paper, or 'all'.")],
    table: Annotated[list[str] | None, typer.Option(help="Only this table; may be given again.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Draws per entry.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A few draws only, a part of the full run.")] = False,
    results: Results = papers.RESULTS,
) -> None:
    """Measure what is not stored yet; a stopped run goes on where it was.

    To measure everything anew, remove the stored file of the table.
    """
    console = Console()
    with one_line_errors():
        chosen = [(paper, _tables(paper, table)) for paper in _selected(key)]
    failed = 0
    for paper, tables in chosen:
        console.rule(f"{paper.key}: {paper.title}", align="left")
        try:
            summary = _run_with_bar(console, paper, [t.key for t in tables], repeats, quick, jobs, results)
        except KeyboardInterrupt:
            console.print("Stopped. What is finished is stored; the same command goes on from here.")
            raise typer.Exit(130) from None
        for each in tables:
            _show(console, paper, each, results)
        _tell(console, summary)
        failed += len(summary.failures)
    if failed:
        raise typer.Exit(1)


@app.command("report")
def report(results: Results = papers.RESULTS) -> None:
    """Write all stored results to one page."""
    Console().print(f"written: {papers.report(_selected('all'), results)}", soft_wrap=True)


def _selected(key: str) -> list[papers.Paper]:
    if key != "all" and key not in papers.available():
        raise UserError(f"unknown paper {key!r}: {did_you_mean(key, [*papers.available(), 'all'])}")
    return [papers.load(name) for name in (papers.available() if key == "all" else [key])]


def _tables(paper: papers.Paper, wanted: list[str] | None) -> tuple[papers.Table, ...]:
    try:
        return paper.select(wanted or None)
    except ValueError as error:
        raise UserError(str(error)) from None


def _run_with_bar(console, paper, tables, repeats, quick, jobs, results) -> papers.Summary:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("measuring", total=None)

        def advance(done, total, outcome):
            cell = outcome.cell if outcome else None
            label = f"{cell.table}: {cell.row}, {cell.column}, draw {cell.seed}" if cell else "measuring"
            bar.update(task, completed=done, total=total, description=label)

        return papers.run(
            paper, tables, repeats=repeats, quick=quick, jobs=jobs, results=results, progress=advance
        )


def _show(console: Console, paper: papers.Paper, table: papers.Table, results: Path) -> None:
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
                "\n".join(papers.entry_lines(entries[row, column], table.reference))
                for column in table.columns
            ),
        )
    console.print(shown)
    try:
        written = papers.render(paper, table, results)
    except ImportError as error:
        written = papers.render(paper, table, results, plot=False)
        console.print(str(error), markup=False)
    console.print("written:", ", ".join(map(str, written)), soft_wrap=True)


def _tell(console: Console, summary: papers.Summary) -> None:
    counts = f"{summary.stored} measured, {summary.found} found, {len(summary.failures)} failed"
    console.print(f"{summary.total} cells: {counts}.")
    for error, failures in summary.grouped_failures().items():
        cells = [f"{f.cell.table} / {f.cell.row} / {f.cell.column} / draw {f.cell.seed}" for f in failures]
        shown = "; ".join(cells[:3]) + ("; ..." if len(cells) > 3 else "")
        console.print(f"\n{len(failures)} failed with {error}\n({shown})", style="red", markup=False)
        console.print(failures[0].error, markup=False, highlight=False)
