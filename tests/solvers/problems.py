"""Small problems that the tests of all solvers share."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.oracles.dense import kernel_root, manifold_penalty, random_laplacian
from weakly.kernels import Kernel
from weakly.spaces import DeformedSpace, FeatureSpace, KernelSpace, deform

KINDS = ["kernel", "features", "csr"]


class Problem(NamedTuple):
    """A space over labelled rows, the same functions as plain features ``Z``, signs and weights."""

    space: KernelSpace | FeatureSpace
    Z: np.ndarray
    y: np.ndarray
    weights: np.ndarray


def make_space(rng, kind, n_rows, n_features):
    """Return a space and plain features with the same functions."""
    X = rng.normal(size=(n_rows, n_features))
    if kind == "kernel":
        gram = Kernel("rbf", gamma=0.5 / n_features)(X)
        return KernelSpace(gram), kernel_root(gram)
    return FeatureSpace(sp.csr_array(X) if kind == "csr" else X), X


def noisy_signs(rng, Z, n_columns):
    """Return signs of random functions of the space, some of them wrong."""
    scores = Z @ rng.normal(size=(Z.shape[1], n_columns))
    noisy = scores + 0.3 * scores.std() * rng.normal(size=scores.shape)
    return np.where(noisy > np.median(noisy, axis=0), 1.0, -1.0)


def make_problem(kind, *, n_rows=40, n_features=3, n_columns=2, size=1.0, seed=0):
    """Noisy signs; ``size`` scales the weights and so the share of rows beyond the margin."""
    rng = np.random.default_rng(seed)
    space, Z = make_space(rng, kind, n_rows, n_features)
    return Problem(space, Z, noisy_signs(rng, Z, n_columns), size * rng.uniform(0.5, 2, n_rows))


def without(problem, row):
    """Return the problem without a row."""
    space, Z, y, weights = problem
    kept = np.delete(np.arange(len(y)), row)
    if isinstance(space, KernelSpace):
        smaller = KernelSpace(space.gram[np.ix_(kept, kept)])
    else:
        smaller = FeatureSpace(space.features[kept])
    return Problem(smaller, Z[kept], y[kept], weights[kept])


def score_left_out(problem, theta, row):
    """Score a row by parameters of the problem without it."""
    space = problem.space
    if isinstance(space, KernelSpace):
        return np.delete(space.gram[row], row) @ theta
    return space.features[[row]] @ theta


class ManifoldProblem(NamedTuple):
    """A deformed space over all rows, with the penalty of its plain features."""

    space: DeformedSpace
    Z: np.ndarray
    penalty: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray


def make_manifold_problem(kind, *, n_rows=40, n_features=4, n_labeled=12, n_columns=3, graph=0.02, seed=0):
    """Make a problem whose loss sees only some of the rows."""
    rng = np.random.default_rng(seed)
    base, Z = make_space(rng, kind, n_rows, n_features)
    laplacian = random_laplacian(rng, n_rows)
    space = deform(base, sp.csr_array(laplacian), ambient=0.05, graph=graph)
    penalty = manifold_penalty(Z, laplacian, 0.05, graph)
    rows = rng.permutation(n_rows)[:n_labeled]
    y = noisy_signs(rng, Z[rows], n_columns)
    return ManifoldProblem(space, Z, penalty, rows, y, rng.uniform(5, 50, n_labeled))
