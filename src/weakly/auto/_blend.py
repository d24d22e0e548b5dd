"""Functions of several kernels, weighted and summed: one set of weights for all that share coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.utils import gen_batches

from weakly.auto._bank import Candidate
from weakly.auto._choice import Choice, Problem
from weakly.auto._views import BLOCK, Reference
from weakly.rows._arrays import namespace
from weakly.spaces import Coordinates, FilteredSpace


@dataclass(frozen=True, eq=False)
class Blend:
    """A sum of functions of coordinates, several columns at a time.

    Parameters
    ----------
    parts : list of (Coordinates, ndarray of shape (n_coordinates, n_columns))
        Coordinates with the weights of each function.
    offset : ndarray of shape (n_columns,)
        Added to the sum.
    """

    parts: list[tuple[Coordinates, np.ndarray]]
    offset: np.ndarray

    def __matmul__(self, matrix: np.ndarray) -> Blend:
        """Combine the columns."""
        return Blend([(where, theta @ matrix) for where, theta in self.parts], self.offset @ matrix)

    def __add__(self, other: Blend) -> Blend:
        """Add two sums."""
        merged = {id(where): (where, theta) for where, theta in self.parts}
        for where, theta in other.parts:
            known = merged.get(id(where))
            merged[id(where)] = (where, theta if known is None else theta + known[1])
        return Blend(list(merged.values()), self.offset + other.offset)

    def scores(self) -> np.ndarray:
        """Values on the training rows, in float64."""
        total = np.tile(self.offset, (self.parts[0][0].n_rows, 1))
        for coordinates, theta in self.parts:
            total += coordinates.scores(theta)
        return total

    def function(self, reference: Reference) -> BlendFunction:
        """The function for new rows, free of the values of the training rows."""
        weights: dict[int, tuple] = {}
        for where, theta in self.parts:
            measure, function = where.mapping.measure, where.function(theta)
            known = weights.get(id(measure), (measure, 0, 0))  # several coordinates may share their values
            weights[id(measure)] = (measure, known[1] + function.theta, known[2] + function.shift)
        return BlendFunction(list(weights.values()), self.offset, reference)


@dataclass(frozen=True, eq=False)
class BlendFunction:
    """A blend for new rows, which are measured once for all kernels.

    Parameters
    ----------
    weights : list of (callable, ndarray, ndarray)
        From views to values, the weights of the values, and what is added.
    offset : ndarray of shape (n_columns,)
        Added to the sum.
    reference : Reference
        What new rows are held against.
    """

    weights: list
    offset: np.ndarray
    reference: Reference

    def __call__(self, X: Any) -> np.ndarray:
        """Score rows, a block at a time."""
        out = np.tile(self.offset, (X.shape[0], 1))
        for block in gen_batches(X.shape[0], BLOCK):
            views = self.reference.views(X[block])
            for measure, theta, shift in self.weights:
                values = measure(views)
                out[block] += namespace(values).product(values, theta) + shift
        return out

    def to_numpy(self) -> BlendFunction:
        """The same function without a device."""
        return replace(self, reference=replace(self.reference, device=None))


def blend(fits: Fits, weights: np.ndarray) -> Blend:
    """Sum the functions of all models by weight; the columns are the classes, rule by rule."""
    n_rules, n_classes = len(weights), fits.problem.n_classes
    offset = np.zeros((n_rules, n_classes))
    sums: dict[int, tuple[Coordinates, np.ndarray]] = {}
    for rule, model in np.argwhere(weights > 0):
        space = fits.candidates[model % len(fits.candidates)].space
        coefficients = weights[rule, model] * fits(rule, model)
        offset[rule] += fits.choice.constants[model] * coefficients.sum(axis=0)
        where = space.coordinates
        theta = sums.setdefault(id(where), (where, np.zeros((where.n_coordinates, n_rules * n_classes))))[1]
        columns = slice(rule * n_classes, (rule + 1) * n_classes)
        theta[:, columns] += space.weights[:, None] * where.weigh(fits.problem.rows, coefficients)
    return Blend(list(sums.values()), offset.ravel())


class Fits:
    """Coefficients of the labelled rows in each model.

    Where only some labels chose, the models that matter are fitted again with all of them, at the penalty
    that the choice liked best.

    Parameters
    ----------
    candidates : list of Candidate
        The kernels.
    choice : Choice
        The choice.
    problem : Problem
        All labels.
    """

    def __init__(self, candidates: list[Candidate], choice: Choice, problem: Problem) -> None:
        self.candidates = candidates
        self.choice = choice
        self.problem = problem
        self._known: dict[tuple[int, int], np.ndarray] = {}

    def __call__(self, rule: int, model: int) -> np.ndarray:
        """Coefficients, one column per class."""
        if len(self.problem.rows) == len(self.choice.problem.rows):
            return self.choice.coefficients[rule, model]
        if (rule, model) not in self._known:
            space = self.candidates[model % len(self.candidates)].space
            constant, penalty = self.choice.constants[model], self.choice.penalties[rule, model]
            self._known[rule, model] = self._solve(space, constant, penalty)
        return self._known[rule, model]

    def _solve(self, space: FilteredSpace, constant: float, penalty: float) -> np.ndarray:
        """``(K + c + p I)^-1 Y``, by as small a system as there is."""
        rows, targets = self.problem.rows, self.problem.targets
        if len(rows) <= space.n_params:
            matrix = space.gram(rows) + constant
            matrix.flat[:: len(matrix) + 1] += penalty
            return sla.solve(matrix, targets, assume_a="pos", overwrite_a=True, check_finite=False)
        offset = np.full((len(rows), 1), np.sqrt(constant))
        Z = np.hstack([space.coordinates.of(rows) * np.sqrt(space.weights), offset])
        matrix = Z.T @ Z
        matrix.flat[:: len(matrix) + 1] += penalty
        theta = sla.solve(matrix, Z.T @ targets, assume_a="pos", overwrite_a=True, check_finite=False)
        return (targets - Z @ theta) / penalty


@dataclass(frozen=True, eq=False)
class Average:
    """The mean of both rules, with a column per class and a mean square of 1 over all rows.

    Parameters
    ----------
    blend : Blend
        The function.
    scores : ndarray of shape (n_rows, n_classes) or None
        Its values on all rows; ``None`` where rows are many, and are scored when asked for.
    held_out : ndarray of shape (n_scored, n_classes)
        Scores of the labels that chose, each without itself, in the same units.
    """

    blend: Blend
    scores: np.ndarray | None
    held_out: np.ndarray

    def mixed(self, other: Average, share: float) -> Average:
        """A weighted mean with another average."""
        columns = np.eye(self.held_out.shape[1])
        scores = None if self.scores is None else (1 - share) * self.scores + share * other.scores
        return Average(
            self.blend @ (columns * (1 - share)) + other.blend @ (columns * share),
            scores,
            (1 - share) * self.held_out + share * other.held_out,
        )


def average(fits: Fits, weights: np.ndarray) -> Average:
    """Average the models by each rule, and both rules at equal size.

    Parameters
    ----------
    fits : Fits
        The models.
    weights : ndarray of shape (n_rules, n_models)
        Weights of the models.

    Returns
    -------
    Average
        The function, and its values.
    """
    n_rules, n_classes = len(weights), fits.problem.n_classes
    both, held_out = by_rule(fits, weights)
    scores = both.scores()
    sizes = np.sqrt((scores.reshape(-1, n_rules, n_classes) ** 2).mean(axis=(0, 2)))
    mean = mean_of_rules(sizes, n_classes)
    mean /= np.sqrt(((scores @ mean) ** 2).mean()) or 1.0
    return Average(both @ mean, scores @ mean, held_out @ mean)


def by_rule(fits: Fits, weights: np.ndarray) -> tuple[Blend, np.ndarray]:
    """The function of each rule, its columns side by side, and its scores of the labels that chose."""
    n_rules, n_classes = len(weights), fits.problem.n_classes
    level = np.tile(fits.problem.level, n_rules)
    both = blend(fits, weights)
    held_out = np.einsum("rm,rmic->irc", weights, fits.choice.held_out).reshape(-1, n_rules * n_classes)
    return Blend(both.parts, both.offset + level), held_out + level


def mean_of_rules(sizes: np.ndarray, n_classes: int) -> np.ndarray:
    """The matrix that takes the columns of all rules to their mean, each divided by its size."""
    return np.vstack([np.eye(n_classes) / (size or 1.0) for size in sizes]) / len(sizes)
