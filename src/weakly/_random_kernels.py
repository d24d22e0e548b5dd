"""Compiled random numbers: the same on every machine and thread, from a state of one number."""

import numpy as np

from weakly._compile import njit

_UNIT = 2.0**-53


@njit(inline="always")
def mix(z):
    """Scramble the bits of a number, as SplitMix64 does."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def uniform(state):
    """A number in [0, 1), by SplitMix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix(state[0]) >> np.uint64(11)) * _UNIT


@njit(inline="always")
def below(state, n):
    """A whole number from 0 to below ``n``."""
    return min(int(uniform(state) * n), n - 1)
