"""Rows of a table against one of them, over all its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from weakly.papers._compare import Comparison

_LEVEL = 0.05  # of the paired t-test
_FEWEST = 3  # rows that a Friedman test compares at least


@dataclass(frozen=True, slots=True)
class Standing:
    """How a row does over the columns that all measured rows have.

    Parameters
    ----------
    row : str
        Which row.
    mean, rank : float
        Mean of its entries, and of their ranks within a column: 1 is the best, equal ones share.
    wins, ties, losses : int
        Columns in which it is better than the baseline, neither, and worse.
    """

    row: str
    mean: float
    rank: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """All measured rows of a table with a baseline.

    Parameters
    ----------
    columns : tuple of str
        Columns with a result in each of the rows; only these count.
    standings : tuple of Standing
        In the order of the table.
    friedman : (float, float) or None
        Statistic and p value of the Friedman test over these rows and columns; None with fewer than three
        rows or two columns, or where all rows are equal.
    """

    columns: tuple[str, ...]
    standings: tuple[Standing, ...]
    friedman: tuple[float, float] | None


def rank_rows(comparison: Comparison) -> Ranking | None:
    """Rank the measured rows and hold them against the baseline.

    Parameters
    ----------
    comparison : Comparison
        A table with its results.

    Returns
    -------
    Ranking or None
        None where the table has no baseline, or the baseline no result in a column that all rows have.

    Notes
    -----
    As in [wellsvm], Table 2: a paired t-test at 95 % over the seeds that two rows share, in each column, and
    the Friedman test over the means.
    """
    table = comparison.table
    values: dict[tuple[str, str], dict[int, float]] = {}
    for record in comparison.records:
        values.setdefault((record["row"], record["column"]), {})[record["seed"]] = record["value"]
    measured = {row for row, _ in values}
    rows = [row for row in table.rows if row in measured]
    columns = tuple(column for column in table.columns if all((row, column) in values for row in rows))
    if table.baseline not in rows or not columns:
        return None
    means = np.array([[comparison.entries[row, column].mean for column in columns] for row in rows])
    ranks = stats.rankdata(means if table.lower_is_better else -means, axis=0)
    standings = []
    for row, row_means, row_ranks in zip(rows, means, ranks, strict=True):
        gains = [
            significant_gain(values[row, column], values[table.baseline, column], table.lower_is_better)
            for column in columns
        ]
        counts = (sum(gain == sign for gain in gains) for sign in (1, 0, -1))
        standings.append(Standing(row, float(row_means.mean()), float(row_ranks.mean()), *counts))
    return Ranking(columns, tuple(standings), _friedman(means))


def significant_gain(ours: Mapping[int, float], theirs: Mapping[int, float], lower_is_better: bool) -> int:
    """Compare two rows in a column by a paired t-test at 95 %.

    Parameters
    ----------
    ours, theirs : mapping of int to float
        Number of each seed; seeds that only one has are left out.
    lower_is_better : bool
        Whether a smaller number wins.

    Returns
    -------
    {1, 0, -1}
        Better, neither, worse. One shared seed decides nothing.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    gains = np.array([theirs[seed] - ours[seed] for seed in seeds]) * (1 if lower_is_better else -1)
    if len(gains) < 2 or not gains.any():
        return 0
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    # without spread the statistic is infinite
    far = error == 0 or abs(gains.mean()) / error > stats.t.isf(_LEVEL / 2, len(gains) - 1)
    return int(np.sign(gains.mean())) if far else 0


def _friedman(means: np.ndarray) -> tuple[float, float] | None:
    alike = (means == means[0]).all()  # ranks that are all tied have no statistic
    if len(means) < _FEWEST or means.shape[1] < 2 or alike:
        return None
    result = stats.friedmanchisquare(*means)
    return float(result.statistic), float(result.pvalue)
