"""Linear systems without any rounding."""

from fractions import Fraction

import numpy as np


def solve_exactly(matrix, sides):
    """Solve ``matrix x = sides`` by elimination with fractions; only the answer is rounded.

    Entries are integers, fractions, or floats taken for what they are to the last bit.
    """
    lines = [[Fraction(entry) for entry in [*row, *side]] for row, side in zip(matrix, sides, strict=True)]
    for pivot, line in enumerate(lines):
        line[:] = [entry / line[pivot] for entry in line]
        for other in lines[:pivot] + lines[pivot + 1 :]:
            share = other[pivot]
            other[:] = [entry - share * above for entry, above in zip(other, line, strict=True)]
    return np.array([[float(entry) for entry in line[len(lines) :]] for line in lines])
