"""Time a claim beside its rival, and its memory in processes of their own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.speed.tasks import N_DRAWS, Claim, Task

WARM_UP_ROWS = 1500
# Threaded BLAS on shared cores slows down many times over, and not equally for ours and the rival's.
MAX_CORES_OF_OTHERS = 0.2


def measure(claim: Claim, repeats: int | None = None) -> dict[str, Any]:
    """Return times, errors and memory of a claim, and what it breaks."""
    measured: dict[str, Any] = {"name": claim.name, "statement": claim.statement}
    if claim.rival is not None:
        measured |= time_side_by_side(claim, repeats or claim.repeats)
    for side in ("ours", "rival"):
        if getattr(claim, side) is not None:
            measured |= {f"{key}_{side}": value for key, value in memory_alone(claim, side).items()}
    measured |= {"ratio_limit": claim.ratio_limit, "memory_limit_gb": claim.memory_limit_gb}
    measured["broken"] = broken(claim, measured)
    measured["undecided"] = (measured.get("cores_of_others") or 0.0) > MAX_CORES_OF_OTHERS
    return measured


def time_side_by_side(claim: Claim, repeats: int) -> dict[str, Any]:
    """Run ours and the rival's in turn, both warmed up on a part of the rows.

    Where the errors are compared, further draws are run, which count for the errors only.
    """
    X, y = claim.rows()
    part = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:WARM_UP_ROWS])
    for build in (claim.ours, claim.rival):
        build(X[part], y[part])(0)  # compiles, and starts the threads of BLAS
    tasks = {"ours": claim.ours(X, y), "rival": claim.rival(X, y)}
    start = cpu_clocks()
    runs = [_in_turn(tasks, repeat) for repeat in range(repeats)]
    measured: dict[str, Any] = {"cores_of_others": cores_of_others(start, cpu_clocks())}
    for side in tasks:
        measured[f"all_seconds_{side}"] = [round(run[side][0], 6) for run in runs]
    if claim.lower_error:
        runs += [_in_turn(tasks, repeat) for repeat in range(repeats, N_DRAWS)]
    return measured | compare_errors({side: [run[side][1] for run in runs] for side in tasks})


def _in_turn(tasks: dict[str, Task], repeat: int) -> dict[str, tuple[float, float | None]]:
    """Time both sides; who goes first alternates, as the second may find caches and clocks changed."""
    sides = list(tasks) if repeat % 2 == 0 else list(tasks)[::-1]
    return {side: _timed(tasks[side], repeat) for side in sides}


def compare_errors(errors: dict[str, list[float | None]]) -> dict[str, float]:
    """Mean error of each side that has one; of two also the paired difference with its standard error."""
    known = {side: np.array(values) for side, values in errors.items() if None not in values}
    measured = {f"error_{side}": float(values.mean()) for side, values in known.items()}
    if len(known) == 2:
        difference = known["ours"] - known["rival"]
        measured["n_errors"] = len(difference)
        measured["error_difference"] = float(difference.mean())
        if len(difference) > 1:
            measured["error_difference_se"] = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return measured


def ratio(measured: dict[str, Any], of: Callable[[list[float]], float] = median) -> float:
    """Return our time over the rival's, by their medians unless told otherwise."""
    return of(measured["all_seconds_ours"]) / of(measured["all_seconds_rival"])


def _timed(task: Task, repeat: int) -> tuple[float, float | None]:
    gc.collect()
    start = time.perf_counter()
    error = task(repeat)
    return time.perf_counter() - start, error


def cpu_clocks() -> tuple[float, float, float] | None:
    """Return wall time, CPU time of this process and of the whole machine; None where it is not known."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, stat.read_text().split()[1:9])
    machine = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), time.process_time(), machine


def cores_of_others(start: tuple | None, end: tuple | None) -> float | None:
    """Return how many cores the rest of the machine kept busy, on average."""
    if start is None or end is None:
        return None
    wall, own, machine = np.subtract(end, start)
    return max(0.0, float((machine - own) / wall))


def memory_alone(claim: Claim, side: str) -> dict[str, float]:
    """Run one side once in a fresh process: its peak, and its level before, with imports and data there."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_memory_here, claim, side).result()


def _memory_here(claim: Claim, side: str) -> dict[str, float]:
    task = getattr(claim, side)(*claim.rows())
    before = peak_memory_gb()
    elapsed, _ = _timed(task, 0)
    return {"base_gb": before, "peak_gb": peak_memory_gb(), "cold_seconds": elapsed}


def peak_memory_gb() -> float:
    """Return the most memory this process has had, in units of 10^9 bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage on Linux starts at what the parent had when it made this process
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text()).group(1)) * 1024 / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def broken(claim: Claim, measured: dict[str, Any]) -> list[str]:
    """Name the limits that the measurement does not keep."""
    problems = []
    if claim.ratio_limit is not None and ratio(measured) > claim.ratio_limit:
        problems.append("time")
    if claim.memory_limit_gb is not None and measured["peak_gb_ours"] >= claim.memory_limit_gb:
        problems.append("memory")
    if claim.lower_error and measured["error_difference"] >= 0:
        problems.append("error")
    if claim.error_slack is not None and measured["error_difference"] > claim.error_slack:
        problems.append("error")
    return problems
