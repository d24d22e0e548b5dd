"""The stored pages say what the stored results say. To write them again: ``make report``."""

from pathlib import Path

import pytest

from benchmarks import papers
from benchmarks.papers._render import scoreboard, table_page

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PAPERS = [papers.load(key) for key in papers.available()]
TABLES = [(paper, table) for paper in PAPERS for table in paper.tables]


def content(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize(("paper", "table"), TABLES, ids=[f"{p.key}-{t.key}" for p, t in TABLES])
def test_the_page_of_a_table(paper, table):
    comparison = papers.compare(paper, table, RESULTS)
    expected = table_page(paper, comparison) if comparison.records else ""
    assert content(RESULTS / paper.key / f"{table.key}.md") == expected


def test_the_scoreboard():
    assert content(RESULTS / "README.md") == scoreboard(PAPERS, RESULTS)
