"""Tables, plots and the scoreboard, from the stored results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.papers._compare import Comparison, Entry, compare
from benchmarks.papers._environment import circumstances
from benchmarks.papers._model import Paper, Table
from benchmarks.papers._plot import draw
from benchmarks.papers._ranking import Duel, Standing, duels, rank_rows
from benchmarks.papers._run import RESULTS, result_path
from benchmarks.papers._store import Store, write_atomically

LEGEND = (
    "Each entry is our mean ± standard deviation over n draws, then the number of the paper or other "
    "reference, then this project's target (met ✓ or missed ✗). ▼ marks a mean worse than the reference by "
    "more than two standard errors."
)


def entry_lines(entry: Entry, reference: str = "paper") -> list[str]:
    """Write an entry: ours, the published number, the target; a line each, where there is one.

    Parameters
    ----------
    entry : Entry
        The entry.
    reference : str, default="paper"
        What to call the source of the published number.

    Returns
    -------
    list of str
        Up to three lines.

    Examples
    --------
    >>> from benchmarks.papers import Entry, entry_lines
    >>> entry_lines(Entry("SVM", "5", (10.0, 12.0), published=8.0, target=11.5, lower_is_better=True))
    ['11.00 ± 1.41 (n=2)', 'paper 8.00 ▼', 'target ≤ 11.5 ✓']
    """
    lines = []
    if len(entry.values) > 1:
        lines.append(f"{entry.mean:.2f} ± {entry.standard_deviation:.2f} (n={len(entry.values)})")
    elif entry.values:
        lines.append(f"{entry.mean:.2f} (n=1)")
    if entry.published is not None:
        lines.append(f"{reference} {entry.published:.2f}" + " ▼" * entry.behind)
    if entry.target is not None:
        lines.append(_target_line(entry.target, entry.on_target, entry.lower_is_better))
    return lines


def _target_line(target: float, met: bool | None, lower_is_better: bool) -> str:
    verdict = {None: "", True: " ✓", False: " ✗"}[met]
    return f"target {'≤' if lower_is_better else '≥'} {target:g}{verdict}"


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table, the first column to the left and numbers to the right.

    Parameters
    ----------
    header : iterable of str
        Column titles.
    rows : iterable of iterable of str
        Entries; line breaks inside an entry are kept.

    Returns
    -------
    str
        The table, without a newline at its end.

    Examples
    --------
    >>> from benchmarks.papers import markdown_table
    >>> print(markdown_table(["method", "error"], [["SVM", "3.1"]]))
    | method | error |
    |---|--:|
    | SVM | 3.1 |
    """
    header = list(header)
    lines = [header, *(list(row) for row in rows)]
    text = ["| " + " | ".join(cell.replace("\n", "<br>") for cell in line) + " |" for line in lines]
    return "\n".join([text[0], "|---" + "|--:" * (len(header) - 1) + "|", *text[1:]])


def _table_section(comparison: Comparison) -> str:
    """Caption, entries, what differs and where the numbers come from."""
    table = comparison.table
    rows = (
        [
            row,
            *(
                "\n".join(
                    entry_lines(comparison.entries[row, column], table.reference)
                    + [
                        f"{name.replace('_', ' ')} {value:.2f}"
                        for name, value in comparison.beside(row, column).items()
                    ]
                )
                for column in table.columns
            ),
        ]
        for row in table.rows
    )
    parts = [
        f"{table.caption} ({table.unit}, by {table.column_title})",
        markdown_table([f"{table.column_title}:", *table.columns], rows),
        _ranking(comparison),
        "\n".join(map(_duel_line, duels(comparison))),
        _nearness(comparison),
        f"What differs: {table.differs}" if table.differs else "",
        _rivals_ahead(comparison),
        _provenance(comparison.records),
    ]
    return "\n\n".join(part for part in parts if part)


