"""Models of tables: what ``weakly label --save`` stores, and ``weakly predict`` runs."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from weakly.cli._console import SafeConsole
from weakly.cli._errors import UserError, as_user_errors
from weakly.cli._files import STANDARD_STREAM, require_different
from weakly.cli._methods import suit_features
from weakly.cli._tables import output_path, read_table

SUFFIX = ".weakly"


class TableModel(BaseEstimator):
    """A fitted classifier together with what turns tables into its features.

    ``weakly label --save`` writes one, and :func:`weakly.io.load` returns it. The estimator is fitted to
    codes of ``classes``, which are in the order of their codes; ``target`` is the column that was filled,
    ``ignored`` are columns that were not learned from.
    """

    def __init__(self, preparation, estimator, classes, target, ignored=()):
        self.preparation = preparation
        self.estimator = estimator
        self.classes = classes
        self.target = target
        self.ignored = ignored

    @property
    def classes_(self):
        is_uniform = len({type(label) for label in self.classes}) == 1
        return np.array(self.classes, dtype=None if is_uniform else object)

    def predict(self, frame):
        """Predict the class of the samples of a table; its columns may come in any order, and others too."""
        return self.classes_[self.estimator.predict(self._features(frame))]

    def predict_proba(self, frame):
        """Estimate class probabilities of the samples of a table."""
        return self.estimator.predict_proba(self._features(frame))

    def notes(self, frame):
        """List, in sentences, what of a table is left out or not understood."""
        return list(self.preparation.notes(frame, [self.target, *self.ignored]))

    def _features(self, frame):
        return suit_features(self.preparation.transform(frame), self.estimator)


def run_predict(table, model, *, out=None, force=False):
    """Do what ``weakly predict`` does and return the table with its two new columns."""
    fitted, notes = _load(model)
    data = read_table(table)
    out = output_path(table, out, force=force, word="predicted")
    require_different({"the model": model, "--out": out})
    cells = data.cells
    label_name, confidence_name = f"{fitted.target}_predicted", f"{fitted.target}_confidence"
    for name in (label_name, confidence_name):
        if name in cells.columns:
            raise UserError(f"the table has a column {name!r} already: rename or remove it.")
    notes = [*data.notes, *notes, *fitted.notes(cells)]
    frame = cells.copy()
    frame[label_name] = labels = fitted.predict(cells)
    frame[confidence_name] = fitted.predict_proba(cells).max(axis=1)
    data.write(frame, out)
    counts = ", ".join(f"{np.sum(labels == name)} {name}" for name in fitted.classes_)
    lines = [f"{len(frame)} samples by {type(fitted.estimator).__name__}: {counts}."]
    lines += [f"note: {note}" for note in notes]
    console = SafeConsole(stderr=out == STANDARD_STREAM)
    for line in [*lines, "", f"Table: {out}"]:
        console.print(line, soft_wrap=True)
    return frame


def check_save_path(path):
    """Refuse, before any work is done, a name that is none of a model."""
    if path.suffix != SUFFIX:
        raise UserError(f"--save {str(path)!r} must end in {SUFFIX!r}.")
    _require_io()


def save_model(model, path):
    """Save a model; what a file cannot hold is the user's error."""
    try:
        _require_io().save(model, path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot save {str(path)!r}: {error}") from None


def _require_io():
    from weakly import io

    with as_user_errors(ImportError):
        io.require_skops()
    return io


def _load(path):
    """Return the model of a file, and what is to be told of the file."""
    io = _require_io()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with as_user_errors(ValueError, ImportError):
                model = io.load(path)
        except OSError as error:
            raise UserError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    if not isinstance(model, TableModel):
        raise UserError(
            f"{str(path)!r} holds a {type(model).__name__} that knows no columns: models of tables are "
            "written by weakly label --save."
        )
    return model, [str(warning.message) for warning in caught]
