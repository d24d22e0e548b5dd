"""What all clustering estimators share: bounds of the sizes, given labels, splits, clusters of new rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from weakly._compat import Interval, StrOptions
from weakly.cluster._kernel_means_solver import seeded_codes, solve_kernel_means
from weakly.cluster._starts import first_split, given_start, near_codes
from weakly.estimators._base import KernelEstimator, Progress, atomic_fit
from weakly.estimators._calibration import class_codes
from weakly.estimators._docstrings import fill_doc
from weakly.estimators._mixture import machine_of
from weakly.solvers import SolverResult, assign_quotas
from weakly.solvers._cutting_plane import LabelingMixture
from weakly.solvers._label_sets import SignSet
from weakly.solvers._range import build_in_range, check_costs

_COST_PER_CLUSTER = 0.05


class Clusters(NamedTuple):
    """Functions whose largest value says the cluster; one function, by its sign, for two clusters.

    ``theta`` are the parameters, a column each, ``offset`` the constants, ``scores`` the values on the
    training rows with the constants. ``codes`` are the clusters of the training rows where it is not the sign
    of the scores that makes them.
    """

    theta: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    result: SolverResult
    codes: np.ndarray | None = None


def functions_of(machine, coefficients, result, intercept=0.0):
    """Functions as expansions in the kernel of a machine, one to a line, with an intercept."""
    theta, offset = machine.function(coefficients)
    return Clusters(theta, offset + intercept, machine.scores(coefficients).T + intercept, result)


@fill_doc
class BoundedClustering(ClusterMixin, KernelEstimator):
    """The steps of a fit, and clusters of rows by functions; ``_find`` is what methods differ in."""

    _parameter_constraints: dict = {
        **KernelEstimator._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, 1, closed="left")],
        "init": [StrOptions({"spectral", "alignment", "kmeans"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    init = ""  # of methods without a start
    _inits = "'spectral', 'alignment', 'kmeans'"  # names of starts, for messages

    @atomic_fit
    def fit(self, X, y=None):
        """Find the clusters of samples.

        Parameters
        ----------
        %(X)s
        y : object, default=None
            Not used; here because scikit-learn passes it.

        %(fitted)s
        """
        X = self._check_features(X)
        if self._n_clusters > X.shape[0]:
            raise ValueError(
                f"n_clusters={self._n_clusters} but X has n_samples={X.shape[0]}: no cluster may be empty, "
                "ask for fewer."
            )
        given = self._given_codes(X.shape[0])
        if not isinstance(getattr(self, "C", ""), str):
            check_costs("C", np.full(1, self.C))
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("space"):
            rows = self._near_zero(X.astype(np.float64, copy=False), is_fit=True)
            space = build_in_range(lambda: self._space(rows), X.dtype)
        with progress.stage("clusters"):
            found = self._find(space, given, progress)
        self._publish(space, found, given)
        return self

    def _near_zero(self, X, is_fit=False):
        """Rows less their mean, where a kernel is linear: far from 0 its products are mostly rounding."""
        if self.kernel != "linear" or sp.issparse(X) or not getattr(self, "center", True):
            return X
        if is_fit:
            self._mean = X.mean(axis=0)
        return X - self._mean

    def decision_function(self, X):
        """Score samples: positive in the second of two clusters, else one column per cluster.

        %(to_assign)s
        ndarray of shape (n_samples,) or (n_samples, n_clusters)
            Scores less ``threshold_``.
        """
        X = self._check_new(X)
        rows = self._near_zero(X.astype(np.float64, copy=False))
        decisions = (self._function(rows) + (self._offset - self.threshold_)).astype(X.dtype)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X):
        """Find the cluster of samples, new or old.

        %(to_assign)s
        ndarray of shape (n_samples,)
            Clusters, from 0. For training samples they are ``labels_``, but at a threshold: of several
            samples with equal scores, as many are on either side in ``labels_`` as ``balance`` demands.
        """
        decisions = self.decision_function(X)
        return class_codes(decisions[:, None] if decisions.ndim == 1 else decisions)

    @property
    def _n_clusters(self):
        return getattr(self, "n_clusters", 2)  # some methods know no more than two

    def _splits(self, n_rows, least, most):
        """Signs of all rows with so many positive ones."""
        return SignSet(np.zeros(0, dtype=int), np.zeros(0), n_rows, least, most)

    def _centered(self, space, least, most):
        """A machine for its centered kernel and its splits alone."""
        splits = self._splits(space.n_rows, least, most)
        return machine_of(space, splits, np.ones(space.n_rows), "hinge", center=True)

    def _bounds(self, n_rows):
        """Fewest and most rows of a cluster: ``balance`` is how far sizes may be from equal ones."""
        # [wellsvm] Eq. (26), where the sizes of two differ by beta at most, and by 1 if the rows are odd
        equal = n_rows / self._n_clusters
        least = min(int(np.ceil((1 - self.balance) * equal - 1e-9)), n_rows // self._n_clusters)
        most = max(int(np.floor((1 + self.balance) * equal + 1e-9)), -(-n_rows // self._n_clusters))
        return max(least, 1), most

    def _first_split(self, space, machine, given, rng):
        """Signs to begin with: those given, or by the name of a start."""
        if given is not None:
            return given_start(machine, given)
        return first_split(self.init, space, machine, rng, self.n_init)

    def _given_codes(self, n_rows):
        """Labels of ``init`` from 0, if it has any."""
        if isinstance(self.init, str):
            return None
        labels = np.asarray(self.init)
        values = np.unique(labels) if labels.dtype.kind in "biuf" else np.zeros(0)
        if self._n_clusters == 2 and values.tolist() == [-1, 1]:
            labels, values = labels > 0, np.arange(2)
        if labels.shape != (n_rows,) or values.tolist() != list(range(self._n_clusters)):
            wanted = "0 and 1 or -1 and 1" if self._n_clusters == 2 else f"from 0 to {self._n_clusters - 1}"
            found = f"the values {values.tolist()[:10]}" if len(values) else f"entries of type {labels.dtype}"
            raise ValueError(
                f"init must be {self._inits} or a label for each row of X, {wanted} with all of "
                f"them present: X has {n_rows} rows, and init is an array of shape "
                f"{labels.shape} with {found}."
            )
        return labels.astype(np.int64)

    def _publish(self, space, found, given):
        """Clusters within the bounds by the functions, numbered by their first rows or as they were given."""
        cause = self._unfinished([found.result])
        if cause:
            warnings.warn(f"{type(self).__name__} {cause}", ConvergenceWarning, stacklevel=4)
        scores = found.scores if found.scores.shape[1] > 1 else np.hstack([-found.scores, found.scores]) / 2
        free = scores.argmax(axis=1)
        codes, thresholds = self._within_bounds(scores, free)
        if found.codes is not None and self._n_clusters == 2:
            codes, thresholds = _parted(scores, found.codes) or (codes, thresholds)
        names = _first_seen(codes, self._n_clusters) if given is None else _as_given(codes, given)
        self.result_ = _renumbered(found.result, names)
        self.n_iter_ = found.result.n_iter
        self.labels_ = names[codes]
        self.shares_ = np.bincount(self.labels_, minlength=self._n_clusters) / len(codes)
        self.free_shares_ = np.bincount(names[free], minlength=self._n_clusters) / len(codes)
        order = np.argsort(names)
        theta, self._offset = found.theta, found.offset
        if found.scores.shape[1] > 1:
            theta, self._offset, self.threshold_ = theta[:, order], self._offset[order], thresholds[order]
        else:
            turn = 1.0 if names[0] == 0 else -1.0
            theta, self._offset = turn * theta, turn * self._offset
            self.threshold_ = turn * float(thresholds[-1] - thresholds[0])
        self._function = space.function(theta.astype(space.dtype))
        return names

    def _within_bounds(self, scores, free):
        """Clusters of the training rows, and what to take from the scores so that the largest says them."""
        least, most = self._bounds(len(scores))
        sizes = np.bincount(free, minlength=self._n_clusters)
        if sizes.min() >= least and sizes.max() <= most:
            return free, np.zeros(self._n_clusters)
        bounds = np.full(self._n_clusters, least), np.full(self._n_clusters, most)
        assigned = assign_quotas(scores, *bounds)
        return assigned.codes, -assigned.prices

    def _unfinished(self, results):
        """Why the solver ended early and what to do, if it did."""
        if results[0].status == "stalled":
            return "could not solve the problem of its last round to tol: scale the columns or lower C."
        if results[0].status != "max_iter":
            return ""
        n_rounds = results[0].n_iter
        return f"stopped after {n_rounds} rounds while clusters still changed: raise max_iter or tol."


class SplittingClustering(BoundedClustering):
    """Two clusters by a split of the rows; more by splits of parts, and then all labels together.

    Methods say how to split rows in two from a first split (``_halve``), and how to better all labels from
    given ones (``_refine``).
    """

    _parameter_constraints: dict = {
        **BoundedClustering._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    @property
    def _cost(self):
        # More clusters are smaller ones: the cost makes up for the rows that each of them has less.
        return _COST_PER_CLUSTER * self.n_clusters if isinstance(self.C, str) else float(self.C)

    def _find(self, space, given, progress):
        if self.n_clusters == 1:
            return _whole(space)
        rng = check_random_state(self.random_state)
        least, most = self._bounds(space.n_rows)
        watch = progress.count
        if self.n_clusters == 2:
            signs = None if given is None else 2.0 * given - 1
            return self._halve(space, least, most, signs, rng, watch)[2]

        def split(part, fewest, largest):
            signs, objective, found = self._halve(part, fewest, largest, None, rng, watch, is_part=True)
            progress.watch(found.result)
            return signs, objective

        if given is None:
            starts = [
                divide(space, self.n_clusters, least, most, split),
                self._means(space, least, most, rng),
            ]
        else:
            starts = [near_codes(space, given, self.n_clusters, least, most)]
        found = []
        for codes in starts:
            found.append(self._refine(space, codes, least, most, watch))
            progress.watch(found[-1].result)
        best = min(found, key=lambda one: one.result.objective[-1])
        if progress.is_interrupted:
            best = best._replace(result=replace(best.result, status="interrupted"))
        return best

    def _means(self, space, least, most, rng):
        """Clusters of k-means in the space of the kernel, within the bounds."""
        seeds = seeded_codes(space, self.n_clusters, self.n_init, rng, spread_out=True)
        found = solve_kernel_means(space, seeds, self.n_clusters, least=least, most=most).whole()
        return found.detail.labels[0]


def _renumbered(result, names):
    """What a solver reports, with clusters by their new numbers."""
    detail = result.detail
    if detail is None:
        return result
    is_coded = detail.labels.dtype.kind == "i"
    order, dual = np.argsort(names), detail.dual
    labels = names[detail.labels] if is_coded else detail.labels if names[0] == 0 else -detail.labels
    if isinstance(detail, LabelingMixture):  # its dual point has no signs
        return replace(result, detail=replace(detail, labels=labels))
    if result.x.ndim == 2 and result.x.shape[1] == len(names):
        detail = replace(detail, labels=labels, dual=None if dual is None else dual[:, order])
        intercept = np.broadcast_to(result.intercept, len(names))[order]
        return replace(result, x=result.x[:, order], intercept=intercept, detail=detail)
    if names[0] == 0:
        return result
    detail = replace(detail, labels=labels, dual=-dual if dual is not None and is_coded else dual)
    return replace(result, x=-result.x, intercept=-result.intercept, detail=detail)


def _whole(space):
    """All rows in one cluster."""
    result = SolverResult(np.zeros(space.n_params), np.zeros(1), np.zeros(1), 0, "converged")
    return Clusters(np.zeros((space.n_params, 1)), np.zeros(1), np.zeros((space.n_rows, 1)), result)


def _parted(scores, codes):
    """Two clusters and the middle between their scores, if all of one lie below all of the other."""
    gains = scores[:, 1] - scores[:, 0]
    below, above = gains[codes == 0].max(), gains[codes == 1].min()
    if below >= above:
        return None
    middle = 0.0 if below <= 0 < above else (below + above) / 2
    return codes, np.array([0.0, middle])


def _first_seen(codes, n_clusters):
    """New number of each cluster: the first row is in 0, the first row outside of it in 1, and so on."""
    firsts = np.full(n_clusters, len(codes))
    np.minimum.at(firsts, codes, np.arange(len(codes)))
    return np.argsort(np.argsort(firsts, kind="stable"))


def _as_given(codes, given):
    """New number of each cluster: that of the given cluster it shares the most rows with, one to one."""
    n_clusters = given.max() + 1
    shared = np.zeros((n_clusters, n_clusters))
    np.add.at(shared, (codes, given), 1.0)
    return linear_sum_assignment(-shared)[1]


def divide(space, n_clusters, least, most, split):
    """Clusters of all rows by halving them, the halves, and so on: half of the clusters go to each side.

    ``split(space, least, most)`` returns signs with so many positive ones, and the objective that they reach.
    A side that is to hold several clusters has room for all of them within the bounds of each.
    """
    codes = np.zeros(space.n_rows, dtype=np.int64)
    waiting = [(np.arange(space.n_rows), 0, n_clusters)]
    while waiting:
        rows, first, n_parts = waiting.pop()
        if n_parts == 1:
            codes[rows] = first
            continue
        part = space if len(rows) == space.n_rows else space.part(rows)
        halves = {n_parts // 2, n_parts - n_parts // 2}  # with an odd number, either side may be the larger
        tried = [_half(part, half, n_parts - half, least, most, split) for half in sorted(halves)]
        half, signs, _ = min(tried, key=lambda one: one[2])
        waiting.append((rows[signs > 0], first, half))
        waiting.append((rows[signs < 0], first + half, n_parts - half))
    return codes


def _half(space, n_here, n_there, least, most, split):
    fewest = max(n_here * least, space.n_rows - n_there * most)
    return n_here, *split(space, fewest, min(n_here * most, space.n_rows - n_there * least))
