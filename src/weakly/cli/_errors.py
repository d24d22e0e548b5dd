"""What goes wrong on the user's side, told in one line."""

from __future__ import annotations

from contextlib import contextmanager
from difflib import get_close_matches

import typer
from rich.console import Console


class UserError(ValueError):
    """Something the user can put right."""


@contextmanager
def one_line_errors():
    """Turn a ``UserError`` into one line on the error stream and exit code 2."""
    try:
        yield
    except UserError as error:
        line = " ".join(str(error).split())
        Console(stderr=True).print(
            f"error: {line}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        raise typer.Exit(2) from None


def did_you_mean(word, choices):
    """Return a hint that names the nearest choices, or all of them when none is near."""
    choices = [str(choice) for choice in choices]
    near = get_close_matches(word, choices, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(map(repr, choices[:12]))
    return f"there are {shown}{', ...' if len(choices) > 12 else ''}."
