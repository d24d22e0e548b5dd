import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from weakly.datasets import _pictures, _scenes
from weakly.datasets._pictures import make_pictures, region_features
from weakly.datasets._scenes import CATEGORIES, draw_scene

N_REGIONS_OF_INTEREST = {"castle": 19, "firework": 27, "mountain": 25, "sunset": 2.3, "waterfall": 14}


@pytest.fixture(scope="module")
def pictures():
    return make_pictures(80, random_state=0)


def loop_features(image, region):
    """Features of one picture, region by region, pixel by pixel."""
    n_down, n_across = image.shape[0] // region, image.shape[1] // region
    mean = {}
    for r in range(n_down):
        for c in range(n_across):
            pixels = [
                image[r * region + i, c * region + j] / 255.0 for i in range(region) for j in range(region)
            ]
            mean[r, c] = sum(pixels) / len(pixels)
    rows = []
    for r in range(n_down):
        for c in range(n_across):
            own = mean[r, c]
            around = [mean.get(at, own) - own for at in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))]
            rows.append(np.concatenate([own, *around]))
    return np.array(rows)


def test_features_agree_with_a_plain_loop():
    images = np.random.RandomState(0).randint(256, size=(2, 6, 8, 3)).astype(np.uint8)
    expected = np.vstack([loop_features(image, 2) for image in images])
    assert expected.shape == (2 * 3 * 4, 15)
    assert np.allclose(region_features(images, region=2), expected, rtol=0, atol=1e-12)
    assert np.allclose(region_features(images / 255.0, region=2), expected, rtol=0, atol=1e-12)


def test_constant_picture_has_no_differences():
    features = region_features(np.full((1, 60, 40, 3), (51, 102, 255), dtype=np.uint8))
    assert np.allclose(features[:, :3], [0.2, 0.4, 1.0], rtol=0, atol=1e-12)
    assert (features[:, 3:] == 0).all()


