"""Blocks of samples, and keys: an order that does not depend on the order or the blocks they come in."""

import numpy as np
import pytest

from weakly.rows._blocks import ArrayBlocks, first_keys, row_keys


@pytest.mark.parametrize("n_first", [1, 100, 500])
def test_first_samples_are_those_of_the_smallest_keys(n_first):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 4))
    keys = row_keys(rows, 7)
    expected = rows[np.argsort(keys)[:n_first]]
    for order in (np.arange(300), rng.permutation(300)):
        found = first_keys(ArrayBlocks(rows[order], 37), n_first, 7)
        np.testing.assert_array_equal(rows[order][found.rows], expected)
        np.testing.assert_array_equal(found.keys, np.sort(keys)[:n_first])


def test_of_equal_samples_the_first_come_first():
    found = first_keys(ArrayBlocks(np.ones((10, 2)), 3), 4, 0)
    np.testing.assert_array_equal(found.rows, np.arange(4))
