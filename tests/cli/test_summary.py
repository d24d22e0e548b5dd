from types import SimpleNamespace

import numpy as np
import pytest

from weakly.cli._account import Account
from weakly.cli._leave_out import LeaveOut
from weakly.cli._summary import account_lines, comparison_lines

ACCOUNT = Account(
    verdict="They help.",
    log_odds=3.21,
    preparation="raw: one scale",
    baseline=np.array([0, 1, 0, 1, 0]),
    kernels=np.array([]),
)


def lines_about(method, baseline, counts=(("a", 10, 30), ("b", 10, 30)), account=None):
    """Return plain lines and notes for rows that each of the two found or not."""
    result = LeaveOut(np.array(method, dtype=float), np.array(baseline, dtype=float), n_shown=10)
    labeling = SimpleNamespace(
        leave_out=result,
        method="ours",
        missing=np.repeat([False, True], 20),
        class_counts=lambda: counts,
        account=account,
    )
    lines = comparison_lines(labeling)
    return [line for line, is_note in lines if not is_note], [line for line, is_note in lines if is_note]


@pytest.mark.parametrize(
    ("method", "baseline", "verdict"),
    [
        (
            [1] * 5 + [0],
            [0] * 6,
            "5 rows and worse on 0 (sign test: p = 0.062): these labels cannot tell the",
        ),
        ([1] * 6, [0] * 6, "6 rows and worse on 0 (sign test: p = 0.031): more than chance, ours is"),
        ([0] * 6, [1] * 6, "0 rows and worse on 6 (sign test: p = 0.031): more than chance, the baseline is"),
        ([1, 1], [1, 0], "1 row and worse on 0 (sign test: p = 1): these labels cannot tell the two apart."),
    ],
)
def test_the_verdict_rests_on_a_sign_test(method, baseline, verdict):
    plain, notes = lines_about(method, baseline)
    assert f"ours does better than the baseline on {verdict}" in plain[-1]
    assert any("at least as well" in note for note in notes) == (sum(baseline) >= sum(method))


def test_a_baseline_that_does_as_well_is_a_note():
    _, (note,) = lines_about([1, 0], [0, 1])
    assert note.startswith("the supervised baseline does at least as well")


def test_the_note_does_not_gainsay_a_verdict_of_the_method():
    _, (note,) = lines_about([1, 0], [0, 1], account=ACCOUNT)
    assert note.startswith("SVC on the labelled rows does at least as well, so this count does not show")
    assert "verdict above" in note
    assert lines_about([1, 1], [0, 1], account=ACCOUNT)[1] == []


def test_what_the_method_says_of_its_work():
    labeling = SimpleNamespace(
        method="ours", account=ACCOUNT, missing=np.arange(5) > 1, changed=np.arange(5) == 4
    )
    assert account_lines(labeling) == [
        ("They help. (Log odds 3.2 for the kernels that use them.)", False),
        (
            "On 1 of the 3 filled rows the supervised baseline, ours with the labels alone, says another "
            "class.",
            False,
        ),
        ("Preparation of the features: raw: one scale.", False),
    ]


def test_a_method_without_a_verdict_says_nothing():
    assert account_lines(SimpleNamespace(account=None)) == []


def test_the_interval_is_not_that_of_the_filled_column():
    plain, _ = lines_about([1] * 15 + [0] * 5, [0] * 20)
    # Wilson for 15 of 20, worked out by hand: (0.8460 -/+ 0.1952) / 1.1921
    assert plain[3] == (
        "If the labelled rows were picked at random, this is a low estimate for the filled cells of the "
        "classes tested: the method saw 10 of the 20 labels. From so few, its accuracy is between 53% and "
        "89% with 95 % confidence."
    )


def test_untested_classes_are_named_with_what_was_filled():
    _, notes = lines_about([1], [0], counts=(("a", 18, 3), ("b", 1, 26), ("c", 1, 1)))
    assert notes == ["not tested, for lack of a second label: b (26 filled rows), c (1 filled row)."]


def test_shares_over_repeated_splits():
    plain, _ = lines_about([1, 0.5, 0.8], [1, 1, 0])
    assert plain[1:3] == ["  ours: 2.3 of 3 (77%)", "  SVC on the labelled rows: 2 of 3 (67%)"]
