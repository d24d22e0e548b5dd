"""The forms that bags may come in, and answers in the same form."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from weakly.multi_instance._bags import Bags, named


class Form(Enum):
    """How bags were given."""

    BAGS = "bags or a list of matrices"
    ROWS = "rows with ids"
    SINGLES = "rows that are bags of one"


class Given(NamedTuple):
    """Bags, and the form that answers about their instances shall have."""

    bags: Bags
    form: Form

    def per_instance(self, values: np.ndarray) -> Any:
        """Values of instances: one array per bag, or one for all rows."""
        return self.bags.split(values) if self.form is Form.BAGS else values

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Rows as places in their bags, where each bag was a matrix of its own; -1 stays."""
        if self.form is not Form.BAGS:
            return rows
        return np.where(rows < 0, -1, rows - self.bags.offsets[:-1])


def read_bags(X: Any, *, allow_nan: bool = False) -> Given:
    """Read bags in any of the forms that classifiers of bags take; a matrix is one instance per bag.

    Raises a ValueError that names the bag if bags differ in width, hold NaN or infinity, or ids are not
    sorted.
    """
    if isinstance(X, Bags):
        given = Given(X, Form.BAGS)
    elif isinstance(X, tuple) and len(X) == 2 and np.ndim(X[1]) == 1 and len(np.shape(X[0])) == 2:
        given = Given(Bags.from_ids(*X), Form.ROWS)
    elif _is_list_of_bags(X):
        given = Given(Bags.from_list(X), Form.BAGS)
    else:
        X = X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2:
            check_array(X)  # it says what to do, in scikit-learn's words
        return Given(Bags(X, np.arange(X.shape[0] + 1)), Form.SINGLES)
    if not allow_nan:
        _check_finite(given.bags)
    return given


def check_labels(given: Given, y: Any) -> None:
    """Raise an error unless there is one label per bag."""
    bags = given.bags
    if len(y) == len(bags):
        return
    if len(y) < len(bags):
        which = f"bag {named(bags.ids[len(y)])} has none"
    else:
        which = f"the last is for bag {named(bags.ids[-1])}" if len(bags) else "there are no bags"
    hint = " Give bags of more than one instance as a list of matrices or as (rows, ids)."
    raise ValueError(
        f"There are {len(bags)} bags and {len(y)} labels in y: {which}. Give one label per bag."
        + (hint if given.form is Form.SINGLES else "")
    )


def _is_list_of_bags(X: Any) -> bool:
    if isinstance(X, np.ndarray) and (X.dtype != object or X.ndim != 1):
        return X.ndim == 3
    if not isinstance(X, list | tuple | np.ndarray) and not hasattr(X, "to_list"):
        return False
    return any(map(_looks_like_a_bag, X))


def _looks_like_a_bag(bag: Any) -> bool:
    try:
        return len(bag.shape if hasattr(bag, "shape") else np.shape(bag)) == 2
    except ValueError:  # rows of several lengths
        return True


def _check_finite(bags: Bags) -> None:
    if not bags.rows.shape[0]:
        return
    is_wrong = _not_finite(bags.rows)
    if is_wrong.any():
        name = named(bags.ids[bags.bag_of[np.flatnonzero(is_wrong)[0]]])
        raise ValueError(f"Bag {name} contains NaN or infinity: impute it or leave it out.")


def _not_finite(rows: Any) -> np.ndarray:
    """Rows with an entry that is missing or infinite."""
    if sp.issparse(rows):
        wrong = np.zeros(rows.shape[0], dtype=bool)
        places = np.flatnonzero(~np.isfinite(rows.data))
        wrong[np.searchsorted(rows.indptr, places, side="right") - 1] = True
        return wrong
    missing = rows.isna().to_numpy().any(axis=1) if hasattr(rows, "isna") else np.zeros(1, dtype=bool)
    values = np.asarray(rows)
    if values.dtype.kind == "f":
        return missing | ~np.isfinite(values).all(axis=1)
    return missing | np.equal(values, None).any(axis=1) if values.dtype == object else missing
