"""Labels and weights of every kind."""

import numpy as np
import pandas as pd

from .subjects import blobs, some_of_each
from .table import LABELS, Given, register


def labels(name, convert, *, kinds=("some",), refuse=False, names="y|label|class", **how):
    def make(subject):
        X, truth = blobs()
        y = np.full(len(truth), -1)
        y[some_of_each(truth)] = truth[some_of_each(truth)]
        return Given(X, truth, y=convert(y), refused=refuse, names=names, **how)

    register(f"y {name}", make, kinds)


def objects(value):
    """Labels as Python objects, None where unlabeled."""

    def convert(y):
        out = np.empty(len(y), dtype=object)
        out[:] = [None if code < 0 else value(code) for code in y]
        return out

    return convert


def column(dtype, value=lambda code: "abc"[code]):
    return lambda y: pd.Series([None if code < 0 else value(code) for code in y], dtype=dtype)


def two_markers(y):
    gaps = np.where(np.arange(len(y)) % 2, np.nan, -1)
    return np.where(y < 0, gaps, y)


labels("of text", objects(lambda code: "äöü"[code] + "'\"<b>"))
labels("of floats", lambda y: np.where(y < 0, np.nan, y))
labels("of floats with -1.0", lambda y: y.astype(float), easy=True)
labels("of integers as objects", objects(int))
labels("of booleans", objects(bool))
labels("of bytes", objects(lambda code: b"abc"[code : code + 1]), refuse=None)
labels("in a list", lambda y: y.tolist())
labels("in a column", lambda y: y[:, None])
labels("of int8", lambda y: y.astype(np.int8))
labels("of huge integers", lambda y: np.where(y < 0, -1, y * 2**61))
labels("of negative integers", lambda y: np.where(y < 0, -1, -10 - y))
labels("as category", column("category"))
labels("as Int64", column("Int64", int))
labels("as string", column("string"))
labels("with another marker", lambda y: np.where(y < 0, 9, y), params={"unlabeled": 9})
labels("with NaN and -1.0", two_markers, refuse=True)
labels("with empty text", lambda y: np.array(["" if code < 0 else "abc"[code] for code in y]), refuse=True)
labels("with the text -1", lambda y: y.astype(str), refuse=True)
labels("without a label", lambda y: np.full(len(y), -1), refuse=True)
labels("of one class", lambda y: np.where(y < 0, -1, 0), refuse=True)
labels("continuous", lambda y: np.where(y < 0, np.nan, y + 0.37), refuse=True)
labels("of mixed types", objects(lambda code: ("a", 1, 2.5)[code]), refuse=True)
labels("with infinity", lambda y: np.where(y < 0, np.nan, np.where(y == 1, np.inf, y)), refuse=True)
labels("too short", lambda y: y[:-1], kinds=LABELS, refuse=True, names="y|inconsistent|label")
labels("too long", lambda y: np.append(y, 0), kinds=LABELS, refuse=True, names="y|inconsistent|label")
labels("of two columns", lambda y: np.c_[y, y], kinds=LABELS, refuse=True)
labels("a number", lambda y: 1, kinds=LABELS, refuse=True, names=".")
labels("complex", lambda y: y.astype(complex), kinds=LABELS, refuse=True, names=".")


def counts(name, make, easy=True):
    def given(subject):
        X, truth, labeled = make()
        return Given(X, truth, labeled=labeled, easy=easy and subject.kind == "some")

    register(name, given, ("some", "numbers"))


def counted(n_per_class, **how):
    X, truth = blobs(**how)
    return X, truth, some_of_each(truth, n_per_class)


hundred = {"n_samples": 300, "n_features": 10, "n_classes": 100, "spread": 0.05}
counts("one label per class", lambda: counted(1))
counts("no unlabeled sample", lambda: counted(60))
counts("one unlabeled sample", lambda: (*blobs(), np.arange(59)))
counts("100 classes", lambda: counted(1, **hundred), easy=False)
counts("a class with one label", lambda: (*blobs(n_classes=2), np.r_[1, 0:60:2]), easy=False)

# --- weights


def weights(name, make, refuse=None):
    def given(subject):
        if not subject.takes_weights:
            return None
        X, truth = blobs()
        values = {"sample_weight": make(len(truth), some_of_each(truth))}
        return Given(X, truth, fit_params=values, refused=refuse, names="weight|label|class")

    register(f"weights {name}", given, LABELS)


def weight_of(chosen, value):
    def make(n_samples, labeled):
        values = np.ones(n_samples)
        values[labeled[chosen]] = value
        return values

    return make


def of_labels_only(n_samples, labeled):
    return np.isin(np.arange(n_samples), labeled).astype(float)


weights("0 for some labels", weight_of(slice(None, None, 2), 0.0), refuse=False)
weights("0 for unlabeled samples", of_labels_only)
weights("0 for all", lambda n, labeled: np.zeros(n), refuse=True)
weights("negative", weight_of(0, -1.0), refuse=True)
weights("NaN", weight_of(0, np.nan), refuse=True)
weights("infinite", weight_of(0, np.inf), refuse=True)
weights("too few", lambda n, labeled: np.ones(n - 1), refuse=True)
weights("of text", lambda n, labeled: np.full(n, "a"), refuse=True)
weights("1e-300", lambda n, labeled: np.full(n, 1e-300))
weights("1e300", lambda n, labeled: np.full(n, 1e300))
weights("1e-12 to 1e12", lambda n, labeled: np.logspace(-12, 12, n))
