"""The commands: each reads its arguments and calls the work, whose imports wait until it is called."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid
from typer.core import TyperGroup

import weakly
from weakly.cli._console import SafeConsole, visible
from weakly.cli._errors import clean_stops, one_line_errors
from weakly.cli._methods import DEFAULT_METHOD, summary_line
from weakly.cli._methods import methods as known_methods

UsageError = typer.BadParameter.__base__  # of click, of which newer versions of typer hold a copy


class _Commands(TyperGroup):
    """Commands whose mistakes can be read on a terminal."""

    def make_context(self, *args, **options):
        with _visible_mistakes():
            return super().make_context(*args, **options)

    def invoke(self, ctx):
        with _visible_mistakes():
            return super().invoke(ctx)


@contextmanager
def _visible_mistakes():
    """Escape arguments, such as file names that a shell fills in, which older versions of typer do not."""
    try:
        yield
    except UsageError as error:
        error.message = visible(error.message)
        raise


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
    """Learn from few labels: fill a partly labeled column, and see how far to trust the result."""


_Table = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz), .parquet or .xlsx; - for CSV on the standard input.",
        show_default=False,
    ),
]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


@app.command()
def label(
    table: _Table,
    target: Annotated[str, typer.Option(help="Column to fill; its empty cells are the missing labels.")],
    method: Annotated[
        str, typer.Option(help="How to learn; `weakly methods` lists the names and classes.")
    ] = DEFAULT_METHOD,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Filled table; - for CSV on the standard output.", show_default="TABLE.labeled.SUFFIX"
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file.")] = None,
    next_file: Annotated[
        Path | None,
        typer.Option(
            "--next", help="Also write the least sure samples to a CSV file, their target left to fill in."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Also save the fitted model, for `weakly predict`: NAME.weakly.")
    ] = None,
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
    force: _Force = False,
):
    """Fill the missing labels of a table.

    Learns from labeled and unlabeled samples together, fills only the empty cells of the target column, and
    adds a column TARGET_confidence (1 for labels that were given). All other cells come back as they were.
    Only empty cells count as missing labels, and the words named by `--missing`. In other columns NA, N/A,
    NaN, null and none are missing values too, and so are infinite numbers. Of a workbook the first sheet is
    used. Files appear whole or not at all.

    Example: `weakly label flowers.csv --target species --report flowers.html`
    """
    with clean_stops(), one_line_errors():
        from weakly.cli._label import run_label

        run_label(
            table,
            target,
            method=method,
            out=out,
            report=report,
            next_file=next_file,
            as_json=as_json,
            save=save,
            missing=missing or (),
            ignore=ignore or (),
            force=force,
            max_refits=folds,
            seed=seed,
        )


@app.command()
def predict(
    table: _Table,
    model: Annotated[Path, typer.Option(help="The model: a file that `weakly label --save` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Table with predictions; - for CSV on the standard output.",
            show_default="TABLE.predicted.SUFFIX",
        ),
    ] = None,
    force: _Force = False,
):
    """Predict the classes of the samples of a table with a saved model.

    Adds the columns TARGET_predicted and TARGET_confidence, and leaves all other cells as they are. The table
    needs the columns that the model learned from; the target column, if it is there, is not looked at.

    Example: `weakly predict new.csv --model flowers.weakly`
    """
    with clean_stops(), one_line_errors():
        from weakly.cli._predict import run_predict

        run_predict(table, model, out=out, force=force)


@app.command()
def methods():
    """List the methods: the names that --method takes."""
    grid = Grid("--method", "class", "what it is")
    for name, estimator_class in known_methods().items():
        grid.add_row(name, estimator_class.__name__, summary_line(estimator_class))
    SafeConsole().print(grid)


@app.command()
def demo(
    labels_per_class: Annotated[int, typer.Option(min=1, max=100, help="Labels of each digit.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the labelled rows.")] = 0,
    out: Annotated[Path, typer.Option(help="Directory for the picture and the tables.")] = Path(
        "demo-output"
    ),
):
    """Read handwritten digits from a handful of labels, beside two methods of scikit-learn."""
    with clean_stops(), one_line_errors():
        from weakly.cli._pictures import require_plotting

        require_plotting()
        from weakly.cli._demo import run_demo

        run_demo(labels_per_class=labels_per_class, seed=seed, out=out)
