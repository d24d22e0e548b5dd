"""Fits on Dask collections: rows that one machine does not hold.

The estimators themselves take them: ``fit(X, y)`` with ``dask.array`` or ``dask.dataframe`` collections.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError:
    raise ImportError("Dask collections need dask: pip install 'weakly[dask]'") from None

from weakly.distributed._blocks import DaskBlocks
from weakly.distributed._cluster import connect, spread
from weakly.distributed._collections import (
    anchored_rows,
    checked_rows,
    fitted_values,
    map_method,
    rows_of,
)
from weakly.distributed._labels import labels_of, targets_of, weights_of

__all__ = [
    "DaskBlocks",
    "anchored_rows",
    "checked_rows",
    "connect",
    "fitted_values",
    "labels_of",
    "map_method",
    "rows_of",
    "spread",
    "targets_of",
    "weights_of",
]
