"""Pictures of what was learnt; drawing needs the extra ``plot``."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import mean_variance_axis

from weakly.estimators._docstrings import fill_doc
from weakly.rows._arrays import squarable
from weakly.rows._labels import find_unlabeled

__all__ = ["plot_regions", "plot_transduction", "project"]

_MAX_LEGEND = 20
_MANY_ROWS = 10_000
_FAINTEST = 0.12  # opacity of a guess, beside that of a sure row


def import_matplotlib():
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib.colors
        import matplotlib.patches
    except ModuleNotFoundError as error:
        raise ImportError("weakly.plotting needs matplotlib: pip install 'weakly[plot]'") from error
    return matplotlib


def project(X):
    """Project rows onto their first two principal components.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        The rows; with a single feature the second coordinate is 0.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Coordinates to draw.

    Examples
    --------
    >>> from weakly.plotting import project
    >>> abs(project([[0.0, 0.0], [3.0, 4.0]])).round(6).tolist()
    [[2.5, 0.0], [2.5, 0.0]]
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    X = squarable(X)
    if not _spread(X).any():  # a single place, of which no direction is a principal one
        return np.zeros((X.shape[0], 2))
    n_components = min(2, *X.shape)
    plane = PCA(n_components, random_state=0).fit_transform(X)
    return np.pad(plane, ((0, 0), (0, 2 - n_components)))


def _spread(X):
    """Differences of features from those of the first sample."""
    if not sp.issparse(X):
        return X - X[0]
    means, variances = mean_variance_axis(X, axis=0)
    return variances > 1e-14 * means**2  # but for rounding


@fill_doc
def plot_transduction(
    estimator_or_labels,
    X,
    y=None,
    *,
    truth=None,
    confidence=None,
    embedding=None,
    unlabeled="auto",
    ax=None,
):
    """Draw all rows coloured by predicted class, the labelled ones marked.

    Parameters
    ----------
    estimator_or_labels : fitted estimator or array-like of shape (n_rows,)
        An estimator with ``transduction_``, or the labels themselves.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        The rows it was fitted on.
    y : array-like of shape (n_rows,), default=None
        The partially labelled targets; rows with a label are drawn as stars in the colour of that label.
    truth : array-like of shape (n_rows,), default=None
        True labels; wrong predictions are ringed.
    confidence : array-like of shape (n_rows,), default=None
        Probability of the label of each row: the lower, the fainter the row is drawn. The faintest is that of
        a guess, one in as many as there are classes.
    embedding : array-like of shape (n_rows, 2), default=None
        Where to draw the rows; by default their first two principal components.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabelled row of ``y``, as in the estimators.
    %(axes)s

    Raises
    ------
    ValueError
        If labels, ``y``, ``truth``, ``confidence`` or ``embedding`` do not have one entry per row of ``X``.

    See Also
    --------
    project : The default coordinates.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from weakly.plotting import plot_transduction
    >>> X, y = [[0.0, 0.0], [0.1, 0.0], [1.0, 1.0]], ["a", None, "b"]
    >>> ax = plot_transduction(["a", "a", "b"], X, y, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'label given']
    """
    to_rgba = import_matplotlib().colors.to_rgba
    labels = np.asarray(getattr(estimator_or_labels, "transduction_", estimator_or_labels))
    plane = np.asarray(project(X) if embedding is None else embedding)
    _check_lengths(X, labels=labels, y=y, truth=truth, confidence=confidence, embedding=plane)
    ax = _new_axes() if ax is None else ax
    given, is_given = (labels, np.zeros(len(labels), dtype=bool)) if y is None else _given(y, unlabeled)
    classes = np.unique([*labels.tolist(), *np.asarray(given)[is_given].tolist()])
    colors = np.array([to_rgba(color) for color in _class_colors(len(classes))])
    if len(classes) <= _MAX_LEGEND:
        for label, color in zip(classes, colors, strict=True):
            ax.scatter([], [], color=color, label=_legend_text(label))
    opacity = None if confidence is None else _opacity(confidence, len(classes))[~is_given]
    _draw_rows(ax, plane[~is_given], colors[np.searchsorted(classes, labels[~is_given])], opacity)
    if truth is not None:
        wrong = labels != np.asarray(truth)
        style = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.8, "s": 36, "zorder": 2}
        ax.scatter(*plane[wrong].T, label="wrong", **style)
    if is_given.any():
        star = {"marker": "*", "edgecolors": "black", "linewidths": 0.8}
        star_colors = colors[np.searchsorted(classes, np.asarray(given)[is_given])]
        ax.scatter(*plane[is_given].T, c=star_colors, s=150, zorder=3, **star)
        ax.scatter([], [], color="white", label="label given", **star)
    if confidence is not None:
        _name_opacities(ax, len(classes))
    _add_legend(ax)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


