"""Total variation on a graph with a loss on the labeled samples: the alternating direction method."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from weakly.graphs import Graph
from weakly.graphs._edge_list import Edges
from weakly.losses import Loss
from weakly.manifold._labeled_step import CutIterate, FunctionPoint, LabeledStep, follow_cut, norm
from weakly.solvers._result import SolverResult
from weakly.solvers._tv_prox import prox_total_variation
from weakly.spaces import Smoother

_INNER_ITER = 10  # steps of the prox, which starts where it ended: more of them change nothing that counts
_INNER_TOL = (1e-8, 1e-4)  # of the two parts of a step: that of the whole, within these bounds
_SETTLED = 1e-4  # share of the rows that may still change their class in a settled state
PATIENCE = 20  # settled steps that end the iteration


def solve_total_variation(
    smoother: Smoother,
    graph: Graph,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    *,
    loss: str | Loss = "squared",
    ambient: float = 0.01,
    graph_weight: float = 0.04,
    coupling: float = 0.1,
    normalize: Callable[[np.ndarray], np.ndarray] | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[..., object] | None = None,
) -> SolverResult:
    """Minimize ``sum_labeled w_i loss(y_i, f_i) + a/2 ||f||^2 + g TV(f)`` over functions ``f`` of a space.

    ``f`` and its copy ``q`` on the graph take turns, held together by multipliers: ``f`` is the function
    near to ``q`` that suits the labels, ``q`` the values near to ``f`` with little variation along edges
    ([tvsvm] Eqs. (12) to (27) and (102) to (106), (128) to (136); the multipliers of the latter are not
    printed there). The minimum itself is all but constant when labels are few, so ``normalize`` gives
    ``q`` a level and a spread after every step. That makes the problem one of finding a good cut, with local
    minima: the start matters. Without ``normalize`` the problem is convex and solved as it stands.

    In the formula ``a`` is ``ambient`` and ``g`` is ``graph_weight``; ``coupling`` is the weight ``r`` of
    ``||f - q||^2 / 2``, and ``smoother`` has the penalty ``a / r``; the iteration runs where it lives.
    ``start`` holds the first values of ``q``, before they are normalized; the hinge has an intercept.

    Returns a result whose ``x`` holds the parameters of ``f`` and ``detail.graph_side`` the values ``q``.
    ``criterion`` is the relative change of ``q`` in a step. With ``normalize``, once at most one sample in
    10,000 changed its class in each of the last 20 steps, it is the largest such fraction, in units in which
    one in 10,000 is the tolerance.
    """
    inner_tol = float(np.clip(tol, *_INNER_TOL))
    step = LabeledStep(smoother, rows, targets, weights, loss=loss, coupling=coupling, tol=inner_tol)
    edges = Edges.of(graph).to(smoother.device)  # and so all that follows

    def objective(point: FunctionPoint, q: np.ndarray) -> float:
        return step.objective(point, ambient) + graph_weight * float(edges.variations(q).sum())

    def alternate() -> Iterator[CutIterate]:
        # A normalized cut is settled when classes are; a convex problem is not.
        shares: deque[float] = deque([np.inf] * PATIENCE, PATIENCE)
        q = edges.place(start) if normalize is None else normalize(edges.place(start))
        multipliers = 0 * q  # of f = q, divided by r
        point, dual = step(q), None
        yield (point, q), objective(point, q), 1.0
        while True:
            point = step(q - multipliers)
            smooth = prox_total_variation(
                edges,
                point.scores + multipliers,
                weight=graph_weight / coupling,
                dual=dual,
                tol=inner_tol,
                max_iter=_INNER_ITER,
            )
            dual, before, q = smooth.detail.dual, q, smooth.x if normalize is None else normalize(smooth.x)
            multipliers += point.scores - q
            criterion = norm(q - before) / (norm(before) or 1.0)
            if normalize is not None:
                shares.append(_share_moved(before, q))
                settled = max(shares) / _SETTLED
                criterion = min(criterion, tol * settled) if settled <= 1 else criterion
            yield (point, q), objective(point, q), criterion

    return follow_cut(smoother, alternate(), tol, max_iter, callback)


def _share_moved(before: np.ndarray, after: np.ndarray) -> float:
    """Fraction of the samples whose class differs between two states."""
    moved = (before > 0) != (after > 0) if before.shape[1] == 1 else before.argmax(1) != after.argmax(1)
    return float(moved.sum() / len(moved))
