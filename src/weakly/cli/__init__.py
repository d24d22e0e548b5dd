"""The command line, ``weakly``."""

import sys
from importlib.util import find_spec

_EXTRA = ("typer", "rich", "pandas", "pyarrow")


def main():
    """Run the command line; without the extra ``cli``, leave with the pip command that installs it."""
    absent = [name for name in _EXTRA if not _is_installed(name)]
    if absent:
        sys.exit(f"weakly: the command line needs {', '.join(absent)}: pip install 'weakly[cli]'")
    try:
        from weakly.cli._app import app
    except KeyboardInterrupt:
        print("interrupted.", file=sys.stderr)
        sys.exit(130)
    app()


def _is_installed(name):
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # from an import hook that hides it
        return False
