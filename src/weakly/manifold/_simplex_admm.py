"""Laplacian problems whose scores are shares of the classes: every row on the simplex.

For the classes ``k`` of ``C`` the problem of [tvsvm] Eqs. (93) and (118) is, over functions of a space, ::

    min_f  sum_k [ sum_i w_i loss(y_ik, f_ik) + (a ||f^k||^2 + g f^k' L f^k) / 2 ]
    s.t.   f_ik >= 0 and sum_k f_ik = 1 on all rows,

where the hinge sees ``f_ik + b_k``. It is convex, and solved by the alternating direction method of
multipliers: ``f`` without the constraint, ``q`` on the simplex, and ``f = q`` in the end.

**The level is free.** Write ``f^k = 1/C + h^k``. The ``h^k`` sum to 0, so that their products with the level
cancel in the sum over classes: the penalty of ``f`` is that of ``h`` and a constant. The solver looks for
``h``. The scores are the same, and there is a solution even in features that cannot sum to 1 on every row.

**The coupling is a change of space.** The step for ``f`` adds ``r/2 ||f - e||^2``. It joins the norm, whose
graph part becomes ``g L + r I``; without a loss the minimizer is ``T^-1 A* r e``, and the loss adds to it the
solution of a supervised problem on the labeled rows. One factorization serves all iterations and classes.
(A coupling may differ from row to row: the projection of a row does not depend on it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from weakly.graphs._anchors import AnchorLaplacian
from weakly.losses import LOSSES
from weakly.manifold._follow import follow
from weakly.solvers._hinge_dual import solve_hinge_dual
from weakly.solvers._result import SolverResult
from weakly.solvers._simplex import project_simplex
from weakly.spaces import (
    DeformedSpace,
    Restriction,
    deform,
    restrict,
)

_RELAXATION = 1.6  # [boyd2011] section 3.4.3
_PRECISION = 100  # of the hinge on the labeled rows, compared to the tolerance
_LARGEST_ERROR = 1e-3  # of the factorization; beyond it the scores cannot be trusted
# Of the default coupling, found by trying: a factor, and the least penalty, as a part of the loss.
_COUPLING = {"squared": 0.4, "squared_hinge": 1.0, "hinge": 1.0}
_LEAST_PENALTY = 0.1


def solve_simplex(
    space: DeformedSpace,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str = "squared",
    coupling: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callable[[np.ndarray], bool | None] | None = None,
) -> SolverResult:
    """Minimize a Laplacian objective over scores that lie on the simplex, by ADMM.

    Targets are 0 or 1 for "squared", -1 or +1 for the hinge losses; "hinge" comes with an intercept and
    takes positive weights. On the simplex no score is beyond the margin, and "squared_hinge" is the squared
    loss of the signs. ``coupling`` is the weight ``r`` that holds ``f`` and ``q`` together, on labeled
    samples more by the weight of the loss. It changes the number of iterations, not the solution; ``None``
    sets it from loss and penalties. ``callback(f)`` sees the class proportions of all samples.

    ``x`` holds parameters of ``h = f - 1/C``. The proportions of the classes are ``space.scores(x) + 1/C``,
    on the simplex to the tolerance; the scores that the loss sees are ``space.scores(x) + intercept``.
    ``objective`` has the penalty of ``h``, and ``criterion`` is the larger of the primal and the dual
    residual, relative to the proportions and to the forces on them. Where the factorization is too inexact,
    the status is "stalled", and the last criterion is its error.
    """
    _check(space, loss, coupling)
    problem = _Problem(space, rows, targets.astype(np.float64), weights.astype(np.float64), loss)
    splitting = _split(problem, problem.default_coupling if coupling is None else float(coupling), tol)
    watch = None if callback is None else (lambda point: callback(point.h + problem.level))
    point, history, status = follow(splitting.iterates(), tol, max_iter, watch)
    objectives, criteria = np.array(history).T
    error = splitting.error(point)
    if error > max(tol, _LARGEST_ERROR) and status != "interrupted":
        criteria[-1], status = max(error, criteria[-1]), "stalled"
    return SolverResult(
        point.theta, objectives, criteria, len(history) - 1, status, intercept=point.intercept
    )


def _check(space: DeformedSpace, loss: str, coupling: float | None) -> None:
    if loss not in _COUPLING:
        raise ValueError(f"loss is {loss!r}: use 'squared', 'squared_hinge' or 'hinge'.")
    if coupling is not None and not 0 < coupling < np.inf:
        raise ValueError(f"coupling is {coupling}: it must be a positive number.")
    if space.has_own_values:
        raise ValueError("a CorrectedSpace has no factorisation: use a FeatureSpace of its features.")


class _Point(NamedTuple):
    """An iterate: ``theta`` are the parameters of ``h``, and ``pull`` is what they were solved for."""

    theta: np.ndarray
    h: np.ndarray
    intercept: np.ndarray
    pull: np.ndarray
    q: np.ndarray
    multipliers: np.ndarray
    criterion: float


@dataclass(frozen=True)
class _Problem:
    """What is to be minimized, and by how much it bends."""

    space: DeformedSpace
    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    loss: str

    @property
    def level(self) -> float:
        return 1 / self.targets.shape[1]

    def objective(self, point: _Point) -> float:
        space, h = self.space, point.h
        losses = self.weights @ LOSSES[self.loss].value(self.targets, h[self.rows] + point.intercept)
        norm = space.ambient * space.base.inner(point.theta, point.theta, h).sum()
        return float(losses.sum() + (norm + space.graph * np.vdot(h, space.laplacian @ h)) / 2)

    @property
    def default_coupling(self) -> float:
        """About the geometric mean of the curvatures of loss and penalty, averaged over all rows.

        Where rows outnumber parameters they move together, and each must be held the harder.
        """
        space, base = self.space, self.space.base
        variance = base.mean_square
        loss = self.weights.sum() / space.n_rows
        penalty = space.ambient / (variance or 1.0) + space.graph * float(space.laplacian.diagonal().mean())
        mean = float(np.sqrt(loss * (penalty + _LEAST_PENALTY * loss)))
        return _COUPLING[self.loss] * max(space.n_rows / space.n_params, 1.0) * mean or 1.0


@dataclass(frozen=True)
class _Splitting:
    """The steps of ADMM, with a coupling ``r`` of each row and ``coupled``, the space with it in the norm."""

    problem: _Problem
    coupled: DeformedSpace
    r: np.ndarray
    step: _LabeledStep

    def start(self) -> _Point:
        """Uniform proportions on all samples, where the pull of the loss has no counterweight."""
        space, n_columns = self.coupled, self.problem.targets.shape[1]
        zeros = np.zeros((space.n_rows, n_columns), dtype=space.dtype)
        theta, intercept = np.zeros((space.n_params, n_columns)), np.full(n_columns, self.problem.level)
        return _Point(theta, zeros, intercept, zeros, zeros + self.problem.level, zeros, criterion=1.0)

    def iterates(self) -> Iterator[tuple[_Point, float, float]]:
        point = self.start()
        while True:
            yield point, self.problem.objective(point), point.criterion
            point = self.advance(point)

    def advance(self, point: _Point) -> _Point:
        space, rows, r, level = self.coupled, self.problem.rows, self.r, self.problem.level
        q, multipliers = point.q, point.multipliers
        pull = r * (q - level) - multipliers
        theta = space.factor.solve(space.base.adjoint(pull))
        labeled = self.step(space.scores(theta, rows))
        theta = theta + labeled.theta  # [tvsvm] Eqs. (96) and (121)
        pull[rows] += labeled.forces
        h = space.scores(theta)
        f = h + level
        relaxed = _RELAXATION * f + (1 - _RELAXATION) * q
        new_q = project_simplex(relaxed + multipliers / r)  # [tvsvm] Eqs. (98) and (124)
        new_multipliers = multipliers + r * (relaxed - new_q)  # missing in [tvsvm]
        # By so much the new multipliers miss the gradient of the objective at f.
        miss = r * ((_RELAXATION - 1) * (f - q) - (new_q - q))
        criterion = max(_relative(f - new_q, f, new_q), _relative(miss, new_multipliers, labeled.forces))
        return _Point(theta, h, labeled.intercept, pull, new_q, new_multipliers, criterion)

    def error(self, point: _Point) -> float:
        """Relative residual of ``T theta = A* pull``, which the factorization was to solve."""
        wanted = self.coupled.base.adjoint(point.pull)
        return _relative(self.coupled.image(point.theta) - wanted, wanted)


def _split(problem: _Problem, coupling: float, tol: float) -> _Splitting:
    space, rows, targets, weights = problem.space, problem.rows, problem.targets, problem.weights
    r = np.full((space.n_rows, 1), coupling, dtype=space.dtype)
    r[rows, 0] += weights  # where the loss pulls, or its counterweight would take long to grow
    if isinstance(space.laplacian, AnchorLaplacian):
        penalty = space.laplacian.coupled(space.graph, r[:, 0])
    else:
        penalty = sp.csr_array(space.graph * space.laplacian + sp.diags_array(r[:, 0]))
    coupled = deform(space.base, penalty, ambient=space.ambient, graph=1.0)
    small = restrict(coupled, rows)
    if problem.loss == "hinge":
        step = _hinge_step(small, targets, weights, tol / _PRECISION)
    else:
        step = _ridge_step(small, targets, weights, problem.level)
    return _Splitting(problem, coupled, r, step)


class _Labeled(NamedTuple):
    """What the loss adds: parameters, minus its gradient on the labeled rows, and the intercept."""

    theta: np.ndarray
    forces: np.ndarray
    intercept: np.ndarray


_LabeledStep = Callable[[np.ndarray], _Labeled]  # from the scores of the labeled rows without the loss


def _ridge_step(small: Restriction, targets: np.ndarray, weights: np.ndarray, level: float) -> _LabeledStep:
    normal = small.space.normal_equations(weights)
    intercept = np.full(targets.shape[1], level)

    def step(offsets: np.ndarray) -> _Labeled:
        missing = targets - level - offsets
        theta = normal.solve(missing)
        forces = weights[:, None] * (missing - small.space.scores(theta))
        return _Labeled(small.lift(theta), forces, intercept)

    return step


def _hinge_step(small: Restriction, targets: np.ndarray, weights: np.ndarray, tol: float) -> _LabeledStep:
    """The step for the hinge, whose intercept includes the level."""
    gram = small.space.products()
    dual: np.ndarray | None = None

    def step(offsets: np.ndarray) -> _Labeled:
        nonlocal dual
        result = solve_hinge_dual(gram, offsets, targets, weights, dual=dual, tol=tol)  # [tvsvm] Eq. (120)
        dual = result.detail.dual
        theta = small.lift(small.space.adjoint(result.x))
        return _Labeled(theta, result.x, np.asarray(result.intercept))

    return step


def _relative(difference: np.ndarray, *parts: np.ndarray) -> float:
    scale = max(float(np.linalg.norm(part)) for part in parts)
    return float(np.linalg.norm(difference)) / (scale or 1.0)
