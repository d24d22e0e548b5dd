"""Time and memory of each method from 1,000 to 1,000,000 rows: ``python -m benchmarks.scale.growth``.

Every cell is a process of its own, which fits once on a few rows to load what is compiled and then once on
all. A method stops growing once its next size would take longer than the limit.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

import weakly
from benchmarks.papers import markdown_table
from benchmarks.papers._environment import circumstances, environment
from benchmarks.scale.surfaces import few_labels, surfaces

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE, PICTURE = ROOT / "benchmarks/results/scale.jsonl", ROOT / "docs/scale.md", "scale.png"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
WARM_UP_ROWS = 1_000
LIMIT_S = 150.0
GROWTH = 12.0  # of the time from one size to the next, by which the next is judged too long
ANCHORS = {"graph": "anchor", "n_neighbors": 3, "random_state": 0}


class Supervised:
    """A classifier that sees the labelled rows alone."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: np.ndarray, y: np.ndarray) -> Supervised:
        self.classifier.fit(X[y >= 0], y[y >= 0])
        self.transduction_ = self.classifier.predict(X)
        return self


METHODS: dict[str, Any] = {
    "FewLabelClassifier": lambda: weakly.FewLabelClassifier(random_state=0),
    "LaplacianRLSClassifier, anchors": lambda: weakly.LaplacianRLSClassifier(**ANCHORS),
    "LaplacianSVC, anchors": lambda: weakly.LaplacianSVC(**ANCHORS),
    "ExclusiveLaplacianSVC, anchors": lambda: weakly.ExclusiveLaplacianSVC(**ANCHORS),
    "ProbabilisticLabelSVC, anchors": lambda: weakly.ProbabilisticLabelSVC(**ANCHORS),
    "LaplacianRLSClassifier, neighbours": lambda: weakly.LaplacianRLSClassifier(random_state=0),
    "TotalVariationRLSClassifier": lambda: weakly.TotalVariationRLSClassifier(random_state=0),
    "TransductiveLinearSVC": lambda: weakly.TransductiveLinearSVC(),
    "WellSVC, linear": lambda: weakly.WellSVC(kernel="linear"),
    "SVC on the labels alone": lambda: Supervised(SVC()),
    "SelfTrainingClassifier(LogisticRegression)": lambda: SelfTrainingClassifier(LogisticRegression()),
    "LabelSpreading(kernel='knn')": lambda: LabelSpreading(kernel="knn"),
}


def measure(method: str, n_rows: int, draw: int = 0) -> dict[str, Any]:
    """Fit once on all rows, after a small fit."""
    X, y = surfaces(n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part = few_labels(y[:WARM_UP_ROWS], draw)
        METHODS[method]().fit(X[:WARM_UP_ROWS], part)
        partial = few_labels(y, draw)
        before = _peak_gb()
        start = time.perf_counter()
        model = METHODS[method]().fit(X, partial)
        seconds = time.perf_counter() - start
    hidden = partial < 0
    labels = model.transduction_ if hasattr(model, "transduction_") else model.predict(X)
    return {
        "method": method, "n_rows": n_rows, "draw": draw, "seconds": seconds,
        "before_gb": before, "peak_gb": _peak_gb(),
        "accuracy": 100 * float(np.mean(labels[hidden] == y[hidden])),
    }  # fmt: skip


def _peak_gb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) * 1024 / 1e9


def measure_alone(method: str, n_rows: int, draw: int) -> dict[str, Any]:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, method, n_rows, draw).result() | environment()


def grow(method: str, sizes: tuple[int, ...], draws: int) -> None:
    """Measure a method at growing sizes while they take no longer than the limit."""
    seconds = 0.0
    for n_rows in sizes:
        if seconds * GROWTH > LIMIT_S:
            print(f"{method}: {n_rows} rows would take about {seconds * GROWTH:.0f} s: not run")
            return
        for draw in range(draws):
            record = measure_alone(method, n_rows, draw)
            seconds = record["seconds"]
            print(
                {key: record[key] for key in ("method", "n_rows", "seconds", "peak_gb", "accuracy")},
                flush=True,
            )
            with RESULTS.open("a") as file:
                file.write(json.dumps(record) + "\n")


def records() -> dict[tuple[str, int], list[dict[str, Any]]]:
    """The last measurement of each method, size and draw."""
    latest = {}
    for text in RESULTS.read_text().splitlines():
        record = json.loads(text)
        latest[record["method"], record["n_rows"], record["draw"]] = record
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for (method, n_rows, _), record in latest.items():
        found.setdefault((method, n_rows), []).append(record)
    return found


def render() -> None:
    """Write the table into the page of the docs, and draw the picture."""
    found = records()
    lines = [
        [method, *(_cell(found.get((method, n_rows))) for n_rows in SIZES)]
        for method in METHODS
        if any(key[0] == method for key in found)
    ]
    sources = sorted({circumstances(record) for cell in found.values() for record in cell})
    table = markdown_table(("method", *(f"{n_rows:,} rows" for n_rows in SIZES)), lines)
    text = PAGE.read_text()
    head, tail = text.split("<!-- measured -->\n")[0], text.split("<!-- end -->\n")[1]
    measured = "\n\n".join([table, *(f"- {source}" for source in sources)])
    PAGE.write_text(f"{head}<!-- measured -->\n{measured}\n<!-- end -->\n{tail}")
    _draw(found)


def _cell(cell: list[dict[str, Any]] | None) -> str:
    if not cell:
        return "not run"
    mean = {key: np.mean([record[key] for record in cell]) for key in ("seconds", "peak_gb", "accuracy")}
    return f"{mean['seconds']:.3g} s<br>{mean['peak_gb']:.2f} GB<br>{mean['accuracy']:.1f} %"


def _draw(found: dict[tuple[str, int], list[dict[str, Any]]]) -> None:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for place, method in enumerate(METHODS):
        sizes = [n_rows for n_rows in SIZES if (method, n_rows) in found]
        style = {
            "color": f"C{place % 10}",
            "linestyle": "-" if place < 9 else ":",
            "marker": "o",
            "markersize": 3,
        }
        for axis, key in zip(axes, ("seconds", "peak_gb"), strict=True):
            values = [np.mean([record[key] for record in found[method, n_rows]]) for n_rows in sizes]
            axis.plot(sizes, values, label=method, **style)
    for axis, title in zip(axes, ("time of a fit (s)", "peak memory of the process (GB)"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="rows", title=title)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(PAGE.with_name(PICTURE), dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="METHOD", help="a method; may be given again")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page again")
    options = parser.parse_args()
    if not options.render:
        for method in options.only or METHODS:
            grow(method, tuple(options.sizes), options.draws)
    render()


if __name__ == "__main__":
    main()
