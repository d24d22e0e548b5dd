"""The command line, ``weakly``."""

import sys
from importlib.util import find_spec

_EXTRA = ("typer", "rich", "pandas", "pyarrow")


def main():
    """Run the command line; without the extra ``cli``, leave with the pip command that installs it."""
    absent = [name for name in _EXTRA if find_spec(name) is None]
    if absent:
        sys.exit(f"weakly: the command line needs {', '.join(absent)}: pip install 'weakly[cli]'")
    from ._app import app

    app()
