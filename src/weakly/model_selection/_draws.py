"""Experiments with few labels: repeated, seeded draws of the samples whose label is shown."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state

from weakly.rows._arrays import is_count
from weakly.rows._labels import encode_labels
from weakly.rows._selection import mask_labels

_UNLABELED, _LABELED, _TEST = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class LabelDraw:
    """Samples that keep their label, samples that lose it, and samples held out.

    Parameters
    ----------
    labeled, unlabeled, test : ndarray of intp
        Indices of samples, ascending; together they are all samples, each once.

    See Also
    --------
    LabelDraws : Makes the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.model_selection import LabelDraw
    >>> draw = LabelDraw(labeled=np.array([0, 3]), unlabeled=np.array([2]), test=np.array([1]))
    >>> draw.mask(["a", "b", "a", "b"]).tolist()
    ['a', None, None, 'b']
    >>> draw.train.tolist()
    [0, 2, 3]
    """

    labeled: np.ndarray
    unlabeled: np.ndarray
    test: np.ndarray

    @property
    def train(self):
        """Labeled and unlabeled samples, ascending."""
        return np.sort(np.concatenate([self.labeled, self.unlabeled]))

    def mask(self, y):
        """Hide the labels of all samples but the labeled ones.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The labels the draw was made from.

        Returns
        -------
        ndarray of shape (n_samples,)
            Integers with -1, floats with ``NaN``, anything else with ``None`` where hidden. Test samples are
            hidden too; index with ``train`` to leave them out of a fit.
        """
        return mask_labels(y, self.labeled)


@dataclass(frozen=True, kw_only=True)
class LabelDraws:
    """Draw labeled, unlabeled and test samples from fully labeled data, again and again.

    Each draw shuffles the samples within their classes; how many of a class go to which part is the same
    in all draws. Every class gets at least one label. With the same ``random_state``, draw ``i`` does not
    depend on ``n_repeats``, its test part does not depend on the number of labels, and more labels
    include the fewer: learning curves compare like with like.

    Parameters
    ----------
    n_per_class : int or None, default=None
        Labels of each class. Give either this or ``fraction``.
    fraction : float or None, default=None
        Share of the samples outside the test part that are labeled, in (0, 1]; rounded in each class, and
        at least one.
    test_size : int, float or None, default=None
        Number or share of samples held out, in proportion to the classes; ``None`` holds out none, for
        experiments that are scored on the unlabeled samples.
    n_repeats : int, default=10
        Number of draws.
    random_state : int, RandomState instance or None, default=0
        Seed of all draws.

    See Also
    --------
    PartiallyLabeledKFold : Cross-validation when only some labels are known.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.model_selection import LabelDraws
    >>> y = np.repeat([0, 1], 10)
    >>> draws = LabelDraws(n_per_class=2, test_size=0.25, n_repeats=3)
    >>> [(len(draw.labeled), len(draw.unlabeled), len(draw.test)) for draw in draws.split(y, y)]
    [(4, 11, 5), (4, 11, 5), (4, 11, 5)]
    """

    n_per_class: int | None = None
    fraction: float | None = None
    test_size: int | float | None = None
    n_repeats: int = 10
    random_state: object = 0

    def __post_init__(self):
        if (self.n_per_class is None) == (self.fraction is None):
            raise ValueError("Give exactly one of n_per_class and fraction.")
        if self.n_per_class is not None and not is_count(self.n_per_class):
            raise ValueError(f"n_per_class must be a positive integer, got {self.n_per_class!r}.")
        if self.fraction is not None and not (isinstance(self.fraction, Real) and 0 < self.fraction <= 1):
            raise ValueError(f"fraction must be a number in (0, 1], got {self.fraction!r}.")
        if not (self.test_size is None or is_count(self.test_size) or _is_share(self.test_size)):
            raise ValueError(
                f"test_size must be a positive integer, a number in (0, 1) or None, got {self.test_size!r}."
            )
        if not is_count(self.n_repeats):
            raise ValueError(f"n_repeats must be a positive integer, got {self.n_repeats!r}.")

    def split(self, X, y):
        """Make the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None
            Only its length is used.
        y : array-like of shape (n_samples,)
            Classes, all known.

        Returns
        -------
        iterator of LabelDraw
            One for each of ``n_repeats``.

        Raises
        ------
        ValueError
            If a sample of ``y`` is unlabeled or a class has too few samples.
        """
        check_consistent_length(X, y)
        view = encode_labels(y)
        if len(view.labeled) < len(view.codes):
            raise ValueError(
                f"y must be fully labelled, but {len(view.codes) - len(view.labeled)} of its rows are not "
                "(-1 in integers, NaN and None mean unlabelled): leave those rows out, or rename the class."
            )
        parts = self._parts_by_class(view)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_repeats)
        return (_shuffled_within_classes(view.codes, parts, seed) for seed in seeds)

    def _parts_by_class(self, view):
        """Part of each sample when the samples stand in order of their classes."""
        codes = np.sort(view.codes)
        parts = np.full(len(codes), _UNLABELED)
        # The first sample of a class is never a test sample, so that there is one to label.
        spare = np.flatnonzero(_rank_in_class(codes) > 0)
        n_test = self._n_test(len(codes), len(spare))
        parts[spare[((np.arange(n_test) + 0.5) * len(spare) / max(n_test, 1)).astype(int)]] = _TEST
        train = np.flatnonzero(parts != _TEST)
        n_labels = self._n_labels(np.bincount(codes[train]), view.classes)
        parts[train[_rank_in_class(codes[train]) < n_labels[codes[train]]]] = _LABELED
        return parts

    def _n_test(self, n_rows, n_spare):
        if self.test_size is None:
            return 0
        n_test = self.test_size if isinstance(self.test_size, Integral) else round(self.test_size * n_rows)
        if n_test > n_spare:
            raise ValueError(
                f"test_size={self.test_size} takes {n_test} of {n_rows} rows, but one of each class must "
                f"stay to be labelled: hold out at most {n_spare}."
            )
        return int(n_test)

    def _n_labels(self, counts, classes):
        if self.fraction is not None:
            return np.maximum(1, np.floor(self.fraction * counts + 0.5))
        if counts.min() < self.n_per_class:
            scarce = counts.argmin()
            raise ValueError(
                f"n_per_class={self.n_per_class}, but class {classes[scarce]!r} has {counts[scarce]} rows "
                "outside the test part: lower n_per_class or test_size."
            )
        return np.full(len(counts), self.n_per_class)


def _shuffled_within_classes(codes, parts, seed):
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return LabelDraw(
        labeled=np.sort(order[parts == _LABELED]),
        unlabeled=np.sort(order[parts == _UNLABELED]),
        test=np.sort(order[parts == _TEST]),
    )


def _rank_in_class(sorted_codes):
    """Position of each sample among those of its class."""
    return np.arange(len(sorted_codes)) - np.searchsorted(sorted_codes, sorted_codes)


def _is_share(value):
    return isinstance(value, Real) and 0 < value < 1
