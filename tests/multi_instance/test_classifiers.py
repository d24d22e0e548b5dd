"""All classifiers of bags: forms, classes, empty bags, and what each computes against plain loops."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, directed_hausdorff
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from weakly import (
    BagMarginSVC,
    Bags,
    CitationKNNClassifier,
    DiverseDensityClassifier,
    EMDDClassifier,
    InstanceMarginSVC,
    MultiInstanceKernelSVC,
    WellMultiInstanceSVC,
)
from weakly.datasets import make_bags
from weakly.estimators._base import Progress
from weakly.exceptions import FitInterruptedWarning
from weakly.multi_instance import bag_distances

MODELS = {
    "bag margin": BagMarginSVC(1.0, kernel="linear"),
    "instance margin": InstanceMarginSVC(1.0, gamma="median"),
    "set kernel": MultiInstanceKernelSVC(10.0, gamma="median"),
    "set kernel of length 1": MultiInstanceKernelSVC(10.0, gamma="median", normalization="feature"),
    "well": WellMultiInstanceSVC(1.0, gamma="mean-distance"),
    "citation": CitationKNNClassifier(1, n_citers=1, distance="average"),
    "diverse density": DiverseDensityClassifier(feature_weights=False),
    "em-dd": EMDDClassifier(feature_weights=False),
}
BY_BEST_INSTANCE = ["bag margin", "instance margin", "well", "diverse density", "em-dd"]
KINDS = ["minimal", "median", "maximal", "average"]

every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def data():
    """Bags of four, so that they also fit into an array with three axes."""
    return make_bags(30, n_features=4, bag_sizes=(4, 4), random_state=0)


@pytest.fixture(scope="module")
def bags(data):
    return Bags.from_ids(data.X, data.bags)


@pytest.fixture(scope="module")
def fitted(data, bags):
    return {name: clone(model).fit(bags, data.bag_y) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def new():
    rng = np.random.default_rng(7)
    return [rng.normal(size=(size, 4)) * 2 for size in (1, 3, 5, 2, 8)]


def three_classes():
    """Bags with a moved row in the direction of their class; the moved row is the first one."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 8)
    matrices = [rng.normal(size=(rng.integers(2, 6), 4)) for _ in y]
    for matrix, label in zip(matrices, y, strict=True):
        matrix[0, label] += 5.0
    return matrices, np.array(["ant", "bee", "cat"])[y]


@every_model
def test_key_instances_have_the_largest_scores(fitted, name, new):
    model = fitted[name]
    scores = model.instance_decision_function(new)
    assert [len(part) for part in scores] == [len(bag) for bag in new]
    np.testing.assert_array_equal(model.key_instances(new), [part.argmax() for part in scores])
    rows, ids = np.vstack(new), np.repeat(list("abcde"), [len(bag) for bag in new])
    flat = model.instance_decision_function((rows, ids))
    np.testing.assert_allclose(flat, np.concatenate(scores), atol=1e-9)
    starts = np.cumsum([0] + [len(bag) for bag in new[:-1]])
    np.testing.assert_array_equal(model.key_instances((rows, ids)), starts + model.key_instances(new))


@pytest.mark.parametrize("name", BY_BEST_INSTANCE)
def test_a_bag_scores_what_its_best_instance_does(fitted, name, new):
    best = [part.max() for part in fitted[name].instance_decision_function(new)]
    np.testing.assert_allclose(fitted[name].decision_function(new), best, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in BY_BEST_INSTANCE])
def test_an_instance_scores_what_a_bag_of_it_alone_does(fitted, name, new):
    rows = np.vstack(new)
    alone = fitted[name].decision_function([row[None] for row in rows])
    np.testing.assert_allclose(fitted[name].instance_decision_function(rows), alone, atol=1e-3)
    np.testing.assert_array_equal(fitted[name].decision_function(rows), alone)  # rows are bags of one


@every_model
def test_all_forms_agree(data, bags, fitted, name):
    expected = fitted[name].decision_function(bags)
    for form in (list(bags), tuple(bags), (data.X, data.bags), data.X.reshape(30, 4, 4)):
        model = clone(MODELS[name]).fit(form, data.bag_y)
        np.testing.assert_array_equal(model.decision_function(form), expected)
        np.testing.assert_array_equal(model.decision_function(bags), expected)


