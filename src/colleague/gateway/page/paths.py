"""Which addresses are the page's: they ask for a person who is signed in, not for a token."""

from __future__ import annotations

_TOPS = frozenset(("", "inbox", "login", "logout", "news", "runs", "static"))


def is_page(path: str) -> bool:
    return path.partition("/")[0] == "" and path[1:].partition("/")[0] in _TOPS
