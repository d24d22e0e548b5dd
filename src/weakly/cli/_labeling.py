"""Fill the missing labels of a table: the work behind ``weakly label``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from weakly._labels import encode_labels
from weakly.cli._errors import UserError
from weakly.cli._features import prepare_features
from weakly.cli._leave_out import leave_out
from weakly.cli._methods import make_estimator


@dataclass(frozen=True)
class Labeling:
    """A filled table and everything there is to say about it.

    ``given`` and ``filled`` are class indices into ``classes`` (the labels as they are written in the table);
    ``given`` is -1 where the label was missing.
    """

    target: str
    method: str
    frame: pd.DataFrame
    classes: list
    given: np.ndarray
    filled: np.ndarray
    confidence: np.ndarray
    features: object
    columns: list
    notes: list
    leave_out: object

    @property
    def missing(self):
        """Mask of the rows whose label was filled."""
        return self.given < 0

    def class_counts(self):
        """Return per class: label, rows given, rows filled."""
        given = np.bincount(self.given[~self.missing], minlength=len(self.classes))
        filled = np.bincount(self.filled[self.missing], minlength=len(self.classes))
        return list(zip(self.classes, given.tolist(), filled.tolist(), strict=True))

    def least_sure(self, n_rows):
        """Return positions of the filled rows to label next, the least confident first."""
        filled = np.flatnonzero(self.missing)
        return filled[np.argsort(self.confidence[filled], kind="stable")[:n_rows]]


def label_table(table, target, *, method, ignore=(), seed=0, max_splits=10, track=iter):
    """Fill the missing cells of one column.

    Parameters
    ----------
    table : Table
        The rows, labelled or not.
    target : str
        The column to fill.
    method : str
        Name of a method, as ``weakly methods`` prints it.
    ignore : sequence of str
        Columns not to learn from.
    seed : int, default=0
        Seed of the method and of the folds.
    max_splits : int, default=10
        Folds of the leave-out comparison at most; 0 leaves it out.
    track : callable, default=iter
        Wraps the list of folds, to show progress.

    Returns
    -------
    Labeling
        The filled table with its confidence column, and the account of the work.
    """
    confidence_name = f"{target}_confidence"
    labels = table.column(target)
    for name in ignore:
        table.column(name)
    if confidence_name in table.typed.columns:
        raise UserError(f"the table has a column {confidence_name!r} already: rename or remove it.")
    given, classes = _encode(labels, table.written[target])
    estimator = make_estimator(method, n_rows=len(given), seed=seed)
    features, columns = prepare_features(table.typed.drop(columns=[target, *ignore]))
    filled, confidence, notes = _fit(estimator, features, given, method)
    frame = table.written.copy()
    missing = np.flatnonzero(given < 0)
    frame.iloc[missing, frame.columns.get_loc(target)] = [classes[code] for code in filled[missing]]
    frame[confidence_name] = confidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told once, by the fit on all labels
        comparison = leave_out(estimator, features, given, max_splits=max_splits, seed=seed, track=track)
    return Labeling(
        target, method, frame, classes, given, filled, confidence, features, columns, notes, comparison
    )


def _encode(labels, written):
    """Return class indices (-1 where missing) and each class as its first row writes it."""
    missing = labels.isna()
    if missing.all():
        raise UserError(
            f"column {labels.name!r} has no label at all: fill in some cells of at least two classes."
        )
    if not missing.any():
        raise UserError(f"column {labels.name!r} has no missing label: leave the cells to fill empty.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say the method says too, as a note
            view = encode_labels(labels, unlabeled=None)
    except ValueError as error:
        raise UserError(f"column {labels.name!r} cannot be filled: {error}") from None
    first_rows = [int(np.argmax(view.codes == code)) for code in range(view.n_classes)]
    return view.codes, [written.iloc[row] for row in first_rows]


def _fit(estimator, features, given, method):
    """Fit on all rows; return every row's class, its probability, and what the method warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(features, given)
        except ValueError as error:
            raise UserError(f"{method} cannot learn from this table: {error}") from None
    notes = list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)))
    filled = np.where(given < 0, estimator.transduction_, given)
    confidence = np.where(given < 0, estimator.label_distributions_[np.arange(len(given)), filled], 1.0)
    return filled, confidence, notes
