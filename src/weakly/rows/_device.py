"""Devices of PyTorch, imported only where one is asked for, and arrays on their way to them and back.

Estimators hold samples, labels and coefficients as NumPy arrays; spaces and the neighbor search put what is
large on a device. The algebra on both kinds of array is in :mod:`weakly.rows._arrays`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from weakly.rows._blocks import require_fit

_KINDS = ("cpu", "cuda")  # others lack float64


def import_torch(why: str = "device") -> Any:
    """Import PyTorch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{why} needs PyTorch: pip install 'weakly[gpu]'") from None
    return torch


def is_tensor(array: Any) -> bool:
    """Whether an array is PyTorch's; false without an import where nobody has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def resolve_device(device: Any, X: Any = None) -> str | None:
    """Name the device of a model.

    Parameters
    ----------
    device : str, torch.device or None
        The parameter of an estimator. ``None`` is the device of ``X`` where that is a tensor.
    X : object
        Rows as the user gave them.

    Returns
    -------
    str or None
        A device that exists, or ``None`` for NumPy.

    Examples
    --------
    >>> from weakly.rows._device import resolve_device
    >>> resolve_device(None) is None
    True
    """
    if device is None:
        return resolve_device(X.device) if is_tensor(X) else None
    torch = import_torch(f"device={str(device)!r}")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise ValueError(f"device is {device!r}: {_present(torch)}.") from None
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found.type not in _KINDS or (found.type == "cuda" and (found.index or 0) >= n_cuda):
        raise ValueError(f"device is {str(device)!r}, which cannot be used here: {_present(torch)}.")
    if found.type == "cuda":
        index = torch.cuda.current_device() if found.index is None else found.index
        return f"cuda:{index}"
    return "cpu"


def _present(torch: Any) -> str:
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ["None", "'cpu'", *(f"'cuda:{index}'" for index in range(n_cuda))]
    without = "" if n_cuda else "; PyTorch finds no CUDA device"
    return f"use {', '.join(names[:-1])} or {names[-1]}{without}"


def to_device(array: Any, device: Any, dtype: Any = None) -> Any:
    """Tensor on a device, of the type of the array or of a type in NumPy's words."""
    torch = import_torch()
    kind = None if dtype is None else getattr(torch, np.dtype(dtype).name)
    if not is_tensor(array):
        array = np.ascontiguousarray(array)
        array = torch.from_numpy(array if array.flags.writeable else array.copy())
    return array.to(device=device, dtype=kind)


def to_host(array: Any) -> Any:
    """NumPy array of a tensor; anything else as it is."""
    if not is_tensor(array):
        return array
    torch = sys.modules["torch"]
    if array.layout is not torch.strided:
        raise ValueError(f"a tensor of layout {array.layout} cannot be read: pass it as .to_dense().")
    array = array.float() if array.dtype == torch.bfloat16 else array  # which NumPy does not have
    return array.detach().cpu().numpy()


def dtype_of(array: Any) -> np.dtype:
    """Type of the entries in NumPy's words."""
    return np.dtype(str(array.dtype).removeprefix("torch.")) if is_tensor(array) else array.dtype


def follow(result: Any, X: Any) -> Any:
    """Result in the kind of array that the user's rows are; text, which no tensor holds, stays NumPy's."""
    if not is_tensor(X) or result.dtype.kind not in "biuf":
        return result
    return to_device(result, X.device)


def zeros(like: Any, *shape: int) -> Any:
    """Zeros of the kind and type of another array."""
    return like.new_zeros(shape) if is_tensor(like) else np.zeros(shape, dtype=like.dtype)


def free_bytes(device: Any) -> int | None:
    """Bytes that can be allocated on a device; ``None`` where the usual limit counts."""
    torch = import_torch()
    if torch.device(device).type != "cuda":
        return None
    torch.cuda.empty_cache()  # what PyTorch keeps for itself would count as taken
    return int(torch.cuda.mem_get_info(device)[0])


def require_room(n_bytes: int, device: Any, what: str, remedy: str) -> None:
    """Raise an error unless the memory of a GPU has room; elsewhere the usual limit counts."""
    free = None if device is None else free_bytes(device)
    if free is None:
        require_fit(n_bytes, what, remedy)
    elif n_bytes > free:
        sizes = f"{n_bytes / 2**30:.3g} GB and {device} has {free / 2**30:.3g} GB left"
        raise MemoryError(f"{what} needs {sizes}: {remedy}.")
