"""Kernels and graphs of one's own."""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from .samples import with_repeated_entries
from .subjects import blobs
from .table import LABELS, ROWS, Given, register


def gram(name, change, refuse=None):
    def make(subject):
        if not subject.is_free:
            return None
        X, truth = blobs()
        K = change(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20))
        names = "kernel|X|symm|square|Gram|semi-definite"
        return Given(K, truth, params={"kernel": "precomputed"}, refused=refuse, names=names)

    register(f"Gram matrix {name}", make, ROWS, needs="kernel")


def indefinite(K):
    values, vectors = np.linalg.eigh(K)
    values[:30] = -0.3 * values[-1]
    K = (vectors * values) @ vectors.T
    return (K + K.T) / 2


gram("as it is", lambda K: K, refuse=False)
gram("indefinite", indefinite)
gram("negative definite", lambda K: -K)
gram("of zeros", np.zeros_like)
gram("of ones", np.ones_like)
gram("asymmetric", lambda K: K + np.triu(K, 1), refuse=True)
gram("not square", lambda K: K[:, :50], refuse=True)
gram("with NaN", lambda K: np.where(K.min() == K, np.nan, K), refuse=True)
gram("times 1e200", lambda K: K * 1e200)
gram("times 1e-200", lambda K: K * 1e-200)


def graph(name, change, refuse=False):
    def make(subject):
        if subject.estimator == "FewLabelClassifier" or subject.settings.get("graph") == "anchor":
            return None
        X, truth = blobs()
        A = kneighbors_graph(X, 5)
        A = ((A + A.T) > 0).astype(float).toarray()
        names = "graph|affinity|symm|rows|NaN|sample"
        return Given(X, truth, params={"graph": change(A)}, refused=refuse, names=names)

    register(f"graph {name}", make, LABELS, needs="graph")


def joined(A, value, both=True):
    A[3, 9] = value
    A[9, 3] = value if both else A[9, 3]
    return A


def halved(A):
    in_first = np.arange(len(A)) < len(A) // 2
    return A * np.equal.outer(in_first, in_first)


def star(A):
    A[:] = 0
    A[0, 1:] = A[1:, 0] = 1
    return A


def path(A):
    return np.diag(np.ones(len(A) - 1), 1) + np.diag(np.ones(len(A) - 1), -1)


graph("dense", lambda A: A)
graph("sparse", sp.csr_matrix)
graph("with repeated entries", with_repeated_entries)
graph("of booleans", lambda A: A.astype(bool))
graph("with loops", lambda A: A + 5 * np.eye(len(A)))
graph("without edges", np.zeros_like)
graph("in two parts", halved)
graph("complete", np.ones_like)
graph("star", star)
graph("path", path)
graph("with weights of 1e-200", lambda A: A * 1e-200)
graph("with weights of 1e200", lambda A: A * 1e200, refuse=None)
graph("with one weak edge", lambda A: joined(halved(A), 1e-12))
graph("asymmetric", np.triu, refuse=True)
graph("slightly asymmetric", lambda A: joined(A, 1e-3, both=False), refuse=True)
graph("with a negative weight", lambda A: joined(A, -1.0), refuse=True)
graph("with NaN", lambda A: joined(A, np.nan), refuse=True)
graph("of other samples", lambda A: A[:50, :50], refuse=True)
graph("not square", lambda A: A[:50], refuse=True)
