"""Published tables, measured again.

A paper is a subpackage of this one: its numbers as data and its protocol as one function, collected in a
constant ``PAPER``. Results are stored cell by cell and put beside the published numbers.
"""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.papers._compare import Comparison, Entry, compare
from benchmarks.papers._model import Cell, Paper, Table
from benchmarks.papers._render import LEGEND, entry_lines, markdown_table, render, report
from benchmarks.papers._run import RESULTS, Outcome, Summary, run
from benchmarks.papers._store import Store

__all__ = [
    "LEGEND",
    "RESULTS",
    "Cell",
    "Comparison",
    "Entry",
    "Outcome",
    "Paper",
    "Store",
    "Summary",
    "Table",
    "available",
    "compare",
    "entry_lines",
    "load",
    "markdown_table",
    "render",
    "report",
    "run",
]


def available() -> list[str]:
    """List the papers.

    Returns
    -------
    list of str
        Sorted keys.

    Examples
    --------
    >>> from benchmarks import papers
    >>> "tvsvm" in papers.available()
    True
    """
    return sorted(module.name for module in iter_modules(__path__) if module.ispkg)


def load(key: str) -> Paper:
    """Return a paper by its key.

    Parameters
    ----------
    key : str
        One of ``available()``.

    Returns
    -------
    Paper
        Numbers and protocol.

    Raises
    ------
    ValueError
        If there is no such paper.

    Examples
    --------
    >>> from benchmarks import papers
    >>> papers.load("tvsvm").tables[0].published["TV-SVM", "1"]
    3.18
    """
    if key not in available():
        raise ValueError(f"key={key!r} names no paper: choose from {available()}.")
    return import_module(f"{__name__}.{key}").PAPER
