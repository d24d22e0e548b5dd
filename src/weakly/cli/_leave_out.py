"""How well the labels given would have been filled: a method beside its supervised baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from weakly.model_selection import PartiallyLabeledKFold

BASELINE = "SVC on the labeled samples"


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """How often each of the two found the label of each tested row while it was hidden, as a share.

    ``confusion`` counts the rows of each class (first axis) by the class that the method filled in, on
    average over the refits. ``n_shown`` labels were left to learn from, in the fold that left the fewest.
    """

    method: np.ndarray
    baseline: np.ndarray
    confusion: np.ndarray
    n_shown: int

    @property
    def n_rows(self):
        return len(self.method)

    @property
    def per_class(self):
        """Rows of each class that the method found, and that were hidden: shape (n_classes, 2)."""
        return np.column_stack([np.diag(self.confusion), self.confusion.sum(axis=1)])

    @property
    def n_better(self):
        """Rows that the method finds more often than the baseline."""
        return int((self.method > self.baseline).sum())

    @property
    def n_worse(self):
        return int((self.method < self.baseline).sum())

    @property
    def p_value(self):
        """Exact sign test: how often two equals would differ on the rows at least as unevenly."""
        differ = self.n_better + self.n_worse
        return binomtest(self.n_better, differ).pvalue if differ else 1.0

    @property
    def interval(self):
        """Interval of the method's accuracy; a row counts once, however often it was tested."""
        return wilson_interval(self.method.sum(), self.n_rows)


def leave_out(estimator, X, codes, *, max_refits, seed, track=iter):
    """Hide the labels of one fold after the other and fill them with the method and with an SVC.

    The hidden samples stay in the table as unlabeled ones, which is how the method is used. There are no
    more folds than a typical class has labels, so that each hides about one label of every class: to hide a
    single sample of a class with two labels would pit one label against two of every other class. Few folds
    are dealt again in other ways, as long as the ``max_refits`` last, to steady the score. The estimator is
    refitted in place; ``track`` wraps the list of refits, to show progress.

    Returns None where fewer than two samples share their label with another, or there are no two refits.
    """
    counts = np.bincount(codes[codes >= 0])
    repeated = counts[counts > 1]
    n_splits = min(max_refits, int(np.median(repeated))) if len(repeated) else 0
    if n_splits < 2:
        return None
    n_deals = max_refits // n_splits
    folds = PartiallyLabeledKFold(n_splits, shuffle=True, random_state=check_random_state(seed))
    hidden = [test for _ in range(n_deals) for _, test in folds.split(X, codes)]
    found, confusion = np.zeros((2, len(codes))), np.zeros((len(counts), len(counts)))
    for rows in track(hidden):
        filled = _fill_hidden(estimator, X, codes, rows)
        found[:, rows] += filled == codes[rows]
        np.add.at(confusion, (codes[rows], filled[0]), 1)
    tested = np.sort(np.concatenate(hidden[:n_splits]))
    n_shown = int(counts.sum()) - max(map(len, hidden))
    return LeaveOut(*found[:, tested] / n_deals, confusion / n_deals, n_shown)


def _fill_hidden(estimator, X, codes, hidden):
    """Return the classes that the method (first row) and the baseline (second) fill in for hidden labels."""
    known = codes.copy()
    known[hidden] = -1
    labeled = np.flatnonzero(known >= 0)
    method = estimator.fit(X, known).transduction_[hidden]
    baseline = SVC().fit(X[labeled], known[labeled]).predict(X[hidden])
    return np.stack([method, baseline])


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
