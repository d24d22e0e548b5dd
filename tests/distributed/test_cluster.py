"""Work of other kinds on the same cluster: tables of papers and grid searches."""

import os
import time
import warnings

import distributed
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

from benchmarks.papers import Paper, Store, Table, run
from benchmarks.papers.__main__ import app
from weakly.distributed import connect, spread


def square(settings, column, seed):
    if column == "bad":
        raise RuntimeError("no square of that")
    return {"value": int(column) ** 2 + seed, "process": os.getpid()}


def demo(columns):
    table = Table("t1", "Squares", rows=("x",), columns=columns, settings={"x": {}}, evaluate=square)
    return Paper("demo", "A demonstration", "nowhere", (table,))


def test_tables_are_measured_by_workers_and_stored_here(cluster, tmp_path):
    seen = []
    paper = demo(("2", "3"))
    summary = run(
        paper, repeats=3, scheduler=cluster, results=tmp_path, progress=lambda *call: seen.append(call[0])
    )
    assert (summary.stored, summary.found, summary.failures) == (6, 0, ())
    assert seen == list(range(7))
    records = list(Store(tmp_path / "demo" / "t1.jsonl").finished().items())
    assert {(cell.column, cell.seed): record["value"] for cell, record in records} == {
        (column, seed): int(column) ** 2 + seed for column in ("2", "3") for seed in range(3)
    }
    assert os.getpid() not in {record["process"] for _, record in records}
    assert run(paper, repeats=3, scheduler=cluster, results=tmp_path).found == 6


def test_a_cell_that_fails_is_told_and_not_stored(cluster, tmp_path):
    summary = run(demo(("2", "bad")), repeats=1, scheduler=cluster, results=tmp_path)
    assert summary.stored == 1
    assert "no square of that" in summary.failures[0].error


class Where(ClassifierMixin, BaseEstimator):
    """Tells in which process it was scored."""

    def __init__(self, a=0):
        self.a = a

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y):
        return float(os.getpid())


def test_grid_searches_run_on_the_workers(cluster):
    X, y = np.zeros((8, 1)), np.array([0, 1] * 4)
    with connect(cluster):
        search = GridSearchCV(Where(), {"a": [0, 1]}, cv=2, refit=False).fit(X, y)
    scores = np.concatenate([search.cv_results_[f"split{i}_test_score"] for i in range(2)])
    assert os.getpid() not in scores.astype(int)


def warn_once(settings, column, seed):
    warnings.warn(f"cell {column}", UserWarning, stacklevel=1)
    time.sleep(0.02)
    return 0.0


def test_warnings_stay_with_their_cells(tmp_path):
    columns = tuple("abcdef")
    table = Table("t1", "Warnings", rows=("x",), columns=columns, settings={"x": {}}, evaluate=warn_once)
    paper = Paper("demo", "A demonstration", "nowhere", (table,))
    settings = {"n_workers": 1, "threads_per_worker": 3, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as threads:
        run(paper, repeats=1, scheduler=threads, results=tmp_path)
    found = Store(tmp_path / "demo" / "t1.jsonl").finished()
    assert {cell.column: record["warnings"] for cell, record in found.items()} == {
        column: [f"UserWarning: cell {column}"] for column in columns
    }


@pytest.mark.usefixtures("impatient")
def test_stored_results_survive_a_scheduler_that_does_not_answer(tmp_path):
    paper = demo(("2", "3"))
    run(paper, repeats=2, results=tmp_path)
    with pytest.raises(ValueError, match="no Dask scheduler answers"):
        run(paper, repeats=2, scheduler="tcp://127.0.0.1:9", fresh=True, results=tmp_path)
    assert len(Store(tmp_path / "demo" / "t1.jsonl").finished()) == 4


def fail_at_two(number):
    if number == 2:
        raise RuntimeError("lost")
    return number


def test_a_lost_task_ends_no_other(client):
    found = dict(spread(client, fail_at_two, [(number,) for number in range(4)]))
    assert found.pop(2) == "RuntimeError('lost')"
    assert found == {0: 0, 1: 1, 3: 3}


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("weakly.distributed._cluster._PATIENCE", "1s")


@pytest.mark.usefixtures("impatient")
def test_nobody_answers():
    with (
        pytest.raises(ValueError, match="no Dask scheduler answers at 'tcp://127"),
        connect("tcp://127.0.0.1:9"),
    ):
        raise AssertionError


@pytest.mark.usefixtures("impatient")
def test_the_command_takes_an_address(monkeypatch):
    monkeypatch.setattr("benchmarks.papers._run.find_file", lambda name: None)
    result = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["run", "tvsvm", "--scheduler", "nowhere:1", "--results", "unused"]
    )
    assert result.exit_code == 2
    assert "no Dask scheduler answers at 'nowhere:1'" in result.output + getattr(result, "stderr", "")
