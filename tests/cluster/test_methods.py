"""What all clustering estimators have in common: sizes, numbers of clusters, inputs and messages."""

import pickle
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

import weakly.cluster._alternating
import weakly.cluster._relaxations
from tests import samples
from weakly import (
    CuttingPlaneMaxMarginClustering,
    GeneralizedMaxMarginClustering,
    IterativeSVRClustering,
    KernelKMeans,
    WellClustering,
)
from weakly.exceptions import FitInterruptedWarning

MANY = [WellClustering, KernelKMeans, IterativeSVRClustering]
STARTED = [*MANY, CuttingPlaneMaxMarginClustering]
EVERY = [*STARTED, GeneralizedMaxMarginClustering]
each_method = pytest.mark.parametrize("kind", EVERY)
each_started = pytest.mark.parametrize("kind", STARTED)
each_of_many = pytest.mark.parametrize("kind", MANY)
each_kernel = pytest.mark.parametrize("kernel", ["rbf", "linear"])


def make(kind, **params):
    return kind(**params) if kind is GeneralizedMaxMarginClustering else kind(**{"random_state": 0, **params})


def two_blobs(n_rows=90, distance=6.0, n_features=4, seed=0, share=0.4):
    return samples.two_blobs(n_rows, distance, n_features, seed, share)


def allowed_sizes(n_rows, n_clusters, balance):
    """Sizes near enough to equal ones, and the equal ones rounded."""
    sizes = np.arange(1, n_rows + 1)
    near = np.abs(n_clusters * sizes - n_rows) <= balance * n_rows + 1e-9
    return set(sizes[near].tolist()) | {n_rows // n_clusters, -(-n_rows // n_clusters)}


@each_method
@each_kernel
@pytest.mark.parametrize(("seed", "share"), [(0, 0.5), (1, 0.4), (2, 0.62)])
def test_planted_clusters_are_found(kind, kernel, seed, share):
    X, y = two_blobs(seed=seed, share=share)
    model = make(kind, kernel=kernel).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_predict(X), model.labels_)
    new, y_new = two_blobs(seed=seed + 10, share=share)
    assert adjusted_rand_score(y_new, model.predict(new)) > 0.85
    decisions = model.decision_function(new)
    assert decisions.shape == (90,)
    np.testing.assert_array_equal(decisions > 0, model.predict(new) == 1)
    assert model.n_iter_ >= 1


@pytest.mark.parametrize(
    ("kind", "init"),
    [
        *((kind, init) for kind in STARTED if kind is not KernelKMeans for init in ("alignment", "kmeans")),
        (KernelKMeans, "random"),
        (KernelKMeans, "alignment"),
    ],
)
@pytest.mark.parametrize("approximation", [None, "nystroem", "fourier"])
def test_every_start_and_approximation(kind, init, approximation):
    X, y = two_blobs(distance=7.0)
    features = {"approximation": approximation, "n_components": 80 if approximation == "fourier" else 20}
    model = make(kind, init=init, **features).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@each_method
@settings(max_examples=25, deadline=None)
@given(
    n_rows=st.integers(2, 15),
    n_clusters=st.integers(2, 4),
    balance=st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.5, 0.99]),
    kernel=st.sampled_from(["rbf", "linear"]),
    seed=st.integers(0, 1000),
)
def test_sizes_keep_to_the_balance(kind, n_rows, n_clusters, balance, kernel, seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(n_rows, 2)).astype(float)  # with equal rows
    n_clusters = min(n_clusters, n_rows) if kind in MANY else 2
    params = {"n_clusters": n_clusters} if kind in MANY else {}
    if kind is GeneralizedMaxMarginClustering:
        assume(np.ptp(X, axis=0).any())
    model = make(kind, balance=balance, kernel=kernel, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    sizes = np.bincount(model.labels_, minlength=n_clusters)
    assert set(sizes.tolist()) <= allowed_sizes(n_rows, n_clusters, balance)
    np.testing.assert_allclose(model.shares_, sizes / n_rows)
    firsts = [model.labels_.tolist().index(c) for c in range(n_clusters)]
    assert firsts == sorted(firsts)
    assert model.free_shares_.sum() == pytest.approx(1.0)
    differs = model.predict(X) != model.labels_  # only where rows are between two clusters
    decisions = model.decision_function(X)
    if n_clusters == 2:
        np.testing.assert_allclose(decisions[differs], 0.0, atol=1e-9)
        assert np.ndim(model.threshold_) == 0
    else:
        own = decisions[np.arange(n_rows), model.labels_]
        np.testing.assert_allclose(own, decisions.max(axis=1), atol=1e-9)
        assert model.threshold_.shape == (n_clusters,)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 15), st.integers(2, 5), st.sampled_from(["k-means++", "random"]), st.integers(0, 1000))
