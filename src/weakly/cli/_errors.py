"""What ends a command early, told in one line: mistakes, lack of memory, Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from difflib import get_close_matches

import typer

from weakly.cli._console import SafeConsole
from weakly.exceptions import FitInterruptedWarning


class UserError(ValueError):
    """Something the user can put right."""


@contextmanager
def as_user_errors(*kinds):
    """Have errors of some kinds told as they are, as the user's."""
    try:
        yield
    except kinds as error:
        raise UserError(str(error)) from None


@contextmanager
def one_line_errors():
    """Turn an error into one line on the error stream: exit code 2 for the user's, 1 for lack of memory."""
    try:
        yield
    except UserError as error:
        raise _leave(2, f"error: {error}") from None
    except MemoryError as error:
        advice = "Use fewer rows, leave columns out with --ignore, or choose another method with --method."
        raise _leave(1, f"error: out of memory: {error} {advice}") from None


@contextmanager
def clean_stops():
    """Stop on Ctrl-C with exit code 130 and on SIGTERM with 143, after files half written are removed."""
    with _sigterm_unwinds():
        try:
            yield
        except (KeyboardInterrupt, Exception) as error:
            if not _is_interrupt(error):
                raise
            raise _leave(130, "interrupted: no file is left half written.") from None


@contextmanager
def whole_fits():
    """Pass Ctrl-C on from fits that end early with a warning: the command must not use half a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            yield
        except Exception as error:
            if isinstance(error, FitInterruptedWarning) or _is_interrupt(error):
                raise KeyboardInterrupt from None
            raise


def did_you_mean(word, choices):
    """Return a hint that names the nearest choices, or all of them when none is near."""
    choices = [str(choice) for choice in choices]
    near = get_close_matches(word, choices, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(map(repr, choices[:12]))
    return f"there are {shown}{', ...' if len(choices) > 12 else '.'}"


def _is_interrupt(error):
    """Whether Ctrl-C is behind an error: compiled modules that are stopped while they load raise others."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _leave(code, line):
    SafeConsole(stderr=True).print(" ".join(line.split()), style="red", soft_wrap=True)
    return typer.Exit(code)


@contextmanager
def _sigterm_unwinds():
    """Let SIGTERM raise ``SystemExit``, so that ``finally`` clauses run before the process ends."""
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
