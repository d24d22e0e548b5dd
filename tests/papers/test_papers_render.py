import re
import sys

import pytest
from toy_paper import make_paper

from benchmarks.papers import Entry, Store, entry_lines, markdown_table, render, report, run

LINES = re.compile(r"^\|.*\|$", re.MULTILINE)


def entry(values, published=None, target=None, lower_is_better=True):
    return Entry("row", "1", tuple(values), published, target, lower_is_better)


@pytest.mark.parametrize(
    ("values", "published", "lower_is_better", "behind"),
    [
        # mean 12 and variance 3.2 over 6 draws: two standard errors are 1.461
        ([10.0, 12.0, 14.0, 12.0, 10.0, 14.0], 10.6, True, False),
        ([10.0, 12.0, 14.0, 12.0, 10.0, 14.0], 10.5, True, True),
        ([10.0, 12.0, 14.0, 12.0, 10.0, 14.0], 15.0, True, False),
        ([10.0, 12.0, 14.0, 12.0, 10.0, 14.0], 13.5, False, True),
        ([10.0, 12.0, 14.0, 12.0, 10.0, 14.0], 13.4, False, False),
        ([12.0], 1.0, True, False),
        ([], 1.0, True, False),
        ([12.0, 12.0], None, True, False),
    ],
)
def test_behind_is_more_than_two_standard_errors_on_the_worse_side(
    values, published, lower_is_better, behind
):
    assert entry(values, published, lower_is_better=lower_is_better).behind is behind


@pytest.mark.parametrize(
    ("values", "target", "lower_is_better", "on_target"),
    [
        ([4.0, 6.0], 5.0, True, True),
        ([4.0, 6.1], 5.0, True, False),
        ([4.0, 6.1], 5.0, False, True),
        ([], 5.0, True, None),
        ([5.0], None, True, None),
    ],
)
def test_targets_are_held_against_the_mean(values, target, lower_is_better, on_target):
    assert entry(values, target=target, lower_is_better=lower_is_better).on_target is on_target


def test_an_entry_says_only_what_is_there():
    assert entry_lines(entry([])) == []
    assert entry_lines(entry([2.0])) == ["2.00 (n=1)"]
    assert entry_lines(entry([1.0, 3.0], published=0.5)) == ["2.00 ± 1.41 (n=2)", "paper 0.50"]
    assert entry_lines(entry([90.0], target=92, lower_is_better=False)) == ["90.00 (n=1)", "target ≥ 92 ✗"]


def test_markdown_keeps_line_breaks_inside_entries():
    assert markdown_table(["a", "b"], [["x", "1\n2"]]).splitlines()[-1] == "| x | 1<br>2 |"


def test_a_table_shows_ours_beside_the_papers(tmp_path):
    paper = make_paper()
    run(paper, quick=True, results=tmp_path)
    text, picture = render(paper, paper.tables[0], tmp_path)
    rows = [line.split("|")[1:-1] for line in LINES.findall(text.read_text())]
    assert [cell.strip() for cell in rows[0]] == ["labels per class:", "1", "5"]
    # random() of seeds 0 and 1 is 0.63696 and 0.51182: mean 0.57439, standard deviation 0.08849
    assert rows[2][1].strip() == "11.57 ± 0.09 (n=2)<br>paper 11.00 ▼"
    assert rows[3][2].strip() == "25.57 ± 0.09 (n=2)<br>target ≤ 26 ✓"
    assert [cell.strip() for cell in rows[4]] == ["published only", "", "paper 3.00"]
    assert text.parent == picture.parent == tmp_path / "toys"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_nothing_stored_writes_nothing(tmp_path):
    paper = make_paper()
    assert render(paper, paper.tables[0], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_picture_is_drawn_again_only_for_a_changed_table(tmp_path):
    paper = make_paper()
    run(paper, quick=True, results=tmp_path)
    _, picture = render(paper, paper.tables[0], tmp_path)
    picture.write_bytes(b"drawn by another version of matplotlib")
    render(paper, paper.tables[0], tmp_path)
    assert picture.read_bytes().startswith(b"drawn")
    run(paper, results=tmp_path)
    render(paper, paper.tables[0], tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_message_names_the_extra(tmp_path, monkeypatch):
    paper = make_paper()
    run(paper, quick=True, results=tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'weakly\[plot\]'"):
        render(paper, paper.tables[0], tmp_path)
    assert (tmp_path / "toys" / "toy.md").exists()


def test_the_scoreboard_counts_and_names_its_sources(tmp_path):
    paper = make_paper()
    run(paper, quick=True, results=tmp_path)
    page = report([paper], tmp_path).read_text()
    assert "| toys | toy | 4 | 1 | 1 | 1 of 1 |" in page
    assert "11.57 ± 0.09 (n=2)" in page
    record = Store(tmp_path / "toys" / "toy.jsonl").records()[0]
    assert record["machine"]["cpu"] in page
    assert f"numpy {record['versions']['numpy']}" in page
    assert f"source {record['source']}" in page
    assert "8 results" in page
    assert "speed.md" not in page


def test_rivals_do_not_count_and_are_named_where_they_do_better(tmp_path):
    # "first" is about 10 lower than "second" in both columns
    paper = make_paper(fields={"rivals": ("first",)})
    run(paper, quick=True, results=tmp_path)
    page = report([paper], tmp_path).read_text()
    assert "| toys | toy | 2 | 0 |  | 1 of 1 |" in page
    assert (
        "Rivals with a better mean than every row of ours: first, at 1 (11.57); first, at 5 (15.57)." in page
    )
    beaten = make_paper(fields={"rivals": ("second",)})
    page = report([beaten], tmp_path).read_text()
    assert "| toys | toy | 2 | 1 | 1 |  |" in page
    assert "Rivals with" not in page
    upwards = make_paper(fields={"rivals": ("second",), "lower_is_better": False})
    assert "ours: second, at 1 (21.57); second, at 5" in report([upwards], tmp_path).read_text()


def test_the_scoreboard_without_results_says_so(tmp_path):
    assert "No results are stored." in report([make_paper()], tmp_path).read_text()


def test_what_belongs_beside_an_entry_is_its_mean_over_the_seeds(tmp_path):
    paper = make_paper({"beside": ("twice", "never stored")})
    run(paper, repeats=3, results=tmp_path)
    page = render(paper, paper.tables[0], tmp_path, plot=False)[0].read_text()
    assert page.count("<br>twice 2.00") == 4  # seeds 0, 1, 2 in every measured entry
    assert "never stored" not in page
