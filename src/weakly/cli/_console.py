"""The door to the terminal: text of tables, files and errors can be read there, and do nothing else."""

from __future__ import annotations

import re

from rich.console import Console

# Control characters, marks that turn the direction of text, line ends of Unicode, bytes that are no UTF-8.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def visible(text, keep=""):
    r"""Return text with the characters that act on a terminal written as escapes.

    >>> print(visible("\x1b[2Jred"))
    \x1b[2Jred
    """
    return _HIDDEN.sub(lambda match: _escape(match[0], keep), str(text))


def _escape(character, keep):
    return character if character in keep else character.encode("unicode_escape").decode("ascii")


class SafeConsole(Console):
    """A console that takes every string for somebody else's: no markup, and nothing but visible characters.

    Renderables, such as ``rich.text.Text``, are the command line's own and go through as they are.
    """

    def __init__(self, **options):
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text, **options):
        """Render a string; rich calls this for lines, titles and cells of tables alike."""
        shown = visible(text).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return super().render_str(shown, **options)
