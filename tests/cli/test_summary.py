import dataclasses
import io
from types import SimpleNamespace

import numpy as np
import pytest

from weakly.auto._few_label import verdict_of
from weakly.cli._account import Account
from weakly.cli._console import SafeConsole
from weakly.cli._leave_out import LeaveOut
from weakly.cli._summary import account_lines, class_table, comparison_lines, headline, print_summary, verdict

ACCOUNT = Account(
    verdict="They help.",
    log_odds=3.21,
    preparation="raw: one scale",
    baseline=np.array([0, 1, 0, 1, 0]),
    kernels=np.array([]),
)


def labeling_with(method, baseline, counts=(("a", 10, 30), ("b", 10, 30)), account=None, n_missing=20):
    """Return a labeling with rows that each of the two found or not."""
    found = [np.array(shares, dtype=float) for shares in (method, baseline)]
    confusion = np.array([[found[0].sum(), found[0].size - found[0].sum()], [0, 0]])
    return SimpleNamespace(
        leave_out=LeaveOut(*found, confusion, n_shown=10),
        method="ours",
        target="name",
        given=np.repeat([0, -1], [20, n_missing]),
        missing=np.repeat([False, True], [20, n_missing]),
        changed=np.repeat([False, True], [20, n_missing]),
        class_counts=lambda: counts,
        account=account,
    )


def lines_about(*args, **options):
    """Return plain lines and notes."""
    lines = comparison_lines(labeling_with(*args, **options))
    return [line for line, is_note in lines if not is_note], [line for line, is_note in lines if is_note]


@pytest.mark.parametrize(
    ("method", "baseline", "verdict"),
    [
        (
            [1] * 5 + [0],
            [0] * 6,
            "5 samples and worse on 0 (sign test: p = 0.062): these labels cannot tell the",
        ),
        ([1] * 6, [0] * 6, "6 samples and worse on 0 (sign test: p = 0.031): more than chance, ours is"),
        (
            [0] * 6,
            [1] * 6,
            "0 samples and worse on 6 (sign test: p = 0.031): more than chance, the baseline is",
        ),
        (
            [1, 1],
            [1, 0],
            "1 sample and worse on 0 (sign test: p = 1): these labels cannot tell the two apart.",
        ),
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
    assert note.startswith("SVC on the labeled samples does at least as well, so this count does not show")
    assert "verdict above" in note
    assert lines_about([1, 1], [0, 1], account=ACCOUNT)[1] == []


def test_what_the_method_says_of_its_work():
    labeling = SimpleNamespace(
        method="ours", account=ACCOUNT, missing=np.arange(5) > 1, changed=np.arange(5) == 4
    )
    assert account_lines(labeling) == [
        ("Preparation of the features: raw: one scale.", False),
        (
            "On 1 of the 3 filled samples the supervised baseline, ours with the labels alone, says another "
            "class.",
            False,
        ),
    ]


def test_a_method_without_a_verdict_says_nothing():
    assert account_lines(SimpleNamespace(account=None)) == []


def test_accuracy_and_evidence_are_one_sentence():
    # Wilson for 15 of 20, worked out by hand: (0.8460 -/+ 0.1952) / 1.1921
    accuracy = (
        "ours finds 15 of 20 hidden labels (75%, 95% interval 53% to 89%), SVC on the labeled samples 5 (25%)"
    )
    found = [1] * 15 + [0] * 5, [1] * 5 + [0] * 15
    assert verdict(labeling_with(*found)) == f"{accuracy}."
    assert verdict(labeling_with(*found, account=ACCOUNT)) == f"{accuracy}; they help (log odds 3.2)."


@pytest.mark.parametrize("log_odds", [5, 3, 1, -1])
def test_low_accuracy_is_never_to_be_trusted(log_odds):
    account = dataclasses.replace(ACCOUNT, verdict=verdict_of(log_odds), log_odds=log_odds)
    told = verdict(labeling_with([1] * 2 + [0] * 18, [0] * 20, account=account))
    assert "(10%, 95% interval 3% to 30%)" in told
    assert told.endswith(f"(log odds {log_odds:.1f}); expect more labels to be wrong than right.")
    assert "trust" not in told


def test_no_hidden_labels():
    labeling = labeling_with([1], [1], account=ACCOUNT)
    labeling.leave_out = None
    assert verdict(labeling) == (
        "The accuracy is unknown, for no label was hidden; they help (log odds 3.2)."
    )
    assert comparison_lines(labeling) == [
        ("no labels were hidden: that needs two refits and two labels of one class.", True)
    ]


def test_where_all_samples_are_labeled_nothing_is_said_of_others():
    counts = (("a", 19, 0), ("b", 1, 0))
    labeling = labeling_with([1] * 20, [1] * 20, counts, account=ACCOUNT, n_missing=0)
    heads, rows = class_table(labeling)
    assert heads == ["name", "given", "found when hidden"]
    assert rows == [["a", 19, "20 of 20 (100%)"], ["b", 1, "not tested"]]
    lines = [*account_lines(labeling), *comparison_lines(labeling)]
    told = " ".join([headline(labeling), verdict(labeling), *(line for line, _ in lines)])
    assert told.startswith("20 samples, all labeled. ours finds 20 of 20")
    for word in ("unlabel", "fill", "help"):
        assert word not in told


def test_the_estimate_is_low():
    plain, _ = lines_about([1] * 15 + [0] * 5, [0] * 20)
    assert plain[0] == (
        "If the labeled samples were picked at random, this is a low estimate for other samples of the "
        "classes tested: the method saw 10 of the 20 labels at a time."
    )


def test_untested_classes_are_named_with_what_was_filled():
    _, notes = lines_about([1], [0], counts=(("a", 18, 3), ("b", 1, 26), ("c", 1, 1)))
    assert notes == ["not tested, for lack of a second label: b (26 filled samples), c (1 filled sample)."]


def test_shares_over_repeated_splits():
    told = verdict(labeling_with([1, 0.5, 0.8], [1, 1, 0]))
    assert "ours finds 2.3 of 3 hidden labels (77%," in told
    assert "SVC on the labeled samples 2 (67%)" in told


def test_console_shows_control_characters_escaped():
    labeling = labeling_with([1], [0], counts=(("a\x1b[2J", 1, 1), ("b\x07\r[red]", 1, 1)))
    labeling.target = "\x1b]0;pwned\x07"
    labeling.columns = [SimpleNamespace(name="c\u202e\x00", used_as="number")]
    labeling.notes = ["a note\x9b2J"]
    console = SafeConsole(file=io.StringIO(), width=200)
    print_summary(console, labeling)
    told = console.file.getvalue()
    assert not set("\x1b\x07\r\x00\u202e\x9b") & set(told)
    for shown in (r"a\x1b[2J", r"b\x07\r[red]", r"\x1b]0;pwned\x07", r"c\u202e\x00", r"a note\x9b2J"):
        assert shown in told
