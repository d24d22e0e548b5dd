import errno
import io
import os
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weakly.auto import _few_label
from weakly.auto._bank import build_bank
from weakly.cli._features import TablePreparation

QUICK = ("--target", "name", "--method", "laplacian-rls", "--folds", "0")


def run(weakly, tmp_path, frame, *options, suffix=".csv", target="name"):
    """Write a table, label it, and return the filled one with the command's result."""
    source = tmp_path / f"table{suffix}"
    frame.to_csv(source, index=False) if suffix == ".csv" else frame.to_parquet(source)
    result = weakly("label", source, "--target", target, "--force", *options)
    assert result.exit_code == 0, result.stderr
    out = tmp_path / f"table.labeled{suffix}"
    return (pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)), result


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_only_missing_labels_are_filled(weakly, tmp_path, flowers, suffix):
    filled, _ = run(weakly, tmp_path, flowers, suffix=suffix)
    assert filled["name"].tolist() == flowers.attrs["truth"]
    assert list(filled.columns) == [*flowers.columns, "name_confidence"]
    rest = [name for name in flowers.columns if name != "name"]
    pd.testing.assert_frame_equal(filled[rest], flowers[rest], check_dtype=suffix == ".parquet")
    assert (filled["name_confidence"][:6] == 1).all()
    assert filled["name_confidence"][6:].between(0.5, 1).all()


def test_given_labels_stay_even_where_the_method_disagrees(weakly, tmp_path, flowers):
    flowers.loc[60] = [10.0, 5.0, "white", "rose"]  # amid the tulips
    filled, _ = run(weakly, tmp_path, flowers)
    assert filled["name"].iloc[-1] == "rose"
    assert filled["name_confidence"].iloc[-1] == 1


@pytest.mark.parametrize(
    ("first", "second", "cells"),
    [("-1", "1", "integers"), ("0", "1", "zero"), ("True", "False", "booleans"), ("007", "010", "padded")],
)
def test_csv_labels_come_back_as_written(weakly, tmp_path, flowers, first, second, cells):
    words = {"rose": first, "tulip": second}
    flowers["name"] = flowers["name"].map(words)
    flowers.to_csv(tmp_path / "t.csv", index=False)
    assert weakly("label", tmp_path / "t.csv", "--target", "name").exit_code == 0
    filled = pd.read_csv(tmp_path / "t.labeled.csv", dtype=str)
    assert filled["name"].tolist() == [words[name] for name in flowers.attrs["truth"]]


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (-1, 1, "Int64"),
        (-1, 1, "Int8"),
        (0.0, 2.0, "float64"),
        (True, False, "boolean"),
        ("a", "b", "category"),
        ("a", "b", "object"),
    ],
)
def test_parquet_labels_keep_their_type(weakly, tmp_path, flowers, first, second, dtype):
    words = {"rose": first, "tulip": second}
    given = [words.get(name) for name in flowers["name"]]
    flowers["name"] = pd.Series(given, dtype=dtype)
    flowers.to_parquet(tmp_path / "before.parquet")
    filled, _ = run(weakly, tmp_path, flowers, suffix=".parquet")
    assert filled["name"].tolist() == [words[name] for name in flowers.attrs["truth"]]
    assert filled["name"].dtype == pd.read_parquet(tmp_path / "before.parquet")["name"].dtype


def test_parquet_booleans_with_gaps(weakly, tmp_path, flowers):
    words = {"rose": True, "tulip": False}
    flowers["name"] = pd.Series([words.get(name) for name in flowers["name"]], dtype=object)
    filled, _ = run(weakly, tmp_path, flowers, suffix=".parquet")
    assert filled["name"].tolist() == [words[name] for name in flowers.attrs["truth"]]
    assert filled["name"].dtype == bool  # what pandas reads once no gap is left


def test_index_of_parquet_survives(weakly, tmp_path, flowers):
    flowers.index = pd.Index(np.repeat(["a", "b"], 30), name="bed")
    filled, _ = run(weakly, tmp_path, flowers, suffix=".parquet")
    pd.testing.assert_index_equal(filled.index, flowers.index)
    assert filled["name"].tolist() == flowers.attrs["truth"]


def test_text_and_gaps(weakly, tmp_path, flowers):
    rng = np.random.default_rng(1)
    words = {"rose": ["thorn", "red", "bush", "petal"], "tulip": ["bulb", "dutch", "field", "spring"]}
    flowers["story"] = [" ".join(rng.choice(words[name], 5)) for name in flowers.attrs["truth"]]
    flowers.loc[::7, "story"] = None
    flowers.loc[::5, "height"] = np.nan
    filled, result = run(weakly, tmp_path, flowers)
    assert filled["name"].tolist() == flowers.attrs["truth"]
    assert "text, tf-idf" in result.stdout
    assert "12 missing set to the median" in result.stdout


