"""Every estimator against every nasty input: a correct result, or an error that names the argument."""

import pytest

from . import labels, matrices, parameters, samples  # noqa: F401, they fill the table
from .promises import attack
from .subjects import FIRST, SUBJECTS
from .table import INPUTS

REDUCED = (
    "plain", "scale 1e+200", "float32, scale 2e19", "shift 1e+08", "outlier 1e+12", "all equal",
    "two samples", "CSR with repeated entries", "infinity", "y of floats with -1.0", "y with empty text",
    "weights 1e300", "one label per class", "graph with NaN", "Gram matrix indefinite", "max_iter=True",
)  # fmt: skip


def broken_promises(subject, names):
    """What went wrong, by input; inputs that do not concern the subject are passed over."""
    given = {name: INPUTS[name](subject) for name in names}
    found = {name: attack(subject, one) for name, one in given.items() if one is not None}
    return {name: broken for name, broken in found.items() if broken}


def test_the_grid_is_wide():
    assert len(INPUTS) >= 60
    assert len(SUBJECTS) >= 60


@pytest.mark.parametrize("name", FIRST)
def test_one_setting_of_each_estimator(name):
    assert broken_promises(FIRST[name], REDUCED) == {}


@pytest.mark.attack
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_setting(name):
    assert broken_promises(SUBJECTS[name], INPUTS) == {}
