"""Functions of several kernels, weighted and summed: one set of weights for all that share coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.linalg as sla

from weakly.auto._choice import Choice, Problem
from weakly.auto._kernels import Candidate, KernelBank
from weakly.auto._views import Reference
from weakly.rows._arrays import namespace
from weakly.rows._blocks import ArrayBlocks, RowBlocks
from weakly.spaces import Coordinates, FilteredSpace


@dataclass(frozen=True, eq=False)
class Blend:
    """A sum of functions of coordinates, several columns at a time.

    ``parts`` are coordinates with the weights of each function, a column each. ``known`` are its scores where
    they are known already, so that combinations of its columns need no others.
    """

    parts: list[tuple[Coordinates, np.ndarray]]
    offset: np.ndarray
    known: np.ndarray | None = None

    def __matmul__(self, matrix: np.ndarray) -> Blend:
        """Combine the columns."""
        parts = [(where, theta @ matrix) for where, theta in self.parts]
        return Blend(parts, self.offset @ matrix, None if self.known is None else self.known @ matrix)

    def __add__(self, other: Blend) -> Blend:
        """Add two sums."""
        merged = {id(where): (where, theta) for where, theta in self.parts}
        for where, theta in other.parts:
            known = merged.get(id(where))
            merged[id(where)] = (where, theta if known is None else theta + known[1])
        is_known = self.known is not None and other.known is not None
        return Blend(
            list(merged.values()), self.offset + other.offset, self.known + other.known if is_known else None
        )

    def scores(self) -> np.ndarray:
        """Values on the samples that the coordinates have values of, in float64."""
        if self.known is not None:
            return self.known
        total = np.tile(self.offset, (self.parts[0][0].n_rows, 1))
        for coordinates, theta in self.parts:
            total += coordinates.scores(theta)
        return total

    def function(self, reference: Reference) -> BlendFunction:
        """The function for new samples, free of the values of the training samples."""
        weights: dict[int, tuple] = {}
        for where, theta in self.parts:
            if not theta.any():
                continue
            measure, function = where.mapping.measure, where.function(theta)
            known = weights.get(id(measure), (measure, 0, 0))  # several coordinates may share their values
            weights[id(measure)] = (measure, known[1] + function.theta, known[2] + function.shift)
        return BlendFunction(list(weights.values()), self.offset, reference)


@dataclass(frozen=True, eq=False)
class BlendFunction:
    """A blend for new rows, which are measured once for all kernels.

    ``weights`` are triples: a function from views to values, the weights of the values, and what is added to
    them. ``reference`` is what new rows are held against.
    """

    weights: list
    offset: np.ndarray
    reference: Reference

    def __call__(self, X: Any) -> np.ndarray:
        """Score samples, a block at a time."""
        return ArrayBlocks(X).map(self._of_block, width=len(self.offset), dtype=np.float64)

    def _of_block(self, rows: Any) -> np.ndarray:
        views = self.reference.views(rows)
        out = np.tile(self.offset, (rows.shape[0], 1))
        for measure, theta, shift in self.weights:
            values = measure(views)
            out += namespace(values).product(values, theta) + shift
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
    """Coefficients of the labeled samples in each model.

    Where only some labels chose, the models that matter are fitted again with all of them, those of
    ``problem``, at the penalty that the choice liked best.
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
    """The mean of both rules, with a column per class and a mean square of 1 over all samples.

    ``held_out`` are scores of the labels that chose, each without itself, in the same units.
    """

    blend: Blend
    held_out: np.ndarray

    def __matmul__(self, matrix: np.ndarray) -> Average:
        """Combine the columns."""
        return Average(self.blend @ matrix, self.held_out @ matrix)

    def mixed(self, other: Average, share: float) -> Average:
        """A weighted mean with another average."""
        columns = np.eye(self.held_out.shape[1])
        return Average(
            self.blend @ (columns * (1 - share)) + other.blend @ (columns * share),
            (1 - share) * self.held_out + share * other.held_out,
        )


def average(fits: Fits, weights: list[np.ndarray], bank: KernelBank, blocks: RowBlocks) -> list[Average]:
    """Average the models by each rule, and both rules at equal size, by several sets of weights.

    A set has a line of weights of the models for each rule. The bank is asked for the sizes of scores over
    all samples, and reads the blocks of these at most once.
    """
    rules = [by_rule(fits, part) for part in weights]
    together, products = bank.scored(blocks, side_by_side([both for both, _ in rules]))
    width = len(products) // len(weights)
    averages = []
    for place, (_, held_out) in enumerate(rules):
        own = slice(place * width, (place + 1) * width)
        mean = mean_of_rules(products[own, own], fits.problem.n_classes)
        columns = np.zeros((len(products), fits.problem.n_classes))
        columns[own] = mean
        averages.append(Average(together @ columns, held_out @ mean))
    return averages


def by_rule(fits: Fits, weights: np.ndarray) -> tuple[Blend, np.ndarray]:
    """The function of each rule, its columns side by side, and its scores of the labels that chose."""
    n_rules, n_classes = len(weights), fits.problem.n_classes
    level = np.tile(fits.problem.level, n_rules)
    both = blend(fits, weights)
    held_out = np.einsum("rm,rmic->irc", weights, fits.choice.held_out).reshape(-1, n_rules * n_classes)
    return Blend(both.parts, both.offset + level), held_out + level


def mean_of_rules(products: np.ndarray, n_classes: int) -> np.ndarray:
    """The matrix from the columns of all rules to the mean of the rules, of equal sizes and mean square 1.

    ``products`` are those of all pairs of columns, means over all samples.
    """
    sizes = np.sqrt(np.diag(products).reshape(-1, n_classes).mean(axis=1))
    mean = np.vstack([np.eye(n_classes) / (size or 1.0) for size in sizes]) / len(sizes)
    return mean / (np.sqrt(max(np.trace(mean.T @ products @ mean) / n_classes, 0.0)) or 1.0)


def side_by_side(blends: list[Blend]) -> Blend:
    """One blend with the columns of several."""
    ends = np.cumsum([len(part.offset) for part in blends])
    places = np.split(np.eye(ends[-1]), ends[:-1])
    return reduce(add, [part @ place for part, place in zip(blends, places, strict=True)])
