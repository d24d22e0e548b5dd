"""From rows and a kernel to a space that fits in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils import check_random_state, gen_batches

from weakly.kernels import Kernel
from weakly.rows._arrays import (
    cast,
    dense_bytes,
    dtype_of,
    fits,
    namespace,
    namespace_on,
    read_samples,
    require_fit,
    resolve_device,
    to_host,
    zeros,
)
from weakly.rows._device import free_bytes, to_device
from weakly.spaces._base import BLOCK_ROWS, FeatureSpace, KernelSpace
from weakly.spaces._corrected import CorrectedSpace
from weakly.spaces._filtered import inverse_root


@dataclass(frozen=True, eq=False)
class KernelMap:
    """Rows to their kernel with anchors, which are training rows or landmarks.

    ``whitening``, where given, combines the columns of the kernel.
    """

    kernel: Kernel
    anchors: Any
    whitening: np.ndarray | None = None

    def __call__(self, X: Any) -> np.ndarray:
        """Map rows."""
        gram = self.kernel(X, self.anchors)
        return gram if self.whitening is None else gram @ self.whitening

    def to_numpy(self) -> KernelMap:
        """The same map without a device."""
        return replace(self, anchors=to_host(self.anchors), whitening=to_host(self.whitening))


@dataclass(frozen=True, eq=False)
class HostMap:
    """A map of rows that knows only NumPy, for rows on a device."""

    feature_map: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        """Map rows on the host."""
        return to_device(self.feature_map(to_host(X)), X.device, dtype_of(X))

    def to_numpy(self) -> Callable[[Any], Any]:
        """The map itself."""
        return self.feature_map


_DIAGONAL_ROWS = 64  # rows whose diagonal of the kernel is taken from one small Gram matrix
_LEAST_LOSS = 1e-6  # variance that is not worth a correction
APPROXIMATIONS = ("auto", None, "nystroem", "fourier")


def build_space(
    X: Any,
    kernel: Kernel,
    *,
    approximation: str | None = "auto",
    n_components: int = 1000,
    corrected: bool = False,
    random_state: Any = None,
    device: Any = None,
) -> KernelSpace | FeatureSpace | CorrectedSpace:
    """Choose and build the space of a kernel over rows.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Training rows, or their Gram matrix for a precomputed kernel.
    kernel : Kernel
        The kernel, resolved.
    approximation : {"auto", None, "nystroem", "fourier"}, default="auto"
        ``None`` is exact, in float64. "auto" is so while the n x n matrices fit the memory limit, else
        "nystroem".
        A linear kernel on more rows than columns uses the columns themselves, which is exact too.
    n_components : int, default=1000
        Features of an approximation.
    corrected : bool, default=False
        Give each row the variance that an approximation loses, where it loses any: better on a graph, but
        for iterative solvers only.
    random_state : int, RandomState or None, default=None
        Draws the landmarks or the frequencies.
    device : str, torch.device or None, default=None
        Device that holds the matrices of the space, through PyTorch (extra ``gpu``); rows must be dense. The
        choice of "auto" is that without a device; an exact kernel may fill the memory of a GPU.

    Returns
    -------
    KernelSpace, FeatureSpace or CorrectedSpace
        The space.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.kernels import Kernel
    >>> from weakly.spaces import build_space
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> type(build_space(rows, Kernel("linear"))).__name__
    'FeatureSpace'
    >>> build_space(rows, Kernel("rbf"), approximation="nystroem", n_components=10).n_params
    10
    """
    if approximation not in APPROXIMATIONS:
        raise ValueError(f"approximation is {approximation!r}: use 'auto', None, 'nystroem' or 'fourier'.")
    if n_components < 1:
        raise ValueError(f"n_components is {n_components}: an approximation needs at least 1.")
    X = read_samples(X)
    device = resolve_device(device)
    if kernel.name == "precomputed":
        return _given_space(X, approximation, device)
    if device is not None and sp.issparse(X):
        raise ValueError("a space on a device needs dense rows: pass X.toarray(), or device=None.")
    n_rows, n_features = X.shape
    # The Gram matrix and its factor, in float64: float32 cannot tell a small penalty from rounding.
    exact_bytes = dense_bytes(n_rows, n_rows, copies=2)
    if (
        kernel.name == "linear"
        and approximation in ("auto", None)
        and (n_features < n_rows or not fits(exact_bytes))
    ):
        return FeatureSpace(namespace_on(device).place(X))
    if approximation == "auto" and not fits(exact_bytes):
        approximation = "nystroem"
    if approximation is None or approximation == "auto":
        return exact_space(X, kernel, device=device)
    _require_gamma(kernel, X.dtype)
    build = _nystroem_space if approximation == "nystroem" else _fourier_space
    space = build(X, kernel, n_components, random_state, device)
    lost = _lost_variance(X, kernel, space.features) if corrected else 0.0
    return space if lost <= _LEAST_LOSS else CorrectedSpace(space.features, lost, space.feature_map)


def exact_space(
    X: Any, kernel: Kernel, otherwise: str = "set approximation='nystroem'", device: Any = None
) -> KernelSpace:
    """Build the space of the whole Gram matrix, whatever the kernel.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Training rows, or their Gram matrix where the kernel is "precomputed".
    kernel : Kernel
        The kernel.
    otherwise : str
        What to do if it does not fit in memory, for the message.
    device : str, torch.device or None, default=None
        Device that holds the matrix, through PyTorch. On a GPU its own memory is the limit.

    Returns
    -------
    KernelSpace
        In float64: float32 cannot tell a small penalty from rounding.

    Raises
    ------
    MemoryError
        If the matrix and one more like it do not fit the memory limit.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.kernels import resolve_kernel
    >>> from weakly.spaces import exact_space
    >>> rows = np.array([[1.0], [2.0]])
    >>> exact_space(rows, resolve_kernel("linear", rows)).gram.tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    if kernel.name == "precomputed":
        return _given_space(X, None, device)
    is_gpu = device is not None and free_bytes(device) is not None
    copies = 1 if is_gpu else 2  # a GPU is free to iterate without a factor
    n_bytes = dense_bytes(X.shape[0], X.shape[0], copies=copies)
    require_fit(n_bytes, f"an exact kernel on {X.shape[0]} rows", otherwise, device)
    rows = namespace_on(device).place(X.copy())  # the caller's array may change, and a CPU tensor shares it
    return KernelSpace(kernel(cast(rows, np.float64)), KernelMap(kernel, rows))


