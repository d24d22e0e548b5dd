"""Answers by dense linear algebra, written from the definitions."""

import numpy as np


def kernel_root(gram):
    """Features ``R`` with ``K = R R'``: any kernel problem becomes one in plain features."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0))


def ridge(Z, penalty, y, weights):
    """Minimise ``sum_i w_i (y_i - z_i u)^2 / 2 + u' P u / 2``; return ``u``, a column per target."""
    weighted = Z.T * weights
    return np.linalg.solve(weighted @ Z + penalty, weighted @ y)


def manifold_penalty(Z, laplacian, ambient, graph):
    """``P`` with ``u' P u = a u'u + g (Z u)' L (Z u)``."""
    return ambient * np.eye(Z.shape[1]) + graph * Z.T @ laplacian @ Z


def random_laplacian(rng, n_rows):
    """``D - W`` of a random graph, as a dense matrix."""
    upper = np.triu(rng.random((n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < 0.5), 1)
    return np.diag((upper + upper.T).sum(axis=1)) - upper - upper.T
