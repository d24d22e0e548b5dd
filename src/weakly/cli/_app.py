"""The commands: each reads its arguments and calls the work, whose imports wait until it is called."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid
from typer.core import TyperGroup

import weakly
from weakly.cli._errors import one_line_errors
from weakly.cli._methods import DEFAULT_METHOD, summary_line
from weakly.cli._methods import methods as known_methods


class _Commands(TyperGroup):
    """Commands of which one, a group of its own, is imported when asked for."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), "papers"]

    def get_command(self, ctx, cmd_name):
        if cmd_name == "papers":
            command = typer.main.get_group(import_module("weakly.cli._papers").app)
            command.name = cmd_name
            return command
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)


def _show_version(wanted: bool):
    if wanted:
        typer.echo(f"weakly {weakly.__version__}")
        raise typer.Exit


@app.callback()
def _weakly(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave."),
    ] = False,
):
    """Learn from few labels: fill a partly labelled column, and see how far to trust the result."""


@app.command()
def label(
    table: Annotated[Path, typer.Argument(help="The table: .csv, .tsv or .parquet.", show_default=False)],
    target: Annotated[str, typer.Option(help="Column to fill; its empty cells are the missing labels.")],
    method: Annotated[
        str, typer.Option(help="How to learn; `weakly methods` lists the names.")
    ] = DEFAULT_METHOD,
    out: Annotated[
        Path | None,
        typer.Option(help="Filled table.", show_default="TABLE.labeled.SUFFIX"),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Column not to learn from; give it once per column.")
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(help="Word of the target column that means a missing label; give it once per word."),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=0, help="Refits at most for the comparison with the supervised baseline; 0 skips it."
        ),
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
):
    """Fill the missing labels of a table.

    Learns from labelled and unlabelled rows together, fills only the empty cells of the target column, and
    adds a column TARGET_confidence (1 for labels that were given). All other cells come back as they were.
    Only empty cells count as missing labels, and the words named by `--missing`. In other columns NA, N/A,
    NaN, null and none are missing values too.

    Example: `weakly label flowers.csv --target species --report flowers.html`
    """
    from weakly.cli._label import run_label

    with one_line_errors():
        run_label(
            table,
            target,
            method=method,
            out=out,
            report=report,
            missing=missing or (),
            ignore=ignore or (),
            force=force,
            max_refits=folds,
            seed=seed,
        )


@app.command()
def methods():
    """List the methods: the names that --method takes."""
    grid = Grid("--method", "class", "what it is")
    for name, estimator_class in known_methods().items():
        grid.add_row(name, estimator_class.__name__, summary_line(estimator_class))
    Console().print(grid)


@app.command()
def demo(
    labels_per_class: Annotated[int, typer.Option(min=1, max=100, help="Labels of each digit.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the labelled rows.")] = 0,
    out: Annotated[Path, typer.Option(help="Directory for the picture and the tables.")] = Path(
        "demo-output"
    ),
):
    """Read handwritten digits from a handful of labels, beside two methods of scikit-learn."""
    from weakly.cli._report import require_plotting

    with one_line_errors():
        require_plotting()
        from weakly.cli._demo import run_demo

        run_demo(labels_per_class=labels_per_class, seed=seed, out=out)
