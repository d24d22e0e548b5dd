"""Bags of instances as one matrix of rows, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp


class Bags:
    """Bags of instances: one matrix with the instances of all bags, bag after bag.

    Its length is the number of bags. A number picks a bag, as a matrix; a slice, a list of numbers or a mask
    pick several, as bags again: that is all that ``cross_val_score``, ``GridSearchCV`` and
    ``train_test_split`` of scikit-learn ask for.

    Parameters
    ----------
    rows : {ndarray, sparse matrix, DataFrame} of shape (n_instances, n_features)
        Instances.
    offsets : array-like of int of shape (n_bags + 1,)
        The first row of each bag, and at the end the number of rows. A bag may be empty.
    ids : array-like of shape (n_bags,) or None, default=None
        Names of the bags, for messages; ``None`` numbers them.

    See Also
    --------
    InstanceTransformer : A transformer of instances in a pipeline of bags.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly import Bags
    >>> bags = Bags.from_list([np.zeros((2, 3)), np.ones((1, 3)), np.empty((0, 3))])
    >>> bags
    Bags(3 bags, 3 instances of 3 features)
    >>> bags[1].tolist(), bags[[0, 2]].sizes.tolist()
    ([[1.0, 1.0, 1.0]], [2, 0])
    >>> [len(part) for part in bags.split(np.arange(3))]
    [2, 1, 0]
    """

    def __init__(self, rows: Any, offsets: Any, ids: Any = None) -> None:
        rows = _matrix_of(rows)
        offsets = np.asarray(offsets)
        is_cut = offsets.ndim == 1 and len(offsets) > 0 and offsets.dtype.kind in "iu"
        if not is_cut or offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != rows.shape[0]:
            raise ValueError(
                f"offsets must be whole numbers that rise from 0 to the {rows.shape[0]} rows: one more than "
                "there are bags. Bags.from_list and Bags.from_ids make them."
            )
        self.rows = sp.csr_array(rows) if sp.issparse(rows) else rows
        self.offsets = offsets.astype(np.intp)
        self.ids = np.arange(len(self)) if ids is None else np.asarray(ids)
        if len(self.ids) != len(self):
            raise ValueError(f"There are {len(self)} bags and {len(self.ids)} ids: give one id per bag.")

    @classmethod
    def from_list(cls, bags: Any) -> Bags:
        """Stack a list of matrices, one per bag.

        Parameters
        ----------
        bags : list of matrices
            Instances by features each, dense or sparse, or data frames; some may have no rows.

        Returns
        -------
        Bags
            The bags.
        """
        if not isinstance(bags, Iterable):
            raise TypeError(f"bags must be a list of matrices, one per bag, got {bags!r}.")
        bags = [_as_matrix(bag, number) for number, bag in enumerate(bags)]
        filled = [number for number, bag in enumerate(bags) if bag.shape[0]]
        first = filled[0] if filled else 0
        for number in filled:
            if bags[number].shape[1] != bags[first].shape[1]:
                raise ValueError(
                    f"Bag {number} has {bags[number].shape[1]} features and bag {first} has "
                    f"{bags[first].shape[1]}: all need the same."
                )
            if list(getattr(bags[number], "columns", [])) != list(getattr(bags[first], "columns", [])):
                raise ValueError(f"Bag {number} has other columns than bag {first}: all need the same names.")
        offsets = np.cumsum([0] + [bag.shape[0] for bag in bags])
        width = max((bag.shape[1] for bag in bags), default=0)
        rows = _stack([bags[number] for number in filled]) if filled else np.empty((0, width))
        return cls(rows, offsets)

    @classmethod
    def from_ids(cls, rows: Any, ids: Any) -> Bags:
        """Cut rows into bags by the id of each.

        Parameters
        ----------
        rows : {array-like, sparse matrix, DataFrame} of shape (n_instances, n_features)
            Instances, those of a bag beside each other.
        ids : array-like of shape (n_instances,)
            Bag of each, in rising order; there are no empty bags.

        Returns
        -------
        Bags
            The bags, in the order of their ids.
        """
        rows = _matrix_of(rows)
        if np.shape(ids) != (rows.shape[0],):
            raise ValueError(
                f"There are {rows.shape[0]} rows and ids of shape {np.shape(ids)}: give one bag id per row."
            )
        unnamed = np.flatnonzero(_is_missing(ids))
        if len(unnamed):
            raise ValueError(f"Row {unnamed[0]} has no bag id: fill it in, or leave the row out.")
        ids = np.asarray(ids)
        falls = np.flatnonzero(ids[1:] < ids[:-1])
        if len(falls):
            row = int(falls[0]) + 1
            raise ValueError(
                f"Bag ids are not sorted: bag {named(ids[row])} at row {row} comes after bag "
                f"{named(ids[row - 1])}. Sort rows and ids by np.argsort(ids, kind='stable'); labels of "
                "bags then go by rising id."
            )
        starts = np.flatnonzero(np.concatenate([[len(ids) > 0], ids[1:] != ids[:-1]]))
        return cls(rows, np.append(starts, len(ids)), ids[starts])

    @classmethod
    def from_frame(cls, frame: Any, bag: str, label: str | None = None) -> Any:
        """Cut a long data frame, a row per instance, into bags.

        Parameters
        ----------
        frame : DataFrame
            Features of instances, with a column that names the bag of each, in rising order.
        bag : str
            Name of that column.
        label : str or None, default=None
            Name of the column with the label of the bag, the same in all rows of a bag.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags; with ``label`` also the label of each.

        Examples
        --------
        >>> import pandas as pd
        >>> from weakly import Bags
        >>> frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "photo": ["a", "a", "b"], "tiger": [1, 1, 0]})
        >>> bags, y = Bags.from_frame(frame, bag="photo", label="tiger")
        >>> bags.sizes.tolist(), y.tolist()
        ([2, 1], [1, 0])
        """
        used = [column for column in (bag, label) if column is not None]
        absent = [column for column in used if column not in frame.columns]
        if absent:
            raise ValueError(f"The frame has no column {absent[0]!r}: it has {list(frame.columns)}.")
        bags = cls.from_ids(frame.drop(columns=used), frame[bag])
        if label is None:
            return bags
        labels = frame[label].to_numpy()
        y = labels[bags.offsets[:-1]]
        for wrong, what in ((frame[label].isna(), "no label"), (labels != y[bags.bag_of], "several labels")):
            if wrong.any():
                name = named(bags.ids[bags.bag_of[np.flatnonzero(wrong)[0]]])
                raise ValueError(f"Bag {name} has {what} in column {label!r}: give its rows the same.")
        return bags, y

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bags, and of features."""
        return len(self), *self.rows.shape[1:]

    @property
    def sizes(self) -> np.ndarray:
        """Number of instances of each bag."""
        return np.diff(self.offsets)

    @property
    def bag_of(self) -> np.ndarray:
        """Number of the bag of each instance."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and key[1:] == (Ellipsis,):  # which scikit-learn adds for other axes
            key = key[0]
        try:
            chosen = np.arange(len(self))[key]
        except IndexError as error:
            raise IndexError(f"There are {len(self)} bags: {error}.") from None
        if np.ndim(chosen) > 1:
            raise IndexError("Bags have one axis: pick a bag by its number, or several by a list or a mask.")
        if np.ndim(chosen) == 0:
            return _take(self.rows, slice(self.offsets[chosen], self.offsets[chosen + 1]))
        sizes = self.sizes[chosen]
        offsets = np.append(0, np.cumsum(sizes))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        rows = _take(self.rows, np.repeat(self.offsets[chosen], sizes) + within)
        return Bags(rows, offsets, self.ids[chosen])

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(
            "Bags are no matrix: use a classifier of weakly.multi_instance, wrap a transformer of instances "
            "in InstanceTransformer, or take the matrix of all instances, bags.rows."
        )

    def __repr__(self) -> str:
        return f"Bags({len(self)} bags, {self.rows.shape[0]} instances of {self.rows.shape[1]} features)"

    def with_rows(self, rows: Any) -> Bags:
        """Bags of the same sizes with other instances.

        Parameters
        ----------
        rows : {ndarray, sparse matrix, DataFrame} of shape (n_instances, n_features)
            The instances.

        Returns
        -------
        Bags
            The bags.
        """
        return Bags(rows, self.offsets, self.ids)

    def split(self, values: Any) -> list[np.ndarray]:
        """Cut an array with an entry per instance into one part per bag.

        Parameters
        ----------
        values : ndarray of shape (n_instances, ...)
            The entries.

        Returns
        -------
        list of ndarray
            One for each bag.
        """
        if len(values) != self.offsets[-1]:
            raise ValueError(f"There are {len(values)} values for {self.offsets[-1]} instances: one each.")
        return np.split(values, self.offsets[1:-1]) if len(self) else []

    def largest(self, scores: np.ndarray) -> np.ndarray:
        """Find the row with the largest score of each bag.

        Parameters
        ----------
        scores : ndarray of shape (n_instances,)
            Scores.

        Returns
        -------
        ndarray of shape (n_bags,)
            The first of several; -1 for an empty bag.
        """
        order = np.lexsort((np.arange(len(scores)), -scores, self.bag_of))
        filled = self.sizes > 0
        rows = np.full(len(self), -1)
        rows[filled] = order[self.offsets[:-1][filled]]
        return rows


def _matrix_of(rows: Any) -> Any:
    rows = rows if hasattr(rows, "shape") else np.asarray(rows)
    if len(rows.shape) != 2:
        raise ValueError(f"rows have shape {rows.shape}: give a matrix of instances by features.")
    return rows


def _as_matrix(bag: Any, number: int) -> Any:
    try:
        matrix = bag if hasattr(bag, "shape") else np.asarray(bag)
    except ValueError:
        raise ValueError(f"Bag {number} has instances of several lengths: all need the same.") from None
    if len(matrix.shape) in (1, 2) and matrix.shape[0] == 0:
        return np.empty((0, matrix.shape[1] if len(matrix.shape) == 2 else 0))
    if len(matrix.shape) != 2 or matrix.shape[1] == 0:
        raise ValueError(f"Bag {number} is no matrix of instances by features: reshape it.")
    return matrix


def _is_missing(ids: Any) -> np.ndarray:
    if hasattr(ids, "isna"):
        return np.asarray(ids.isna())
    ids = np.asarray(ids)
    if ids.dtype.kind in "iub":
        return np.zeros(len(ids), dtype=bool)
    return np.equal(ids, None) | (ids != ids) if ids.dtype == object else ids != ids


def _stack(bags: list[Any]) -> Any:
    if any(map(sp.issparse, bags)):
        return sp.vstack(bags, format="csr")
    if all(hasattr(bag, "iloc") for bag in bags):
        import pandas as pd  # they are there, or there were no frames

        return pd.concat(bags)
    return np.vstack(bags)


def _take(rows: Any, which: Any) -> Any:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def named(name: Any) -> str:
    """A name of a bag as it would be typed."""
    return repr(name.item() if isinstance(name, np.generic) else name)