@every_model
def test_the_positive_class_can_be_named(data, bags, fitted, name):
    words = np.array(["other", "elephant"])[data.bag_y]
    named = clone(MODELS[name]).set_params(positive_class="elephant").fit(bags, words)
    assert named.classes_.tolist() == ["elephant", "other"]
    assert named.positive_class_ == "elephant"
    decisions = fitted[name].decision_function(bags)
    np.testing.assert_allclose(named.decision_function(bags), -decisions)
    np.testing.assert_array_equal(named.key_instances(bags), fitted[name].key_instances(bags))
    expected = np.array(["other", "elephant"])[fitted[name].predict(bags)]
    np.testing.assert_array_equal(named.predict(bags)[decisions != 0], expected[decisions != 0])
    np.testing.assert_allclose(named.predict_proba(bags), fitted[name].predict_proba(bags)[:, ::-1])
    with pytest.raises(ValueError, match="label='other' has no key instances"):
        named.key_instances(bags, label="other")


@every_model
def test_probabilities_sum_to_one_and_favour_the_prediction(fitted, bags, name, new):
    for given in (list(bags), new):
        model = fitted[name]
        proba = model.predict_proba(given)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        assert (proba >= 0).all()
        assert (model.predict(given) == model.classes_[proba.argmax(axis=1)]).all()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "citation"])
def test_three_classes_are_each_against_the_rest(name):
    matrices, y = three_classes()
    model = clone(MODELS[name]).fit(matrices, y)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert model.positive_class_ is None
    decisions, per_instance = model.decision_function(matrices), model.instance_decision_function(matrices)
    for column, label in enumerate(model.classes_):
        alone = clone(MODELS[name]).fit(matrices, y == label)
        np.testing.assert_allclose(decisions[:, column], alone.decision_function(matrices), atol=1e-9)
        np.testing.assert_array_equal(
            model.key_instances(matrices, label=label), alone.key_instances(matrices)
        )
        expected = alone.instance_decision_function(matrices)
        for ours, theirs in zip(per_instance, expected, strict=True):
            np.testing.assert_allclose(ours[:, column], theirs, atol=1e-9)
    predicted = decisions.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(matrices), model.classes_[predicted])
    of_predicted = [part[:, k].argmax() for part, k in zip(per_instance, predicted, strict=True)]
    np.testing.assert_array_equal(model.key_instances(matrices), of_predicted)
    assert model.score(matrices, y) > 0.9
    with pytest.raises(ValueError, match="label='dog' is not among the classes"):
        model.key_instances(matrices, label="dog")
    with pytest.raises(ValueError, match="positive_class='ant' needs y of two classes and there are 3"):
        clone(model).set_params(positive_class="ant").fit(matrices, y)


@every_model
def test_empty_bags_are_left_out_of_a_fit(data, bags, fitted, name):
    nothing = np.empty((0, 4))
    expected = fitted[name].decision_function(bags)
    negative = clone(MODELS[name]).fit([nothing, *bags], np.r_[0, data.bag_y])
    np.testing.assert_array_equal(negative.decision_function(bags), expected)
    with pytest.warns(
        UserWarning, match="2 bags have no instances and are left out, the first of them bag 0"
    ):
        positive = clone(MODELS[name]).fit([nothing, *bags, nothing], np.r_[1, data.bag_y, 0])
    np.testing.assert_array_equal(positive.decision_function(bags), expected)
    for lost in (0, 1):
        only_empty = [nothing if label == lost else bag for bag, label in zip(bags, data.bag_y, strict=True)]
        with pytest.raises(ValueError, match=f"All bags of class {lost} are empty"):
            clone(MODELS[name]).fit(only_empty, data.bag_y)


@every_model
def test_empty_bags_are_negative(data, bags, fitted, name, new):
    model, nothing = fitted[name], np.empty((0, 4))
    given = [nothing, *new[:2], nothing, *new[2:]]
    empty = np.array([True, False, False, True, False, False, False])
    decisions = model.decision_function(given)
    assert (model.predict(given)[empty] == 0).all()
    assert (decisions[empty] < 0).all()
    assert np.isfinite(decisions).all()
    np.testing.assert_array_equal(decisions[~empty], model.decision_function(new))
    np.testing.assert_array_equal(model.key_instances(given)[empty], -1)
    np.testing.assert_array_equal(model.key_instances(given)[~empty], model.key_instances(new))
    assert [len(part) for part in model.instance_decision_function(given)] == [len(bag) for bag in given]
    np.testing.assert_allclose(model.predict_proba(given).sum(axis=1), 1.0)
    assert model.predict([nothing, nothing]).tolist() == [0, 0]
    turned = clone(model).set_params(positive_class=0).fit(bags, 1 - data.bag_y)
    assert turned.predict([nothing]).tolist() == [1]


