import pandas as pd
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_digits


def test_demo(weakly, tmp_path, monkeypatch):
    monkeypatch.setattr("weakly.cli._demo.N_DRAWS", 1)
    result = weakly("demo", "--labels-per-class", "2", "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / "new" / "folder"
    truth = load_digits().target
    given = pd.read_csv(folder / "digits.csv")["digit"]
    assert given.value_counts().tolist() == [2] * 10
    assert (given.dropna() == truth[given.notna()]).all()
    filled = pd.read_csv(folder / "digits.labeled.csv")
    assert filled["digit"].dtype == int
    unlabeled = given.isna().to_numpy()
    assert (filled["digit"] == truth)[unlabeled].mean() > 0.8
    for name in ("SVC on the labelled rows", "LabelSpreading", "LaplacianRLSClassifier", "LaplacianSVC"):
        assert name in result.stdout
    assert imread(folder / "digits.png").std() > 0.05
    assert (folder / "digits.html").stat().st_size > 10_000


def test_out_that_is_a_file(weakly, tmp_path):
    (tmp_path / "taken").touch()
    result = weakly("demo", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot make the directory")


@pytest.mark.parametrize("count", ["0", "1000"])
def test_impossible_number_of_labels(weakly, count):
    assert weakly("demo", "--labels-per-class", count).exit_code == 2
