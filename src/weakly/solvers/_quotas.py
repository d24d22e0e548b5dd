"""The best assignment of rows to classes when each class has a least and a most number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weakly.solvers._quota_kernels import balance

_LARGEST = 1e300  # differences and sums of a few of them stay finite
_DEPTH = 64  # rows that a queue of the flow holds
_SAMPLED = 4096  # more rows than this start from the prices of a sample
_STRIDE = 8


@dataclass(frozen=True, slots=True)
class QuotaAssignment:
    """An assignment of rows to classes, with the prices that prove it the best.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class of each row.
    prices : ndarray of shape (n_classes,)
        What to add to the scores of each class, so that the class of each row is a maximiser.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import assign_quotas
    >>> halves = np.array([2, 2])
    >>> found = assign_quotas(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]), halves, halves)
    >>> found.prices.tolist()
    [1.25, -1.25]
    >>> np.argmax(np.array([[0.0, 2.4], [0.0, 2.6]]) + found.prices, axis=1).tolist()  # for new rows
    [0, 1]
    """

    codes: np.ndarray
    prices: np.ndarray


def assign_quotas(scores: np.ndarray, least: np.ndarray, most: np.ndarray) -> QuotaAssignment:
    """Give each row a class so that scores sum to the most and every class has its quota of rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Score of each class for each row, of a size up to 1e300.
    least, most : ndarray of shape (n_classes,)
        Bounds of the number of rows of each class, whole numbers.

    Returns
    -------
    QuotaAssignment
        Classes of the rows, and prices of the classes.

    Notes
    -----
    The class of each row is a maximiser of ``scores[i] + prices``, up to rounding of the largest scores. A
    class with more than ``least`` rows has a price of at most 0, one with fewer than ``most`` rows a price of
    at least 0. So the price is 0 strictly between the bounds, and may have either sign if they are equal.
    Prices with these properties prove that no other assignment within the bounds has a larger sum.

    Such prices usually leave freedom. For each class there are valid prices that are all the largest, and
    others that are all the smallest, relative to the price of that class; the same holds relative to 0.
    Returned is the mean of them all. For two classes this is the middle of the valid interval: with equal
    bounds, midway between the rows on both sides of the threshold. Generally no row is at a tie unless it is
    at one for all valid prices, so if the best assignment is unique, ``argmax(scores + prices)`` is that one.

    If ``least`` or ``most`` sums to the number of rows, all prices may move together. They have the mean 0
    over the classes with rows, or are moved from there just as far as the signs need it. The price of a class
    that can have no rows has no lower bound, and is below its upper one by the range of the scores.

    Two classes are a matter of sorting. More are a flow of least cost, from the maximisers of the scores,
    one row after the other along shortest paths between the classes; if there are many rows, from those of
    the scores plus the prices of a sample of rows. Of equally good assignments one is chosen by the order of
    rows and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.solvers import assign_quotas
    >>> scores = np.array([[0.0, 0.9], [0.0, 0.5], [0.0, 0.1], [0.0, -2.0]])
    >>> found = assign_quotas(scores, least=np.array([3, 1]), most=np.array([3, 1]))
    >>> found.codes.tolist(), found.prices.round(2).tolist()
    ([1, 0, 0, 0], [0.35, -0.35])
    """
    scores, least, most = _checked(scores, least, most)
    codes = _threshold(scores, least, most) if scores.shape[1] == 2 else _flow(scores, least, most)
    return QuotaAssignment(codes, _central_prices(scores, codes, least, most))


def _checked(
    scores: np.ndarray, least: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ValueError(f"scores need rows and at least one class; got shape {scores.shape}")
    if not max(scores.max(initial=0.0), -scores.min(initial=0.0)) <= _LARGEST:
        raise ValueError(f"scores must be finite and at most {_LARGEST:g} in size")
    n_rows, n_classes = scores.shape
    bounds = np.asarray(least), np.asarray(most)
    for name, bound in zip(("least", "most"), bounds, strict=True):
        if bound.shape != (n_classes,):
            raise ValueError(f"{name} needs one number for each of {n_classes} classes; got {bound.shape}")
        if not np.issubdtype(bound.dtype, np.integer):
            raise ValueError(f"{name} must have whole numbers; got {bound.dtype}")
    if (bounds[0] < 0).any() or (bounds[0] > bounds[1]).any():
        raise ValueError(f"0 <= least <= most must hold for all classes; got {bounds[0]} and {bounds[1]}")
    # Beyond all rows any bound is the same, and small ones have no sums that overflow.
    low, high = (np.minimum(bound, n_rows + 1).astype(np.int64) for bound in bounds)
    if low.sum() > n_rows:
        raise ValueError(f"least sums to {sum(bounds[0].tolist())}, more than there are rows: {n_rows}")
    if high.sum() < n_rows:
        raise ValueError(f"most sums to {high.sum()}, fewer than there are rows: {n_rows}")
    return scores, low, high


def _threshold(scores: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Codes for two classes: the rows with the largest differences have the second."""
    gains = scores[:, 1] - scores[:, 0]
    fewest, largest = max(least[1], len(gains) - most[0]), min(most[1], len(gains) - least[0])
    codes = np.zeros(len(gains), dtype=np.int64)
    n_second = np.clip(np.count_nonzero(gains > 0), fewest, largest)
    codes[np.argsort(-gains, kind="stable")[:n_second]] = 1
    return codes


