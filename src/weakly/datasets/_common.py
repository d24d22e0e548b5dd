"""What the generators share."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array

from weakly.model_selection import LabelDraws


def check_integer(name, value, *, at_least):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be an integer of at least {at_least}, got {value!r}.")


def check_number(name, value, *, at_least, below):
    if not isinstance(value, Real) or isinstance(value, bool) or not at_least <= value < below:
        raise ValueError(f"{name} must be a number of at least {at_least} and below {below}, got {value!r}.")


def build_csr(data, indices, indptr, shape):
    """CSR array with 32-bit indices where they suffice: solvers in C ask for them, and memory halves."""
    fits = max(*shape, len(indices)) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    return csr_array((data, indices.astype(index, copy=False), indptr.astype(index, copy=False)), shape=shape)


def draw_partial_labels(y, n_per_class, rng):
    """Fields ``labeled`` and ``y_partial`` of a semi-supervised problem."""
    (draw,) = LabelDraws(n_per_class=n_per_class, n_repeats=1, random_state=rng).split(None, y)
    return {"labeled": draw.labeled, "y_partial": draw.mask(y)}
