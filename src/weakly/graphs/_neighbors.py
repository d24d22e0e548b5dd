"""From rows to edges: searches for the nearest rows, and lengths and weights of the edges to them.

Searches are exact, on a device too, by pynndescent, or within the cells of clusterings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state, gen_batches

from weakly._compat import nearest_rows, openmp_after_fork
from weakly._threads import run_parallel
from weakly.graphs._cell_kernels import nearest_in_cells, small_cells
from weakly.rows._arrays import is_positive, to_host
from weakly.rows._device import import_torch, to_device

SEARCHES = ("auto", "exact", "approximate", "cells")
_EXACT_ROWS = 30_000  # beyond this an approximate search is used when it is installed
_SEARCH_WIDTH = 31  # neighbours that the approximate search keeps while it works
_CELL_ROWS = 64  # most rows of a cell
_CLUSTERINGS = 6
_SPARE = 8  # candidates of a device beyond those asked for, among which exact distances choose
_DEVICE_ENTRIES = {"cpu": 2**23, "cuda": 2**28}  # numbers held there for a block of rows


@openmp_after_fork()
def find_neighbors(X: Any, n_neighbors: int, search: str, is_kernel: bool, random_state: Any) -> np.ndarray:
    """Indices of the nearest other rows, nearest first: the same for any number of threads.

    ``X`` is a Gram matrix with ``is_kernel``. ``search`` is "auto", "exact", "approximate" or "cells"; the
    seed is that of searches that are not exact.
    """
    if search not in SEARCHES:
        raise ValueError(f"search is {search!r}: use one of {', '.join(SEARCHES)}.")
    if is_kernel:
        index = NearestNeighbors(n_neighbors=n_neighbors, metric="precomputed").fit(_kernel_distances(X))
        return index.kneighbors(return_distance=False)
    if search == "approximate" or (search == "auto" and X.shape[0] > _EXACT_ROWS and _has_pynndescent()):
        return _find_approximately(X, n_neighbors, random_state)
    if search == "cells":
        return _find_in_cells(X, n_neighbors, random_state)
    return _drop_self(nearest_rows(X, n_neighbors + 1))


@openmp_after_fork()
def neighbors_within(X: Any, radius: float) -> sp.coo_matrix:
    """Distances to the other rows that are no further than ``radius``, those of 0 included."""
    return NearestNeighbors(radius=radius).fit(X).radius_neighbors_graph(mode="distance").tocoo()


def search_neighbors(
    X: Any, n_neighbors: int, search: str, is_kernel: bool, random_state: Any, device: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Find neighbours, on a device where one is given and the search is exact, with distances if known.

    The time of that grows with the square of the rows: "auto" has it for very many on a GPU only.
    """
    is_exact = search == "exact" or (
        search == "auto" and (X.shape[0] <= _EXACT_ROWS or str(device).startswith("cuda"))
    )
    if device is None or is_kernel or sp.issparse(X) or not is_exact:
        return find_neighbors(X, n_neighbors, search, is_kernel, random_state), None
    return nearest_on_device(X, n_neighbors, device)


