"""Diverse density against loops over the formula, finite differences and a general minimiser."""

from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, rosen, rosen_der

from weakly.datasets import make_bags
from weakly.multi_instance import _diverse_density_solver as module
from weakly.multi_instance._diverse_density_solver import solve_diverse_density
from weakly.multi_instance._many_starts import minimize_many

CAUSES = ["any", "one"]
FORMS = {"dense": np.asarray, "csr": sp.csr_array}


def make_problem(seed=0, *, form="dense", n_bags=8, n_features=3, spread=1.0):
    """Bags that overlap, so that no concept is perfect; bags of one are among them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n_bags)
    is_positive = rng.permutation(np.arange(n_bags) % 2 == 0)
    rows = spread * rng.normal(size=(sizes.sum(), n_features))
    bag_of = np.repeat(np.arange(n_bags), sizes)
    rows[np.cumsum(sizes)[is_positive] - 1] += 1.5 * spread
    return SimpleNamespace(
        plain=rows,
        rows=FORMS[form](rows),
        bag_of=bag_of,
        is_positive=is_positive,
        starts=rows[is_positive[bag_of]] + 0.1 * rng.normal(size=n_features),
        scales=rng.uniform(0.3, 1.0, size=n_features),
    )


def solve(problem, **options):
    parts = problem.rows, problem.bag_of, problem.is_positive, problem.starts, problem.scales
    return solve_diverse_density(*parts, **options)


def loop_energy(problem, point, scales, cause):
    """The formula, in decimal numbers, of which none is too small."""
    energy = Decimal(0)
    for bag, is_positive in enumerate(problem.is_positive):
        p = []
        for row in problem.plain[problem.bag_of == bag]:
            parts = zip(scales, row, point, strict=True)
            parts = [Decimal(float(s)) * (Decimal(float(x)) - Decimal(float(t))) for s, x, t in parts]
            p.append((-sum(part * part for part in parts)).exp())
        some, none = Decimal(0), Decimal(1)
        for q in [max(p)] if cause == "one" else p:
            some, none = some + q * none, none * (1 - q)
        energy -= some.ln() if is_positive else none.ln()
    return float(energy)


def plain_energy(concept, problem, rows=None):
    """The formula in floating point, by any instance of bags or, if they are given, by one row of each."""
    point, scales = np.split(concept, 2)
    p = np.exp(-((scales * (problem.plain - point)) ** 2).sum(axis=1))
    energy = 0.0
    for bag, is_positive in enumerate(problem.is_positive):
        none = np.prod(1 - p[problem.bag_of == bag]) if rows is None else 1 - p[rows[bag]]
        energy -= np.log(max(1 - none if is_positive else none, 1e-300))
    return energy


def likely_rows(concept, problem):
    point, scales = np.split(concept, 2)
    distances = ((scales * (problem.plain - point)) ** 2).sum(axis=1)
    bags = [np.flatnonzero(problem.bag_of == bag) for bag in range(len(problem.is_positive))]
    return [rows[distances[rows].argmin()] for rows in bags]


def minimize_plainly(concept, problem, cause):
    """By a general minimiser; for "one" in turn with the choice of rows."""
    if cause == "any":
        return minimize(plain_energy, concept, args=(problem,), method="L-BFGS-B").fun
    energies = [plain_energy(concept, problem, likely_rows(concept, problem))]
    while len(energies) < 2 or energies[-1] < (1 - 1e-6) * energies[-2]:
        rows = likely_rows(concept, problem)
        concept = minimize(plain_energy, concept, args=(problem, rows), method="L-BFGS-B").x
        energies.append(plain_energy(concept, problem, likely_rows(concept, problem)))
    return min(energies)


def energy_of(problem, cause, fit_scales):
    """The energy that is minimised, its first parameters, and the concepts that parameters stand for."""
    bags = module._Bags.of(problem.rows, problem.bag_of, problem.is_positive, problem.scales)
    parameters = bags.parameters(problem.starts, fit_scales)
    if cause == "one":
        energy = module._ChosenEnergy(bags, module._choose(bags, parameters)[0])
    else:
        energy = partial(module._assess, bags.terms, lambda distances, _: module._by_any(bags, distances))
    return energy, parameters, bags.concepts


def assert_gradients(problem, cause, fit_scales, step=1e-5):
    """Gradients are those of the loop at the concepts."""
    energy, parameters, concepts = energy_of(problem, cause, fit_scales)
    gradients = energy(parameters, np.arange(len(parameters)))[1]

    def loop(point):
        return loop_energy(problem, *concepts(point[None])[0], cause)

    for point, gradient in zip(parameters, gradients, strict=True):
        shifts = step * np.eye(len(point))
        slopes = np.array([(loop(point + shift) - loop(point - shift)) / (2 * step) for shift in shifts])
        assert np.abs(slopes).max() > 1e-3
        np.testing.assert_allclose(gradient, slopes, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("spread", [1.0, 25.0, 100.0])
def test_energies_are_those_of_the_formula(cause, form, spread):
    problem = make_problem(form=form, spread=spread)
    expected = np.array([loop_energy(problem, start, problem.scales, cause) for start in problem.starts])
    order = np.argsort(expected)
    result = solve(problem, cause=cause, max_iter=0)
    np.testing.assert_allclose(result.detail.start_energies, expected[order], rtol=1e-9)
    np.testing.assert_allclose(result.x[:, 0], problem.starts[order], rtol=1e-10)
    np.testing.assert_allclose(result.x[:, 1], np.tile(problem.scales, (len(order), 1)), rtol=1e-12)
    assert (result.n_iter, result.status) == (0, "max_iter")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_scales", [True, False])
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("spread", [1.0, 30.0])  # squared distances of 1 and of 1000
def test_gradients(cause, fit_scales, form, spread):
    problem = make_problem(form=form, n_bags=6, spread=spread)
    problem.starts = problem.starts[:3] + (3 * spread if spread > 1 else 0.0)
    if spread > 1:
        nearest = (problem.scales * (problem.plain[:, None] - problem.starts)) ** 2
        assert nearest.sum(axis=2).min() > 500
    assert_gradients(problem, cause, fit_scales)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_scales", [True, False])
@pytest.mark.parametrize("cause", CAUSES)
def test_starts_on_instances_of_negative_bags(cause, fit_scales, form):
    problem = make_problem(form=form)
    problem.starts = problem.plain[~problem.is_positive[problem.bag_of]][:2].copy()
    assert_gradients(problem, cause, fit_scales, step=1e-4)
    begin, end = solve(problem, cause=cause, fit_scales=fit_scales, max_iter=0), solve(problem, cause=cause)
    assert begin.detail.start_energies.min() > 10  # - log 1e-6 is 13.8
    assert np.isfinite(begin.detail.start_energies).all()
    assert end.detail.start_energies.max() < begin.detail.start_energies.min() - 5  # they all get away


@pytest.mark.parametrize("cause", CAUSES)
def test_energies_as_low_as_those_of_a_general_minimiser(cause):
    is_good = []
    for seed in range(5):
        problem = make_problem(seed, n_bags=16, n_features=2)
        theirs, ours = [], []
        for start in problem.starts[:8]:
            theirs.append(minimize_plainly(np.concatenate([start, problem.scales]), problem, cause))
            problem.starts = start[None]
            ours.append(solve(problem, cause=cause, tol=1e-6).objective[-1])
        is_good.extend(np.array(ours) <= 1.001 * np.array(theirs))
        assert min(ours) <= 1.001 * min(theirs)
    assert np.mean(is_good) >= {"any": 0.95, "one": 0.8}[cause]  # the others found other minima


@pytest.mark.parametrize("fit_scales", [True, False])
@pytest.mark.parametrize("cause", CAUSES)
def test_the_best_concept_is_a_minimum_of_the_formula(cause, fit_scales):
    problem = make_problem(3, n_bags=20, n_features=2)
    result = solve(problem, cause=cause, fit_scales=fit_scales, tol=1e-7, max_iter=1000)
    for concept, energy in zip(result.x, result.detail.start_energies, strict=True):
        assert loop_energy(problem, *concept, cause) == pytest.approx(energy, rel=1e-6)
    assert (np.diff(result.detail.start_energies) >= 0).all()
    assert result.objective[-1] == result.detail.start_energies[0] < result.objective[0]
    if fit_scales:
        return
    np.testing.assert_allclose(result.x[:, 1], np.tile(problem.scales, (len(problem.starts), 1)), rtol=1e-14)
    rng = np.random.default_rng(0)
    for step in rng.normal(scale=1e-2, size=(20, 2)):
        near = loop_energy(problem, result.x[0, 0] + step, result.x[0, 1], cause)
        assert near >= result.objective[-1] * (1 - 1e-9)


def test_choosing_instances_never_raises_the_energy(monkeypatch):
    recorded = []
    choose = module._choose

    def record(*parts):
        chosen, values = choose(*parts)
        recorded.append(values[0])
        return chosen, values

    monkeypatch.setattr(module, "_choose", record)
    n_rounds = 0
    for seed in range(4):
        problem = make_problem(seed, n_bags=16)
        for start in problem.starts[:6]:
            problem.starts = start[None]
            recorded.clear()
            result = solve(problem, cause="one")
            energies = np.array(recorded[2:])  # the two before are those of the beginning alone
            assert result.detail.start_energies[0] == energies.min()
            assert (np.diff(energies[:-1]) < 0).all()  # only the last may have failed
            n_rounds += len(energies)
    assert n_rounds > 3 * 24


@pytest.mark.parametrize("fit_scales", [True, False])
@pytest.mark.parametrize("cause", CAUSES)
def test_a_planted_concept_is_found(cause, fit_scales):
    data = make_bags(60, random_state=0)
    is_positive = data.bag_y == 1
    starts = data.X[np.isin(data.bags, np.flatnonzero(is_positive)[:3])]
    scales = np.full(10, 10**-0.5)
    parts = data.X, data.bags, is_positive, starts, scales
    result = solve_diverse_density(*parts, cause=cause, fit_scales=fit_scales)
    point, scales = result.x[0]
    distances = ((scales * (data.X - point)) ** 2).sum(axis=1)
    nearest = [rows[distances[rows].argmin()] for rows in (np.flatnonzero(data.bags == b) for b in range(60))]
    assert (np.array(nearest)[is_positive] == data.key_instances).mean() >= 0.95
    if not fit_scales:
        assert np.linalg.norm(point - data.X[data.key_instances].mean(axis=0)) < 1.0


@pytest.mark.parametrize("cause", CAUSES)
def test_forms_and_blocks_make_no_difference(cause, monkeypatch):
    problem = make_problem(5, n_bags=12)
    problem.plain = problem.rows = problem.rows.astype(np.float32)
    expected = solve(
        SimpleNamespace(**vars(problem) | {"rows": problem.rows.astype(np.float64)}), cause=cause
    )
    cases = {"float32": problem.rows, "csr": sp.csr_array(problem.rows), "blocks": problem.rows}
    for name, rows in cases.items():
        if name == "blocks":
            monkeypatch.setattr(module, "_BLOCK_BYTES", 3000)
            monkeypatch.setattr(module, "_CHUNK", 2)
        problem.rows = rows
        result = solve(problem, cause=cause)
        assert result.x.dtype == np.float64
        np.testing.assert_allclose(result.objective, expected.objective, rtol=1e-4)
        if name == "float32":
            np.testing.assert_array_equal(result.detail.start_energies, expected.detail.start_energies)


@pytest.mark.parametrize("cause", CAUSES)
def test_bags_of_one_kind(cause):
    problem = make_problem(n_bags=4)
    for is_positive in (True, False):
        problem.is_positive = np.full(4, is_positive)
        result = solve(problem, cause=cause)
        assert result.objective[-1] < 1e-2  # a concept that is everywhere, or nowhere


@pytest.mark.parametrize("cause", CAUSES)
def test_a_callback_sees_energies_and_stops(cause, monkeypatch):
    problem, seen = make_problem(), []
    result = solve(problem, cause=cause, callback=seen.append, max_iter=5)
    assert (len(seen), result.n_iter, result.status) == (5, 5, "max_iter")
    assert (np.diff(seen) < 0).all()
    monkeypatch.setattr(module, "_BLOCK_BYTES", 3000)
    n_calls = []
    result = solve(problem, cause=cause, callback=lambda energy: len(n_calls) == 3 or n_calls.append(energy))
    assert (len(n_calls), result.n_iter, result.status) == (3, 4, "stopped")


def test_features_without_scale_have_no_part():
    problem = make_problem(n_features=2)
    expected = solve(problem)
    problem.rows = np.column_stack([problem.rows, np.arange(len(problem.rows))])
    problem.starts = np.column_stack([problem.starts, np.zeros(len(problem.starts))])
    problem.scales = np.append(problem.scales, 0.0)
    result = solve(problem)
    np.testing.assert_allclose(result.objective, expected.objective, rtol=1e-3)
    np.testing.assert_array_equal(result.x[:, 1, 2], 0.0)


def test_parabolas_of_their_own_from_many_starts():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(30, 6, 6))
    matrices, sides = roots @ roots.transpose(0, 2, 1) + np.eye(6), rng.normal(size=(30, 6))
    sizes = []

    def parabolas(points, which):
        sizes.append(len(which))
        products = np.einsum("kij,kj->ki", matrices[which], points)
        return (points * (products / 2 - sides[which])).sum(axis=1), products - sides[which]

    result = minimize_many(parabolas, rng.normal(size=(30, 6)), tol=1e-7, max_iter=200)
    np.testing.assert_allclose(result.points, np.linalg.solve(matrices, sides[..., None])[..., 0], atol=1e-6)
    assert result.converged.all()
    assert not result.stopped
    assert (result.criteria <= 1e-7).all()
    assert sizes[-1] < 30  # those that are there have left
    assert result.n_iter.min() < result.n_iter.max() < 60


def test_the_valley_of_rosenbrock():
    starts = np.random.default_rng(1).uniform(-2, 2, size=(12, 2))

    def function(points, which):
        return np.array([rosen(point) for point in points]), np.array([rosen_der(point) for point in points])

    result = minimize_many(function, starts, tol=1e-8, max_iter=300)
    np.testing.assert_allclose(result.points, 1.0, atol=1e-6)
    assert result.converged.all()
    limits = np.arange(12)
    short = minimize_many(function, starts, tol=1e-8, max_iter=limits)
    np.testing.assert_array_equal(short.n_iter, limits)
    np.testing.assert_array_equal(short.points[0], starts[0])
    assert not short.converged.any()
    again = minimize_many(function, starts[5:6], tol=1e-8, max_iter=5)  # starts do not know of each other
    np.testing.assert_allclose(again.points[0], short.points[5], rtol=1e-9)


def test_points_without_a_value_are_not_taken():
    def logarithms(points, which):
        with np.errstate(invalid="ignore", divide="ignore"):
            return (points - np.log(points)).sum(axis=1), 1 - 1 / points

    result = minimize_many(logarithms, np.array([[5.0, 1e-3], [0.1, 40.0]]), tol=1e-8, max_iter=100)
    np.testing.assert_allclose(result.points, 1.0, atol=1e-6)


def test_what_cannot_fall_is_stuck():
    result = minimize_many(
        lambda p, which: (np.abs(p).sum(axis=1), np.sign(p) + 0.5), np.zeros((2, 1)), tol=1e-8, max_iter=9
    )
    assert not result.converged.any()
    assert (result.n_iter == 1).all()
