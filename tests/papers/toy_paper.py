"""A paper whose cells cost next to nothing, for the tests of the harness."""

import json
import os
import time

import numpy as np

from benchmarks.papers import Paper, Table


def evaluate(settings, column, seed):
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"{settings['base']} {column} {seed}\n")
    time.sleep(float(os.environ.get("TOY_SECONDS", "0")))  # not a setting: it does not change the result
    if settings.get("fails_at") == seed:
        raise RuntimeError(f"seed {seed} does not work")
    return {
        "value": settings["base"] + int(column) + np.random.default_rng(seed).random(),
        "twice": 2.0 * seed,
    }


def make_paper(fields=None, **settings):
    """Toy paper; ``fields`` change its table, ``settings`` those of its rows."""
    rows = {"first": {"base": 10.0, **settings}, "second": {"base": 20.0, **settings}}
    table = Table(
        key="toy",
        caption="A toy",
        rows=("first", "second", "published only"),
        columns=("1", "5"),
        evaluate=evaluate,
        settings=rows,
        published={("first", "1"): 11.0, ("published only", "5"): 3.0},
        targets={("second", "5"): 26.0},
        repeats=5,
        quick_repeats=2,
        **fields or {},
    )
    return Paper("toys", "Toys", "Nowhere, 2000", (table,))


def expected_value(cell):
    base = {"first": 10.0, "second": 20.0}[cell["row"]]
    return base + int(cell["column"]) + np.random.default_rng(cell["seed"]).random()


def lines(path):
    """Parse a file of results strictly: every line must be whole."""
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]
