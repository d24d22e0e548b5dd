import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_paper import expected_value, lines, make_paper

from benchmarks.papers import Store, Table, _compare, _environment, compare, run
from weakly.exceptions import FitInterruptedWarning

RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
from toy_paper import make_paper
from benchmarks.papers import run
if sys.argv[3] == "wait":
    print("ready", flush=True)
    sys.stdin.readline()

def tell(done, total, outcome):
    if outcome is not None:
        print(outcome.status, flush=True)

run(make_paper(), repeats=15, jobs=int(sys.argv[4]), results=sys.argv[2], progress=tell)
"""
N_CELLS = 60


def start(folder, seconds, *, wait=False, jobs=1):
    """Start a run; with ``wait`` it begins at a line of input."""
    waiting = "wait" if wait else "go"
    command = [sys.executable, "-c", RUNNER, Path(__file__).parent, folder, waiting, str(jobs)]
    environment = os.environ | {"TOY_SECONDS": str(seconds), "TOY_LOG": f"{folder}.log"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def evaluated(folder):
    """Cells whose evaluation began, in any process."""
    log = Path(f"{folder}.log")
    return log.read_text().splitlines() if log.exists() else []


def n_told(runner):
    """Cells that the process said it stored, once it has ended."""
    return runner.communicate(timeout=120)[0].split().count("stored")


def stored(folder):
    return Store(folder / "toys" / "toy.jsonl").records()


def test_results_are_the_evaluated_numbers_with_their_circumstances(tmp_path):
    summary = run(make_paper(), results=tmp_path)
    assert (summary.total, summary.found, summary.stored, summary.failures) == (20, 0, 20, ())
    for record in lines(tmp_path / "toys" / "toy.jsonl"):
        assert record["value"] == expected_value(record)
        assert record["twice"] == 2 * record["seed"]
        assert record["settings"]["base"] in (10.0, 20.0)
        assert record["seconds"] >= 0
        assert {"weakly", "numpy", "scipy", "scikit-learn", "numba", "python"} <= set(record["versions"])
        assert set(record["machine"]) == {"cpu", "cores", "system"}
        assert len(record["source"]) == 12
    text = (tmp_path / "toys" / "toy.jsonl").read_text()
    assert str(Path.cwd()) not in text


def test_a_second_run_adds_only_what_is_missing(tmp_path):
    assert run(make_paper(), quick=True, results=tmp_path).stored == 8
    full = run(make_paper(), results=tmp_path)
    assert (full.stored, full.found) == (12, 8)
    assert run(make_paper(), repeats=6, results=tmp_path).stored == 4


def test_changed_settings_never_mix_with_old_results(tmp_path):
    paper = make_paper()
    run(paper, results=tmp_path)
    (table,) = paper.tables
    second = {"second": {"base": 30.0}}
    changed = replace(paper, tables=(replace(table, settings=dict(table.settings) | second),))
    assert run(changed, results=tmp_path).stored == 10
    entries = compare(changed, changed.tables[0], tmp_path).entries
    assert 31 < entries["second", "1"].mean < 32
    assert entries["second", "1"].values == pytest.approx(np.add(entries["first", "1"].values, 20))
    newer = replace(paper, tables=(replace(table, version=2),))
    assert run(newer, results=tmp_path).stored == 20


def test_a_failing_cell_is_reported_and_stops_nothing(tmp_path):
    summary = run(make_paper(fails_at=1), results=tmp_path)
    assert (summary.stored, len(summary.failures)) == (16, 4)
    (message,) = summary.grouped_failures()
    assert message == "RuntimeError: seed 1 does not work"
    assert "Traceback" in summary.failures[0].error
    assert {record["seed"] for record in stored(tmp_path)} == {0, 2, 3, 4}


def _nan(settings, column, seed):
    return float("nan")


def test_a_number_that_is_not_finite_is_a_failure(tmp_path):
    paper = make_paper()
    broken = replace(paper, tables=(replace(paper.tables[0], evaluate=_nan),))
    assert len(run(broken, repeats=1, results=tmp_path).failures) == 4
    assert stored(tmp_path) == []


def _warn(settings, column, seed):
    np.float64(1.0) / np.float64(0.0)
    return 1.0


def test_warnings_are_kept_with_the_result(tmp_path):
    paper = make_paper()
    noisy = replace(paper, tables=(replace(paper.tables[0], evaluate=_warn),))
    run(noisy, repeats=1, results=tmp_path)
    assert all("RuntimeWarning: divide by zero" in record["warnings"][0] for record in stored(tmp_path))


def test_two_processes_give_what_one_gives(tmp_path):
    run(make_paper(), results=tmp_path / "one")
    summary = run(make_paper(fails_at=9), jobs=2, repeats=5, results=tmp_path / "two")
    assert summary.stored == 20
    values = [
        {(r["row"], r["column"], r["seed"]): r["value"] for r in stored(tmp_path / name)}
        for name in ("one", "two")
    ]
    assert values[0] == values[1]


def test_progress_counts_every_cell(tmp_path):
    run(make_paper(), repeats=1, results=tmp_path)
    calls = []
    run(make_paper(), quick=True, results=tmp_path, progress=lambda *call: calls.append(call))
    assert [(done, total) for done, total, _ in calls] == [(4, 8), (5, 8), (6, 8), (7, 8), (8, 8)]
    assert calls[0][2] is None
    assert {outcome.status for _, _, outcome in calls[1:]} == {"stored"}


def test_kills_at_random_moments_lose_at_most_the_running_cell(tmp_path):
    moments = np.random.default_rng(0)
    before = 0
    for _ in range(6):
        runner = start(tmp_path, seconds=0.003)
        deadline = time.monotonic() + 60
        while len(stored(tmp_path)) == before and runner.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.03))
        runner.kill()
        told, after = n_told(runner), len(stored(tmp_path))
        assert after > before
        assert told <= after - before <= told + 1
        before = after
    assert 6 <= before < N_CELLS
    assert n_told(start(tmp_path, seconds=0)) == N_CELLS - before
    records = stored(tmp_path)
    cells = Counter((r["row"], r["column"], r["seed"]) for r in records)
    assert len(cells) == N_CELLS
    assert set(cells.values()) == {1}
    assert all(record["value"] == expected_value(record) for record in records)


def test_two_runs_at_once_share_the_work_and_store_every_cell_once(tmp_path):
    runners = [start(tmp_path, seconds=0.02, wait=True) for _ in range(2)]
    for runner in runners:
        assert runner.stdout.readline() == "ready\n"
    for runner in runners:
        runner.stdin.write("go\n")
        runner.stdin.flush()
    assert sum(n_told(runner) for runner in runners) == N_CELLS
    records = lines(tmp_path / "toys" / "toy.jsonl")
    assert len({(r["row"], r["column"], r["seed"]) for r in records}) == len(records) == N_CELLS
    # both take the same cell at the same time now and then; in a common order they always would
    assert len(evaluated(tmp_path)) < 1.4 * N_CELLS


def test_cells_come_in_another_order_each_time_but_by_row_and_column(tmp_path):
    orders = []
    for number in range(2):
        told = []
        tell = lambda done, total, outcome, told=told: told.append(outcome)  # noqa: E731
        run(make_paper(), repeats=15, results=tmp_path / str(number), progress=tell)
        orders.append([(outcome.cell.row, outcome.cell.column, outcome.cell.seed) for outcome in told[1:]])
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    for order in orders:
        rows = [row for row, _, _ in order]
        assert rows in (sorted(rows), sorted(rows)[::-1])
        for row in set(rows):
            columns = [column for other, column, _ in order if other == row]
            assert columns in (sorted(columns), sorted(columns)[::-1])


def test_workers_of_a_killed_run_leave_their_cells(tmp_path):
    runner = start(tmp_path, seconds=3, jobs=2)
    deadline = time.monotonic() + 60
    while not evaluated(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    runner.kill()
    runner.communicate(timeout=3)  # the workers hold its output open
    time.sleep(3.5)
    assert 1 <= len(evaluated(tmp_path)) <= 2
    assert stored(tmp_path) == []


def test_fresh_forgets_what_is_stored_and_measures_again(tmp_path):
    paper = make_paper()
    run(paper, results=tmp_path)
    first = lines(tmp_path / "toys" / "toy.jsonl")
    Store(tmp_path / "toys" / "other.jsonl").append({"not": "ours"})
    summary = run(paper, quick=True, fresh=True, results=tmp_path)
    assert (summary.total, summary.found, summary.stored) == (8, 0, 8)
    assert len(lines(tmp_path / "toys" / "toy.jsonl")) == 8 < len(first)
    assert len(lines(tmp_path / "toys" / "other.jsonl")) == 1


@pytest.mark.parametrize("fresh", [False, True])
def test_absent_data_is_told_before_the_first_cell_and_costs_no_result(tmp_path, monkeypatch, fresh):
    monkeypatch.delenv("WEAKLY_DATA", raising=False)
    needy = make_paper(fields={"datasets": ("usps",)})
    run(make_paper(), repeats=1, results=tmp_path)
    told = []
    with pytest.raises(ValueError, match=r"WEAKLY_DATA is not set.*'usps' is the zip-code digits"):
        run(needy, quick=True, fresh=fresh, results=tmp_path, progress=lambda *call: told.append(call))
    assert told == []
    assert len(stored(tmp_path)) == 4
    # what is stored needs no data
    assert run(needy, repeats=1, results=tmp_path).found == 4


def test_results_know_the_source_they_were_measured_with(tmp_path, monkeypatch):
    paper = make_paper()
    run(paper, repeats=1, results=tmp_path)
    assert compare(paper, paper.tables[0], tmp_path).n_outdated == 0
    monkeypatch.setattr(_compare, "source_hash", lambda: "another")
    assert compare(paper, paper.tables[0], tmp_path).n_outdated == 4
    assert run(paper, repeats=1, results=tmp_path).found == 4


def test_the_source_is_that_of_the_modules_that_give_numbers(tmp_path, monkeypatch):
    for name in ("graphs.py", "solvers/_direct.py", "cli/_app.py", "plotting.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
    monkeypatch.setattr(_environment, "_PACKAGE", tmp_path)
    source = _environment.source_hash.__wrapped__
    before = source()
    for name in ("cli/_app.py", "plotting.py"):
        (tmp_path / name).write_text("a = 2\n")
    assert source() == before
    (tmp_path / "solvers/_direct.py").write_text("a = 2\n")
    assert source() != before


@pytest.mark.parametrize("argument", ["repeats", "jobs"])
def test_numbers_below_one_are_refused(tmp_path, argument):
    with pytest.raises(ValueError, match=f"{argument} is 0"):
        run(make_paper(), results=tmp_path, **{argument: 0})


def test_an_unknown_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\['nope'\].*choose from \['toy'\]"):
        run(make_paper(), "nope", results=tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"settings": {"z": {}}}, "settings of table 't' name rows it does not have"),
        ({"rivals": ("z",)}, "rivals of table 't' name rows it does not have"),
        ({"published": {("a", "z"): 1.0}}, "published of table 't' has no place"),
        ({"targets": {("z", "1"): 1.0}}, "targets of table 't' has no place"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(wrong, message):
    right = {"rows": ("a",), "columns": ("1",), "evaluate": _nan, "settings": {"a": {}}}
    with pytest.raises(ValueError, match=message):
        Table("t", "caption", **right | wrong)


def test_a_cell_whose_fit_was_interrupted_is_not_stored(tmp_path):
    def interrupted(settings, column, seed):
        if (column, seed) == ("5", 0):
            warnings.warn("the model is the best found until then", FitInterruptedWarning, stacklevel=2)
        return 1.0

    paper = make_paper()
    paper = replace(paper, tables=(replace(paper.tables[0], evaluate=interrupted),))
    with pytest.raises(KeyboardInterrupt):
        run(paper, results=tmp_path)
    assert not [cell for cell in stored(tmp_path) if (cell["column"], cell["seed"]) == ("5", 0)]
