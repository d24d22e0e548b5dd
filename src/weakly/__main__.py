"""``python -m weakly`` is the command ``weakly``."""

from weakly.cli import main

if __name__ == "__main__":
    main()
