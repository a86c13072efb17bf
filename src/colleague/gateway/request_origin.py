"""Who sent the request that is being answered, for the audit log.

A context variable, because a request is one task from the first layer to the service."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from urllib.parse import unquote

from starlette.types import Scope

from colleague.gateway.client_address import client_address
from colleague.gateway.same_origin import header_values
from colleague.origin import Origin, OriginSource

BY = b"x-colleague-by"
"""The command line says who typed it. Whoever has the token may say so."""
LONGEST_NAME = 64
_API = Origin("api", "api")
_current: ContextVar[Origin] = ContextVar("request_origin", default=_API)


def request_origin() -> Origin:
    return _current.get()


def set_origin(origin: Origin) -> None:
    _current.set(origin)


def set_visitor(name: str, source: OriginSource) -> None:
    """The person is known only after the route has looked."""
    _current.set(replace(_current.get(), who=name, source=source))


def origin_of(scope: Scope, trusted_proxies: Sequence[str]) -> Origin:
    address = client_address(scope, trusted_proxies)
    given = header_values(scope, BY)
    by = unquote(given[0])[:LONGEST_NAME] if given else ""
    if by.isprintable() and by.strip():
        return Origin(by.strip(), "command", address)
    return replace(_API, address=address)
