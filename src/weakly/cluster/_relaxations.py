"""Maximum-margin clustering by convex relaxations: mixtures of labelings, and a semi-definite program."""

from dataclasses import replace
from numbers import Real

import numpy as np

from weakly._compat import Interval, StrOptions
from weakly.cluster._base import BoundedClustering, SplittingClustering, functions_of
from weakly.cluster._joint_margin import solve_joint_margin
from weakly.cluster._margin_sdp import solve_margin_sdp
from weakly.estimators._docstrings import fill_doc
from weakly.estimators._mixture import LabelMixture
from weakly.rows._arrays import dense_bytes, require_fit
from weakly.solvers import weigh_labels
from weakly.solvers._cutting_plane import mixed_coefficients, nearest_label
from weakly.spaces import exact_space

_MOST_OF_PARTS = 3  # splits in the mixture of a part of the rows: more do not make better first clusters
_MOST_ROUNDS, _MOST_PASSES = 50, 200
_N_GRAMS = 21  # matrices of the size of the kernel at the same time: two points, a step and their factors
_ALIKE = 1e-12  # share of a kernel that may be left of it by rounding once it is centered
_SMALLER = "cluster a sample of the rows and find the clusters of the others by predict"


@fill_doc
class WellClustering(SplittingClustering, LabelMixture):
    """Clusters with the widest margins between them.

    Over all ways to split the samples in two parts of similar size, and over mixtures of such splits, it
    minimizes ::

        ||f||^2 / 2  +  C sum_i loss(y_i f_i)

    Mixtures make the problem convex. Splits join one at a time, each one that the present solution shows to
    be better than those before it. More than two clusters are splits of splits, and then better labels of all
    samples at once.

    Parameters
    ----------
    %(n_clusters)s
    C : float or "auto", default="auto"
        Cost of the loss of a sample; "auto" is 0.05 for each cluster. With a large one nearly any split of
        many features has a margin, and the search ends at the first split; with a small one all samples count
        alike, and clusters come near those of k-means. The default suits kernels whose values are about 1,
        and documents of norm 1.
    loss : {"squared_hinge", "hinge"}, default="hinge"
        ``max(1 - y f, 0)^2 / 2`` or ``max(1 - y f, 0)``.
    %(balance)s
        Without such a bound the widest margin is that around all samples in one cluster.
    center : bool, default=True
        Subtract the mean from the samples, or from their images in the space of the kernel. The scores have
        no other offset.
    %(init)s
    assignment : {"widest", "mixture"}, default="widest"
        What makes the clusters: the support vector machine of a single split, the one with the widest margin
        among the splits of the mixture and the one nearest to the whole of it; or the mixture itself.
    %(cluster_kernel)s
    %(labelings)s
    max_iter : int, default=50
        Maximum number of rounds of new labels for more than two clusters.
    tol : float, default=1e-3
        Relative gain of the objective at which no further split joins, and rounds end.
    %(verbose)s
    %(random_state_of_clusters)s

    Attributes
    ----------
    %(labels_)s
    %(shares_)s
    free_shares_ : ndarray of shape (n_clusters,)
        Proportions of the clusters by the scores, before ``balance`` is enforced. Splits keep to the bounds,
        their mixture need not: where these proportions are far outside, it is the bounds and not gaps between
        the samples that made the clusters.
    %(cluster_function_)s
    result_ : SolverResult
        Report of the solver: the objective after each split, the splits as signs (+1 for cluster 1) with
        their weights, and why it stopped; of more than two clusters, the objective of each round.
    n_iter_ : int
        Number of splits tried, or of rounds.

    See Also
    --------
    WellSVC : The same with labels on some samples.

    Notes
    -----
    Algorithm 4 of [wellsvm]_. Departures: samples are centered; the first split is spectral, because the best
    of 20 random ones is no better than chance where features are many; a search goes on from the split it
    found (``oracle="step"`` does not); splits of the mixture are turned to agree, for a split and its mirror
    image are the same; of all splits found the one with the widest margin decides (``assignment="mixture"``
    is the paper's way); and samples are assigned by scores within ``balance``, because a function without an
    offset may have one sign everywhere. Samples with equal scores may lie on both sides of ``threshold_`` in
    ``labels_``, never in ``predict``; otherwise both agree.

    The paper leaves more than two clusters open. Here samples are split in two, with half of the clusters to
    come on either side, and the parts again; these clusters, and those of k-means in the space of the kernel,
    are where rounds start that fit each cluster against all others and then assign all samples anew, within
    the bounds and with the least loss. The lower objective of the two wins. ``labels_`` are then what the
    functions say within the bounds; a few samples may have others in ``result_.detail.labels``, which the
    objective is about.

    References
    ----------
    %(wellsvm)s

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import WellClustering
    >>> X, y = make_blobs([120, 80], centers=[[-3, 0], [3, 0]], random_state=0)
    >>> model = WellClustering(random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **LabelMixture._parameter_constraints,
        **SplittingClustering._parameter_constraints,
        "assignment": [StrOptions({"widest", "mixture"})],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C="auto",
        loss="hinge",
        balance=0.3,
        center=True,
        init="spectral",
        n_init=20,
        assignment="widest",
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        approximation="auto",
        n_components=1000,
        oracle="ascent",
        max_labels=20,
        max_iter=50,
        tol=1e-3,
        verbose=0,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.loss = loss
        self.balance = balance
        self.center = center
        self.init = init
        self.n_init = n_init
        self.assignment = assignment
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.oracle = oracle
        self.max_labels = max_labels
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _costed_machine(self, space, least, most):
        splits = self._splits(space.n_rows, least, most)
        return self._machine(space, splits, np.full(space.n_rows, self._cost))

    def _halve(self, space, least, most, given, rng, callback, is_part=False):
        machine = self._costed_machine(space, least, most)
        start = self._first_split(space, machine, given, rng)
        max_labels = min(self.max_labels, _MOST_OF_PARTS) if is_part else None
        result = agreeing(machine, self._cut(machine, start, callback, max_labels))
        final = widest(machine, result, self.tol) if self.assignment == "widest" else result
        found = functions_of(machine, mixed_coefficients(machine, final.x, final.detail)[None], result)
        signs = machine.label_set.best(np.ones(space.n_rows), found.scores[:, 0])
        return signs, result.objective[-1], found

    def _refine(self, space, codes, least, most, callback):
        machine = self._costed_machine(space, least, most)
        settings = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        result = solve_joint_margin(machine, codes, self.n_clusters, least, most, **settings)
        return functions_of(machine, result.x.T, result)

    def _unfinished(self, results):
        kind = LabelMixture if self.n_clusters == 2 else SplittingClustering
        return kind._unfinished(self, results)


def agreeing(machine, result):
    """The same mixture with labelings turned so that the sum of their functions is the largest.

    A labeling and its mirror image are one split: which of the two came is chance, but the sum of functions
    hangs on it.
    """
    coefficients = machine.label_set.coefficients(result.x, result.detail.labels)
    weighted = result.detail.weights[:, None] * coefficients
    products = weighted @ machine.scores(weighted).T
    turns = [_climb(products, np.where(row < 0, -1.0, 1.0)) for row in products]
    best = max(turns, key=lambda turn: turn @ products @ turn)
    detail = replace(result.detail, labels=best[:, None] * result.detail.labels)
    return replace(result, detail=detail)


def _climb(products, turn):
    """Turn one labeling at a time as long as the norm of the sum grows."""
    for _ in range(_MOST_ROUNDS):
        before = turn.copy()
        for t in range(len(turn)):
            turn[t] = -1.0 if products[t] @ turn < products[t, t] * turn[t] else 1.0
        if (turn == before).all():
            break
    return turn


def widest(machine, result, tol):
    """The labeling with the least objective by itself, of those mixed and of that nearest to the mixture.

    The relaxation mixes labelings, the problem behind it wants one ([wellsvm] Eq. (26)); a mixture of very
    different ones says little, and one of them, or what they say together, may be much better than the rest.
    """
    most = 1 if machine.is_exact else _MOST_PASSES  # near enough to compare, where a cost is very high
    detail = result.detail

    def alone(label):
        return weigh_labels(machine, label[None], np.ones(1), result.x, tol=tol, max_iter=most)

    nearest = nearest_label(machine, result.x, detail)
    single = min(map(alone, (nearest, *detail.labels)), key=lambda found: found.objective)
    return replace(
        result, x=single.dual, detail=replace(detail, labels=single.labels, weights=single.weights)
    )


@fill_doc
class GeneralizedMaxMarginClustering(BoundedClustering):
    """Two clusters by the convex relaxation of a margin between them.

    With scores ``z = f + b`` of the samples it bounds ::

        ||f||^2 / 2  +  balance_cost (sum_i z_i)^2  +  C sum_i max(1 - z_i^2, 0)

    from below by a semi-definite program with one variable for each sample, and takes scores from its
    solution. There is nothing to start from and no local minimum, but no approximation of large kernels
    either.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a sample.
    %(balance)s
    balance_cost : float or "auto", default="auto"
        Cost of scores whose sum is not 0. "auto" makes scores that are all alike cost as much as those of an
        average function.
    %(kernel)s
    %(gamma_by_distance)s
    ridge : float, default=1e-6
        Added to the diagonal of the centered kernel, in units of its mean.
    max_iter : int, default=100
        Maximum number of steps of the solver.
    tol : float, default=1e-4
        Relative duality gap.
    %(verbose)s

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, 0 or 1. The first sample is in cluster 0.
    %(shares_)s
    free_shares_ : ndarray of shape (2,)
        Proportions of the clusters by the sign of the scores, before ``balance`` is enforced.
    %(cluster_function_)s
    result_ : SolverResult
        Report of the solver: bounds after each step, their gaps, and why it stopped.
    n_iter_ : int
        Number of steps.

    See Also
    --------
    WellClustering : Another relaxation, for more samples.

    Notes
    -----
    The method of [gmmc]_. Its program is solved here by steps of an interior point method that cost a few
    products of matrices of the size of the kernel each: no conic solver is needed. Scores are the
    leading eigenvector of the matrix of the relaxed problem.

    References
    ----------
    .. [gmmc] H. Valizadegan, R. Jin, "Generalized maximum margin clustering and unsupervised kernel
       learning", Advances in Neural Information Processing Systems 19, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from weakly import GeneralizedMaxMarginClustering
    >>> X, y = make_blobs([60, 40], centers=[[-3, 0], [3, 0]], random_state=0)
    >>> model = GeneralizedMaxMarginClustering().fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **BoundedClustering._parameter_constraints,
        "balance_cost": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        balance=0.3,
        balance_cost="auto",
        kernel="rbf",
        gamma="mean-distance",
        degree=3,
        coef0=1.0,
        ridge=1e-6,
        max_iter=100,
        tol=1e-4,
        verbose=0,
    ):
        self.C = C
        self.balance = balance
        self.balance_cost = balance_cost
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _space(self, X):
        n_bytes = dense_bytes(X.shape[0], X.shape[0], copies=_N_GRAMS)
        require_fit(n_bytes, f"a semi-definite program on {X.shape[0]} rows", _SMALLER)
        self.kernel_ = self._resolve_kernel(X)
        return exact_space(X, self.kernel_, _SMALLER)

    def _unfinished(self, results):
        if results[0].converged or results[0].status in ("stopped", "interrupted"):
            return ""
        gap, n_steps = results[0].criterion[-1], results[0].n_iter
        return f"stopped after {n_steps} steps at a gap of {gap:.1g}: scale columns, raise max_iter or tol."

    def _find(self, space, given, progress):
        machine = self._centered(space, *self._bounds(space.n_rows))
        if np.trace(machine.kernel) <= _ALIKE * np.trace(space.gram):
            raise ValueError("All samples are the same to the kernel: raise gamma, or choose another kernel.")
        # What centering leaves of the rounding of a kernel must not make it indefinite.
        rounding = 4 * np.finfo(np.float64).eps * space.n_rows * np.abs(space.gram).max()
        result = solve_margin_sdp(
            machine.kernel,
            float(self.C),
            balance_cost=None if isinstance(self.balance_cost, str) else float(self.balance_cost),
            ridge=max(self.ridge, rounding / machine.kernel.diagonal().mean()),
            tol=self.tol,
            max_iter=self.max_iter,
            callback=progress.count,
        )
        return functions_of(machine, result.x[None], result, result.intercept)
