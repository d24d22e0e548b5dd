"""Probable labels of rows in blocks: what each row gets from a walk whose ends are known, and the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from weakly.estimators._base import Progress
from weakly.estimators._calibration import prior_of
from weakly.graphs import AnchorMap
from weakly.solvers._anchor_walk import AnchorWalk, solve_anchor_walk
from weakly.spaces import ScoreFunction
from weakly.svm._bundle import solve_block_weston_watkins


@dataclass(frozen=True, eq=False)
class WalkedRows:
    """From rows and their labels to what a machine is taught.

    ``feature_map`` gives the weights of rows on the anchors, and ``walk`` how walks end. ``ratios`` are
    factors of the classes that give them their shares, ``frequencies`` the shares of the labels, for rows
    that no label reaches. With ``harden`` a row counts for its most probable class only; ``C`` is the cost of
    a row whose class is sure.
    """

    feature_map: AnchorMap
    walk: AnchorWalk
    ratios: np.ndarray | None
    frequencies: np.ndarray
    harden: bool
    C: float

    def to_numpy(self) -> WalkedRows:
        """The same without a device."""
        return replace(self, feature_map=self.feature_map.to_numpy())

    def __call__(self, rows: Any, codes: np.ndarray | None = None) -> np.ndarray:
        """Probability that a walk ends at no label, of training rows or, without codes, of new ones."""
        return self.walk(self.feature_map(rows), codes)[:, -1]

    def distributions(self, rows: Any, codes: np.ndarray) -> np.ndarray:
        """Probabilities of the classes if the row is not novel."""
        return if_known(self._probabilities(self.feature_map(rows), codes), self.frequencies)

    def costs(self, features: sp.csr_array, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Costs of rows with these features."""
        F = self._probabilities(features, codes)
        return self.C * weights[:, None] * (hardened(F) if self.harden else F)

    def _probabilities(self, features: sp.csr_array, codes: np.ndarray) -> np.ndarray:
        F = self.walk(features, codes)[:, :-1]
        return F if self.ratios is None else scale_rows(F, self.ratios)


def class_ratios(shares: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Factors that give classes of these masses their shares."""
    return np.divide(shares, masses, out=np.zeros_like(masses), where=masses > 0)


def scale_rows(F: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Scale the classes, and give each row the mass it had."""
    scaled = F * ratios
    before, after = F.sum(axis=1, keepdims=True), scaled.sum(axis=1, keepdims=True)
    return scaled * np.divide(before, after, out=np.zeros_like(after), where=after > 0)


def if_known(F: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Probabilities of the classes of rows that are not novel; shares of the labels where nothing is left."""
    known = F.sum(axis=1, keepdims=True)
    alone = np.broadcast_to(frequencies, F.shape)
    return np.divide(F, known, out=alone.copy(), where=known > 0)


def hardened(F: np.ndarray) -> np.ndarray:
    """All of a row's mass on its most probable class."""
    return np.where(np.arange(F.shape[1]) == F.argmax(axis=1)[:, None], F.sum(axis=1, keepdims=True), 0)


class BlockWalkMixin:
    """The fit of a :class:`ProbabilisticLabelSVC` on a Dask collection."""

    def _fit_blocks(self, blocks, y, sample_weight=None):
        """The same on a Dask collection, through anchors."""
        from weakly.distributed import fitted_values, labels_of, weights_of

        labels, _ = labels_of(y, blocks, self.unlabeled, sample_weight)
        self.class_prior_ = prior_of(self.class_prior, labels)
        self.classes_ = labels.classes
        self.kernel_ = None
        self._novel_label = self._name_novelty()
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("graph"):
            self.graph_ = self._build_block_anchors(blocks)
        self._warn_of_unreached(labels.labeled)
        with progress.stage("probabilities"):
            walked = self._walk_anchors(self.graph_.weights(labels.labeled), labels)
        self._near = None if self.novelty_threshold is None else walked
        codes = blocks.spread(labels.labeled, labels.labeled_codes, -1)
        self._solve_blocks(walked, codes, weights_of(sample_weight, blocks), progress)
        self.novelty_ = blocks.map(walked, codes, width=None, dtype=np.float64)
        width = labels.n_classes
        self.label_distributions_ = blocks.map(walked.distributions, codes, width=width, dtype=np.float64)
        self.transduction_ = fitted_values(self, "_transduce", blocks, codes)
        return self

    def _solve_blocks(self, walked, codes, weights, progress):
        """The machine; what it passes over is held by the workers as long as it runs."""
        graph = self.graph_
        rows, n_classes = graph.keep_weights(), len(self.classes_)
        teach = partial(_block_costs, walked=walked, unpacked=graph.unpacker)
        costs = graph.blocks.keep(rows.map(teach, codes, weights, width=n_classes, dtype=np.float64))
        with progress.stage("machine"):
            result = solve_block_weston_watkins(
                rows,
                costs,
                n_classes=n_classes,
                n_params=graph.n_anchors,
                feature_map=graph.unpacker,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=progress.count,
            )
        self._publish_pairs(result, ScoreFunction(graph.feature_map, result.x.astype(graph.blocks.dtype)))

    def _transduce(self, rows, codes):
        """Labels of training rows, of which some are labelled."""
        novelty = None if self._near is None else self._near(rows, codes)
        return self._named(self._decisions(rows), novelty)

    def _walk_anchors(self, weights, labels):
        walk = solve_anchor_walk(
            self.graph_.masses,
            self.graph_.gram,
            weights,
            labels.labeled_codes,
            labels.n_classes,
            alpha_labeled=self.alpha_labeled,
            alpha_unlabeled=self.alpha_unlabeled,
        )
        shares = self.class_prior_
        ratios = None if shares is None else class_ratios(shares, walk.totals[:-1])
        settings = (labels.frequencies, self._hardens(labels.n_classes), self.C)
        return WalkedRows(self.graph_.feature_map, walk, ratios, *settings)


def _block_costs(packed, codes, weights, walked, unpacked):
    return walked.costs(unpacked(packed), codes, weights)