def test_summary_tells_rows_columns_classes_and_scores(weakly, tmp_path, flowers):
    flowers["key"] = [f"k{i}" for i in range(60)]
    _, result = run(weakly, tmp_path, flowers)
    assert "60 samples, 6 labeled; few-label filled 54." in result.stdout
    assert "dropped: every value differs, like an identifier" in result.stdout
    told = " ".join(result.stdout.split())
    found = "few-label finds 6 of 6 hidden labels (100%, 95% interval 61% to 100%)"  # Wilson for 6 of 6
    assert f"{found}, SVC on the labeled samples 6 (100%); the labels " in told
    assert "If the labeled samples were picked at random, this is a low estimate for other samples" in told
    assert "of the classes tested: the method saw 4 of the 6 labels at a time." in told
    assert "baseline on 0 samples and worse on 0 (sign test: p = 1): these labels cannot" in told
    assert "note: SVC on the labeled samples does at least as well" in told
    assert "│ rose │ 3 │ 27 │ 50.0% │ 3 of 3 (100%) │" in told
    assert "not tested" not in told


@pytest.mark.parametrize("method", ["few-label", "laplacian-rls"])
def test_summary_tells_what_the_method_says_of_its_work(weakly, tmp_path, flowers, fit_again, method):
    _, result = run(weakly, tmp_path, flowers, "--method", method)
    told = " ".join(result.stdout.split())
    assert f"6 labeled; {method} filled 54." in told
    model = fit_again(tmp_path / "table.csv") if method == "few-label" else None
    for part in ("log odds", "Preparation of the features", "with the labels alone, says another class"):
        assert (part in told) == (model is not None)
    if model is not None:
        assert f"(log odds {model.evidence_.log_odds:.1f})." in told
        assert f"Preparation of the features: {model.preparation_}." in told
        differ = (model.supervised_ != model.transduction_)[6:].sum()
        assert f"On {differ} of the 54 filled samples the supervised baseline" in told


def test_refits_share_the_kernels(weakly, tmp_path, flowers, monkeypatch):
    calls = []
    monkeypatch.setattr(_few_label, "build_bank", lambda *a, **k: calls.append(a) or build_bank(*a, **k))
    _, result = run(weakly, tmp_path, flowers)
    assert "few-label finds 6 of 6" in result.stdout  # from refits
    assert len(calls) == 1


def test_classes_with_one_label_are_named_as_untested(weakly, tmp_path, flowers):
    for row, height in enumerate([-9.0, -8.5, -9.5, -9.2], start=60):  # a bed of their own
        flowers.loc[row] = [height, 20.0, "blue", "peony" if row == 60 else None]
    filled, result = run(weakly, tmp_path, flowers)
    n_filled = (filled["name"] == "peony").sum() - 1
    assert n_filled > 1
    told = " ".join(result.stdout.split())
    assert f"note: not tested, for lack of a second label: peony ({n_filled} filled samples)." in told


def test_a_real_class_called_none_stays(weakly, tmp_path, flowers):
    words = {"rose": "none", "tulip": "NA"}
    flowers["name"] = flowers["name"].map(words)
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name")
    filled = pd.read_csv(tmp_path / "t.labeled.csv", na_filter=False)
    assert filled["name"].tolist() == [words[name] for name in flowers.attrs["truth"]]
    assert "'none' is taken for a class; if it means missing, add --missing 'none'." in result.stdout


@pytest.mark.parametrize("word", ["none", "-1"])
def test_a_word_for_missing_labels(weakly, tmp_path, flowers, word):
    flowers["name"] = flowers["name"].fillna(word)
    filled, _ = run(weakly, tmp_path, flowers, "--missing", word, "--missing", "other")
    assert filled["name"].tolist() == flowers.attrs["truth"]


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_blank_parquet_cells_are_missing_and_spellings_lose_their_blanks(weakly, tmp_path, flowers, dtype):
    flowers["name"] = flowers["name"].fillna("").replace("rose", "rose  ").astype(dtype)
    filled, _ = run(weakly, tmp_path, flowers, suffix=".parquet")
    assert filled["name"].tolist()[:6] == flowers["name"].tolist()[:6]
    assert filled["name"].tolist()[6:] == flowers.attrs["truth"][6:]


