"""Maximum-margin clustering as a convex mixture of labelings."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from weakly._compat import Interval, StrOptions
from weakly._mixture import LabelMixture, scores_of
from weakly._progress import Progress
from weakly.cluster._rounding import agreeing, widest
from weakly.cluster._starts import alignment_start, given_start, kmeans_start, spectral_start
from weakly.solvers import SignSet


class WellClustering(ClusterMixin, LabelMixture):
    """Two clusters with the widest margin between them.

    Over all ways to split the rows in two parts of similar size, and over mixtures of such splits, it
    minimises ::

        ||f||^2 / 2  +  C sum_i loss(y_i f_i)

    Mixtures make the problem convex. Splits join one at a time, each one that the present solution shows to
    be better than those before it.

    Parameters
    ----------
    C : float, default=0.1
        Cost of the loss of a row. With a large one nearly any split of many features has a margin, and the
        search ends at the first split; with a small one all rows count alike, and clusters come near those
        of k-means. The default suits kernels whose values are about 1, and rows of text of norm 1.
    loss : {"squared_hinge", "hinge"}, default="hinge"
        ``max(1 - y f, 0)^2 / 2`` or ``max(1 - y f, 0)``.
    balance : float, default=0.3
        Largest difference between the sizes of the clusters, as a share of the rows: from 0 for halves to
        almost 1. With 0.3 the smaller cluster has at least 35 % of the rows. Without such a bound the widest
        margin is that around all rows in one cluster.
    center : bool, default=True
        Take the mean from the rows, or from their images in the space of the kernel. The scores have no other
        offset.
    init : {"spectral", "alignment", "kmeans"} or array-like of shape (n_samples,), default="spectral"
        The first split. "spectral" follows the leading eigenvector of the centred kernel, "alignment" is the
        random split that the kernel is best aligned with, "kmeans" comes from k-means in the space of the
        kernel. Labels of two clusters, 0 and 1 or -1 and 1, are taken as they are, except that rows change
        sides where ``balance`` demands it.
    n_init : int, default=20
        Random splits that "alignment" compares, or runs of "kmeans".
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
    tol : float, default=1e-3
        Relative gain of the objective at which no further split joins.
    verbose : int, default=0
        1 shows stages and splits.
    random_state : int, RandomState or None, default=None
        Draws the start of "spectral", the splits of "alignment", the rows that "kmeans" begins with,
        landmarks and frequencies.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row, 0 or 1. The first row is in cluster 0; where ``init`` has labels,
        clusters have its numbers.
    shares_ : ndarray of shape (2,)
        Shares of the clusters in ``labels_``, within the bound of ``balance``.
    free_shares_ : ndarray of shape (2,)
        Shares of the clusters by the sign of the scores, before ``balance`` has its say. Splits keep to the
        bound, their mixture need not: where these shares are far outside, it is the bound and not a gap
        between the rows that made the clusters.
    threshold_ : float
        Score where the clusters meet: 0 where the sign of the scores keeps to ``balance``, else the middle
        of the gap that does. It is part of ``decision_function``.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.
    kernel_ : Kernel
        Kernel with its parameters as numbers.
    result_ : SolverResult
        What the solver reports: the objective after each split, the splits as signs (+1 for cluster 1) with
        their weights, and why it stopped.
    n_iter_ : int
        Splits tried.

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
        "C": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, 1, closed="left")],
        "init": [StrOptions({"spectral", "alignment", "kmeans"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "assignment": [StrOptions({"widest", "mixture"})],
    }

    def __init__(
        self,
        C=0.1,
        *,
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
        tol=1e-3,
        verbose=0,
        random_state=None,
    ):
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
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find the clusters of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their Gram matrix with ``kernel="precomputed"``.
        y : object, default=None
            Not used; here because scikit-learn passes it.

        Returns
        -------
        self
            The fitted estimator.
        """
        X = self._check_features(X)
        given = self._given_labels(X.shape[0])
        progress = Progress(type(self).__name__, self.verbose)
        with progress.stage("space"):
            space = self._space(X)
        with progress.stage("splits"):
            machine = self._machine(space, self._splits(X.shape[0]), np.full(X.shape[0], float(self.C)))
            start = self._start(machine, given)
            result = self._cut(machine, start, progress.count)
        self._publish(space, machine, result, given)
        return self

    def decision_function(self, X):
        """Score rows: positive in cluster 1, negative in cluster 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores less ``threshold_``.
        """
        decisions = self._decisions(X)[:, 0]
        return decisions - decisions.dtype.type(self.threshold_)

    def predict(self, X):
        """Find the cluster of rows, new or old.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 or 1.
        """
        return (self.decision_function(X) > 0).astype(int)

    def _splits(self, n_rows):
        # [wellsvm] Eq. (26): the sizes differ by beta at most, and by 1 if the number of rows is odd
        least = min(int(np.ceil((1 - self.balance) * n_rows / 2 - 1e-9)), n_rows // 2)
        return SignSet(np.zeros(0, dtype=int), np.zeros(0), n_rows, least, n_rows - least)

    def _given_labels(self, n_rows):
        """Labels of ``init`` as signs, if it has any."""
        if isinstance(self.init, str):
            return None
        labels = np.asarray(self.init)
        values = set(np.unique(labels).tolist()) if labels.dtype.kind in "biuf" else set()
        if labels.shape != (n_rows,) or not (values == {0, 1} or values == {-1, 1}):
            raise ValueError(
                "init must be 'spectral', 'alignment', 'kmeans' or a label for each row of X, 0 and 1 or -1 "
                f"and 1 with both of them present: X has {n_rows} rows, and init is an array of shape "
                f"{labels.shape} with the values {sorted(values) or 'of type ' + str(labels.dtype)}."
            )
        return np.where(labels > 0, 1.0, -1.0)

    def _start(self, machine, given):
        rng = check_random_state(self.random_state)
        if given is not None:
            return given_start(machine, given)
        match self.init:
            case "alignment":
                return alignment_start(machine, rng, self.n_init)
            case "kmeans":
                return kmeans_start(machine, rng, self.n_init)
        return spectral_start(machine, rng)

    def _publish(self, space, machine, result, given):
        self._warn_unfinished([result])
        result = agreeing(machine, result)
        final = widest(machine, result, self.tol) if self.assignment == "widest" else result
        scores = scores_of(machine, final)
        signs = machine.label_set.best(np.ones(len(scores)), scores)
        is_mirrored = signs[0] > 0 if given is None else signs @ given < 0
        turn = -1.0 if is_mirrored else 1.0
        self.result_ = replace(result, labels=turn * result.labels)
        self.n_iter_ = result.n_iter
        scores = self._mix(space, machine, [replace(final, labels=turn * final.labels)])[:, 0]
        self.labels_ = (turn * signs > 0).astype(int)
        self.shares_ = np.bincount(self.labels_, minlength=2) / len(scores)
        self.free_shares_ = np.bincount((scores > 0).astype(int), minlength=2) / len(scores)
        self.threshold_ = _threshold(scores, self.labels_)


def _threshold(scores, labels):
    """0 if it parts the clusters, else the middle between them."""
    below, above = scores[labels == 0].max(), scores[labels == 1].min()
    return 0.0 if below <= 0 < above else float(below + above) / 2
