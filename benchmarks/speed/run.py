"""Print every speed and memory claim of the project beside its rival: ``python -m benchmarks.speed.run``."""

from __future__ import annotations

import argparse
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.papers import Store, markdown_table
from benchmarks.papers._environment import circumstances, environment
from benchmarks.papers._store import write_atomically
from benchmarks.speed.claims import CLAIMS, Claim
from benchmarks.speed.measure import measure, ratio
from weakly.datasets import list_datasets

RESULTS = Path(__file__).resolve().parents[1] / "results"
HEADER = (
    *("claim", "ours", "rival", "ratio", "best ratio", "ratio limit"),
    *("peak memory", "rival's peak", "memory limit", "error", "rival's error", "difference", "kept"),
)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{claim.name:14} {claim.statement}" for claim in CLAIMS))
        return 0
    store = Store(options.results / "speed.jsonl")
    chosen = [claim for claim in CLAIMS if not options.only or claim.name in options.only]
    kept = [_measure_and_tell(claim, store, options.repeats) for claim in chosen]
    if store.path.exists():
        written = write_atomically(options.results / "speed.md", page(store.records()))
        print(f"\n{written.read_text(encoding='utf-8')}")
    return int(not all(kept))


def _measure_and_tell(claim: Claim, store: Store, repeats: int | None) -> bool:
    """Measure one claim, store it and say whether it was kept or could not be measured here."""
    reason = reason_to_skip(claim)
    if reason:
        print(f"{claim.name}: skipped, {reason}.")
        return True
    print(f"{claim.name}: {claim.statement}", flush=True)
    try:
        measured = measure(claim, repeats)
    except Exception:
        traceback.print_exc()
        return False
    store.append(measured | environment())
    numbers = zip(HEADER[1:], line(measured)[1:], strict=True)
    print("    " + ", ".join(f"{title} {value}" for title, value in numbers if value), flush=True)
    return verdict(measured) == "yes"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Speed and memory, side by side with the rivals.")
    names = [claim.name for claim in CLAIMS]
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help="a claim; may be given again"
    )
    parser.add_argument("--list", action="store_true", help="list the claims and stop")
    parser.add_argument("--repeats", type=int, help="timed runs of each side; the median counts")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for speed.jsonl and speed.md")
    return parser


def reason_to_skip(claim: Claim) -> str:
    """Say why a claim cannot be measured here, if so."""
    try:
        available = list_datasets()
    except ValueError as error:
        return str(error).split(". ")[0]
    if claim.dataset not in available:
        return f"dataset {claim.dataset!r} is not there"
    is_there = not claim.needs or find_spec(claim.needs) is not None
    return "" if is_there else f"its rival is not there: pip install {claim.needs}"


def line(measured: dict[str, Any]) -> list[str]:
    """Write one claim as a line of the table."""

    def number(key: str, form: str) -> str:
        return form.format(measured[key]) if measured.get(key) is not None else ""

    times = number("cold_seconds_ours", "{:.3g} s, first run"), "", "", ""
    if "all_seconds_rival" in measured:
        seconds = [f"{median(measured[f'all_seconds_{side}']):.3g} s" for side in ("ours", "rival")]
        times = *seconds, f"{ratio(measured):.2f}", f"{ratio(measured, min):.2f}"
    return [
        f"{measured['name']}: {measured['statement']}",
        *times,
        number("ratio_limit", "{:g}"),
        number("peak_gb_ours", "{:.2f} GB") + number("base_gb_ours", " ({:.2f} before)"),
        number("peak_gb_rival", "{:.2f} GB") + number("base_gb_rival", " ({:.2f} before)"),
        number("memory_limit_gb", "{:g} GB"),
        number("error_ours", "{:.2f} %"),
        number("error_rival", "{:.2f} %"),
        number("error_difference", "{:+.2f}")
        + number("error_difference_se", " ± {:.2f}")
        + number("n_errors", " ({} draws)"),
        verdict(measured),
    ]


def verdict(measured: dict[str, Any]) -> str:
    """Say whether a claim was kept, or that the machine was too busy to tell."""
    if measured["undecided"]:
        return f"undecided: others kept {measured['cores_of_others']:.1f} cores busy"
    return "no: " + ", ".join(measured["broken"]) if measured["broken"] else "yes"


def page(records: list[dict[str, Any]]) -> str:
    """Write the last measurement of every claim as a page, the last decided one where there is one."""
    undecided_first = sorted(records, key=lambda record: not record["undecided"])
    latest = {record["name"]: record for record in undecided_first}
    known = [latest[claim.name] for claim in CLAIMS if claim.name in latest]
    sources = sorted({f"{record['time'][:10]}; {circumstances(record)}" for record in known})
    return "\n\n".join(
        [
            "# Speed",
            "Ours and the rival's ran in turn in one process, warmed up; the median time of each counts, and "
            "the ratio of the best times stands beside it. The difference of the errors is ours minus the "
            "rival's, with its standard error over the same draws of labels. Peak memory is that of a fresh "
            "process that does the fit once, beside its level before, with imports and data in place. "
            "Written by `make speed`.",
            markdown_table(HEADER, (line(record) for record in known)),
            "\n".join(f"- {source}" for source in sources) + "\n",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
