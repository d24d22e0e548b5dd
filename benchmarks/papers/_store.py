"""Results as JSON lines that survive a kill at any moment and any number of writers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from benchmarks.papers._model import Cell

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    fcntl = None

_CELL_FIELDS = tuple(field.name for field in fields(Cell))
_SHARED = ("paper", "table", "row", "fingerprint", "settings", "versions", "source", "machine")
_FAR_BYTE = 1 << 40  # locked in place of the file itself where locks are mandatory: no data is ever there


class Store:
    """Finished cells of one table, one JSON object per line.

    A line is written by a single call under an exclusive lock and synced to disk, so a kill can only tear
    the last line. A torn line is a prefix of a JSON object, which never parses: readers drop it, and the
    next writer starts on a fresh line. The lock goes with the process, so that none is ever left behind.

    Parameters
    ----------
    path : str or Path
        The file; it and its folder are created by the first write.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def records(self) -> list[dict[str, Any]]:
        """Read all complete lines.

        Returns
        -------
        list of dict
            In the order of writing.
        """
        return _parse(self.path.read_bytes()) if self.path.exists() else []

    def finished(self) -> dict[Cell, dict[str, Any]]:
        """Return the record of each finished cell.

        Returns
        -------
        dict of Cell to dict
            The first record of a cell counts, should a merge of files have doubled it. Lines that are no
            record of a cell are left out.
        """
        return _by_cell(self.records())

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line, whatever is there already.

        Parameters
        ----------
        record : mapping
            What JSON can hold.
        """
        with self._opened() as descriptor:
            _write_line(descriptor, record)

    def add(self, cell: Cell, measured: Mapping[str, Any]) -> bool:
        """Store a cell unless another run has done so meanwhile.

        Parameters
        ----------
        cell : Cell
            What was measured.
        measured : mapping
            Its value and circumstances.

        Returns
        -------
        bool
            False if the cell was there.
        """
        with self._opened() as descriptor:
            if cell in _by_cell(_parse(_read(descriptor))):
                return False
            _write_line(descriptor, asdict(cell) | dict(measured))
            return True

    def compact(self) -> None:
        """Write what many records say alike only once, on a line of its own before the first of them.

        The one step that a kill can spoil: it writes the whole file. Do it when the measuring is done.
        """
        if not self.path.exists():
            return
        with self._opened() as descriptor:
            before = _read(descriptor)
            lines = _shorten(_parse(before))
            after = b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines)
            if after != before:
                os.ftruncate(descriptor, 0)
                _write(descriptor, after)

    def clear(self) -> None:
        """Forget all records."""
        if self.path.exists():
            with self._opened() as descriptor:  # cut, not removed: another run may have it open
                os.ftruncate(descriptor, 0)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the file for appending and hold its lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o644)
        try:
            with _exclusive(descriptor):
                yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _exclusive(descriptor: int) -> Iterator[None]:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released by closing the descriptor
        yield
        return
    os.lseek(descriptor, _FAR_BYTE, os.SEEK_SET)
    msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    try:
        yield
    finally:
        os.lseek(descriptor, _FAR_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


def _read(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    chunks = []
    while chunk := os.read(descriptor, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


def _write_line(descriptor: int, record: Mapping[str, Any]) -> None:
    line = json.dumps(record, allow_nan=False).encode() + b"\n"
    content_end = os.lseek(descriptor, 0, os.SEEK_END)
    if content_end:
        os.lseek(descriptor, content_end - 1, os.SEEK_SET)
        if os.read(descriptor, 1) != b"\n":
            line = b"\n" + line
    _write(descriptor, line)


def _write(descriptor: int, content: bytes) -> None:
    if os.write(descriptor, content) != len(content):
        raise OSError("a result could not be written in full: is the disk full?")
    os.fsync(descriptor)


def _parse(content: bytes) -> list[dict[str, Any]]:
    """Read lines, and give records back what they share with others."""
    records: list[Any] = []
    shared: dict[int, dict[str, Any]] = {}
    for text in content.split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:  # torn by a kill, or the nothing after the last newline
            continue
        number = line.pop("shared", None) if isinstance(line, dict) else None
        if number is None:
            records.append(line)
        elif "value" in line:
            records.append(shared.get(number, {}) | line)
        else:
            shared[number] = line
    return records


def _shorten(records: list[Any]) -> list[Any]:
    """The reverse: lines of cells that name what they share by its number."""
    lines, numbers = [], {}
    for record in records:
        if not isinstance(record, dict) or "value" not in record:
            lines.append(record)
            continue
        common = {name: record[name] for name in _SHARED if name in record}
        key = json.dumps(common)
        if key not in numbers:
            numbers[key] = len(numbers)
            lines.append({"shared": numbers[key]} | common)
        own = {name: value for name, value in record.items() if name not in common}
        lines.append({"shared": numbers[key]} | own)
    return lines


def _by_cell(records: list[Any]) -> dict[Cell, dict[str, Any]]:
    finished: dict[Cell, dict[str, Any]] = {}
    for record in records:
        if isinstance(record, dict) and record.keys() >= {*_CELL_FIELDS, "value"}:
            finished.setdefault(Cell(*(record[name] for name in _CELL_FIELDS)), record)
    return finished


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Write a file so that readers see the old or the new content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(partial, path)
    return path
