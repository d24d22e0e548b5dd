"""A bank of kernels that never saw a label: every assumption about the unlabelled rows as a kernel.

========  =====================================================  ==========================================
family    assumption                                             kernels
========  =====================================================  ==========================================
``sup``   none: labels alone decide                              linear; RBF of three widths; ``exp(-d)``
``lap``   smooth, and smooth along the graph too                 ``(K^-1 + g L^p)^-1``
``graph`` classes are pieces of the neighbour graph              functions of the spectrum; common clusters
``pca``   classes lie along the directions of largest variance   components; common clusters
========  =====================================================  ==========================================

All are :class:`weakly.spaces.FilteredSpace`: weights on coordinates that they share, centred over all
rows, with a mean of 1 on the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from weakly.auto._prepare import Preparation, learn_preparation
from weakly.auto._spectra import (
    DistanceKernel,
    cluster_counts,
    find_clusterings,
    graph_spectrum,
    principal_components,
    smoothness_spectrum,
    whitening_of,
    whole,
)
from weakly.auto._views import Columns, FirstDirections, Interpolation, Projection, Reference, ViewMap, Views
from weakly.estimators._progress import Progress
from weakly.graphs import Graph
from weakly.graphs._graph import join_neighbors
from weakly.graphs._search import search_neighbors
from weakly.rows._blocks import canonical
from weakly.rows._columns import occupied_columns
from weakly.rows._device import to_host
from weakly.rows._keys import row_keys
from weakly.rows._memory import dense_bytes, memory_limit
from weakly.spaces import Coordinates, FilteredSpace

WIDTHS = (0.35, 0.7, 1.4)  # of the RBF kernels, in median distances
DEFORMED_WIDTH = 0.7
DEFORMATIONS = ((5, 1), (10, 1), (10, 2))  # neighbours, power of the Laplacian
GRAPH_PENALTIES = (0.1, 1.0, 10.0, 100.0)
NEIGHBORS = (5, 10)
HEAT_TIMES = (3.0, 30.0, 300.0)
RESOLVENTS = (0.01, 0.001)
N_EIGENVECTORS = (2, 3, 5, 10, 20, 40)
N_COMPONENTS = (1, 2, 4, 8, 16)
WHITENINGS = (0.1, 1.0)
CLUSTERS_PER_CLASS = (1, 3, 10)
CLUSTERED_COMPONENTS = 30


@dataclass(frozen=True)
class Size:
    """How large a bank is.

    Parameters
    ----------
    n_landmarks : int
        Rows that kernels are taken with; with as many rows or fewer the kernels are exact.
    n_vectors : int
        Eigenvectors of a graph.
    n_components : int
        Principal components.
    n_runs : int
        Clusterings of each kind.
    """

    n_landmarks: int
    n_vectors: int
    n_components: int
    n_runs: int


SIZES = {"fast": Size(1000, 100, 300, 10), "full": Size(2000, 200, 500, 10)}
SIZE_OF_MANY = Size(500, 50, 100, 5)  # in "fast", beyond so many rows:
MANY_ROWS = 10_000
FEWEST_LANDMARKS = 50
SEARCH_COMPONENTS = 50  # in which neighbours are sought among many rows


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel of a bank.

    Parameters
    ----------
    name : str
        What it is.
    family : {"sup", "lap", "graph", "pca"}
        Which assumption it stands for.
    space : FilteredSpace
        The kernel.
    """

    name: str
    family: str
    space: FilteredSpace


@dataclass(frozen=True, eq=False)
class KernelBank:
    """Kernels over the rows of a data set, for any labels of them.

    Rows are held in an order of their own, that of a hash of their contents, so that neither the kernels nor
    what is learned from them hang on the order of the input.

    Parameters
    ----------
    candidates : list of Candidate
        The kernels, family by family.
    order : ndarray of shape (n_rows,)
        Place in the input of each row held.
    preparation : Preparation
        How rows were prepared.
    reference : Reference
        What new rows are held against.
    rows : {ndarray, csr matrix} of shape (n_rows, n_features)
        The prepared rows, as they are held.
    graph : Graph
        The neighbour graph of the fewest neighbours.

    See Also
    --------
    build_bank : Build one.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto import build_bank
    >>> bank = build_bank(np.random.default_rng(0).normal(size=(60, 3)), n_classes=2)
    >>> sorted({candidate.family for candidate in bank.candidates})
    ['graph', 'lap', 'pca', 'sup']
    """

    candidates: list
    order: np.ndarray
    preparation: Preparation
    reference: Reference
    rows: Any
    graph: Graph


