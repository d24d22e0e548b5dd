import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.model_selection import LabelDraw, LabelDraws


def draws(y, **options):
    return list(LabelDraws(**options).split(None, y))


def counts(y, rows):
    return {label: int(np.sum(np.asarray(y)[rows] == label)) for label in np.unique(y)}


@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=5),
    fraction=st.floats(0.01, 1.0),
    test_size=st.none() | st.floats(0.01, 0.5),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_parts_partition_the_rows_and_label_every_class(sizes, fraction, test_size, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    n_test = 0 if test_size is None else round(test_size * len(y))
    options = {"fraction": fraction, "test_size": test_size, "n_repeats": 2, "random_state": seed}
    if n_test > len(y) - len(sizes):
        with pytest.raises(ValueError, match="test_size"):
            draws(y, **options)
        return
    for draw in draws(y, **options):
        together = np.concatenate([draw.labeled, draw.unlabeled, draw.test])
        assert sorted(together.tolist()) == list(range(len(y)))
        assert len(draw.test) == n_test
        assert draw.train.tolist() == sorted(set(range(len(y))) - set(draw.test.tolist()))
        n_train = counts(y, draw.train)
        for label, n_labels in counts(y, draw.labeled).items():
            assert n_labels >= 1
            assert n_labels == 1 or abs(n_labels - fraction * n_train[label]) <= 0.5


def test_labels_per_class():
    y = np.repeat(["a", "b", "c"], [50, 5, 7])
    for draw in draws(y, n_per_class=3):
        assert counts(y, draw.labeled) == {"a": 3, "b": 3, "c": 3}
        assert len(draw.test) == 0


def test_test_part_is_in_proportion_to_the_classes():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    for draw in draws(y, n_per_class=1, test_size=0.2):
        for label, n_test in counts(y, draw.test).items():
            assert abs(n_test - 0.2 * np.sum(y == label)) <= 1
    assert [len(draw.test) for draw in draws(y, n_per_class=1, test_size=13, n_repeats=2)] == [13, 13]


def test_single_row_of_a_class_is_labelled():
    y = [0] * 20 + [1]
    assert all(20 in draw.labeled for draw in draws(y, fraction=0.1, test_size=0.9))


def test_draw_does_not_depend_on_the_number_of_repeats():
    y = np.arange(40) % 3
    few, many = (draws(y, n_per_class=2, test_size=0.3, n_repeats=n, random_state=7) for n in (3, 12))
    for one, other in zip(few, many, strict=False):
        for part in dataclasses.fields(LabelDraw):
            assert getattr(one, part.name).tolist() == getattr(other, part.name).tolist()


def test_draws_differ_and_follow_the_seed():
    y = np.arange(100) % 2
    first = [tuple(draw.labeled) for draw in draws(y, n_per_class=5)]
    assert len(set(first)) == 10
    assert first == [tuple(draw.labeled) for draw in draws(y, n_per_class=5)]
    assert first != [tuple(draw.labeled) for draw in draws(y, n_per_class=5, random_state=1)]


def test_more_labels_include_the_fewer_and_keep_the_test_part():
    y = np.arange(60) % 3
    for few, many in zip(
        draws(y, n_per_class=1, test_size=0.25), draws(y, n_per_class=6, test_size=0.25), strict=True
    ):
        assert set(few.labeled) < set(many.labeled)
        assert few.test.tolist() == many.test.tolist()


def test_all_rows_of_a_class_are_equally_likely():
    y = np.repeat([0, 1], 5)
    n_labels = np.zeros(10)
    for draw in draws(y, n_per_class=1, n_repeats=1000):
        n_labels[draw.labeled] += 1
    # Each row is drawn with probability 1/5: mean 200, standard deviation 12.6.
    assert np.abs(n_labels - 200).max() < 5 * 12.6


def test_mask_hides_all_but_the_labelled_rows():
    y = np.array([3, 4, 3, 4])
    draw = LabelDraw(labeled=np.array([1, 2]), unlabeled=np.array([0]), test=np.array([3]))
    assert draw.mask(y).tolist() == [-1, 4, 3, -1]
    assert draw.mask(y)[draw.train].tolist() == [-1, 4, 3]
    assert draw.mask(["a", "b", "c", "d"]).tolist() == [None, "b", "c", None]
    assert y.tolist() == [3, 4, 3, 4]


def test_records_are_frozen():
    (draw,) = draws([0, 1], n_per_class=1, n_repeats=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        draw.labeled = np.array([0])


def test_pandas_and_strings():
    y = pd.Series(["a", "b", "a", "b"], index=[9, 8, 7, 6], dtype="category")
    for draw in LabelDraws(n_per_class=1, n_repeats=3).split(np.zeros((4, 1)), y):
        assert sorted(y.iloc[draw.labeled]) == ["a", "b"]
        assert sum(label is None for label in draw.mask(y)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of n_per_class and fraction"),
        ({"n_per_class": 1, "fraction": 0.5}, "exactly one"),
        ({"n_per_class": 0}, "n_per_class"),
        ({"n_per_class": 1.5}, "n_per_class"),
        ({"n_per_class": True}, "n_per_class"),
        ({"fraction": 0.0}, "fraction"),
        ({"fraction": 1.1}, "fraction"),
        ({"fraction": float("nan")}, "fraction"),
        ({"fraction": "half"}, "fraction"),
        ({"fraction": 0.5, "test_size": 1.0}, "test_size"),
        ({"fraction": 0.5, "test_size": 0}, "test_size"),
        ({"fraction": 0.5, "n_repeats": 0}, "n_repeats"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        LabelDraws(**options)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 0, 1], {"n_per_class": 2}, "class .*1.* has 1 rows"),
        ([0, 1, 0, 1], {"n_per_class": 1, "test_size": 3}, "at most 2"),
        ([0, 1, -1, 1], {"n_per_class": 1}, "fully labelled, but 1 of its rows"),
        (["a", None, "b"], {"n_per_class": 1}, "fully labelled"),
    ],
)
def test_bad_targets_fail_before_the_first_draw(y, options, message):
    with pytest.raises(ValueError, match=message):
        LabelDraws(**options).split(None, y)
