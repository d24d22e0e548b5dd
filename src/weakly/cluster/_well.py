"""Maximum-margin clustering as a convex mixture of labelings."""

import numpy as np

from weakly._compat import StrOptions
from weakly.cluster._base import SplittingClustering, functions_of
from weakly.cluster._joint_margin import solve_joint_margin
from weakly.cluster._rounding import agreeing, widest
from weakly.estimators._mixture import LabelMixture, mixed_coefficients

_MOST_OF_PARTS = 3  # splits in the mixture of a part of the rows: more do not make better first clusters


class WellClustering(SplittingClustering, LabelMixture):
    """Clusters with the widest margins between them.

    Over all ways to split the rows in two parts of similar size, and over mixtures of such splits, it
    minimises ::

        ||f||^2 / 2  +  C sum_i loss(y_i f_i)

    Mixtures make the problem convex. Splits join one at a time, each one that the present solution shows to
    be better than those before it. More than two clusters are splits of splits, and then better labels of all
    rows at once.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float or "auto", default="auto"
        Cost of the loss of a row; "auto" is 0.05 for each cluster. With a large one nearly any split of many
        features has a margin, and the search ends at the first split; with a small one all rows count alike,
        and clusters come near those of k-means. The default suits kernels whose values are about 1, and rows
        of text of norm 1.
    loss : {"squared_hinge", "hinge"}, default="hinge"
        ``max(1 - y f, 0)^2 / 2`` or ``max(1 - y f, 0)``.
    balance : float, default=0.3
        How far the sizes of clusters may be from equal ones, as a share of these: from 0 for equal sizes to
        almost 1. With 0.3 the smaller of two clusters has at least 35 % of the rows, and one of ten between 7
        and 13 %. Without such a bound the widest margin is that around all rows in one cluster.
    center : bool, default=True
        Take the mean from the rows, or from their images in the space of the kernel. The scores have no other
        offset.
    init : {"spectral", "alignment", "kmeans"} or array-like of shape (n_samples,), default="spectral"
        The first split of rows in two. "spectral" follows the leading eigenvector of the centred kernel,
        "alignment" is the random split that the kernel is best aligned with, "kmeans" comes from k-means in
        the space of the kernel. Labels from 0, or -1 and 1 for two clusters, are taken as they are, except
        that rows change sides where ``balance`` demands it.
    n_init : int, default=20
        Random splits that "alignment" compares, or runs of k-means.
    assignment : {"widest", "mixture"}, default="widest"
        What makes the clusters: the support vector machine of a single split, the one with the widest margin
        among the splits of the mixture and the one nearest to the whole of it; or the mixture itself.
    kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns the Gram matrix of their rows. With "linear" there is no
        Gram matrix: passes over the non-zero entries do all the work.
    gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
        Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half
        the median distance between rows, "mean-distance" to the root of the mean squared distance;
        "scale" is ``1 / (n_features * X.var())``.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly".
    approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
        ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
    n_components : int, default=1000
        Features of an approximation.
    oracle : {"ascent", "step", "restarts"}, default="ascent"
        How a better split is looked for: by steps as long as they gain, by one step, or by steps from
        several starts, which comes nearest to the optimum.
    max_labels : int, default=20
        Most splits in the mixture.
    max_iter : int, default=50
        Most rounds of new labels for more than two clusters.
    tol : float, default=1e-3
        Relative gain of the objective at which no further split joins, and rounds end.
    verbose : int, default=0
        1 shows stages and splits.
    random_state : int, RandomState or None, default=None
        Draws the start of "spectral", the splits of "alignment", the rows that k-means begins with,
        landmarks and frequencies.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row. The first row is in cluster 0, the first of the others in cluster 1, and
        so on; where ``init`` has labels, clusters have its numbers.
    shares_ : ndarray of shape (n_clusters,)
        Shares of the clusters in ``labels_``, within the bounds of ``balance``.
    free_shares_ : ndarray of shape (n_clusters,)
        Shares of the clusters by the scores, before ``balance`` has its say. Splits keep to the bounds, their
        mixture need not: where these shares are far outside, it is the bounds and not gaps between the rows
        that made the clusters.
    threshold_ : float or ndarray of shape (n_clusters,)
        Score where two clusters meet: 0 where the sign of the scores keeps to ``balance``, else the middle
        of the gap that does; with more clusters, what each score is lowered by so that the largest does. It
        is part of ``decision_function``.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: the objective after each split, the splits as signs (+1 for cluster 1) with
        their weights, and why it stopped; of more than two clusters, the objective of each round.
    n_iter_ : int
        Splits tried, or rounds.

    See Also
    --------
    WellSVC : The same with labels on some rows.

    Notes
    -----
    Algorithm 4 of [wellsvm]_. Departures: rows are centred; the first split is spectral, because the best of
    20 random ones is no better than chance where features are many; a search goes on from the split it found
    (``oracle="step"`` does not); splits of the mixture are turned to agree, for a split and its mirror image
    are the same; of all splits found the one with the widest margin decides (``assignment="mixture"`` is the
    paper's way); and rows are assigned by scores within ``balance``, because a function without an offset may
    have one sign everywhere. Rows with equal scores may lie on both sides of ``threshold_`` in ``labels_``,
    never in ``predict``; otherwise both agree.

    The paper leaves more than two clusters open. Here rows are split in two, with half of the clusters to
    come on either side, and the parts again; these clusters, and those of k-means in the space of the kernel,
    are where rounds start that fit each cluster against all others and then assign all rows anew, within the
    bounds and with the least loss. The lower objective of the two wins. ``labels_`` are then what the
    functions say within the bounds; a few rows may have others in ``result_.detail.labels``, which the
    objective is about.

    References
    ----------
    .. [wellsvm] Y.-F. Li, I. W. Tsang, J. T. Kwok, Z.-H. Zhou, "Convex and scalable weakly labeled SVMs",
       Journal of Machine Learning Research 14, 2013.

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
        found = functions_of(machine, mixed_coefficients(machine, final)[None], result)
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
