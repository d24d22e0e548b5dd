"""What the bank measures on rows, training rows and new ones alike, each thing once and only when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances, paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from weakly._threads import openmp_after_fork
from weakly.graphs._anchor_map import AnchorMap, weight_matrix
from weakly.rows._columns import pick_columns
from weakly.rows._device import to_device

BLOCK = 4096  # rows measured at a time


@dataclass(frozen=True, eq=False)
class Reference:
    """What new rows are held against.

    Parameters
    ----------
    prepare : callable
        From rows to prepared rows.
    landmarks : {ndarray, csr matrix} of shape (n_landmarks, n_features)
        Prepared training rows that kernels are taken with.
    projection : Projection or None
        The combinations of columns in which neighbours are sought; ``None`` is the columns themselves.
    searched : {ndarray, csr matrix} of shape (n_rows, n_searched)
        Training rows in those coordinates.
    n_neighbors : int
        Neighbours of a row.
    anchors : AnchorMap or None, default=None
        From rows in those coordinates to their weights on anchors, which then stand for the training rows.
    device : str or None, default=None
        Where distances to the landmarks are taken, and stay; ``None`` is NumPy.
    """

    prepare: Any
    landmarks: Any
    projection: Any
    searched: Any
    n_neighbors: int
    anchors: AnchorMap | None = None
    device: str | None = None

    def views(self, X: Any) -> Views:
        """Measure new rows, dense or sparse."""
        if sp.issparse(X) and not sp.issparse(self.landmarks):
            X = X.toarray()
        return Views(self.prepare(X).astype(self.landmarks.dtype, copy=False), self)

    @cached_property
    def index(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=self.n_neighbors).fit(self.searched)

    def __getstate__(self) -> dict[str, Any]:
        # The index of a search is a second copy of the rows and is rebuilt on demand: it does not travel.
        return {name: value for name, value in vars(self).items() if name != "index"}


class Views:
    """Measurements of some rows.

    Parameters
    ----------
    rows : {ndarray, csr matrix} of shape (n_rows, n_features)
        Prepared rows.
    reference : Reference
        What they are held against.
    """

    def __init__(self, rows: Any, reference: Reference) -> None:
        self.rows = rows
        self.reference = reference

    @cached_property
    def squared_distances(self) -> Any:
        """Squared distances to the landmarks; a tensor where the reference has a device."""
        if self.reference.device is not None:
            return distances_on_device(self.rows, self.reference.landmarks, self.reference.device)
        out = np.empty((self.rows.shape[0], self.reference.landmarks.shape[0]), self.rows.dtype)
        for block in gen_batches(len(out), BLOCK):
            out[block] = euclidean_distances(self.rows[block], self.reference.landmarks, squared=True)
        return out

    @property
    def _sought(self) -> Any:
        """Rows in the coordinates in which neighbours are sought."""
        projection = self.reference.projection
        return self.rows if projection is None else projection.of(self.rows)

    @cached_property
    def neighbor_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Nearest training rows and the inverse squares of their distances.

        A copy of a training row stands for itself: others beside it have weight 0.
        """
        reference = self.reference
        sought = self._sought
        with openmp_after_fork():
            nearest = reference.index.kneighbors(sought, return_distance=False)
        # The search's own distances of copies are 0 up to rounding only.
        squared = np.empty(nearest.shape)
        for place, column in enumerate(nearest.T):
            squared[:, place] = paired_euclidean_distances(sought, reference.searched[column]) ** 2
        order = np.argsort(squared, axis=1, kind="stable")
        nearest, squared = np.take_along_axis(nearest, order, 1), np.take_along_axis(squared, order, 1)
        copies = squared == 0
        weights = np.where(copies.any(axis=1)[:, None], copies, 1 / np.where(copies, 1, squared))
        return nearest, weights

    def interpolate(self, values: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Mean of the values of the nearest training rows, by weight."""
        nearest, weights = (part[:, :n_neighbors] for part in self.neighbor_weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
        n_rows, width = nearest.shape
        pointers = np.arange(0, n_rows * width + 1, width)
        mean = sp.csr_array((weights.ravel(), nearest.ravel(), pointers), shape=(n_rows, len(values)))
        return mean @ values

    @cached_property
    def nearest_anchors(self) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors and their weights, for the most anchors that a row has."""
        return self.reference.anchors.nearest(self._sought)

    def anchor_weights(self, n_neighbors: int) -> sp.csr_array:
        """Weights on so many anchors; lines sum to 1."""
        nearest, weights = self.nearest_anchors
        if n_neighbors < nearest.shape[1]:
            nearest, weights = nearest[:, :n_neighbors], fewer_weights(weights, n_neighbors)
        return weight_matrix(nearest, weights, self.reference.anchors.n_anchors)


class TrainingViews(Views):
    """Measurements of the training samples themselves, or of the first of them."""

    def interpolate(self, values: np.ndarray, n_neighbors: int) -> np.ndarray:
        """A training sample has its own values, without a search."""
        return values[: self.rows.shape[0]]


def distances_on_device(rows: np.ndarray, landmarks: np.ndarray, device: str) -> Any:
    """Squared distances as a tensor in the type of the rows, from products in float64.

    In float32 the square of a distance of 0 would be rounding, and its root far from 0.
    """
    landmarks = to_device(landmarks, device, np.float64)
    origin = landmarks.mean(dim=0)
    landmarks = landmarks - origin
    squares = (landmarks**2).sum(dim=1)
    out = squares.new_empty((len(rows), len(landmarks)), dtype=to_device(rows[:0], device).dtype)
    for block in gen_batches(len(rows), BLOCK):
        own = to_device(rows[block], device, np.float64) - origin
        out[block] = (squares + (own**2).sum(dim=1)[:, None] - 2 * own @ landmarks.T).clamp(min=0)
    return out


def fewer_weights(weights: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Self-tuning weights of the first anchors of rows, from those of more anchors.

    Weights are proportional to ``exp(-d^2 / s^2)`` with ``s`` the distance of the last: their ratios tell the
    distances, so that one search serves several graphs.
    """
    squared = 1 + np.log(weights[:, -1:]) - np.log(weights[:, :n_neighbors])  # in those of the last anchor
    furthest = squared[:, -1:]
    fewer = np.exp(-squared / np.where(furthest > 0, furthest, 1))
    return fewer / fewer.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class ViewMap:
    """From new rows to values, by way of their views.

    Parameters
    ----------
    reference : Reference
        What they are held against.
    measure : callable
        From views to values; whoever has the views of rows can share them between several maps.
    """

    reference: Reference
    measure: Callable[[Views], Any]

    def __call__(self, X: Any) -> Any:
        """Map rows."""
        return self.measure(self.reference.views(X))


@dataclass(frozen=True, eq=False)
class Columns:
    """Some features of samples, as values.

    Parameters
    ----------
    columns : ndarray of int or None
        The features; ``None`` is all.
    """

    columns: np.ndarray | None

    def __call__(self, views: Views) -> Any:
        """These features of prepared samples."""
        return self.of(views.rows)

    def of(self, rows: Any) -> Any:
        """The same for samples without views."""
        return pick_columns(rows, self.columns)


@dataclass(frozen=True, eq=False)
class Projection:
    """Combinations of the columns of rows.

    Parameters
    ----------
    directions : ndarray of shape (n_columns, n_components)
        One combination per column.
    columns : ndarray of int or None, default=None
        The features that take part; ``None`` is all.
    """

    directions: np.ndarray
    columns: np.ndarray | None = None

    def __call__(self, views: Views) -> np.ndarray:
        """Project rows, which are not centred: distances do not need it."""
        return self.of(views.rows)

    def of(self, rows: Any) -> np.ndarray:
        """Project prepared rows."""
        return pick_columns(rows, self.columns) @ self.directions.astype(rows.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Values of training rows, carried over to new ones by their neighbours.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        Values of the training rows.
    n_neighbors : int
        Neighbours that take part.
    """

    values: np.ndarray
    n_neighbors: int

    def __call__(self, views: Views) -> np.ndarray:
        """Values of new rows: exactly those of a training row where a row is a copy of one."""
        return views.interpolate(self.values, self.n_neighbors)


@dataclass(frozen=True, eq=False)
class AnchorValues:
    """Values of anchors, carried over to rows by their weights.

    Parameters
    ----------
    values : ndarray of shape (n_anchors, n_values)
        Values of the anchors.
    n_neighbors : int
        Anchors of a row.
    """

    values: np.ndarray
    n_neighbors: int

    def __call__(self, views: Views) -> np.ndarray:
        """Values of rows, training rows and new ones alike."""
        return views.anchor_weights(self.n_neighbors) @ self.values


@dataclass(frozen=True, eq=False)
class FirstDirections:
    """The first values of rows, as a direction.

    Parameters
    ----------
    measure : callable
        From views to values.
    n_values : int
        How many of them.
    """

    measure: Callable[[Views], np.ndarray]
    n_values: int

    def __call__(self, views: Views) -> np.ndarray:
        """Directions of rows."""
        return self.of(self.measure(views))

    def of(self, values: np.ndarray) -> np.ndarray:
        """The same for rows whose values are known."""
        return normalize(values[:, : self.n_values])
