"""Entries of a dataset's file: read and checked one by one, so that only what is whole becomes a dataset."""

from __future__ import annotations

import os
import struct
import zlib
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from sklearn.utils import Bunch

from weakly.datasets._common import build_csr

# What NumPy, zipfile and the decompressors raise on damaged bytes.
_UNREADABLE = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,  # of encrypted entries; NotImplementedError, of unknown compressions, is one
    SyntaxError,  # of headers
    TokenError,  # of headers with a bracket too many or too few
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
_PARTS = ("X_data", "X_indices", "X_indptr", "X_shape")
_INTEGERS, _NUMBERS = "iu", "biuf"
_END = struct.Struct("<4s 6x H 10x")  # of an archive without a comment: a signature and the number of entries


def read_dataset(path):
    """Read a file of the layout; a ValueError names the entry that is missing, damaged or wrong."""
    entries = _Entries(_read(path))
    X = entries.features()
    n_samples, n_features = X.shape
    bunch = Bunch(X=X)
    if "bags" in entries:
        bags, bag_y = entries.codes("bags", n_samples, "bag_y", _INTEGERS)
        bunch.update(bags=bags, bag_y=bag_y.astype(np.intp))
    else:
        y, classes = entries.codes("y", n_samples, "classes")
        bunch.update(y=y, target_names=classes)
    bunch.labeled_splits = entries.splits(n_samples)
    if "is_train" in entries:
        bunch.is_train = entries.vector("is_train", "b", n_samples)
    for name in ("columns", "vocab"):
        if name in entries:
            bunch.feature_names = entries.vector(name, length=n_features)
    return bunch


def read_splits(path, n_samples):
    """Read a file of published splits alone; a ValueError names the entry that is damaged or wrong."""
    return _Entries(_read(path)).splits(n_samples)


def _read(path):
    """Arrays of a file by name."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not hasattr(stored, "files"):
                raise ValueError("it is no archive of arrays")
            with stored:
                _require_count(file, len(stored.files))
                return {name: _read_entry(stored, name) for name in stored.files}
    except _UNREADABLE as error:
        raise ValueError(_described(error)) from error


def _require_count(file, n_found):
    """Compare with the number of entries at the end, which zipfile passes over: one may be lost."""
    place = file.tell()
    file.seek(-_END.size, os.SEEK_END)
    signature, n_listed = _END.unpack(file.read())
    file.seek(place)
    if signature == b"PK\x05\x06" and n_listed not in (n_found, 0xFFFF):
        raise ValueError(f"it lists {n_listed} entries and has {n_found}")


def _read_entry(stored, name):
    try:
        array = stored[name]
    except _UNREADABLE as error:
        raise ValueError(f"its entry {name!r} is damaged ({_described(error)})") from error
    if not isinstance(array, np.ndarray):  # the bytes of what has no header of an array
        raise ValueError(f"its entry {name!r} is not an array")
    return array


def _described(error):
    return str(error) or type(error).__name__


class _Entries:
    """Arrays by name, each checked where it is asked for."""

    def __init__(self, arrays):
        self._arrays = arrays

    def __contains__(self, name):
        return name in self._arrays

    def array(self, name, n_dims, kinds=None):
        """An array with so many axes and a type of these kinds."""
        if name not in self._arrays:
            raise ValueError(f"its entry {name!r} is missing")
        array = self._arrays[name]
        if array.ndim != n_dims:
            raise ValueError(f"its entry {name!r} has {array.ndim} axes and must have {n_dims}")
        if kinds is not None and array.dtype.kind not in kinds:
            raise ValueError(f"its entry {name!r} cannot be of type {array.dtype}")
        return array

    def vector(self, name, kinds=None, length=None):
        """An array with one axis, of this length if given."""
        array = self.array(name, 1, kinds)
        if length is not None and len(array) != length:
            raise ValueError(f"its entry {name!r} has {len(array)} values, and X makes that {length}")
        return array

    def codes(self, name, n_samples, meanings, kinds=None):
        """A code for each sample, and the entry that has a value for each code."""
        codes, values = self.vector(name, _INTEGERS, n_samples), self.vector(meanings, kinds)
        _require_range(name, codes, len(values))
        return codes.astype(np.intp), values

    def features(self):
        """The samples, dense or sparse."""
        X = self.array("X", 2, _NUMBERS) if "X" in self else self._sparse_features()
        if 0 in X.shape:
            raise ValueError(f"its entry 'X' has shape {X.shape}, without samples or without features")
        return X

    def _sparse_features(self):
        missing = [name for name in _PARTS if name not in self]
        if missing:
            raise ValueError(f"it has neither an entry 'X' nor {', '.join(map(repr, missing))}")
        data, shape = self.vector("X_data", _NUMBERS), self.vector("X_shape", _INTEGERS, 2)
        indices, starts = self.vector("X_indices", _INTEGERS), self.vector("X_indptr", _INTEGERS)
        n_rows, n_columns = (int(size) for size in shape)
        if min(n_rows, n_columns) < 0:
            raise ValueError(f"its entry 'X_shape' is {shape.tolist()}")
        if len(starts) != n_rows + 1:
            raise ValueError(
                f"its entry 'X_indptr' has {len(starts)} values, and X_shape makes that {n_rows + 1}"
            )
        if len(indices) != len(data):
            raise ValueError(f"its entry 'X_indices' has {len(indices)} values, and X_data has {len(data)}")
        if starts[0] != 0 or starts[-1] != len(data) or (starts[1:] < starts[:-1]).any():
            raise ValueError(f"its entry 'X_indptr' does not rise from 0 to {len(data)}")
        _require_range("X_indices", indices, n_columns)
        return build_csr(data, indices, starts, (n_rows, n_columns))

    def splits(self, n_samples):
        """Published splits by their number of labels."""
        found = {}
        for name in self._arrays:
            if name.startswith("labeled_"):
                number = name.removeprefix("labeled_")
                if not number.isdecimal():
                    raise ValueError(f"its entry {name!r} does not end in a number of labels")
                rows = self.array(name, 2, _INTEGERS)
                _require_range(name, rows, n_samples)
                found[int(number)] = rows.astype(np.intp)
        return dict(sorted(found.items()))


def _require_range(name, values, end):
    if values.size and (values.min() < 0 or values.max() >= end):
        raise ValueError(f"its entry {name!r} has codes outside 0..{end - 1}")
