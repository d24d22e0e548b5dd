"""The classifier to start with, and what it says about its choice: in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import joblib
import numpy as np
import scipy.sparse as sp

from weakly._compat import StrOptions
from weakly.auto._bank import build_bank, pose
from weakly.auto._blend import Fits, average, side_by_side
from weakly.auto._choice import Choice, choose
from weakly.auto._kernels import Candidate
from weakly.auto._refits import Refit, refit_total_variation
from weakly.auto._views import PREPARATIONS
from weakly.estimators._base import DeviceMixin, Progress, RowEstimator, atomic_fit
from weakly.estimators._calibration import (
    ScoredClassifier,
    check_class_prior,
    class_codes,
    fit_temperature,
    probabilities,
    warn_of_unseen,
)
from weakly.estimators._docstrings import fill_doc
from weakly.rows._arrays import is_collection, to_host
from weakly.rows._blocks import ArrayBlocks
from weakly.rows._labels import encode_labels

MOST_SCORED = 500  # labels that choose; more only cost time
MOST_FITTED = 10_000  # labels that are fitted to
MOST_NEIGHBOR_ROWS = 200_000  # to which graph="auto" compares rows with rows
_BANK_PARAMS = ("effort", "preparation", "random_state")
_TABLE = [("kernel", "U60"), ("family", "U5"), ("score", float), ("weight", float)]


@fill_doc
class FewLabelClassifier(DeviceMixin, ScoredClassifier, RowEstimator):
    """Classifier for few labels that finds out by itself whether and how unlabeled samples help.

    Every assumption about unlabeled samples becomes a label-independent kernel: supervised kernels, kernels
    deformed by the neighbor graph, functions of its spectrum, clusters, principal components. Ridge
    regression on the labeled samples then gives every label its leave-one-out probability in closed form, and
    the kernels are averaged by these probabilities, with a prior for the supervised ones, which decide alone
    where the labels speak for them.

    Parameters
    ----------
    mode : {"auto", "safe"}, default="auto"
        "auto" is the average of all kernels. "safe" is the mean of it and of the average of the supervised
        ones: it gains less where unlabeled samples help, and loses less where they do not.
    effort : {"fast", "full"}, default="fast"
        "full" takes more landmarks, eigenvectors and components, and total variation as one more candidate,
        which sees the labels and is fitted up to eleven times for an honest score.
    class_prior : array-like of shape (n_classes,), mapping or None, default=None
        Class proportions among all samples, in sorted order of the classes or by class. By default it is
        weighed by the labels whether classes are equally frequent or of unknown proportions.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        What is done to the samples first. "auto" looks at them: counts of words are weighed by tf-idf, other
        sparse samples without negative entries get length 1, dense features are standardized unless they
        share one scale, as pixels do.
    graph : {"auto", "knn", "anchor"}, default="auto"
        How samples are connected. "knn" compares each with each other, and holds some thousand numbers for
        each. "anchor" connects them through 2000 anchors and sums over blocks of samples, so that memory does
        not grow with their number; samples in float32 take half the time. "auto" is "knn" up to 200,000
        samples and with full effort, "anchor" beyond. A Dask collection always takes "anchor", which is there
        for ``effort="fast"`` alone.
    %(device)s
    %(unlabeled)s
    warm_start : bool, default=False
        Keep the kernels, and use them again when ``fit`` is called on the same samples with other labels of
        as many classes; a RandomState instance as ``random_state`` counts as a change. Samples of a Dask
        collection are the same if their tasks are, by ``dask.base.tokenize``.
    %(verbose)s
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks and the starts of clusterings.

    Attributes
    ----------
    %(classes_)s
    %(lazy_transduction_)s
    supervised_ : ndarray or dask array of shape (n_samples,)
        What the supervised kernels alone predict for all training samples.
    evidence_ : Evidence
        Log odds of semi-supervised against supervised kernels by the labels, and a verdict in words.
    candidates_ : ndarray of records (kernel, family, score, weight)
        The kernels by falling weight, and with ``effort="full"`` total variation. The score is the sum of the
        leave-one-out log probabilities of the labels, under the better hypothesis about class proportions.
    preparation_ : str
        What was done to the samples, and why.
    %(temperature_)s
        It is fitted to the labels, each scored without itself.
    %(features_in_)s

    See Also
    --------
    LaplacianRLSClassifier : One of the assumptions, with parameters to set.
    TotalVariationRLSClassifier : Classes as pieces of the graph with short borders.

    Notes
    -----
    Neither the order of samples nor the names of classes change the result. Kernels are exact up to 1000
    samples (2000 with full effort) and then taken with so many landmarks; eigenvectors of the graph are exact
    up to 3000 samples, beyond which nothing n x n is formed; neighbors are exact up to 10,000. Of more than
    500 labels that many choose, and up to 10,000 are fitted to.

    With ``graph="anchor"`` the preparation, principal components, anchors and clusters are learned from the
    first 20,000 samples in an order of their contents (fewer where they are long), and every kernel is
    centered and scaled by sums over all samples, which are read about six times.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from weakly import FewLabelClassifier
    >>> from weakly.model_selection import LabelDraws
    >>> X, truth = load_digits(return_X_y=True)
    >>> draw = next(LabelDraws(n_per_class=3, random_state=0).split(X, truth))
    >>> model = FewLabelClassifier(random_state=0).fit(X, draw.mask(truth))
    >>> bool(np.mean(model.transduction_ == truth) > 0.9)
    True
    >>> bool(np.mean(model.supervised_ == truth) < 0.9)
    True
    """

    _of_training = ("supervised_",)
    _parameter_constraints: dict = {
        "mode": [StrOptions({"auto", "safe"})],
        "effort": [StrOptions({"fast", "full"})],
        "class_prior": ["array-like", Mapping, None],
        "preparation": [StrOptions(set(PREPARATIONS))],
        "graph": [StrOptions({"auto", "knn", "anchor"})],
        "device": "no_validation",
        "unlabeled": "no_validation",
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        mode="auto",
        effort="fast",
        class_prior=None,
        preparation="auto",
        graph="auto",
        device=None,
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.mode = mode
        self.effort = effort
        self.class_prior = class_prior
        self.preparation = preparation
        self.graph = graph
        self.device = device
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self):
        # The bank of a warm start is large and is rebuilt on demand: it does not travel.
        return {name: value for name, value in super().__getstate__().items() if name != "_warm"}

    def to_numpy(self):
        """Bring the model to NumPy, so that it predicts and can be pickled without PyTorch.

        Returns
        -------
        FewLabelClassifier
            A copy with ``device=None``, without the kernels of a warm start.
        """
        model = super().to_numpy()
        if hasattr(self, "_function"):
            model._function = self._function.to_numpy()
        return model

    @atomic_fit
    def precompute(self, X, n_classes):
        """Build the kernels of samples before there are labels, for any number of fits on them.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Samples.
        n_classes : int
            Number of classes that the labels of a fit will show; a fit that shows another number builds
            kernels of its own, and these stay.

        Returns
        -------
        self
            The estimator, with ``warm_start`` in effect for these samples.
        """
        X = self._check_features(X)
        self._bank(ArrayBlocks(X), self._connection(X), n_classes, keep=True)
        return self

    def _precompute_blocks(self, blocks, n_classes):
        self._bank(blocks, "anchor", n_classes, keep=True)
        return self

    @atomic_fit
    def fit(self, X, y):
        """Fit on labeled and unlabeled samples together.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Samples. Those of a Dask collection are read about six times: call ``X.persist()`` first if the
            cluster holds them.
        %(y_or_collection)s

        %(fitted)s
        """
        y = to_host(y)
        X = self._check_rows(X, y)
        labels = encode_labels(y, unlabeled=self.unlabeled)
        return self._learn(ArrayBlocks(X), self._connection(X), labels, _unused_categories(y, labels.classes))

    def _fit_blocks(self, blocks, y):
        from weakly.distributed import labels_of

        return self._learn(blocks, "anchor", labels_of(y, blocks, self.unlabeled)[0])

    def _learn(self, blocks, graph, labels, unused=()):
        """From samples, wherever they are, and their labels to the model."""
        shares = self._shares(labels, unused)
        bank = self._bank(blocks, graph, labels.n_classes, keep=self.warm_start)
        with Progress(type(self).__name__, self.verbose).stage("choice"):
            self.classes_ = labels.classes
            self._decide(blocks, bank, pose(labels, blocks, bank, shares, MOST_FITTED))
        self.preparation_ = str(bank.preparation)
        return self

    def _check_features(self, X):
        X = super()._check_features(X)
        if self.graph == "anchor" and self.effort == "full":
            raise ValueError(
                "graph='anchor' has no edges, which the total variation of effort='full' needs: set "
                "graph='knn' or effort='fast'."
            )
        return X

    def _check_collection(self):
        if self.graph == "knn" or self.effort == "full":
            raise ValueError(
                "rows of a Dask collection are connected through anchors: set graph='auto' and "
                "effort='fast', or pass X.compute()."
            )
        super()._check_collection()

    def _connection(self, X):
        """The graph to connect samples in memory."""
        is_large = X.shape[0] > MOST_NEIGHBOR_ROWS and self.effort == "fast"
        by_size = "anchor" if is_large else "knn"
        return by_size if self.graph == "auto" else self.graph

    def _bank(self, blocks, graph, n_classes, keep):
        """The kernels of samples, those of the last call where it was about the same."""
        settings = {name: value for name, value in self.get_params().items() if name in _BANK_PARAMS}
        settings |= {"device": self._device, "graph": graph}
        warm = getattr(self, "_warm", None)
        key = None
        if keep or warm is not None:
            key = joblib.hash([_contents(blocks.X), int(n_classes), settings])
        if warm is not None and warm[0] == key:
            return warm[1]
        bank = build_bank(blocks, n_classes, verbose=self.verbose, **settings)
        if keep:
            self._warm = (key, bank)
        return bank

    def _shares(self, labels, unused):
        """Class proportions where given, with a warning about classes that no label has."""
        given = self.class_prior
        named = given if isinstance(given, Mapping) else ()
        warn_of_unseen(name for name in unused if name != self.unlabeled and name not in named)
        return None if given is None else check_class_prior(given, labels.classes, "class_prior")

    def _decide(self, blocks, bank, posed):
        """Choose, publish what was chosen, and fix the function from samples to decisions."""
        choice = choose(posed.candidates, posed.problem.first(MOST_SCORED))
        self.evidence_ = Evidence(choice.log_odds, verdict_of(choice.log_odds))
        fits = Fits(posed.candidates, choice, posed.problem)
        weights = [choice.weights(), choice.weights(supervised=True)]
        ours, baseline = average(fits, weights, bank, blocks)
        has_say = self.effort == "full" and choice.log_odds >= 0
        refit = refit_total_variation(bank, fits, ours) if has_say else None
        if refit is not None:
            ours = ours.mixed(refit.average, refit.weight)
        if self.mode == "safe":
            ours = ours.mixed(baseline, 0.5)
        self.candidates_ = tabulate(posed.candidates, choice, refit, self.mode)
        ours, baseline = ours @ posed.columns, baseline @ posed.columns
        self.temperature_ = fit_temperature(ours.held_out, posed.public[choice.problem.codes])
        self._publish(bank.decisions(blocks, side_by_side([ours.blend, baseline.blend])))
        self._function = ours.blend.function(bank.reference)

    def _publish(self, decided):
        """Labels and probabilities of all samples from the decisions of both averages, side by side."""
        classes, temperature, n_columns = self.classes_, self.temperature_, decided.shape[1] // 2

        def label(own, scores):
            return classes[class_codes(scores[:, own])]

        def distribute(scores):
            return probabilities(scores[:, :n_columns], temperature)

        ours, baseline = slice(n_columns), slice(n_columns, None)
        self.transduction_ = decided.map(partial(label, ours), width=None, dtype=classes.dtype)
        self.label_distributions_ = decided.map(distribute, width=len(classes), dtype=decided.dtype)
        self.supervised_ = decided.map(partial(label, baseline), width=None, dtype=classes.dtype)

    def _decisions(self, X):
        X = self._check_new(X)
        return self._function(X).astype(X.dtype, copy=False)


def _contents(X):
    """What tells rows from others."""
    if is_collection(X):
        from dask.base import tokenize

        return tokenize(X)
    return (X.shape, X.data, X.indices, X.indptr) if sp.issparse(X) else X


def _unused_categories(y, classes):
    """Categories of a pandas column that no label has."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return [] if categories is None else [name for name in categories if name not in classes]


