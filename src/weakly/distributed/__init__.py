"""Fits on Dask collections: rows that one machine does not hold.

The estimators themselves take them: ``fit(X, y)`` with ``dask.array`` or ``dask.dataframe`` collections.
Names load on first use. Without Dask they are there too, and say how to install it when they are called.
"""

from importlib import import_module

_HOME = {
    "DaskBlocks": "_blocks",
    "checked_rows": "_collections",
    "connect": "_cluster",
    "fitted_values": "_collections",
    "labels_of": "_labels",
    "map_method": "_collections",
    "rows_of": "_collections",
    "spread": "_cluster",
    "targets_of": "_labels",
    "weights_of": "_labels",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import dask.array  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        return _absent(name, error)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return sorted([*globals(), *__all__])


def _absent(name, error):
    """A function that says what a name needs."""

    def needs_dask(*args, **kwargs):
        """Needs Dask: pip install 'weakly[dask]'."""
        raise ImportError("Dask collections need dask: pip install 'weakly[dask]'") from error

    needs_dask.__name__ = needs_dask.__qualname__ = name
    return needs_dask
