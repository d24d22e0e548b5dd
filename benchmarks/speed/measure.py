"""Time a claim beside its rival, and its memory in processes of their own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from claims import Claim, Task

WARM_UP_ROWS = 1500
# Threaded BLAS on shared cores slows down many times over, and not equally for ours and the rival's.
MAX_CORES_OF_OTHERS = 0.2


def measure(claim: Claim, repeats: int | None = None) -> dict[str, Any]:
    """Return times, ratio, errors and memory of a claim, and what it breaks."""
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
    """Run ours and the rival's in turn, both warmed up on a part of the rows; the best of each counts."""
    X, y = claim.rows()
    part = np.sort(np.random.default_rng(0).permutation(len(X))[:WARM_UP_ROWS])
    for build in (claim.ours, claim.rival):
        build(X[part], y[part])(0)  # compiles, and starts the threads of BLAS
    tasks = {"ours": claim.ours(X, y), "rival": claim.rival(X, y)}
    runs: dict[str, list[tuple[float, float | None]]] = {side: [] for side in tasks}
    start = cpu_clocks()
    for repeat in range(repeats):
        for side, task in tasks.items():
            runs[side].append(_timed(task, repeat))
    measured: dict[str, Any] = {"cores_of_others": cores_of_others(start, cpu_clocks())}
    for side, pairs in runs.items():
        seconds, errors = zip(*pairs, strict=True)
        measured[f"all_seconds_{side}"] = [round(t, 4) for t in seconds]
        measured[f"seconds_{side}"] = min(seconds)
        if None not in errors:
            measured[f"error_{side}"] = float(np.mean(errors))
    return measured | {"ratio": measured["seconds_ours"] / measured["seconds_rival"]}


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
    if claim.ratio_limit is not None and measured["ratio"] > claim.ratio_limit:
        problems.append("time")
    if claim.memory_limit_gb is not None and measured["peak_gb_ours"] >= claim.memory_limit_gb:
        problems.append("memory")
    if claim.lower_error and measured["error_ours"] >= measured["error_rival"]:
        problems.append("error")
    return problems
