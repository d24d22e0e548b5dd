"""Fill the missing labels of a table: the work behind ``weakly label``."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from weakly.cli._account import take_account
from weakly.cli._errors import UserError, whole_fits
from weakly.cli._features import TablePreparation
from weakly.cli._leave_out import leave_out
from weakly.cli._methods import make_estimator, method_name, suit_features
from weakly.cli._predict import TableModel
from weakly.cli._target import read_target


@dataclass(frozen=True)
class Labeling:
    """A filled table and everything there is to say about it.

    ``given``, ``filled`` and ``runner_up`` are class indices into ``classes`` (the labels as filled cells say
    them); ``given`` is -1 where the label was missing. ``account`` is what the method tells, if it does.
    """

    target: str
    method: str
    seed: int
    frame: pd.DataFrame
    classes: list
    given: np.ndarray
    filled: np.ndarray
    confidence: np.ndarray
    runner_up: np.ndarray
    account: object
    features: object
    columns: list
    notes: list
    leave_out: object
    model: TableModel

    @property
    def missing(self):
        """Mask of the rows whose label was filled."""
        return self.given < 0

    @property
    def changed(self):
        """Mask of the rows filled otherwise than the supervised baseline of the account would."""
        return self.missing & (self.filled != self.account.baseline)

    def class_counts(self):
        """Return per class: label, rows given, rows filled."""
        given = self._count(self.given, ~self.missing)
        return list(zip(self.classes, given, self._count(self.filled, self.missing), strict=True))

    def baseline_counts(self):
        """Return per class the rows that the supervised baseline of the account would fill."""
        return self._count(self.account.baseline, self.missing)

    def _count(self, codes, rows):
        return np.bincount(codes[rows], minlength=len(self.classes)).tolist()

    def least_sure(self, n_rows):
        """Return positions of the filled rows to label next, the least confident first."""
        filled = np.flatnonzero(self.missing)
        return filled[np.argsort(self.confidence[filled], kind="stable")[:n_rows]]

    def to_label_next(self, n_rows):
        """Return the least sure samples as a table to fill in: row numbers from 1, cells, an empty target."""
        rows = self.least_sure(n_rows)
        frame = self.frame.iloc[rows].drop(columns=f"{self.target}_confidence")
        frame[self.target] = ""
        frame.insert(0, f"{self.target}_row", rows + 1, allow_duplicates=True)
        return frame


def label_table(table, target, *, method, missing=(), ignore=(), seed=0, max_refits=10, track=iter):
    """Fill the missing cells of one column, and give account of the work.

    ``missing`` are words that mean a missing label, beside empty cells; columns in ``ignore`` are not
    learned from. At most ``max_refits`` compare the method with its baseline on hidden labels; ``track``
    wraps their list, to show progress.
    """
    method, confidence_name = method_name(method), f"{target}_confidence"
    place = table.position(target)
    for name in ignore:
        table.require_column(name)
    if confidence_name in table.cells.columns:
        raise UserError(f"the table has a column {confidence_name!r} already: rename or remove it.")
    labels = read_target(table.cells.iloc[:, place], missing)
    given, classes = labels.codes, labels.classes
    estimator = make_estimator(method, n_rows=len(given), seed=seed)
    preparation = TablePreparation()
    features = preparation.fit_transform(table.cells.drop(columns=[target, *ignore]))
    features = suit_features(features, estimator)
    warned = _fit(estimator, features, given, method)
    filled, confidence, runner_up = _read_off(estimator, given)
    account = take_account(estimator)
    model = TableModel(
        preparation, copy.copy(estimator), classes, target, list(ignore)
    )  # before it is refitted
    frame = _fill(table.cells, place, given < 0, [classes[code] for code in filled[given < 0]])
    frame[confidence_name] = confidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told once, by the fit on all labels
        with whole_fits():
            comparison = leave_out(estimator, features, given, max_refits=max_refits, seed=seed, track=track)
    return Labeling(
        target=target,
        method=method,
        seed=seed,
        frame=frame,
        classes=classes,
        given=given,
        filled=filled,
        confidence=confidence,
        runner_up=runner_up,
        account=account,
        features=features,
        columns=preparation.columns_,
        notes=[*table.notes, *labels.notes, *warned],
        leave_out=comparison,
        model=model,
    )


def _fill(cells, place, missing, values):
    """Return a copy with the missing cells of one column filled."""
    frame = cells.copy()
    column = frame.iloc[:, place]
    if isinstance(column.dtype, pd.CategoricalDtype):  # where a spelling without its blanks may be new
        new = [value for value in dict.fromkeys(values) if value not in column.cat.categories]
        frame.isetitem(place, column.cat.add_categories(new))
    frame.iloc[np.flatnonzero(missing), place] = values
    return frame


def _fit(estimator, features, given, method):
    """Fit on all rows; return what the method warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with whole_fits():
                estimator.fit(features, given)
        except ValueError as error:
            raise UserError(f"{method} cannot learn from this table: {error}") from None
    return list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)))


def _read_off(estimator, given):
    """Return every row's class, its probability (1 where it was given) and the most probable other class."""
    rows = np.arange(len(given))
    filled = np.where(given < 0, estimator.transduction_, given)
    others = estimator.label_distributions_.copy()
    confidence = np.where(given < 0, others[rows, filled], 1.0)
    others[rows, filled] = -1
    return filled, confidence, others.argmax(axis=1)