def build_bank(
    X: Any,
    n_classes: int,
    *,
    effort: str = "fast",
    preparation: str = "auto",
    random_state: Any = None,
    device: str | None = None,
    verbose: int = 0,
) -> KernelBank:
    """Build the kernels of a data set; no label takes part.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Rows, float32 or float64.
    n_classes : int
        Number of classes to come: clusterings have so many clusters, and several times as many.
    effort : {"fast", "full"}, default="fast"
        "full" takes more landmarks, eigenvectors and components.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        See :func:`learn_preparation`.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, and the starts of clusterings.
    device : str or None, default=None
        Where neighbours are sought, always exactly, and where kernels with the landmarks are computed and
        held; ``None`` is NumPy.
    verbose : int, default=0
        1 shows the stages.

    Returns
    -------
    KernelBank
        The kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto import build_bank
    >>> bank = build_bank(np.random.default_rng(0).normal(size=(60, 3)), n_classes=2)
    >>> bank.candidates[0].name
    'linear'
    """
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X"
    )
    if effort not in SIZES or n_classes < 2:
        raise ValueError(
            f"effort is {effort!r} and n_classes {n_classes}: use 'fast' or 'full', and at least 2 classes."
        )
    X = canonical(X)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    progress = Progress("bank", verbose)
    with progress.stage("preparation"):
        keys = row_keys(X, seed)
        order = np.argsort(keys, kind="stable")
        rows = X[order]
        prepared = learn_preparation(rows, preparation)
        rows = prepared(rows)
        if X.shape[0] > MANY_ROWS:
            rows = rows.astype(np.float32, copy=False)
    with progress.stage("principal components"):
        builder = _Builder(rows, prepared, keys[order], _size_of(rows, effort), seed, device)
    candidates: list[Candidate] = []
    for name, stage in (
        ("kernels", builder.supervised),
        ("neighbours", builder.connect),
        ("deformed kernels", builder.deformed),
        ("graph spectra", partial(builder.spectral, n_classes)),
        ("clusters of components", partial(builder.principal, n_classes)),
    ):
        with progress.stage(name):
            candidates += stage() or ()
    return KernelBank(
        candidates, order, prepared, builder.reference, rows, builder.graphs[min(builder.graphs)]
    )


def _size_of(rows: Any, effort: str) -> Size:
    """Size by effort and number of rows, with no more landmarks than fit half the memory limit."""
    n_rows = rows.shape[0]
    size = SIZE_OF_MANY if effort == "fast" and n_rows > MANY_ROWS else SIZES[effort]
    per_landmark = dense_bytes(n_rows, len(WIDTHS) + 2, dtype=rows.dtype)  # the kernels and the distances
    most = max(int(memory_limit() / 2 / per_landmark), FEWEST_LANDMARKS)
    return replace(size, n_landmarks=min(size.n_landmarks, most))


