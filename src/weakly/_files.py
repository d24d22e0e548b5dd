"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A name to write to, whose file takes the place of ``path`` once it is safe on the disk.

    Until then it has a temporary name in the same directory: whatever goes wrong, ``path`` holds all of the
    old content or all of the new. Where ``path`` is a link it stays one, and what it points to changes.

    Examples
    --------
    >>> import tempfile
    >>> from weakly._files import draft_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with draft_of(Path(folder) / "note.txt") as draft:
    ...         _ = draft.write_text("whole")
    ...     (Path(folder) / "note.txt").read_text()
    'whole'
    """
    path = Path(os.path.realpath(path))
    draft = path.with_name(f".weakly-{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, draft)
        os.replace(draft, path)
    finally:  # Ctrl-C and SIGTERM as well
        draft.unlink(missing_ok=True)
