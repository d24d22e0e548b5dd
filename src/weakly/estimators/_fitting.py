"""The door of every fit, to where the samples are, as a whole or not at all; and its progress meanwhile."""

from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weakly.exceptions import FitInterruptedWarning
from weakly.rows._arrays import is_collection

_EVERY = 10  # iterations between two lines


def atomic_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ``fit`` method leave the estimator as it was unless it comes to its end.

    An error, or an interrupt that no solver caught, would otherwise leave new classes beside the old
    function. Where a solver caught an interrupt and ended with the best point so far, the fit warns; a
    warning that is turned into an error undoes the fit as well.

    A Dask collection goes to the method ``_fit_blocks`` (for ``precompute``, to ``_precompute_blocks``) of an
    estimator that has it, in blocks that its ``_blocks_of`` has checked, with all other arguments as they
    are. Without such a method an estimator takes samples in memory only, which their checks say.

    Parameters
    ----------
    fit : callable
        The method for samples in memory. It sets attributes and changes none in place.

    Returns
    -------
    callable
        The same method, with these promises.

    Examples
    --------
    >>> from weakly.estimators._fitting import atomic_fit
    >>> class Model:
    ...     classes_ = None
    ...     @atomic_fit
    ...     def fit(self, X, y):
    ...         self.classes_ = sorted(set(y))
    ...         if len(X) != len(y):
    ...             raise ValueError("X and y differ in length.")
    ...         return self
    >>> model = Model().fit([1, 2], [0, 1])
    >>> try:
    ...     model.fit([1, 2, 3], [7, 8])
    ... except ValueError:
    ...     print(model.classes_)
    [0, 1]
    """

    @functools.wraps(fit)
    def fit_or_leave(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        in_blocks = getattr(self, f"_{fit.__name__}_blocks", None) if is_collection(X) else None
        try:
            if in_blocks is None:
                fitted = fit(self, X, *args, **kwargs)
            else:
                fitted = in_blocks(self._blocks_of(X), *args, **kwargs)
            if "interrupted" in _statuses(self):
                warnings.warn(
                    f"{type(self).__name__} was interrupted: the model is the best found until then, not the "
                    "one that a whole fit gives (result_.status is 'interrupted').",
                    FitInterruptedWarning,
                    stacklevel=2,
                )
        except BaseException:
            self.__dict__ = before  # in one step, which a second interrupt cannot part
            raise
        return fitted

    return fit_or_leave


def _statuses(estimator: Any) -> Iterator[str]:
    """Why the solvers behind a fitted estimator ended."""
    results = getattr(estimator, "result_", [])
    yield from (result.status for result in (results if isinstance(results, list) else [results]))


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
    >>> from weakly.estimators._fitting import Progress
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
