"""What ``weakly label`` tells, on the terminal and, with ``--json``, to programs."""

from __future__ import annotations

import json
from math import isfinite

import numpy as np
from rich.table import Table as Grid

import weakly
from weakly.cli._leave_out import BASELINE

MAX_LINES = 20
MAX_NAMES = 12
SIGNIFICANT = 0.05


def print_summary(console, labeling):
    """Print columns, classes, the verdict, and what there is to say about it."""
    console.print(headline(labeling))
    console.print()
    console.print(_columns_grid(labeling.columns))
    console.print(_classes_grid(labeling))
    for note in labeling.notes:
        console.print(f"note: {note}", style="yellow")
    console.print(verdict(labeling), style="bold")
    for line, is_note in [*account_lines(labeling), *comparison_lines(labeling)]:
        text, style = (f"note: {line}", "yellow") if is_note else (line, None)
        console.print(text, style=style)


def headline(labeling):
    """Say in a sentence what was done."""
    n_samples, n_missing = len(labeling.given), int(labeling.missing.sum())
    n_labeled = n_samples - n_missing if n_missing else "all"
    filled = f"; {labeling.method} filled {n_missing}" if n_missing else ""
    return f"{_count(n_samples, 'sample')}, {n_labeled} labeled{filled}."


def verdict(labeling):
    """Say in a sentence how many hidden labels are found, and whether the unlabeled samples helped."""
    clauses = [_accuracy(labeling)]
    if labeling.account is not None and labeling.missing.any():
        clauses.append(labeling.account.finding)
    result = labeling.leave_out
    if result is not None and result.interval[1] < 0.5:
        clauses.append("expect more labels to be wrong than right")
    return "; ".join(clauses) + "."


def _accuracy(labeling):
    result = labeling.leave_out
    if result is None:
        return "The accuracy is unknown, for no label was hidden"
    low, high = result.interval
    return (
        f"{labeling.method} finds {result.method.sum():.3g} of {_count(result.n_rows, 'hidden label')} "
        f"({result.method.mean():.0%}, 95% interval {low:.0%} to {high:.0%}), {BASELINE} "
        f"{result.baseline.sum():.3g} ({result.baseline.mean():.0%})"
    )


def account_lines(labeling):
    """Return the lines about what the method says of its own work, like those about the comparison."""
    account = labeling.account
    if account is None:
        return []
    lines = [f"Preparation of the features: {account.preparation}."]
    n_filled = int(labeling.missing.sum())
    if n_filled:
        lines.append(
            f"On {labeling.changed.sum()} of the {_count(n_filled, 'filled sample')} the supervised "
            f"baseline, {labeling.method} with the labels alone, says another class."
        )
    return [(line, False) for line in lines]


def comparison_lines(labeling):
    """Return the lines about the comparison on hidden labels, each with whether it is a note."""
    result = labeling.leave_out
    if result is None:
        return [("no labels were hidden: that needs two refits and two labels of one class.", True)]
    n_labels = int((~labeling.missing).sum())
    lines = [
        "If the labeled samples were picked at random, this is a low estimate for other samples of the "
        f"classes tested: the method saw {result.n_shown} of the {n_labels} labels at a time.",
        _sign_test(labeling.method, result),
    ]
    notes = [*_untested(labeling), *_no_gain(labeling)]
    return [(line, False) for line in lines] + [(note, True) for note in notes]


def _sign_test(method, result):
    """Say whether the difference from the baseline is more than chance."""
    split = (
        f"{method} does better than the baseline on {_count(result.n_better, 'sample')} and worse on "
        f"{result.n_worse} (sign test: p = {result.p_value:.2g})"
    )
    if result.p_value >= SIGNIFICANT:
        return f"{split}: these labels cannot tell the two apart."
    better = method if result.n_better > result.n_worse else "the baseline"
    return f"{split}: more than chance, {better} is the better one here."


def _untested(labeling):
    single = [
        f"{label} ({_count(filled, 'filled sample')})" if labeling.missing.any() else str(label)
        for label, given, filled in labeling.class_counts()
        if given == 1
    ]
    if single:
        yield f"not tested, for lack of a second label: {_shorten(single)}."


