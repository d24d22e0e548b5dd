import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from weakly.plotting import plot_regions, plot_transduction, project

X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]])


@pytest.fixture
def ax():
    return Figure().add_subplot()


def offsets(ax, label):
    """Return the points drawn under a legend entry."""
    (points,) = [points for points in ax.collections if points.get_label() == label]
    return np.asarray(points.get_offsets())


def drawn(ax, *, stars):
    """Return the points of the rows, or of the stars, with their colours."""
    collections = [points for points in ax.collections if len(points.get_offsets())]
    (points,) = [points for points in collections if (points.get_sizes()[0] == 150) == stars]
    colors = [to_rgba(color, 1) for color in points.get_facecolors()]
    return dict(zip(map(tuple, points.get_offsets().tolist()), colors, strict=True))


def test_rows_are_coloured_by_label_and_given_ones_starred(ax):
    assert plot_transduction(["a", "a", "b", "b"], X, ["a", None, None, "b"], embedding=X, ax=ax) is ax
    blue, orange = to_rgba("tab:blue"), to_rgba("tab:orange")
    assert drawn(ax, stars=False) == {(1.0, 0.0): blue, (5.0, 5.0): orange}
    assert drawn(ax, stars=True) == {(0.0, 0.0): blue, (6.0, 5.0): orange}


def test_no_class_covers_the_others(ax):
    labels = np.repeat([0, 1], 1000)
    plot_transduction(labels, np.zeros((2000, 2)), embedding=np.zeros((2000, 2)), ax=ax)
    (points,) = [points for points in ax.collections if len(points.get_offsets())]
    is_second = (points.get_facecolors()[:, :3] == to_rgba("tab:orange")[:3]).all(axis=1)
    assert is_second.sum() == 1000
    assert abs(is_second[-100:].mean() - 0.5) < 0.2  # those on top


def test_many_rows_are_drawn_finer_and_as_pixels():
    styles = []
    for n_rows in (100, 3000, 20_000):
        ax = Figure().add_subplot()
        plane = np.zeros((n_rows, 2))
        plot_transduction(np.arange(n_rows) % 2, plane, embedding=plane, ax=ax)
        (points,) = [points for points in ax.collections if len(points.get_offsets())]
        assert len(points.get_offsets()) == n_rows
        styles.append((points.get_sizes()[0], points.get_alpha(), points.get_rasterized()))
    sizes, alphas, rasterized = zip(*styles, strict=True)
    assert sizes[0] > sizes[1] > sizes[2]
    assert alphas[0] > alphas[1] > alphas[2]
    assert rasterized == (False, False, True)


def test_confidence_is_opacity(ax):
    confidence = [1.0, 0.5, 0.75, 0.1]
    plot_transduction([0, 0, 1, 1], X, confidence=confidence, embedding=X, ax=ax)
    (points,) = [points for points in ax.collections if len(points.get_offsets())]
    opacity = dict(zip(map(tuple, points.get_offsets().tolist()), points.get_facecolors()[:, 3], strict=True))
    sure, guess, halfway, below = (opacity[tuple(row)] for row in X.tolist())
    assert sure > 0.8
    assert 0 < guess < 0.2
    assert halfway == pytest.approx((sure + guess) / 2)
    assert below == guess  # less than a guess among two classes cannot be


def test_confidence_leaves_stars_and_colours_alone(ax):
    labels, y = ["a", "a", "b", "b"], ["a", None, None, "b"]
    plot_transduction(labels, X, y, confidence=[0.5, 0.9, 0.6, 0.5], embedding=X, ax=ax)
    blue, orange = to_rgba("tab:blue"), to_rgba("tab:orange")
    assert drawn(ax, stars=False) == {(1.0, 0.0): blue, (5.0, 5.0): orange}
    (stars,) = [points for points in ax.collections if points.get_sizes()[0] == 150]
    assert (stars.get_facecolors()[:, 3] == 1).all()


@pytest.mark.parametrize(
    ("n_classes", "levels"),
    [
        (1, ["100%", "75%", "50%"]),
        (2, ["100%", "75%", "50%"]),
        (10, ["100%", "55%", "10%"]),
        (25, ["100%", "52%", "4%"]),
    ],
)
def test_the_legend_says_what_opacity_means(ax, n_classes, levels):
    rows = np.random.default_rng(0).normal(size=(n_classes, 2))
    plot_transduction(np.arange(n_classes), rows, confidence=np.ones(n_classes), embedding=rows, ax=ax)
    legend = ax.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[-3:] == [f"confidence {level}" for level in levels]
    assert len(texts) == 3 + (n_classes if n_classes <= 20 else 0)
    alphas = [handle.get_alpha() for handle in legend.legend_handles[-3:]]
    assert alphas[0] == 1
    assert alphas[0] > alphas[1] > alphas[2] > 0


def test_wrong_rows_are_ringed(ax):
    plot_transduction([0, 0, 1, 1], X, truth=[0, 1, 1, 1], embedding=X, ax=ax)
    np.testing.assert_array_equal(offsets(ax, "wrong"), X[[1]])