@every_model
def test_empty_bags_have_the_shares_of_three_classes(name):
    matrices, y = three_classes()
    kept = np.r_[0:3, 8:13, 16:24]
    given = [matrices[number] for number in kept] + [np.empty((0, 4))]
    with pytest.warns(UserWarning, match="1 bags have no instances .* bag 16"):
        model = clone(MODELS[name]).fit(given, np.r_[y[kept], ["ant"]])
    np.testing.assert_allclose(model.predict_proba(given)[-1], [3 / 16, 5 / 16, 8 / 16])
    assert model.predict(given)[-1] == "cat"
    assert model.key_instances(given)[-1] == -1
    assert np.isfinite(model.decision_function(given)).all()


@every_model
def test_rows_are_bags_of_one(data, name):
    rows, y = np.r_[data.X[data.key_instances], data.X[data.y == 0][:20]], np.repeat([1, 0], [15, 20])
    given = clone(MODELS[name]).fit(rows, y)
    alone = clone(MODELS[name]).fit([row[None] for row in rows], y)
    np.testing.assert_array_equal(given.decision_function(rows), alone.decision_function(rows[:, None]))
    np.testing.assert_array_equal(given.key_instances(rows), np.arange(35))
    np.testing.assert_array_equal(alone.key_instances(rows[:, None]), np.zeros(35))
    assert given.score(rows, y) > 0.9


@every_model
def test_a_bag_of_a_thousand_among_bags_of_one(name):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(1000, 3)), *rng.normal([8.0, 0.0, 0.0], size=(10, 1, 3))]
    model = clone(MODELS[name]).fit(given, [0] + [1] * 10)
    assert np.isfinite(model.decision_function(given)).all()
    assert (model.predict(given)[1:] == 1).mean() > 0.9
    assert (
        model.key_instances(given).tolist()
        == [model.instance_decision_function(given)[0].argmax()] + [0] * 10
    )


@every_model
def test_one_bag_of_each_class_is_enough(name):
    # The second row of the positive bag is the one far from the negative bag.
    bags = [np.array([[0.1, 0.0], [4.0, 0.0]]), np.array([[0.0, 0.1], [-0.1, 0.0], [0.0, -0.1]])]
    for as_type in (np.asarray, np.float32, sp.csr_array):
        given = [as_type(bag) for bag in bags]
        model = clone(MODELS[name]).fit(given, ["yes", "no"])
        assert model.key_instances(given)[0] == 1
        assert model.predict(given).tolist() == ["yes", "no"]


@every_model
def test_sparse_rows_give_what_dense_ones_do(data, bags, fitted, name, new):
    model = clone(MODELS[name]).fit([sp.csr_array(bag) for bag in bags], data.bag_y)
    sparse, expected = [sp.csr_array(bag) for bag in new], fitted[name].decision_function(new)
    np.testing.assert_allclose(model.decision_function(sparse), expected, atol=2e-3)  # tol of the machines
    np.testing.assert_array_equal(model.key_instances(sparse), fitted[name].key_instances(new))
    np.testing.assert_allclose(fitted[name].decision_function(sparse), expected, atol=1e-9)


@every_model
def test_single_precision_stays(data, bags, fitted, name, new):
    model = clone(MODELS[name]).fit(bags.with_rows(bags.rows.astype(np.float32)), data.bag_y)
    decisions = model.decision_function([bag.astype(np.float32) for bag in new])
    assert decisions.dtype == np.float32
    np.testing.assert_allclose(decisions, fitted[name].decision_function(new), rtol=1e-3, atol=5e-3)


# Citation kNN is not among them: how many keys it finds depends on the distance and the draw.
@pytest.mark.parametrize("name", [name for name in MODELS if name != "citation"])
def test_planted_key_instances_are_found(name):
    data, fresh = make_bags(60, random_state=0), make_bags(400, random_state=100)
    # the same direction, or new bags would mean something else
    fresh.X[fresh.key_instances] += 6.0 * (data.coef - fresh.coef)
    model = clone(MODELS[name]).fit((data.X, data.bags), data.bag_y)
    found = model.key_instances((fresh.X, fresh.bags))[fresh.bag_y == 1]
    assert len(found) == 200
    assert np.mean(found == fresh.key_instances) >= 0.95
    if name in BY_BEST_INSTANCE:
        assert model.score((fresh.X, fresh.bags), fresh.bag_y) >= 0.95


