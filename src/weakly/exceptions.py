"""Warnings of the library; errors are Python's own."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["FitInterruptedWarning"]


class FitInterruptedWarning(ConvergenceWarning):
    """A fit was interrupted (Ctrl-C) and ended with the best model found until then.

    The model predicts, but is not what an undisturbed fit would have given: ``result_.status`` is
    "interrupted". Programs that must not go on with such a model turn the warning into an error.

    Examples
    --------
    >>> import warnings
    >>> from weakly.exceptions import FitInterruptedWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FitInterruptedWarning)
    """
