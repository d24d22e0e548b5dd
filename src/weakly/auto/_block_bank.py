"""The bank of kernels over blocks of rows, for rows that are too many for a value of each, or not in memory.

The families are those of :mod:`weakly.auto._bank`. A kernel is held as a function of rows, the means over all
rows that centring and scaling take, and nothing else; its values are computed where they are asked for. The
neighbour graph is an anchor graph, whose spectrum is that of a small matrix ([liu2010]).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.utils import check_random_state

from weakly.auto._bank import (
    CLUSTERED_COMPONENTS,
    CLUSTERS_PER_CLASS,
    DEFORMED_WIDTH,
    GRAPH_PENALTIES,
    MANY_ROWS,
    SEARCH_COMPONENTS,
    SIZE_OF_MANY,
    SIZES,
    WIDTHS,
    Candidate,
    candidate_of,
    component_filters,
    spectral_filters,
)
from weakly.auto._block_spectra import (
    AmbientSums,
    AnchorAffinity,
    AnchorSums,
    ClusterSums,
    CoordinateSums,
    OverViews,
    first_rows,
)
from weakly.auto._prepare import Preparation, learn_preparation
from weakly.auto._spectra import (
    DistanceKernel,
    cluster_counts,
    find_clusterings,
    principal_components,
    whitening_of,
    whole,
)
from weakly.auto._views import AnchorValues, Columns, FirstDirections, Projection, Reference, ViewMap, Views
from weakly.estimators._progress import Progress
from weakly.graphs._anchor_map import learn_anchors
from weakly.rows._blocks import ArrayBlocks, RowBlocks
from weakly.rows._columns import occupied_columns
from weakly.rows._device import to_host
from weakly.rows._magnitude import squarable
from weakly.spaces import Coordinates

N_ANCHORS = 2000
ROWS_PER_ANCHOR = 3  # at least, on average
SAMPLE_ROWS = 20_000  # that preparation, components, anchors and clusterings are learned from
SAMPLE_BYTES = 2**28  # of these at most, where rows are long
FEWEST_ROWS = 3000  # however long they are
ANCHOR_NEIGHBORS = (3, 5)
ANCHOR_DEFORMATIONS = ((3, 1), (5, 1), (5, 2))  # anchors of a row, power of the Laplacian


@dataclass(frozen=True, eq=False)
class BlockBank:
    """Kernels over rows in blocks, for any labels of them.

    Parameters
    ----------
    candidates : list of Candidate
        The kernels, family by family; their coordinates hold no values but of a single row.
    preparation : Preparation
        How rows were prepared.
    reference : Reference
        What rows are held against.
    seed : int
        Of the keys by which rows are ordered.

    See Also
    --------
    build_block_bank : Build one.
    KernelBank : The same with the values of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.auto import build_block_bank
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> bank = build_block_bank(ArrayBlocks(X, 20), n_classes=2)
    >>> bank.at(X[:5])[0].space.gram(slice(None)).shape
    (5, 5)
    """

    candidates: list
    preparation: Preparation
    reference: Reference
    seed: int

    def at(self, rows: Any) -> list[Candidate]:
        """The kernels with the values of some rows, which all their methods then count from 0."""
        views = self.reference.views(rows)
        values: dict[int, Any] = {}
        known: dict[int, Coordinates] = {}
        for candidate in self.candidates:
            where = candidate.space.coordinates
            measure = where.mapping.measure
            if id(measure) not in values:
                values[id(measure)] = measure(views)
            known.setdefault(id(where), replace(where, values=values[id(measure)]))
        return [
            replace(
                candidate,
                space=replace(candidate.space, coordinates=known[id(candidate.space.coordinates)]),
            )
            for candidate in self.candidates
        ]


def build_block_bank(
    blocks: RowBlocks,
    n_classes: int,
    *,
    preparation: str = "auto",
    random_state: Any = None,
    device: str | None = None,
    verbose: int = 0,
) -> BlockBank:
    """Build the kernels of rows in blocks, in three passes over them; no label takes part.

    Parameters
    ----------
    blocks : RowBlocks
        Rows, dense or sparse, float32 or float64; the precision of the kernels is theirs.
    n_classes : int
        Number of classes to come: clusterings have so many clusters, and several times as many.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        See :func:`learn_preparation`. It is learned, like components and anchors, from the first 20,000 rows
        in an order of their contents.
    random_state : int, RandomState or None, default=None
        Draws that order, and the starts of clusterings.
    device : str or None, default=None
        Where the kernels with the landmarks are computed; ``None`` is NumPy.
    verbose : int, default=0
        1 shows the stages.

    Returns
    -------
    BlockBank
        The kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.auto import build_block_bank
    >>> blocks = ArrayBlocks(np.random.default_rng(0).normal(size=(60, 3)), 20)
    >>> build_block_bank(blocks, n_classes=2).candidates[0].name
    'linear'
    """
    if n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: there must be at least 2 classes.")
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    progress = Progress("bank", verbose)
    with progress.stage("a sample of rows"):
        sample = first_rows(blocks, _sample_size(blocks), seed)
        squarable(sample)
        prepared = learn_preparation(sample, preparation)
    with progress.stage("components and anchors"):
        builder = _Builder(blocks, prepared(sample), prepared, seed, device)
    with progress.stage("sums over rows"):
        builder.sum_up()
    candidates: list[Candidate] = []
    for name, stage in (
        ("kernels", builder.supervised),
        ("deformed kernels", builder.deformed),
        ("spectra and clusters", partial(builder.spectral_and_principal, n_classes)),
    ):
        with progress.stage(name):
            candidates += stage()
    return BlockBank(candidates, prepared, builder.reference, seed)


def _sample_size(blocks: RowBlocks) -> int:
    per_row = blocks.shape[1] * blocks.dtype.itemsize
    return min(SAMPLE_ROWS, max(FEWEST_ROWS, SAMPLE_BYTES // per_row))


class _Builder:
    """The stages of a bank, in the order in which they need each other."""

    def __init__(
        self, blocks: RowBlocks, sample: Any, prepare: Preparation, seed: int, device: str | None
    ) -> None:
        self.blocks, self.seed, self.n_rows = blocks, seed, blocks.shape[0]
        self.size = SIZE_OF_MANY if self.n_rows > MANY_ROWS else SIZES["fast"]
        self.occupied = Columns(occupied_columns(sample))
        found = principal_components(self.occupied.of(sample), self.size.n_components)
        self.variances, self.directions = found
        projection = self._projection(SEARCH_COMPONENTS)
        searched = projection.of(sample)
        n_anchors = max(2, min(N_ANCHORS, self.n_rows // ROWS_PER_ANCHOR))
        self.neighbors = tuple(k for k in ANCHOR_NEIGHBORS if k <= n_anchors) or (n_anchors,)
        anchors = learn_anchors(
            ArrayBlocks(searched),
            n_anchors=n_anchors,
            n_neighbors=max(self.neighbors),
            n_directions=None,
            random_state=seed,
        )
        landmarks = sample[: self.size.n_landmarks]
        self.reference = Reference(prepare, landmarks, projection, None, 0, anchors, device)
        self.sample = Views(sample, self.reference)
        self._place_kernels()

    def _projection(self, n_components: int) -> Projection:
        return Projection(self.directions[:, :n_components], self.occupied.columns)

    def _place_kernels(self) -> None:
        """Kernels with the landmarks, whose values among themselves fix widths and whitenings."""
        among = Views(self.reference.landmarks, self.reference)
        distances = np.sqrt(to_host(among.squared_distances))
        median = float(np.median(distances[np.triu_indices(len(distances), 1)])) or 1.0
        kernels = {f"rbf, width {width:g}": DistanceKernel("rbf", width * median) for width in WIDTHS}
        kernels["exp(-distance)"] = DistanceKernel("laplace", median)
        self.ambient = f"rbf, width {DEFORMED_WIDTH:g}"
        self.kernels = {name: (kernel, whitening_of(kernel(among))) for name, kernel in kernels.items()}

    def _sums(self, measures: list) -> tuple:
        return self.blocks.reduce(OverViews(self.reference, measures))

    def sum_up(self) -> None:
        """All sums that do not hang on others, in one pass."""
        plain = {"linear": CoordinateSums(Columns(None))}  # others than the sample may have more features
        plain |= {name: CoordinateSums(*kernel) for name, kernel in self.kernels.items()}
        plain |= {"components": CoordinateSums(self.occupied, self.directions)}
        ambient = AmbientSums(*self.kernels[self.ambient], self.neighbors)
        del plain[self.ambient]
        graphs = [AnchorSums(k) for k in self.neighbors]
        *found, self.ambient_sums = self._sums([*plain.values(), *graphs, ambient])
        self.coordinates = {
            name: self._coordinates(part.measure, part.moments(sums, self.n_rows), part.rotation)
            for (name, part), sums in zip(plain.items(), found, strict=False)
        }
        self.graphs = {
            k: AnchorAffinity(*sums, self.n_rows)
            for k, sums in zip(self.neighbors, found[len(plain) :], strict=True)
        }
        values, gram = self.ambient_sums[:2]
        mean = values / self.n_rows
        self.covariance = gram / self.n_rows - np.outer(mean @ ambient.whitening, mean @ ambient.whitening)
        moments = (mean, np.maximum(np.diag(self.covariance), 0))
        self.coordinates[self.ambient] = self._coordinates(ambient.measure, moments, ambient.whitening)

    def _coordinates(
        self,
        measure: Callable[[Views], Any],
        moments: tuple[np.ndarray, np.ndarray],
        rotation: np.ndarray | None = None,
    ) -> Coordinates:
        values = measure(Views(self.sample.rows[:1], self.reference))
        return Coordinates(values, ViewMap(self.reference, measure), rotation, moments)

    def supervised(self) -> Iterator[Candidate]:
        for name in ("linear", *self.kernels):
            yield candidate_of(name, "sup", self.coordinates[name])

    def deformed(self) -> Iterator[Candidate]:
        measure, whitening = self.kernels[self.ambient]
        _, gram, *carried = self.ambient_sums
        with_graph = dict(zip(self.neighbors, carried, strict=True))
        for k, power in ANCHOR_DEFORMATIONS:
            if k not in self.graphs:
                continue
            smoothness = self.graphs[k].smoothness(gram, with_graph[k], power)
            scale = np.trace(gram) / self.n_rows  # the mean diagonal of the kernel
            spectrum, vectors = sla.eigh(smoothness / scale, check_finite=False)
            spectrum = np.maximum(spectrum, 0)
            squares = np.einsum("ij,ij->j", vectors, self.covariance @ vectors)
            moments = (self.coordinates[self.ambient].mean, np.maximum(squares, 0))
            coordinates = self._coordinates(measure, moments, whitening @ vectors)
            for penalty in GRAPH_PENALTIES:
                name = f"rbf with {penalty:g} L{'^2' if power == 2 else ''}, {k} anchors"
                yield candidate_of(name, "lap", coordinates, 1 / (1 + penalty * spectrum))

    def spectral_and_principal(self, n_classes: int) -> Iterator[Candidate]:
        """Plain weights of eigenvectors and components; then the clusters of both, which take a pass."""
        clusterings: list = []
        counts = cluster_counts(self.n_rows, [n_classes * times for times in CLUSTERS_PER_CLASS])
        for k, graph in self.graphs.items():
            spectrum, basis = graph.spectrum(self.size.n_vectors)
            measure = AnchorValues(basis.astype(self.reference.landmarks.dtype), k)
            coordinates = self._coordinates(measure, graph.moments(basis))
            for name, weights in spectral_filters(spectrum).items():
                yield candidate_of(f"{name}, {k} anchors", "graph", coordinates, weights)
            vectors = measure(self.sample)
            for n_clusters in counts:
                embed = FirstDirections(measure, whole(spectrum, n_clusters))
                name = f"{n_clusters} clusters of eigenvectors, {k} anchors"
                clusterings.append((name, "graph", self._clusterings(embed, vectors, n_clusters)))
        for name, weights in component_filters(self.variances).items():
            yield candidate_of(name, "pca", self.coordinates["components"], weights)
        embed = self._projection(CLUSTERED_COMPONENTS)
        for n_clusters in counts:
            found = self._clusterings(embed, self.sample.rows, n_clusters)
            clusterings.append((f"{n_clusters} clusters of components", "pca", found))
        sums = self._sums([part for _, _, part in clusterings])
        for (name, family, part), sizes in zip(clusterings, sums, strict=True):
            moments = part.moments(sizes, self.n_rows)
            yield candidate_of(name, family, self._coordinates(part.clusterings, moments))

    def _clusterings(self, embed: Any, values: Any, n_clusters: int) -> ClusterSums:
        """Clusterings of the first rows of the sample."""
        embedding = embed.of(values)
        return ClusterSums(find_clusterings(embedding, n_clusters, self.size.n_runs, self.seed, embed))
