"""Families of kernels that never saw a label: every assumption about the unlabeled samples as a kernel.

========  =====================================================  ==========================================
family    assumption                                             kernels
========  =====================================================  ==========================================
``sup``   none: labels alone decide                              linear; RBF of three widths; ``exp(-d)``
``lap``   smooth, and smooth along the graph too                 ``(K^-1 + g L^p)^-1``
``graph`` classes are pieces of the graph                        functions of the spectrum; common clusters
``pca``   classes lie along the directions of largest variance   components; common clusters
========  =====================================================  ==========================================

All are :class:`weakly.spaces.FilteredSpace`: weights on coordinates that they share, centered over all
samples, with a mean of 1 on the diagonal. The families are written once, against :class:`ConnectedSamples`:
samples that a graph connects, be it one of neighbors or one of anchors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla

from weakly.auto._spectra import (
    Clusterings,
    DistanceKernel,
    cluster_counts,
    find_clusterings,
    principal_components,
    whitening_of,
    whole,
)
from weakly.auto._views import Columns, FirstDirections, Preparation, Projection, Reference, Views
from weakly.rows._arrays import occupied_columns, to_host
from weakly.rows._blocks import RowBlocks
from weakly.spaces import Coordinates, FilteredSpace

WIDTHS = (0.35, 0.7, 1.4)  # of the RBF kernels, in median distances
DEFORMED = "rbf, width 0.7"
GRAPH_PENALTIES = (0.1, 1.0, 10.0, 100.0)
HEAT_TIMES = (3.0, 30.0, 300.0)
RESOLVENTS = (0.01, 0.001)
N_EIGENVECTORS = (2, 3, 5, 10, 20, 40)
N_COMPONENTS = (1, 2, 4, 8, 16)
WHITENINGS = (0.1, 1.0)
CLUSTERS_PER_CLASS = (1, 3, 10)
CLUSTERED_COMPONENTS = 30
KMEANS_ROWS = 3000  # that centers are fitted to
SEARCH_COMPONENTS = 50  # in which neighbors are sought among many samples

Measure = Callable[[Views], Any]


@dataclass(frozen=True)
class Size:
    """How large a bank is: its landmarks, eigenvectors of a graph, components, and clusterings of each kind.

    With as many samples as landmarks or fewer the kernels are exact.
    """

    n_landmarks: int
    n_vectors: int
    n_components: int
    n_runs: int


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
    """Kernels over the samples of a data set, for any labels of them.

    Samples are taken in an order of their own, that of a hash of their contents, so that neither the kernels
    nor what is learned from them depend on the order of the input.

    Parameters
    ----------
    candidates : list of Candidate
        The kernels, family by family.
    preparation : Preparation
        How samples were prepared.
    reference : Reference
        What new samples are compared with.
    seed : int
        Of the keys by which samples are ordered.

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

    candidates: list[Candidate]
    preparation: Preparation
    reference: Reference
    seed: int

    def at(self, blocks: RowBlocks, numbers: np.ndarray) -> tuple[list[Candidate], np.ndarray]:
        """The kernels with values of these samples at least, and the places of the samples in them."""
        raise NotImplementedError

    def scored(self, blocks: RowBlocks, blend: Any) -> tuple[Any, np.ndarray]:
        """A blend with its scores if they are held, and the mean products of all pairs of its columns."""
        raise NotImplementedError

    def decisions(self, blocks: RowBlocks, blend: Any) -> RowBlocks:
        """Values of a blend for all samples, in the order and the precision of the input."""
        raise NotImplementedError


class Basis:
    """What is learned from samples before they are connected: features in use and principal components.

    ``rows`` are prepared samples, in the order of their keys: all, or the first ones. The seed is that of the
    keys and of clusterings. Kernels with the landmarks are computed on the device; ``None`` is NumPy.
    """

    def __init__(self, rows: Any, prepare: Preparation, size: Size, seed: int, device: str | None) -> None:
        self.rows, self.prepare, self.size = rows, prepare, size
        self.seed, self.device = seed, device
        self.occupied = Columns(occupied_columns(rows))
        self.variances, self.directions = principal_components(self.occupied.of(rows), size.n_components)

    @property
    def landmarks(self) -> Any:
        """The samples that kernels are taken with."""
        return self.first(self.size.n_landmarks)

    def first(self, n_rows: int) -> Any:
        """The first samples; all of them are not copied."""
        return self.rows if self.rows.shape[0] <= n_rows else self.rows[:n_rows]

    def projection(self, n_components: int) -> Projection:
        """From samples to their first components."""
        return Projection(self.directions[:, :n_components], self.occupied.columns)


