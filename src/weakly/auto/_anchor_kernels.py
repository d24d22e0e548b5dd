"""Samples that anchors connect: kernels are functions of samples, with the sums over all that they take.

No value of all samples is ever held: values are computed where they are asked for, so that samples may be too
many for that, or live elsewhere. The graph is an anchor graph, whose spectrum is that of a small matrix
([liu2010]).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.auto._kernels import SEARCH_COMPONENTS, Basis, Candidate, KernelBank, Measure
from weakly.auto._spectra import Clusterings
from weakly.auto._views import BLOCK, AnchorValues, Reference, ViewMap, Views
from weakly.graphs._anchor_map import learn_anchors, weight_statistics
from weakly.rows._blocks import ArrayBlocks, RowBlocks, canonical
from weakly.rows._device import dtype_of, is_tensor, to_device, to_host
from weakly.spaces import Coordinates

N_ANCHORS = 2000
ROWS_PER_ANCHOR = 3  # at least, on average
NEIGHBORS = (3, 5)
DEFORMATIONS = ((3, 1), (5, 1), (5, 2))  # anchors of a sample, power of the Laplacian
_LEAST_SHARE = 1e-8  # of an eigenvalue of the affinity of samples, relative to 1, that is no rounding


@dataclass(frozen=True, eq=False)
class AnchorBank(KernelBank):
    """Kernels as functions of samples; their coordinates hold no values but of a single sample.

    Parameters
    ----------
    candidates, preparation, reference, seed
        As in every bank.
    """

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
        sums = blocks.reduce(BlockScores(blend.function(self.reference)).squared)
        return blend, sums / blocks.shape[0]

    def decisions(self, blocks: RowBlocks, blend: Any) -> RowBlocks:
        """Values of a blend for all samples, which are read once; lazy where the samples are."""
        scores = BlockScores(blend.function(self.reference), blocks.dtype)
        return blocks.of(blocks.map(scores, width=len(blend.offset), dtype=blocks.dtype))


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of a block of samples.

    Parameters
    ----------
    function : callable
        From samples to scores.
    dtype : dtype
        Of the scores.
    """

    function: Callable[[Any], np.ndarray]
    dtype: Any = np.float64

    def __call__(self, rows: Any) -> np.ndarray:
        """Score samples."""
        return self.function(canonical(rows)).astype(self.dtype, copy=False)

    def squared(self, rows: Any) -> np.ndarray:
        """Products of all pairs of columns, summed over samples."""
        scores = self(rows)
        return scores.T @ scores


