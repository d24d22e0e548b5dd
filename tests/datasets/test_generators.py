import numpy as np
import pytest
from scipy.sparse import issparse
from scipy.stats import multivariate_normal, norm
from sklearn.cluster import KMeans
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from weakly.datasets import (
    make_bags,
    make_clustered_classes,
    make_misleading_gaussians,
    make_sparse_text,
    make_two_moons,
)

GENERATORS = [make_two_moons, make_misleading_gaussians, make_bags, make_clustered_classes, make_sparse_text]


def as_plain(bunch):
    return {
        key: value.toarray().tolist() if issparse(value) else np.asarray(value).tolist()
        for key, value in bunch.items()
    }


@pytest.mark.parametrize("generator", GENERATORS)
def test_same_seed_same_data(generator):
    assert as_plain(generator(20, random_state=3)) == as_plain(generator(20, random_state=3))
    assert as_plain(generator(20, random_state=3)) != as_plain(generator(20, random_state=4))
    assert generator(20, random_state=3).X.dtype == np.float64


@pytest.mark.parametrize(
    "problem",
    [
        make_two_moons(30, n_per_class=3, random_state=0),
        make_sparse_text(30, 100, n_classes=3, n_per_class=3, random_state=0),
        make_misleading_gaussians(30, random_state=0),
        make_clustered_classes(30, n_per_class=3, random_state=0),
    ],
    ids=["moons", "text", "gaussians", "clusters"],
)
def test_partial_labels_agree_with_the_truth(problem):
    shown = problem.y_partial != -1
    assert np.flatnonzero(shown).tolist() == problem.labeled.tolist()
    assert (problem.y_partial == problem.y)[shown].all()
    assert len(set(np.bincount(problem.y[shown]))) == 1


def test_moons_without_noise_lie_on_two_half_circles():
    moons = make_two_moons(101, noise=0.0, random_state=0)
    upper, lower = moons.X[moons.y == 0], moons.X[moons.y == 1]
    assert np.allclose(np.linalg.norm(upper, axis=1), 1)
    assert np.allclose(np.linalg.norm(lower - [1, 0.5], axis=1), 1)
    assert upper[:, 1].min() > -1e-9
    assert lower[:, 1].max() < 0.5 + 1e-9
    assert np.bincount(moons.y).tolist() == [50, 51]


def test_moons_are_learned_from_one_label_each():
    moons = make_two_moons(200, noise=0.05, random_state=0)
    spread = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.9, max_iter=1000).fit(
        moons.X, moons.y_partial
    )
    assert (spread.transduction_ == moons.y).all()


@pytest.mark.parametrize("angle", [0.0, 45.0, 75.0])
def test_errors_of_the_separators_are_the_stated_ones(angle):
    n_rows = 20000
    toy = make_misleading_gaussians(n_rows, separation=3.0, angle=angle, random_state=1)
    spread = 4 * np.sqrt(0.25 / n_rows)
    assert np.mean((toy.X @ toy.coef > 0) != toy.y) == pytest.approx(toy.error, abs=spread)
    assert np.mean((toy.X @ toy.misled_coef > 0) != toy.y) == pytest.approx(toy.misled_error, abs=spread)
    assert toy.error == pytest.approx(norm.sf(1.5))


def test_labels_mislead_the_svm_and_clusters_tell_the_truth():
    for seed in range(5):
        toy = make_misleading_gaussians(400, random_state=seed)
        svm = SVC(kernel="linear", C=1e6).fit(toy.X[toy.labeled], toy.y[toy.labeled])
        direction = svm.coef_[0] / np.linalg.norm(svm.coef_)
        assert direction == pytest.approx(toy.misled_coef)
        assert svm.intercept_ == pytest.approx(0, abs=1e-9)
        assert np.mean(svm.predict(toy.X) != toy.y) > 0.15
        cluster = KMeans(2, n_init=1, random_state=0).fit_predict(toy.X)
        assert cluster[0] != cluster[1]
        assert np.mean((cluster == cluster[1]) != toy.y) < 0.03


def test_key_instances_are_in_positive_bags_only():
    data = make_bags(50, n_features=4, bag_sizes=(3, 6), n_positive=20, random_state=0)
    assert (np.diff(data.bags) >= 0).all()
    sizes = np.bincount(data.bags, minlength=50)
    assert sizes.min() >= 3
    assert sizes.max() <= 6
    assert set(sizes) == {3, 4, 5, 6}
    assert data.bag_y.sum() == 20
    assert data.bags[data.key_instances].tolist() == np.flatnonzero(data.bag_y).tolist()
    assert np.flatnonzero(data.y).tolist() == data.key_instances.tolist()
    assert data.X.shape == (len(data.bags), 4)