def test_free_means_have_no_empty_cluster(n_rows, n_clusters, init, seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(n_rows, 2)).astype(float)
    n_clusters = min(n_clusters, n_rows)
    model = KernelKMeans(n_clusters, init=init, random_state=seed).fit(X)
    assert np.bincount(model.labels_, minlength=n_clusters).min() >= 1
    inertia = 0.0
    for c in range(n_clusters):
        gram = rbf_kernel(X[model.labels_ == c], gamma=model.kernel_.gamma)
        inertia += np.trace(gram) - gram.sum() / len(gram)
    assert model.inertia_ == pytest.approx(inertia, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(6, 25),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from(["k-means++", "random", "alignment"]),
    st.integers(0, 1000),
)
def test_the_inertia_of_bounded_means_is_that_of_the_labels(n_rows, n_clusters, balance, init, seed):
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    params = {"balance": balance, "init": init, "kernel": "linear", "tol": 1e-12, "random_state": seed}
    model = KernelKMeans(n_clusters, **params).fit(X)
    groups = [X[model.labels_ == c] for c in range(n_clusters)]
    assert model.inertia_ == pytest.approx(sum(len(rows) * rows.var(axis=0).sum() for rows in groups))
    assert model.inertia_ == pytest.approx(model.result_.detail.start_energies.min())
    assert (np.diff(model.result_.objective) <= 1e-9).all()


def test_unbounded_sizes_follow_the_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(90, 2)), rng.normal(size=(10, 2)) + 8.0])
    free = KernelKMeans(random_state=0).fit(X)
    assert free.shares_.tolist() == [0.9, 0.1]
    assert free.threshold_ == 0.0
    bound = KernelKMeans(balance=0.2, random_state=0).fit(X)
    assert bound.shares_.min() == pytest.approx(0.4)
    np.testing.assert_array_equal(bound.predict(X), bound.labels_)


@each_method
def test_the_threshold_makes_up_for_what_the_scores_lack(kind):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(20, 2)) + 6.0])
    even = make(kind, balance=0.0).fit(X)
    assert even.shares_.tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(even.predict(X), even.labels_)
    sizes = np.bincount((even.decision_function(X) + even.threshold_ > 0).astype(int), minlength=2)
    np.testing.assert_allclose(sorted(sizes / 80), sorted(even.free_shares_))
    loose = make(kind, balance=0.9).fit(X)
    assert loose.threshold_ == 0.0
    np.testing.assert_allclose(loose.free_shares_, loose.shares_)


@each_method
@each_kernel
def test_containers_and_types(kind, kernel):
    X, _ = two_blobs()
    model = make(kind, kernel=kernel)
    labels = model.fit(X).labels_
    for container in (sp.csr_matrix, sp.csr_array, sp.csc_array, sp.csc_matrix):
        np.testing.assert_array_equal(model.fit(container(X)).labels_, labels)
        np.testing.assert_array_equal(model.predict(container(X)), labels)
    np.testing.assert_array_equal(model.fit(X.tolist()).predict(X.tolist()), labels)
    np.testing.assert_array_equal(model.fit(np.asfortranarray(X)).labels_, labels)
    assert model.decision_function(X).dtype == np.float64
    frame = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_array_equal(model.fit(frame).predict(frame), labels)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(model.fit(narrow).labels_, labels)
    assert model.decision_function(narrow).dtype == np.float32
    np.testing.assert_array_equal(model.predict(narrow), labels)


@each_of_many
def test_types_of_many_clusters(kind):
    X, y = two_blobs(distance=8.0)
    X[y == 1, 1] += np.where(np.arange(y.sum()) % 2, 8.0, 0.0)
    model = make(kind, n_clusters=3, balance=0.5)
    labels = model.fit(X).labels_
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(model.fit(narrow).labels_, labels)
    decisions = model.decision_function(narrow)
    assert (decisions.dtype, decisions.shape) == (np.float32, (90, 3))
    np.testing.assert_array_equal(decisions.argmax(axis=1), labels)