class AnchorSamples:
    """The samples of an :class:`AnchorBank` while it is built, in two passes over them.

    Parameters
    ----------
    basis : Basis
        Learned from the first samples, or all.
    blocks : RowBlocks
        All samples.
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
        self.reference = Reference(basis.prepare, basis.landmarks, projection, None, 0, anchors, basis.device)
        self.landmarks = Views(basis.landmarks, self.reference)

    @property
    def n_rows(self) -> int:
        return self.blocks.shape[0]

    def first(self, n_rows: int) -> Views:
        """Views of the first samples."""
        return Views(self.basis.rows[:n_rows], self.reference)

    def among(self, measure: Measure) -> Any:
        """Values of the landmarks."""
        return measure(self.landmarks)

    def _sums(self, measures: list) -> tuple:
        return self.blocks.reduce(OverViews(self.reference, measures))

    def _coordinates(
        self,
        measure: Measure,
        moments: tuple[np.ndarray, np.ndarray],
        rotation: np.ndarray | None = None,
    ) -> Coordinates:
        return Coordinates(measure(self.first(1)), ViewMap(self.reference, measure), rotation, moments)

    def measure(self, parts: dict[str, tuple[Measure, Any]], deformed: str) -> dict[str, Coordinates]:
        """Coordinates of measures and rotations, one of which will be deformed, and the graphs: one pass."""
        plain = {name: CoordinateSums(*part) for name, part in parts.items() if name != deformed}
        graphs = [AnchorSums(k) for k in self.neighbors]
        ambient = AmbientSums(*parts[deformed], self.neighbors)
        *found, sums = self._sums([*plain.values(), *graphs, ambient])
        coordinates = {
            name: self._coordinates(part.measure, part.moments(own, self.n_rows), part.rotation)
            for (name, part), own in zip(plain.items(), found, strict=False)
        }
        self.graphs = {
            k: AnchorAffinity(*own, self.n_rows)
            for k, own in zip(self.neighbors, found[len(plain) :], strict=True)
        }
        values, self.gram, *carried = sums
        self.carried = dict(zip(self.neighbors, carried, strict=True))
        mean = values / self.n_rows
        level = mean @ ambient.whitening
        self.covariance = self.gram / self.n_rows - np.outer(level, level)
        moments = (mean, np.maximum(np.diag(self.covariance), 0))
        self.ambient = self._coordinates(ambient.measure, moments, ambient.whitening)
        return coordinates | {deformed: self.ambient}

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
        measure = AnchorValues(basis.astype(self.reference.landmarks.dtype), n_neighbors)
        return spectrum, measure, self._coordinates(measure, graph.moments(basis))

    def clustered(self, clusterings: list[Clusterings]) -> list[Coordinates]:
        """Indicators of clusters as coordinates, in one pass."""
        parts = [CoordinateSums(part) for part in clusterings]
        return [
            self._coordinates(part.measure, part.moments(sums, self.n_rows))
            for part, sums in zip(parts, self._sums(parts), strict=True)
        ]

    def bank(self, candidates: list[Candidate]) -> AnchorBank:
        """The kernels with what predictions need."""
        return AnchorBank(candidates, self.basis.prepare, self.reference, self.basis.seed)


@dataclass(frozen=True, eq=False)
class OverViews:
    """A sum over the rows of a block, which are measured a batch at a time.

    Parameters
    ----------
    reference : Reference
        What rows are held against.
    measures : list of callable
        From views to arrays, or tuples of arrays, that are summed.
    """

    reference: Reference
    measures: list[Callable[[Views], Any]]

    def __call__(self, rows: Any) -> tuple:
        """Sums of all measures."""
        return ArrayBlocks(rows, BLOCK).reduce(self._of_batch)

    def _of_batch(self, rows: Any) -> tuple:
        views = self.reference.views(canonical(rows))
        return tuple(measure(views) for measure in self.measures)


@dataclass(frozen=True, eq=False)
class CoordinateSums:
    """Sums of values, and of the squares of their combinations.

    Parameters
    ----------
    measure : callable
        From views to values.
    rotation : ndarray of shape (n_values, n_coordinates) or None
        Combinations of the values; the values themselves by default.
    """

    measure: Callable[[Views], Any]
    rotation: np.ndarray | None = None

    def __call__(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Both sums, in float64."""
        values = self.measure(views)
        turned = values if self.rotation is None else _turned(values, self.rotation)
        squares = turned.multiply(turned) if sp.issparse(turned) else turned**2
        return _column_sums(values), _column_sums(squares)

    def moments(self, sums: tuple[np.ndarray, np.ndarray], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Means of the values, and of the squares of the centred coordinates."""
        mean = sums[0] / n_rows
        level = mean if self.rotation is None else mean @ self.rotation
        return mean, np.maximum(sums[1] / n_rows - level**2, 0)


@dataclass(frozen=True, eq=False)
class AnchorSums:
    """Masses ``Z'1`` and Gram matrix ``Z'Z`` of the weights on anchors.

    Parameters
    ----------
    n_neighbors : int
        Anchors of a row.
    """

    n_neighbors: int

    def __call__(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Both sums, in float64."""
        Z = views.anchor_weights(self.n_neighbors)
        shape = (Z.shape[0], self.n_neighbors)
        return weight_statistics(Z.indices.reshape(shape), Z.data.reshape(shape), Z.shape[1])


@dataclass(frozen=True, eq=False)
class AmbientSums:
    """What deforming a kernel takes: ``C'1``, ``R'R`` and ``Z'R`` of its values ``C``, with ``R = C W``.

    ``R'R`` is summed itself: ``W'(C'C)W`` would be made of rounding where ``W`` is large.

    Parameters
    ----------
    measure : callable
        From views to values.
    whitening : ndarray of shape (n_values, n_coordinates)
        Combinations ``W`` of the values.
    neighbors : tuple of int
        Anchors of a row in each graph.
    """

    measure: Callable[[Views], np.ndarray]
    whitening: np.ndarray
    neighbors: tuple[int, ...]

    def __call__(self, views: Views) -> tuple:
        """The sums, in float64; those with the graphs come last."""
        values = self.measure(views)
        R = _turned(values, self.whitening)
        R = R.double() if is_tensor(R) else R.astype(np.float64)
        gram, R = to_host(R.T @ R), to_host(R)
        carried = tuple(views.anchor_weights(k).T.astype(np.float64) @ R for k in self.neighbors)
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

    Parameters
    ----------
    masses : ndarray of shape (n_anchors,)
        ``Z'1``, the diagonal of ``M``.
    gram : ndarray of shape (n_anchors, n_anchors)
        ``Z'Z``.
    n_rows : int
        Number of rows.
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
        """Means of the columns of ``Z B``, and of the squares of the centred ones."""
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
