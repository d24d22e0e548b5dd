"""The edges of a graph on a device, and what the iterations on them ask of tensors.

Sums over the edges of a row are sums over stretches of sorted edges, each in its order: a scatter by atomic
additions would give other last digits in every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weakly.rows._device import to_device

FLOAT = torch.float64  # of iterates, as on the host


def segment_sums(values: Tensor, starts: Tensor) -> Tensor:
    """Sum stretches of rows that begin at ``starts`` (which has one entry more than there are stretches)."""
    sums: Tensor = torch.segment_reduce(values, "sum", offsets=starts, axis=0, initial=0, unsafe=True)
    return sums


@dataclass(frozen=True, eq=False)
class DeviceEdges:
    """The edges of a graph as tensors, sorted for sums at either end.

    Parameters
    ----------
    heads, tails : Tensor of shape (n_edges,)
        Rows ``i < j`` of each edge, in lexicographic order.
    weights : Tensor of shape (n_edges,)
        Weights ``w_ij``.
    counts : Tensor of shape (n_rows,)
        Edges of each row.
    head_starts : Tensor of shape (n_rows + 1,)
        Where the edges with each head begin.
    tail_order : Tensor of shape (n_edges,)
        The edges sorted by their tails.
    tail_starts : Tensor of shape (n_rows + 1,)
        Where the edges with each tail begin in that order.
    """

    heads: Tensor
    tails: Tensor
    weights: Tensor
    counts: Tensor
    head_starts: Tensor
    tail_order: Tensor
    tail_starts: Tensor

    @classmethod
    def of(cls, edges: Any, device: Any) -> DeviceEdges:
        """Move edges to a device."""
        n_rows = len(edges.counts)
        arrays = (
            edges.heads.astype(np.int64),
            edges.tails.astype(np.int64),
            edges.weights,
            edges.counts.astype(np.int64),
            _starts(edges.heads, n_rows),
            np.argsort(edges.tails, kind="stable"),
            _starts(edges.tails, n_rows),
        )
        return cls(*(to_device(array, device) for array in arrays))

    @property
    def device(self) -> torch.device:
        return self.heads.device

    def place(self, values: Any) -> Tensor:
        """Values as a tensor of float64 beside the edges, not shared with the caller's."""
        placed: Tensor = to_device(values, self.device).to(FLOAT, copy=True)
        return placed

    def differences(self, values: Tensor) -> Tensor:
        """``B g``: the difference of values along each edge."""
        return values.index_select(0, self.heads) - values.index_select(0, self.tails)

    def pull_back(self, flows: Tensor) -> Tensor:
        """``B' p``: what flows along the edges take out of each row."""
        leaving = segment_sums(flows, self.head_starts)
        return leaving - segment_sums(flows.index_select(0, self.tail_order), self.tail_starts)

    def variations(self, values: Tensor) -> Tensor:
        """Total variation of each column."""
        return (self.weights[:, None] * self.differences(values).abs()).sum(dim=0)

    def cheeger_ratios(self, values: Tensor) -> Tensor:
        """Total variation of each column over its distance from a constant; infinite for a constant."""
        distances = (values - median(values)).abs().sum(dim=0)
        ratios = self.variations(values) / torch.where(distances > 0, distances, 1.0)
        return torch.where(distances > 0, ratios, torch.inf)


def _starts(sorted_or_not: np.ndarray, n_rows: int) -> np.ndarray:
    counts = np.bincount(sorted_or_not, minlength=n_rows)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def median(values: Tensor) -> Tensor:
    """Median of each column: the mean of the two in the middle, which ``torch.median`` does not take."""
    ordered = values.sort(dim=0).values
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2


def project_rows(values: Tensor) -> Tensor:
    """Project each row onto the simplex, as :func:`project_simplex` does."""
    descending = values.sort(dim=1, descending=True).values
    counts = torch.arange(1, values.shape[1] + 1, dtype=values.dtype, device=values.device)
    thresholds = (descending.cumsum(dim=1) - 1) / counts
    n_kept = (descending > thresholds).sum(dim=1, keepdim=True)
    return (values - thresholds.gather(1, n_kept - 1)).clamp_min(0)


def balanced_sign(values: Tensor, rounding: float) -> Tensor:
    """Signs that sum to 0 in every column, where there are zeros to share out the rest."""
    zeros = values.abs() <= rounding
    signs = torch.where(zeros, 0.0, values.sign())
    balance = -signs.sum(dim=0) / zeros.sum(dim=0).clamp_min(1)
    return torch.where(zeros, balance.clamp(-1, 1), signs)


def match_columns(values: Tensor, prior: np.ndarray) -> Tensor:
    """Give columns the moments of classes with these shares; a constant column stays as it is."""
    share = to_device(prior[-1:] if values.shape[1] == 1 else prior, values.device)
    mean, spread = values.mean(dim=0), values.std(dim=0, correction=0)
    informative = spread > 1e-10 * values.abs().amax(dim=0).clamp_min(1e-300)
    scale = 2 * torch.sqrt(share * (1 - share)) / torch.where(informative, spread, 1.0)
    moved = scale * (values - mean) + 2 * share - 1
    return torch.where(informative, moved, values)
