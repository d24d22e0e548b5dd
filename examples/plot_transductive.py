"""Two moons with a label each: where every optimiser of one objective draws the line, and at what cost.

Run ``python examples/plot_transductive.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from weakly import TransductiveSVC
from weakly.svm import OPTIMIZERS

PARAMS = {"C": 10.0, "C_unlabeled": 10.0, "gamma": 2.0, "class_prior": 0.5, "max_seconds": 20}


def make_draw(n_samples=100, random_state=0):
    """Points of two moons, and labels of one point of each."""
    X, y = make_moons(n_samples, noise=0.08, random_state=random_state)
    partial = np.full(len(y), -1)
    for label in (0, 1):
        partial[np.flatnonzero(y == label)[0]] = label
    return X, y, partial


def fit_all(X, partial, optimizers=OPTIMIZERS):
    """A machine from each optimiser."""
    return {name: TransductiveSVC(optimizer=name, **PARAMS).fit(X, partial) for name in optimizers}


def draw(models, X, y, partial):
    """Points with the labels they were given, and the line between them, for each optimiser."""
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    axes = figure.subplots(2, (len(models) + 1) // 2, squeeze=False, sharex=True, sharey=True).ravel()
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    columns, rows = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90))
    for ax, (name, model) in zip(axes, models.items(), strict=False):
        decisions = model.decision_function(np.column_stack([columns.ravel(), rows.ravel()]))
        ax.contour(columns, rows, decisions.reshape(columns.shape), levels=[-1, 0, 1], colors="0.6")
        ax.scatter(*X.T, c=model.transduction_, cmap="coolwarm", s=12)
        ax.scatter(*X[partial >= 0].T, c=partial[partial >= 0], cmap="coolwarm", s=120, marker="*")
        error = 100 * np.mean(model.transduction_ != y)
        ax.set_title(f"{name}\nobjective {model.result_.objective[-1]:.2f}, error {error:.0f} %", fontsize=10)
    for ax in axes[len(models) :]:
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    X, y, partial = make_draw()
    models = fit_all(X, partial)
    for name, model in models.items():
        print(f"{name}: objective {model.result_.objective[-1]:.3f}")
    draw(models, X, y, partial).savefig(sys.argv[1] if len(sys.argv) > 1 else "transductive.png")
