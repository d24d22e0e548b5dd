from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from toy_paper import make_paper

from benchmarks.papers import Comparison, Entry, Paper, Table, render, report, run
from benchmarks.papers._ranking import duels, rank_rows, significant_gain


def evaluate(settings, column, seed):
    return settings["values"][column][seed]


def make_comparison(values, *, lower_is_better=False, baseline="base", **fields):
    """Comparison of given numbers: row to column to seed to number."""
    rows = tuple(values)
    columns = tuple(dict.fromkeys(column for of_row in values.values() for column in of_row))
    table = Table(
        key="t",
        caption="Numbers",
        rows=rows,
        columns=columns,
        evaluate=evaluate,
        settings={row: {} for row in rows},
        baseline=baseline,
        lower_is_better=lower_is_better,
        **fields,
    )
    numbers = {(row, column): values[row].get(column, {}) for row in rows for column in columns}
    entries = {
        place: Entry(*place, tuple(of_seed.values()), None, None, lower_is_better)
        for place, of_seed in numbers.items()
    }
    records = tuple(
        {"row": row, "column": column, "seed": seed, "value": value}
        for (row, column), of_seed in numbers.items()
        for seed, value in of_seed.items()
    )
    return Comparison(table, entries, records)


def seeds(*numbers):
    return dict(enumerate(numbers))


VALUES = {
    # against "base": t = 2 / (1 / sqrt 3) = 3.46 < 4.30 in "a", without spread in "b", equal in "c"
    "first": {"a": seeds(11, 12, 13), "b": seeds(5, 6, 7), "c": seeds(1, 2, 3)},
    "base": {"a": seeds(10, 10, 10), "b": seeds(6, 7, 8), "c": seeds(1, 2, 3)},
    # t = 3 / (0.3 / sqrt 3) in "a"
    "last": {"a": seeds(13.0, 12.7, 13.3), "b": seeds(1, 1, 1), "c": seeds(0, 0, 0)},
}


def test_means_ranks_and_counts_are_those_by_hand():
    ranking = rank_rows(make_comparison(VALUES))
    assert ranking.columns == ("a", "b", "c")
    first, base, last = ranking.standings
    assert (first.row, base.row, last.row) == ("first", "base", "last")
    assert [s.mean for s in ranking.standings] == pytest.approx([20 / 3, 19 / 3, 14 / 3])
    # ranks in "a": 2, 3, 1; in "b": 2, 1, 3; in "c": 1.5, 1.5, 3
    assert [s.rank for s in ranking.standings] == pytest.approx([5.5 / 3, 5.5 / 3, 7 / 3])
    assert (first.wins, first.ties, first.losses) == (0, 2, 1)
    assert (base.wins, base.ties, base.losses) == (0, 3, 0)
    # in "b" 5, 6, 7 below and in "c" 1, 2, 3 below: t = 6 sqrt 3 and 2 sqrt 3, above and below 4.30
    assert (last.wins, last.ties, last.losses) == (1, 1, 1)


def test_where_lower_is_better_wins_are_losses_and_ranks_turn_round():
    upwards, downwards = (
        rank_rows(make_comparison(VALUES, lower_is_better=lower)).standings for lower in (False, True)
    )
    for up, down in zip(upwards, downwards, strict=True):
        assert (up.wins, up.ties, up.losses) == (down.losses, down.ties, down.wins)
        assert up.rank + down.rank == pytest.approx(4)


def test_friedman_is_that_of_the_ranks():
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(4, 7, 5)) + np.array([0, 0.5, 1, 1.5])[:, None, None]
    names = ["base", "x", "y", "z"]
    values = {
        row: {str(column): seeds(*numbers[r, column]) for column in range(7)} for r, row in enumerate(names)
    }
    ranking = rank_rows(make_comparison(values))
    ranks = np.array([s.rank for s in ranking.standings])
    # without ties, for k rows and n columns: 12 n / (k (k + 1)) sum (rank - (k + 1) / 2)^2
    statistic = 12 * 7 / (4 * 5) * ((ranks - 2.5) ** 2).sum()
    assert ranking.friedman == pytest.approx((statistic, stats.chi2.sf(statistic, 3)))


