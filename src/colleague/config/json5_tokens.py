"""The tokens of a valid JSON5 text, for whoever needs to know where something stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/)
      | (?P<space>[\s\ufeff]+)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<mark>[{}\[\]:,])
      | (?P<word>[^\s\ufeff{}\[\]:,"'/]+)""",
    re.DOTALL | re.VERBOSE,
)


def tokens(text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Strings, marks and words from `start` on; `lastgroup` says which."""
    return (each for each in _TOKEN.finditer(text, start) if each.lastgroup not in ("comment", "space"))


def comments(text: str) -> list[str]:
    return [each[0] for each in _TOKEN.finditer(text) if each.lastgroup == "comment"]


def key_of(token: str) -> str:
    """The key that a token spells."""
    if "\\" in token:
        import pyjson5

        return str(next(iter(pyjson5.decode(f"{{{token}:0}}"))))
    return token[1:-1] if token[0] in "\"'" else token