@fill_doc
def plot_regions(image, shape, *, located=None, is_key=None, ax=None):
    """Draw a picture with the region that was located in it, and the regions that should be.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        The picture.
    shape : pair of int
        Rows and columns of its grid of regions, which are numbered row by row.
    located : int or array-like of int or None, default=None
        Regions that were located, as ``key_instances`` of a classifier of bags gives them; drawn thick. A
        negative number is none.
    is_key : array-like of bool of shape (n_regions,) or None, default=None
        Which regions are of interest; drawn thin. Located ones are green if they are of interest and red if
        not; where that is not known, yellow.
    %(axes)s

    Raises
    ------
    ValueError
        If a region is not in the grid, or ``is_key`` has not one entry per region.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from weakly.plotting import plot_regions
    >>> ax = plot_regions(np.zeros((40, 60)), (2, 3), located=4, ax=Figure().add_subplot())
    >>> [patch.get_xy() for patch in ax.patches]
    [(19.5, 19.5)]
    """
    Rectangle = import_matplotlib().patches.Rectangle
    image = np.asarray(image)
    n_rows, n_cols = shape
    if n_rows < 1 or n_cols < 1:
        raise ValueError(f"shape is {shape}: a grid has a row and a column at least.")
    height, width = image.shape[0] / n_rows, image.shape[1] / n_cols
    keys = np.zeros(n_rows * n_cols, dtype=bool) if is_key is None else np.asarray(is_key, dtype=bool)
    if keys.shape != (n_rows * n_cols,):
        raise ValueError(
            f"is_key has shape {keys.shape}: give one entry for each of {n_rows * n_cols} regions."
        )
    places = np.atleast_1d(np.asarray([] if located is None else located, dtype=int))
    if (places >= len(keys)).any():
        raise ValueError(f"Region {places.max()} is not in a grid of {n_rows} x {n_cols}, numbered from 0.")
    ax = _new_axes() if ax is None else ax
    ax.imshow(image, cmap="gray")
    hit = "yellow" if is_key is None else "lime"
    for region in np.union1d(np.flatnonzero(keys), places[places >= 0]).tolist():
        corner = (region % n_cols * width - 0.5, region // n_cols * height - 0.5)
        is_located = region in places
        color = (hit if keys[region] or is_key is None else "red") if is_located else "white"
        style = {"linewidth": 2.5, "zorder": 3} if is_located else {"linewidth": 0.5, "alpha": 0.7}
        ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=color, **style))
    ax.set_axis_off()
    return ax


def _guess(n_classes):
    """Confidence of a row of which nothing is known."""
    return 1 / max(n_classes, 2)


def _opacity(confidence, n_classes):
    """Opacity of rows beside that of a sure one."""
    guess = _guess(n_classes)
    above = np.clip((np.asarray(confidence, dtype=float) - guess) / (1 - guess), 0, 1)
    return _FAINTEST + (1 - _FAINTEST) * above


def _draw_rows(ax, plane, colors, opacity):
    """Draw rows in random order, so that no class covers the others, and the finer the more there are."""
    order = np.random.default_rng(0).permutation(len(plane))
    room = 2000 / max(len(plane), 1)
    ax.scatter(
        *plane[order].T,
        c=colors[order],
        s=np.clip(10 * room, 2, 25),
        alpha=np.clip(0.7 * room, 0.3, 0.7) if opacity is None else np.clip(room, 0.5, 0.9) * opacity[order],
        linewidths=0,
        rasterized=len(plane) > _MANY_ROWS,  # a vector image would take many megabytes
    )


def _name_opacities(ax, n_classes):
    for level in np.linspace(1, _guess(n_classes), 3):
        alpha = float(_opacity(level, n_classes))
        ax.scatter([], [], color="black", alpha=alpha, linewidths=0, label=f"confidence {level:.0%}")


def _add_legend(ax):
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        legend = ax.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        for handle in legend.legend_handles:
            handle.set(sizes=[50])


def _legend_text(label):
    """Keep matplotlib from reading a label as mathematics or as a private name."""
    text = str(label).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _given(y, unlabeled):
    values, mask = find_unlabeled(y, unlabeled=unlabeled)
    return values, ~mask


def _class_colors(n_classes):
    colormaps = import_matplotlib().colormaps
    if n_classes <= 10:
        return colormaps["tab10"].colors[:n_classes]
    if n_classes <= 20:
        return colormaps["tab20"].colors[:n_classes]
    return colormaps["turbo"](np.linspace(0, 1, n_classes))


def _new_axes():
    from matplotlib import pyplot  # chooses a window system, so only when a figure is asked for

    return pyplot.subplots()[1]


def _check_lengths(X, **arrays):
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    for name, array in arrays.items():
        if array is not None and len(array) != n_rows:
            raise ValueError(f"{name} has {len(array)} entries for {n_rows} rows of X: give one per row.")
