"""Which addresses are the page's: they ask for a person who is signed in, not for a token."""

from __future__ import annotations

_TOPS = frozenset(
    (
        *("", "approve", "chat", "docs", "experts", "inbox", "login", "logout", "news", "overview", "runs"),
        *("settings", "static", "welcome"),
    )
)

_WITH_SECRET = frozenset(("login", "approve"))


def is_page(path: str) -> bool:
    return path.partition("/")[0] == "" and path[1:].partition("/")[0] in _TOPS


def without_secret(path: str) -> str:
    """For a log: the secret of a link is left out."""
    top, _, rest = path[1:].partition("/")
    return f"/{top}/..." if top in _WITH_SECRET and rest else path
