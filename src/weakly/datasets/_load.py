"""Read benchmark data from the directory that ``WEAKLY_DATA`` names."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from weakly.datasets._entries import read_dataset, read_splits
from weakly.datasets._sources import LAYOUT, how_to_get

_VARIABLE = "WEAKLY_DATA"
_DRAWS = "_draws"  # NAME_draws.npz has splits of NAME and nothing else


def load(name, *, directory=None):
    """Load a benchmark dataset.

    Parameters
    ----------
    name : str
        Name of the dataset: the file's name without ``.npz``.
    directory : path-like or None, default=None
        Where the files are; ``None`` reads the environment variable ``WEAKLY_DATA``.

    Returns
    -------
    sklearn.utils.Bunch
        With the fields

        - ``X`` : ndarray or CSR array of shape (n_rows, n_features), in the type it is stored in; missing
          values are ``NaN``;
        - ``y`` : ndarray of intp, codes 0..C-1, and ``target_names``, the names of the classes;
        - ``bags`` and ``bag_y`` in place of ``y`` for multi-instance data: bag of each row, label
          of each bag;
        - ``labeled_splits`` : dict from the number of labels to an array of shape (n_splits, n_labels) with
          the labeled samples of the published splits, of this file and of ``NAME_draws.npz`` where there is
          one; empty where none are published;
        - ``is_train`` : ndarray of bool, where a train/test split is customary;
        - ``feature_names``, where the features have names.

    Raises
    ------
    ValueError
        If the directory or the file is absent, or the file does not have the layout.

    See Also
    --------
    list_datasets : Names that can be loaded.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from weakly.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez_compressed(Path(folder) / "pets.npz", X=np.eye(2), y=[0, 1], classes=["cat", "dog"])
    ...     pets = load("pets", directory=folder)
    >>> pets.X.shape, pets.target_names[pets.y].tolist()
    ((2, 2), ['cat', 'dog'])

    The error for a dataset that is absent names the public collection it comes from and has code that
    converts it.
    """
    path = find_file(name, directory=directory)
    draws = path.with_stem(path.stem + _DRAWS)
    try:
        bunch = read_dataset(path)
        if draws.exists():
            path = draws
            bunch.labeled_splits |= read_splits(draws, bunch.X.shape[0])
    except ValueError as error:
        raise ValueError(f"The file {path} cannot be read as a dataset: {error}. {LAYOUT}") from error
    return bunch


def find_file(name, *, directory=None):
    """Path of a dataset's file; without it, an error that says in its first line what is missing."""
    folder = _find_directory(directory, name)
    available = list_datasets(directory=folder)
    path = folder / f"{name}.npz"
    if name not in available:
        near = get_close_matches(str(name), available)
        raise ValueError(
            f"There is no dataset {name!r}: the file {path} does not exist."
            + (f" Did you mean {' or '.join(map(repr, near))}?" if near else "")
            + f" Available: {', '.join(available) or 'none'}. {how_to_get(name)}"
        )
    return path


def list_datasets(*, directory=None):
    """List the datasets that can be loaded.

    Parameters
    ----------
    directory : path-like or None, default=None
        Where the files are; ``None`` reads the environment variable ``WEAKLY_DATA``.

    Returns
    -------
    list of str
        Names, sorted.

    Raises
    ------
    ValueError
        If the directory is not given or absent.

    Examples
    --------
    >>> import tempfile
    >>> from weakly.datasets import list_datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_datasets(directory=folder)
    []
    """
    names = {path.stem for path in _find_directory(directory).glob("*.npz")}
    return sorted(name for name in names if name.removesuffix(_DRAWS) not in names - {name})


def _find_directory(directory, name=""):
    source = "directory" if directory is not None else _VARIABLE
    directory = directory if directory is not None else os.environ.get(_VARIABLE)
    if directory and Path(directory).is_dir():
        return Path(directory)
    problem = (
        f"{source} names {str(directory)!r}, which is not a directory"
        if directory
        else f"{source} is not set"
    )
    raise ValueError(
        f"The benchmark data was not found: {problem}. Set the environment variable {_VARIABLE} to the "
        f"directory that holds the files NAME.npz (export {_VARIABLE}=/path/to/data), or pass directory=. "
        f"{how_to_get(name)}"
    )