@pytest.mark.parametrize(
    ("kind", "n_clusters"), [*((kind, 2) for kind in STARTED), *((kind, 3) for kind in MANY)]
)
def test_sparse_rows_never_become_dense(kind, n_clusters, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(300) % n_clusters
    topic = np.arange(3000) * n_clusters // 3000
    X = sp.csr_array(rng.poisson(np.where(topic == y[:, None], 0.03, 0.002)).astype(float))

    def watched(densify):
        def as_dense(array, *args, **kwargs):
            assert np.prod(array.shape) < np.prod(X.shape) / 20  # vectors and means may
            return densify(array, *args, **kwargs)

        return as_dense

    for container in (sp.csr_array, sp.csr_matrix, sp.csc_array):  # todense calls the same
        monkeypatch.setattr(container, "toarray", watched(container.toarray))
    params = {"n_clusters": n_clusters} if kind in MANY else {}
    model = make(kind, kernel="linear", **params).fit(X)
    assert adjusted_rand_score(y, model.predict(X)) > 0.9


@each_method
def test_same_result_again_and_after_pickling(kind, capsys):
    X, _ = two_blobs(distance=2.5)
    for init in ("alignment", None):
        if init and kind not in STARTED:
            continue
        model = make(kind, **({"init": init} if init else {})).fit(X)
        scores = model.decision_function(X)
        np.testing.assert_array_equal(clone(model).fit(X).decision_function(X), scores)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), scores)
    assert capsys.readouterr() == ("", "")
    make(kind, verbose=1).fit(X)
    assert f"[{kind.__name__}] clusters: " in capsys.readouterr().err


@each_started
def test_a_generator_draws_as_a_seed_does(kind):
    X, _ = two_blobs(40, distance=1.0)
    for params in ({"init": "alignment", "n_init": 3}, {"approximation": "nystroem", "n_components": 10}):
        seeded = make(kind, random_state=4, **params).fit(X)
        again = make(kind, random_state=4, **params).fit(X)
        np.testing.assert_array_equal(seeded.decision_function(X), again.decision_function(X))
    drawn = [make(kind, init="alignment", n_init=1, random_state=np.random.RandomState(4)) for _ in range(2)]
    first, second = (model.fit(X).labels_ for model in drawn)
    np.testing.assert_array_equal(first, second)


@each_of_many
@each_kernel
def test_one_cluster_and_as_many_as_rows(kind, kernel):
    X = np.random.default_rng(0).normal(size=(6, 2))
    one = make(kind, n_clusters=1, kernel=kernel).fit(X)
    assert one.labels_.tolist() == one.predict(X).tolist() == [0] * 6
    assert one.shares_.tolist() == one.free_shares_.tolist() == [1.0]
    assert one.decision_function(X).shape == (6,)
    each = make(kind, n_clusters=6, kernel=kernel).fit(X)
    assert each.labels_.tolist() == list(range(6))
    assert each.decision_function(X).shape == (6, 6)
    with pytest.raises(ValueError, match=r"n_clusters=7 but X has n_samples=6: .* ask for fewer"):
        make(kind, n_clusters=7, kernel=kernel).fit(X)


@each_kernel
def test_the_inertia_of_one_cluster_is_the_spread(kernel):
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = KernelKMeans(1, kernel=kernel).fit(X)
    gram = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=model.kernel_.gamma)
    assert model.inertia_ == pytest.approx(np.trace(gram) - gram.sum() / 6)


