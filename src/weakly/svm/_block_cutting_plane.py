"""Cutting planes over label vectors of rows in blocks, as ``solve_cutting_plane`` for rows in memory.

Label vectors are bytes beside the rows. What is gathered are vectors with an entry per column and, for the
thresholds of labels, a sample of some thousand scores of each block and the scores between two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from weakly.solvers._cutting_plane import _FORGOTTEN, _MOST_STEPS, _ROUNDING
from weakly.solvers._result import SolverResult
from weakly.svm._order_statistics import Gathered
from weakly.svm._primal_mixture import (
    MixtureFit,
    MixtureProblem,
    Shift,
    adjoint_rows,
    apply_rows,
    fit_mixture,
    margins_of,
)

_SHARE_OF_TOL = 0.1  # of the machines
_SAMPLES = 1024  # keys of a block that bound the ranks of all


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Label vectors, a column each, and the machine for them."""

    labels: Any
    fit: MixtureFit


def solve_block_cutting_plane(
    problem: MixtureProblem,
    start: Any,
    least: int,
    most: int,
    *,
    tol: float = 1e-3,
    max_labels: int = 20,
    refine: int = 0,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimise, over mixtures of label vectors of rows in blocks, the objective of a linear machine.

    [wellsvm] Algorithm 1, with ``oracle="ascent"`` of ``solve_cutting_plane``. After each label vector that
    joins, vectors and weights of all are solved for together.

    Parameters
    ----------
    problem : MixtureProblem
        The rows.
    start : aligned values
        First label vector.
    least, most : int
        Bounds of the number of positive labels among the unlabelled rows.
    tol : float, default=1e-3
        Relative gain of the objective at which the method ends; machines are solved to a tenth of it.
    max_labels : int, default=20
        Most label vectors.
    refine : int, default=0
        Most rounds after that, in each of which the label vector that fits the scores best takes the place
        of the mixture.
    callback : callable, optional
        Called after every round; the method stops where it returns True.

    Returns
    -------
    SolverResult
        ``x`` holds the function of the mixture, with that of the constant column last. All else is as in
        ``solve_cutting_plane``; ``labels`` stay where the rows are.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._block_cutting_plane import solve_block_cutting_plane
    >>> from weakly.svm._primal_mixture import MixtureProblem
    >>> blocks, known = ArrayBlocks(np.array([[-2.0], [-1.9], [1.9], [2.0]])), np.array([-1.0, 0, 0, 1])
    >>> problem = MixtureProblem(blocks, np.zeros(1), 0.0, np.ones(4), known)
    >>> result = solve_block_cutting_plane(problem, np.array([-1, 1, -1, 1]), least=1, most=1)
    >>> bool(result.x[0] > 0), result.status
    (True, 'converged')
    """
    found = _alone(problem, start, tol)
    history: list[tuple[float, float]] = []
    status = None
    while status is None:
        fit = found.fit
        scale = abs(fit.objective) or 1.0
        better, norm = _find_violated(problem, found, least, most)
        violation = (norm - fit.weights @ fit.norms) / 2 / scale
        if better is None or (norm - fit.norms.max()) / 2 <= tol * scale:
            status = "converged"
        elif history and history[-1][0] - fit.objective <= tol * scale:
            status = "stalled"
        elif len(fit.W) >= max_labels:
            status = "max_iter"
        history.append((fit.objective, violation))
        if status is None and callback is not None and callback():
            status = "stopped"
        elif status is None:
            found = _joined(problem, found, better, tol)
    found, is_solved = _refined(problem, found, least, most, refine, tol)
    if status != "stopped" and not is_solved:
        status = "max_iter"
    objectives, criteria = np.array(history).T
    return SolverResult(
        x=found.fit.W.sum(axis=0),
        objective=objectives,
        criterion=criteria,
        n_iter=len(history),
        status=status,
        labels=found.labels.T,
        label_weights=found.fit.weights,
    )


def best_labels(problem: MixtureProblem, dual: Any, vector: np.ndarray, least: int, most: int) -> Any:
    """The label vector with the largest ``sum_i a_i y_i x_i v``, as ``SignSet.best``; no dual is 1 for all.

    Parameters
    ----------
    problem : MixtureProblem
        The rows, and the labels that are known.
    dual : aligned values or None
        The numbers ``a``.
    vector : ndarray of shape (n_params,)
        The vector ``v``.
    least, most : int
        Bounds of the number of positive labels among the unlabelled rows.

    Returns
    -------
    aligned values
        Labels, kept; rows that are equal in all are taken in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.rows._blocks import ArrayBlocks
    >>> from weakly.svm._primal_mixture import MixtureProblem
    >>> from weakly.svm._block_cutting_plane import best_labels
    >>> rows, known = ArrayBlocks(np.array([[-9.0], [0.3], [0.1], [0.2], [-1.0]])), np.array([1, 0, 0, 0, 0])
    >>> problem = MixtureProblem(rows, np.zeros(1), 0.0, np.ones(5), known)
    >>> best_labels(problem, None, np.array([1.0, 0.0]), least=2, most=2).tolist()
    [1, 1, -1, 1, -1]
    """
    limit = _limit(problem, dual, vector, least, most)
    function = partial(_labels, shift=problem.shift, vector=vector, limit=limit)
    return problem.blocks.keep(
        problem.blocks.map(function, *_aligned(problem, dual), width=None, dtype=np.int8)
    )


def _aligned(problem: MixtureProblem, dual: Any) -> tuple:
    return (problem.known, problem.numbers, *(() if dual is None else (dual,)))


def _limit(
    problem: MixtureProblem, dual: Any, vector: np.ndarray, least: int, most: int
) -> tuple[float, ...]:
    """The last keys of an unlabelled row that gets a positive label.

    Samples of the sorted keys of each block bound the ranks of all samples, so that a second pass need only
    gather the keys between two of them.
    """
    settings: dict[str, Any] = {"shift": problem.shift, "vector": vector}
    aligned = _aligned(problem, dual)
    sampled, n_gains = problem.blocks.reduce(partial(_sample, **settings), *aligned)
    k = int(np.clip(n_gains, least, most))
    if not k:
        return np.inf, np.inf, np.inf
    samples = _descending(sampled.values)
    fewest, most_above = np.cumsum(samples[:, 3]), np.cumsum(samples[:, 4])
    low = int(np.searchsorted(fewest, k))
    if most_above[low] == k:
        return tuple(samples[low, :3])
    high = int(np.searchsorted(most_above, k)) - 1  # the last sample that is above for certain
    ends = tuple(samples[high, :3]) if high >= 0 else (np.inf,) * 3, tuple(samples[low, :3])
    between, n_above = problem.blocks.reduce(partial(_between, ends=ends, **settings), *aligned)
    return tuple(_descending(between.values)[k - n_above - 1])


def _alone(problem: MixtureProblem, label: Any, tol: float, start: np.ndarray | None = None) -> _Mixture:
    """One label vector, and the machine for it."""
    blocks = problem.blocks
    labels = blocks.keep(blocks.of(label).map(as_column, width=1, dtype=np.int8))
    start = np.zeros((1, problem.n_params)) if start is None else start
    return _Mixture(labels, fit_mixture(problem, labels, start, tol=_SHARE_OF_TOL * tol))


def _joined(problem: MixtureProblem, found: _Mixture, label: Any, tol: float) -> _Mixture:
    """The mixture with one more label vector, and without those that are left no weight."""
    blocks, width = problem.blocks, len(found.fit.W) + 1
    labels = blocks.keep(blocks.of(found.labels).map(_append, label, width=width, dtype=np.int8))
    start = np.vstack([found.fit.W, np.zeros(problem.n_params)])
    fit = fit_mixture(problem, labels, start, tol=_SHARE_OF_TOL * tol)
    kept = fit.weights > _FORGOTTEN
    if kept.all():
        return _Mixture(labels, fit)
    shares = fit.weights[kept] / fit.weights[kept].sum()
    fit = replace(fit, W=fit.W[kept], weights=shares, vectors=fit.vectors[kept])
    columns = partial(_columns, kept=kept)
    return _Mixture(blocks.keep(blocks.of(labels).map(columns, width=len(shares), dtype=np.int8)), fit)


def _refined(
    problem: MixtureProblem, found: _Mixture, least: int, most: int, n_rounds: int, tol: float
) -> tuple[_Mixture, bool]:
    """Take the nearest labeling and fit to it, in turn; and whether all machines were solved."""
    is_solved = found.fit.is_solved
    for _ in range(n_rounds):
        vector = found.fit.W.sum(axis=0)
        label = best_labels(problem, None, vector, least, most)
        if len(found.fit.W) == 1 and not problem.blocks.of(label).reduce(_n_different, found.labels):
            break
        found = _alone(problem, label, tol, vector[None])
        is_solved = is_solved and found.fit.is_solved
    return found, is_solved


def _find_violated(problem: MixtureProblem, found: _Mixture, least: int, most: int) -> tuple[Any, float]:
    """Look for a label vector with a larger norm under the dual point: steps climb ([wellsvm] Prop. 4)."""
    blocks, fit = problem.blocks, found.fit
    function = partial(_dual, shift=problem.shift, W=fit.W)
    dual = blocks.keep(blocks.map(function, found.labels, problem.costs, width=None, dtype=np.float64))
    norm, vector, origin = float(fit.norms.max()), fit.vectors[fit.norms.argmax()], None
    for _ in range(_MOST_STEPS):
        limit = _limit(problem, dual, vector, least, most)
        function = partial(_pull, shift=problem.shift, vector=vector, limit=limit)
        proposed = blocks.reduce(function, *_aligned(problem, dual))
        gained = float(proposed @ proposed)
        if gained <= norm * (1 + _ROUNDING):
            break
        origin, vector, norm = vector, proposed, gained
    label = None if origin is None else best_labels(problem, dual, origin, least, most)
    return label, norm


def _dual(rows: Any, labels: np.ndarray, costs: np.ndarray, shift: Shift, W: np.ndarray) -> np.ndarray:
    return costs * np.maximum(1 - margins_of(rows, labels, shift, W), 0)


def as_column(label: np.ndarray) -> np.ndarray:
    return label[:, None].astype(np.int8)


def _append(labels: np.ndarray, label: np.ndarray) -> np.ndarray:
    return np.column_stack([labels, label])


def _columns(labels: np.ndarray, kept: np.ndarray) -> np.ndarray:
    return labels[:, kept]


def _n_different(label: np.ndarray, labels: np.ndarray) -> int:
    return int(np.count_nonzero(label != labels[:, 0]))


def _keys(
    rows: Any, known: np.ndarray, numbers: np.ndarray, *dual: np.ndarray, shift: Shift, vector: np.ndarray
) -> np.ndarray:
    """What rows are ordered by: gains, of equal ones scores, of equal ones numbers, from the smallest."""
    scores = apply_rows(rows, shift, vector[None])[:, 0]
    return np.column_stack([dual[0] * scores if dual else scores, scores, -numbers.astype(np.float64)])


def _descending(keys: np.ndarray) -> np.ndarray:
    return keys[np.lexsort(keys.T[2::-1])[::-1]]


def _at_least(keys: np.ndarray, limit: tuple[float, ...]) -> np.ndarray:
    gains, scores, numbers = keys.T
    last = (scores == limit[1]) & (numbers >= limit[2])
    return (gains > limit[0]) | ((gains == limit[0]) & ((scores > limit[1]) | last))


def _sample(rows: Any, known: np.ndarray, *aligned: np.ndarray, **settings: Any) -> tuple[Gathered, int]:
    """Some sorted keys, what each adds to the fewest and the most rows up to it, and the rows that gain."""
    keys = _keys(rows, known, *aligned, **settings)[known == 0]
    n_gains = int(np.count_nonzero((keys[:, 0] > 0) | ((keys[:, 0] == 0) & (keys[:, 1] > 0))))
    n_rows = len(keys)
    places = np.unique(np.append(np.arange(0, n_rows, -(-n_rows // _SAMPLES) or 1), max(n_rows - 1, 0)))[
        :n_rows
    ]
    fewest = np.diff(places + 1, prepend=0)
    most = np.diff(np.append(places[1:], n_rows), prepend=0)[:n_rows]
    return Gathered(np.column_stack([_descending(keys)[places], fewest, most])), n_gains


def _between(
    rows: Any, known: np.ndarray, *aligned: np.ndarray, ends: tuple, **settings: Any
) -> tuple[Gathered, int]:
    """Keys below the first end down to the second, and the number of those before."""
    keys = _keys(rows, known, *aligned, **settings)[known == 0]
    above = _at_least(keys, ends[0])
    return Gathered(keys[~above & _at_least(keys, ends[1])]), int(np.count_nonzero(above))


def _labels(
    rows: Any, known: np.ndarray, *aligned: np.ndarray, limit: tuple[float, ...], **settings: Any
) -> np.ndarray:
    positive = _at_least(_keys(rows, known, *aligned, **settings), limit)
    return np.where(known != 0, np.sign(known), np.where(positive, 1, -1)).astype(np.int8)


def _pull(rows: Any, known: np.ndarray, numbers: np.ndarray, dual: np.ndarray, **settings: Any) -> np.ndarray:
    """Function of the dual point and the label vector that scores lead to."""
    labels = _labels(rows, known, numbers, dual, **settings)
    return adjoint_rows(rows, settings["shift"], (dual * labels)[:, None])[0]
