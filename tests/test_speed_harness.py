import json
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks.speed import claims, measure, run


def rows():
    return np.zeros((40, 2)), np.arange(40) % 2


def sleeper(seconds, error, megabytes, X, y):
    def task(repeat):
        block = np.ones(megabytes * 125_000)
        time.sleep(seconds)
        return None if error is None else error + repeat + 0 * block[0]

    return task


def claim(**changed):
    usual = claims.Claim(
        name="toy",
        statement="a toy",
        dataset="toy",
        rows=rows,
        ours=partial(sleeper, 0.04, 5.0, 300),
        rival=partial(sleeper, 0.02, 6.0, 1),
        ratio_limit=4.0,
        memory_limit_gb=4.0,
        lower_error=True,
        repeats=3,
    )
    return replace(usual, **changed)


def test_few_runs_are_timed_and_all_draws_count_for_the_error():
    measured = measure.time_side_by_side(claim(ours=partial(sleeper, 0.04, 5.0, 1)), repeats=3)
    assert len(measured["all_seconds_ours"]) == len(measured["all_seconds_rival"]) == 3
    assert min(measured["all_seconds_ours"]) >= 0.04
    # errors 5, 6, ..., 14 and 6, 7, ..., 15
    assert (measured["error_ours"], measured["error_rival"]) == (9.5, 10.5)
    assert (measured["error_difference"], measured["error_difference_se"]) == (-1.0, 0.0)
    assert measured["n_errors"] == 10


def test_only_the_timed_runs_are_done_where_the_error_is_no_claim():
    small = claim(ours=partial(sleeper, 0.0, 5.0, 1), rival=partial(sleeper, 0.0, None, 1), lower_error=False)
    measured = measure.time_side_by_side(small, repeats=3)
    assert measured["error_ours"] == 6.0
    assert not {"error_rival", "error_difference"} & set(measured)


def test_errors_are_compared_draw_by_draw():
    compared = measure.compare_errors({"ours": [1.0, 5.0, 9.0], "rival": [2.0, 7.0, 15.0]})
    # differences -1, -2, -6: mean -3, variance 7
    assert (compared["error_ours"], compared["error_rival"]) == (5.0, 8.0)
    assert compared["error_difference"] == -3.0
    assert compared["error_difference_se"] == pytest.approx((7 / 3) ** 0.5)
    assert "error_difference_se" not in measure.compare_errors({"ours": [1.0], "rival": [2.0]})


def test_a_fast_minority_of_runs_does_not_decide_the_ratio():
    times = {
        "all_seconds_ours": [1.7557, 1.8082, 1.7191, 1.1709, 1.2059],
        "all_seconds_rival": [0.6168, 0.5938, 0.6017, 0.9769, 0.6043],
    }
    assert measure.ratio(times) == pytest.approx(1.7191 / 0.6043)
    assert measure.ratio(times, min) == pytest.approx(1.1709 / 0.5938)
    assert measure.broken(claim(ratio_limit=2.5, memory_limit_gb=None, lower_error=False), times) == ["time"]


def test_who_goes_first_alternates():
    order = []
    tasks = {side: lambda repeat, side=side: order.append(side) for side in ("ours", "rival")}
    for repeat in range(3):
        measure._in_turn(tasks, repeat)
    assert order == ["ours", "rival", "rival", "ours", "ours", "rival"]


def test_memory_is_that_of_a_fresh_process():
    ballast = np.ones(60_000_000)  # 0.48 GB here must not count there
    ours, rival = (measure.memory_alone(claim(), side) for side in ("ours", "rival"))
    assert 0.25 < ours["peak_gb"] - ours["base_gb"] < 0.35
    assert rival["peak_gb"] - rival["base_gb"] < 0.05
    assert rival["peak_gb"] < measure.peak_memory_gb() - ballast.nbytes / 2e9


MEASURED = {
    "all_seconds_ours": [2.0],
    "all_seconds_rival": [1.0],
    "peak_gb_ours": 1.5,
    "error_difference": -1.0,
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"ratio_limit": 1.9}, ["time"]),
        ({"memory_limit_gb": 1.5}, ["memory"]),
        ({"ratio_limit": None, "memory_limit_gb": None, "lower_error": False}, []),
    ],
)
def test_broken_limits_are_named(changed, expected):
    assert measure.broken(claim(**changed), MEASURED) == expected


def test_an_error_that_is_not_lower_is_broken():
    assert measure.broken(claim(), MEASURED | {"error_difference": 0.0}) == ["error"]