class ConnectedSamples(Protocol):
    """Samples and the graphs that connect them, as the families of kernels ask for them.

    ``connection`` is what a sample is connected to, ``neighbors`` how many of these in each graph,
    ``deformations`` the graphs and powers of their Laplacians that deform a kernel.
    """

    connection: str
    neighbors: tuple[int, ...]
    deformations: tuple[tuple[int, int], ...]

    @property
    def n_rows(self) -> int: ...
    def first(self, n_rows: int) -> Views: ...
    def among(self, measure: Measure) -> Any: ...
    def measure(self, parts: dict[str, tuple[Measure, Any]], deformed: str) -> dict[str, Coordinates]: ...
    def smoothness(self, n_neighbors: int, power: int) -> np.ndarray: ...
    def turned(self, vectors: np.ndarray) -> Coordinates: ...
    def eigenvectors(self, n_neighbors: int, n_vectors: int) -> tuple[np.ndarray, Measure, Coordinates]: ...
    def clustered(self, clusterings: list[Clusterings]) -> list[Coordinates]: ...
    def bank(self, candidates: list[Candidate]) -> KernelBank: ...


class Families:
    """The kernels of all families, in the order in which they need each other.

    Clusterings have as many clusters as there are classes, and several times as many.
    """

    def __init__(self, samples: ConnectedSamples, basis: Basis, n_classes: int) -> None:
        self.samples, self.basis = samples, basis
        self.views = samples.first(KMEANS_ROWS)
        self.counts = cluster_counts(
            self.views.rows.shape[0], [n_classes * times for times in CLUSTERS_PER_CLASS]
        )

    def supervised(self) -> Iterator[Candidate]:
        """Kernels of the features and of the distances to the landmarks."""
        samples, basis = self.samples, self.basis
        distances = np.sqrt(to_host(samples.among(squared_distances)))
        median = float(np.median(distances[np.triu_indices(len(distances), 1)])) or 1.0
        kernels = {f"rbf, width {width:g}": DistanceKernel("rbf", width * median) for width in WIDTHS}
        kernels["exp(-distance)"] = DistanceKernel("laplace", median)
        # Where the basis has seen some of the samples only, others may have more features.
        is_whole = basis.rows.shape[0] == samples.n_rows
        parts: dict[str, tuple] = {"linear": (basis.occupied if is_whole else Columns(None), None)}
        parts |= {name: (kernel, whitening_of(samples.among(kernel))) for name, kernel in kernels.items()}
        parts |= {"components": (basis.occupied, basis.directions)}
        self.coordinates = samples.measure(parts, DEFORMED)
        for name in ("linear", *kernels):
            yield candidate_of(name, "sup", self.coordinates[name])

    def deformed(self) -> Iterator[Candidate]:
        """A kernel of distances, deformed by the graphs.

        With ``R`` the coordinates of the kernel, scaled so that ``R R'`` has a mean of 1 on its diagonal, and
        ``R' L^p R = V S V'``, the kernel ``(K^-1 + g L^p)^-1`` is ``R V (1 + g S)^-1 V' R'`` for every ``g``.
        """
        where = self.coordinates[DEFORMED]
        scale = where.mean_squares.sum() + ((where.mean @ where.rotation) ** 2).sum()  # not centered
        for k, power in self.samples.deformations:
            if k not in self.samples.neighbors:
                continue
            smoothness = self.samples.smoothness(k, power)
            spectrum, vectors = sla.eigh(smoothness / scale, check_finite=False)
            coordinates = self.samples.turned(vectors)
            for penalty in GRAPH_PENALTIES:
                name = f"rbf with {penalty:g} L{'^2' if power == 2 else ''}, {k} {self.samples.connection}"
                yield candidate_of(name, "lap", coordinates, 1 / (1 + penalty * np.maximum(spectrum, 0)))

    def spectral_and_principal(self) -> Iterator[Candidate]:
        """Weights of eigenvectors and components, and the clusters of both, which are counted at once."""
        found: list[Candidate | tuple[str, str, Clusterings]] = []
        for k in self.samples.neighbors:
            spectrum, measure, where = self.samples.eigenvectors(k, self.basis.size.n_vectors)
            suffix = f", {k} {self.samples.connection}"
            for name, weights in spectral_filters(spectrum).items():
                found.append(candidate_of(f"{name}{suffix}", "graph", where, weights))
            for n_clusters in self.counts:
                embed = FirstDirections(measure, whole(spectrum, n_clusters))
                name = f"{n_clusters} clusters of eigenvectors{suffix}"
                found.append((name, "graph", self._clusterings(embed, n_clusters)))
        for name, weights in component_filters(self.basis.variances).items():
            found.append(candidate_of(name, "pca", self.coordinates["components"], weights))
        components = self.basis.projection(CLUSTERED_COMPONENTS)
        for n_clusters in self.counts:
            name = f"{n_clusters} clusters of components"
            found.append((name, "pca", self._clusterings(components, n_clusters)))
        clustered = iter(self.samples.clustered([part[2] for part in found if isinstance(part, tuple)]))
        for part in found:
            yield candidate_of(part[0], part[1], next(clustered)) if isinstance(part, tuple) else part

    def _clusterings(self, embed: Measure, n_clusters: int) -> Clusterings:
        """Samples are as alike as the share of clusterings that put them together."""
        return find_clusterings(self.views, embed, n_clusters, self.basis.size.n_runs, self.basis.seed)


def squared_distances(views: Views) -> Any:
    """Squared distances of samples to the landmarks, as a measure."""
    return views.squared_distances


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
