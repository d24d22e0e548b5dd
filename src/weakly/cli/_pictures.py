"""Pictures of the report, as PNG in text that HTML can hold."""

from __future__ import annotations

import base64
import io
import warnings
from collections import Counter

import numpy as np

from weakly.cli._console import visible
from weakly.cli._errors import as_user_errors

MAX_DRAWN = 20_000  # samples
MAX_CLASSES = 25  # of the confusion matrix
N_CHARACTERS = 25  # of a class name


def require_plotting():
    """Import the plotting module or say how to install what it needs."""
    with as_user_errors(ImportError):
        import weakly.plotting as plotting

        plotting.import_matplotlib()
    return plotting


def drawn_rows(labeling):
    """Return the samples to draw, a random part of many; labeled ones come first, up to half of it."""
    n_rows = len(labeling.given)
    if n_rows <= MAX_DRAWN:
        return np.arange(n_rows)
    order = np.random.default_rng(0).permutation(n_rows)
    labeled = order[~labeling.missing[order]][: MAX_DRAWN // 2]
    others = order[~np.isin(order, labeled)]
    return np.sort(np.r_[labeled, others[: MAX_DRAWN - len(labeled)]])


def picture_samples(labeling, rows):
    """Draw samples in a plane, colored by class."""
    figure = _figure(9, 6)
    names = np.array(_short_names(labeling.classes), dtype=object)
    given = np.where(labeling.missing, None, names[labeling.given])
    require_plotting().plot_transduction(
        names[labeling.filled[rows]],
        labeling.features[rows],
        given[rows],
        confidence=labeling.confidence[rows] if labeling.missing[rows].any() else None,
        ax=figure.add_subplot(),
    )
    return _png(figure)


def picture_confusion(labeling):
    """Draw which class the method fills in for the hidden labels of each class."""
    return _png(draw_confusion(labeling.leave_out.confusion, labeling.classes))


def draw_confusion(confusion, classes):
    """Draw the confusion matrix of the tested classes, of many those with the most hidden labels."""
    tested = _most(confusion.sum(axis=1))
    filled = _most(confusion[tested].sum(axis=0) + confusion.sum(axis=1))
    counts = confusion[np.ix_(tested, filled)]
    shares = counts / confusion[tested].sum(axis=1, keepdims=True)
    figure = _figure(2.5 + 0.45 * len(filled), 1.8 + 0.45 * len(tested))
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            color = "white" if shares[row, column] > 0.5 else "black"
            ax.text(column, row, f"{count:.2g}", ha="center", va="center", color=color, fontsize="small")
    names = [name.replace("$", r"\$") for name in _short_names(classes)]  # no mathematics
    ax.set_xticks(range(len(filled)), [names[place] for place in filled], rotation=60, ha="right")
    ax.set_yticks(range(len(tested)), [names[place] for place in tested])
    ax.set(xlabel="class filled in", ylabel="hidden label")
    return figure


def _most(sizes):
    """Return the places of the largest sizes above 0, in their order."""
    order = np.argsort(-sizes, kind="stable")[:MAX_CLASSES]
    return np.sort(order[sizes[order] > 0])


def _short_names(classes):
    """Return names that fit a legend, with a number where the beginning does not tell them apart."""
    names = [visible(label) for label in classes]
    names = [name if len(name) <= N_CHARACTERS else name[: N_CHARACTERS - 1] + "…" for name in names]
    counts = Counter(names)
    return [f"{name} ({place})" if counts[name] > 1 else name for place, name in enumerate(names, start=1)]


def _figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _png(figure):
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # class names in scripts the font lacks
        figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
