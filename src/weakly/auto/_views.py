"""What the bank makes of rows, training rows and new ones alike.

They are brought to a form in which distances mean something, and then measured: each thing once, and only
when asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import Normalizer, StandardScaler, normalize
from sklearn.utils import gen_batches

from weakly.graphs._anchor_map import weight_matrix
from weakly.rows._arrays import pick_columns
from weakly.rows._blocks import BLOCK_ROWS, ArrayBlocks
from weakly.rows._device import to_device

PREPARATIONS = ("auto", "standardize", "normalize", "tf-idf", "raw")
_MANY_COLUMNS = 16  # from which it can be told whether columns share one scale
_SPREAD = 4.0  # between the ranges of most columns that share one
_LARGEST_SHARE = 0.25  # of the whole variance that one of them may have


@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows are prepared, learned from the training rows.

    Parameters
    ----------
    kind : {"standardize", "normalize", "tf-idf", "raw"}
        What is done.
    reason : str
        Why, in words.
    transformer : transformer or None
        Fitted; ``None`` leaves rows as they are. Dense rows are centered in any case but "normalize" and
        "tf-idf".
    """

    kind: str
    reason: str
    transformer: Any = None

    def __call__(self, X: Any) -> Any:
        """Prepare rows."""
        if self.transformer is None:
            return X
        prepared = self.transformer.transform(X)
        return sp.csr_array(prepared) if sp.issparse(prepared) else prepared

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def learn_preparation(X: Any, kind: str = "auto") -> Preparation:
    """Decide how rows are prepared, and learn what that takes.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Training rows.
    kind : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        "auto" looks at the rows: counts of words are weighed by tf-idf, other sparse rows without negative
        entries get length 1, dense columns are standardized unless they share one scale, as pixels do.

    Returns
    -------
    Preparation
        To be called with rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto import learn_preparation
    >>> print(learn_preparation(np.array([[1.0, 2000.0], [2.0, 1000.0]])))
    standardize: the columns have scales of their own
    """
    if kind not in PREPARATIONS:
        raise ValueError(f"preparation is {kind!r}: use one of {', '.join(PREPARATIONS)}.")
    kind, reason = (kind, "as asked") if kind != "auto" else _detect(X)
    transformer = {
        "standardize": StandardScaler(with_mean=not sp.issparse(X)),
        "normalize": Normalizer(),
        "tf-idf": TfidfTransformer(sublinear_tf=True),
        # Far from 0, single precision would see nothing but the offset.
        "raw": None if sp.issparse(X) else StandardScaler(with_std=False),
    }[kind]
    return Preparation(kind, reason, None if transformer is None else transformer.fit(X))


def _detect(X: Any) -> tuple[str, str]:
    if sp.issparse(X):
        if X.nnz and X.data.min() < 0:
            return "raw", "sparse rows with negative entries are taken as scaled already"
        if X.nnz and X.data.max() > 1 and (X.data == np.floor(X.data)).all():
            return "tf-idf", "sparse whole numbers are taken as counts of words"
        return "normalize", "sparse rows are compared by their angle"
    low, high = X.min(axis=0), X.max(axis=0)
    ranges = (high - low)[high > low]
    if len(ranges) < _MANY_COLUMNS:
        return "standardize", "the columns have scales of their own"
    variances = X.var(axis=0, dtype=np.float64)
    few, most = np.quantile(ranges, [0.1, 0.9])
    # Pixels at the border of pictures hardly vary, but like all others they begin at black.
    like_pixels = np.mean(low == low.min()) >= 0.9 and np.mean(high == high.max()) >= 0.5
    if (most <= _SPREAD * few or like_pixels) and variances.max() <= _LARGEST_SHARE * variances.sum():
        return "raw", "the columns share one scale"
    return "standardize", "the columns have scales of their own"


class Links(Protocol):
    """What new samples are connected to, training samples or anchors, and by which weights."""

    @property
    def n_targets(self) -> int: ...
    def nearest(self, sought: Any) -> tuple[np.ndarray, np.ndarray]: ...
    def fewer(self, weights: np.ndarray, n_neighbors: int) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Reference:
    """What new samples are compared with.

    ``prepare`` makes prepared samples of samples, and ``landmarks`` are the prepared training samples that
    kernels are taken with. Neighbors are sought in the combinations of features of ``projection``, ``None``
    for the features themselves, and ``links`` lead from samples in those coordinates to what they are
    connected to. Distances to the landmarks are taken on the device, and stay there; ``None`` is NumPy.
    """

    prepare: Any
    landmarks: Any
    projection: Any
    links: Links
    device: str | None = None

    def views(self, X: Any) -> Views:
        """Measure new samples, dense or sparse."""
        if sp.issparse(X) and not sp.issparse(self.landmarks):
            X = X.toarray()
        return Views(self.prepare(X).astype(self.landmarks.dtype, copy=False), self)