def test_an_estimator_and_minus_one(ax):
    fitted = SimpleNamespace(transduction_=np.array([0, 0, 1, 1]))
    plot_transduction(fitted, X, np.array([-1, 0, -1, 1]), embedding=X, ax=ax)
    assert set(drawn(ax, stars=True)) == {(1.0, 0.0), (6.0, 5.0)}


def test_minus_one_as_a_class(ax):
    plot_transduction([-1, -1, 1, 1], X, [-1, -1, 1, 1], embedding=X, unlabeled=None, ax=ax)
    assert len(drawn(ax, stars=True)) == 4


def test_a_star_has_the_colour_of_its_given_label(ax):
    plot_transduction(["a", "a", "b", "b"], X, [None, None, None, "a"], embedding=X, ax=ax)
    assert drawn(ax, stars=True) == {(6.0, 5.0): to_rgba("tab:blue")}


def test_labels_are_text_not_mathematics(ax):
    plot_transduction(["$x", "_y", "$x", "_y"], X, ax=ax)
    ax.figure.savefig(io.BytesIO())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"\$x", " _y"]


@pytest.mark.parametrize("n_classes", [10, 20, 26])
def test_every_class_has_its_own_colour(ax, n_classes):
    rows = np.random.default_rng(0).normal(size=(n_classes, 3))
    plot_transduction(np.arange(n_classes), rows, ax=ax)
    assert len(set(drawn(ax, stars=False).values())) == n_classes
    assert (ax.get_legend() is None) == (n_classes > 20)


def test_projection_keeps_the_distances_of_a_plane():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(20, 2))
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    projected = project(plane @ rotation + 3)
    np.testing.assert_allclose(projected @ projected.T, (p := plane - plane.mean(0)) @ p.T, atol=1e-10)


def test_projection_of_sparse_rows_and_of_one_feature():
    rows = sp.random_array((30, 12), density=0.3, rng=0, format="csr")
    np.testing.assert_allclose(np.abs(project(rows)), np.abs(project(rows.toarray())), atol=1e-8)
    np.testing.assert_allclose(np.abs(project([[0.0], [2.0]])), [[1, 0], [1, 0]])


@pytest.mark.parametrize("argument", ["labels", "y", "truth", "confidence", "embedding"])
def test_lengths_are_checked(ax, argument):
    arguments = {"labels": [0, 0, 1, 1], "y": [0, -1, -1, 1], "truth": [0, 0, 1, 1], "embedding": X}
    arguments["confidence"] = [1.0, 0.5, 0.5, 1.0]
    arguments[argument] = arguments[argument][:3]
    with pytest.raises(ValueError, match=f"{argument} has 3 entries for 4 rows"):
        plot_transduction(arguments.pop("labels"), X, ax=ax, **arguments)


def test_a_new_figure_by_default(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    from matplotlib import pyplot

    ax = plot_transduction([0, 0, 1, 1], X)
    assert pyplot.get_fignums() == [ax.figure.number]
    pyplot.close(ax.figure)


def test_missing_matplotlib_names_the_command():
    script = (
        "import sys; sys.modules['matplotlib'] = None; "
        "from weakly.plotting import plot_transduction; plot_transduction([0], [[0.0]])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "ImportError: weakly.plotting needs matplotlib: pip install 'weakly[plot]'" in result.stderr


def outlines(ax):
    """Corner, colour and width of the line of each region drawn."""
    return {
        patch.get_xy(): (patch.get_edgecolor()[:3], patch.get_linewidth() > 1)
        for patch in sorted(ax.patches, key=lambda patch: patch.get_zorder())
    }


def test_regions_are_outlined_where_they_lie(ax):
    # 2 x 3 regions of 20 x 20 pixels, numbered row by row
    plot_regions(np.zeros((40, 60, 3)), (2, 3), located=[4, 2], is_key=[0, 1, 0, 0, 1, 0], ax=ax)
    white, red, green = (to_rgba(name)[:3] for name in ("white", "red", "lime"))
    assert outlines(ax) == {
        (19.5, -0.5): (white, False),
        (19.5, 19.5): (green, True),
        (39.5, -0.5): (red, True),
    }
    assert {(patch.get_width(), patch.get_height()) for patch in ax.patches} == {(20.0, 20.0)}


def test_a_bag_without_a_region_is_drawn_plain(ax):
    assert not plot_regions(np.zeros((4, 4)), (2, 2), located=-1, ax=ax).patches


@pytest.mark.parametrize(
    ("change", "message"),
    [({"located": 6}, "Region 6 is not in a grid of 2 x 3"), ({"is_key": [True]}, "one entry for each of 6")],
)
def test_regions_off_the_grid_are_errors(ax, change, message):
    with pytest.raises(ValueError, match=message):
        plot_regions(np.zeros((40, 60)), (2, 3), ax=ax, **change)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("X", [np.zeros((9, 3)), np.full((9, 3), 2.5), np.eye(1, 4)])
def test_samples_in_one_place_are_drawn_at_the_origin(kind, X):
    np.testing.assert_array_equal(project(kind(X)), np.zeros((len(X), 2)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "Expected 2D array"),
        (np.ones(4), "Expected 2D array"),
        (np.full((4, 2), np.nan), "X contains NaN"),
        (np.full((4, 2), 1e200) * np.arange(4)[:, None], "float64 does not hold"),
    ],
)
def test_what_cannot_be_projected_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        project(X)