def _flow(scores: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Codes for any number of classes, by shortest paths from maximisers at prices that are a guess."""
    n_rows, n_classes = scores.shape
    prices = np.zeros(n_classes)
    if n_rows > _SAMPLED:
        prices = assign_quotas(scores[::_STRIDE], least // _STRIDE, -(-most // _STRIDE)).prices
    codes = np.argmax(scores + prices, axis=1)
    most = np.minimum(most, n_rows)
    counts = np.clip(np.bincount(codes, minlength=n_classes), least, most)
    counts = np.select([prices > 0, prices < 0], [least, most], counts)
    balance(scores, codes, counts, least, most, prices, _DEPTH)
    return codes


def _central_prices(scores: np.ndarray, codes: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The mean of all valid prices that are extreme relative to one class, or to 0."""
    n_rows, n_classes = scores.shape
    if n_rows == 0:
        return np.zeros(n_classes)
    counts = np.bincount(codes, minlength=n_classes)
    fixed = n_rows in (least.sum(), most.sum())
    # prices[d] - prices[c] <= lengths[c, d]; the last node has the price 0
    lengths = np.full((n_classes + 1, n_classes + 1), np.inf)
    for c in np.flatnonzero(counts):
        members = scores[codes == c]
        lengths[c, :-1] = (members[:, [c]] - members).min(axis=0)
    np.fill_diagonal(lengths, 0.0)
    if not fixed:
        lengths[:-1, -1][counts < most] = 0.0
        lengths[-1, :-1][counts > least] = 0.0
    closed = (counts == 0) & (fixed | (most == 0))
    nodes = np.flatnonzero(np.append(~closed, not fixed))
    paths = lengths[np.ix_(nodes, nodes)]
    for k in range(len(nodes)):
        np.minimum(paths, paths[:, [k]] + paths[k], out=paths)
    prices = np.zeros(n_classes + 1)
    # Distances from a node are the largest prices relative to its own, those to it the smallest.
    prices[nodes] = (paths - paths.T).mean(axis=0) / 2
    prices = prices[:-1] - prices[-1]
    highest = (prices[~closed, None] + lengths[:-1, :-1][~closed]).min(axis=0)
    prices[closed] = highest[closed] - (np.ptp(scores) or 1.0)
    return _signed(prices, counts, least, most, fixed)


def _signed(
    prices: np.ndarray, counts: np.ndarray, least: np.ndarray, most: np.ndarray, fixed: bool
) -> np.ndarray:
    """Prices with the signs that go with the counts: moved all together, or free of rounding."""
    may_fall, may_rise = counts > least, counts < most
    if fixed:
        # No class may rise while another may fall, so one of these is 0.
        return prices - prices[may_rise].min(initial=0.0) - prices[may_fall].max(initial=0.0)
    return np.clip(prices, np.where(may_rise, 0.0, -np.inf), np.where(may_fall, 0.0, np.inf))
