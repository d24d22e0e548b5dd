"""Samples of odd sizes, scales and places, in odd containers, and samples that must be refused."""

import os
import tempfile

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .subjects import blobs, some_of_each
from .table import ROWS, Given, register

_SCALE = "X|scale|center|column"
_SAME = "same|equal|X|row"
_FEW = "n_|sample|cluster|bag|class"
_BAD = "X|sample|row|NaN|inf|array|feature|instance|numeric|float|dimension"

# --- odd sizes, scales and places


def samples(name, make, **how):
    register(name, lambda subject: Given(*make(), **how))


def scaled(factor, shift=0.0, dtype=np.float64, **how):
    def make():
        X, truth = blobs(**how)
        return (X * factor + shift).astype(dtype), truth

    return make


def outlier(size):
    def make():
        X, truth = blobs()
        X[7] = size
        return X, truth

    return make


def beside_a_constant():
    X, truth = blobs()
    return np.c_[X, np.full(len(X), 7.3)], truth


def on_a_line():
    X, truth = blobs(n_classes=2)
    return X[:, :1] * np.arange(1, 9), truth


samples("plain", scaled(1.0), easy=True)
samples("two classes", scaled(1.0, n_classes=2), easy=True)
for factor in (1e100, 1e200, 1e-160, 1e-300):
    samples(f"scale {factor:g}", scaled(factor), refused=None, names=_SCALE)
samples("float32, scale 2e19", scaled(2e19, dtype=np.float32), refused=None, names=_SCALE)
samples("float32, scale 1e30", scaled(1e30, dtype=np.float32), refused=None, names=_SCALE)
samples("float32, shift 1e4", scaled(1.0, 1e4, np.float32), refused=None, names=_SCALE)
samples("scales of features", scaled(np.array([1e-8, 1.0, 1e4, 1e8])), refused=None, names=_SCALE)
for size in (1e6, 1e10, 1e12):
    samples(f"outlier {size:g}", outlier(size), refused=None, names=_SCALE)
samples("constant feature", beside_a_constant, easy=True)
samples("one feature", scaled(1.0, n_features=1))
samples("collinear", on_a_line)
samples("wide", scaled(1.0, n_features=2000))
samples("all equal", lambda: (np.full((30, 3), 2.5), np.arange(30) % 3), refused=None, names=_SAME)
samples("all zero", lambda: (np.zeros((30, 3)), np.arange(30) % 3), refused=None, names=_SAME)
samples("repeated", lambda: [np.repeat(part, 15, axis=0) for part in blobs(9)])
samples("ties", lambda: (np.indices((8, 8)).reshape(2, -1).T.astype(float), np.arange(64) // 32))
samples("two samples", lambda: (np.eye(2), np.arange(2)), refused=None, names=_FEW)
samples("three samples", lambda: (np.eye(3)[:, :2], np.array([0, 1, 1])), refused=None, names=_FEW)


def at_scale(factor, dtype):
    """Widths of kernels follow the scale; the penalty of a linear function does not."""

    def make(subject):
        X, truth = scaled(factor, dtype=dtype)()
        return Given(X, truth, easy=subject.kernel != "linear")

    return make


for factor, dtype in ((1e12, "float64"), (1e-12, "float64"), (1e18, "float32"), (1e-25, "float32")):
    register(f"{dtype}, scale {factor:g}", at_scale(factor, dtype))


def far_away(shift):
    """Kernels of distances must not care where samples lie; linear ones may, and say so."""

    def make(subject):
        X, truth = scaled(1.0, shift)()
        by_distance = subject.kernel in ("rbf", "none")
        return Given(X, truth, easy=by_distance, refused=False if by_distance else None, names=_SCALE)

    return make


for shift in (1e4, 1e6, 1e8):
    register(f"shift {shift:g}", far_away(shift))


def contradictions(subject):
    X, truth = blobs(30)
    return Given(np.r_[X, X], np.r_[truth, (truth + 1) % 3], labeled=np.r_[0:9, 30:39])


def unlabeled_island(subject):
    X, truth = blobs()
    island = np.random.default_rng(1).standard_normal((20, 4)) + 1000
    return Given(np.r_[X, island], np.r_[truth, np.zeros(20, int)], labeled=some_of_each(truth))


register("contradictory labels of equal samples", contradictions)
register("samples far from all labels", unlabeled_island)

# --- containers


def container(name, convert, *, is_sparse=False, kinds=None):
    def make(subject):
        if is_sparse and not subject.takes_sparse:
            return None
        X, truth = blobs()
        return Given(convert(X), truth, easy=True)

    register(name, make, kinds)


def memory_mapped(X):
    handle, path = tempfile.mkstemp()
    os.close(handle)
    X.tofile(path)
    mapped = np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)
    os.unlink(path)
    return mapped


def read_only(X):
    X.setflags(write=False)
    return X


def unsorted(X):
    matrix = sp.csr_matrix(X)
    matrix.indices = np.concatenate([part[::-1] for part in np.split(matrix.indices, matrix.indptr[1:-1])])
    matrix.data = np.concatenate([part[::-1] for part in np.split(matrix.data, matrix.indptr[1:-1])])
    matrix.has_sorted_indices = False
    return matrix


def with_repeated_entries(X):
    matrix = sp.csr_matrix(X)
    halves = np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr
    return sp.csr_matrix(halves, shape=matrix.shape)


def with_wide_indices(X):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def frame(X):
    return pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X))[::-1])


