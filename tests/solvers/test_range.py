"""Numbers that solvers refuse because they could not compute with them."""

import numpy as np
import pytest
import scipy.sparse as sp

from weakly import (
    BagMarginSVC,
    CuttingPlaneMaxMarginClustering,
    GeneralizedMaxMarginClustering,
    IterativeSVRClustering,
    KernelKMeans,
    TransductiveLinearSVC,
    TransductiveSVC,
    WellClustering,
    WellMultiInstanceSVC,
    WellSVC,
    WestonWatkinsSVC,
)
from weakly.solvers._range import build_in_range, check_costs
from weakly.spaces import FeatureSpace, KernelSpace

LINEAR = [
    BagMarginSVC(kernel="linear"),
    CuttingPlaneMaxMarginClustering(kernel="linear"),
    GeneralizedMaxMarginClustering(kernel="linear"),
    IterativeSVRClustering(kernel="linear"),
    KernelKMeans(kernel="linear"),
    TransductiveLinearSVC(),
    TransductiveSVC(kernel="linear"),
    WellClustering(kernel="linear"),
    WellMultiInstanceSVC(kernel="linear"),
    WellSVC(kernel="linear"),
    WestonWatkinsSVC(kernel="linear"),
]
COSTED = [model for model in LINEAR if "C" in model.get_params() and not isinstance(model, WestonWatkinsSVC)]


def split(n_rows=20):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    return rng.normal(size=(n_rows, 2)) + 4 * y[:, None], y


def test_costs():
    check_costs("C", np.array([1e-100, 1.0, 1e100]))
    for wrong in (0.0, 1e-101, 1e101, np.inf):
        with pytest.raises(ValueError, match=r"C is .*must be between 1e-100 and 1e\+100"):
            check_costs("C", np.array([1.0, wrong]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "space",
    [
        lambda: FeatureSpace(np.full((2, 2), 1e80)),
        lambda: FeatureSpace(sp.csr_array([[1e80, 0.0]])),
        lambda: KernelSpace(np.array([[1e160]])),
        lambda: KernelSpace(np.array([[np.nan]])),
        lambda: KernelSpace(np.full((1, 1), 1e200) @ np.full((1, 1), 1e200)),
    ],
)
def test_products_out_of_range(space):
    with pytest.raises(ValueError, match="scale the features"):
        build_in_range(space, np.dtype(np.float64))


def test_products_within_the_range_of_the_type_of_the_samples():
    space = FeatureSpace(np.full((2, 2), 1e30))
    assert build_in_range(lambda: space, np.dtype(np.float64)) is space
    with pytest.raises(ValueError, match=r"below 3\.4e\+38"):
        build_in_range(lambda: space, np.dtype(np.float32))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", LINEAR, ids=lambda model: type(model).__name__)
def test_samples_whose_squares_overflow(model):
    X, y = split()
    with pytest.raises(ValueError, match=r"X has .*scale the features"):
        model.fit(1e200 * X, y)


@pytest.mark.parametrize("C", [1e-300, 1e300])
@pytest.mark.parametrize("model", COSTED, ids=lambda model: type(model).__name__)
def test_costs_out_of_range(model, C):
    X, y = split()
    with pytest.raises(ValueError, match=r"^C "):
        model.__class__(**model.get_params() | {"C": C}).fit(X, y)