class _Builder:
    """The stages of a bank, in the order in which they need each other."""

    def __init__(
        self,
        rows: Any,
        prepare: Preparation,
        keys: np.ndarray,
        size: Size,
        seed: int,
        device: str | None = None,
    ) -> None:
        self.rows, self.keys, self.size, self.seed = rows, keys, size, seed
        self.occupied = Columns(occupied_columns(rows))
        self.values = self.occupied.of(rows)
        self.variances, self.directions = principal_components(self.values, size.n_components)
        projection = self._projection(SEARCH_COMPONENTS) if rows.shape[0] > MANY_ROWS else None
        self.reference = Reference(
            prepare=prepare,
            landmarks=rows if rows.shape[0] <= size.n_landmarks else rows[: size.n_landmarks],  # stored once
            projection=projection,
            searched=rows if projection is None else projection.of(rows),
            n_neighbors=min(max(NEIGHBORS), rows.shape[0] - 1),
            device=device,
        )
        self.views = Views(rows, self.reference)

    def _projection(self, n_components: int) -> Projection:
        return Projection(self.directions[:, :n_components], self.occupied.columns)

    def _coordinates(
        self, values: Any, measure: Callable[[Views], Any], rotation: np.ndarray | None = None
    ) -> Coordinates:
        return Coordinates(values, ViewMap(self.reference, measure), rotation)

    def supervised(self) -> Iterator[Candidate]:
        yield candidate_of("linear", "sup", self._coordinates(self.values, self.occupied))
        between = np.sqrt(to_host(self.views.squared_distances[: self.size.n_landmarks]))
        median = float(np.median(between[np.triu_indices(len(between), 1)])) or 1.0
        kernels = {f"rbf, width {width:g}": DistanceKernel("rbf", width * median) for width in WIDTHS}
        kernels["exp(-distance)"] = DistanceKernel("laplace", median)
        for name, kernel in kernels.items():
            values = kernel(self.views)
            coordinates = self._coordinates(values, kernel, whitening_of(values[: self.size.n_landmarks]))
            if kernel == DistanceKernel("rbf", DEFORMED_WIDTH * median):
                self.ambient = coordinates
            yield candidate_of(name, "sup", coordinates)

    def connect(self) -> None:
        device = self.reference.device
        search = "exact" if self.reference.projection is None or device is not None else "cells"
        searched, n_neighbors = self.reference.searched, self.reference.n_neighbors
        found, _ = search_neighbors(searched, n_neighbors, search, False, self.seed, device)
        self.graphs = {k: join_neighbors(searched, found[:, :k]) for k in NEIGHBORS if k <= n_neighbors}
        self.graphs = self.graphs or {n_neighbors: join_neighbors(searched, found)}

    def deformed(self) -> Iterator[Candidate]:
        values = self.ambient.values
        for k, power in DEFORMATIONS:
            if k not in self.graphs:
                continue
            laplacian = self.graphs[k].laplacian("symmetric").astype(self.rows.dtype)
            spectrum, rotation = smoothness_spectrum(self.ambient, laplacian, power)
            coordinates = self._coordinates(values, self.ambient.mapping.measure, rotation)
            for penalty in GRAPH_PENALTIES:
                name = f"rbf with {penalty:g} L{'^2' if power == 2 else ''}, {k} neighbours"
                yield candidate_of(name, "lap", coordinates, 1 / (1 + penalty * spectrum))

    def spectral(self, n_classes: int) -> Iterator[Candidate]:
        for k, graph in self.graphs.items():
            spectrum, vectors = graph_spectrum(graph, self.size.n_vectors)
            vectors = _mean_of_copies(vectors, self.keys).astype(self.rows.dtype)
            measure = Interpolation(vectors, k)
            coordinates = self._coordinates(vectors, measure)
            for name, weights in spectral_filters(spectrum).items():
                yield candidate_of(f"{name}, {k} neighbours", "graph", coordinates, weights)
            for n_clusters in self._cluster_counts(n_classes):
                embed = FirstDirections(measure, whole(spectrum, n_clusters))
                name = f"{n_clusters} clusters of eigenvectors, {k} neighbours"
                yield self._common_clusters(name, "graph", embed, embed.of(vectors), n_clusters)

    def principal(self, n_classes: int) -> Iterator[Candidate]:
        coordinates = self._coordinates(self.values, self.occupied, self.directions)
        for name, weights in component_filters(self.variances).items():
            yield candidate_of(name, "pca", coordinates, weights)
        embed = self._projection(CLUSTERED_COMPONENTS)
        embedding = embed.of(self.rows)
        for n_clusters in self._cluster_counts(n_classes):
            name = f"{n_clusters} clusters of components"
            yield self._common_clusters(name, "pca", embed, embedding, n_clusters)

    def _cluster_counts(self, n_classes: int) -> list[int]:
        return cluster_counts(self.rows.shape[0], [n_classes * times for times in CLUSTERS_PER_CLASS])

    def _common_clusters(
        self,
        name: str,
        family: str,
        embed: Callable[[Views], np.ndarray],
        embedding: np.ndarray,
        n_clusters: int,
    ) -> Candidate:
        """Rows are as alike as the share of clusterings that put them together."""
        clusterings = find_clusterings(embedding, n_clusters, self.size.n_runs, self.seed, embed)
        return candidate_of(name, family, self._coordinates(clusterings.indicators(embedding), clusterings))


def spectral_filters(spectrum: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of the eigenvectors of a graph in each kernel."""
    filters = {f"heat, time {t:g}": np.exp(-t * spectrum) for t in HEAT_TIMES}
    filters |= {f"resolvent, {e:g}": e / (spectrum + e) for e in RESOLVENTS}
    place = np.arange(len(spectrum))
    return filters | {f"{m} eigenvectors": place < whole(spectrum, m) for m in N_EIGENVECTORS}


def component_filters(variances: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of principal components in each kernel.

    Components have their variance already: weights of 1 keep it, others change it.
    """
    place, mean_variance = np.arange(len(variances)), variances.mean() or 1.0
    filters = {f"{m} components": place < m for m in N_COMPONENTS}
    filters |= {"squared spectrum": variances}
    return filters | {f"whitened, {d:g}": 1 / (variances + d * mean_variance) for d in WHITENINGS}


def candidate_of(name: str, family: str, coordinates: Coordinates, weights: Any = None) -> Candidate:
    """A kernel of weighted coordinates, scaled to a mean of 1 on its diagonal."""
    weights = np.ones(coordinates.n_coordinates) if weights is None else np.asarray(weights, dtype=float)
    return Candidate(name, family, FilteredSpace(coordinates, weights).scaled())


def _mean_of_copies(vectors: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Give equal rows, which lie side by side, the mean of their values."""
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    counts = np.diff(np.r_[starts, len(keys)])
    return np.repeat(np.add.reduceat(vectors, starts, axis=0) / counts[:, None], counts, axis=0)
