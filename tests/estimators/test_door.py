"""Samples are checked once in a fit, at its door."""

import numpy as np
import pytest

import weakly.rows._arrays as arrays
from tests.samples import two_blobs
from weakly import LaplacianRLSClassifier, ProbabilisticLabelSVC, TotalVariationSVC, TransductiveSVC
from weakly.graphs import neighbor_graph
from weakly.kernels import resolve_kernel


@pytest.fixture
def problem():
    X, y = two_blobs()
    return X, np.where(np.arange(len(y)) < 20, y, -1)


@pytest.mark.parametrize(
    "kind", [LaplacianRLSClassifier, ProbabilisticLabelSVC, TotalVariationSVC, TransductiveSVC]
)
def test_no_part_of_a_fit_checks_the_samples_again(kind, problem, monkeypatch):
    monkeypatch.setattr(arrays, "check_array", lambda *args, **kwargs: pytest.fail("the door has done so"))
    kind().fit(*problem)


def test_after_the_fit_all_samples_are_checked(problem):
    X, y = problem
    LaplacianRLSClassifier().fit(X, y)
    X[0, 0] = np.nan  # the array of the fit, which it had checked
    for function in (neighbor_graph, lambda samples: resolve_kernel("rbf", samples)):
        with pytest.raises(ValueError, match="NaN"):
            function(X)


def test_a_fit_that_fails_leaves_no_samples_at_the_door(problem):
    X, y = problem
    with pytest.raises(ValueError, match="n_neighbors"):
        LaplacianRLSClassifier(n_neighbors=500).fit(X, y)
    assert arrays.DOOR.get() is None