def test_friedman_needs_three_rows_two_columns_and_a_difference():
    def friedman(**rows):
        return rank_rows(make_comparison(rows)).friedman

    column = {"a": seeds(1, 2), "b": seeds(3, 4)}
    higher = {"a": seeds(2, 3), "b": seeds(4, 5)}
    assert friedman(base=column, x=higher) is None
    assert friedman(base=column, x=column, y=column) is None
    assert friedman(base={"a": seeds(1)}, x={"a": seeds(2)}, y={"a": seeds(3)}) is None
    assert friedman(base=column, x=column, y=higher) is not None


def test_only_columns_that_all_measured_rows_have_count():
    values = VALUES | {"last": {"b": seeds(1, 1, 1)}, "published only": {}}
    ranking = rank_rows(make_comparison(values))
    assert ranking.columns == ("b",)
    assert [s.row for s in ranking.standings] == ["first", "base", "last"]
    assert [s.mean for s in ranking.standings] == [6, 7, 1]


def test_without_a_measured_baseline_there_is_no_ranking():
    assert rank_rows(make_comparison(VALUES, baseline="")) is None
    assert rank_rows(make_comparison(VALUES | {"base": {}})) is None
    assert rank_rows(make_comparison({"base": {"a": seeds(1)}, "x": {"b": seeds(1)}})) is None


def test_a_target_of_the_mean_is_met_or_missed_over_all_columns():
    # means over "a", "b" and "c" are 20 / 3, 19 / 3 and 14 / 3
    def met(lower_is_better, values=VALUES, **targets):
        comparison = make_comparison(values, lower_is_better=lower_is_better, mean_targets=targets)
        return [standing.on_target for standing in rank_rows(comparison).standings]

    assert met(False, first=6.66, last=4.67) == [True, None, False]
    assert met(True, first=6.66, last=4.67) == [False, None, True]
    assert met(False, VALUES | {"last": {"b": seeds(1, 1, 1)}}, first=0.0) == [None, None, None]


def test_columns_won_and_lost_come_with_the_difference_of_the_means():
    pairs = {"last": ("base", "first"), "first": ("last",)}
    against_base, against_first, turned = duels(make_comparison(VALUES, not_behind=pairs))
    assert (against_base.row, against_base.other, against_base.columns) == ("last", "base", ("a", "b", "c"))
    assert against_base.won == pytest.approx({"a": 3.0})
    assert against_base.lost == pytest.approx({"b": 6.0})
    # in "a" 2, 0.7 and 0.3 above, in "b" 4, 5, 6 and in "c" 1, 2, 3 below: t = 1.96, -8.66 and -3.46
    assert (against_first.won, against_first.lost) == ({}, pytest.approx({"b": 5.0}))
    assert (turned.won, turned.lost) == (against_first.lost, {})
    lower = duels(make_comparison(VALUES, not_behind=pairs, lower_is_better=True))[0]
    assert (lower.won, lower.lost) == (against_base.lost, against_base.won)


def test_a_duel_is_over_the_seeds_and_columns_that_both_have():
    values = VALUES | {"last": {"b": {1: 1, 2: 2, 7: 100}}}
    (duel,) = duels(make_comparison(values, not_behind={"last": ("base",)}))
    assert (duel.columns, duel.won, duel.lost) == (("b",), {}, {"b": 6.0})
    assert duels(make_comparison(values | {"last": {}}, not_behind={"last": ("base",)})) == []


