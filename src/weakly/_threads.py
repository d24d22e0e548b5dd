"""Threads that share the work of a compiled loop, and forks.

numba's own threads (``parallel=True``) end a child that was forked after their use or, depending on the
library below, a process that uses them from several threads at a time. These do neither: a pool of Python's
threads runs loops that let go of the interpreter's lock, and a forked child starts a pool of its own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any

import numba

__all__ = ["GRAIN", "run_parallel"]

GRAIN = 500  # samples that are worth a thread, where each takes a microsecond at most
_SHARES = 8  # stretches for each thread, so that none waits long for another at the end


def run_parallel(kernel: Callable[..., None], n_tasks: int, *arguments: Any, grain: int = 1) -> None:
    """Run a compiled loop over tasks on as many threads as numba would use (``NUMBA_NUM_THREADS``).

    ``kernel(start, stop, *arguments)`` does the tasks from ``start`` to before ``stop``. To run beside others
    it is compiled with ``nogil=True``, and its tasks write to different places. ``grain`` is the fewest tasks
    that are worth a thread.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly._compile import njit
    >>> from weakly._threads import run_parallel
    >>> @njit(nogil=True)
    ... def square(start, stop, values):
    ...     for i in range(start, stop):
    ...         values[i] *= values[i]
    >>> values = np.arange(5)
    >>> run_parallel(square, len(values), values)
    >>> values.tolist()
    [0, 1, 4, 9, 16]
    """
    n_threads = min(_most_threads(), n_tasks // grain)
    if n_threads <= 1:
        kernel(0, n_tasks, *arguments)
        return
    n_stretches = min(_SHARES * n_threads, n_tasks // grain)
    stretches = deque(pairwise(i * n_tasks // n_stretches for i in range(n_stretches + 1)))

    def work() -> None:
        while True:
            try:
                start, stop = stretches.popleft()
            except IndexError:
                return
            kernel(start, stop, *arguments)

    helpers: list[Future] = []
    try:
        _recruit(helpers, work, n_threads - 1)
        work()
    finally:
        stretches.clear()  # after an error or an interrupt nobody is to begin another one
        begun = [helper for helper in helpers if not helper.cancel()]
        _wait_for(begun)
    for helper in begun:
        helper.result()  # raises what its kernel raised


def _most_threads() -> int:
    return numba.config.NUMBA_NUM_THREADS


def _recruit(helpers: list[Future], work: Callable[[], None], n_helpers: int) -> None:
    """Let other threads begin the work too, or as many of them as can be started."""
    for _ in range(n_helpers):
        try:
            helpers.append(_pool().submit(work))
        except RuntimeError:  # the process has as many as it may have, or the interpreter is shutting down
            _pool.cache_clear()  # with the work that waits in it
            return


def _wait_for(helpers: list[Future]) -> None:
    """Wait for other threads, also after an interrupt: whoever catches it may read what they write."""
    try:
        for helper in helpers:
            helper.exception()
    except KeyboardInterrupt:
        wait(helpers)
        raise


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(_most_threads() - 1, 1), thread_name_prefix="weakly")


def _after_fork() -> None:
    _pool.cache_clear()  # its threads stayed behind


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
