"""The mixture of choices of key instances against brute force and an ordinary machine."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from tests.oracles.labelings import relaxation
from weakly import WellMultiInstanceSVC
from weakly.datasets import make_bags
from weakly.solvers import KernelMachine, solve_box_dual, solve_cutting_plane
from weakly.solvers._label_sets import KeyInstances


def listed(data):
    return [data.X[data.bags == bag] for bag in range(len(data.bag_y))]


@pytest.fixture(scope="module")
def data():
    return make_bags(60, random_state=0)


def tiny(seed, *, n_keys=1, loss="squared_hinge"):
    """Three positive bags of three rows, four negative rows; all choices of key instances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(13, 3))
    X[[0, 3, 6]] += 1.5
    owner = np.r_[np.repeat(np.arange(3), 3), 3:7]
    signs = np.r_[np.ones(3), -np.ones(4)]
    keys = KeyInstances(owner, signs, n_keys)
    machine = KernelMachine(X @ X.T, keys, np.where(signs > 0, 3.0, 0.8), loss, tol=1e-9)
    in_bag = [np.array(c) / n_keys for c in product([0.0, 1.0], repeat=3) if sum(c) == n_keys]
    return machine, np.array([np.r_[a, b, c, -np.ones(4)] for a, b, c in product(in_bag, repeat=3)])


def lines(machine, label):
    """The rows of the supervised problem that a choice makes, by a plain loop."""
    S = np.zeros((7, 13))
    for row, line in enumerate(machine.label_set.owner):
        S[line, row] = label[row]
    return S


@pytest.mark.parametrize("n_keys", [1, 2])
def test_the_kernel_of_choices_is_that_of_their_lines(n_keys):
    machine, labels = tiny(0, n_keys=n_keys)
    some, weights = labels[[0, 7, 20]], np.array([0.5, 0.2, 0.3])
    expected = sum(
        w * lines(machine, y) @ machine.kernel @ lines(machine, y).T
        for w, y in zip(weights, some, strict=True)
    )
    np.testing.assert_allclose(machine.label_set.gram(machine.kernel, some, weights), expected, atol=1e-12)
    dual = np.arange(7.0)
    np.testing.assert_array_equal(
        machine.label_set.coefficients(dual, some), [dual @ lines(machine, y) for y in some]
    )


@pytest.mark.parametrize("n_keys", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_choice_is_the_best_of_all(n_keys, seed):
    machine, labels = tiny(seed, n_keys=n_keys)
    rng = np.random.default_rng(seed)
    dual, scores = rng.uniform(size=7), rng.normal(size=13)
    best = machine.label_set.best(dual, scores)
    gains = labels @ (dual[machine.label_set.owner] * scores)
    np.testing.assert_array_equal(best, labels[gains.argmax()])


@pytest.mark.parametrize("n_keys", [1, 2])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_cutting_planes_reach_the_relaxation_of_all_choices(seed, loss, n_keys):
    machine, labels = tiny(seed, n_keys=n_keys, loss=loss)
    kernels = [lines(machine, y) @ machine.kernel @ lines(machine, y).T for y in labels]
    value, _ = relaxation(kernels, machine.upper, machine.ridge)
    integer = min(
        solve_box_dual(kernel + np.diag(machine.ridge), machine.upper, tol=1e-9, max_iter=100_000).objective[
            -1
        ]
        for kernel in kernels
    )
    found = solve_cutting_plane(machine, labels[-1], oracle="restarts", tol=1e-5, max_labels=40)
    assert value <= integer * (1 + 1e-6)
    assert value * (1 - 1e-6) <= found.objective[-1] <= value * (1 + 1e-3)
    assert (np.diff(found.objective) <= 1e-5 * found.objective[0]).all()


def test_bags_of_one_are_rows_of_an_ordinary_machine():
    # With one instance there is nothing to choose; what is left is a machine without offset.
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    X[y == 1] += 1.0
    model = WellMultiInstanceSVC(
        C=0.7, positive_weight=2.0, center=False, offset=0.0, gamma=0.5, tol=1e-8
    ).fit(X, y)
    signs, costs = 2.0 * y - 1, np.where(y == 1, 1.4, 0.7)
    matrix = np.outer(signs, signs) * rbf_kernel(X, gamma=0.5) + np.diag(1 / costs)
    dual = solve_box_dual(matrix, np.full(30, np.inf), tol=1e-10).x
    new = rng.normal(size=(9, 2))
    expected = rbf_kernel(new, X, gamma=0.5) @ (signs * dual)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-6)
    assert model.result_.detail.labels.shape == (1, 30)