def _ranking(comparison: Comparison) -> str:
    """Write means and ranks over the columns, and who beats the baseline in how many."""
    ranking = rank_rows(comparison)
    if ranking is None:
        return ""
    table, n_columns = comparison.table, len(ranking.columns)
    rows = (
        [
            standing.row,
            "\n".join([f"{standing.mean:.2f}", *_mean_target(table, standing)]),
            f"{standing.rank:.2f}",
            "" if standing.row == table.baseline else f"{standing.wins}/{standing.ties}/{standing.losses}",
        ]
        for standing in ranking.standings
    )
    caption = (
        f"Over the {n_columns} of {len(table.columns)} columns that all these rows have; wins, ties and "
        f"losses against {table.baseline} by a paired t-test at 95 % over the draws of a column."
    )
    if ranking.friedman is not None:
        statistic, p_value = ranking.friedman
        caption += f" Friedman test of these rows: {statistic:.2f}, p = {p_value:.2g}."
    header = ("method", "mean", "mean rank", "win/tie/loss")
    return f"{markdown_table(header, rows)}\n\n{caption}"


def _mean_target(table: Table, standing: Standing) -> list[str]:
    target = table.mean_targets.get(standing.row)
    return [] if target is None else [_target_line(target, standing.on_target, table.lower_is_better)]


def _duel_line(duel: Duel) -> str:
    """Say how often a row does better and worse than another, and where by how much it does worse."""
    lost = ", ".join(f"{column} by {points:.2f}" for column, points in duel.lost.items())
    return (
        f"- *{duel.row}* against *{duel.other}*, by a paired t-test at 95 % in each of {len(duel.columns)} "
        f"columns: better in {len(duel.won)}, worse in {len(duel.lost)}{f' ({lost})' if lost else ''}."
    )


def _nearness(comparison: Comparison) -> str:
    """Count the columns of each row whose number is near the published one, and name the others."""
    near = comparison.table.near
    lines = []
    for row in comparison.table.rows if near else ():
        entries = [comparison.entries[row, column] for column in comparison.table.columns]
        offsets = {entry.column: entry.off_by() for entry in entries}
        known = {column: points for column, points in offsets.items() if points is not None}
        better = [f"{column} by {points:.1f}" for column, points in known.items() if points > near]
        worse = [f"{column} by {-points:.1f}" for column, points in known.items() if points < -near]
        n_near = len(known) - len(better) - len(worse)
        if known:
            sides = "".join(
                f"; {side}: {', '.join(names)}"
                for side, names in (("better", better), ("worse", worse))
                if names
            )
            lines.append(
                f"- *{row}* is within {near:g} of the paper in {n_near} of {len(known)} columns{sides}."
            )
    return "\n".join(lines)


def _rivals_ahead(comparison: Comparison) -> str:
    """Name the rivals measured here that do better than all of ours."""
    ahead = [f"{entry.row}, at {entry.column} ({entry.mean:.2f})" for entry in comparison.ahead]
    return f"Rivals with a better mean than every row of ours: {'; '.join(ahead)}." if ahead else ""


def _provenance(records: Iterable[dict[str, Any]]) -> str:
    """Say when, with what and on what the results were measured."""
    records = list(records)
    if not records:
        return "No results are stored."
    days = sorted({record["time"][:10] for record in records})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    warned = sum(bool(record["warnings"]) for record in records)
    note = f" {warned} of them came with a warning." if warned else ""
    return f"{len(records)} results, {period}; {' / '.join(sorted(set(map(circumstances, records))))}.{note}"