@pytest.fixture
def numbers(monkeypatch):
    """Stand in for the measurements of one claim, with its data there."""
    measured = {
        "name": "toy",
        "statement": "a toy",
        "all_seconds_ours": [2.0, 1.5, 2.1],
        "all_seconds_rival": [1.0, 1.0, 1.0],
        "ratio_limit": 3.0,
        "peak_gb_ours": 1.234,
        "base_gb_ours": 0.5,
        "error_ours": 3.0,
        "error_rival": 4.0,
        "error_difference": -1.0,
        "error_difference_se": 0.25,
        "n_errors": 10,
        "memory_limit_gb": None,
        "cores_of_others": 0.01,
        "undecided": False,
        "broken": [],
    }
    monkeypatch.setattr(run, "CLAIMS", [claim()])
    monkeypatch.setattr(run, "list_datasets", lambda: ["toy"])
    monkeypatch.setattr(run, "measure", lambda claim, repeats: measured)
    return measured


def test_results_are_stored_and_written_as_a_page(numbers, tmp_path, capsys):
    assert run.main(["--results", str(tmp_path)]) == 0
    (record,) = map(json.loads, (tmp_path / "speed.jsonl").read_text().splitlines())
    assert record["all_seconds_ours"] == [2.0, 1.5, 2.1]
    assert record["versions"]["numpy"] == np.__version__
    page = (tmp_path / "speed.md").read_text()
    times, memory = "2 s | 1 s | 2.00 | 1.50 | 3", "1.23 GB (0.50 before) |  | "
    errors = "3.00 % | 4.00 % | -1.00 ± 0.25 (10 draws)"
    assert f"| toy: a toy | {times} | {memory} | {errors} | yes |" in page
    assert record["machine"]["cpu"] in page
    assert "ratio 2.00, best ratio 1.50, ratio limit 3" in capsys.readouterr().out


def test_the_page_shows_the_last_measurement_and_the_exit_code_tells(numbers, tmp_path):
    run.main(["--results", str(tmp_path)])
    numbers.update(all_seconds_ours=[5.0], broken=["time"])
    assert run.main(["--results", str(tmp_path)]) == 1
    page = (tmp_path / "speed.md").read_text()
    assert "no: time" in page
    assert "| 2.00 |" not in page


def test_a_busy_machine_decides_nothing_and_hides_no_earlier_result(numbers, tmp_path, capsys):
    numbers.update(all_seconds_ours=[0.1], undecided=True, cores_of_others=1.26)
    assert run.main(["--results", str(tmp_path)]) == 1
    assert "kept undecided: others kept 1.3 cores busy" in capsys.readouterr().out
    numbers.update(all_seconds_ours=[2.0], undecided=False)
    assert run.main(["--results", str(tmp_path)]) == 0
    numbers.update(all_seconds_ours=[0.1], undecided=True)
    assert run.main(["--results", str(tmp_path)]) == 1
    page = (tmp_path / "speed.md").read_text()
    assert "| 2.00 |" in page
    assert "undecided" not in page


def test_cores_of_others_are_what_this_process_did_not_use():
    assert measure.cores_of_others((10.0, 5.0, 100.0), (20.0, 13.0, 123.0)) == pytest.approx(1.5)
    assert measure.cores_of_others(None, (20.0, 13.0, 123.0)) is None


@pytest.mark.skipif(measure.cpu_clocks() is None, reason="the system does not tell how busy it is")
def test_work_of_another_process_is_noticed():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.1)
        start = measure.cpu_clocks()
        time.sleep(0.5)
        others = measure.cores_of_others(start, measure.cpu_clocks())
    finally:
        busy.kill()
        busy.wait()
    assert others > measure.MAX_CORES_OF_OTHERS


def test_a_claim_without_data_is_skipped_with_the_reason(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("WEAKLY_DATA", raising=False)
    assert run.main(["--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(claims.CLAIMS)
    assert all("skipped" in line and "WEAKLY_DATA" in line for line in lines)
    assert not list(tmp_path.iterdir())


def test_a_claim_without_its_rival_is_skipped_with_the_command(monkeypatch):
    monkeypatch.setattr(run, "list_datasets", lambda: ["toy"])
    assert (
        run.reason_to_skip(claim(needs="no_such_module"))
        == "its rival is not there: pip install no_such_module"
    )
    assert run.reason_to_skip(claim(needs="numpy")) == ""


def test_a_claim_that_raises_stops_no_other(numbers, monkeypatch, tmp_path, capsys):
    def fail_first(claim, repeats):
        if claim.name == "bad":
            raise MemoryError("too large")
        return numbers

    monkeypatch.setattr(run, "CLAIMS", [claim(name="bad"), claim()])
    monkeypatch.setattr(run, "measure", fail_first)
    assert run.main(["--results", str(tmp_path)]) == 1
    assert "MemoryError: too large" in capsys.readouterr().err
    assert len((tmp_path / "speed.jsonl").read_text().splitlines()) == 1


def test_list_names_every_claim(capsys):
    assert run.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        c.name for c in claims.CLAIMS
    ]
    assert len({c.name for c in claims.CLAIMS}) == len(claims.CLAIMS)


def test_the_stored_page_is_what_the_stored_results_give():
    records = run.Store(run.RESULTS / "speed.jsonl").records()
    assert (run.RESULTS / "speed.md").read_text(encoding="utf-8") == run.page(records)
