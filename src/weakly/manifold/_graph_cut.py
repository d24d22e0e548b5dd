"""What the total variation and Cheeger estimators share: the start, the space, and two sides that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.estimators._calibration import (
    check_class_prior,
    class_codes,
    match_moments,
    prior_temperature,
    probabilities,
)
from weakly.graphs import Graph
from weakly.graphs._graph import WEIGHTS
from weakly.manifold._base import LaplacianClassifierBase
from weakly.manifold._resplit import diffuse_codes, resplit_pairs
from weakly.regularizers import cheeger_ratio
from weakly.rows._arrays import dense_bytes, fits, require_fit
from weakly.solvers import project_simplex, solve_poisson
from weakly.spaces import CorrectedSpace, Smoother, Space, build_smoother

_OWN_VARIANCE = 0.5  # of each row's own value, relative to its kernel, where features must follow a graph
_LOW_RANK = 0.25  # mean leverage below which an exact kernel cannot follow a graph either
_SAME_CUT = 0.05  # share of the rows that two starts of one cut may differ in
_SMALLER = "set approximation='nystroem'"


@dataclass(frozen=True, eq=False)
class SmoothedSpace:
    """A space and its smoother, which a warm start keeps together."""

    base: Space
    smoother: Smoother


class GraphCutClassifierBase(LaplacianClassifierBase):
    """Start on the graph, alternate between graph and functions, publish both."""

    _parameter_constraints: dict = {
        **LaplacianClassifierBase._parameter_constraints,
        "coupling": [Interval(Real, 0, None, closed="neither")],
        "graph": [StrOptions({"knn"}), Graph, "array-like", "sparse matrix"],  # cuts are made of edges
        "graph_weights": [StrOptions(set(WEIGHTS))],
        "class_prior": ["array-like", Mapping, None],
        "resplit": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    _fit_blocks = None  # cuts are made of edges between samples

    def _needs_graph(self):
        return True

    def _corrects(self):
        return True

    def _approximation(self, n_rows):
        # Beside the kernel, its factor and the smoother are n x n.
        is_free = self.approximation == "auto" and self.kernel not in ("precomputed", "linear")
        too_large = not fits(dense_bytes(n_rows, n_rows, copies=3))
        return "nystroem" if is_free and too_large else self.approximation

    def _shape(self, base, dtype):
        """Let every row have a value of its own where the functions alone cannot follow the graph."""
        penalty = self.ambient_penalty / self.coupling
        if not base.has_gram:
            Z = base.features
            n_bytes = dense_bytes(Z.shape[1], Z.shape[1], copies=2)
            require_fit(n_bytes, f"the Gram matrix of {Z.shape[1]} features", _SMALLER, self._device)
            lost = base.variance if base.has_own_values else 0.0
            variance = max(lost, _OWN_VARIANCE * (base.mean_square - lost)) or 1.0
            base = CorrectedSpace(Z, variance, base.feature_map)
            return SmoothedSpace(base, build_smoother(base, penalty))
        n_bytes = dense_bytes(base.n_rows, base.n_rows, copies=3)
        what = f"an exact kernel and its smoother on {base.n_rows} rows"
        require_fit(n_bytes, what, _SMALLER, self._device)
        smoother = build_smoother(base, penalty)
        if smoother.mean_leverage < _LOW_RANK:
            own_variance = _OWN_VARIANCE * base.mean_square
            smoother = build_smoother(base, penalty, own_variance=own_variance)
        return SmoothedSpace(base, smoother)

    def _class_prior(self, labels):
        if self.class_prior is None:
            return labels.frequencies
        return check_class_prior(self.class_prior, labels.classes, "class_prior")

    def _solve(self, space, rows, targets, weights, progress):
        """Stage 4: starts on the graph alone, the iteration of the subclass from each, the best end."""
        with progress.stage("start"):
            starts = self._starts(rows, targets)
        ends = []
        with progress.stage("iterate"):
            for start in starts:
                if ends and not _is_another(start, ends[0]):
                    break
                ends.append(self._iterate(space.smoother, rows, targets, weights, start, progress.count))
        ranks = [self._rank(end.detail.graph_side, rows, targets) for end in ends]
        best = ends[ranks.index(min(ranks))]
        status = "interrupted" if ends[-1].status == "interrupted" else best.status
        detail = replace(best.detail, start_energies=np.array([ratio for *_, ratio in ranks]))
        self._keep(replace(best, status=status, detail=detail))
        return best.x

    def _starts(self, rows, targets):
        """The Poisson solution, and its classes with pairs split anew where the graph has a better cut."""
        start = solve_poisson(self.graph_, rows, targets, device=self._device).x
        start = normalize_columns(start, self.class_prior_)
        if not self.resplit:
            return [start]
        row_codes, n_classes = class_codes(targets), len(self.class_prior_)
        cure = resplit_pairs(self.graph_, class_codes(start), rows, row_codes)
        soft = diffuse_codes(self.graph_, cure.x, rows, row_codes, n_classes)
        columns = soft[:, 1:] if n_classes == 2 else soft
        return [start, normalize_columns(2 * columns.astype(np.float64) - 1, self.class_prior_)]

    def _rank(self, values, rows, targets):
        """Sort key of scores: the Cheeger ratios of their classes, that scores in between cannot lower."""
        classes = class_codes(values)[:, None] == np.arange(len(self.class_prior_))
        return (float(cheeger_ratio(self.graph_, classes.astype(np.float64)).sum()),)

    def _publish(self, space, theta, labels, dtype):
        """Stage 5: labels of the training rows from the graph, those of new rows from the function."""
        self._function = space.base.function(np.hstack([theta, self._density[0]]))
        self.temperature_ = prior_temperature(labels.n_classes)
        decisions = self._graph_decisions(self.result_.detail.graph_side, labels).astype(dtype)
        codes = class_codes(decisions)
        self.transduction_ = self.classes_[codes]
        self.label_distributions_ = probabilities(decisions, self.temperature_)
        # The function is smoother than the graph side, and off its level: give it the same share of rows.
        scores = (space.base.induced(theta) + self.result_.intercept).astype(dtype)
        shares = np.bincount(codes, minlength=labels.n_classes) / len(codes)
        self._moments = match_moments(scores, shares)
        self.function_transduction_ = self._labels_of(self._moments(scores))

    def _graph_decisions(self, values, labels):
        """Decisions from the graph side: 0 is the threshold of two classes."""
        return values


def _is_another(start, end):
    """Whether a start may lead elsewhere than to an end; never once the user has stopped the iteration."""
    moved = np.mean(class_codes(start) != class_codes(end.detail.graph_side))
    return moved > _SAME_CUT and end.status != "interrupted"


def normalize_columns(values, prior):
    """Give columns the mean and the variance of classes with these shares; several go on the simplex."""
    columns = match_moments(values, prior)(values)
    return columns if columns.shape[1] == 1 else 2 * project_simplex((columns + 1) / 2) - 1