def test_repeated_and_empty_headers_come_back(weakly, tmp_path, flowers):
    flowers.columns = ["size", "size", "", "name"]
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("t.csv", "t.labeled.csv"))
    assert after[0] == "size,size,,name,name_confidence"
    assert [line.split(",")[:3] for line in after] == [line.split(",")[:3] for line in before]


def test_a_semicolon_table_in_windows_letters(weakly, tmp_path, flowers):
    words = {"rose": "rosé", "tulip": "tulipe"}
    flowers["name"] = flowers["name"].map(words)
    flowers.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    result = weakly("label", tmp_path / "t.csv", "--target", "name")
    assert result.exit_code == 0, result.stderr
    assert "number, standardised" in result.stdout
    assert "separated by semicolons" in result.stdout
    filled = pd.read_csv(tmp_path / "t.labeled.csv", sep=";", decimal=",", encoding="cp1252")
    assert filled["name"].tolist() == [words[name] for name in flowers.attrs["truth"]]
    np.testing.assert_array_equal(filled["height"], flowers["height"])


def test_files_are_overwritten_only_by_force(weakly, tmp_path, flowers):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    command = ("label", tmp_path / "t.csv", "--target", "name", "--folds", "0")
    for name, options in (("t.labeled.csv", ()), ("r.html", ("--report", tmp_path / "r.html"))):
        (tmp_path / name).write_text("mine")
        result = weakly(*command, *options)
        assert result.exit_code == 2
        assert f"{name}' exists already: add --force" in result.stderr
        assert (tmp_path / name).read_text() == "mine"
        assert weakly(*command, *options, "--force").exit_code == 0
        assert (tmp_path / name).read_text() != "mine"
        (tmp_path / name).unlink()


@pytest.mark.parametrize("n_written", [0, 1], ids=["table", "report"])
def test_a_full_disk_destroys_nothing(weakly, tmp_path, flowers, monkeypatch, n_written):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.labeled.csv", "r.html"):
        (tmp_path / name).write_text("mine")
    fsync, synced = os.fsync, []

    def fill_the_disk(file):
        synced.append(file)
        if len(synced) > n_written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    monkeypatch.setattr(os, "fsync", fill_the_disk)
    options = ("--method", "laplacian-rls", "--folds", "0", "--force", "--report", tmp_path / "r.html")
    result = weakly("label", tmp_path / "t.csv", "--target", "name", *options)
    assert result.exit_code == 2
    assert result.stderr.endswith("No space left on device\n")
    assert sorted(os.listdir(tmp_path)) == ["r.html", "t.csv", "t.labeled.csv"]
    assert ((tmp_path / "t.labeled.csv").read_text() == "mine") == (n_written == 0)
    assert (tmp_path / "r.html").read_text() == "mine"


def test_no_warning_where_the_unlabelled_rows_help(weakly, tmp_path):
    # Two long parallel chains; the labels near the middle are nearer to the other chain's than to their own.
    along, chain = np.tile(np.linspace(0, 20, 100), 2), np.repeat([0, 1], 100)
    frame = pd.DataFrame(
        {"along": along, "across": 1.0 * chain, "name": pd.Series([None] * 200, dtype=object)}
    )
    for row in (0, 50, 99, 100, 150, 199):
        frame.loc[row, "name"] = "ab"[chain[row]]
    _, result = run(weakly, tmp_path, frame.sample(frac=1, random_state=0))
    told = " ".join(result.stdout.split())
    assert "few-label finds 6 of 6" in told
    assert "SVC on the labeled samples 6 (" not in told
    assert "at least as well" not in result.stdout
    assert "note:" not in result.stdout


def test_streams(weakly, tmp_path, flowers):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    command = ("label", "--target", "name", "--method", "laplacian-rls", "--folds", "0")
    assert weakly(*command, tmp_path / "t.csv").exit_code == 0
    expected = (tmp_path / "t.labeled.csv").read_bytes()
    piped = weakly(*command, "-", input=(tmp_path / "t.csv").read_bytes())
    assert piped.stdout_bytes == expected
    assert "54 samples" not in piped.stderr
    assert "60 samples, 6 labeled; laplacian-rls filled 54." in piped.stderr
    report = ("--report", tmp_path / "r.html")
    named = weakly(*command, tmp_path / "t.csv", "--out", "-", *report)
    assert named.stdout_bytes == expected
    into = weakly(*command, "-", "--out", tmp_path / "new.csv", input=(tmp_path / "t.csv").read_bytes())
    assert (tmp_path / "new.csv").read_bytes() == expected
    assert "filled 54" in into.stdout


