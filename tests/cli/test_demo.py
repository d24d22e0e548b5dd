import base64
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from weakly import FewLabelClassifier
from weakly.cli import _demo


def test_demo(weakly, tmp_path, monkeypatch):
    monkeypatch.setattr(_demo, "N_DRAWS", 1)
    figures = []
    real = _demo.draw
    monkeypatch.setattr(_demo, "draw", lambda *args: figures.append(real(*args)) or figures[0])
    folder = tmp_path / "new" / "folder"
    folder.mkdir(parents=True)
    (folder / "digits.html").write_text("of an earlier run")
    result = weakly("demo", "--labels-per-class", "2", "--out", folder)
    assert result.exit_code == 0, result.stderr
    truth = load_digits().target
    given = pd.read_csv(folder / "digits.csv")["digit"]
    assert given.value_counts().tolist() == [2] * 10
    assert (given.dropna() == truth[given.notna()]).all()
    filled = pd.read_csv(folder / "digits.labeled.csv")
    assert filled["digit"].dtype == int
    unlabeled = given.isna().to_numpy()
    assert (filled["digit"] == truth)[unlabeled].mean() > 0.8
    told = dict(re.findall(r"│ (\w[\w, -]+\w) +│ +([\d.]+)% │", result.stdout))
    assert list(told) == [
        "SVC on the labeled samples",
        "LabelSpreading, k-NN",
        "LabelSpreading, RBF",
        "LaplacianRLSClassifier",
        "LaplacianSVC",
        "FewLabelClassifier",
    ]
    check_map(figures[0], n_unlabeled=unlabeled.sum(), accuracy=float(told["FewLabelClassifier"]) / 100)
    assert (folder / "digits.png").read_bytes().startswith(b"\x89PNG")
    pictures = re.findall(r"data:image/png;base64,([^\"]+)", (folder / "digits.html").read_text())
    assert [base64.b64decode(picture)[:4] for picture in pictures] == [b"\x89PNG"] * 2


def check_map(figure, *, n_unlabeled, accuracy):
    """Check the map: a point per unlabelled digit, a star per label, a ring per mistake."""
    drawn = [points for points in figure.axes[-1].collections if len(points.get_offsets())]
    sizes = {int(points.get_sizes()[0]): len(points.get_offsets()) for points in drawn}
    assert sizes[11] == n_unlabeled
    assert sizes[150] == 20
    assert sizes[36] / n_unlabeled == pytest.approx(1 - accuracy, abs=0.0005)


def test_warm_kernels_change_no_draw_of_the_labels():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 3]
    fill = _demo._contestants()["FewLabelClassifier"]
    for place in (0, 5):
        y = np.full(80, -1)
        y[[place, 40 + place]] = 0, 1
        cold = FewLabelClassifier(random_state=0).fit(X, y).transduction_
        np.testing.assert_array_equal(fill(X, y), cold)


def test_accuracies_are_drawn_as_dots_and_means():
    accuracies = {"SVC": [0.2, 0.4], "LaplacianSVC": [0.8, 0.9]}
    figure = Figure()
    ax = figure.add_subplot()
    _demo._draw_accuracies(accuracies, ax)
    drawn = [
        (line.get_marker(), line.get_color(), *line.get_data()) for line in ax.lines if len(line.get_xdata())
    ]
    assert [(marker, color) for marker, color, _, _ in drawn] == [
        ("o", "dimgray"),
        ("D", "dimgray"),
        ("o", "tab:green"),
        ("D", "tab:green"),
    ]
    for (_, _, shares, names), (expected, name) in zip(
        drawn,
        [([0.2, 0.4], "SVC"), ([0.3], "SVC"), ([0.8, 0.9], "LaplacianSVC"), ([0.85], "LaplacianSVC")],
        strict=True,
    ):
        np.testing.assert_allclose(shares, expected)
        assert set(names) == {name}
    assert [text.get_text() for text in ax.texts] == ["30.0%", "85.0%"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "mean, scikit-learn",
        "mean, weakly",
        "one draw of the labels",
    ]


def test_out_that_is_a_file(weakly, tmp_path):
    (tmp_path / "taken").touch()
    result = weakly("demo", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot make the directory")


@pytest.mark.parametrize("count", ["0", "1000"])
def test_impossible_number_of_labels(weakly, count):
    assert weakly("demo", "--labels-per-class", count).exit_code == 2
