import os

import numpy as np
import pandas as pd
import pytest

import weakly as package
from weakly.cli import _labeling
from weakly.cli._methods import methods
from weakly.cli._predict import TableModel
from weakly.io import load, save


@pytest.fixture
def garden(flowers):
    """The flowers with columns of every kind; a few heights are unknown."""
    rng = np.random.default_rng(1)
    words = {"rose": ["thorn", "red", "bush", "petal"], "tulip": ["bulb", "dutch", "field", "spring"]}
    flowers["story"] = [" ".join(rng.choice(words[name], 5)) for name in flowers.attrs["truth"]]
    flowers["price"] = [f"{price:.2f} €".replace(".", ",") for price in rng.uniform(1, 9, 60)]
    flowers["sold"] = [f"{day:02d}/{month:02d}/2024" for day, month in rng.integers(1, [28, 12], (60, 2))]
    flowers["key"] = [f"k{row}" for row in range(60)]
    flowers.loc[::9, "height"] = np.nan
    return flowers


@pytest.fixture
def saved(weakly, tmp_path, garden):
    """Path of a model of the garden."""
    garden.to_csv(tmp_path / "garden.csv", index=False)
    model = tmp_path / "garden.weakly"
    command = ("label", tmp_path / "garden.csv", "--target", "name", "--folds", "0")
    result = weakly(*command, "--method", "laplacian-rls", "--save", model)
    assert result.exit_code == 0, result.stderr
    assert f"Model: {model}" in result.stdout
    return model


def predict(weakly, frame, model, *options):
    source = model.with_name("new.csv")
    frame.to_csv(source, index=False)
    result = weakly("predict", source, "--model", model, *options)
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(model.with_name("new.predicted.csv")), result


@pytest.mark.parametrize("method", methods())
def test_a_saved_model_says_what_the_fitted_one_said(weakly, tmp_path, garden, method, monkeypatch):
    dense_only = "boost" in method  # sparse features of text are not for trees
    garden = garden.drop(columns=["story"]) if dense_only else garden
    fitted = []

    def watched(estimator, features, given, method):
        warned = fit(estimator, features, given, method)
        fitted.append((estimator.predict(features), estimator.predict_proba(features)))
        return warned

    fit = _labeling._fit
    monkeypatch.setattr(_labeling, "_fit", watched)
    garden.to_csv(tmp_path / "t.csv", index=False)
    command = ("label", tmp_path / "t.csv", "--target", "name", "--method", method, "--folds", "2")
    result = weakly(*command, "--save", tmp_path / "m.weakly")
    assert result.exit_code == 0, result.stderr
    result = weakly("predict", tmp_path / "t.csv", "--model", tmp_path / "m.weakly")
    assert result.exit_code == 0, result.stderr
    table = pd.read_csv(tmp_path / "t.predicted.csv")
    ((codes, shares),) = fitted
    assert table["name_predicted"].tolist() == np.array(["rose", "tulip"])[codes].tolist()
    np.testing.assert_allclose(table["name_confidence"], shares.max(axis=1), rtol=1e-12)


def test_all_methods_predict():
    assert all(
        hasattr(method, "predict") and hasattr(method, "predict_proba") for method in methods().values()
    )


def test_new_samples_in_other_columns(weakly, garden, saved):
    truth = np.array(garden.attrs["truth"])
    new = garden.drop(columns=["name", "key"]).iloc[::-1]
    new = new[[*new.columns[::-1]]].assign(
        note="x", color=lambda frame: frame["color"].replace("white", "gray")
    )
    table, result = predict(weakly, new, saved)
    assert table["name_predicted"].tolist() == truth[::-1].tolist()
    assert table["name_confidence"].between(0.5, 1).all()
    pd.testing.assert_frame_equal(table[new.columns], new.reset_index(drop=True), check_dtype=False)
    told = " ".join(result.stdout.split())
    assert "60 samples by LaplacianRLSClassifier: 30 rose, 30 tulip." in told
    assert "note: columns that the model does not know are left out: 'note'." in told
    assert "note: color: 30 of 60 cells of categories new to the model, such as 'gray'." in told


def test_the_target_column_is_not_looked_at(weakly, garden, saved):
    without, _ = predict(weakly, garden.drop(columns="name"), saved)
    wrong, result = predict(weakly, garden.assign(name="weed"), saved, "--force")
    assert wrong["name_predicted"].tolist() == without["name_predicted"].tolist()
    assert (wrong["name"] == "weed").all()
    assert "note:" not in result.stdout


def test_absent_columns_are_named(weakly, garden, saved, tmp_path):
    garden.drop(columns=["height", "story"]).to_csv(tmp_path / "new.csv", index=False)
    result = weakly("predict", tmp_path / "new.csv", "--model", saved)
    assert result.exit_code == 2
    assert "error: the table has no column 'height', 'story', which the model learned from" in result.stderr
    assert not (tmp_path / "new.predicted.csv").exists()


def test_ignored_columns_are_neither_needed_nor_noted(weakly, flowers, tmp_path):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    command = ("label", tmp_path / "t.csv", "--target", "name", "--ignore", "color", "--folds", "0")
    assert weakly(*command, "--save", tmp_path / "m.weakly").exit_code == 0
    for frame in (flowers, flowers.drop(columns="color")):
        table, result = predict(weakly, frame, tmp_path / "m.weakly", "--force")
        assert table["name_predicted"].tolist() == flowers.attrs["truth"]
        assert "note:" not in result.stdout


def test_a_single_sample(weakly, garden, saved):
    table, _ = predict(weakly, garden.iloc[[7]], saved)
    assert table["name_predicted"].tolist() == ["tulip"]