def test_a_parquet_table_goes_to_the_standard_output_as_csv(weakly, tmp_path, flowers):
    flowers.to_parquet(tmp_path / "t.parquet")
    command = ("label", tmp_path / "t.parquet", *QUICK)
    filled = pd.read_csv(io.StringIO(weakly(*command, "--out", "-").stdout))
    assert filled["name"].tolist() == flowers.attrs["truth"]


def test_an_empty_standard_input(weakly):
    result = weakly("label", "-", "--target", "name", input=b"")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: cannot read the standard input: the file is empty: a table has a header and rows.\n"
    )


def test_the_next_samples_to_label(weakly, tmp_path, flowers):
    options = ("--next", tmp_path / "n.csv", "--method", "laplacian-rls", "--folds", "0")
    filled, result = run(weakly, tmp_path, flowers, *options)
    asked = pd.read_csv(tmp_path / "n.csv")
    assert list(asked.columns) == ["name_row", *flowers.columns]
    assert asked["name"].isna().all()
    rows = asked["name_row"] - 1
    assert len(set(rows)) == 15
    guessed = filled.iloc[6:]["name_confidence"]
    assert guessed[rows].tolist() == sorted(guessed)[:15]
    pd.testing.assert_frame_equal(
        asked[["height", "width", "color"]],
        flowers.loc[rows, ["height", "width", "color"]].reset_index(drop=True),
    )
    assert f"To label next: {tmp_path / 'n.csv'}" in result.stdout
    # And back: labels filled in by row number are given ones in the next run.
    flowers.loc[rows, "name"] = np.array(flowers.attrs["truth"], dtype=object)[rows]
    _, result = run(weakly, tmp_path, flowers, "--method", "laplacian-rls", "--folds", "0")
    assert "60 samples, 21 labeled" in result.stdout


def test_decimal_commas_in_and_out(weakly, tmp_path, flowers):
    flowers.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",", lineterminator="\r\n")
    options = ("--method", "laplacian-rls", "--folds", "0", "--next", tmp_path / "n.csv")
    assert weakly("label", tmp_path / "t.csv", "--target", "name", *options).exit_code == 0
    lines = (tmp_path / "t.labeled.csv").read_bytes().decode().split("\r\n")
    assert all(re.fullmatch(r"[^.]*;0,\d+", line) for line in lines[7:-1])
    assert b"\n" not in (tmp_path / "n.csv").read_bytes().replace(b"\r\n", b"")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_infinite_numbers_are_missing_values(weakly, tmp_path, flowers, suffix):
    flowers.loc[[3, 4, 20], "height"] = np.inf, np.inf, -np.inf
    options = ("--method", "laplacian-rls", "--folds", "0")
    filled, result = run(weakly, tmp_path, flowers, *options, suffix=suffix)
    assert result.stderr == ""
    assert "3 missing" in result.stdout
    assert filled["height"].tolist() == flowers["height"].tolist()


def test_file_names_that_are_no_utf8(weakly, tmp_path, flowers):
    source = tmp_path / os.fsdecode(b"t\xff\xfe.csv")
    flowers.to_csv(source, index=False)
    result = weakly("label", source, *QUICK, "--report", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    assert r"t\udcff\udcfe.labeled.csv" in result.stdout
    assert r"t\udcff\udcfe.csv, seed 0" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert os.path.exists(os.fsencode(tmp_path) + b"/t\xff\xfe.labeled.csv")


@pytest.mark.parametrize("method", ["laplacian-rls", "LaplacianRLSClassifier"])
def test_methods_by_either_name(weakly, tmp_path, flowers, method):
    _, result = run(weakly, tmp_path, flowers, "--method", method, "--folds", "0")
    assert "; laplacian-rls filled 54." in result.stdout


@pytest.fixture
def stories(flowers):
    """Flowers with a text of many words, which makes the features sparse."""
    truth = flowers.attrs["truth"]
    flowers["story"] = [f"the {name} number{row} has size{row}" for row, name in enumerate(truth)]
    assert sp.issparse(TablePreparation().fit_transform(flowers.drop(columns="name")))
    return flowers


@pytest.mark.parametrize("method", ["rms-boost", "ada-boost-ml"])
def test_methods_of_dense_features_take_text(weakly, tmp_path, stories, method):
    filled, _ = run(weakly, tmp_path, stories, "--method", method, "--folds", "0")
    assert filled["name"].tolist() == stories.attrs["truth"]


def test_text_that_does_not_fit_as_dense_features(weakly, tmp_path, stories, monkeypatch):
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "1KB")
    stories.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--method", "rms-boost")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "sparse features dense, which RMSBoostClassifier has to, needs" in result.stderr
    assert "choose a method that takes sparse ones, such as few-label" in result.stderr