def nearest_on_device(X: np.ndarray, n_neighbors: int, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other rows, nearest first, and how far they are.

    Which of equally far ones come last is not defined. Products of rows in float64 say which rows may be
    near, differences of rows how far those are, exactly 0 for duplicates.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs._neighbors import nearest_on_device
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
    entries = _DEVICE_ENTRIES[torch.device(device).type]
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


def _has_pynndescent() -> bool:
    try:
        import pynndescent  # noqa: F401
    except ImportError:
        return False
    return True


def _find_approximately(X: Any, n_neighbors: int, random_state: Any) -> np.ndarray:
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise ImportError("search='approximate' needs pynndescent: pip install 'weakly[ann]'") from None
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    # Short lists lose true neighbours (a quarter of them at 5), and threads change what is found.
    width = min(max(n_neighbors + 1, _SEARCH_WIDTH), X.shape[0])
    found = NNDescent(X, n_neighbors=width, random_state=seed, n_jobs=1).neighbor_graph[0]
    return _drop_self(found[:, : n_neighbors + 1])


def _drop_self(found: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Drop each row from its own neighbours; where duplicates crowd it out, the furthest goes instead."""
    n_rows, width = found.shape
    is_other = found != (np.arange(n_rows) if rows is None else rows)[:, None]
    is_other[is_other.all(axis=1), -1] = False
    return found[is_other].reshape(n_rows, width - 1)


def _kernel_distances(gram: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(gram)
    squared = diagonal[:, None] + diagonal[None, :] - 2 * gram
    np.fill_diagonal(squared, 0)
    return np.sqrt(np.maximum(squared, 0))


def _find_in_cells(X: Any, n_neighbors: int, random_state: Any) -> np.ndarray:
    """Nearest of the rows that share a cell of one of several clusterings, and of all where those are few."""
    if sp.issparse(X):
        raise ValueError("search='cells' compares dense rows: use 'approximate', or 'exact'.")
    n_rows = X.shape[0]
    most_rows = max(_CELL_ROWS, 4 * n_neighbors)
    found = np.full((n_rows, n_neighbors), -1)
    distances = np.full((n_rows, n_neighbors), np.inf)
    seeds = check_random_state(random_state).randint(2**31, size=_CLUSTERINGS).astype(np.uint64)
    for cells in small_cells(X, most_rows, seeds):
        order = np.argsort(cells, kind="stable")
        starts = _cell_starts(np.bincount(cells), 2 * most_rows)
        run_parallel(nearest_in_cells, len(starts) - 1, X, order, starts, found, distances)
    few = np.flatnonzero(found[:, -1] < 0)
    if len(few):
        index = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(X)
        nearest = index.kneighbors(X[few], return_distance=False)
        found[few] = _drop_self(nearest, few)
    return found


def _cell_starts(sizes: np.ndarray, most_rows: int) -> np.ndarray:
    """Where cells begin among their rows in order; those of very many equal rows are taken in pieces."""
    n_pieces = -(-sizes // most_rows)
    pieces = np.repeat(sizes // n_pieces, n_pieces)
    ends = np.cumsum(n_pieces) - 1
    pieces[ends] += sizes % n_pieces
    return np.concatenate([[0], np.cumsum(pieces)])


def normalized(X: Any, is_kernel: bool) -> Any:
    """Rows of length 1; each row of zeros, which has no angle, stands at right angles to all others."""
    if is_kernel:
        norms = np.sqrt(np.maximum(np.diagonal(X), 0))
        norms[norms == 0] = 1
        gram = X / np.outer(norms, norms)
        np.fill_diagonal(gram, 1)
        return gram
    empty = np.flatnonzero(np.asarray(abs(X).sum(axis=1)).ravel() == 0)
    if not len(empty):
        return normalize(X)
    columns = np.arange(len(empty))
    own = sp.csr_array((np.ones(len(empty), X.dtype), (empty, columns)), shape=(X.shape[0], len(empty)))
    return sp.hstack([sp.csr_array(normalize(X)), own], format="csr")


def edge_distances(X: Any, sources: np.ndarray, targets: np.ndarray, is_kernel: bool) -> np.ndarray:
    """Lengths of edges from differences of rows: exactly 0 between duplicates, unlike the search's own."""
    if is_kernel:
        diagonal = np.diagonal(X)
        return np.sqrt(np.maximum(diagonal[sources] + diagonal[targets] - 2 * X[sources, targets], 0))
    lengths = np.empty(len(sources))
    width = X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
    for batch in gen_batches(len(sources), 2**22 // max(width, 1) or 1):
        # In float64, as the search has them: squares of small float32 numbers would vanish.
        start, end = (X[rows[batch]].astype(np.float64, copy=False) for rows in (sources, targets))
        lengths[batch] = paired_euclidean_distances(start, end)
    return lengths


def check_bandwidth(bandwidth: float | None) -> None:
    if bandwidth is not None and not is_positive(bandwidth):
        raise ValueError(f"bandwidth is {bandwidth!r}: it must be a positive number.")


def edge_weights(
    weights: str,
    distances: np.ndarray,
    local_scale: np.ndarray,
    sources: np.ndarray,
    targets: np.ndarray,
    bandwidth: float | None,
) -> np.ndarray:
    """Weights of edges by their length, see :func:`weakly.graphs.neighbor_graph`."""
    if weights == "binary":
        return np.ones_like(distances)
    if weights == "cosine":
        cosines = 1 - distances**2 / 2  # rows have length 1
        return np.where(cosines > 1e-12, cosines, 0)
    if weights == "rbf":
        check_bandwidth(bandwidth)
        positive = distances[distances > 0]
        width = bandwidth or (np.median(positive) if len(positive) else 1.0)
        with np.errstate(over="ignore"):  # infinitely many widths apart is far
            return _decay((distances / width) ** 2 / 2)
    # A sample all of whose neighbors are duplicates has scale 0: the median scale stands in.
    positive = local_scale[local_scale > 0]
    scale = np.where(local_scale > 0, local_scale, np.median(positive) if len(positive) else 1.0)
    return _decay(distances**2 / (scale[sources] * scale[targets]))


def _decay(exponents: np.ndarray) -> np.ndarray:
    """``exp(-x)``, but never 0: a far neighbor stays a neighbor, and the graph as connected as it was."""
    return np.maximum(np.exp(-exponents), np.finfo(np.float32).eps)
