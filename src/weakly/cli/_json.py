"""The summary for programs: what ``weakly label --json`` prints."""

from __future__ import annotations

import json
from math import isfinite

import numpy as np

import weakly
from weakly.cli._leave_out import BASELINE
from weakly.cli._summary import comparison_lines, verdict


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
