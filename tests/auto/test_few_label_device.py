"""The automatic classifier on a device: the numbers of NumPy, in the kind of array that came in."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.samples import four_digits
from weakly import FewLabelClassifier
from weakly.auto import build_bank
from weakly.auto._kernels import Size
from weakly.auto._views import distances_on_device


@pytest.fixture(scope="module")
def digits():
    X, y = four_digits()
    return X, np.where(np.arange(320) < 24, y, -1)


def fit(X, y, **settings):
    return FewLabelClassifier(random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "dtype", "tolerance"),
    [
        ({}, np.float32, 1e-3),
        ({}, np.float64, 1e-8),
        ({"graph": "anchor"}, np.float32, 1e-3),
        ({"graph": "anchor"}, np.float64, 1e-8),
        ({"effort": "full"}, np.float64, 1e-8),
    ],
)
def test_device_gives_the_numbers_of_numpy(digits, settings, dtype, tolerance):
    X, y = digits[0].astype(dtype), digits[1]
    plain, placed = fit(X, y, **settings), fit(X, y, device="cpu", **settings)
    np.testing.assert_allclose(placed.decision_function(X), plain.decision_function(X), atol=tolerance)
    np.testing.assert_allclose(placed.label_distributions_, plain.label_distributions_, atol=tolerance)
    np.testing.assert_allclose(placed.predict_proba(X), placed.label_distributions_, atol=tolerance)
    assert isinstance(placed.label_distributions_, np.ndarray)


def test_many_rows_take_the_approximate_path(monkeypatch, digits):
    monkeypatch.setattr("weakly.auto._bank.MANY_ROWS", 100)
    monkeypatch.setattr("weakly.auto._bank.SIZE_OF_MANY", Size(150, 30, 30, 5))
    monkeypatch.setattr("weakly.auto._spectra._DENSE_ROWS", 100)
    X, y = digits
    plain, placed = fit(X, y), fit(X, y, device="cpu")
    assert np.mean(plain.transduction_ == placed.transduction_) > 0.98  # neighbours in cells may be others


@pytest.mark.parametrize("graph", ["knn", "anchor"])
def test_tensors_in_tensors_out(digits, graph):
    X, y = digits
    model = fit(torch.from_numpy(X), torch.from_numpy(y), graph=graph)
    found = model.predict_proba(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), fit(X, y, graph=graph).predict_proba(X), atol=1e-8)
    copy = pickle.loads(pickle.dumps(model.to_numpy()))
    assert copy.device is None
    assert copy._function.reference.device is None
    np.testing.assert_allclose(copy.predict_proba(X), found.numpy(), atol=1e-8)


def test_kernels_are_held_on_the_device(digits):
    bank = build_bank(digits[0], 4, random_state=0, device="cpu")
    kinds = {c.name: torch.is_tensor(c.space.coordinates.values) for c in bank.candidates}
    assert kinds["rbf, width 0.7"]
    assert kinds["rbf with 10 L^2, 10 neighbours"]
    assert not kinds["linear"]


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_distances(offset):
    rows = (np.random.default_rng(0).normal(size=(50, 3)) + offset).astype(np.float32)
    expected = ((rows[:, None].astype(float) - rows[:20].astype(float)) ** 2).sum(axis=2)
    found = distances_on_device(rows, rows[:20], "cpu")
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    assert found.numpy().diagonal().max() < 1e-12


def test_a_device_needs_dense_rows(digits):
    with pytest.raises(ValueError, match="dense rows"):
        fit(sp.csr_array(digits[0]), digits[1], device="cpu")
