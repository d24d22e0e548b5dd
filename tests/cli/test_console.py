import io

import pytest
from rich.table import Table as Grid

from weakly.cli._console import SafeConsole, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;pwned\x07", r"\x1b]0;pwned\x07"),
        ("a\x00b\rc\nd\te\x7f\x9b", r"a\x00b\rc\nd\te\x7f\x9b"),
        ("left\u202eright\u2066\u200f\u061c\u2028", r"left\u202eright\u2066\u200f\u061c\u2028"),
        (b"t\xff.csv".decode("utf-8", "surrogateescape"), r"t\udcff.csv"),
        ("naïve 日本 👩\u200d🔬 \\x", "naïve 日本 👩\u200d🔬 \\x"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown
    assert visible(visible(text)) == shown


def test_some_characters_may_stay():
    assert visible("a\n\tb\r", keep="\n\t") == "a\n\tb\\r"


def test_lines_titles_heads_and_cells_are_all_escaped():
    grid = Grid("head\x1b", title="title\x1b")
    grid.add_row("cell\x1b[bold]")
    console = SafeConsole(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print("line\x1b[2J", style="red", soft_wrap=True)
    console.print(grid)
    told = console.file.getvalue()
    assert "\x1b" not in told
    for shown in (r"line\x1b[2J", r"head\x1b", r"title\x1b", r"cell\x1b[bold]"):
        assert shown in told


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "né 日"), ("cp1252", r"né \u65e5"), ("ascii", r"n\xe9 \u65e5")]
)
def test_letters_that_the_terminal_lacks_are_escaped(encoding, shown):
    grid = Grid("né 日", title="né 日")
    grid.add_row("né 日")
    file = io.BytesIO()
    console = SafeConsole(file=io.TextIOWrapper(file, encoding=encoding, write_through=True), width=80)
    console.print("né 日")
    console.print(grid)
    assert file.getvalue().decode(encoding).count(shown) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("\x1b]0;pwned\x07",),
        ("label", "a.csv", "\x1b]0;pwned\x07", "--target", "t"),
        ("label", "a.csv", "--target", "t", "--\x1b]0;pwned\x07"),
        ("label", "\x1b]0;pwned\x07.csv", "--target", "t"),
        ("label", "t.csv", "--target", "\x1b]0;pwned\x07"),
        ("label", "t.csv", "--target", "b", "--method", "\x1b]0;pwned\x07"),
    ],
)
def test_errors_quote_arguments_escaped(weakly, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,\n")
    result = weakly(*arguments)
    assert result.exit_code == 2
    assert r"\x1b]0;pwned\x07" in result.stderr
    assert "\x1b]0" not in result.output
    assert "\x07" not in result.output


def test_control_characters_stay_in_the_table_and_off_the_terminal(weakly, tmp_path, flowers):
    words = {"rose": "\x1b[2J\x07a", "tulip": "b\x00c\rd\u202e"}
    flowers["name"] = flowers["name"].map(words)
    source = tmp_path / "\x1bt.csv"
    flowers.rename(columns={"height": "\x1b]0;col"}).to_csv(source, index=False, lineterminator="\r\n")
    result = weakly("label", source, "--target", "name", "--report", tmp_path / "r.html", "--folds", "0")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for told in (result.output, page):
        assert not set("\x1b\x07\x00\u202e") & set(told)
        assert r"b\x00c\rd\u202e" in told
    filled = (tmp_path / "\x1bt.labeled.csv").read_bytes().decode()
    assert filled.startswith("\x1b]0;col,")
    assert filled.count("\x1b[2J\x07a") == filled.count('"b\x00c\rd\u202e"') == 30
