"""Exact search for the nearest rows on a device, a block of rows against all at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from weakly.rows._arrays import to_host
from weakly.rows._device import import_torch, to_device

_SPARE = 8  # candidates beyond those asked for, among which exact distances choose
_BLOCK_ENTRIES = {"cpu": 2**23, "cuda": 2**28}  # numbers held for a block of rows


def nearest_on_device(X: np.ndarray, n_neighbors: int, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other rows, nearest first; which of equally far ones come last is not defined.

    Products of rows in float64 say which rows may be near, differences of rows how far those are, exactly 0
    for duplicates.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    n_neighbors : int
        How many.
    device : str
        Where to search.

    Returns
    -------
    neighbors : ndarray of shape (n_rows, n_neighbors)
        Indices of rows.
    distances : ndarray of shape (n_rows, n_neighbors)
        How far they are.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs._brute_force import nearest_on_device
    >>> neighbors, distances = nearest_on_device(np.array([[0.0], [1.0], [5.0]]), 1, "cpu")
    >>> neighbors.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 4.0])
    """
    torch = import_torch()
    n_rows, n_features = X.shape
    rows = to_device(X, device)
    centred = rows.double()  # in float32 differences of rows far apart from others would drown in rounding
    centred = centred - centred.mean(dim=0)
    squares = (centred * centred).sum(dim=1)
    width = min(n_neighbors + _SPARE, n_rows - 1)
    entries = _BLOCK_ENTRIES[torch.device(device).type]
    parts = []
    for block in gen_batches(n_rows, max(1, entries // max(n_rows, width * n_features))):
        index = torch.arange(block.start, block.stop, device=device)
        closeness = torch.addmm(squares, centred[block], centred.T, alpha=-2)  # but for the row's own square
        closeness[index - block.start, index] = torch.inf
        candidates = closeness.topk(width, dim=1, largest=False, sorted=False).indices.sort(dim=1).values
        parts.append(_nearest_of(rows, block, candidates, n_neighbors))
    neighbors, distances = (torch.cat(part) for part in zip(*parts, strict=True))
    return to_host(neighbors), to_host(distances).astype(np.float64)


def _nearest_of(rows: Any, block: slice, candidates: Any, n_neighbors: int) -> tuple[Any, Any]:
    differences = rows[candidates] - rows[block][:, None]
    distances = (differences * differences).sum(dim=2).sqrt()
    distances, order = distances.sort(dim=1, stable=True)
    return candidates.gather(1, order)[:, :n_neighbors], distances[:, :n_neighbors]


def nearest_centres(rows: np.ndarray, centres: np.ndarray, n_nearest: int, device: str) -> np.ndarray:
    """Indices of the centres nearest to each row, nearest first."""
    torch = import_torch()
    placed, seen = to_device(centres, device, np.float64), to_device(rows, device, np.float64)
    closeness = torch.addmm((placed * placed).sum(dim=1), seen, placed.T, alpha=-2)
    return to_host(closeness.topk(n_nearest, dim=1, largest=False).indices)