def _require_gamma(kernel: Kernel, dtype: np.dtype) -> None:
    """An exact kernel is taken in float64; those of an approximation in the type of the samples."""
    info = np.finfo(dtype)
    if not float(info.tiny) <= kernel.gamma <= float(info.max):
        raise ValueError(
            f"gamma is {kernel.gamma:.2g}, which {dtype} cannot hold: scale the features of X, use float64, "
            "or set approximation=None."
        )


def _lost_variance(X: Any, kernel: Kernel, features: Any) -> float:
    """Mean over the rows of ``k(x, x) - |z(x)|^2``."""
    total = 0.0
    for block in gen_batches(X.shape[0], _DIAGONAL_ROWS):
        total += float(np.diagonal(kernel(X[block], X[block])).sum())
    return (total - namespace(features).sum_of_squares(features)) / X.shape[0]


def _given_space(gram: np.ndarray, approximation: str | None, device: Any = None) -> KernelSpace:
    if approximation in ("nystroem", "fourier"):
        raise ValueError(
            f"approximation={approximation!r} cannot serve a precomputed kernel, which is n x n already: "
            "use approximation=None, or pass rows instead of a Gram matrix."
        )
    n_bytes = dense_bytes(*gram.shape, copies=2)
    what, otherwise = f"a precomputed kernel on {gram.shape[0]} rows", "pass rows instead of a Gram matrix"
    require_fit(n_bytes, what, otherwise, device)
    return KernelSpace(namespace_on(device).place(gram.astype(np.float64)))


def _nystroem_space(
    X: Any, kernel: Kernel, n_components: int, random_state: Any, device: Any
) -> FeatureSpace:
    """Features ``k(X, M) U S^-1/2`` of landmarks ``M`` drawn from the rows, ``k(M, M) = U S U'``."""
    count = min(n_components, X.shape[0])
    landmarks = X[np.sort(check_random_state(random_state).permutation(X.shape[0])[:count])]
    values, vectors = np.linalg.eigh(kernel(landmarks))
    whitening = inverse_root(values, vectors, values.dtype)
    place = namespace_on(device).place  # only from here: the same directions are kept everywhere
    return _mapped_space(X, KernelMap(kernel, place(landmarks), place(whitening)), whitening.shape[1], device)


def _fourier_space(X: Any, kernel: Kernel, n_components: int, random_state: Any, device: Any) -> FeatureSpace:
    if kernel.name != "rbf":
        raise ValueError(f"approximation='fourier' needs kernel='rbf', not {kernel.name!r}: use 'nystroem'.")
    n_bytes = dense_bytes(X.shape[1] + X.shape[0], n_components)
    require_fit(n_bytes, f"{n_components} random features", "lower n_components")
    sampler = RBFSampler(gamma=kernel.gamma, n_components=n_components, random_state=random_state).fit(X)
    feature_map = sampler.transform if device is None else HostMap(sampler.transform)
    return _mapped_space(X, feature_map, n_components, device)


def _mapped_space(X: Any, feature_map: Callable[[Any], Any], n_params: int, device: Any) -> FeatureSpace:
    _require_features(X, n_params, device)
    place = namespace_on(device).place
    features = zeros(place(X[:1]), X.shape[0], n_params)
    for block in gen_batches(X.shape[0], BLOCK_ROWS):
        features[block] = feature_map(place(X[block]))
    return FeatureSpace(features, feature_map)


def _require_features(X: Any, n_params: int, device: Any) -> None:
    n_bytes = dense_bytes(X.shape[0], n_params, dtype=X.dtype)
    require_fit(n_bytes, f"{n_params} features on {X.shape[0]} rows", "lower n_components", device)
