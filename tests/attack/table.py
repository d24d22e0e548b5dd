"""The table of nasty inputs: what is given, and what is to be expected.

Each entry of :data:`INPUTS` is a function of a subject that returns what to give it, or ``None`` where it
does not concern it. ``refused`` says whether it must be refused (``True``), must be fitted (``False``) or may
be either, and ``names`` what the message of a refusal must name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .subjects import some_of_each

INPUTS: dict[str, Callable] = {}
LABELS = ("some", "all", "numbers")  # kinds of subjects that are told labels
ROWS = (*LABELS, "clusters")  # that take a plain matrix


@dataclass
class Given:
    """What a fit is given, and what is to be expected of it."""

    X: Any
    truth: np.ndarray
    labeled: Any = None
    y: Any = None
    params: dict = field(default_factory=dict)
    fit_params: dict = field(default_factory=dict)
    refused: bool | None = False
    names: str = "."
    easy: bool = False

    def arguments(self, subject):
        if self.y is not None:
            return self.X, self.y
        labeled = some_of_each(self.truth) if self.labeled is None else self.labeled
        return subject.arguments(self.X, self.truth, labeled)

    def new(self):
        """Samples that no training sample equals: beside them, at the origin, and far away."""
        X = self.X
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or "kernel" in self.params:
            return None
        scale = float(np.abs(X).max()) or 1.0
        far = np.full((1, X.shape[1]), min(1e3 * scale, float(np.finfo(X.dtype).max) ** 0.4))
        return np.vstack([X[:2] * X.dtype.type(1.01), np.zeros((1, X.shape[1])), far]).astype(X.dtype)


def register(name, make, kinds=None, needs=None):
    """Add an input for subjects of some kinds that have a parameter."""

    def guarded(subject):
        is_concerned = (kinds is None or subject.kind in kinds) and (needs is None or needs in subject.params)
        return make(subject) if is_concerned else None

    assert name not in INPUTS
    INPUTS[name] = guarded