@every_model
def test_errors_say_what_was_wrong(data, bags, name):
    model = clone(MODELS[name])
    for y, message in (
        (None, "requires y to be passed"),
        (np.ones(30), "needs two classes at least: y holds 1 class"),
        (np.linspace(0, 1, 30), "Unknown label type: continuous"),
        (data.bag_y[:-1], "30 bags and 29 labels in y: bag 29 has none"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(bags, y)
    with pytest.raises(ValueError, match="positive_class='x' is not among the classes"):
        clone(model).set_params(positive_class="x").fit(bags, np.where(data.bag_y, "a", "b"))
    model.fit(bags, data.bag_y)
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 4 features"):
        model.predict([bag[:, :3] for bag in bags])


@pytest.mark.parametrize("name", ["bag margin", "instance margin"])
def test_running_out_of_turns_warns(name):
    noisy = make_bags(40, separation=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="not done after max_iter=1 machines: raise max_iter"):
        clone(MODELS[name]).set_params(max_iter=1).fit((noisy.X, noisy.bags), noisy.bag_y)


def bag_kernel(kernel, some, others, normalization):
    """The normalised set kernel, by a double loop."""
    gram = np.empty((len(some), len(others)))
    for (i, a), (j, b) in product(enumerate(some), enumerate(others)):
        if normalization == "mean":
            gram[i, j] = kernel(a, b).sum() / (len(a) * len(b))
        else:
            gram[i, j] = kernel(a, b).sum() / np.sqrt(kernel(a, a).sum() * kernel(b, b).sum())
    return gram


@pytest.mark.parametrize("normalization", ["mean", "feature"])
@pytest.mark.parametrize("kind", ["rbf", "poly"])
def test_the_set_kernel_machine_is_libsvm_on_the_kernel_of_bags(normalization, kind, new):
    data = make_bags(30, n_features=4, bag_sizes=(1, 6), separation=3.0, random_state=0)
    matrices = list(Bags.from_ids(data.X, data.bags))
    settings = {"C": 2.0, "positive_weight": 1.5, "normalization": normalization, "gamma": 0.2, "tol": 1e-8}
    model = MultiInstanceKernelSVC(kernel=kind, degree=2, coef0=1.0, **settings).fit(matrices, data.bag_y)

    def kernel(a, b):
        return rbf_kernel(a, b, gamma=0.2) if kind == "rbf" else polynomial_kernel(a, b, 2, 0.2, 1.0)

    gram = bag_kernel(kernel, matrices, matrices, normalization)
    scale = gram.diagonal().mean()
    costs = np.where(data.bag_y == 1, 3.0, 2.0)
    machine = SVC(kernel="precomputed", tol=1e-8).fit(gram / scale, data.bag_y, sample_weight=costs)
    expected = machine.decision_function(bag_kernel(kernel, new, matrices, normalization) / scale)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-5)
    means = [part.mean() for part in model.instance_decision_function(new)]
    if normalization == "mean":
        np.testing.assert_allclose(model.decision_function(new), means, atol=1e-9)
    else:
        assert np.abs(model.decision_function(new) - means).max() > 1e-2


def test_a_precomputed_kernel_of_instances_has_no_lengths_of_new_bags(data):
    gram = data.X @ data.X.T
    direct = MultiInstanceKernelSVC(kernel="linear").fit((data.X, data.bags), data.bag_y)
    given = MultiInstanceKernelSVC(kernel="precomputed").fit((gram, data.bags), data.bag_y)
    expected = direct.decision_function((data.X, data.bags))
    np.testing.assert_allclose(given.decision_function((gram, data.bags)), expected, atol=1e-8)
    with pytest.raises(ValueError, match='set normalization="mean"'):
        given.set_params(normalization="feature").fit((gram, data.bags), data.bag_y)


def distance_of(a, b, kind):
    """Hausdorff distances by their definitions."""
    if kind == "maximal":
        return max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])
    between = cdist(a, b)
    to_b, to_a = sorted(between.min(axis=1)), sorted(between.min(axis=0))
    if kind == "minimal":
        return to_b[0]
    if kind == "median":  # the lower of two middle ones
        return max(to_b[(len(a) - 1) // 2], to_a[(len(b) - 1) // 2])
    return (sum(to_b) + sum(to_a)) / (len(a) + len(b))


@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_bags(kind, new):
    rng = np.random.default_rng(1)
    others = [rng.normal(size=(rng.integers(1, 8), 4)) for _ in range(12)]
    expected = [[distance_of(a, b, kind) for b in others] for a in new]
    some, many = Bags.from_list(new), Bags.from_list(others)
    np.testing.assert_allclose(bag_distances(some, many, kind), expected, atol=1e-7)
    np.testing.assert_allclose(bag_distances(many, some, kind), np.transpose(expected), atol=1e-7)
    sparse = Bags.from_list([sp.csr_array(bag) for bag in new])
    np.testing.assert_allclose(bag_distances(sparse, many, kind), expected, atol=1e-7)


def test_distances_in_blocks_are_the_same(monkeypatch, bags):
    whole = bag_distances(bags, bags, "median")
    monkeypatch.setattr("weakly.multi_instance._hausdorff._BLOCK_ENTRIES", 1000)
    np.testing.assert_allclose(bag_distances(bags, bags, "median"), whole, atol=1e-7)


def votes_of(bag, matrices, y, n_references, n_citers, kind):
    """Votes for each class: of the nearest bags, then of bags that have this one among their nearest."""
    votes = dict.fromkeys(np.unique(y), 0)
    distances = [distance_of(bag, matrix, kind) for matrix in matrices]
    for number in sorted(range(len(matrices)), key=distances.__getitem__)[:n_references]:
        votes[y[number]] += 1
    for number, matrix in enumerate(matrices):
        others = [distance_of(matrix, other, kind) for k, other in enumerate(matrices) if k != number]
        if sum(other < distances[number] for other in others) < n_citers:
            votes[y[number]] += 1
    return np.array(list(votes.values()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_references", "n_citers"), [(2, 4), (3, 0), (1, 6), (50, 50)])
def test_votes_of_references_and_citers(kind, n_references, n_citers, new):
    data = make_bags(14, n_features=4, bag_sizes=(1, 5), separation=3.0, random_state=0)
    matrices = list(Bags.from_ids(data.X, data.bags))
    model = CitationKNNClassifier(n_references, n_citers=n_citers, distance=kind)
    votes = np.array([votes_of(bag, matrices, data.bag_y, n_references, n_citers, kind) for bag in new])
    shares = votes / votes.sum(axis=1, keepdims=True)
    model.fit(matrices, data.bag_y)
    np.testing.assert_allclose(model.decision_function(new), shares[:, 1] - shares[:, 0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), (votes[:, 1] > votes[:, 0]).astype(int))


def test_votes_of_three_classes(new):
    matrices, y = three_classes()
    model = CitationKNNClassifier(2, n_citers=3, distance="average").fit(matrices, y)
    votes = np.array([votes_of(bag, matrices, y, 2, 3, "average") for bag in new])
    expected = votes / votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), model.classes_[votes.argmax(axis=1)])


def test_of_instances_with_equal_votes_the_nearer_one_is_the_key(data, bags):
    model = CitationKNNClassifier(2, n_citers=4).fit(bags, data.bag_y)
    rows = np.random.default_rng(3).normal(size=(60, 4)) * 2
    scores, shares = model.instance_decision_function(rows), model.decision_function(rows)
    near, far = (
        np.min([cdist(rows, bag).min(axis=1) for bag in bags[data.bag_y == label]], axis=0)
        for label in (1, 0)
    )
    order = np.lexsort((scores,))
    expected = np.lexsort(((far - near) / (far + near), shares.round(9)))
    np.testing.assert_array_equal(order, expected)
    assert len(np.unique(shares.round(9))) < 60  # or there would be no ties


def log_probability(model, bag):
    squares = (model.scales_[0] * (np.asarray(bag) - model.concepts_[0])) ** 2
    return -squares.sum(axis=1)


@pytest.mark.parametrize("method", [DiverseDensityClassifier, EMDDClassifier])
@pytest.mark.parametrize("n_positive", [8, 15, 24])
def test_the_threshold_tells_training_bags_apart_best(method, n_positive):
    data = make_bags(30, n_features=4, n_positive=n_positive, separation=1.5, random_state=0)
    bags = Bags.from_ids(data.X, data.bags)
    model = method(2, feature_weights=False, random_state=0).fit(bags, data.bag_y)
    levels = np.array([log_probability(model, bag).max() for bag in bags])
    middles = (np.sort(levels)[1:] + np.sort(levels)[:-1]) / 2
    thresholds = [levels.min() - 1, *middles, levels.max() + 1]
    best = max(balanced_accuracy_score(data.bag_y, levels > threshold) for threshold in thresholds)
    assert best < 1
    assert balanced_accuracy_score(data.bag_y, model.predict(bags)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("method", [DiverseDensityClassifier, EMDDClassifier])
def test_decisions_are_logarithms_of_probabilities_less_that_of_the_threshold(method, data, bags, new):
    given = method(2, feature_weights=False, threshold=0.3, random_state=0).fit(bags, data.bag_y)
    best = np.array([log_probability(given, bag).max() for bag in new])
    np.testing.assert_allclose(given.decision_function(new), best - np.log(0.3), rtol=1e-10)
    np.testing.assert_array_equal(
        given.predict(bags), [log_probability(given, b).max() > np.log(0.3) for b in bags]
    )
    fitted = clone(given).set_params(threshold="training").fit(bags, data.bag_y)
    np.testing.assert_allclose(fitted.decision_function(new), best - fitted.thresholds_[0], rtol=1e-10)
    for bag, scores in zip(new, fitted.instance_decision_function(new), strict=True):
        np.testing.assert_allclose(scores, log_probability(fitted, bag) - fitted.thresholds_[0], rtol=1e-10)


@every_model
def test_a_fit_that_failed_is_no_fit(bags, name):
    model = clone(MODELS[name])
    with pytest.raises(ValueError, match="needs two classes"):
        model.fit(bags, np.ones(30))
    with pytest.raises(NotFittedError):
        model.predict(bags)


@pytest.mark.parametrize("name", ["instance margin", "diverse density", "em-dd"])
def test_one_interrupt_ends_the_fit_of_all_classes(data, bags, name, monkeypatch):
    counted = []

    def interrupt(self, *state):
        counted.append(self.is_interrupted)
        if not self.is_interrupted:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(Progress, "count", interrupt)
    with pytest.warns(FitInterruptedWarning):
        model = clone(MODELS[name]).fit(bags, np.arange(30) % 3)
    assert [result.status for result in model.result_] == ["interrupted", "stopped", "stopped"]
    assert counted == [False, True, True]
    assert set(model.predict(bags)) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Bags([[0.0], [1.0]], [0, 1, 1, 2]), [np.ones((1, 1))]), "Bag 1 is empty"),
        (([np.ones((1, 1))], [np.ones((1, 1))], "nearest"), "kind is 'nearest'"),
    ],
)
def test_distances_need_instances_and_a_kind(parts, message):
    with pytest.raises(ValueError, match=message):
        bag_distances(*parts)
    assert bag_distances(Bags(np.empty((0, 1)), [0]), [np.ones((1, 1))]).shape == (0, 1)


