"""What ``weakly label`` tells on the terminal."""

from __future__ import annotations

from rich.table import Table as Grid
from rich.text import Text  # cells of the user's table are never markup

from weakly.cli._leave_out import BASELINE

MAX_LINES = 20
MAX_NAMES = 12
SIGNIFICANT = 0.05


def print_summary(console, labeling):
    """Print columns, classes, what the method says of its work, and the leave-out comparison."""
    console.print(f"{headline(labeling)}\n", markup=False, highlight=False)
    console.print(_columns_grid(labeling.columns))
    console.print(_classes_grid(labeling))
    notes = [(note, True) for note in labeling.notes]
    for line, is_note in [*notes, *account_lines(labeling), *comparison_lines(labeling)]:
        text, style = (f"note: {line}", "yellow") if is_note else (line, None)
        console.print(text, style=style, markup=False, highlight=False)


def headline(labeling):
    """Say in a sentence what was done."""
    n_rows, n_missing = len(labeling.given), int(labeling.missing.sum())
    return f"{_count(n_rows, 'row')}, {n_rows - n_missing} labelled; {labeling.method} filled {n_missing}."


def account_lines(labeling):
    """Return the lines about what the method says of its own work, like those about the comparison."""
    account = labeling.account
    if account is None:
        return []
    n_filled = int(labeling.missing.sum())
    lines = [
        f"{account.verdict} (Log odds {account.log_odds:.1f} for the kernels that use them.)",
        f"On {labeling.changed.sum()} of the {_count(n_filled, 'filled row')} the supervised baseline, "
        f"{labeling.method} with the labels alone, says another class.",
        f"Preparation of the features: {account.preparation}.",
    ]
    return [(line, False) for line in lines]


def comparison_lines(labeling):
    """Return the lines about the leave-out comparison, each with whether it is a note."""
    result = labeling.leave_out
    if result is None:
        return [("No leave-out comparison: it needs two refits and two labels of one class.", True)]
    n_labels = int((~labeling.missing).sum())
    low, high = result.interval
    scores = {labeling.method: result.method, BASELINE: result.baseline}
    lines = [
        "Labels found again when they were hidden, a part of them at a time, on average:",
        *(f"  {name}: {_score(found)}" for name, found in scores.items()),
        "If the labelled rows were picked at random, this is a low estimate for the filled cells of the "
        f"classes tested: the method saw {result.n_shown} of the {n_labels} labels. From so few, its "
        f"accuracy is between {low:.0%} and {high:.0%} with 95 % confidence.",
        _verdict(labeling.method, result),
    ]
    notes = [*_untested(labeling), *_no_gain(labeling)]
    return [(line, False) for line in lines] + [(note, True) for note in notes]


def _score(found):
    return f"{found.sum():.3g} of {len(found)} ({found.mean():.0%})"


def _verdict(method, result):
    """Say whether the difference from the baseline is more than chance."""
    split = (
        f"{method} does better than the baseline on {_count(result.n_better, 'row')} and worse on "
        f"{result.n_worse} (sign test: p = {result.p_value:.2g})"
    )
    if result.p_value >= SIGNIFICANT:
        return f"{split}: these labels cannot tell the two apart."
    better = method if result.n_better > result.n_worse else "the baseline"
    return f"{split}: more than chance, {better} is the better one here."


def _untested(labeling):
    single = [
        f"{label} ({_count(filled, 'filled row')})"
        for label, given, filled in labeling.class_counts()
        if given == 1
    ]
    if single:
        yield f"not tested, for lack of a second label: {_shorten(single)}."


def _no_gain(labeling):
    result = labeling.leave_out
    if result.baseline.sum() < result.method.sum():
        return
    if labeling.account is None:
        yield (
            "the supervised baseline does at least as well, so nothing here shows that the unlabelled rows "
            "helped; try another method, or label some rows and compare again."
        )
    else:  # which has a verdict of its own, from more than counts
        yield (
            f"{BASELINE} does at least as well, so this count does not show that the unlabelled rows helped; "
            "weigh it with the verdict above, or label some rows and compare again."
        )


def _count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shorten(names):
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _columns_grid(columns):
    """Group the columns by what became of them; a table of pixels has too many for a line each."""
    names = {}
    for column in columns:
        names.setdefault(column.used_as, []).append(str(column.name))
    grid = Grid("used as", "columns", title="Columns", title_justify="left")
    for used_as, group in names.items():
        grid.add_row(Text(used_as), Text(_shorten(group)))
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