def test_all_forms_of_bags_agree(data):
    reference = WellMultiInstanceSVC(kernel="linear").fit((data.X, data.bags), data.bag_y)
    expected = reference.decision_function((data.X, data.bags))
    bags = listed(data)
    names = np.array([f"bag {number:03d}" for number in range(60)])[data.bags]
    frame = pd.DataFrame(data.X, columns=[f"f{column}" for column in range(data.X.shape[1])])
    for form in (
        bags,
        tuple(bags),
        [sp.csr_array(bag) for bag in bags],
        [bag.tolist() for bag in bags],
        [bag.astype(np.float32) for bag in bags],
        (data.X, names),
        (sp.csr_array(data.X), data.bags),
        (frame, pd.Series(data.bags)),
    ):
        model = WellMultiInstanceSVC(kernel="linear").fit(form, data.bag_y)
        np.testing.assert_allclose(model.decision_function(form), expected, rtol=2e-3, atol=2e-3)
    assert list(model.feature_names_in_) == list(frame.columns)
    order = np.random.default_rng(0).permutation(len(data.X))
    with pytest.raises(ValueError, match="Bag ids are not sorted"):
        model.fit((data.X[order], data.bags[order]), data.bag_y)


def test_several_key_instances(data):
    n_keys = 3
    model = WellMultiInstanceSVC(n_key_instances=n_keys, kernel="linear", early_stopping=False).fit(
        (data.X, data.bags), data.bag_y
    )
    positive = data.bag_y[data.bags] == 1
    chosen = model.result_.detail.labels[:, positive]
    np.testing.assert_allclose(np.unique(chosen), [0, 1 / n_keys])
    sums = np.array([np.bincount(data.bags[positive], weights=label) for label in chosen])
    np.testing.assert_allclose(sums[:, np.unique(data.bags[positive])], 1.0)
    assert (model.result_.detail.labels[:, ~positive] == -1).all()


def test_a_precomputed_kernel_equals_the_kernel(data):
    ids, gram = data.bags, data.X @ data.X.T
    direct = WellMultiInstanceSVC(kernel="linear").fit((data.X, ids), data.bag_y)
    given = WellMultiInstanceSVC(kernel="precomputed").fit((gram, ids), data.bag_y)
    np.testing.assert_allclose(
        given.decision_function((gram, ids)), direct.decision_function((data.X, ids)), atol=1e-8
    )


@pytest.mark.parametrize("center", [False, True])
def test_early_stopping_keeps_the_number_that_is_best_for_held_out_bags(center):
    # Bags are so noisy that further choices of key instances fit the noise.
    noisy = make_bags(40, separation=1.5, random_state=0)
    model = WellMultiInstanceSVC(center=center, tol=1e-4).fit((noisy.X, noisy.bags), noisy.bag_y)
    space = rbf_kernel(noisy.X, gamma=model.kernel_.gamma)
    right = []
    for n_choices in (1, 2, 3):
        n_right = 0
        for fold in range(5):
            # StratifiedKFold without shuffling deals out bags of each class in order
            held_out = np.zeros(40, dtype=bool)
            for label in (0, 1):
                of_class = np.flatnonzero(noisy.bag_y == label)
                held_out[np.array_split(of_class, 5)[fold]] = True
            kept = ~held_out[noisy.bags]
            plain = WellMultiInstanceSVC(
                kernel="precomputed", center=center, tol=1e-4, max_labels=n_choices, early_stopping=False
            )
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                plain.fit((space[np.ix_(kept, kept)], noisy.bags[kept]), noisy.bag_y[~held_out])
            predicted = plain.predict((space[np.ix_(~kept, kept)], noisy.bags[~kept]))
            n_right += np.sum(predicted == noisy.bag_y[held_out])
        right.append(n_right)
    expected = 1 if right[1] <= right[0] else 2 if right[2] <= right[1] else 3
    assert expected < 3  # or more numbers would have to be tried
    assert model.n_iter_ == expected


def test_the_papers_stop_warns_at_the_limit():
    noisy = make_bags(40, separation=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_labels"):
        WellMultiInstanceSVC(early_stopping=False, max_labels=2).fit((noisy.X, noisy.bags), noisy.bag_y)


def test_more_key_instances_than_a_word_can_count():
    data = make_bags(20, random_state=0)
    models = [
        WellMultiInstanceSVC(n_key_instances=n_keys).fit((data.X, data.bags), data.bag_y)
        for n_keys in (len(data.X), 10**25)
    ]
    scores = [model.decision_function((data.X, data.bags)) for model in models]
    np.testing.assert_array_equal(*scores)
