"""From a file to a filled file: what ``weakly label`` and the demo run."""

from __future__ import annotations

from functools import partial

import typer
from rich.progress import track

from weakly.cli._console import SafeConsole
from weakly.cli._errors import UserError
from weakly.cli._files import STANDARD_STREAM, replacing, require_different, require_free
from weakly.cli._labeling import label_table
from weakly.cli._pictures import require_plotting
from weakly.cli._predict import check_save_path, save_model
from weakly.cli._report import N_LEAST_SURE, write_report
from weakly.cli._summary import print_summary, summary_json
from weakly.cli._tables import output_path, read_table


def run_label(
    table,
    target,
    *,
    method,
    missing=(),
    ignore=(),
    out=None,
    report=None,
    next_file=None,
    as_json=False,
    save=None,
    force=False,
    max_refits=10,
    seed=0,
):
    """Do what ``weakly label`` does and return the labeling."""
    data = read_table(table)
    out = output_path(table, out, force=force)
    files = _check_files(table, out, report, next_file, save, force=force)
    if as_json and out == STANDARD_STREAM:
        raise UserError("--json and --out '-' both write to the standard output: name a file with --out.")
    console = SafeConsole(stderr=out == STANDARD_STREAM, quiet=as_json)
    show = partial(
        track, description="hiding labels", console=console, transient=True, disable=not console.is_terminal
    )
    labeling = label_table(
        data,
        target,
        method=method,
        missing=missing,
        ignore=ignore,
        seed=seed,
        max_refits=max_refits,
        track=show,
    )
    data.write(labeling.frame, out)
    print_summary(console, labeling)
    console.print()
    console.print(f"Table: {out}", soft_wrap=True)
    if report is not None:
        write_report(labeling, report, source="standard input" if table == STANDARD_STREAM else table.name)
        console.print(f"Report: {report}", soft_wrap=True)
    if next_file is not None:
        with replacing(next_file) as file:
            data.dialect.write(labeling.to_label_next(N_LEAST_SURE), file)
        console.print(f"To label next: {next_file}", soft_wrap=True)
    if save is not None:
        save_model(labeling.model, save)
        console.print(f"Model: {save}", soft_wrap=True)
    if as_json:
        typer.echo(summary_json(labeling, {"input": table, **files}))
    return labeling


def _check_files(table, out, report, next_file, save, *, force):
    """Return the files to write by what they are, having refused those that are in each other's way."""
    options = {"--report": report, "--next": next_file, "--save": save}
    wanted = {option: path for option, path in options.items() if path is not None}
    if report is not None:
        require_plotting()
    if save is not None:
        check_save_path(save)
    if next_file is not None and next_file.suffix.lower() != ".csv":
        raise UserError(f"--next {str(next_file)!r} must end in '.csv'.")
    require_different({"the table": table, "--out": out, **wanted})
    for path in wanted.values():
        require_free(path, force=force)
    return {"table": out, **{option.removeprefix("--"): path for option, path in wanted.items()}}
