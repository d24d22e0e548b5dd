"""Samples that anchors connect: kernels are functions of samples, with the sums over all that they take.

No value of all samples is ever held: values are computed where they are asked for, so that samples may be too
many for that, or live elsewhere. The graph is an anchor graph, whose spectrum is that of a small matrix
([liu2010]).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.auto._kernels import SEARCH_COMPONENTS, Basis, Candidate, KernelBank, Measure
from weakly.auto._spectra import Clusterings
from weakly.auto._views import Carried, Reference, ViewMap, Views
from weakly.graphs._anchor_map import AnchorMap, learn_anchors, weight_statistics
from weakly.rows._arrays import canonical, dtype_of, is_tensor, to_host
from weakly.rows._blocks import ArrayBlocks, RowBlocks
from weakly.rows._device import to_device
from weakly.spaces import Coordinates

N_ANCHORS = 2000
ROWS_PER_ANCHOR = 3  # at least, on average
NEIGHBORS = (3, 5)
DEFORMATIONS = ((3, 1), (5, 1), (5, 2))  # anchors of a sample, power of the Laplacian
_LEAST_SHARE = 1e-8  # of an eigenvalue of the affinity of samples, relative to 1, that is no rounding


@dataclass(frozen=True, eq=False)
class AnchorLinks:
    """From samples, in the coordinates in which neighbors are sought, to their nearest anchors."""

    anchors: AnchorMap

    @property
    def n_targets(self) -> int:
        return self.anchors.n_anchors

    def nearest(self, sought: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors and their weights."""
        return self.anchors.nearest(sought)

    def fewer(self, weights: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Self-tuning weights of the first anchors of samples, from those of more anchors.

        Weights are proportional to ``exp(-d^2 / s^2)`` with ``s`` the distance of the last: their ratios tell
        the distances, so that one search serves several graphs.
        """
        if n_neighbors == weights.shape[1]:
            return weights
        squared = 1 + np.log(weights[:, -1:]) - np.log(weights[:, :n_neighbors])  # in those of the last
        furthest = squared[:, -1:]
        fewer = np.exp(-squared / np.where(furthest > 0, furthest, 1))
        return fewer / fewer.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class AnchorBank(KernelBank):
    """Kernels as functions of samples; their coordinates hold no values but of a single sample."""

    def at(self, blocks: RowBlocks, numbers: np.ndarray) -> tuple[list[Candidate], np.ndarray]:
        """The kernels with the values of these samples, which count from 0."""
        views = self.reference.views(canonical(blocks.take(numbers)))
        values: dict[int, Any] = {}
        known: dict[int, Coordinates] = {}
        for candidate in self.candidates:
            where = candidate.space.coordinates
            measure = where.mapping.measure
            if id(measure) not in values:
                values[id(measure)] = measure(views)
            known.setdefault(id(where), replace(where, values=values[id(measure)]))
        candidates = [
            replace(
                candidate,
                space=replace(candidate.space, coordinates=known[id(candidate.space.coordinates)]),
            )
            for candidate in self.candidates
        ]
        return candidates, np.arange(len(numbers))

    def scored(self, blocks: RowBlocks, blend: Any) -> tuple[Any, np.ndarray]:
        """A blend as it is, and the mean products of all pairs of its columns; samples are read once."""
        sums = blocks.reduce(partial(_products, blend.function(self.reference)))
        return blend, sums / blocks.shape[0]

    def decisions(self, blocks: RowBlocks, blend: Any) -> RowBlocks:
        """Values of a blend for all samples, which are read once; lazy where the samples are."""
        scores = partial(_scores, blend.function(self.reference), blocks.dtype)
        return blocks.of(blocks.map(scores, width=len(blend.offset), dtype=blocks.dtype))


def _scores(function: Callable[[Any], np.ndarray], dtype: Any, rows: Any) -> np.ndarray:
    """Scores of a block of samples."""
    return function(canonical(rows)).astype(dtype, copy=False)


def _products(function: Callable[[Any], np.ndarray], rows: Any) -> np.ndarray:
    """Products of all pairs of columns of the scores, summed over a block of samples."""
    scores = _scores(function, np.float64, rows)
    return scores.T @ scores


class AnchorSamples:
    """The samples of an :class:`AnchorBank` while it is built, in two passes over them.

    The basis is learned from the first samples, or all; the blocks have all.
    """

    connection = "anchors"
    deformations = DEFORMATIONS

    def __init__(self, basis: Basis, blocks: RowBlocks) -> None:
        self.basis, self.blocks = basis, blocks
        projection = basis.projection(SEARCH_COMPONENTS)
        n_anchors = max(2, min(N_ANCHORS, self.n_rows // ROWS_PER_ANCHOR))
        self.neighbors = tuple(k for k in NEIGHBORS if k <= n_anchors) or (n_anchors,)
        anchors = learn_anchors(
            ArrayBlocks(projection.of(basis.rows)),
            n_anchors=n_anchors,
            n_neighbors=max(self.neighbors),
            n_directions=None,
            random_state=basis.seed,
        )
        links = AnchorLinks(anchors)
        self.reference = Reference(basis.prepare, basis.landmarks, projection, links, basis.device)
        self.landmarks = Views(basis.landmarks, self.reference)

    @property
    def n_rows(self) -> int:
        return self.blocks.shape[0]

    def first(self, n_rows: int) -> Views:
        """Views of the first samples."""
        return Views(self.basis.first(n_rows), self.reference)

    def among(self, measure: Measure) -> Any:
        """Values of the landmarks."""
        return measure(self.landmarks)

    def _sums(self, measures: list) -> list:
        return list(self.blocks.reduce(partial(_summed, self.reference, measures)))

    def _coordinates(
        self, measure: Measure, moments: tuple[np.ndarray, np.ndarray], rotation: np.ndarray | None = None
    ) -> Coordinates:
        return Coordinates(measure(self.first(1)), ViewMap(self.reference, measure), rotation, moments)

    def _summed_up(self, measure: Measure, rotation: np.ndarray | None, sums: tuple) -> Coordinates:
        """Coordinates by the sums of their values and of their squares."""
        mean = sums[0] / self.n_rows
        level = mean if rotation is None else mean @ rotation
        return self._coordinates(measure, (mean, np.maximum(sums[1] / self.n_rows - level**2, 0)), rotation)

    def measure(self, parts: dict[str, tuple[Measure, Any]], deformed: str) -> dict[str, Coordinates]:
        """Coordinates of measures and rotations, one of which will be deformed, and the graphs: one pass."""
        plain = {name: part for name, part in parts.items() if name != deformed}
        measure, whitening = parts[deformed]
        *found, sums = self._sums(
            [partial(_coordinate_sums, *part) for part in plain.values()]
            + [partial(_anchor_sums, k) for k in self.neighbors]
            + [partial(_ambient_sums, measure, whitening, self.neighbors)]
        )
        graphs = zip(self.neighbors, found[len(plain) :], strict=True)
        self.graphs = {k: AnchorAffinity(*own, self.n_rows) for k, own in graphs}
        values, self.gram, *carried = sums
        self.carried = dict(zip(self.neighbors, carried, strict=True))
        mean = values / self.n_rows
        level = mean @ whitening
        self.covariance = self.gram / self.n_rows - np.outer(level, level)
        moments = (mean, np.maximum(np.diag(self.covariance), 0))
        self.ambient = self._coordinates(measure, moments, whitening)
        return {deformed: self.ambient} | {
            name: self._summed_up(*part, own) for (name, part), own in zip(plain.items(), found, strict=False)
        }

    def smoothness(self, n_neighbors: int, power: int) -> np.ndarray:
        """``R' L^p R`` of the coordinates ``R`` that are deformed."""
        return self.graphs[n_neighbors].smoothness(self.gram, self.carried[n_neighbors], power)

    def turned(self, vectors: np.ndarray) -> Coordinates:
        """Combinations of the coordinates that are deformed."""
        squares = np.einsum("ij,ij->j", vectors, self.covariance @ vectors)
        moments = (self.ambient.mean, np.maximum(squares, 0))
        return replace(self.ambient, rotation=self.ambient.rotation @ vectors, moments=moments)

    def eigenvectors(self, n_neighbors: int, n_vectors: int) -> tuple[np.ndarray, Measure, Coordinates]:
        """Lowest eigenvalues of a Laplacian, and the eigenvectors as a measure and as coordinates."""
        graph = self.graphs[n_neighbors]
        spectrum, basis = graph.spectrum(n_vectors)
        measure = Carried(basis.astype(self.reference.landmarks.dtype), n_neighbors)
        return spectrum, measure, self._coordinates(measure, graph.moments(basis))

    def clustered(self, clusterings: list[Clusterings]) -> list[Coordinates]:
        """Indicators of clusters as coordinates, in one pass."""
        sums = self._sums([partial(_coordinate_sums, part, None) for part in clusterings])
        return [self._summed_up(part, None, own) for part, own in zip(clusterings, sums, strict=True)]

    def bank(self, candidates: list[Candidate]) -> AnchorBank:
        """The kernels with what predictions need."""
        return AnchorBank(candidates, self.basis.prepare, self.reference, self.basis.seed)


def _summed(reference: Reference, measures: list[Measure], rows: Any) -> tuple:
    """Sums of measures, arrays or tuples of arrays, over the samples of a block, a batch at a time."""

    def of_batch(rows: Any) -> tuple:
        views = reference.views(canonical(rows))
        return tuple(measure(views) for measure in measures)

    return ArrayBlocks(rows).reduce(of_batch)


def _coordinate_sums(measure: Measure, rotation: np.ndarray | None, views: Views) -> tuple:
    """Sums of values, and of the squares of their combinations, in float64."""
    values = measure(views)
    turned = values if rotation is None else _turned(values, rotation)
    squares = turned.multiply(turned) if sp.issparse(turned) else turned**2
    return _column_sums(values), _column_sums(squares)


def _anchor_sums(n_neighbors: int, views: Views) -> tuple[np.ndarray, np.ndarray]:
    """Masses ``Z'1`` and Gram matrix ``Z'Z`` of the weights on anchors, in float64."""
    Z = views.weights(n_neighbors)
    shape = (Z.shape[0], n_neighbors)
    return weight_statistics(Z.indices.reshape(shape), Z.data.reshape(shape), Z.shape[1])


def _ambient_sums(measure: Measure, whitening: np.ndarray, neighbors: tuple[int, ...], views: Views) -> tuple:
    """What deforming a kernel takes: ``C'1``, ``R'R`` and, graph by graph, ``Z'R``, in float64.

    ``C`` are its values and ``R = C W``. ``R'R`` is summed itself: ``W'(C'C)W`` would be made of rounding
    where ``W`` is large.
    """
    values = measure(views)
    R = _turned(values, whitening)
    R = R.double() if is_tensor(R) else R.astype(np.float64)
    gram, R = to_host(R.T @ R), to_host(R)
    carried = tuple(views.weights(k).T.astype(np.float64) @ R for k in neighbors)
    return (_column_sums(values), gram, *carried)


def _turned(values: Any, rotation: np.ndarray) -> Any:
    """Combinations of values in their type, where they are."""
    if is_tensor(values):
        return values @ to_device(rotation, values.device, dtype_of(values))
    return values @ rotation.astype(values.dtype)


def _column_sums(values: Any) -> np.ndarray:
    if is_tensor(values):
        return to_host(values.double().sum(dim=0))
    return np.asarray(values.sum(axis=0, dtype=np.float64)).ravel()


@dataclass(frozen=True, eq=False)
class AnchorAffinity:
    """The affinity ``W = Z M^-1 Z'`` of all rows, by the sums over them that its spectrum takes.

    ``masses`` are ``Z'1``, the diagonal of ``M``, and ``gram`` is ``Z'Z``.
    """

    masses: np.ndarray
    gram: np.ndarray
    n_rows: int

    @property
    def _roots(self) -> np.ndarray:
        """``M^-1/2``; an anchor without any row has none to give."""
        return np.where(self.masses > 0, 1 / np.sqrt(np.where(self.masses > 0, self.masses, 1)), 0)

    def spectrum(self, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        """Lowest eigenvalues of ``L = I - W``, and ``B`` with eigenvectors ``Z B`` of mean square 1.

        With ``M^-1/2 Z'Z M^-1/2 = V S V'`` the eigenvectors of ``W`` are ``Z M^-1/2 V S^-1/2``.
        """
        n_anchors = len(self.masses)
        matrix = self.gram * self._roots * self._roots[:, None]
        subset = (max(0, n_anchors - n_vectors), n_anchors - 1)
        found, vectors = sla.eigh(matrix, subset_by_index=subset, check_finite=False)
        found, vectors = found[::-1], vectors[:, ::-1]
        kept = found > _LEAST_SHARE
        found, vectors = found[kept], vectors[:, kept]
        basis = self._roots[:, None] * vectors * np.sqrt(self.n_rows / found)
        return np.maximum(1 - found, 0), basis

    def moments(self, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of the columns of ``Z B``, and of the squares of the centered ones."""
        mean = self.masses @ basis / self.n_rows
        squares = np.einsum("ij,ij->j", basis, self.gram @ basis) / self.n_rows
        return mean, np.maximum(squares - mean**2, 0)

    def smoothness(self, gram: np.ndarray, carried: np.ndarray, power: int) -> np.ndarray:
        """``R'L^p R`` for a power of 1 or 2, from ``R'R`` and ``Z'R``."""
        spread = self._roots[:, None] ** 2 * carried
        shared = carried.T @ spread
        if power == 1:
            return gram - shared
        return gram - 2 * shared + spread.T @ self.gram @ spread