@each_method
@each_kernel
def test_small_inputs(kind, kernel):
    pair = make(kind, kernel=kernel).fit([[0.0], [3.0]])
    assert pair.labels_.tolist() == [0, 1]
    assert pair.predict([[0.5], [2.5]]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        make(kind, kernel=kernel).fit([[1.0, 2.0]])


@each_started
@each_kernel
def test_rows_that_are_all_the_same(kind, kernel):
    same = make(kind, kernel=kernel, balance=0.3).fit(np.ones((7, 2)))
    assert sorted(np.bincount(same.labels_)) == [3, 4]
    np.testing.assert_allclose(same.decision_function(np.ones((3, 2))), 0.0, atol=1e-9)


@each_kernel
def test_a_program_needs_rows_that_differ(kernel):
    with pytest.raises(ValueError, match="All samples are the same to the kernel"):
        GeneralizedMaxMarginClustering(kernel=kernel).fit(np.ones((7, 2)))


@each_started
@pytest.mark.parametrize(
    ("init", "found"),
    [
        ([0, 1], "X has 4 rows, and init is an array of shape \\(2,\\)"),
        ([1, 1, 1, 1], "with the values \\[1\\]"),
        ([0, 1, 2, 1], "with the values \\[0, 1, 2\\]"),
        ([[0, 1], [1, 0]], "of shape \\(2, 2\\)"),
        (["a", "b", "a", "b"], "of type <U1"),
    ],
)
def test_errors_about_given_labels(kind, init, found):
    names = "'k-means\\+\\+', " if kind is KernelKMeans else "'spectral', "
    with pytest.raises(ValueError, match=f"init must be {names}.* 0 and 1 or -1 and 1 .*{found}"):
        make(kind, init=init).fit(np.eye(4))


@each_of_many
@pytest.mark.parametrize("init", [[0, 1, 0, 1], [1, 2, 3, 1], [-1, 0, 1, 0]])
def test_errors_about_many_given_labels(kind, init):
    with pytest.raises(ValueError, match="from 0 to 2 with all of them present"):
        make(kind, n_clusters=3, init=init).fit(np.eye(4))


@each_started
def test_given_labels_keep_their_numbers(kind):
    X, y = two_blobs(distance=5.0)
    params = {"tol": 1e-8} if kind is IterativeSVRClustering else {}  # whose passes go by the signs
    model = make(kind, init=y, **params).fit(X)
    assert np.mean(model.labels_ == y) > 0.95
    mirrored = make(kind, init=1 - y, **params).fit(X)
    np.testing.assert_array_equal(mirrored.labels_, 1 - model.labels_)
    np.testing.assert_allclose(mirrored.decision_function(X), -model.decision_function(X), atol=1e-4)
    for same in ((2 * y - 1).tolist(), y == 1, y.astype(float)):
        np.testing.assert_array_equal(make(kind, init=same, **params).fit(X).labels_, model.labels_)


@each_of_many
def test_many_given_labels_keep_their_numbers(kind):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % 3)
    X = rng.normal(size=(60, 3)) + 7 * np.eye(3)[y]
    for names in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        codes = np.array(names)[y]
        model = make(kind, n_clusters=3, init=codes).fit(X)
        assert np.mean(model.labels_ == codes) > 0.95
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@each_started
def test_a_start_out_of_bounds_is_brought_within(kind):
    X, _ = two_blobs(20, distance=1.0)
    start = np.zeros(20, dtype=int)
    start[[3, 5]] = 1
    model = make(kind, init=start, balance=0.1).fit(X)
    assert 9 <= model.labels_.sum() <= 11


@each_method
def test_the_order_of_rows_does_not_matter(kind):
    X, y = two_blobs(distance=4.0)
    order = np.random.default_rng(0).permutation(len(X))
    if kind is GeneralizedMaxMarginClustering:
        one, other = make(kind).fit(X), make(kind).fit(X[order])
        assert adjusted_rand_score(one.labels_[order], other.labels_) == 1.0
        return
    start = np.where(np.arange(len(y)) % 6 == 0, 1 - y, y)
    one, other = make(kind, init=start).fit(X), make(kind, init=start[order]).fit(X[order])
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


@each_method
@each_kernel
def test_the_place_of_rows_does_not_matter(kind, kernel):
    X, _ = two_blobs(distance=5.0)
    labels = make(kind, kernel=kernel).fit(X).labels_
    np.testing.assert_array_equal(make(kind, kernel=kernel).fit(X + 100.0).labels_, labels)


@each_method
def test_a_given_kernel_is_the_same_as_its_own(kind):
    X, _ = two_blobs(distance=3.0)
    new, _ = two_blobs(30, 3.0, seed=7)
    own = make(kind, gamma=0.1).fit(X)
    given_one = make(kind, kernel="precomputed").fit(rbf_kernel(X, gamma=0.1))
    named = make(kind, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1)).fit(X)
    np.testing.assert_array_equal(own.labels_, given_one.labels_)
    expected = own.decision_function(new)
    np.testing.assert_allclose(
        given_one.decision_function(rbf_kernel(new, X, gamma=0.1)), expected, atol=1e-6
    )
    np.testing.assert_allclose(named.decision_function(new), expected, atol=1e-6)


@each_method
def test_the_limit_of_memory(kind, monkeypatch):
    X, y = two_blobs()
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "60KB")  # one Gram matrix has 63 KB
    if kind is GeneralizedMaxMarginClustering:
        with pytest.raises(MemoryError, match=r"program on 90 rows .* cluster a sample of the rows"):
            kind().fit(X)
        return
    with pytest.raises(MemoryError, match="set approximation='nystroem'"):
        make(kind, approximation=None).fit(X)
    assert adjusted_rand_score(y, make(kind, n_components=15).fit(X).labels_) > 0.85


