"""The address of a caller, also behind proxies that the settings name."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Iterable, Sequence

from starlette.types import Scope

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_HOPS = 50
_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;,"\s]*)\s*(?=;|$)', re.IGNORECASE)
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([0-9.]+):\d{1,5}")


def client_address(scope: Scope, trusted_proxies: Sequence[str]) -> str:
    """The address of the caller. Headers count only when a trusted proxy is at the other end.

    Then it is the last hop that is no trusted proxy. X-Forwarded-For and Forwarded must agree when both are
    there: a proxy sets one of them and passes the other on as a stranger wrote it."""
    client = scope.get("client")
    peer = str(client[0]) if client else ""
    networks = _networks(tuple(trusted_proxies))
    nearest = _address(peer)
    if nearest is None or not _is_trusted(nearest, networks):
        return peer
    given = (_forwarded_for(scope), _forwarded(scope))
    found = {str(_last_untrusted(nearest, hops, networks)) for hops in given if hops}
    return found.pop() if len(found) == 1 else str(nearest)


def _last_untrusted(nearest: Address, hops: Sequence[str], networks: Iterable[Network]) -> Address:
    """Walks from our end. What is no address ends the walk: nobody trusted has said anything before it."""
    for hop in reversed(hops[-MOST_HOPS:]):
        address = _address(hop)
        if address is None:
            break
        nearest = address
        if not _is_trusted(address, networks):
            break
    return nearest


def _forwarded_for(scope: Scope) -> list[str]:
    return [hop.strip() for line in _lines(scope, b"x-forwarded-for") for hop in line.split(",")]


def _forwarded(scope: Scope) -> list[str]:
    """The `for` of each element; an element without one is a hop that hides its caller."""
    elements = [element for line in _lines(scope, b"forwarded") for element in line.split(",")]
    named = [_FOR.findall(element) for element in elements]
    return [found[0].strip('"') if len(found) == 1 else "" for found in named]


def _lines(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _address(text: str) -> Address | None:
    """An address, with or without a port; IPv4 inside IPv6 is the IPv4 address."""
    match = _WITH_PORT.fullmatch(text)
    try:
        found = ipaddress.ip_address(match[1] or match[2] if match else text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address):
        return None if found.scope_id else found.ipv4_mapped or found
    return found


def _is_trusted(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


@functools.lru_cache(maxsize=4)
def _networks(written: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(each, strict=False) for each in written)