def _no_gain(labeling):
    result = labeling.leave_out
    if not labeling.missing.any() or result.baseline.sum() < result.method.sum():
        return
    if labeling.account is None:
        yield (
            "the supervised baseline does at least as well, so nothing here shows that the unlabeled samples "
            "helped; try another method, or label some samples and compare again."
        )
    else:  # which has a verdict of its own, from more than counts
        yield (
            f"{BASELINE} does at least as well, so this count does not show that the unlabeled samples "
            "helped; weigh it with the verdict above, or label some samples and compare again."
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
        grid.add_row(used_as, _shorten(group))
    return grid


def _classes_grid(labeling):
    heads, rows = class_table(labeling)
    grid = Grid(heads[0], title="Classes", title_justify="left")
    for head in heads[1:]:
        grid.add_column(head, justify="right")
    for row in rows[:MAX_LINES]:
        grid.add_row(*map(str, row))
    if len(rows) > MAX_LINES:
        grid.add_row(f"and {len(rows) - MAX_LINES} more")
    return grid


def class_table(labeling):
    """Return heads and rows about the classes: labels given, filled, and found when hidden."""
    labels, given, filled = zip(*labeling.class_counts(), strict=True)
    columns = [(labeling.target, labels), ("given", given)]
    if any(filled):
        columns += [("filled", filled), ("share of filled", [f"{n / sum(filled):.1%}" for n in filled])]
    if labeling.leave_out is not None:
        found = [
            f"{n_found:.3g} of {n_hidden:.3g} ({n_found / n_hidden:.0%})" if n_hidden else "not tested"
            for n_found, n_hidden in labeling.leave_out.per_class
        ]
        columns.append(("found when hidden", found))
    heads, values = zip(*columns, strict=True)
    return list(heads), [list(row) for row in zip(*values, strict=True)]


def summary_json(labeling, files):
    """Return the account of a labeling as JSON; ``files`` maps what was read and written to where."""
    record = {
        "weakly": weakly.__version__,
        "method": labeling.method,
        "seed": labeling.seed,
        "target": labeling.target,
        "n_samples": len(labeling.given),
        "n_filled": int(labeling.missing.sum()),
        "classes": _classes(labeling),
        "confidence": _confidence(labeling.confidence[labeling.missing]),
        "hidden_labels": _hidden_labels(labeling),
        "verdict": verdict(labeling),
        "log_odds": None if labeling.account is None else labeling.account.log_odds,
        "notes": [*labeling.notes, *(line for line, is_note in comparison_lines(labeling) if is_note)],
        "columns": [{"name": str(column.name), "used_as": column.used_as} for column in labeling.columns],
        "files": {what: str(path) for what, path in files.items()},
    }
    return json.dumps(record, allow_nan=False)


def _classes(labeling):
    counts = [
        {"label": _plain(label), "given": given, "filled": filled}
        for label, given, filled in labeling.class_counts()
    ]
    if labeling.leave_out is None:
        return counts
    hidden = [
        {"found": found, "hidden": n_hidden} for found, n_hidden in labeling.leave_out.per_class.tolist()
    ]
    return [{**count, **of_class} for count, of_class in zip(counts, hidden, strict=True)]


def _confidence(values):
    if not len(values):
        return None
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return {"mean": float(values.mean()), "quartiles": quartiles}


def _hidden_labels(labeling):
    result = labeling.leave_out
    if result is None:
        return None
    return {
        "n_labels": result.n_rows,
        "n_shown": result.n_shown,
        "accuracy": float(result.method.mean()),
        "interval_95": [float(end) for end in result.interval],
        "baseline": BASELINE,
        "baseline_accuracy": float(result.baseline.mean()),
        "n_better": result.n_better,
        "n_worse": result.n_worse,
        "p_value": float(result.p_value),
        "confusion": result.confusion.tolist(),
    }


def _plain(label):
    """Return a label as JSON has it: finite numbers as they are, all others as text."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, int) or (isinstance(label, float) and isfinite(label)) else str(label)