@pytest.mark.parametrize(
    ("images", "region", "message"),
    [
        (np.zeros((40, 40, 3)), 20, "shape"),
        (np.zeros((1, 40, 40, 4)), 20, "shape"),
        (np.zeros((1, 40, 30, 3)), 20, "divide"),
        (np.zeros((1, 40, 40, 3)), 0, "region"),
        (np.full((1, 40, 40, 3), 200.0), 20, "rescale"),
        (np.full((1, 40, 40, 3), np.nan), 20, "rescale"),
        (np.full((1, 40, 40, 3), -1), 20, "rescale"),
        (np.zeros((1, 40, 40, 3), dtype=bool), 20, "integers"),
    ],
)
def test_bad_images_are_named(images, region, message):
    with pytest.raises(ValueError, match=message):
        region_features(images, region)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_per_class": 0}, "n_per_class"),
        ({"n_per_class": 2.0}, "n_per_class"),
        ({"noise": -0.1}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"n_distractors": -1}, "n_distractors"),
        ({"categories": ()}, "categories"),
        ({"categories": None}, "categories must be a sequence"),
        ({"categories": 2}, "categories must be a sequence"),
        ({"categories": "castle"}, "categories"),
        ({"categories": ("castle", "castle")}, "categories"),
        ({"categories": ("castle", "river")}, "castle, firework"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_pictures(**{"n_per_class": 1, **parameters})


def test_fields_fit_together():
    data = make_pictures(2, categories=("sunset", "castle"), random_state=0)
    assert data.images.shape == (4, 160, 160, 3)
    assert data.images.dtype == np.uint8
    assert data.features.shape == (256, 15)
    assert data.features.dtype == np.float64
    assert data.shape == (8, 8)
    assert data.target_names == ["sunset", "castle"]
    assert sorted(data.bag_y) == [0, 0, 1, 1]
    assert (data.bags == np.repeat(np.arange(4), 64)).all()
    # A castle takes many regions and a sun few: codes follow the order of the categories.
    n_key = data.is_key.reshape(4, 64).sum(axis=1)
    assert n_key[data.bag_y == 0].max() < n_key[data.bag_y == 1].min()
    third = loop_features(data.images[2], 20)
    assert np.allclose(data.features[data.bags == 2], third, rtol=0, atol=1e-12)


def test_same_seed_same_pictures():
    first, again, other = (make_pictures(1, random_state=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(first[field], again[field]) for field in first)
    assert not np.array_equal(first.images, other.images)


def test_regions_of_interest_are_half_covered(monkeypatch):
    covered = np.zeros((160, 160), dtype=bool)
    covered[:30, :50] = True  # half of regions (0, 2), (1, 0) and (1, 1), a quarter of (1, 2)
    covered[140:160, 140:149] = True  # nine columns of twenty
    monkeypatch.setattr(_pictures, "draw_scene", lambda *_: (np.zeros((160, 160, 3)), covered))
    data = make_pictures(1, categories=("castle",), random_state=0)
    found = [divmod(region, 8) for region in np.flatnonzero(data.is_key).tolist()]
    assert found == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def watch_object(category, seed, n_distractors, monkeypatch):
    """Canvas before the object, finished canvas, and pixels of the object."""
    seen = []
    draw_object = _scenes._OBJECTS[category]

    def draw_and_keep(scene):
        seen.append(scene.canvas.copy())
        draw_object(scene)

    with monkeypatch.context() as patch:
        patch.setitem(_scenes._OBJECTS, category, draw_and_keep)
        canvas, covered = draw_scene(category, n_distractors, np.random.RandomState(seed))
    return seen[-1], canvas, covered


@pytest.mark.parametrize("category", CATEGORIES)
def test_object_is_where_it_is_said_to_be(category, monkeypatch):
    for seed in range(5):
        before, after, covered = watch_object(category, seed, 0, monkeypatch)
        changed = np.abs(after - before).max(axis=2) > 0.01
        assert changed[covered].mean() > 0.9
        if category in ("firework", "mountain"):  # the others bring a hill, a halo or rock with them
            assert not changed[~covered].any()


@pytest.mark.parametrize("category", CATEGORIES)
def test_distractors_stay_away_from_the_object(category, monkeypatch):
    for seed in range(5):
        _, bare, covered = watch_object(category, seed, 0, monkeypatch)
        _, full, covered_again = watch_object(category, seed, 8, monkeypatch)
        assert (covered == covered_again).all()
        assert (bare[covered] == full[covered]).all()
        assert (bare != full).any()


def test_noise_has_the_stated_size_and_leaves_the_scene_alone():
    clean, noisy = (
        make_pictures(20, categories=("castle", "sunset"), noise=noise, random_state=1)
        for noise in (0.0, 0.04)
    )
    assert (clean.is_key == noisy.is_key).all()
    strays = (noisy.images.astype(float) - clean.images) / 255
    # Colours near the ends of the range are cut off.
    strays = np.ma.array(strays, mask=(clean.images < 80) | (clean.images > 175))
    casts = strays.mean(axis=(1, 2))
    assert strays.std(axis=(1, 2)).mean() == pytest.approx(0.04, rel=0.05)
    assert casts.std() == pytest.approx(0.04, rel=0.25)


def test_numbers_of_regions_of_interest_are_those_of_the_photographs(pictures):
    n_key = pictures.is_key.reshape(-1, 64).sum(axis=1)
    assert n_key.min() >= 1
    for code, name in enumerate(pictures.target_names):
        assert n_key[pictures.bag_y == code].mean() == pytest.approx(N_REGIONS_OF_INTEREST[name], rel=0.2)


def score(classifier, X, y, train):
    return balanced_accuracy_score(y[~train], classifier.fit(X[train], y[train]).predict(X[~train]))


def test_location_matters_and_regions_can_be_told_apart(pictures):
    train = np.arange(len(pictures.bag_y)) % 2 == 0
    mean_colours = pictures.images.mean(axis=(1, 2)) / 255
    by_colour, by_region = [], []
    for code in range(len(CATEGORIES)):
        of_category = pictures.bag_y == code
        logistic = LogisticRegression(C=100, class_weight="balanced")
        by_colour.append(
            max(
                score(classifier, mean_colours, of_category, train)
                for classifier in (logistic, KNeighborsClassifier(5))
            )
        )
        quadratic = make_pipeline(
            StandardScaler(),
            PolynomialFeatures(2),
            LogisticRegression(class_weight="balanced", max_iter=2000),
        )
        is_object = pictures.is_key & of_category[pictures.bags]
        by_region.append(score(quadratic, pictures.features, is_object, train[pictures.bags]))
    assert (np.array(by_colour) < by_region).all()
    assert np.mean(by_colour) < np.mean(by_region) - 0.15
    assert 0.85 < np.mean(by_region) < 0.95
    assert min(by_region) > 0.78
    assert max(by_region) < 0.98
    assert np.ptp(by_region) > 0.03
