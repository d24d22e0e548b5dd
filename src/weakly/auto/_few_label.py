"""The classifier to start with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from weakly._calibration import fit_temperature, probabilities
from weakly._compat import StrOptions, check_params
from weakly._estimator import ScoredClassifier, check_shares
from weakly._labels import encode_labels
from weakly._progress import Progress
from weakly.auto._bank import build_bank
from weakly.auto._blend import Fits, average
from weakly.auto._choice import Problem, choose
from weakly.auto._prepare import PREPARATIONS, canonical
from weakly.auto._refits import refit_total_variation

MOST_SCORED = 500  # labels that choose; more only cost time
MOST_FITTED = 10_000  # labels that are fitted to
_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
_BANK_PARAMS = ("effort", "preparation", "random_state")
_TABLE = [("kernel", "U60"), ("family", "U5"), ("score", float), ("weight", float)]


@dataclass(frozen=True)
class Evidence:
    """Whether the labels say that unlabelled rows help.

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


class FewLabelClassifier(ScoredClassifier, BaseEstimator):
    """Classifier for few labels that finds out by itself whether and how unlabelled rows help.

    Every assumption about unlabelled rows becomes a kernel that no label has seen: supervised kernels,
    kernels deformed by the neighbour graph, functions of its spectrum, clusters, principal components. Ridge
    regression on the labelled rows then gives every label its probability by all other labels in closed form,
    and the kernels are averaged by these probabilities, with a prior for the supervised ones, which decide
    alone where the labels speak for them.

    Parameters
    ----------
    mode : {"auto", "safe"}, default="auto"
        "auto" is the average of all kernels. "safe" is the mean of it and of the average of the supervised
        ones: it gains less where unlabelled rows help, and loses less where they do not.
    effort : {"fast", "full"}, default="fast"
        "full" takes more landmarks, eigenvectors and components, and total variation as one more candidate,
        which sees the labels and is fitted up to eleven times for an honest score.
    class_prior : array-like of shape (n_classes,), mapping or None, default=None
        Shares of the classes among all rows, in sorted order of the classes or by class. By default it is
        weighed by the labels whether classes are equally frequent or of unknown shares.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        What is done to the rows first. "auto" looks at them: counts of words are weighed by tf-idf, other
        sparse rows without negative entries get length 1, dense columns are standardised unless they share
        one scale, as pixels do.
    unlabeled : "auto", None or a label, default="auto"
        Marker of unlabelled rows. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
        floats, a missing entry in a pandas column; ``None`` leaves only missing entries, so that -1 is
        a class.
    warm_start : bool, default=False
        Keep the kernels, and use them again when ``fit`` is called on the same rows with other labels of as
        many classes; a RandomState instance as ``random_state`` counts as a change.
    verbose : int, default=0
        1 shows the stages.
    random_state : int, RandomState or None, default=None
        Draws the landmarks and the starts of clusterings.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    transduction_ : ndarray of shape (n_samples,)
        Predicted labels of all training rows.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of all training rows.
    supervised_ : ndarray of shape (n_samples,)
        What the supervised kernels alone predict for all training rows.
    evidence_ : Evidence
        Log odds of semi-supervised against supervised kernels by the labels, and a verdict in words.
    candidates_ : ndarray of records (kernel, family, score, weight)
        The kernels by falling weight, and with ``effort="full"`` total variation. The score is the sum of the
        log probabilities of the labels, each by all others, under the better hypothesis about class shares.
    preparation_ : str
        What was done to the rows, and why.
    temperature_ : float
        Factor between decisions and the logits of the probabilities, fitted to the labels, each scored
        without itself.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when ``X`` has them.

    See Also
    --------
    LaplacianRLSClassifier : One of the assumptions, with parameters to set.
    TotalVariationRLSClassifier : Classes as pieces of the graph with short borders.

    Notes
    -----
    Neither the order of rows nor the names of classes change the result. Kernels are exact up to 1000 rows
    (2000 with full effort) and then taken with so many landmarks; eigenvectors of the graph are exact up to
    3000 rows, beyond which nothing n x n is formed; neighbours are exact up to 10,000. Of more than 500
    labels that many choose, and up to 10,000 are fitted to.

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

    _parameter_constraints: dict = {
        "mode": [StrOptions({"auto", "safe"})],
        "effort": [StrOptions({"fast", "full"})],
        "class_prior": ["array-like", Mapping, None],
        "preparation": [StrOptions(set(PREPARATIONS))],
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
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.mode = mode
        self.effort = effort
        self.class_prior = class_prior
        self.preparation = preparation
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

    def precompute(self, X, n_classes):
        """Build the kernels of rows before there are labels, for any number of fits on the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        n_classes : int
            Number of classes that the labels of a fit will show; a fit that shows another number builds
            kernels of its own, and these stay.

        Returns
        -------
        self
            The estimator, with ``warm_start`` in effect for these rows.
        """
        check_params(self)
        self._bank(self._check_rows(X), n_classes, keep=True)
        return self

    def fit(self, X, y):
        """Fit on labelled and unlabelled rows together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, with the marker of ``unlabeled`` where unknown.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_params(self)
        if y is None:
            raise ValueError("FewLabelClassifier requires y to be passed, but the target y is None.")
        X = self._check_rows(X)
        check_consistent_length(X, y)
        labels = encode_labels(y, unlabeled=self.unlabeled)
        shares = self._shares(labels, y)
        bank = self._bank(X, labels.n_classes, keep=self.warm_start)
        problem, columns, public = pose(labels, bank.order, shares)
        with Progress(type(self).__name__, self.verbose).stage("choice"):
            self.classes_ = labels.classes
            self._decide(bank, problem, columns, public, X.dtype)
        self.preparation_ = str(bank.preparation)
        return self

    def _check_rows(self, X):
        return canonical(validate_data(self, X, ensure_min_samples=2, order="C", **_ROWS))

    def _bank(self, X, n_classes, keep):
        """The kernels of rows, those of the last call where it was about the same."""
        settings = {name: value for name, value in self.get_params().items() if name in _BANK_PARAMS}
        warm = getattr(self, "_warm", None)
        contents = (X.shape, X.data, X.indices, X.indptr) if sp.issparse(X) else X
        key = joblib.hash([contents, int(n_classes), settings]) if keep or warm is not None else None
        if warm is not None and warm[0] == key:
            return warm[1]
        bank = build_bank(X, n_classes, verbose=self.verbose, **settings)
        if keep:
            self._warm = (key, bank)
        return bank

    def _shares(self, labels, y):
        """Shares of the classes where given, with a warning about classes that no label has."""
        unseen = [name for name in _unused_categories(y, labels.classes) if name != self.unlabeled]
        shares = self.class_prior
        if isinstance(shares, Mapping):
            unseen += [name for name in shares if name not in labels.classes]
            absent = [name for name in labels.classes.tolist() if name not in shares]
            if absent:
                raise ValueError(f"class_prior has no share for {absent}: give one for every class.")
            shares = [shares[name] for name in labels.classes.tolist()]
        if unseen:
            warnings.warn(
                f"no row is labelled {', '.join(map(repr, dict.fromkeys(unseen)))}: no row will be. Label at "
                "least one row of each class.",
                UserWarning,
                stacklevel=3,
            )
        return None if shares is None else check_shares(shares, labels.n_classes, "class_prior must be None")

    def _decide(self, bank, problem, columns, public, dtype):
        """Choose, publish what was chosen, and fix the function from rows to decisions."""
        choice = choose(bank.candidates, problem.first(MOST_SCORED))
        self.evidence_ = Evidence(choice.log_odds, _verdict(choice.log_odds))
        weights, supervised = choice.weights(), choice.weights(supervised=True)
        fits = Fits(bank.candidates, choice, problem.first(MOST_FITTED))
        ours, baseline = average(fits, weights), average(fits, supervised)
        has_say = self.effort == "full" and choice.log_odds >= 0
        refit = refit_total_variation(bank, fits, ours.scores) if has_say else None
        if refit is not None:
            ours = ours.mixed(refit.average, refit.weight)
        if self.mode == "safe":
            ours = ours.mixed(baseline, 0.5)
        self.candidates_ = self._table(bank.candidates, choice, refit)
        decisions = (ours.scores @ columns).astype(dtype)
        self.temperature_ = fit_temperature(ours.held_out @ columns, public[choice.problem.codes])
        inverse = np.argsort(bank.order)
        self.transduction_ = self._labels_of(decisions)[inverse]
        self.label_distributions_ = probabilities(decisions, self.temperature_)[inverse]
        self.supervised_ = self._labels_of(baseline.scores @ columns)[inverse]
        self._function = (ours.blend @ columns).function(bank.reference)

    def _table(self, candidates, choice, refit):
        """All candidates with their scores and weights, the heaviest first."""
        refit_weight = 0.0 if refit is None else refit.weight
        weights = choice.weights() * (1 - refit_weight)
        if self.mode == "safe":
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
        return table[np.argsort(-table["weight"], kind="stable")].view(np.recarray)

    def _decisions(self, X):
        check_is_fitted(self, "_function")
        X = canonical(validate_data(self, X, reset=False, **_ROWS))
        return self._function(X).astype(X.dtype, copy=False)


