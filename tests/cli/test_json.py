import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def told(weakly, tmp_path, flowers):
    """Label flowers, in which one class has a nasty name, and return the JSON with the filled table."""
    flowers["name"] = flowers["name"].replace("tulip", "\x1b[2J")
    flowers.to_csv(tmp_path / "t.csv", index=False)
    options = ("--json", "--report", tmp_path / "r.html", "--next", tmp_path / "n.csv")
    result = weakly("label", tmp_path / "t.csv", "--target", "name", *options)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout), pd.read_csv(tmp_path / "t.labeled.csv")


def test_json_tells_what_the_table_holds(told, tmp_path):
    record, filled = told
    assert (record["method"], record["target"], record["seed"]) == ("few-label", "name", 0)
    assert (record["n_samples"], record["n_filled"]) == (60, 54)
    guessed = filled.iloc[6:]
    for entry in record["classes"]:
        assert entry["given"] == 3
        assert entry["filled"] == (guessed["name"] == entry["label"]).sum()
    assert [entry["label"] for entry in record["classes"]] == ["\x1b[2J", "rose"]
    confidence = guessed["name_confidence"]
    assert record["confidence"]["mean"] == pytest.approx(confidence.mean())
    np.testing.assert_allclose(
        record["confidence"]["quartiles"], confidence.quantile([0, 0.25, 0.5, 0.75, 1])
    )
    assert {column["name"] for column in record["columns"]} == {"height", "width", "color"}
    assert record["files"] == {
        "input": str(tmp_path / "t.csv"),
        "table": str(tmp_path / "t.labeled.csv"),
        "report": str(tmp_path / "r.html"),
        "next": str(tmp_path / "n.csv"),
    }
    assert all((tmp_path / name).exists() for name in ("r.html", "n.csv"))


def test_json_compares_on_hidden_labels(told):
    record, _ = told
    hidden = record["hidden_labels"]
    assert (hidden["n_labels"], hidden["n_shown"], hidden["accuracy"]) == (6, 4, 1)
    np.testing.assert_allclose(hidden["interval_95"], (0.6097, 1), atol=1e-4)
    assert hidden["confusion"] == [[3, 0], [0, 3]]
    assert [(entry["found"], entry["hidden"]) for entry in record["classes"]] == [(3, 3), (3, 3)]
    assert record["verdict"].startswith(
        "few-label finds 6 of 6 hidden labels (100%, 95% interval 61% to 100%)"
    )
    assert f"(log odds {record['log_odds']:.1f})." in record["verdict"]
    assert any("does at least as well" in note for note in record["notes"])


def test_json_without_a_comparison(weakly, tmp_path, flowers):
    flowers["name"] = pd.Series(flowers["name"].map({"rose": 1.5, "tulip": np.inf}))
    flowers.to_parquet(tmp_path / "t.parquet")
    options = ("--target", "name", "--folds", "0", "--method", "laplacian-rls", "--json")
    result = weakly("label", tmp_path / "t.parquet", *options)
    record = json.loads(result.stdout, parse_constant=pytest.fail)
    assert record["hidden_labels"] is record["log_odds"] is None
    assert [entry["label"] for entry in record["classes"]] == [1.5, "inf"]


def test_json_and_a_table_cannot_share_the_standard_output(weakly, tmp_path, flowers):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    result = weakly("label", tmp_path / "t.csv", "--target", "name", "--json", "--out", "-")
    assert result.exit_code == 2
    assert "both write to the standard output" in result.stderr