def test_in_python(garden, saved):
    model = load(saved)
    assert isinstance(model, TableModel)
    truth = np.array(garden.attrs["truth"])
    np.testing.assert_array_equal(model.predict(garden), truth)
    shares = model.predict_proba(garden)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], truth)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    given = garden.assign(sold=pd.to_datetime(garden["sold"], format="%d/%m/%Y"))
    np.testing.assert_array_equal(model.predict_proba(given), shares)
    assert model.notes(garden) == []


@pytest.mark.parametrize(
    ("first", "second", "dtype"), [(3, 7, "Int64"), (True, False, "boolean"), ("a", "b", "category")]
)
def test_parquet_labels_keep_their_type(weakly, tmp_path, flowers, first, second, dtype):
    words = {"rose": first, "tulip": second}
    flowers["name"] = pd.Series([words.get(name) for name in flowers["name"]], dtype=dtype)
    flowers.to_parquet(tmp_path / "t.parquet")
    command = ("label", tmp_path / "t.parquet", "--target", "name", "--folds", "0")
    assert weakly(*command, "--save", tmp_path / "m.weakly").exit_code == 0
    result = weakly("predict", tmp_path / "t.parquet", "--model", tmp_path / "m.weakly")
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet(tmp_path / "t.predicted.parquet")["name_predicted"]
    assert found.tolist() == [words[name] for name in flowers.attrs["truth"]]
    assert found.dtype != object


def test_the_model_is_that_of_all_labels(weakly, tmp_path, flowers):
    """The leave-out comparison refits the estimator, and must not change what is saved."""
    flowers.to_csv(tmp_path / "t.csv", index=False)
    shares = []
    for folds in ("0", "10"):
        command = ("label", tmp_path / "t.csv", "--target", "name", "--folds", folds, "--force")
        assert weakly(*command, "--save", tmp_path / "m.weakly").exit_code == 0
        shares.append(load(tmp_path / "m.weakly").predict_proba(flowers))
    np.testing.assert_array_equal(*shares)


def test_a_model_of_another_version_is_noted(weakly, garden, saved, monkeypatch):
    monkeypatch.setattr(package, "__version__", "9.9.9")
    _, result = predict(weakly, garden, saved)
    assert "note: " in result.stdout
    assert "(here 9.9.9): predictions may differ" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save", "{folder}/m.csv"], "must end in '.weakly'"),
        (["--save", "{folder}/nowhere/m.weakly"], "does not exist"),
        (["--save", "{folder}/taken.weakly"], "taken.weakly' exists already: add --force"),
    ],
)
def test_names_of_models_are_checked_before_the_work(weakly, tmp_path, flowers, options, message):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "taken.weakly").write_text("mine")
    options = [option.format(folder=tmp_path) for option in options]
    result = weakly("label", tmp_path / "t.csv", "--target", "name", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "t.labeled.csv").exists()


def test_errors_are_one_line(weakly, tmp_path, garden, saved):
    (tmp_path / "text.weakly").write_text("a,b")
    save(package.LaplacianSVC(), tmp_path / "bare.weakly")
    garden.assign(name_predicted=1).to_csv(tmp_path / "done.csv", index=False)
    cases = [
        (("garden.csv", "absent.weakly"), "absent.weakly': No such file"),
        (("absent.csv", "garden.weakly"), "absent.csv': No such file"),
        (("garden.csv", "text.weakly"), "text.weakly cannot be read as a model"),
        (("garden.csv", "bare.weakly"), "holds a LaplacianSVC that knows no columns"),
        (("done.csv", "garden.weakly"), "has a column 'name_predicted' already"),
    ]
    for (table, model), message in cases:
        result = weakly("predict", tmp_path / table, "--model", tmp_path / model)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        assert message in result.stderr
    assert not list(tmp_path.glob("*.predicted.csv"))


def test_tables_are_overwritten_only_by_force(weakly, garden, saved):
    predict(weakly, garden, saved)
    result = weakly("predict", saved.with_name("new.csv"), "--model", saved)
    assert result.exit_code == 2
    assert "new.predicted.csv' exists already" in result.stderr
    predict(weakly, garden, saved, "--force")
    out = saved.with_name("elsewhere.csv")
    result = weakly("predict", saved.with_name("new.csv"), "--model", saved, "--out", out)
    assert result.exit_code == 0
    assert out.exists()


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_model_is_never_overwritten(weakly, saved, link):
    content, out = saved.read_bytes(), saved.with_name("link.csv")
    link(saved, out)
    result = weakly("predict", saved.with_name("garden.csv"), "--model", saved, "--out", out, "--force")
    assert result.exit_code == 2
    assert "is the model itself" in result.stderr
    assert saved.read_bytes() == content


def test_ctrl_c_leaves_no_file(weakly, tmp_path, saved, monkeypatch):
    def interrupt(model, frame):
        raise KeyboardInterrupt

    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(TableModel, "predict_proba", interrupt)
    result = weakly("predict", tmp_path / "garden.csv", "--model", saved)
    assert result.exit_code == 130
    assert result.stderr == "interrupted: no file is left half written.\n"
    assert sorted(os.listdir(tmp_path)) == before


def test_without_skops_one_line_names_the_extra(weakly, tmp_path, flowers, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    flowers.to_csv(tmp_path / "t.csv", index=False)
    for command in (
        ("label", tmp_path / "t.csv", "--target", "name", "--save", tmp_path / "m.weakly"),
        ("predict", tmp_path / "t.csv", "--model", tmp_path / "m.weakly"),
    ):
        result = weakly(*command)
        assert result.exit_code == 2
        assert "pip install 'weakly[io]'" in result.stderr