def test_one_shared_seed_decides_nothing():
    assert significant_gain({0: 5.0, 1: 9.0}, {1: 1.0, 2: 3.0}, lower_is_better=False) == 0
    assert significant_gain({0: 5.0, 1: 9.0, 2: 5.0}, {1: 7.0, 2: 3.0}, lower_is_better=False) == 1


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=2, max_size=12))
def test_the_test_is_scipys(pairs):
    ours, theirs = (seeds(*numbers) for numbers in zip(*pairs, strict=True))
    differences = np.subtract(*np.array(pairs).T)
    if np.ptp(differences) == 0:  # no statistic
        expected = int(np.sign(differences[0]))
    else:
        result = stats.ttest_rel(list(ours.values()), list(theirs.values()))
        expected = int(np.sign(result.statistic)) if result.pvalue < 0.05 else 0
    assert significant_gain(ours, theirs, lower_is_better=False) == expected
    assert significant_gain(ours, theirs, lower_is_better=True) == -expected


def test_a_baseline_must_be_a_row_with_settings():
    table = make_paper().tables[0]
    with pytest.raises(ValueError, match="baseline 'published only' of table 'toy' is no row with settings"):
        replace(table, baseline="published only")


def test_the_page_shows_the_ranking_under_the_table(tmp_path):
    values = {row: {c: list(of_seed.values()) for c, of_seed in v.items()} for row, v in VALUES.items()}
    table = Table(
        key="t",
        caption="Numbers",
        rows=("first", "base", "last", "published only"),
        columns=("a", "b", "c"),
        evaluate=evaluate,
        settings={row: {"values": of_row} for row, of_row in values.items()},
        baseline="base",
        lower_is_better=False,
        repeats=3,
    )
    paper = Paper("numbers", "Numbers", "Nowhere", (table,))
    run(paper, results=tmp_path)
    page = render(paper, table, tmp_path, plot=False)[0].read_text()
    lines = page.splitlines()
    start = lines.index("| method | mean | mean rank | win/tie/loss |")
    assert lines[start + 2 : start + 5] == [
        "| first | 6.67 | 1.83 | 0/2/1 |",
        "| base | 6.33 | 1.83 |  |",
        "| last | 4.67 | 2.33 | 1/1/1 |",
    ]
    assert "Over the 3 of 3 columns that all these rows have" in page
    # ranks 2 3 1, 2 1 3, 1.5 1.5 3: sums 5.5, 5.5, 7, and one pair of ties of 3 x 24 / 6
    statistic = (12 / (3 * 12) * (2 * 5.5**2 + 7**2) - 36) / (1 - 6 / 72)
    assert f"Friedman test of these rows: {statistic:.2f}, p = {stats.chi2.sf(statistic, 2):.2g}." in page
    assert lines[start + 2] in report([paper], tmp_path).read_text()


@pytest.mark.parametrize("named", [{"nobody": ("first",)}, {"first": ("nobody",)}])
def test_rows_that_are_held_to_others_must_exist(named):
    with pytest.raises(ValueError, match=r"not_behind of table 'toy' name rows .*: \['nobody'\]"):
        make_paper({"not_behind": named})


def test_the_page_says_where_a_row_is_behind_and_whether_a_mean_is_on_target(tmp_path):
    # "first" and "second" differ by 10 in both columns; the means of "first" over them are about 3 above 10
    fields = {"baseline": "second", "not_behind": {"second": ("first",)}, "mean_targets": {"first": 12.0}}
    paper = make_paper(fields)
    run(paper, results=tmp_path)
    page = report([paper], tmp_path).read_text()
    assert "<br>target ≤ 12 ✗ | 1.00 | 2/0/0 |" in page
    assert (
        "- *second* against *first*, by a paired t-test at 95 % in each of 2 columns: better in 0, worse in "
        "2 (1 by 10.00, 5 by 10.00)." in page
    )
    assert "| toys | toy | 4 | 1 | 1 | 1 of 2 |" in page  # the entry's target is met, the mean's is not
    turned = make_paper(fields | {"not_behind": {"first": ("second",)}, "mean_targets": {"first": 14.0}})
    page = report([turned], tmp_path).read_text()
    assert "better in 2, worse in 0.\n" in page
    assert "| toys | toy | 4 | 1 | 1 | 2 of 2 |" in page


def test_without_a_baseline_the_page_has_no_ranking(tmp_path):
    paper = make_paper()
    run(paper, quick=True, results=tmp_path)
    assert "mean rank" not in report([paper], tmp_path).read_text()
