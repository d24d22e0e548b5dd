"""Three tables with a few labels: where unlabelled rows help, what the labels say of it, and what is chosen.

Run ``python examples/plot_few_labels.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from weakly import FewLabelClassifier

FAMILIES = ("sup", "lap", "graph", "pca")


def make_tables():
    """Digits, two clouds apart in one of sixty directions, and one cloud without any structure."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    apart = rng.normal(size=(500, 60)) + np.where(np.arange(60) == 0, 4.0 * y[:, None], 0)
    cloud = rng.normal(size=(500, 10))
    return {
        "ten digits, 40 labels": (*load_digits(return_X_y=True), 40),
        "two clouds, 20 labels": (apart, y, 20),
        "one cloud, 80 labels": (cloud, (cloud.sum(axis=1) > 0).astype(int), 80),
    }


def learn(X, y, n_labels):
    """Fit to the first labels, and say how right the result and the supervised kernels are."""
    model = FewLabelClassifier(random_state=0).fit(X, np.where(np.arange(len(y)) < n_labels, y, -1))
    right = [
        100 * np.mean(found[n_labels:] == y[n_labels:]) for found in (model.transduction_, model.supervised_)
    ]
    return model, right


def draw(tables, learned):
    """Rows by predicted class and confidence, and the weight of each family of kernels."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    top, bottom = figure.subplots(2, len(tables), height_ratios=[2.2, 1])
    for ax, bars, (name, (X, y, n_labels)), (model, right) in zip(
        top, bottom, tables.items(), learned, strict=True
    ):
        confidence = model.label_distributions_.max(axis=1)
        plane = PCA(2).fit_transform(X)
        ax.scatter(*plane.T, c=model.transduction_, cmap="tab10", vmax=9, s=12, alpha=confidence)
        ax.scatter(
            *plane[:n_labels].T, c=y[:n_labels], cmap="tab10", vmax=9, s=90, marker="*", edgecolors="black"
        )
        ax.set(xticks=[], yticks=[], title=f"{name}\nresult {right[0]:.0f} %, labels alone {right[1]:.0f} %")
        table = model.candidates_
        bars.barh(FAMILIES, [table["weight"][table["family"] == family].sum() for family in FAMILIES])
        bars.invert_yaxis()
        bars.set(xlim=(0, 1), xlabel="weight", title=f"log odds {model.evidence_.log_odds:.1f}")
    return figure


if __name__ == "__main__":
    tables = make_tables()
    learned = [learn(*table) for table in tables.values()]
    for name, (model, right) in zip(tables, learned, strict=True):
        print(f"{name}: result {right[0]:.1f} %, labels alone {right[1]:.1f} %. {model.evidence_}")
    draw(tables, learned).savefig(sys.argv[1] if len(sys.argv) > 1 else "few_labels.png")
