import pytest
from toy_paper import make_paper
from typer.testing import CliRunner

from benchmarks import papers
from benchmarks.papers.__main__ import app


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Call the command on a toy; returns exit code and output."""
    fails_at = []
    monkeypatch.setattr(papers, "available", lambda: ["toys"])
    monkeypatch.setattr(papers, "load", lambda key: make_paper(**({"fails_at": 1} if fails_at else {})))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments, broken=False, results=tmp_path):
        fails_at[:] = [1] if broken else []
        result = CliRunner().invoke(
            app, [*arguments, *(["--results", str(results)] if arguments[0] != "list" else [])]
        )
        return result.exit_code, result.output

    return call


def test_list_names_papers_and_tables(call):
    code, output = call("list")
    assert code == 0
    assert "toys" in output
    assert "5 (2)" in output


def test_run_prints_ours_and_the_papers_and_goes_on_where_it_was(call, tmp_path):
    code, output = call("run", "toys", "--quick")
    assert code == 0
    assert "11.57 ± 0.09 (n=2)" in output
    assert "paper 11.00 ▼" in output
    assert "8 cells: 8 measured, 0 found, 0 failed." in output
    assert {path.name for path in (tmp_path / "toys").iterdir()} == {"toy.jsonl", "toy.md", "toy.png"}
    assert "12 cells: 4 measured, 8 found, 0 failed." in call("run", "all", "--repeats", "3")[1]


def test_when_all_is_found_the_way_to_measure_again_is_told(call, tmp_path):
    call("run", "toys", "--quick")
    code, output = call("run", "toys", "--quick")
    assert code == 0
    assert "all cells were stored before. To measure again, add --fresh." in output
    code, output = call("run", "toys", "--quick", "--fresh")
    assert "8 cells: 8 measured, 0 found, 0 failed." in output
    assert "stored before" not in output


def test_another_version_of_the_source_is_told(call, monkeypatch):
    _, output = call("run", "toys", "--quick")
    assert "toys toy: 8 results, all measured with this source." in output
    monkeypatch.setattr(papers._compare, "source_hash", lambda: "another")
    for command in (("run", "toys", "--repeats", "2"), ("report",)):
        _, output = call(*command)
        assert "toys toy: 8 results, 8 measured with another version of the source." in output


@pytest.mark.parametrize("fresh", [(), ("--fresh",)])
def test_absent_data_is_one_line_and_leaves_no_file(call, monkeypatch, tmp_path, fresh):
    monkeypatch.delenv("WEAKLY_DATA", raising=False)
    monkeypatch.setattr(papers, "load", lambda key: make_paper(fields={"datasets": ("usps",)}))
    code, output = call("run", "all", *fresh)
    assert code == 2
    assert len(output.strip().splitlines()) == 1
    assert "WEAKLY_DATA is not set" in output
    assert "Elements of Statistical Learning" in output
    assert list(tmp_path.iterdir()) == []


def test_failures_alone_leave_no_page(call, monkeypatch, tmp_path):
    monkeypatch.setattr(papers, "load", lambda key: make_paper(fails_at=0))
    code, _ = call("run", "toys", "--repeats", "1")
    assert code == 1
    assert list(tmp_path.iterdir()) == []


def test_failed_cells_show_their_traceback_and_the_exit_code(call):
    code, output = call("run", "toys", "--table", "toy", "--quick", broken=True)
    assert code == 1
    assert "4 failed with RuntimeError: seed 1 does not work" in output
    assert "Traceback" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "toyz"), "unknown paper 'toyz': did you mean 'toys'?"),
        (("run", "toys", "--table", "x"), "['toy']"),
    ],
)
def test_unknown_names_are_told_in_one_line(call, arguments, message):
    code, output = call(*arguments)
    assert code == 2
    assert message in output
    assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize("command", [("run", "toys", "--quick"), ("report",)])
def test_a_folder_that_cannot_be_used_is_told_in_one_line(call, tmp_path, command):
    (tmp_path / "file").touch()
    code, output = call(*command, results=tmp_path / "file")
    assert code == 2
    assert output.strip().splitlines()[-1].startswith(f"error: cannot use --results '{tmp_path / 'file'}': ")


def test_a_full_disk_is_told_in_one_line(call, monkeypatch):
    monkeypatch.setattr(papers._store.os, "write", lambda descriptor, content: 0)
    code, output = call("run", "toys", "--quick")
    assert code == 2
    assert "is the disk full?" in output.strip().splitlines()[-1]


def test_report_writes_the_page(call, tmp_path):
    call("run", "toys", "--quick")
    page = tmp_path / "toys" / "toy.md"
    text = page.read_text()
    page.write_text("stale")
    code, _ = call("report")
    assert code == 0
    assert page.read_text() == text
    assert "| toys | toy | 4 | 1 | 1 | 1 of 1 |" in (tmp_path / "README.md").read_text()


def test_an_interruption_says_how_to_go_on(call, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(papers, "run", interrupted)
    code, output = call("run", "toys")
    assert code == 130
    assert "the same command goes on from here" in output
    assert "without --fresh" in call("run", "toys", "--fresh")[1]
