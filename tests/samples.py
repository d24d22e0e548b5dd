"""Samples that tests of several parts are about, and interrupts at a call of their choice."""

import numpy as np
from sklearn.datasets import load_digits, make_blobs


def few_labels(n_classes, n_labeled, seed, std, n_rows):
    """Rows, their classes, and the same with few labels, as many of each class."""
    X, y = make_blobs(n_rows, n_features=5, centers=n_classes, cluster_std=std, random_state=seed)
    labeled = np.concatenate([np.flatnonzero(y == code)[:n_labeled] for code in range(n_classes)])
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    return X, y, partial


def label_of_each(n_rows, n_features):
    """26 classes of so many rows, of which the first has a label; as they are, and labels."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(26), n_rows)
    X = 10 * rng.normal(size=(26, n_features))[y] + rng.normal(size=(len(y), n_features))
    partial = np.full(len(y), -1)
    partial[::n_rows] = y[::n_rows]
    return X, y, partial


def two_blobs(n_rows=120, distance=6.0, n_features=5, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    y = (np.arange(n_rows) < share * n_rows).astype(int)
    X = rng.normal(size=(n_rows, n_features)) + distance * y[:, None] * np.eye(n_features)[0] + 2.0
    order = rng.permutation(n_rows)
    return X[order], y[order]


def four_digits():
    """320 images of 0 to 3."""
    X, y = load_digits(return_X_y=True)
    kept = y < 4
    X = X[kept][:320] + np.random.default_rng(0).normal(0, 0.1, (320, 64))  # or neighbours would be tied
    return X, y[kept][:320]


def interrupted_at(n_th, function):
    """The function, but that a call of it is interrupted."""
    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == n_th:
            raise KeyboardInterrupt
        return function(*args)

    return interrupted
