"""Two long clouds side by side: k-means cuts across them, and so does what starts there; a search does not.

Run ``python examples/plot_clusters.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import adjusted_rand_score

import weakly

METHODS = {
    "k-means": weakly.KernelKMeans(kernel="linear", random_state=0),
    "GMMC": weakly.GeneralizedMaxMarginClustering(kernel="linear"),
    "IterSVR": weakly.IterativeSVRClustering(C=1.0, kernel="linear", init="kmeans", random_state=0),
    "CPMMC": weakly.CuttingPlaneMaxMarginClustering(C=1.0, kernel="linear", init="kmeans", random_state=0),
    "WellSVM": weakly.WellClustering(C=1.0, kernel="linear", init="kmeans", random_state=0),
}


def make_rows(n_rows=160, random_state=0):
    """Clouds that are four times as long as the gap between their middles."""
    rng = np.random.default_rng(random_state)
    y = np.arange(n_rows) % 2
    return np.column_stack([rng.uniform(-4, 4, n_rows), 0.3 * rng.normal(size=n_rows) + 2.0 * y - 1]), y


def draw(models, X, y):
    """Rows in the colours of their clusters, and the lines where scores are -1, 0 and 1."""
    figure = Figure(figsize=(14, 3), layout="constrained")
    axes = figure.subplots(1, len(models), squeeze=False, sharex=True, sharey=True).ravel()
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    columns, rows = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90))
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        scores = model.decision_function(np.column_stack([columns.ravel(), rows.ravel()]))
        ax.contour(columns, rows, scores.reshape(columns.shape), levels=[-1, 0, 1], colors="0.6")
        ax.scatter(*X.T, c=model.labels_, cmap="coolwarm", s=12)
        ax.set_title(f"{name}: adjusted Rand {adjusted_rand_score(y, model.labels_):.2f}", fontsize=10)
    return figure


if __name__ == "__main__":
    X, y = make_rows()
    models = {name: model.fit(X) for name, model in METHODS.items()}
    for name, model in models.items():
        print(f"{name}: {adjusted_rand_score(y, model.labels_):.2f}")
    draw(models, X, y).savefig(sys.argv[1] if len(sys.argv) > 1 else "clusters.png")