@dataclass(frozen=True)
class Evidence:
    """Whether the labels say that unlabeled samples help.

    Parameters
    ----------
    log_odds : float
        Log odds of the labels, each judged by all others, under the semi-supervised kernels against the
        supervised ones, families weighing the same.
    verdict : str
        What that means.
    """

    log_odds: float
    verdict: str

    def __str__(self) -> str:
        return self.verdict


def verdict_of(log_odds: float) -> str:
    """Say what the odds mean; the bounds are those between which trials went well or badly."""
    if log_odds >= 4:
        return "The labels say clearly that the unlabeled samples help: trust the result above the baseline."
    if log_odds >= 2:
        return "The labels suggest that the unlabeled samples help; a few more labels would settle it."
    if log_odds >= 0:
        return (
            "The labels do not say whether the unlabeled samples help: look at the samples where the result "
            "and the supervised baseline differ, and label a few of them."
        )
    return "The labels speak for the supervised kernels, which decide alone: unlabeled samples are left out."


def tabulate(candidates: list[Candidate], choice: Choice, refit: Refit | None, mode: str) -> np.ndarray:
    """All candidates with their scores and weights, the heaviest first."""
    refit_weight = 0.0 if refit is None else refit.weight
    weights = choice.weights() * (1 - refit_weight)
    if mode == "safe":
        weights, refit_weight = (weights + choice.weights(supervised=True)) / 2, refit_weight / 2
    by_hypothesis = (len(weights), -1, len(candidates))
    scores = choice.scores.reshape(by_hypothesis).max(axis=1)[-1]
    weights = weights.reshape(by_hypothesis).sum(axis=1).mean(axis=0)
    lines = [
        (candidate.name, candidate.family, score, weight)
        for candidate, score, weight in zip(candidates, scores, weights, strict=True)
    ]
    if refit is not None:
        lines.append(("total variation", "tv", refit.log_likelihood, refit_weight))
    table = np.array(lines, dtype=_TABLE)
    return table[np.argsort(-table["weight"], kind="stable")]
