"""The one decorator of compiled functions: their machine code is kept wherever there is a place for it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba

__all__ = ["njit"]


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function on its first call, and keep the machine code for later processes.

    numba keeps it beside the source or in the user's cache directory, and refuses to decorate where it may
    write to neither, as in a container with a read-only file system. There the code goes to a private
    directory among the temporary files or, failing that, is compiled by every process anew. Options are those
    of ``numba.njit``; without a function the decorator with these options is returned.

    Examples
    --------
    >>> from weakly._compile import njit
    >>> @njit
    ... def half(x):
    ...     return x / 2
    >>> half(3)
    1.5
    """
    if function is None:
        return partial(njit, **options)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no directory that numba knows of is writable
        compiled = numba.njit(**options)(function)
        directory = _private_directory()
        if directory is not None:
            with suppress(AttributeError, RuntimeError):  # of another numba, or a full directory: no cache
                compiled._cache = _cache_in(directory)(function)
        return compiled


def _cache_in(directory: Path) -> Any:
    """A numba cache in a directory.

    numba's setting ``NUMBA_CACHE_DIR`` would move the code of all other packages too, so that this reaches
    for what numba makes of it.
    """
    from numba.core import caching

    class Locator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
        def __init__(self, function: Callable[..., Any], source: str) -> None:
            self._py_file, self._lineno = source, function.__code__.co_firstlineno

        def get_cache_path(self) -> str:
            return str(directory / self.get_suitable_cache_subpath(self._py_file))

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]

    class Cache(caching.FunctionCache):
        _impl_class = Implementation

    return Cache


@cache
def _private_directory() -> Path | None:
    """Directory for machine code among the temporary files that no other user can write to, or ``None``.

    Whoever writes there decides what this process runs, and all users share the temporary files: a directory
    of the right name that is a link, another user's, or open to others is not used.
    """
    if not hasattr(os, "getuid"):  # Windows, where temporary files are the user's own, as the cache is
        return None
    try:
        directory = Path(tempfile.gettempdir(), f"weakly-{os.getuid()}")
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError:
        return None
    is_private = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return directory if stat.S_ISDIR(status.st_mode) and is_private else None
