"""A table as a picture."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from benchmarks.papers._compare import Comparison, Entry


def draw(comparison: Comparison) -> bytes:
    """Draw a table, ours filled with its spread and published numbers hollow, and return a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'weakly[plot]'.") from error
    table = comparison.table
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, row in enumerate(table.rows):
        shift = 0.5 * (number / max(len(table.rows) - 1, 1) - 0.5)  # side by side within a column
        places = [(x + shift, comparison.entries[row, column]) for x, column in enumerate(table.columns)]
        _draw_row(axes, row, places, color=f"C{number % 10}")
    axes.set(xlabel=table.column_title, ylabel=table.unit)
    axes.set_xticks(range(len(table.columns)), table.columns)
    axes.set_title(
        f"{table.caption}\nfilled: ours ± standard deviation, hollow: {table.reference}", fontsize="medium"
    )
    figure.legend(loc="outside right upper", fontsize="small")
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    return picture.getvalue()


def _draw_row(axes: Any, row: str, places: list[tuple[float, Entry]], color: str) -> None:
    ours = [(x, e.mean, e.standard_deviation if len(e.values) > 1 else 0.0) for x, e in places if e.values]
    published = [(x, e.published) for x, e in places if e.published is not None]
    if ours:
        axes.errorbar(*zip(*ours, strict=True), color=color, marker="o", capsize=3, label=row)
    if published:
        label = None if ours else row
        axes.plot(
            *zip(*published, strict=True), color=color, marker="o", mfc="none", linestyle=":", label=label
        )