def test_ignored_columns_do_not_matter(weakly, tmp_path, flowers):
    flowers["noise"] = np.random.default_rng(0).normal(scale=1e3, size=60)
    flowers["more noise"] = np.random.default_rng(1).normal(scale=1e3, size=60)
    filled, result = run(weakly, tmp_path, flowers, "--ignore", "noise", "--ignore", "more noise")
    plain, _ = run(weakly, tmp_path, flowers.drop(columns=["noise", "more noise"]))
    assert filled["name_confidence"].tolist() == plain["name_confidence"].tolist()
    assert "more noise" not in result.stdout


def test_same_seed_same_output(weakly, tmp_path, flowers):
    first, _ = run(weakly, tmp_path, flowers, "--seed", "3")
    second, _ = run(weakly, tmp_path, flowers, "--seed", "3")
    pd.testing.assert_frame_equal(first, second)


def test_leave_out_can_be_skipped(weakly, tmp_path, flowers):
    _, result = run(weakly, tmp_path, flowers, "--folds", "0")
    assert "note: no labels were hidden" in result.stdout


def test_one_label_per_class_in_a_tiny_table(weakly, tmp_path):
    frame = pd.DataFrame({"x": [0.0, 0.1, 9.0, 9.2], "name": ["a", None, "b", None]})
    filled, result = run(weakly, tmp_path, frame)
    assert filled["name"].tolist() == ["a", "a", "b", "b"]
    assert "The accuracy is unknown, for no label was hidden" in result.stdout


def test_almost_as_many_classes_as_labels(weakly, tmp_path, flowers):
    flowers["name"] = [f"kind {i}" if i < 26 else "kind 0" if i == 26 else None for i in range(60)]
    filled, result = run(weakly, tmp_path, flowers)
    assert filled["name"].isin(flowers["name"].dropna()).all()
    assert "and 6 more" in result.stdout
    assert result.stderr == ""


def test_cells_are_not_markup(weakly, tmp_path, flowers):
    flowers["name"] = flowers["name"].map({"rose": "[red]rose[/red]", "tulip": "[/]"})
    flowers = flowers.rename(columns={"color": "[bold]color"})
    filled, result = run(weakly, tmp_path, flowers)
    assert set(filled["name"]) == {"[red]rose[/red]", "[/]"}
    assert "[red]rose[/red]" in result.stdout
    assert "[bold]color" in result.stdout


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f, ["--target", "naame"], "no column 'naame' in the table: did you mean 'name'?"),
        (lambda f: f, ["--target", "name", "--ignore", "heights"], "did you mean 'height'?"),
        (lambda f: f, ["--target", "name", "--method", "laplacian"], "unknown method 'laplacian'"),
        (lambda f: f, ["--target", "name", "--method", "LaplacianSVM"], "did you mean 'LaplacianSVC'"),
        (lambda f: f, ["--target", "name", "--next", "{source}"], "the table itself"),
        (lambda f: f, ["--target", "name", "--next", "{source}.txt"], "must end in '.csv'"),
        (lambda f: f, ["--target", "name", "--report", "-"], "name a file"),
        (lambda f: f, ["--target", "name", "--out", "{source}"], "the table itself"),
        (lambda f: f, ["--target", "name", "--out", "{source}.txt"], "must end in '.csv'"),
        (lambda f: f, ["--target", "name", "--report", "{source}"], "the table itself"),
        (lambda f: f, ["--target", "name", "--report", "{source}/x.html"], "does not exist"),
        (lambda f: f.assign(name="rose"), ["--target", "name"], "no missing label"),
        (lambda f: f.assign(name=None), ["--target", "name"], "no label at all"),
        (lambda f: f.replace({"name": "tulip"}, "rose"), ["--target", "name"], "one class only"),
        (lambda f: f.assign(name=f.height.where(f.index < 12)), ["--target", "name"], "only classes can be"),
        (lambda f: f.rename(columns={"color": "name"}), ["--target", "name"], "2 columns are named 'name'"),
        (lambda f: f.assign(name_confidence=1), ["--target", "name"], "'name_confidence' already"),
        (lambda f: f[["name"]], ["--target", "name"], "no column is left to learn from"),
        (lambda f: f[["name"]], ["--target", "x"], "separated by commas, semicolons"),
    ],
)
def test_errors_are_one_line(weakly, tmp_path, flowers, change, options, message):
    source = tmp_path / "table.csv"
    change(flowers).to_csv(source, index=False)
    before = source.read_bytes()
    result = weakly("label", source, *(option.format(source=source) for option in options))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert source.read_bytes() == before
