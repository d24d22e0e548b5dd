import base64
import dataclasses
import datetime
import itertools
import re
import sys
import tracemalloc
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

import weakly as weakly_package
from weakly import plotting
from weakly.cli import _pictures
from weakly.cli._labeling import label_table
from weakly.cli._report import report_page
from weakly.cli._tables import read_table

NASTY = "<script>alert('$x & \"y\"')</script>"


class Reader(HTMLParser):
    """Collects the tags, the cells of every table row, the paragraphs, and all that would be fetched."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.sources, self.styles = [], [], [], []
        self.paragraphs, self.marked, self.opened = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.opened.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self.styles += [value for name, value in attrs if name == "style"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "p":
            self.paragraphs.append((dict(attrs).get("class"), ""))
        if tag in ("img", "meta"):
            self.opened.pop()

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.opened):
            self.rows[-1][-1] += data
        if "p" in self.opened:
            style, text = self.paragraphs[-1]
            self.paragraphs[-1] = (style, text + data)
        if "mark" in self.opened:
            self.marked.append(data)

    def table(self, *heads):
        """Return the rows below the first ones that begin with these heads, as lists of texts."""
        starts = [place for place, row in enumerate(self.rows) if row[: len(heads)] == list(heads)]
        assert len(starts) == 1
        width = len(self.rows[starts[0]])
        below = itertools.takewhile(lambda row: len(row) == width, self.rows[starts[0] + 1 :])
        return [[cell.strip() for cell in row] for row in below]


def write_and_read(weakly, folder, frame, *options):
    """Label a table and return the report, read, with the filled table."""
    frame.to_csv(folder / "t.csv", index=False)
    command = ("label", folder / "t.csv", "--target", "name", "--force", "--report", folder / "r.html")
    result = weakly(*command, *options)
    assert result.exit_code == 0, result.stderr
    page = (folder / "r.html").read_text(encoding="utf-8")
    return Reader(page), pd.read_csv(folder / "t.labeled.csv")


@pytest.fixture
def moons():
    """Two crescents with three labels each, where unlabelled rows change some cells."""
    rows, crescent = make_moons(200, noise=0.06, random_state=0)
    frame = pd.DataFrame(
        {"across": rows[:, 0], "up": rows[:, 1], "name": pd.Series([None] * 200, dtype=object)}
    )
    rng = np.random.default_rng(0)
    for place, name in enumerate("ab"):
        frame.loc[rng.choice(np.flatnonzero(crescent == place), 3, replace=False), "name"] = name
    return frame


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
    assert len(reader.sources) == 2
    for kind, data in (source.split(",") for source in reader.sources):
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
        page = page.replace(data, "")
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert reader.styles
    assert all(re.fullmatch(r"width: [\d.]+rem", style) for style in reader.styles)
    assert NASTY not in page
    assert escape(NASTY) in page


def test_report_begins_with_accuracy_and_evidence_in_one_sentence(weakly, tmp_path, moons, fit_again):
    reader, _ = write_and_read(weakly, tmp_path, moons)
    model = fit_again(tmp_path / "t.csv")
    texts = [text for _, text in reader.paragraphs]
    (place,) = [place for place, (style, _) in enumerate(reader.paragraphs) if style == "verdict"]
    assert place == 1  # behind what was filled
    verdict = texts[place]
    found = re.fullmatch(
        r"few-label finds ([\d.]+) of 6 hidden labels \((\d+)%, 95% interval \d+% to \d+%\), SVC on the "
        rf"labeled samples [\d.]+ \(\d+%\); the labels [\w ,]+ \(log odds {model.evidence_.log_odds:.1f}\)\.",
        verdict,
    )
    assert float(found[1]) / 6 == pytest.approx(float(found[2]) / 100, abs=0.006)
    assert f"Preparation of the features: {model.preparation_}." in texts


def test_report_lists_the_heaviest_kernels(weakly, tmp_path, moons, fit_again):
    reader, _ = write_and_read(weakly, tmp_path, moons)
    model = fit_again(tmp_path / "t.csv")
    listed = reader.table("kernel", "assumption", "score", "weight")
    order = np.argsort(-model.candidates_["weight"], kind="stable")[:10]
    assert [row[0] for row in listed] == model.candidates_["kernel"][order].tolist()
    assert [row[2] for row in listed] == [f"{score:.1f}" for score in model.candidates_["score"][order]]
    assert [row[3] for row in listed] == [f"{weight:.1%}" for weight in model.candidates_["weight"][order]]
    sums = dict(row[::2] for row in reader.table("assumption", "in words", "weight"))
    names = {
        "sup": "labels alone",
        "lap": "smooth along neighbours",
        "graph": "pieces of the neighbour graph",
        "pca": "main directions and clusters",
    }
    assert sums == {
        name: f"{model.candidates_['weight'][model.candidates_['family'] == family].sum():.1%}"
        for family, name in names.items()
    }
    shares = [float(share.rstrip("%")) for share in sums.values()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.21)


def test_bars_are_as_long_as_the_weights(weakly, tmp_path, moons):
    reader, _ = write_and_read(weakly, tmp_path, moons)
    shares = [
        float(row[-1].rstrip("%")) / 100
        for heads in (("assumption", "in words"), ("kernel", "assumption"))
        for row in reader.table(*heads)
    ]
    widths = [float(style.removeprefix("width: ").removesuffix("rem")) for style in reader.styles]
    np.testing.assert_allclose(widths, 12 * np.array(shares), atol=0.012)


def test_report_counts_the_cells_of_the_supervised_baseline(weakly, tmp_path, moons, fit_again):
    reader, filled = write_and_read(weakly, tmp_path, moons)
    model = fit_again(tmp_path / "t.csv")
    gaps = moons["name"].isna().to_numpy()
    assert (filled["name"] == np.array(["a", "b"])[model.transduction_])[gaps].all()
    differ = int((model.supervised_ != model.transduction_)[gaps].sum())
    assert differ > 0  # else the table would not tell the two apart
    assert any(text.startswith(f"On {differ} of the 194 filled samples") for _, text in reader.paragraphs)
    for code, row in enumerate(reader.table("name", "given", "filled")):
        ours, baseline = (
            int((labels[gaps] == code).sum()) for labels in (model.transduction_, model.supervised_)
        )
        del row[4]  # what is found when hidden
        assert row == ["ab"[code], "3", str(ours), f"{ours / 194:.1%}", str(baseline)]


def test_least_sure_rows_have_a_runner_up_and_the_baseline(weakly, tmp_path, moons, fit_again):
    moons.loc[moons.index[moons["name"] == "a"][:1], "name"] = "<i>c</i>"  # a third class
    reader, filled = write_and_read(weakly, tmp_path, moons)
    model = fit_again(tmp_path / "t.csv")
    classes = sorted(moons["name"].dropna().unique())
    listed = reader.table("row", "name", "confidence", "runner-up", "supervised baseline", "across")
    assert len(listed) == 15
    marked = []
    for row, label, confidence, runner_up, baseline, *_ in listed:
        place = int(row) - 1
        shares = dict(zip(classes, model.label_distributions_[place], strict=True))
        assert label == filled["name"][place]
        assert confidence == f"{shares.pop(label):.2f}"
        assert runner_up == max(shares, key=shares.get)
        assert baseline == classes[model.supervised_[place]]
        marked += [baseline] if baseline != label else []
    assert reader.marked == marked
    assert marked


def test_methods_without_a_verdict_get_no_empty_section(weakly, tmp_path, flowers):
    reader, _ = write_and_read(weakly, tmp_path, flowers, "--method", "laplacian-rls")
    (verdict,) = [text for style, text in reader.paragraphs if style == "verdict"]
    assert verdict.endswith("SVC on the labeled samples 6 (100%).")
    assert {len(row) for row in reader.table("name", "given", "filled")} == {5}
    heads = next(row for row in reader.rows if row[0] == "row")
    assert heads[:5] == ["row", "name", "confidence", "runner-up", "height"]
    assert reader.marked == reader.styles == []
    assert not any("kernels" in text or "Marked" in text for _, text in reader.paragraphs)


def test_the_picture_has_the_confidence_of_the_rows(weakly, tmp_path, flowers, monkeypatch):
    calls = []
    real = plotting.plot_transduction
    monkeypatch.setattr(plotting, "plot_transduction", lambda *a, **k: calls.append((a, k)) or real(*a, **k))
    reader, filled = write_and_read(weakly, tmp_path, flowers)
    (((labels, _, given), options),) = calls
    assert labels.tolist() == filled["name"].tolist()
    np.testing.assert_allclose(options["confidence"], filled["name_confidence"])
    assert given.tolist() == [*flowers["name"][:6], *[None] * 54]
    caption = next(text for _, text in reader.paragraphs if text.startswith("First two principal"))
    assert "the fainter a sample, the less sure" in caption
    assert "random" not in caption


def test_of_many_rows_a_part_is_drawn_and_said(weakly, tmp_path, flowers, monkeypatch):
    monkeypatch.setattr(_pictures, "MAX_DRAWN", 20)
    calls = []
    real = plotting.plot_transduction
    monkeypatch.setattr(plotting, "plot_transduction", lambda *a, **k: calls.append((a, k)) or real(*a, **k))
    reader, filled = write_and_read(weakly, tmp_path, flowers)
    (((labels, features, given), options),) = calls
    assert len(labels) == len(options["confidence"]) == features.shape[0] == 20
    assert sum(name is not None for name in given) == 6  # all labelled rows
    drawn = zip(labels, options["confidence"].round(9), strict=True)
    assert set(drawn) <= set(zip(filled["name"], filled["name_confidence"].round(9), strict=True))
    assert any("A random 20 of the 60 samples are drawn." in text for _, text in reader.paragraphs)


@pytest.mark.parametrize("n_labels", [5, 70])
def test_labelled_rows_take_half_of_the_picture_at_most(monkeypatch, n_labels):
    monkeypatch.setattr(_pictures, "MAX_DRAWN", 40)
    given = np.where(np.arange(100) < n_labels, 0, -1)
    rows = _pictures.drawn_rows(SimpleNamespace(given=given, missing=given < 0))
    assert len(np.unique(rows)) == 40
    n_stars = (given[rows] >= 0).sum()
    assert n_stars == 5 if n_labels == 5 else n_stars >= 20


def test_wide_sparse_rows_are_drawn_without_a_dense_copy(monkeypatch):
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    rows = sp.random_array((4000, 50_000), density=1e-4, rng=0, format="csr")
    tracemalloc.start()
    plane = plotting.project(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert plane.shape == (4000, 2)
    assert peak < 4000 * 4000 * 8  # bytes of a square of the rows


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
    assert "few-label finds 6 of 6 hidden labels (100%, 95% interval 61% to 100%)" in page
    assert "SVC on the labeled samples 6 (100%)" in page


def test_report_says_where_it_comes_from(report):
    page, _ = report
    today = datetime.date.today()
    assert f"t.csv, seed 0, weakly {weakly_package.__version__}, {today.isoformat()}" in page


def test_sentences_and_cells_are_whole(weakly, tmp_path, flowers):
    flowers["notes"] = "a" * 9999
    flowers["width"] = flowers["width"].astype(str).where(flowers.index > 0, "unknown")
    flowers.to_csv(tmp_path / "t.csv", index=False)
    weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row] for row in Reader(page).rows]
    told = "number, standardised, 1 missing (1 not read: 'unknown') set to the median and marked"
    assert ["width", told] in rows
    assert any(cell == "a" * 9999 for row in rows for cell in row)
    assert "td { max-width: 40rem; overflow-wrap: break-word;" in page


def test_where_all_samples_are_labeled_the_report_says_nothing_of_others(tmp_path, moons):
    moons.to_csv(tmp_path / "t.csv", index=False)
    labeling = label_table(read_table(tmp_path / "t.csv"), "name", method="few-label", max_refits=2)
    page = report_page(dataclasses.replace(labeling, given=labeling.filled), source="t.csv")
    reader = Reader(page)
    texts = [text for _, text in reader.paragraphs] + [cell for row in reader.rows for cell in row]
    assert "200 samples, all labeled." in texts
    assert not [text for text in texts if re.search("unlabel|filled(?! in)", text)]
    assert "What to label next" not in page


def test_confusion_matrix_is_drawn():
    confusion = np.array([[2.5, 0, 0.5], [0, 0, 0], [0, 1, 0]])
    ax = _pictures.draw_confusion(confusion, ["a$x$", "never hidden", "b\x1b" + "c" * 99]).axes[0]
    np.testing.assert_allclose(ax.images[0].get_array(), [[2.5 / 3, 0, 0.5 / 3], [0, 1, 0]])
    hidden, filled = ([label.get_text() for label in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis))
    names = [r"a\$x\$", "never hidden", r"b\x1b" + "c" * 19 + "…"]
    assert (hidden, filled) == (names[::2], names)
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (0, 0): "2.5",
        (2, 0): "0.5",
        (1, 1): "1",
    }


def test_of_many_classes_the_largest_are_in_the_matrix():
    confusion = np.diag(np.arange(100.0))
    ax = _pictures.draw_confusion(confusion, [f"class {i}" for i in range(100)]).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"class {i}" for i in range(75, 100)]


def test_long_names_that_begin_alike_stay_apart():
    names = _pictures._short_names(["x" * 30 + "1", "x" * 30 + "2", "y"])
    assert names == ["x" * 24 + "… (1)", "x" * 24 + "… (2)", "y"]


def test_notes_are_boxed_without_a_prefix(report):
    page, _ = report
    assert '<p class="note">SVC on the labeled samples does at least as well' in page
    assert "warning:" not in page


def test_report_needs_matplotlib(weakly, tmp_path, flowers, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert "pip install 'weakly[plot]'" in " ".join(result.output.split())
    assert not (tmp_path / "t.labeled.csv").exists()