container("Fortran order", np.asfortranarray)
container("strided", lambda X: np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2])
container("negative strides", lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1])
container("read-only", read_only)
container("memory map", memory_mapped)
container("objects", lambda X: X.astype(object))
container("list", lambda X: X.tolist(), kinds=ROWS)
container("data frame", frame, kinds=ROWS)
for kind in (np.float32, np.float16, np.longdouble, ">f8", np.int8, np.int64):
    container(f"type {np.dtype(kind).str}", lambda X, kind=kind: (X * 4).astype(kind))
container("booleans", lambda X: X > 2.5)
container("CSR", sp.csr_matrix, is_sparse=True)
container("CSR array", sp.csr_array, is_sparse=True)
container("CSR float32", lambda X: sp.csr_matrix(X.astype(np.float32)), is_sparse=True)
container("CSC", sp.csc_matrix, is_sparse=True, kinds=ROWS)
container("COO", sp.coo_matrix, is_sparse=True, kinds=ROWS)
container("CSR with wide indices", with_wide_indices, is_sparse=True)
container("CSR unsorted", unsorted, is_sparse=True)
container("CSR with repeated entries", with_repeated_entries, is_sparse=True)


def sparse(name, make, **how):
    register(name, lambda subject: Given(*make(), **how) if subject.takes_sparse else None)


def with_empty_samples():
    X, truth = blobs()
    X[[3, 40, 41]] = 0
    return sp.csr_matrix(X), truth


def wide_and_sparse():
    truth = np.arange(60) % 2
    noise = sp.random(60, 5000, density=0.01, random_state=0, format="csr")
    return sp.hstack([sp.csr_matrix(np.eye(2)[truth]), noise], format="csr"), truth


sparse("CSR with empty samples", with_empty_samples)
sparse("CSR of zeros", lambda: (sp.csr_matrix((30, 6)), np.arange(30) % 3), refused=None, names=_SAME)
sparse("CSR wide", wide_and_sparse)

# --- to be refused


def refused(name, convert, names=_BAD, kinds=None):
    def make(subject):
        X, truth = blobs(30)
        return Given(convert(X), truth, refused=True, names=names)

    register(name, make, kinds)


def poked(value):
    def convert(X):
        X[7, 2] = value
        return X

    return convert


def with_a_gap(subject):
    """Missing entries are a value to trees, and refused elsewhere."""
    X, truth = blobs(30)
    return Given(poked(np.nan)(X), truth, refused="n_trees" not in subject.params, names="NaN")


register("NaN", with_a_gap)
refused("infinity", poked(np.inf))
refused("CSR with infinity", lambda X: sp.csr_matrix(poked(np.inf)(X)), names=".")
refused("one dimension", lambda X: X[:, 0], kinds=ROWS)
refused("three dimensions", lambda X: X[:, :, None], kinds=ROWS)
refused("no features", lambda X: X[:, :0])
refused("complex", lambda X: X.astype(complex), names="[Cc]omplex")
refused("text", lambda X: np.full(X.shape, "cat"), names=".")
refused("one sample", lambda X: X[:1], kinds=("clusters",))
refused("no samples", lambda X: X[:0], names="0 sample", kinds=("clusters",))