def test_constant_columns_have_no_part_in_a_concept(data, bags):
    rows = np.column_stack([data.X, np.full(len(data.X), 0.1)])
    for given in (rows, sp.csr_array(rows)):
        model = clone(MODELS["em-dd"]).fit(bags.with_rows(given), data.bag_y)
        assert model.scales_[0, -1] == 0
        np.testing.assert_allclose(model.scales_[0, :-1], 1 / np.sqrt(data.X.var(axis=0).sum()))


@pytest.mark.parametrize("machine", [BagMarginSVC, InstanceMarginSVC, WellMultiInstanceSVC])
def test_linear_kernels_do_not_mind_where_the_origin_is(machine, data):
    rows = np.round(data.X * 64) / 64  # exact at any offset
    near, far = (Bags.from_ids(X, data.bags) for X in (rows, rows + 1e8))
    models = [machine(kernel="linear", tol=1e-9).fit(bags, data.bag_y) for bags in (near, far)]
    scores = [model.decision_function(bags) for model, bags in zip(models, (near, far), strict=True)]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-200, 1e200, np.float32(1e-25), np.float32(1e30)])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_do_not_mind_the_unit(kind, unit, data):
    """Their squares would leave the range of floats."""
    rows = (data.X * unit).astype(np.asarray(unit).dtype)
    expected = bag_distances(Bags.from_ids(data.X, data.bags), Bags.from_ids(data.X, data.bags), kind)
    found = bag_distances(Bags.from_ids(rows, data.bags), Bags.from_ids(rows, data.bags), kind)
    np.testing.assert_allclose(found / unit, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [DiverseDensityClassifier(), EMDDClassifier()], ids=repr)
def test_concepts_out_of_range(model, data):
    with pytest.raises(ValueError, match=r"X has .*scale the features"):
        model.fit((1e200 * data.X, data.bags), data.bag_y)
    with pytest.raises(ValueError, match="'scale' parameter"):
        clone(model).set_params(scale=1e300).fit((data.X, data.bags), data.bag_y)
