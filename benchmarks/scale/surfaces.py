"""Rows whose classes are curved surfaces, in any number."""

from __future__ import annotations

import numpy as np

N_CLASSES = 10
_BLOCK = 50_000
_N_COLUMNS, _N_LATENT, _BEND, _NOISE = 100, 3, 2.0, 0.5


def surfaces(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows from ten surfaces of three dimensions in a hundred, with noise; float32.

    Surface ``c`` is ``sin(2 A t + b_c)``: all have one shape, and a class is told by its place.
    """
    generator = np.random.default_rng(seed)
    frame = generator.normal(size=(_N_LATENT, _N_COLUMNS))
    places = generator.normal(size=(N_CLASSES, _N_COLUMNS))
    y = generator.integers(N_CLASSES, size=n_rows)
    X = np.empty((n_rows, _N_COLUMNS), dtype=np.float32)
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, start + _BLOCK)
        latent = generator.uniform(-1, 1, size=(len(y[block]), _N_LATENT))
        X[block] = np.sin(_BEND * latent @ frame + places[y[block]])
        X[block] += _NOISE * generator.standard_normal(X[block].shape, dtype=np.float32)
    return X, y


def few_labels(y: np.ndarray, seed: int, per_class: int = 10) -> np.ndarray:
    """Hide all labels but a few of each class."""
    generator = np.random.default_rng(seed)
    partial = np.full(len(y), -1)
    for label in range(N_CLASSES):
        partial[generator.choice(np.flatnonzero(y == label), per_class, replace=False)] = label
    return partial
