"""From a file to a filled file: what ``weakly label`` and the demo run."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.progress import track

from weakly.cli._errors import UserError
from weakly.cli._labeling import label_table
from weakly.cli._report import require_plotting, write_report
from weakly.cli._summary import print_summary
from weakly.cli._tables import output_path, read_table, require_free


def run_label(
    table,
    target,
    *,
    method,
    missing=(),
    ignore=(),
    out=None,
    report=None,
    force=False,
    max_refits=10,
    seed=0,
):
    """Do what ``weakly label`` does and return the labelling."""
    data = read_table(table)
    out = output_path(table, out, force=force)
    if report is not None:
        require_plotting()
        if report.resolve() in (table.resolve(), out.resolve()):
            raise UserError(f"--report {str(report)!r} would overwrite a table: choose another name.")
        require_free(report, force=force)
    console = Console()
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
    console.print(f"\nTable: {out}", markup=False, highlight=False, soft_wrap=True)
    if report is not None:
        write_report(labeling, report, source=table.name)
        console.print(f"Report: {report}", markup=False, highlight=False, soft_wrap=True)
    return labeling
