"""Spectra of a bank from sums over blocks of rows; no value of all rows is ever held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from weakly.auto._spectra import Clusterings
from weakly.auto._views import BLOCK, Reference, Views
from weakly.graphs._anchor_map import weight_statistics
from weakly.rows._blocks import ArrayBlocks, RowBlocks, canonical
from weakly.rows._device import dtype_of, is_tensor, to_device, to_host
from weakly.rows._keys import row_keys

_LEAST_SHARE = 1e-8  # of an eigenvalue of the affinity of rows, relative to 1, that is no rounding
_one_hash = Lock()  # the compiled loop has threads of its own, which several blocks at a time may not start


@dataclass(frozen=True)
class RowKeys:
    """Hash rows of a block by their contents.

    Parameters
    ----------
    seed : int
        Another seed gives other numbers.
    """

    seed: int

    def __call__(self, rows: Any) -> np.ndarray:
        """Keys of rows."""
        with _one_hash:
            return row_keys(canonical(rows), self.seed)


@dataclass(frozen=True, eq=False)
class FirstKeys:
    """The smallest keys of rows, and the numbers of these rows; sums keep the smallest of both.

    Parameters
    ----------
    keys : ndarray of uint64
        Keys.
    rows : ndarray of int
        Numbers of the rows.
    most : int
        How many are kept.
    """

    keys: np.ndarray
    rows: np.ndarray
    most: int

    def __add__(self, other: FirstKeys) -> FirstKeys:
        """Merge with those of other rows."""
        keys, rows = np.concatenate([self.keys, other.keys]), np.concatenate([self.rows, other.rows])
        return FirstKeys(keys, rows, self.most).shortened()

    def shortened(self) -> FirstKeys:
        """The smallest alone, sorted."""
        order = np.argsort(self.keys, kind="stable")[: self.most]
        return FirstKeys(self.keys[order], self.rows[order], self.most)


def first_rows(blocks: RowBlocks, n_rows: int, seed: int) -> Any:
    """So many rows, or all, that come first in the order of the keys: the same from blocks of any kind."""
    keys = RowKeys(seed)
    found = blocks.reduce(
        lambda rows, numbers: FirstKeys(keys(rows), numbers, n_rows).shortened(), blocks.numbers()
    )
    return canonical(blocks.take(found.rows))


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


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Numbers of rows in the clusters of several clusterings.

    Parameters
    ----------
    clusterings : Clusterings
        The clusterings.
    """

    clusterings: Clusterings

    def __call__(self, views: Views) -> np.ndarray:
        """Counts, those of all clusterings side by side."""
        return _column_sums(self.clusterings(views))

    def moments(self, counts: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Means of the indicators, and of the squares of the centred ones."""
        shares = counts / n_rows
        return shares, shares - shares**2


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
