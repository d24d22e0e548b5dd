"""Parameters at and beyond their limits."""

import numpy as np

from .subjects import blobs
from .table import Given, register


def parameter(name, value, refuse=None, kinds=None):
    def make(subject):
        X, truth = blobs()
        names = f"{name}|n_samples|prior|balance|cluster"
        return Given(X, truth, params={name: value}, refused=refuse, names=names)

    register(f"{name}={value}", make, kinds, needs=name)


for name in ("C", "penalty", "ambient_penalty", "gamma"):
    for value in (1e-300, 1e-12, 1e12):
        parameter(name, value)
    for value in (0.0, -1.0, np.nan, True, "what"):
        parameter(name, value, refuse=True)
for name in ("max_iter", "n_neighbors", "n_components", "n_estimators", "n_init", "n_clusters", "max_labels"):
    for value in (0, -3, 2.5, True):
        parameter(name, value, refuse=True)
for name in ("max_iter", "n_neighbors", "n_components", "max_labels"):
    parameter(name, 10**18)
for value in ([0.2, 0.3, 0.5], {0: 0.2, 1: 0.3, 2: 0.5}, [1e-9, 1e-9, 1.0]):
    parameter("class_prior", value, kinds=("some",))
for value in ({0: 0.2, 1: 0.8}, [0.5, 0.5], [0.5, 0.9, -0.4], [0.0] * 3, [0.5, 0.5, np.nan], [[1] * 3]):
    parameter("class_prior", value, refuse=True, kinds=("some",))


def kernel(name, value, refuse=None):
    def make(subject):
        if not subject.is_free:
            return None
        X, truth = blobs()
        return Given(X, truth, params={"kernel": value}, refused=refuse, names="kernel")

    register(f"kernel {name}", make, needs="kernel")


for name in ("linear", "poly", "cosine"):
    kernel(name, name)
kernel("of NaN", lambda A, B: np.full((A.shape[0], B.shape[0]), np.nan), refuse=True)
kernel("of a wrong shape", lambda A, B: np.ones((3, 3)), refuse=True)
kernel("unknown", "laplace", refuse=True)


def approximation(name, **params):
    def make(subject):
        if subject.settings.keys() & {"kernel", "graph"}:
            return None
        return Given(*blobs(), params={"approximation": name} | params, easy=params["n_components"] > 1)

    register(f"{name} of {params['n_components']}", make, needs="approximation")


for name in ("nystroem", "fourier"):
    for n_components in (1, 40, 5000):
        approximation(name, n_components=n_components)
