"""Progress of long fits, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_EVERY = 10  # iterations between two lines


class Progress:
    """Says what a fit is doing and how long each stage took.

    Parameters
    ----------
    title : str
        Usually the name of the estimator.
    verbose : int
        0 is silent.

    Examples
    --------
    >>> from weakly.estimators._progress import Progress
    >>> with Progress("fit", verbose=0).stage("neighbours"):
    ...     pass
    """

    def __init__(self, title: str, verbose: int) -> None:
        self.title = title
        self.verbose = verbose
        self.n_iter = 0
        self.is_interrupted = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and say so when it is over."""
        start = time.perf_counter()
        self._say(f"{name} ...", end="\r")
        yield
        self._say(f"{name}: {time.perf_counter() - start:.2f} s")

    def count(self, *state: object) -> bool:
        """Count an iteration; a callback that looks at nothing, and stops what comes after an interrupt."""
        self.n_iter += 1
        if self.n_iter % _EVERY == 1:
            self._say(f"iteration {self.n_iter}", end="\r")
        return self.is_interrupted

    def watch(self, result: Any) -> Any:
        """Pass on what a solver returned; after an interrupt of one part ``count`` ends all others."""
        self.is_interrupted |= result.status == "interrupted"
        return result

    def _say(self, text: str, end: str = "\n") -> None:
        if self.verbose:
            print(f"[{self.title}] {text:<60}", end=end, file=sys.stderr, flush=True)
