"""Build a bank of kernels: prepare samples, connect them, and take the kernels of all families.

Here a graph of nearest neighbors connects the samples, and the values of all are held; where anchors connect
them, :mod:`weakly.auto._anchor_kernels` takes this part. Then the labels are posed to the bank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state, gen_batches

from weakly._compat import openmp_after_fork
from weakly.auto._anchor_kernels import AnchorSamples
from weakly.auto._choice import Problem
from weakly.auto._kernels import (
    SEARCH_COMPONENTS,
    WIDTHS,
    Basis,
    Candidate,
    ConnectedSamples,
    Families,
    KernelBank,
    Measure,
    Size,
)
from weakly.auto._spectra import Clusterings, graph_spectrum
from weakly.auto._views import Carried, Reference, TrainingViews, ViewMap, learn_preparation
from weakly.estimators._base import Progress
from weakly.graphs import Graph
from weakly.graphs._graph import join_neighbors
from weakly.graphs._neighbors import search_neighbors
from weakly.rows._arrays import (
    canonical,
    dense_bytes,
    dtype_of,
    is_tensor,
    memory_limit,
    namespace,
    squarable,
    to_host,
)
from weakly.rows._blocks import BLOCK_ROWS, ArrayBlocks, FirstKeys, RowBlocks, RowKeys, first_keys
from weakly.spaces import Coordinates

SIZES = {"fast": Size(1000, 100, 300, 10), "full": Size(2000, 200, 500, 10)}
SIZE_OF_MANY = Size(500, 50, 100, 5)  # in "fast", beyond so many samples:
MANY_ROWS = 10_000
FEWEST_LANDMARKS = 50
SAMPLE_ROWS = 20_000  # that preparation, components, anchors and clusterings are learned from
SAMPLE_BYTES = 2**28  # of these at most, where samples are long
FEWEST_ROWS = 3000  # however long they are
NEIGHBORS = (5, 10)
DEFORMATIONS = ((5, 1), (10, 1), (10, 2))  # neighbors, power of the Laplacian


@dataclass(frozen=True, eq=False)
class NeighborLinks:
    """From new samples to their nearest training samples.

    ``searched`` holds the training samples, in the coordinates in which neighbors are sought.
    """

    searched: Any
    n_neighbors: int

    @property
    def n_targets(self) -> int:
        return self.searched.shape[0]

    @cached_property
    def index(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=self.n_neighbors).fit(self.searched)

    def __getstate__(self) -> dict[str, Any]:
        # The index of a search is a second copy of the samples and is rebuilt on demand: it does not travel.
        return {name: value for name, value in vars(self).items() if name != "index"}

    def nearest(self, sought: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nearest training samples and the inverse squares of their distances.

        A copy of a training sample stands for itself: others beside it have weight 0.
        """
        with openmp_after_fork():
            nearest = self.index.kneighbors(sought, return_distance=False)
        # The search's own distances of copies are 0 up to rounding only.
        squared = np.empty(nearest.shape)
        for place, column in enumerate(nearest.T):
            squared[:, place] = paired_euclidean_distances(sought, self.searched[column]) ** 2
        order = np.argsort(squared, axis=1, kind="stable")
        nearest, squared = np.take_along_axis(nearest, order, 1), np.take_along_axis(squared, order, 1)
        copies = squared == 0
        weights = np.where(copies.any(axis=1)[:, None], copies, 1 / np.where(copies, 1, squared))
        return nearest, weights

    def fewer(self, weights: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Weights of the first neighbors, of sum 1."""
        weights = weights[:, :n_neighbors]
        return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class NeighborBank(KernelBank):
    """Kernels with their values at all samples.

    ``rows`` are the prepared samples as they are held, ``order`` has the place of each in the input, and
    ``graph`` is that of the fewest neighbors.
    """

    order: np.ndarray
    rows: Any
    graph: Graph

    @cached_property
    def places(self) -> np.ndarray:
        """Where each sample of the input is held."""
        return np.argsort(self.order)

    def at(self, blocks: RowBlocks, numbers: np.ndarray) -> tuple[list[Candidate], np.ndarray]:
        """The kernels as they are, and where these samples are held."""
        return self.candidates, self.places[numbers]

    def scored(self, blocks: RowBlocks, blend: Any) -> tuple[Any, np.ndarray]:
        """A blend with its scores, and the mean products of all pairs of its columns."""
        scores = blend.scores()
        return replace(blend, known=scores), scores.T @ scores / len(scores)

    def decisions(self, blocks: RowBlocks, blend: Any) -> RowBlocks:
        """Values of a blend for all samples, from the values held."""
        return blocks.of(blend.scores()[self.places].astype(blocks.dtype))


class NeighborSamples:
    """The samples of a :class:`NeighborBank` while it is built, from a basis with all of them.

    ``found`` has their keys and places in the input; with ``approximate`` neighbors are sought among few
    components, in cells.
    """

    connection = "neighbours"
    deformations = DEFORMATIONS

    def __init__(self, basis: Basis, found: FirstKeys, approximate: bool) -> None:
        self.basis, self.found = basis, found
        projection = basis.projection(SEARCH_COMPONENTS) if approximate else None
        searched = basis.rows if projection is None else projection.of(basis.rows)
        links = NeighborLinks(searched, min(max(NEIGHBORS), self.n_rows - 1))
        self.reference = Reference(basis.prepare, basis.landmarks, projection, links, basis.device)
        self.views = self.first(self.n_rows)
        self._known: dict[int, tuple[Measure, Any]] = {}
        self.neighbors = tuple(k for k in NEIGHBORS if k <= links.n_neighbors) or (links.n_neighbors,)
        search = "cells" if approximate and basis.device is None else "exact"
        nearest, _ = search_neighbors(searched, links.n_neighbors, search, False, basis.seed, basis.device)
        self.graphs = {k: join_neighbors(searched, nearest[:, :k]) for k in self.neighbors}

    @property
    def n_rows(self) -> int:
        return self.basis.rows.shape[0]

    def first(self, n_rows: int) -> TrainingViews:
        """Views of the first samples."""
        return TrainingViews(self.basis.first(n_rows), self.reference)

    def _values(self, measure: Measure) -> Any:
        """Values of all samples, which several coordinates may share."""
        if id(measure) not in self._known:
            self._known[id(measure)] = (measure, measure(self.views))
        return self._known[id(measure)][1]

    def among(self, measure: Measure) -> Any:
        """Values of the landmarks, which come first."""
        return self._values(measure)[: self.reference.landmarks.shape[0]]

    def _coordinates(self, measure: Measure, rotation: np.ndarray | None = None) -> Coordinates:
        return Coordinates(self._values(measure), ViewMap(self.reference, measure), rotation)

    def measure(self, parts: dict[str, tuple[Measure, Any]], deformed: str) -> dict[str, Coordinates]:
        """Coordinates of measures and rotations, one of which will be deformed."""
        found = {name: self._coordinates(*part) for name, part in parts.items()}
        self.ambient = found[deformed]
        return found

    def smoothness(self, n_neighbors: int, power: int) -> np.ndarray:
        """``R' L^p R`` of the coordinates ``R = C W`` that are deformed."""
        laplacian = self.graphs[n_neighbors].laplacian("symmetric").astype(self.basis.rows.dtype)
        whitening = self.ambient.rotation
        return whitening.T @ _smoothness(self.ambient.values, laplacian, power) @ whitening

    def turned(self, vectors: np.ndarray) -> Coordinates:
        """Combinations of the coordinates that are deformed."""
        return replace(self.ambient, rotation=self.ambient.rotation @ vectors)

    def eigenvectors(self, n_neighbors: int, n_vectors: int) -> tuple[np.ndarray, Measure, Coordinates]:
        """Lowest eigenvalues of a Laplacian, and the eigenvectors as a measure and as coordinates."""
        spectrum, vectors = graph_spectrum(self.graphs[n_neighbors], n_vectors)
        vectors = _mean_of_copies(vectors, self.found.keys).astype(self.basis.rows.dtype)
        measure = Carried(vectors, n_neighbors)
        return spectrum, measure, self._coordinates(measure)

    def clustered(self, clusterings: list[Clusterings]) -> list[Coordinates]:
        """Indicators of clusters as coordinates."""
        return [self._coordinates(part) for part in clusterings]

    def bank(self, candidates: list[Candidate]) -> NeighborBank:
        """The kernels with what predictions and methods on graphs need."""
        basis, graph = self.basis, self.graphs[min(self.graphs)]
        return NeighborBank(
            candidates, basis.prepare, self.reference, basis.seed, self.found.rows, basis.rows, graph
        )


def _smoothness(values: Any, laplacian: sp.csr_array, power: int) -> np.ndarray:
    """``C' L^p C`` of the values of all samples; on their device where they are a tensor."""
    if is_tensor(values):
        smoothed = namespace(values).operator(laplacian, dtype_of(values)) @ values
        return to_host(((values if power == 1 else smoothed).T @ smoothed).double())
    smoothness = np.zeros((values.shape[1], values.shape[1]))
    smoothed = laplacian @ values if power == 2 else None
    for block in gen_batches(len(values), BLOCK_ROWS):
        left = values[block] if smoothed is None else smoothed[block]
        right = laplacian[block] @ values if smoothed is None else smoothed[block]
        smoothness += left.T @ right
    return smoothness


def _mean_of_copies(vectors: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Give equal samples, which lie side by side, the mean of their values."""
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    counts = np.diff(np.r_[starts, len(keys)])
    return np.repeat(np.add.reduceat(vectors, starts, axis=0) / counts[:, None], counts, axis=0)


def build_bank(
    X: Any,
    n_classes: int,
    *,
    graph: str = "knn",
    effort: str = "fast",
    preparation: str = "auto",
    random_state: Any = None,
    device: str | None = None,
    verbose: int = 0,
) -> KernelBank:
    """Build the kernels of a data set; no label takes part.

    Parameters
    ----------
    X : {ndarray, csr matrix, RowBlocks} of shape (n_rows, n_features)
        Samples, float32 or float64.
    n_classes : int
        Number of classes to come: clusterings have so many clusters, and several times as many.
    graph : {"knn", "anchor"}, default="knn"
        "knn" connects samples with their nearest neighbors and holds the values of all kernels. "anchor"
        connects them through anchors and reads them three times; preparation, components and anchors are
        learned from the first 20,000 samples in an order of their contents.
    effort : {"fast", "full"}, default="fast"
        "full" takes more landmarks, eigenvectors and components.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        See :func:`learn_preparation`.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, and the starts of clusterings.
    device : str or None, default=None
        Where neighbors are sought, always exactly, and where kernels with the landmarks are computed;
        ``None`` is NumPy.
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
    if effort not in SIZES or graph not in ("knn", "anchor") or n_classes < 2:
        raise ValueError(
            f"effort is {effort!r}, graph {graph!r} and n_classes {n_classes}: use 'fast' or 'full', 'knn' "
            "or 'anchor', and at least 2 classes."
        )
    blocks = _blocks_of(X)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    progress = Progress("bank", verbose)
    with progress.stage("preparation"):
        found = first_keys(blocks, blocks.shape[0] if graph == "knn" else _sample_size(blocks), seed)
        rows = canonical(blocks.take(found.rows))
        squarable(rows)
        prepared = learn_preparation(rows, preparation)
        rows = prepared(rows)
    is_large = blocks.shape[0] > MANY_ROWS
    size = SIZE_OF_MANY if is_large and effort == "fast" else SIZES[effort]
    if graph == "knn":
        rows = rows.astype(np.float32, copy=False) if is_large else rows
        size = _affordable(size, rows)
    with progress.stage("principal components"):
        basis = Basis(rows, prepared, size, seed, device)
    with progress.stage("neighbours" if graph == "knn" else "anchors"):
        samples: ConnectedSamples = (
            NeighborSamples(basis, found, is_large) if graph == "knn" else AnchorSamples(basis, blocks)
        )
    return samples.bank(_candidates(Families(samples, basis, n_classes), progress))


def _candidates(families: Families, progress: Progress) -> list[Candidate]:
    found: list[Candidate] = []
    for name, stage in (
        ("kernels", families.supervised),
        ("deformed kernels", families.deformed),
        ("graph spectra and clusters", families.spectral_and_principal),
    ):
        with progress.stage(name):
            found += stage()
    return found


def _blocks_of(X: Any) -> RowBlocks:
    """Blocks as they are; of an array, which is checked, those in memory."""
    if hasattr(X, "reduce"):
        return X
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X"
    )
    return ArrayBlocks(canonical(X))


def _sample_size(blocks: RowBlocks) -> int:
    per_row = blocks.shape[1] * blocks.dtype.itemsize
    return min(SAMPLE_ROWS, max(FEWEST_ROWS, SAMPLE_BYTES // per_row))


def _affordable(size: Size, rows: Any) -> Size:
    """No more landmarks than fit half the memory limit, where the values of all samples are held."""
    per_landmark = dense_bytes(rows.shape[0], len(WIDTHS) + 2, dtype=rows.dtype)  # kernels and distances
    most = max(int(memory_limit() / 2 / per_landmark), FEWEST_LANDMARKS)
    return replace(size, n_landmarks=min(size.n_landmarks, most))


@dataclass(frozen=True, eq=False)
class Posed:
    """Labels among the samples of a bank.

    The candidates have the values of the labeled samples, if not of all, and rows of the problem are places
    in them. ``columns`` leads from the classes of the problem to the columns of decisions, a line per class,
    and ``public`` is the sorted class of each.
    """

    candidates: list[Candidate]
    problem: Problem
    columns: np.ndarray
    public: np.ndarray


def pose(
    labels: Any, blocks: RowBlocks, bank: KernelBank, shares: np.ndarray | None, most_labels: int
) -> Posed:
    """Take the labels, at most so many, in an order of their own.

    Labeled samples are in the order of the bank and classes in that of their first sample, so that neither
    the order of the input nor any name of a class plays a part.
    """
    order = np.argsort(blocks.take(labels.labeled, RowKeys(bank.seed)), kind="stable")
    codes, n_classes = labels.labeled_codes[order], labels.n_classes
    public = np.argsort(np.unique(codes, return_index=True)[1])
    given = np.full(n_classes, 1 / n_classes) if shares is None else shares[public]
    problem = Problem(np.arange(len(codes)), np.argsort(public)[codes], given, shares is not None)
    problem = problem.first(most_labels)
    candidates, places = bank.at(blocks, labels.labeled[order][problem.rows])
    columns = 2 / np.sqrt(n_classes) * np.eye(n_classes)[public]  # 2 between the right class and the others
    if n_classes == 2:
        columns = (columns[:, 1:] - columns[:, :1]) / 2
    return Posed(candidates, replace(problem, rows=places), columns, public)
