"""The column to fill: which of its cells are missing, and which classes the others name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
import pandas as pd

from weakly.cli._cells import MISSING_WORDS
from weakly.cli._errors import UserError

FEW_CLASSES = 10  # up to here even numbers with decimals are taken for classes


@dataclass(frozen=True, slots=True)
class Target:
    """Class of each row (-1 where missing), each class as the filled cells say it, and what to tell."""

    codes: np.ndarray
    classes: list
    notes: list


def read_target(column, missing_words=()):
    """Read the column to fill.

    Only empty cells, blanks and ``missing_words`` are missing: any other word may be a class. Spellings of
    the same number (``7``, ``007``) are one class; all other labels differ as soon as their text does.
    """
    labels = column.astype(object).map(_strip)
    words = labels.map(str)
    missing = (labels.isna() | words.isin(["", *missing_words])).to_numpy()
    _require_known_and_missing(column.name, missing)
    known = labels[~missing]
    numbers = _as_numbers(known)
    codes = np.full(len(labels), -1)
    try:
        codes[~missing], _ = pd.factorize(known if numbers is None else numbers, sort=True)
    except TypeError:
        raise UserError(
            f"column {column.name!r} holds lists or records: only classes can be filled."
        ) from None
    spellings = [Counter(group) for _, group in known.groupby(codes[~missing])]
    classes = [counter.most_common(1)[0][0] for counter in spellings]
    _require_classes(column.name, classes, len(known), numbers)
    if not missing_words and _may_mark_missing(known, numbers, classes):
        raise UserError(
            f"column {column.name!r} has both empty cells and -1, which may mean missing too or be a class: "
            "add --missing -1 if it means missing, --missing '' if it is a class."
        )
    notes = [
        *_note_numbers(classes, numbers),
        *_note_crowd(classes, len(known)),
        *_note_merged(spellings),
        *_note_alike(classes),
        *_note_words(classes, missing_words, words),
    ]
    return Target(codes, classes, notes)


def _require_known_and_missing(name, missing):
    if missing.all():
        raise UserError(f"column {name!r} has no label at all: fill in some cells of at least two classes.")
    if not missing.any():
        raise UserError(
            f"column {name!r} has no missing label: leave the cells to fill empty, or name the word that "
            "they hold with --missing."
        )


def _require_classes(name, classes, n_labels, numbers):
    if len(classes) == 1:
        raise UserError(f"column {name!r} has one class only, {classes[0]!r}: fill in a cell of another.")
    fractions = numbers is not None and any(number != number.to_integral_value() for number in numbers)
    if fractions and _is_crowd(classes, n_labels):
        raise UserError(
            f"column {name!r} holds {len(classes)} different numbers with decimals in {n_labels} labels: it "
            "reads as an amount, and only classes can be filled. Turn it into a few, such as low and high."
        )


def _strip(cell):
    return cell.strip() if isinstance(cell, str) else cell


def _as_numbers(known):
    """Return exact numbers where all labels are numbers, else None."""
    if known.map(lambda label: "_" in str(label)).any():  # which Python reads over: 1_0 is not 10
        return None
    try:
        numbers = known.map(lambda label: Decimal(str(label)))
    except InvalidOperation:
        return None
    return numbers if all(number.is_finite() for number in numbers) else None


def _may_mark_missing(known, numbers, classes):
    """Whether a label is -1, which many programs write for a missing one; of two numbers it is a class."""
    if numbers is None:
        return known.map(str).isin(["-1", "-1.0"]).any()
    return len(classes) > 2 and (numbers == -1).any()


def _is_crowd(classes, n_labels):
    """Whether nearly all labels differ."""
    return len(classes) > FEW_CLASSES and 2 * len(classes) > n_labels


def _note_numbers(classes, numbers):
    if numbers is not None:
        yield f"the labels are {len(classes)} distinct numbers: taken as classes."


def _note_crowd(classes, n_labels):
    if _is_crowd(classes, n_labels):
        yield f"the {n_labels} labels are of {len(classes)} classes: hardly one to learn each of them from."


def _note_merged(spellings):
    for counter in spellings:
        if len(counter) > 1:
            words = [repr(word) for word, _ in counter.most_common()]
            yield f"{', '.join(words)} are one number and one class; filled cells say {words[0]}."


def _note_alike(classes):
    folded = Counter(str(label).casefold() for label in classes)
    alike = [repr(label) for label in classes if folded[str(label).casefold()] > 1]
    if alike:
        yield f"classes that differ only in case are kept apart: {', '.join(alike)}."


def _note_words(classes, missing_words, words):
    for label in map(str, classes):
        if label.casefold() in MISSING_WORDS:
            yield f"{label!r} is taken for a class; if it means missing, add --missing {label!r}."
    for word in missing_words:
        if not (words == word).any():
            yield f"no label says {word!r}, the word given with --missing."
