"""Digits with 60 labels: what boosting reads of rows it never saw, round by round, with each prior.

Run ``python examples/plot_boosting_priors.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from weakly import RMSBoostClassifier

SETTINGS = {
    "supervised": {"alpha": 0, "beta": 0},
    "clusters": {"prior": "kmeans"},
    "graph": {"prior": "graph"},
    "staged": {"prior": "staged"},
}


def make_draw(random_state=0):
    """Two thirds of the rows with 60 labels among them, and the rest to test on."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=random_state)
    return X, np.where(np.arange(len(y)) < 60, y, -1), X_test, y_test


def follow(X, partial, X_test, y_test):
    """Accuracy of each setting on the test rows after each round."""
    paths = {}
    for name, params in SETTINGS.items():
        model = RMSBoostClassifier(random_state=0, **params).fit(X, partial)
        paths[name] = [100 * np.mean(labels == y_test) for labels in model.staged_predict(X_test)]
    return paths


def draw(paths):
    """A line for each setting."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.subplots()
    for name, path in paths.items():
        ax.plot(np.arange(1, len(path) + 1), path, label=name)
    ax.set(xlabel="rounds", ylabel="accuracy on test rows, %", title="Digits, 60 labels")
    ax.legend(title="prior")
    return figure


if __name__ == "__main__":
    paths = follow(*make_draw())
    for name, path in paths.items():
        print(f"{name}: {path[-1]:.1f} %")
    draw(paths).savefig(sys.argv[1] if len(sys.argv) > 1 else "boosting_priors.png")
