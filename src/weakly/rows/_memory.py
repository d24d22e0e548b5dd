"""Memory budget: nothing n x n is allocated before it is known to fit."""

from __future__ import annotations

import os
from math import prod
from typing import Any

import numpy as np

_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_DEFAULT = "2GB"


def memory_limit() -> int:
    """Return the most bytes that dense matrices of one fit may take.

    The limit is a setting, not a reading of the machine, so that the same data give the same model
    everywhere. The environment variable ``WEAKLY_MEMORY_LIMIT`` sets it ("8GB", "500MB", plain bytes).

    Returns
    -------
    int
        Bytes; 2 GB unless set.

    Examples
    --------
    >>> from weakly.rows._memory import memory_limit
    >>> memory_limit() > 0
    True
    """
    text = os.environ.get("WEAKLY_MEMORY_LIMIT", _DEFAULT).strip().upper()
    number = text.rstrip("BKMGT")
    unit = text[len(number) :].strip()
    try:
        n_bytes = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        n_bytes = -1
    if n_bytes < 0:
        raise ValueError(
            f"the environment variable WEAKLY_MEMORY_LIMIT is {text!r}: write a size like '8GB' or '500MB'."
        )
    return n_bytes


def dense_bytes(*shape: int, dtype: Any = np.float64, copies: int = 1) -> int:
    """Bytes that ``copies`` dense arrays of this shape take."""
    return copies * prod(map(int, shape)) * np.dtype(dtype).itemsize


def fits(n_bytes: int) -> bool:
    """Whether that much stays within the limit."""
    return n_bytes <= memory_limit()


def require_fit(n_bytes: int, what: str, remedy: str) -> None:
    """Raise an error that says the size, the limit and what to set, unless it fits."""
    if not fits(n_bytes):
        raise MemoryError(
            f"{what} needs {_readable(n_bytes)}, more than the limit of {_readable(memory_limit())}: "
            f"{remedy}, or raise the limit with the environment variable WEAKLY_MEMORY_LIMIT."
        )


def _readable(n_bytes: float) -> str:
    for unit in ("B", "KB", "MB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GB"
