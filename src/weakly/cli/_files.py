"""Files that appear whole or not at all, and never in the place of another one."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from weakly._files import draft_of
from weakly.cli._errors import UserError

STANDARD_STREAM = Path("-")


@contextmanager
def replacing(path):
    """Open a binary file that takes the place of ``path`` once it is written and safe on the disk.

    ``-`` is the standard output.
    """
    try:
        if path == STANDARD_STREAM:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with draft_of(path) as draft, open(draft, "xb") as file:
                yield file
    except BrokenPipeError:  # nobody reads on, and the flush at exit must not complain again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UserError("the reader of the standard output closed it early.") from None
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def require_free(path, *, force=False):
    """Refuse a file to be written where there is no directory or, unless forced, where there is a file."""
    if path == STANDARD_STREAM:
        raise UserError("only --out can be '-', the standard output: name a file.")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {str(path)!r}: the directory {str(path.parent)!r} does not exist.")
    if path.is_symlink() and not path.exists():
        raise UserError(f"{str(path)!r} is a link to nothing: remove it or choose another name.")
    if path.exists() and not force:
        raise UserError(f"{str(path)!r} exists already: add --force to overwrite it.")
    if path.exists() and not path.is_file():
        raise UserError(f"{str(path)!r} is not a file: choose another name.")
    if path.exists() and not os.access(path, os.W_OK):  # a renamed file would take its place all the same
        raise UserError(f"cannot write {str(path)!r}: permission denied.")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def require_different(paths):
    """Refuse files of which two are one, by whatever name; ``paths`` maps what they are to where they are."""
    named = list(paths.items())
    for place, (what, path) in enumerate(named):
        for other, taken in named[:place]:
            if STANDARD_STREAM not in (path, taken) and _is_same(path, taken):
                raise UserError(f"{what} {str(path)!r} is {other} itself: choose another name.")


def _is_same(path, other):
    """Whether two names are of one file, be it through links, or would be once both are written."""
    if path.exists() and other.exists():
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)
