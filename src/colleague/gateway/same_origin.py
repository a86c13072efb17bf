"""Refuses requests that pages of other sites make through a browser on this machine."""

from __future__ import annotations

import re

from starlette.types import Scope

from colleague.gateway.api_error import ApiError

_LOOPBACK_HOST = re.compile(
    r"(?:localhost|127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}|\[::1\])(?::([0-9]{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_JSON = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_OWN_PAGES = ("same-origin", "none")
_SAFE_METHODS = ("GET", "HEAD")


def check_host(scope: Scope, *, loopback: bool) -> None:
    """A page whose own name points to this machine sends that name; only ours are answered on loopback."""
    hosts = header_values(scope, b"host")
    if len(hosts) > 1:
        raise ApiError(400, "bad-request", "the header Host is there more than once")
    if loopback and not (hosts and is_loopback_host(hosts[0])):
        hint = "open it by one of these names; a proxy sends 127.0.0.1 as Host; gateway.bind lets others in"
        raise ApiError(
            403, "wrong-host", "this gateway answers to localhost and 127.0.0.1 only", more={"hint": hint}
        )


def is_loopback_host(host: str) -> bool:
    """Exactly a name of this machine, and a port that can be one. Nothing is guessed or corrected."""
    match = _LOOPBACK_HOST.fullmatch(host)
    return match is not None and (match[1] is None or 1 <= int(match[1]) <= 65535)


def check_origin(scope: Scope) -> None:
    """Browsers say which page sends a request. Programs that are no browsers say nothing, and may call."""
    hosts = header_values(scope, b"host")
    own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https") for host in hosts if host}
    origins = header_values(scope, b"origin")
    sites = header_values(scope, b"sec-fetch-site")
    # a form of our own page, which tells nobody where it is from, comes without an origin
    own |= {"null"} if sites == ["same-origin"] else set()
    foreign = any(origin.lower() not in own for origin in origins)
    foreign = foreign or (is_foreign_link(scope) and not _is_link(scope))
    if foreign:
        raise ApiError(403, "wrong-origin", "pages of other sites may not call this gateway")


def is_foreign_link(scope: Scope) -> bool:
    """Whether a page of another site led here. Nothing said is no browser, or one too old to tell."""
    return any(site not in _OWN_PAGES for site in header_values(scope, b"sec-fetch-site"))


def _is_link(scope: Scope) -> bool:
    """Somebody follows a link to here, in a window of its own: that changes nothing, and no page reads it."""
    modes, kinds = header_values(scope, b"sec-fetch-mode"), header_values(scope, b"sec-fetch-dest")
    return scope["method"] in _SAFE_METHODS and modes == ["navigate"] and kinds == ["document"]


def check_json(scope: Scope) -> None:
    """What changes something is sent as JSON: the types that a form can send are refused."""
    if scope["method"] in (*_SAFE_METHODS, "OPTIONS"):
        return
    if any(_JSON.fullmatch(kind) is None for kind in header_values(scope, b"content-type")):
        raise ApiError(415, "not-json", "send JSON, with the header Content-Type: application/json")


def header_values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip(" \t") for key, value in scope["headers"] if key == name]
