"""How much of the library a reader must know to follow a fit: the modules whose code it runs."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import weakly
from weakly import FewLabelClassifier, LaplacianRLSClassifier

SOURCE = Path(weakly.__file__).parent
ANCHORS = {"graph": "anchor", "random_state": 0}


@pytest.fixture(scope="module")
def digits():
    """Pictures, three of each digit with a label."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    labeled = np.concatenate([np.flatnonzero(y == digit)[:3] for digit in range(10)])
    partly = np.full(len(y), -1)
    partly[labeled] = y[labeled]
    return X, partly


def modules_of(model, X, y):
    """Modules that a second fit enters; what is compiled or read once is then over."""
    entered = set()

    def note(frame, event, argument):
        if event == "call":
            entered.add(frame.f_code.co_filename)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        sys.setprofile(note)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(None)
    paths = (Path(name) for name in entered)
    return {path.relative_to(SOURCE).as_posix() for path in paths if path.is_relative_to(SOURCE)}


def part(modules, folder):
    return {name for name in modules if name.startswith(f"{folder}/")}


@pytest.mark.parametrize(("kind", "most"), [(LaplacianRLSClassifier, 14), (FewLabelClassifier, 17)])
def test_a_fit_enters_few_modules(kind, most, digits):
    """A bound to be lowered: whoever must raise it has split what is read together."""
    entered = modules_of(kind(), *digits)
    assert {"estimators/_base.py", "graphs/_graph.py", "rows/_labels.py"} <= entered
    assert len(entered) <= most, sorted(entered)


@pytest.mark.parametrize("kind", [LaplacianRLSClassifier, FewLabelClassifier])
def test_a_fit_in_blocks_is_the_one_in_memory(kind, digits):
    """Dask collections have no solvers of their own, nor spaces or kernels."""
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    X, y = digits
    model = kind(**ANCHORS)
    in_memory = modules_of(model, X, y)
    with dask.config.set(scheduler="synchronous"):  # all blocks where they are seen
        in_blocks = modules_of(model, array.from_array(X, chunks=(150, -1)), array.from_array(y, chunks=150))
    assert part(in_blocks, "distributed")
    assert not part(in_memory, "distributed")
    for folder in ("auto", "solvers", "spaces"):
        differing = part(in_memory, folder) ^ part(in_blocks, folder)
        # The record of a result is shortened to be sent, and anchors gather the sums over the blocks.
        assert differing <= {"solvers/_result.py", "spaces/_anchored.py"}
