"""Handwritten digits from a handful of labels, the rest of the table filled by the library."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from rich.progress import Progress
from rich.table import Table as Grid
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import weakly
from weakly.cli._console import SafeConsole
from weakly.cli._errors import UserError, whole_fits
from weakly.cli._label import run_label
from weakly.cli._leave_out import BASELINE
from weakly.cli._methods import DEFAULT_METHOD
from weakly.model_selection import LabelDraws
from weakly.plotting import plot_transduction

N_DRAWS = 5
SHOWN_METHOD = "FewLabelClassifier"


@threadpool_limits.wrap(
    limits=1
)  # two threads that share a busy core wait for each other, many times as long
def run_demo(*, labels_per_class, seed, out):
    """Compare, label a table, save a picture."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the directory {str(out)!r}: {error.strerror or error}") from None
    console = SafeConsole()
    digits = load_digits()
    X, truth = digits.data / digits.data.max(), digits.target
    draws = LabelDraws(n_per_class=labels_per_class, n_repeats=N_DRAWS, random_state=seed)
    targets = [draw.mask(truth) for draw in draws.split(X, truth)]
    console.rule(f"{len(X)} handwritten digits, {labels_per_class} labels of each")
    filled = _fill_all(X, targets, console)
    accuracies = {
        name: [np.mean(labels[y < 0] == truth[y < 0]) for labels, y in zip(runs, targets, strict=True)]
        for name, runs in filled.items()
    }
    console.print(_accuracy_grid(accuracies))

    console.rule("The same from a table: weakly label digits.csv --target digit")
    _write_table(digits, targets[0], out / "digits.csv")
    labeling = run_label(
        out / "digits.csv",
        "digit",
        method=DEFAULT_METHOD,
        report=out / "digits.html",
        force=True,
        seed=seed,
    )
    right = (labeling.filled == truth)[labeling.missing].mean()
    console.print()
    console.print(f"Here the truth is known: {right:.1%} of the filled labels are right.")

    picture = out / "digits.png"
    draw(digits, targets[0], filled[SHOWN_METHOD][0], accuracies).savefig(picture, dpi=110)
    console.print(f"Picture: {picture}", soft_wrap=True)


def _contestants():
    """Return fit functions by name: rows and targets with -1 in, labels of all rows out."""
    estimators = {
        "LabelSpreading, k-NN": LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.9, max_iter=200),
        "LabelSpreading, RBF": LabelSpreading(kernel="rbf", gamma=20, max_iter=200),
        "LaplacianRLSClassifier": weakly.LaplacianRLSClassifier(),
        "LaplacianSVC": weakly.LaplacianSVC(),
        # Its kernels see no label, so one set of them serves all draws.
        "FewLabelClassifier": weakly.FewLabelClassifier(warm_start=True, random_state=0),
    }
    transductive = {
        name: lambda X, y, estimator=estimator: estimator.fit(X, y).transduction_
        for name, estimator in estimators.items()
    }
    return {BASELINE: _supervised} | transductive


def _supervised(X, y):
    return SVC().fit(X[y >= 0], y[y >= 0]).predict(X)


def _fill_all(X, targets, console):
    """Return for each contestant the labels of all rows, once per draw."""
    contestants = _contestants()
    filled = {name: [] for name in contestants}
    with _progress(console) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = progress.add_task("learning", total=len(contestants) * len(targets))
        for y in targets:
            for name, fill in contestants.items():
                progress.update(task, description=name)
                with whole_fits():
                    filled[name].append(fill(X, y))
                progress.advance(task)
    return filled


def _progress(console):
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def _accuracy_grid(accuracies):
    grid = Grid(title="Accuracy on the unlabelled rows", title_justify="left")
    grid.add_column("method")
    grid.add_column("first draw", justify="right")
    grid.add_column(f"mean of {N_DRAWS} draws", justify="right")
    for name, values in accuracies.items():
        style = "bold green" if name in weakly.__all__ else None
        grid.add_row(name, f"{values[0]:.1%}", f"{np.mean(values):.1%}", style=style)
    return grid


def _write_table(digits, y, path):
    frame = pd.DataFrame(digits.data.astype(int), columns=digits.feature_names)
    frame["digit"] = pd.array(y, dtype="Int64")
    frame.loc[y < 0, "digit"] = pd.NA
    frame.to_csv(path, index=False)


def draw(digits, y, filled, accuracies):
    """Draw the labeled digits, the accuracies, and all digits on a map with the mistakes ringed."""
    figure = Figure(figsize=(14, 7.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    top, bottom = left.subfigures(2, 1, height_ratios=[1, 1.6])
    _draw_given(digits, y, top.subplots())
    _draw_accuracies(accuracies, bottom.subplots())
    ax = right.subplots()
    X = digits.data / digits.data.max()
    plane = TSNE(perplexity=30, max_iter=400, init="pca", random_state=0).fit_transform(X)
    plot_transduction(filled, X, y, truth=digits.target, embedding=plane, ax=ax)
    ax.set_title(f"All {len(y)} digits, coloured by {SHOWN_METHOD}", loc="left")
    return figure


def _draw_given(digits, y, ax, max_rows=5):
    per_class = [digits.images[y == digit][:max_rows] for digit in digits.target_names]
    mosaic = np.hstack([np.vstack(np.pad(images, ((0, 0), (1, 1), (1, 1)))) for images in per_class])
    ax.imshow(mosaic, cmap="gray_r", interpolation="nearest")
    ax.set_title("The labels given", loc="left")
    ax.set_axis_off()


def _draw_accuracies(accuracies, ax):
    """Draw a dot per draw of the labels and a diamond for their mean."""
    for package, color in {"scikit-learn": "dimgray", "weakly": "tab:green"}.items():
        of_package = {
            name: values
            for name, values in accuracies.items()
            if (name in weakly.__all__) == (package == "weakly")
        }
        for name, values in of_package.items():
            mean = np.mean(values)
            ax.plot(values, [name] * len(values), "o", color=color, alpha=0.4)
            ax.annotate(f"{mean:.1%}", (mean, name), (0, 10), textcoords="offset points", ha="center")
        means = [np.mean(values) for values in of_package.values()]
        ax.plot(means, list(of_package), "D", color=color, markersize=9, label=f"mean, {package}")
    ax.plot([], [], "o", color="gray", alpha=0.4, label="one draw of the labels")
    ax.figure.legend(loc="outside lower right", ncols=3, frameon=False, fontsize="small")
    ax.invert_yaxis()
    ax.margins(y=0.15)
    ax.grid(axis="y", color="gainsboro")
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_title(f"Accuracy on the unlabelled digits, {N_DRAWS} draws", loc="left")
