"""Fits on a GPU beside NumPy: ``python -m benchmarks.scale.gpu``, on a machine that has one.

The scores of both are compared on 5,000 rows, then the large fits are timed twice: cold and again. Labels
are 10 of each class of MNIST, drawn with a fixed seed; times include everything from NumPy rows to a fitted
model, neighbour search too.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import weakly
from benchmarks.papers import markdown_table
from benchmarks.papers._environment import circumstances, environment
from benchmarks.scale.surfaces import few_labels
from weakly.datasets import load

RESULTS = Path(__file__).resolve().parents[1] / "results"
COMPARED_ROWS, NEW_ROWS = 5_000, 1_000
exact = partial(weakly.LaplacianRLSClassifier, approximation=None, n_neighbors=10)
exact_svc = partial(weakly.LaplacianSVC, approximation=None, n_neighbors=10)

# Name, how the model is made, rows, most seconds.
FITS = (
    ("LaplacianRLSClassifier, exact kernel", exact, 60_000, 5.0),
    ("LaplacianSVC, exact kernel", exact_svc, 60_000, 10.0),
    ("LaplacianRLSClassifier, Nystroem", weakly.LaplacianRLSClassifier, 70_000, None),
    ("TotalVariationRLSClassifier", weakly.TotalVariationRLSClassifier, 70_000, 60.0),
    ("TotalVariationSVC", weakly.TotalVariationSVC, 70_000, 60.0),
    ("CheegerRLSClassifier", weakly.CheegerRLSClassifier, 70_000, None),
    ("FewLabelClassifier", weakly.FewLabelClassifier, 70_000, None),
)
COMPARED = {
    "LaplacianRLSClassifier": weakly.LaplacianRLSClassifier,
    "LaplacianRLSClassifier, Nystroem": partial(weakly.LaplacianRLSClassifier, approximation="nystroem"),
    "LaplacianSVC, Nystroem": partial(weakly.LaplacianSVC, approximation="nystroem"),
    "LaplacianSVC": weakly.LaplacianSVC,
    "ExclusiveLaplacianSVC": weakly.ExclusiveLaplacianSVC,
    "TotalVariationRLSClassifier": weakly.TotalVariationRLSClassifier,
    "TotalVariationSVC": weakly.TotalVariationSVC,
    "CheegerRLSClassifier": weakly.CheegerRLSClassifier,
    "CheegerSVC": weakly.CheegerSVC,
    "ProbabilisticLabelSVC": weakly.ProbabilisticLabelSVC,
    "FewLabelClassifier": weakly.FewLabelClassifier,
}


def digits() -> tuple[np.ndarray, np.ndarray]:
    data = load("mnist")
    return data.X.astype(np.float32) / 255, data.y.astype(int)


def time_fit(make: Any, X: np.ndarray, y: np.ndarray, device: str | None) -> tuple[float, Any]:
    """Seconds of a fit, with the device waited for at both ends."""
    wait = torch.cuda.synchronize if device is not None and device.startswith("cuda") else lambda: None
    wait()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(device=device, random_state=0).fit(X, y)
    wait()
    return time.perf_counter() - start, model


def compare(name: str, make: Any, X: np.ndarray, y: np.ndarray, device: str) -> dict[str, Any]:
    """Scores of new rows by NumPy and by the device, from float32 rows."""
    partial_y, new = few_labels(y[:COMPARED_ROWS], 0), X[-NEW_ROWS:]
    seconds, models = zip(
        *(time_fit(make, X[:COMPARED_ROWS], partial_y, where) for where in (None, device)), strict=True
    )
    scores = [model.decision_function(new) for model in models]
    return {
        "name": f"{name}, compared", "n_rows": COMPARED_ROWS,
        "numpy_seconds": seconds[0], "seconds": seconds[1],
        "largest_difference": float(np.abs(scores[0] - scores[1]).max()),
        "largest_score": float(np.abs(scores[0]).max()),
        "same_labels": float(np.mean(models[0].transduction_ == models[1].transduction_)),
    }  # fmt: skip


def time_large(name: str, make: Any, limit: float | None, X: Any, y: Any, device: str) -> dict[str, Any]:
    partial_y = few_labels(y, 0)
    hidden = partial_y < 0
    cold, _ = time_fit(make, X, partial_y, device)
    again, model = time_fit(make, X, partial_y, device)
    return {
        "name": name, "n_rows": len(X), "cold_seconds": cold, "seconds": again, "limit": limit,
        "accuracy": 100 * float(np.mean(model.transduction_[hidden] == y[hidden])),
    }  # fmt: skip


def page(records: list[dict[str, Any]]) -> str:
    """Both tables, and where they were measured."""
    fits = [record for record in records if "cold_seconds" in record]
    compared = [record for record in records if "largest_difference" in record]
    first = markdown_table(
        ("fit", "rows", "first", "again", "limit", "accuracy"),
        [
            [
                r["name"], f"{r['n_rows']:,}", f"{r['cold_seconds']:.2f} s", f"{r['seconds']:.2f} s",
                f"{r['limit']:g} s" if r["limit"] else "", f"{r['accuracy']:.2f} %",
            ]
            for r in fits
        ],
    )  # fmt: skip
    second = markdown_table(
        ("fit", "NumPy", "device", "largest difference of scores", "largest score", "same labels"),
        [
            [
                r["name"].removesuffix(", compared"), f"{r['numpy_seconds']:.2f} s", f"{r['seconds']:.2f} s",
                f"{r['largest_difference']:.1e}", f"{r['largest_score']:.2f}",
                f"{100 * r['same_labels']:.2f} %",
            ]
            for r in compared
        ],
    )  # fmt: skip
    sources = sorted({f"{r['gpu']}, torch {r['torch']}; {circumstances(r)}" for r in records})
    return "\n\n".join(
        [
            "# On a GPU",
            "MNIST, 10 labels of each class, neighbour search included. Written by "
            "`python -m benchmarks.scale.gpu`.",
            first,
            f"Scores of {NEW_ROWS:,} new rows after fits on {COMPARED_ROWS:,} float32 rows. With Nystroem "
            "features both sides stop early, once the labels have settled, and not at the same iterate:",
            second,
            "\n".join(f"- {source}" for source in sources) + "\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--most-rows", type=int, default=70_000, help="for a trial on a smaller machine")
    options = parser.parse_args()
    X, y = digits()
    gpu = torch.cuda.get_device_name() if options.device.startswith("cuda") else options.device
    where = {"gpu": gpu, "torch": torch.__version__} | environment()
    records = []
    for name, make in COMPARED.items():
        records.append(compare(name, make, X, y, options.device) | where)
        print(records[-1], flush=True)
    for name, make, n_rows, limit in FITS:
        n_rows = min(n_rows, options.most_rows)
        records.append(time_large(name, make, limit, X[:n_rows], y[:n_rows], options.device) | where)
        print(records[-1], flush=True)
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "gpu.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (options.results / "gpu.md").write_text(page(records))


if __name__ == "__main__":
    main()
