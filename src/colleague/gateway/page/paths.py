"""Which addresses are the page's: they ask for a person who is signed in, not for a token."""

from __future__ import annotations

from starlette.types import Scope

from colleague.gateway.same_origin import header_values

_TOPS = frozenset(
    (
        *("", "approve", "chat", "docs", "experts", "inbox", "login", "logout", "news", "overview", "runs"),
        *("settings", "static", "welcome"),
    )
)
PROGRAMS = frozenset(("api", "healthz", "hooks", "mcp", "metrics", "openapi.json", "readyz", "v1"))
"""Below these are programs' addresses, all of them: a browser is answered as any other program is."""

_WITH_SECRET = frozenset(("login", "approve"))


def top_of(path: str) -> str:
    return path[1:].partition("/")[0]


def is_page(path: str) -> bool:
    return path.startswith("/") and top_of(path) in _TOPS


def wants_page(scope: Scope) -> bool:
    """Whether a page is the answer: also when somebody at a browser asks for what nobody has."""
    path: str = scope["path"]
    return is_page(path) or (top_of(path) not in PROGRAMS and is_browser(scope))


def is_browser(scope: Scope) -> bool:
    """Whether somebody looks at an address, and would read a page."""
    return scope["method"] in ("GET", "HEAD") and reads_pages(scope)


def reads_pages(scope: Scope) -> bool:
    return "text/html" in ",".join(header_values(scope, b"accept")).lower()


def without_secret(path: str) -> str:
    """For a log: the secret of a link is left out."""
    top, _, rest = path[1:].partition("/")
    return f"/{top}/..." if top in _WITH_SECRET and rest else path
