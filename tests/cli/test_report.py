import base64
import datetime
import re
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest

import weakly as weakly_package

NASTY = "<script>alert('$x & \"y\"')</script>"


class Reader(HTMLParser):
    """Collects the tags, the cells of every table row, and everything that would be fetched."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.sources = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture
def report(weakly, tmp_path, flowers):
    flowers["name"] = flowers["name"].map({"rose": NASTY, "tulip": "_tulip $5"})
    flowers = flowers.rename(columns={"color": NASTY + "2"})
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    return (tmp_path / "r.html").read_text(encoding="utf-8"), pd.read_csv(tmp_path / "t.labeled.csv")


def test_report_is_self_contained_and_escaped(report):
    page, _ = report
    reader = Reader(page)
    assert not {"script", "link", "iframe"} & set(reader.tags)
    assert len(reader.sources) == 1
    kind, data = reader.sources[0].split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert "http" not in page.replace(data, "")


def test_report_counts_classes(report):
    page, filled = report
    rows = Reader(page).rows
    counts = filled["name"].value_counts()
    for label in (NASTY, "_tulip $5"):
        assert [label, "3", str(counts[label] - 3)] in [row[:3] for row in rows]


def test_report_lists_the_least_sure_rows(report):
    page, filled = report
    rows = Reader(page).rows
    start = next(i for i, row in enumerate(rows) if row[0] == "row")
    listed = [int(row[0]) for row in rows[start + 1 : start + 16]]
    guessed = filled.iloc[6:]
    threshold = guessed["name_confidence"].nsmallest(15).max()
    assert len(set(listed)) == 15
    assert (guessed["name_confidence"].loc[[row - 1 for row in listed]] <= threshold).all()
    assert rows[start + 1][2] == f"{guessed['name_confidence'].min():.2f}"


def test_report_compares_with_the_baseline(report):
    page, _ = report
    assert re.search(r"laplacian-rls: 6 of 6 \(100%\)", page)
    assert re.search(r"SVC on the labelled rows: 6 of 6 \(100%\)", page)


def test_report_says_where_it_comes_from(report):
    page, _ = report
    today = datetime.date.today()
    assert f"t.csv, seed 0, weakly {weakly_package.__version__}, {today.isoformat()}" in page


def test_own_sentences_are_whole_and_cells_are_cut(weakly, tmp_path, flowers):
    flowers["notes"] = "a" * 99
    flowers["width"] = flowers["width"].astype(str).where(flowers.index > 0, "unknown")
    flowers.to_csv(tmp_path / "t.csv", index=False)
    weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row] for row in Reader(page).rows]
    told = "number, standardised, 1 missing (1 not read: 'unknown') set to the median and marked"
    assert ["width", told] in rows
    assert any(cell == "a" * 59 + "…" for row in rows for cell in row)


def test_notes_are_boxed_without_a_prefix(report):
    page, _ = report
    assert '<p class="note">The supervised baseline does at least as well' in page
    assert "warning:" not in page


def test_report_needs_matplotlib(weakly, tmp_path, flowers, monkeypatch):
    monkeypatch.setitem(sys.modules, "weakly.plotting", None)
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert not (tmp_path / "t.labeled.csv").exists()