def test_key_instance_is_the_one_that_stands_out():
    data = make_bags(300, separation=10.0, random_state=0)
    score = data.X @ data.coef
    best = [
        np.flatnonzero(data.bags == bag)[score[data.bags == bag].argmax()]
        for bag in np.flatnonzero(data.bag_y)
    ]
    assert best == data.key_instances.tolist()
    # Standard normal but for the shift: means within five standard errors.
    n_keys = len(data.key_instances)
    assert score[data.key_instances].mean() == pytest.approx(10, abs=5 / np.sqrt(n_keys))
    assert score[data.y == 0].mean() == pytest.approx(0, abs=5 / np.sqrt(len(score) - n_keys))
    assert np.linalg.norm(data.coef) == pytest.approx(1)


def test_key_instances_stand_anywhere_in_their_bag():
    data = make_bags(400, bag_sizes=(4, 4), n_positive=400, random_state=0)
    positions = np.bincount(data.key_instances % 4, minlength=4)
    assert np.abs(positions - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


def test_clustered_posterior_is_that_of_the_mixture():
    """Densities of all clusters in the whole space, with the covariance that the parameters say."""
    data = make_clustered_classes(
        60, n_features=6, class_shares=(3, 2), n_clusters=3, n_informative=2, noise=0.4, random_state=0
    )
    assert data.basis.T @ data.basis == pytest.approx(np.eye(2))
    inside = data.basis @ data.basis.T
    covariance = inside + 0.4**2 * (np.eye(6) - inside)
    joint = np.column_stack(
        [
            share
            * np.mean([multivariate_normal.pdf(data.X, data.basis @ c, covariance) for c in of_class], 0)
            for share, of_class in zip((0.6, 0.4), data.centers, strict=True)
        ]
    )
    assert data.posterior == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


def test_clustered_rows_follow_their_distribution():
    n_rows = 20000
    data = make_clustered_classes(n_rows, n_features=8, n_informative=3, n_clusters=2, random_state=1)
    assert np.bincount(data.y).tolist() == [10000, 6000, 4000]
    assert data.centers.shape == (3, 2, 3)
    rest = data.X - data.centers[data.y, data.clusters] @ data.basis.T
    inside = rest @ data.basis
    outside = rest - inside @ data.basis.T
    assert np.cov(inside.T) == pytest.approx(np.eye(3), abs=5 * np.sqrt(2 / n_rows))
    assert np.abs(inside.mean(axis=0)).max() < 5 / np.sqrt(n_rows)
    expected = 0.3**2 * (np.eye(8) - data.basis @ data.basis.T)
    assert np.cov(outside.T) == pytest.approx(expected, abs=5 * 0.3**2 * np.sqrt(2 / n_rows))
    for label, size in enumerate((10000, 6000, 4000)):
        share = np.mean(data.clusters[data.y == label])
        assert share == pytest.approx(0.5, abs=5 * np.sqrt(0.25 / size))


@pytest.mark.parametrize("shares", [(1, 1), (3, 1)])
def test_clustered_error_of_two_gaussians_is_in_closed_form(shares):
    """One cluster each on a line: the best rule is a threshold, moved by the logarithm of the odds."""
    n_rows = 40000
    data = make_clustered_classes(
        n_rows, class_shares=shares, n_clusters=1, n_features=3, n_informative=1, random_state=0
    )
    distance = abs(np.diff(data.centers.ravel())).item()
    assert 0.5 < distance < 3
    parts = np.array(shares) / sum(shares)
    moved = np.log(parts[0] / parts[1]) / distance
    best = parts @ norm.cdf([-distance / 2 - moved, -distance / 2 + moved])
    assert data.error == pytest.approx(best, abs=4 * np.sqrt(best / n_rows))
    found = np.mean(data.posterior.argmax(axis=1) != data.y)
    assert found == pytest.approx(best, abs=4 * np.sqrt(best / n_rows))


def test_clustered_error_is_what_the_best_rule_has():
    data = make_clustered_classes(40000, random_state=2)
    found = np.mean(data.posterior.argmax(axis=1) != data.y)
    assert found == pytest.approx(data.error, abs=4 * np.sqrt(data.error / 40000))
    assert data.posterior.sum(axis=1) == pytest.approx(np.ones(40000))
    # Probabilities mean what they say, in every tenth of them.
    tenth = np.minimum((10 * data.posterior).astype(int), 9)
    is_class = np.eye(3)[data.y]
    for number in range(10):
        here = tenth == number
        share, spread = data.posterior[here].mean(), np.sqrt(0.25 / here.sum())
        assert is_class[here].mean() == pytest.approx(share, abs=4 * spread)


def test_text_has_the_shape_asked_for():
    text = make_sparse_text(2000, 700, words_per_row=30, n_classes=4, topic_size=20, random_state=0)
    assert text.X.format == "csr"
    assert text.X.has_sorted_indices
    assert text.X.has_canonical_format
    lengths = text.X.sum(axis=1)
    assert (text.X.data == np.round(text.X.data)).all()
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(30, abs=5 * np.sqrt(29 / 2000))
    assert np.bincount(text.y).tolist() == [500] * 4
    assert len(np.unique(text.topics)) == 80


def test_text_follows_its_distribution():
    strength, exponent = 0.3, 0.8
    text = make_sparse_text(
        4000,
        50,
        words_per_row=100,
        topic_strength=strength,
        topic_size=5,
        zipf_exponent=exponent,
        random_state=0,
    )
    language = np.arange(1, 51) ** -exponent
    topic = np.arange(1, 6) ** -exponent
    for label in (0, 1):
        expected = (1 - strength) * language / language.sum()
        expected[text.topics[label]] += strength * topic / topic.sum()
        found = text.X[text.y == label].sum(axis=0)
        n_words = found.sum()
        errors = (found / n_words - expected) / np.sqrt(expected / n_words)
        assert np.abs(errors).max() < 5


def test_text_answer_is_the_bayes_rule():
    options = {"words_per_row": 25, "n_classes": 3, "topic_strength": 0.1, "topic_size": 10}
    text = make_sparse_text(6000, 200, **options, random_state=0)
    best = np.mean((text.X @ text.coef.T).toarray().argmax(axis=1) == text.y)
    # Naive Bayes estimates the same rule from all labels: as good, and not better than chance allows.
    learned = MultinomialNB(alpha=0.1).fit(text.X, text.y)
    assert 0.5 < best < 0.99
    assert learned.score(text.X, text.y) == pytest.approx(best, abs=0.02)
    language, topic = 1 / np.arange(1, 201), 1 / np.arange(1, 11)
    language, topic = language / language.sum(), topic / topic.sum()
    for words, weights in zip(text.topics, text.coef.toarray(), strict=True):
        of_class = 0.9 * language
        of_class[words] += 0.1 * topic
        assert weights == pytest.approx(np.log(of_class) - np.log(0.9 * language))


def test_text_without_topics_has_no_answer():
    text = make_sparse_text(100, 50, topic_strength=0, random_state=0)
    assert (text.coef.data == 0).all()


def test_text_of_the_smallest_size():
    text = make_sparse_text(2, 2, words_per_row=1, random_state=0)
    assert text.X.sum(axis=1).tolist() == [1, 1]
    assert sorted(text.topics.ravel()) == [0, 1]


@pytest.mark.parametrize(
    ("generator", "options", "message"),
    [
        (make_two_moons, {"n_samples": 1}, "n_samples"),
        (make_two_moons, {"n_samples": 10.0}, "n_samples"),
        (make_two_moons, {"noise": -1}, "noise"),
        (make_two_moons, {"n_samples": 10, "n_per_class": 6}, "n_per_class"),
        (make_misleading_gaussians, {"angle": 90}, "angle"),
        (make_misleading_gaussians, {"separation": float("nan")}, "separation"),
        (make_bags, {"n_bags": 0}, "n_bags"),
        (make_bags, {"n_bags": 3, "n_positive": 4}, "n_positive=4 is more than n_bags=3"),
        (make_bags, {"bag_sizes": (0, 3)}, r"bag_sizes\[0\]"),
        (make_bags, {"bag_sizes": None}, "bag_sizes must be a pair of integers, got None"),
        (make_bags, {"bag_sizes": (5,)}, "bag_sizes must be a pair"),
        (make_bags, {"bag_sizes": (4, 3)}, r"bag_sizes\[1\] must be an integer of at least 4"),
        (make_clustered_classes, {"class_shares": (1.0,)}, "class_shares"),
        (make_clustered_classes, {"class_shares": (1.0, 0.0)}, "class_shares"),
        (make_clustered_classes, {"class_shares": (1.0, float("nan"))}, "class_shares"),
        (make_clustered_classes, {"n_samples": 2}, "n_samples"),
        (make_clustered_classes, {"n_features": 9}, "n_features must be an integer of at least 10"),
        (make_clustered_classes, {"n_clusters": 0}, "n_clusters"),
        (make_clustered_classes, {"noise": -1.0}, "noise"),
        (make_clustered_classes, {"n_samples": 10, "n_per_class": 3}, "n_per_class"),
        (make_sparse_text, {"n_classes": 1}, "n_classes"),
        (make_sparse_text, {"topic_strength": 1}, "topic_strength"),
        (make_sparse_text, {"words_per_row": 0.5}, "words_per_row"),
        (make_sparse_text, {"n_features": 10, "topic_size": 6}, "raise n_features, or lower topic_size"),
        (make_sparse_text, {"n_features": 1}, "raise n_features"),
        (make_sparse_text, {"n_samples": 1}, "n_samples"),
    ],
)
def test_bad_arguments(generator, options, message):
    with pytest.raises(ValueError, match=message):
        generator(**options)
