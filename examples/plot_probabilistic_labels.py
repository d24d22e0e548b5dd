"""Two clouds with one badly placed label each: where four machines with a linear kernel draw the line.

After figure 1 of "Probabilistic labeled semi-supervised SVM" (Qian, Nie and Zhang, 2009), whose data are not
printed: these are of the same kind. ``WellSVC`` stands where the paper has a transductive machine. With other
random states the probable labels always find the gap, ``WellSVC`` in about two of three, the others never.

Run ``python examples/plot_probabilistic_labels.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import SVC

from weakly import LaplacianSVC, ProbabilisticLabelSVC, WellSVC
from weakly.graphs import neighbor_graph
from weakly.plotting import plot_transduction


def make_clouds(n_rows=100, random_state=0):
    """Two tall clouds side by side; of one the lowest row is labelled, of the other the highest."""
    rng = np.random.default_rng(random_state)
    X = np.vstack([rng.normal((x, 0.0), (0.6, 2.0), size=(n_rows, 2)) for x in (-2.0, 2.0)])
    y = np.repeat([0, 1], n_rows)
    partial = np.full(2 * n_rows, -1)
    partial[[X[:n_rows, 1].argmin(), n_rows + X[n_rows:, 1].argmax()]] = 0, 1
    return X, y, partial


def fit_all(X, partial):
    """Machines by name, fitted; the last one knows nothing of the rows without a label."""
    graph = neighbor_graph(X, n_neighbors=6, weights="rbf", bandwidth=1.0)
    labeled = partial >= 0
    walk = {"alpha_labeled": 1e-4, "alpha_unlabeled": 0.9999}  # and C: the paper's
    return {
        "PLSVM": ProbabilisticLabelSVC(0.01, kernel="linear", graph=graph, **walk).fit(X, partial),
        "WellSVM": WellSVC(kernel="linear").fit(X, partial),
        "LapSVM": LaplacianSVC(kernel="linear", graph=graph, loss="hinge").fit(X, partial),
        "SVM": SVC(kernel="linear", C=10.0).fit(X[labeled], partial[labeled]),
    }


def draw(machines, X, y, partial):
    """A panel for each machine, with its line and its wrong rows ringed."""
    figure = Figure(figsize=(9, 8), layout="constrained")
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    across, up = np.meshgrid(*(np.linspace(*ends, 200) for ends in zip(low, high, strict=True)))
    places = np.column_stack([across.ravel(), up.ravel()])
    for ax, (name, machine) in zip(figure.subplots(2, 2).flat, machines.items(), strict=True):
        predicted = machine.predict(X)
        plot_transduction(predicted, X, partial, truth=y, embedding=X, ax=ax)
        ax.contour(across, up, machine.decision_function(places).reshape(across.shape), [0.0], colors="black")
        ax.set_title(f"{name}: {100 * np.mean(predicted != y):.1f} % wrong")
    for ax in figure.axes[1:]:
        ax.get_legend().remove()  # once is enough
    return figure


if __name__ == "__main__":
    X, y, partial = make_clouds()
    machines = fit_all(X, partial)
    for name, machine in machines.items():
        print(f"{name}: {100 * np.mean(machine.predict(X) != y):.1f} % wrong")
    draw(machines, X, y, partial).savefig(sys.argv[1] if len(sys.argv) > 1 else "probabilistic_labels.png")
