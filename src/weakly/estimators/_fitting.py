"""The door of every fit: to where the samples are, and then as a whole or not at all."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from weakly.exceptions import FitInterruptedWarning
from weakly.rows._blocks import is_collection


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
