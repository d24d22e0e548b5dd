"""Cross-validation that tests on labeled samples and trains on the others, unlabeled ones included."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_consistent_length, check_random_state

from weakly.estimators._docstrings import fill_doc
from weakly.rows._labels import encode_labels, find_unlabeled


@fill_doc
class PartiallyLabeledKFold(BaseCrossValidator):
    """K-fold over the labeled samples; every unlabeled sample is in every training part.

    The labeled samples, ordered by class, are dealt to the folds in turn. The test parts partition them;
    their sizes differ by one at most, and so do the counts of each class in them. A class with fewer samples
    than folds is spread over as many folds as it has samples. A class with a single labeled sample keeps that
    sample in all training parts and is never tested: a model cannot be asked for a class it never saw.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    stratify : bool, default=True
        Deal class by class. With False the labeled samples are dealt in order, whatever their labels, and
        none is kept back: the choice for regression.
    shuffle : bool, default=False
        Shuffle the samples, within each class if ``stratify``, before they are dealt.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle; an error without ``shuffle``, as it would do nothing.
    %(unlabeled)s
    cover : bool, default=False
        Deal all samples to the test parts, those that are never tested too: they stay in every training
        part, but are predicted once. ``cross_val_predict`` asks for this. Score such parts with
        :func:`labeled_scorer`, or with the ``score`` of an estimator of this package.

    See Also
    --------
    LabelDraws : Repeated draws of the labeled samples, for experiments.
    labeled_scorer : Scores of labeled samples only, for other splitters.
    PartiallyLabeled : Voting, stacking, bagging, calibration on partially labeled data.

    Notes
    -----
    ``learning_curve`` takes the first samples of a training part. Pass it ``shuffle=True`` and sizes that
    leave labels of every class; to vary the number of labels alone, draw them with :class:`LabelDraws`.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.model_selection import PartiallyLabeledKFold
    >>> X, y = np.zeros((7, 1)), [0, -1, 1, 0, -1, 1, -1]
    >>> for train, test in PartiallyLabeledKFold(2).split(X, y):
    ...     print(train, test)
    [1 3 4 5 6] [0 2]
    [0 1 2 4 6] [3 5]

    It goes wherever scikit-learn takes ``cv``, such as ``GridSearchCV(..., cv=PartiallyLabeledKFold(5))``.
    """

    def __init__(
        self,
        n_splits=5,
        *,
        stratify=True,
        shuffle=False,
        random_state=None,
        unlabeled="auto",
        cover=False,
    ):
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {n_splits!r}.")
        if random_state is not None and not shuffle:
            raise ValueError(
                "random_state has no effect without shuffling: set shuffle=True or leave it None."
            )
        self.n_splits = n_splits
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.cover = cover

    def get_n_splits(self, X=None, y=None, groups=None):
        """Number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored; here for compatibility.

        Returns
        -------
        int
            ``n_splits``.
        """
        return self.n_splits

    def split(self, X, y=None, groups=None):
        """Give the training and test samples of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None
            Only its length is used.
        y : array-like of shape (n_samples,)
            Targets, some of them unlabeled.
        groups : object, default=None
            Ignored; here for compatibility.

        Returns
        -------
        iterator of (train, test)
            Indices of samples, ascending.

        Raises
        ------
        ValueError
            If ``y`` is missing or of another length than ``X``, or if fewer samples than ``n_splits`` can be
            tested.
        """
        if y is None:
            raise ValueError("y is required: the folds partition its labelled rows.")
        check_consistent_length(X, y)
        fold = self._fold_of_rows(y)
        tested = fold.copy()
        if self.cover:
            others = np.flatnonzero(fold < 0)
            tested[others] = np.arange(len(others)) % self.n_splits
        return ((np.flatnonzero(fold != k), np.flatnonzero(tested == k)) for k in range(self.n_splits))

    def _fold_of_rows(self, y):
        """Fold that tests each sample, -1 for samples that only train."""
        labeled, codes = self._strata(y)
        testable = np.arange(len(labeled))
        if self.stratify:
            testable = np.flatnonzero(np.bincount(codes)[codes] > 1)
        if len(testable) < self.n_splits:
            raise ValueError(self._too_few(len(testable), len(labeled)))
        if self.shuffle:
            check_random_state(self.random_state).shuffle(testable)
        by_class = testable[np.argsort(codes[testable], kind="stable")]
        fold = np.full(len(y), -1)
        fold[labeled[by_class]] = np.arange(len(by_class)) % self.n_splits
        return fold

    def _strata(self, y):
        """Labeled samples and the stratum of each."""
        if self.stratify:
            view = encode_labels(y, unlabeled=self.unlabeled)
            return view.labeled, view.labeled_codes
        _, mask = find_unlabeled(y, unlabeled=self.unlabeled, continuous=True)
        labeled = np.flatnonzero(~mask)
        return labeled, np.zeros(len(labeled), dtype=np.intp)

    def _too_few(self, n_testable, n_labeled):
        alone = n_labeled - n_testable
        kept = f" ({alone} more stay in training, each the only one of its class)" if alone else ""
        remedy = f"set n_splits to at most {n_testable} or " if n_testable >= 2 else ""
        return (
            f"n_splits={self.n_splits}, but y has {n_testable} labelled rows to test{kept}: "
            f"{remedy}label more rows."
        )