@each_method
def test_a_fit_that_was_cut_short_says_so(kind):
    X, _ = two_blobs(distance=1.5)
    params = {}
    if kind is not GeneralizedMaxMarginClustering:
        params["init"] = np.arange(len(X)) % 2
    if kind is WellClustering:
        params |= {"n_clusters": 3, "init": np.arange(len(X)) % 3}
    message = f"{kind.__name__} stopped after 1 rounds while clusters still changed: raise max_iter or tol"
    if kind is GeneralizedMaxMarginClustering:
        message = (
            f"{kind.__name__} stopped after 1 steps at a gap of .*: scale columns, raise max_iter or tol"
        )
    with pytest.warns(ConvergenceWarning, match=message):
        model = make(kind, max_iter=1, tol=1e-9, **params).fit(X)
    assert model.result_.status == "max_iter"
    assert model.n_iter_ == 1


@each_method
@pytest.mark.parametrize("params", [{"balance": 1.0}, {"balance": -0.1}, {"max_iter": 0}, {"tol": 0.0}])
def test_errors_about_parameters(kind, params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
        make(kind, **params).fit(np.eye(4))


@each_started
@pytest.mark.parametrize("params", [{"init": "best"}, {"n_init": 0}])
def test_errors_about_starts(kind, params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
        make(kind, **params).fit(np.eye(4))


@each_method
def test_a_fit_that_just_came_to_its_end_does_not_complain(kind):
    X, _ = two_blobs(distance=2.0)
    model = make(kind).fit(X)
    if kind is not WellClustering:  # whose most splits are another parameter
        again = make(kind, max_iter=model.n_iter_).fit(X)
        assert again.result_.status == "converged"
        np.testing.assert_array_equal(again.labels_, model.labels_)


@each_method
def test_results_have_the_numbers_of_the_labels(kind):
    for seed in range(4):  # clusters keep or change their numbers
        X, _ = two_blobs(seed=seed)
        model = make(kind).fit(X)
        found = model.result_.detail.labels[0]
        codes = found if found.dtype.kind == "i" else (found > 0).astype(int)
        np.testing.assert_array_equal(codes, model.labels_)


@each_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_from_zero(kind, dtype):
    X, y = two_blobs()
    far = (X + (1e7 if dtype == np.float64 else 1e4)).astype(dtype)
    model = make(kind, kernel="linear").fit(far)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(far), model.labels_)


def test_the_inertia_is_that_of_the_labels():
    X, _ = two_blobs(distance=1.0)
    for params in ({"tol": 0.1}, {"tol": 0.1, "balance": 0.1}, {"tol": 1e-5, "max_iter": 2}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KernelKMeans(3, kernel="linear", random_state=0, **params).fit(X)
        means = np.array([X[model.result_.detail.labels[0] == code].mean(axis=0) for code in range(3)])
        assert model.inertia_ == pytest.approx(np.sum((X - means[model.labels_]) ** 2))


def test_the_program_keeps_to_the_memory_it_asks_for():
    X, _ = two_blobs(300)
    GeneralizedMaxMarginClustering().fit(X)
    tracemalloc.start()
    GeneralizedMaxMarginClustering().fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= weakly.cluster._relaxations._N_GRAMS * 8 * 300**2


@pytest.mark.parametrize("kind", [WellClustering, IterativeSVRClustering])
def test_one_interrupt_ends_all_parts(kind, monkeypatch):
    X, _ = two_blobs(distance=1.0)
    module = weakly.cluster._relaxations if kind is WellClustering else weakly.cluster._alternating
    name = "solve_joint_margin" if kind is WellClustering else "solve_iterative_svr"
    solve, rounds = getattr(module, name), []

    def interrupted(*args, callback, **kwargs):
        result = solve(*args, callback=callback, **kwargs)
        rounds.append(result.n_iter)
        return replace(result, status="interrupted")  # what a solver says after an interrupt

    monkeypatch.setattr(module, name, interrupted)
    with pytest.warns(FitInterruptedWarning):
        model = make(kind, n_clusters=4).fit(X)
    assert model.result_.status == "interrupted"
    assert rounds[-1] == 1  # what came after ended at its first round


def test_problems_that_cannot_be_solved_are_warned_of():
    X = np.random.default_rng(0).normal(size=(150, 6)) * [1, 1, 1, 1e4, 1e4, 1e4]
    with pytest.warns(ConvergenceWarning, match="could not solve .* scale the columns or lower C"):
        WellClustering(3, kernel="linear", C=100.0, random_state=0).fit(X)


def test_means_of_sparse_samples_are_those_of_dense_ones():
    X = np.random.default_rng(0).normal(size=(90, 4)) + 5 * np.eye(4)[np.arange(90) % 3]
    dense, sparse = (
        KernelKMeans(3, kernel="linear", random_state=0).fit(rows) for rows in (X, sp.csr_array(X))
    )
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-8
    )
