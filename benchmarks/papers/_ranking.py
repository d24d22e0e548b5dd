"""Rows of a table against one of them, over all its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.papers._compare import Comparison

_LEVEL = 0.05  # of the paired t-test
_FEWEST = 3  # rows that a Friedman test compares at least


@dataclass(frozen=True, slots=True)
class Standing:
    """How a row does over the columns that all measured rows have.

    ``mean`` is that of its entries, and ``rank`` that of their ranks within a column: 1 is the best, equal
    ones share. ``wins``, ``ties`` and ``losses`` count the columns in which it is better than the baseline,
    neither, and worse. ``on_target`` says whether the mean meets its target; None where there is none, or a
    column is not measured.
    """

    row: str
    mean: float
    rank: float
    wins: int
    ties: int
    losses: int
    on_target: bool | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All measured rows of a table with a baseline, in its order.

    Only columns with a result in each of the rows count. ``friedman`` are the statistic and the p value of
    the Friedman test over these rows and columns; None with fewer than three rows or two columns, or where
    all rows are equal.
    """

    columns: tuple[str, ...]
    standings: tuple[Standing, ...]
    friedman: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Duel:
    """A row against one that it should not do worse than, in the columns where both have results.

    ``won`` and ``lost`` lead from columns to the difference of the means, above 0, where the row is
    significantly better or worse.
    """

    row: str
    other: str
    columns: tuple[str, ...]
    won: dict[str, float]
    lost: dict[str, float]


def rank_rows(comparison: Comparison) -> Ranking | None:
    """Rank the measured rows and hold them against the baseline.

    There is no ranking, None, where the table has no baseline, or the baseline no result in a column that all
    rows have.

    Notes
    -----
    As in [wellsvm], Table 2: a paired t-test at 95 % over the seeds that two rows share, in each column, and
    the Friedman test over the means.
    """
    table = comparison.table
    values = _by_seed(comparison)
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
        mean, target = float(row_means.mean()), table.mean_targets.get(row)
        met = None
        if target is not None and columns == table.columns:
            met = mean <= target if table.lower_is_better else mean >= target
        standings.append(Standing(row, mean, float(row_ranks.mean()), *counts, on_target=met))
    return Ranking(columns, tuple(standings), _friedman(means))


def duels(comparison: Comparison) -> list[Duel]:
    """Hold rows against those that they should not do worse than, in the order of ``not_behind``.

    The test is that of ``rank_rows``, the difference that of the means over the seeds that both rows have.
    Pairs without a common column are left out.
    """
    table, values = comparison.table, _by_seed(comparison)
    found = []
    for row, other in ((row, other) for row, others in table.not_behind.items() for other in others):
        columns = tuple(c for c in table.columns if (row, c) in values and (other, c) in values)
        decided: dict[int, dict[str, float]] = {1: {}, -1: {}}
        for column in columns:
            ours, theirs = values[row, column], values[other, column]
            if sign := significant_gain(ours, theirs, table.lower_is_better):
                differences = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
                decided[sign][column] = abs(float(np.mean(differences)))
        if columns:
            found.append(Duel(row, other, columns, won=decided[1], lost=decided[-1]))
    return found


def _by_seed(comparison: Comparison) -> dict[tuple[str, str], dict[int, float]]:
    """The number of each seed, by row and column; only places that have one."""
    values: dict[tuple[str, str], dict[int, float]] = {}
    for record in comparison.records:
        values.setdefault((record["row"], record["column"]), {})[record["seed"]] = record["value"]
    return values


def significant_gain(ours: Mapping[int, float], theirs: Mapping[int, float], lower_is_better: bool) -> int:
    """Compare two rows in a column by a paired t-test at 95 %: 1 is better, -1 worse, 0 neither.

    Both have a number of each seed; seeds that only one has are left out, and one shared seed decides
    nothing.
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
