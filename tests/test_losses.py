import numpy as np
import pytest

from weakly.losses import LOSSES, resolve_loss

F = np.linspace(-3, 3, 61)
FORMULAS = {
    "squared": lambda y, f: 0.5 * (y - f) ** 2,
    "squared_hinge": lambda y, f: 0.5 * (1 - y * f) ** 2 if y * f < 1 else 0.0,
    "hinge": lambda y, f: 1 - y * f if y * f < 1 else 0.0,
    "logistic": lambda y, f: np.log1p(np.exp(-y * f)),
    "exponential": lambda y, f: np.exp(-y * f),
}


def test_every_loss_has_a_formula_here():
    assert set(LOSSES) == set(FORMULAS)
    assert all(name == loss.name for name, loss in LOSSES.items())


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_value_follows_the_formula(name, y):
    expected = [FORMULAS[name](y, f) for f in F]
    np.testing.assert_allclose(LOSSES[name].value(np.full_like(F, y), F), expected, atol=1e-15)


def test_curvature_of_the_squared_hinge_is_that_of_the_parabola_inside_the_margin():
    np.testing.assert_array_equal(LOSSES["squared_hinge"].curvature(np.ones_like(F), F), F < 1)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_slopes_and_curvatures_are_derivatives(name, y):
    loss, step = LOSSES[name], 1e-6
    points = F[np.abs(y * F - 1) > 0.01]  # off the kink of the hinge
    targets = np.full_like(points, y)
    slopes = (loss.value(targets, points + step) - loss.value(targets, points - step)) / (2 * step)
    np.testing.assert_allclose(loss.slope(targets, points), slopes, atol=1e-8)
    if loss.is_smooth:
        slopes = (loss.slope(targets, points + step) - loss.slope(targets, points - step)) / (2 * step)
        np.testing.assert_allclose(loss.curvature(targets, points), slopes, atol=1e-7)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_loss_at_targets_is_the_weighted_sum(name):
    rng = np.random.default_rng(0)
    loss, y, w, offsets = LOSSES[name], np.sign(F - 0.05), rng.uniform(size=F.shape), rng.normal(size=F.shape)
    labeled = loss.at(y, w, offsets)
    value, slope = labeled.value_slope(F)
    assert value == pytest.approx(sum(w * loss.value(y, F + offsets)), rel=1e-12)
    np.testing.assert_array_equal(slope, w * loss.slope(y, F + offsets))
    np.testing.assert_array_equal(labeled.curvature(F), w * loss.curvature(y, F + offsets))


def test_losses_are_found_by_name_and_kinked_ones_refused():
    assert resolve_loss("hinge") is LOSSES["hinge"]
    assert resolve_loss(LOSSES["logistic"], smooth=True) is LOSSES["logistic"]
    for loss in ("hinge", LOSSES["hinge"], "no such loss"):
        with pytest.raises(ValueError, match="use 'squared', 'squared_hinge', 'logistic'"):
            resolve_loss(loss, smooth=True)
