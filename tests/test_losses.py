import numpy as np
import pytest

from weakly.losses import LOSSES

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


@pytest.mark.parametrize("name", ["squared", "squared_hinge"])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_active_part_is_the_parabola_and_carries_the_derivative(name, y):
    loss, targets, step = LOSSES[name], np.full_like(F, y), 1e-6
    active = loss.active(targets, F)
    np.testing.assert_allclose(loss.value(targets, F), np.where(active, (y - F) ** 2 / 2, 0), atol=1e-15)
    slope = (loss.value(targets, F + step) - loss.value(targets, F - step)) / (2 * step)
    np.testing.assert_allclose(slope, np.where(active, F - y, 0), atol=1e-6)


def test_squared_hinge_has_active_and_inactive_rows_and_the_hinge_no_parabola():
    assert set(LOSSES["squared_hinge"].active(np.ones_like(F), F)) == {True, False}
    assert LOSSES["hinge"].active is None


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_slopes_are_derivatives(name, y):
    loss, step = LOSSES[name], 1e-6
    points = F[np.abs(y * F - 1) > 0.01]  # off the kink of the hinge
    targets = np.full_like(points, y)
    slopes = (loss.value(targets, points + step) - loss.value(targets, points - step)) / (2 * step)
    np.testing.assert_allclose(loss.slope(targets, points), slopes, atol=1e-8)
