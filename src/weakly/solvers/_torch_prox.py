"""Proximal map of total variation on a graph, all columns at once on a device.

The steps are those of the compiled loops, column by column; a column that has converged stands still.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weakly.solvers._result import SolverResult
from weakly.solvers._torch_graph import FLOAT, DeviceEdges

_CHECK_EVERY = 10  # iterations between two looks at the gap, each of which waits for the device
_TINY = 1e-300


def prox_on_device(
    edges: DeviceEdges, values: Tensor, weight: float, dual: Tensor | None, tol: float, max_iter: int
) -> SolverResult:
    """Do the work of :func:`prox_total_variation`, with tensors for arrays in what it takes and returns."""
    v = values.to(FLOAT)
    bounds = (weight * edges.weights)[:, None]
    shape = (len(bounds), v.shape[1])
    if dual is not None and tuple(dual.shape) != shape[::-1]:
        raise ValueError(
            f"dual has shape {tuple(dual.shape)}: it must be {shape[::-1]}, one row per column of values."
        )
    p = v.new_zeros(shape) if dual is None else torch.clamp(dual.T, -bounds, bounds)
    g = v - edges.pull_back(p)
    objectives, gaps = _assess(edges, v, bounds, g)
    first = (objectives.sum(), (gaps / objectives.clamp_min(_TINY)).amax())
    state = _Ascent(edges, v, bounds, p, g)
    active, n_iter = gaps > tol * objectives, 0
    is_moving = bool(active.any())
    while is_moving and n_iter < max_iter:
        state.step(active)
        n_iter += 1
        if n_iter % _CHECK_EVERY == 0 or n_iter == max_iter:
            g = v - edges.pull_back(state.p)
            objectives, gaps = _assess(edges, v, bounds, g)
            active = active & (gaps > tol * objectives)
            is_moving = bool(active.any())
    last = (objectives.sum(), (gaps / objectives.clamp_min(_TINY)).amax())
    history = torch.stack([*first, *last]).cpu().numpy()
    return SolverResult(
        x=g.to(values.dtype),
        objective=history[::2],
        criterion=history[1::2],
        n_iter=n_iter,
        status="converged" if history[3] <= tol else "max_iter",
        dual=state.p.T,
    )


class _Ascent:
    """Accelerated steps on the dual, with a momentum for each column."""

    def __init__(self, edges: DeviceEdges, v: Tensor, bounds: Tensor, p: Tensor, g: Tensor) -> None:
        self._edges, self._v, self._bounds = edges, v, bounds
        self._costs = (edges.counts[edges.heads] + edges.counts[edges.tails]).to(FLOAT)[:, None]
        self.p = self._ahead = p
        self._there = g  # v - B'ahead
        self._momentum = torch.ones(v.shape[1], dtype=FLOAT, device=v.device)

    def step(self, active: Tensor) -> None:
        moved = self._ahead + self._edges.differences(self._there) / self._costs
        moved = torch.clamp(moved, -self._bounds, self._bounds)
        moved = torch.where(active, moved, self.p)
        change = moved - self.p
        uphill = ((self._ahead - moved) * change * self._costs).sum(dim=0) > 0
        following = (1 + torch.sqrt(1 + 4 * self._momentum**2)) / 2
        # Gradient restart, where the last move went against the momentum.
        share = torch.where(uphill, 0.0, (self._momentum - 1) / following)
        self._momentum = torch.where(uphill, 1.0, following)
        self.p, self._ahead = moved, moved + share * change
        self._there = self._v - self._edges.pull_back(self._ahead)


def _assess(edges: DeviceEdges, v: Tensor, bounds: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Objective of each column at ``g = v - B'p``, and its excess over the dual objective at ``p``."""
    variations = (bounds * edges.differences(g).abs()).sum(dim=0)
    objectives = variations + ((g - v) ** 2).sum(dim=0) / 2
    dual_objectives = (v**2 - g**2).sum(dim=0) / 2
    return objectives, (objectives - dual_objectives).clamp_min(0)
