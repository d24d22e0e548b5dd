"""How well the labels given would have been filled: a method beside its supervised baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from sklearn.svm import SVC

from weakly.model_selection import PartiallyLabeledKFold

BASELINE = "SVC on the labelled rows"


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Which labelled rows each of the two got right while their labels were hidden.

    ``n_shown`` labels were left to learn from, in the fold that left the fewest.
    """

    method: np.ndarray
    baseline: np.ndarray
    n_shown: int

    @property
    def n_rows(self):
        return len(self.method)

    @property
    def baseline_does_as_well(self):
        return self.baseline.sum() >= self.method.sum()

    def sentence(self):
        """Say how far the score can be trusted."""
        low, high = wilson_interval(self.method.sum(), self.n_rows)
        gained, lost = (self.method & ~self.baseline).sum(), (self.baseline & ~self.method).sum()
        return (
            f"This rests on {self.n_rows} labels: with 95 % confidence the method's accuracy is between "
            f"{low:.0%} and {high:.0%} when it learns from {self.n_shown} labels; with all of them it tends "
            f"to be higher. It is right on {gained} rows that the baseline misses, and wrong on {lost} that "
            "the baseline gets right."
        )


def leave_out(estimator, X, codes, *, max_splits, seed, track=iter):
    """Hide the labels of one fold after the other and fill them with the method and with an SVC.

    The hidden rows stay in the table as unlabelled ones, which is how the method is used. There are no more
    folds than a typical class has labels, so that each hides about one label of every class: to hide a
    single row of a class with two labels would pit one label against two of every other class.

    Parameters
    ----------
    estimator : classifier
        Refitted in place.
    X : matrix of shape (n_rows, n_features)
        Features of all rows.
    codes : ndarray of int, shape (n_rows,)
        Class of each row, -1 where unknown.
    max_splits : int
        Folds at most; less than 2 means no comparison.
    seed : int
        Shuffles the rows before they are dealt.
    track : callable, default=iter
        Wraps the list of folds, to show progress.

    Returns
    -------
    LeaveOut or None
        Rows right and wrong; None where fewer than two rows share their label with another.
    """
    counts = np.bincount(codes[codes >= 0])
    repeated = counts[counts > 1]
    n_splits = min(max_splits, int(np.median(repeated))) if len(repeated) else 0
    if n_splits < 2:
        return None
    folds = PartiallyLabeledKFold(n_splits, shuffle=True, random_state=seed)
    hidden = [test for _, test in folds.split(X, codes)]
    right = [_right_when_hidden(estimator, X, codes, rows) for rows in track(hidden)]
    return LeaveOut(*np.hstack(right), n_shown=int(counts.sum()) - max(map(len, hidden)))


def _right_when_hidden(estimator, X, codes, hidden):
    """Whether the method (first row) and the baseline (second) find the labels that are hidden from them."""
    known = codes.copy()
    known[hidden] = -1
    labeled = np.flatnonzero(known >= 0)
    method = estimator.fit(X, known).transduction_[hidden]
    baseline = SVC().fit(X[labeled], known[labeled]).predict(X[hidden])
    return np.stack([method, baseline]) == codes[hidden]


def wilson_interval(n_correct, n_rows, confidence=0.95):
    """Return Wilson's interval for a proportion; unlike the usual one it holds for few rows.

    >>> "{:.3f} to {:.3f}".format(*wilson_interval(9, 10))
    '0.596 to 0.982'
    """
    z = ndtri((1 + confidence) / 2)
    share = n_correct / n_rows
    center = share + z**2 / (2 * n_rows)
    half = z * np.sqrt(share * (1 - share) / n_rows + z**2 / (4 * n_rows**2))
    scale = 1 + z**2 / n_rows
    return (center - half) / scale, (center + half) / scale