class Views:
    """Measurements of some prepared rows, held against a reference."""

    def __init__(self, rows: Any, reference: Reference) -> None:
        self.rows = rows
        self.reference = reference

    @cached_property
    def squared_distances(self) -> Any:
        """Squared distances to the landmarks; a tensor where the reference has a device."""
        if self.reference.device is not None:
            return distances_on_device(self.rows, self.reference.landmarks, self.reference.device)
        landmarks = self.reference.landmarks
        to_landmarks = partial(euclidean_distances, Y=landmarks, squared=True)
        return ArrayBlocks(self.rows).map(to_landmarks, width=landmarks.shape[0], dtype=self.rows.dtype)

    @cached_property
    def _nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """The nearest that samples are connected to and their weights, for the most that a sample has."""
        reference = self.reference
        sought = self.rows if reference.projection is None else reference.projection.of(self.rows)
        return reference.links.nearest(sought)

    def weights(self, n_neighbors: int) -> sp.csr_array:
        """Weights of connections to so many; each sample's sum to 1."""
        nearest, weights = self._nearest
        links = self.reference.links
        return weight_matrix(nearest[:, :n_neighbors], links.fewer(weights, n_neighbors), links.n_targets)

    def carried(self, values: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Mean of the values of what samples are connected to, by weight."""
        return self.weights(n_neighbors) @ values


class TrainingViews(Views):
    """Measurements of training samples, the first or all, that are connected to training samples."""

    def carried(self, values: np.ndarray, n_neighbors: int) -> np.ndarray:
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
    for block in gen_batches(len(rows), BLOCK_ROWS):
        own = to_device(rows[block], device, np.float64) - origin
        out[block] = (squares + (own**2).sum(dim=1)[:, None] - 2 * own @ landmarks.T).clamp(min=0)
    return out


@dataclass(frozen=True, eq=False)
class ViewMap:
    """From new rows to values, by way of their views.

    ``measure`` leads from views to values; whoever has the views of rows can share them between several maps.
    """

    reference: Reference
    measure: Callable[[Views], Any]

    def __call__(self, X: Any) -> Any:
        """Map rows."""
        return self.measure(self.reference.views(X))


@dataclass(frozen=True, eq=False)
class Columns:
    """Some features of samples, as values; ``None`` is all."""

    columns: np.ndarray | None

    def __call__(self, views: Views) -> Any:
        """These features of prepared samples."""
        return self.of(views.rows)

    def of(self, rows: Any) -> Any:
        """The same for samples without views."""
        return pick_columns(rows, self.columns)


@dataclass(frozen=True, eq=False)
class Projection:
    """Combinations of some columns of rows, or of all with ``None``; each is a column of ``directions``."""

    directions: np.ndarray
    columns: np.ndarray | None = None

    def __call__(self, views: Views) -> np.ndarray:
        """Project rows, which are not centered: distances do not need it."""
        return self.of(views.rows)

    def of(self, rows: Any) -> np.ndarray:
        """Project prepared rows."""
        return pick_columns(rows, self.columns) @ self.directions.astype(rows.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Carried:
    """Values of training samples or anchors, carried over to samples that are connected to them.

    The nearest ``n_neighbors`` connections take part.
    """

    values: np.ndarray
    n_neighbors: int

    def __call__(self, views: Views) -> np.ndarray:
        """Values of samples."""
        return views.carried(self.values, self.n_neighbors)


@dataclass(frozen=True, eq=False)
class FirstDirections:
    """The first ``n_values`` values of rows, measured from their views, as a direction."""

    measure: Callable[[Views], np.ndarray]
    n_values: int

    def __call__(self, views: Views) -> np.ndarray:
        """Directions of rows."""
        return self.of(self.measure(views))

    def of(self, values: np.ndarray) -> np.ndarray:
        """The same for rows whose values are known."""
        return normalize(values[:, : self.n_values])
