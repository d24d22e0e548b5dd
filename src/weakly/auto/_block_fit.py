"""Choice and decisions where rows come in blocks: only labelled rows are held, all others are summed over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weakly.auto._blend import Average, Blend, BlendFunction, Fits, by_rule, mean_of_rules
from weakly.auto._block_spectra import RowKeys
from weakly.auto._choice import Problem, pose_codes
from weakly.auto._views import Reference
from weakly.estimators._base import class_codes
from weakly.estimators._calibration import probabilities
from weakly.rows._blocks import RowBlocks, canonical


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """Labels of rows in blocks, with the labelled rows themselves.

    Parameters
    ----------
    problem : Problem
        The labels, whose rows count from 0 among those held here.
    rows : {ndarray, csr matrix} of shape (n_labeled, n_features)
        Labelled rows, in the order of their keys.
    columns : ndarray of shape (n_classes, n_columns)
        From the classes of the problem to the columns of decisions.
    public : ndarray of shape (n_classes,)
        Sorted class of each class of the problem.
    """

    problem: Problem
    rows: Any
    columns: np.ndarray
    public: np.ndarray


def pose_blocks(
    labels: Any, blocks: RowBlocks, shares: np.ndarray | None, most_labels: int, seed: int
) -> BlockProblem:
    """Take the labelled rows, at most so many, in an order that does not hang on that of the input."""
    keys = blocks.of(blocks.map(RowKeys(seed), width=None, dtype=np.uint64)).take(labels.labeled)
    order = np.argsort(keys, kind="stable")
    problem, columns, public = pose_codes(labels.labeled_codes[order], labels.n_classes, shares)
    problem = problem.first(most_labels)
    rows = canonical(blocks.take(labels.labeled[order][problem.rows]))
    return BlockProblem(replace(problem, rows=np.arange(len(problem.rows))), rows, columns, public)


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of a block of rows.

    Parameters
    ----------
    function : BlendFunction
        From rows to scores.
    dtype : dtype
        Of the scores.
    """

    function: BlendFunction
    dtype: Any = np.float64

    def __call__(self, rows: Any) -> np.ndarray:
        """Score rows."""
        return self.function(canonical(rows)).astype(self.dtype, copy=False)

    def squared(self, rows: Any) -> np.ndarray:
        """Products of all pairs of columns, summed over rows."""
        scores = self(rows)
        return scores.T @ scores


def average_blocks(
    fits: Fits, weights: list[np.ndarray], blocks: RowBlocks, reference: Reference
) -> list[Average]:
    """Averages by several sets of weights, as :func:`average` has them, in one pass over the rows."""
    pairs = [by_rule(fits, part) for part in weights]
    scores = BlockScores(side_by_side([both for both, _ in pairs]).function(reference))
    products = blocks.reduce(scores.squared) / blocks.shape[0]
    n_classes, width = fits.problem.n_classes, len(products) // len(weights)
    averages = []
    for place, (both, held_out) in enumerate(pairs):
        own = slice(place * width, (place + 1) * width)
        squares = products[own, own]
        mean = mean_of_rules(np.sqrt(np.diag(squares).reshape(-1, n_classes).mean(axis=1)), n_classes)
        mean /= np.sqrt(np.trace(mean.T @ squares @ mean) / n_classes) or 1.0
        averages.append(Average(both @ mean, None, held_out @ mean))
    return averages


def side_by_side(blends: list[Blend]) -> Blend:
    """One blend with the columns of several."""
    widths = [len(part.offset) for part in blends]
    ends = np.cumsum([0, *widths])
    spread = np.eye(ends[-1])
    total = blends[0] @ spread[: ends[1]]
    for part, start, end in zip(blends[1:], ends[1:-1], ends[2:], strict=True):
        total = total + part @ spread[start:end]
    return total


@dataclass(frozen=True, eq=False)
class Published:
    """What a fit says of its own rows: arrays in memory, lazy ones for the rows of a collection.

    Parameters
    ----------
    transduction : array of shape (n_rows,)
        Labels.
    distributions : array of shape (n_rows, n_classes)
        Class probabilities.
    supervised : array of shape (n_rows,)
        Labels by the supervised kernels alone.
    """

    transduction: Any
    distributions: Any
    supervised: Any


def publish_blocks(
    blocks: RowBlocks,
    ours: Blend,
    baseline: Blend,
    reference: Reference,
    classes: np.ndarray,
    temperature: float,
) -> Published:
    """Decisions of both functions on all rows, which are measured once, and what follows from them."""
    n_columns, dtype = len(ours.offset), blocks.dtype
    scores = BlockScores(side_by_side([ours, baseline]).function(reference), dtype)
    decided = blocks.of(blocks.map(scores, width=2 * n_columns, dtype=dtype))

    def label_by_ours(scores: np.ndarray) -> np.ndarray:
        return classes[class_codes(scores[:, :n_columns])]

    def distribute(scores: np.ndarray) -> np.ndarray:
        return probabilities(scores[:, :n_columns], temperature)

    def label_by_baseline(scores: np.ndarray) -> np.ndarray:
        return classes[class_codes(scores[:, n_columns:])]

    return Published(
        decided.map(label_by_ours, width=None, dtype=classes.dtype),
        decided.map(distribute, width=len(classes), dtype=dtype),
        decided.map(label_by_baseline, width=None, dtype=classes.dtype),
    )
