import json
import subprocess
import sys
import threading
from dataclasses import asdict

import pytest

from benchmarks.papers import Cell, Store

CELL = Cell("paper", "table", "row", "5", 0, "abc")
OTHER = Cell("paper", "table", "row", "5", 1, "abc")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "paper" / "table.jsonl")


def test_nothing_stored_is_empty(store):
    assert store.records() == []
    assert store.finished() == {}


def test_a_cell_is_stored_once(store):
    assert store.add(CELL, {"value": 1.5})
    assert not store.add(CELL, {"value": 2.5})
    assert [record["value"] for record in store.finished().values()] == [1.5]
    assert len(store.path.read_text().splitlines()) == 1


def test_other_settings_are_another_cell(store):
    changed = Cell("paper", "table", "row", "5", 0, "def")
    assert store.add(CELL, {"value": 1.5})
    assert store.add(changed, {"value": 2.5})
    assert set(store.finished()) == {CELL, changed}


@pytest.mark.parametrize("kept", [1, 30, -2], ids=["one byte", "half", "all but the brace"])
def test_a_torn_line_is_dropped_and_the_next_starts_afresh(store, kept):
    store.add(CELL, {"value": 1.5})
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole[:kept])
    assert list(store.finished()) == [CELL]
    assert store.add(OTHER, {"value": 2.5})
    assert list(store.finished()) == [CELL, OTHER]
    assert json.loads(store.path.read_text().splitlines()[-1])["value"] == 2.5


def test_a_line_that_lost_only_its_newline_counts(store):
    store.add(CELL, {"value": 1.5})
    store.path.write_bytes(store.path.read_bytes().rstrip(b"\n"))
    assert not store.add(CELL, {"value": 9.0})
    assert store.add(OTHER, {"value": 2.5})
    assert [record["value"] for record in store.records()] == [1.5, 2.5]


def test_first_of_doubled_records_counts(store):
    store.add(CELL, {"value": 1.5})
    doubled = json.loads(store.path.read_text()) | {"value": 7.0}
    store.append(doubled)
    assert store.finished()[CELL]["value"] == 1.5


FOREIGN = ["3", "null", "[1]", '"text"', "{}", '{"paper": "p"}', json.dumps(asdict(OTHER))]


@pytest.mark.parametrize("line", FOREIGN)
def test_lines_that_are_no_cell_are_passed_over(store, line):
    store.add(CELL, {"value": 1.5})
    with store.path.open("a") as file:
        file.write(line + "\n")
    assert list(store.finished()) == [CELL]
    assert store.add(OTHER, {"value": 2.5})
    assert list(store.finished()) == [CELL, OTHER]


def test_a_cleared_store_is_empty_and_takes_new_records(store):
    store.clear()
    assert not store.path.exists()
    store.add(CELL, {"value": 1.5})
    store.clear()
    assert store.finished() == {}
    assert store.add(CELL, {"value": 2.5})
    assert [record["value"] for record in store.records()] == [2.5]


def test_not_a_number_is_refused_and_leaves_no_trace(store):
    with pytest.raises(ValueError, match="JSON"):
        store.add(CELL, {"value": float("nan")})
    assert store.records() == []


WRITER = """
import sys
from benchmarks.papers import Cell, Store
store = Store(sys.argv[1])
for seed in range(60):
    print(int(store.add(Cell("p", "t", "r", "c", seed, "f"), {"value": seed, "pad": "x" * 5000})))
"""


def test_writers_at_once_store_every_cell_once(store):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, store.path], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    added = sum(sum(map(int, writer.communicate(timeout=120)[0].split())) for writer in writers)
    assert added == 60
    assert sorted(record["value"] for record in store.records()) == list(range(60))
    assert len(store.path.read_text().splitlines()) == 60


def test_a_reader_sees_only_whole_records_while_others_write(store):
    def write():
        for seed in range(200):
            store.add(Cell("p", "t", "r", "c", seed, "f"), {"value": seed})

    writer = threading.Thread(target=write)
    writer.start()
    counts = []
    while writer.is_alive():
        values = [record["value"] for record in store.records()]
        assert values == list(range(len(values)))
        counts.append(len(values))
    writer.join()
    assert counts == sorted(counts)
    assert len(store.records()) == 200


def test_a_compact_file_holds_the_same_records_and_takes_more(store):
    common = {"settings": {"long": "x" * 500}, "machine": {"cores": 2}}
    for seed in range(20):
        settings = common if seed % 2 else {**common, "machine": {"cores": 4}}
        store.add(Cell("paper", "table", "row", "5", seed, "abc"), {"value": float(seed), **settings})
    store.append({"no": "cell"})
    before, size = store.records(), store.path.stat().st_size
    store.compact()
    assert store.records() == before
    assert store.path.stat().st_size < size / 4
    once = store.path.read_bytes()
    store.compact()
    assert store.path.read_bytes() == once
    assert not store.add(CELL, {"value": 99.0})  # seed 0 is there
    assert store.add(Cell("paper", "table", "row", "5", 20, "abc"), {"value": 20.0, **common})
    assert store.records()[:-1] == before
    store.compact()
    assert [record["value"] for record in store.finished().values()] == [float(seed) for seed in range(21)]


def test_records_whose_shared_part_was_torn_do_not_count(store):
    for cell in (CELL, OTHER):
        store.add(cell, {"value": 1.0, "settings": {"long": "x" * 50}})
    store.compact()
    first, *rest = store.path.read_text().splitlines(keepends=True)
    store.path.write_text(first[:-9] + "\n" + "".join(rest))
    assert store.finished() == {}
    assert store.add(CELL, {"value": 2.0})
    assert [record["value"] for record in store.finished().values()] == [2.0]


def test_nothing_stored_needs_no_compacting(store):
    store.compact()
    assert not store.path.exists()