def render(paper: Paper, table: Table, results: str | Path = RESULTS, *, plot: bool = True) -> list[Path]:
    """Write a table and its plot beside its stored results.

    The plot is drawn again only when the table has changed.

    Parameters
    ----------
    paper : Paper
        The paper.
    table : Table
        One of its tables.
    results : str or Path, default="benchmarks/results"
        Folder of the stored results.
    plot : bool, default=True
        Whether to draw the plot as well.

    Returns
    -------
    list of Path
        The Markdown file and the picture, where asked for; nothing when no results are stored.

    Raises
    ------
    ImportError
        If ``plot`` is asked for and matplotlib is not installed; the Markdown file is written before.

    See Also
    --------
    report : All tables on one page.

    Examples
    --------
    >>> from benchmarks.papers import render
    >>> from benchmarks.papers._run import demo_results
    >>> with demo_results() as (paper, folder):
    ...     [path.name for path in render(paper, paper.tables[0], folder, plot=False)]
    ['t1.md']
    """
    comparison = compare(paper, table, results)
    if not comparison.records:
        return []
    page, picture = (result_path(results, paper, table).with_suffix(end) for end in (".md", ".png"))
    text = table_page(paper, comparison)
    changed = not page.exists() or page.read_text(encoding="utf-8") != text
    if changed:
        write_atomically(page, text)
    if plot and (changed or not picture.exists()):
        write_atomically(picture, draw(comparison))
    return [page, picture] if plot else [page]


def table_page(paper: Paper, comparison: Comparison) -> str:
    """Write the page of a table; it says nothing but what is stored."""
    heading = f"# {paper.title}: {comparison.table.key}\n\n{paper.reference}"
    return f"{heading}\n\n{_table_section(comparison)}\n\n{LEGEND}\n"


def report(papers: Iterable[Paper], results: str | Path = RESULTS) -> Path:
    """Write all stored results to one page, ``README.md`` in their folder, and shorten their files.

    Parameters
    ----------
    papers : iterable of Paper
        Papers to show; tables without stored results are left out.
    results : str or Path, default="benchmarks/results"
        Folder of the stored results.

    Returns
    -------
    Path
        The page.

    See Also
    --------
    render : One table, with its plot.

    Examples
    --------
    >>> from benchmarks.papers import report
    >>> from benchmarks.papers._run import demo_results
    >>> with demo_results() as (paper, folder):
    ...     report([paper], folder).name
    'README.md'
    """
    papers = tuple(papers)
    for paper in papers:
        for table in paper.tables:
            Store(result_path(results, paper, table)).compact()
    return write_atomically(Path(results) / "README.md", scoreboard(papers, Path(results)))


def scoreboard(papers: Iterable[Paper], results: Path) -> str:
    """Write the page of all tables; it says nothing but what is stored."""
    overview, sections = [], []
    for paper in papers:
        comparisons = [compare(paper, table, results) for table in paper.tables]
        measured = [comparison for comparison in comparisons if comparison.records]
        overview += [[paper.key, comparison.table.key, *_counts(comparison)] for comparison in measured]
        if measured:
            sections.append(f"## {paper.title}\n\n{paper.reference}")
        for comparison in measured:
            sections.append(f"### {comparison.table.key}\n\n{_table_section(comparison)}")
            picture = result_path("", paper, comparison.table).with_suffix(".png")
            if (results / picture).exists():
                sections.append(f"![{comparison.table.caption}]({picture.as_posix()})")
    header = ("paper", "table", "entries of ours", "with a reference", "behind it ▼", "targets met")
    parts = [
        "# Scoreboard",
        "Written by `make report` from the results stored in this folder.",
        "The speed ratios are in [speed.md](speed.md)." if (results / "speed.md").exists() else "",
        markdown_table(header, overview) if overview else "No results are stored.",
        LEGEND,
        *sections,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(comparison: Comparison) -> list[str]:
    compared = [entry for entry in comparison.ours if entry.published is not None]
    ranking = rank_rows(comparison)
    held = [*comparison.ours, *(ranking.standings if ranking else ())]
    aimed = [entry for entry in held if entry.on_target is not None]
    met = sum(entry.on_target is True for entry in aimed)
    return [
        str(len(comparison.ours)),
        str(len(compared)),
        str(sum(entry.behind for entry in compared)) if compared else "",
        f"{met} of {len(aimed)}" if aimed else "",
    ]
