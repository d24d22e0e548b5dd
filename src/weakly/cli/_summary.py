"""What ``weakly label`` tells on the terminal."""

from __future__ import annotations

from rich.table import Table as Grid
from rich.text import Text  # cells of the user's table are never markup

from weakly.cli._leave_out import BASELINE

MAX_LINES = 20
MAX_NAMES = 12


def print_summary(console, labeling):
    """Print columns, classes and the leave-out comparison."""
    n_missing = int(labeling.missing.sum())
    console.print(
        f"{len(labeling.given)} rows, {len(labeling.given) - n_missing} labelled; "
        f"{labeling.method} filled the other {n_missing}.\n",
        highlight=False,
    )
    console.print(_columns_grid(labeling.columns))
    console.print(_classes_grid(labeling))
    for note in labeling.notes:
        console.print(f"note: {note}", style="yellow", markup=False)
    for line, style in comparison_lines(labeling):
        console.print(line, style=style, markup=False, highlight=False)


def comparison_lines(labeling):
    """Return the lines about the leave-out comparison, each with a style."""
    result = labeling.leave_out
    if result is None:
        return [
            (
                "No leave-out comparison: it needs two folds and rows that share their label with another.",
                "yellow",
            )
        ]
    scores = {labeling.method: result.method, BASELINE: result.baseline}
    lines = ["Labels found again when they were hidden, a few at a time:"]
    lines += [
        f"  {name}: {right.sum()} of {result.n_rows} ({right.mean():.0%})" for name, right in scores.items()
    ]
    styled = [(line, None) for line in [*lines, result.sentence()]]
    if result.baseline_does_as_well:
        advice = (
            "warning: the supervised baseline does at least as well, so nothing here shows that the "
            "unlabelled rows helped; try another method, or label some rows and compare again."
        )
        styled.append((advice, "yellow"))
    return styled


def _columns_grid(columns):
    """Group the columns by what became of them; a table of pixels has too many for a line each."""
    names = {}
    for column in columns:
        names.setdefault(column.used_as, []).append(str(column.name))
    grid = Grid("used as", "columns", title="Columns", title_justify="left")
    for used_as, group in names.items():
        more = f" and {len(group) - MAX_NAMES} more" if len(group) > MAX_NAMES else ""
        grid.add_row(Text(used_as), Text(", ".join(group[:MAX_NAMES]) + more))
    return grid


def _classes_grid(labeling):
    grid = Grid(title="Classes", title_justify="left")
    grid.add_column(Text(labeling.target))
    for head in ("given", "filled", "share of filled"):
        grid.add_column(head, justify="right")
    n_filled = int(labeling.missing.sum())
    counts = labeling.class_counts()
    for label, given, filled in counts[:MAX_LINES]:
        grid.add_row(Text(str(label)), str(given), str(filled), f"{filled / n_filled:.1%}")
    if len(counts) > MAX_LINES:
        grid.add_row(f"and {len(counts) - MAX_LINES} more")
    return grid