def pose(labels, order, shares):
    """The problem in the bank's order of rows, and the map from its classes to the columns of decisions.

    Its classes are in the order of their first labelled row, so that no name of a class plays a part.
    """
    codes = labels.codes[order]
    rows = np.flatnonzero(codes >= 0)
    n_classes = labels.n_classes
    seen = codes[rows]
    place = np.argsort(np.unique(seen, return_index=True)[1])  # sorted class of each class by appearance
    own_codes = np.argsort(place)[seen]
    given = np.full(n_classes, 1 / n_classes) if shares is None else shares[place]
    columns = np.zeros((n_classes, n_classes))
    columns[np.arange(n_classes), place] = 2 / np.sqrt(n_classes)  # 2 between the right class and the others
    if n_classes == 2:
        columns = (columns[:, 1:] - columns[:, :1]) / 2
    return Problem(rows, own_codes, given, shares is not None), columns, place


def _unused_categories(y, classes):
    """Categories of a pandas column that no label has."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return [] if categories is None else [name for name in categories if name not in classes]


def _verdict(log_odds):
    """Say what the odds mean; the bounds are those between which trials went well or badly."""
    if log_odds >= 4:
        return "The labels say clearly that the unlabelled rows help: trust the result above the baseline."
    if log_odds >= 2:
        return "The labels suggest that the unlabelled rows help; a few more labels would settle it."
    if log_odds >= 0:
        return (
            "The labels do not say whether the unlabelled rows help: look at the rows where the result and "
            "the supervised baseline differ, and label a few of them."
        )
    return "The labels speak for the supervised kernels, which decide alone: unlabelled rows are left out."
