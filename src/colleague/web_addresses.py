"""Which addresses are public, and which hosts may be elsewhere."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from colleague.errors import ColleagueError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
_TUNNELS = (ipaddress.ip_network("2002::/16"), ipaddress.ip_network("2001::/32"))
"""6to4 and Teredo: they lead to an IPv4 address."""


class AddressRefused(ColleagueError):
    """An address that agents are kept from."""


class AddressUnknown(ColleagueError):
    """A name that has no address."""


@dataclass(frozen=True)
class AddressRules:
    """`allowed`: hosts that may have a private address, each as host or host:port."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hosts: Iterable[str]) -> AddressRules:
        return cls(frozenset(each.strip().casefold() for each in hosts))

    async def addresses(self, host: str, port: int) -> list[str]:
        """Where a connection to this host may go. The name is looked up once, here: whoever connects takes
        one of these addresses, so that no second answer counts. Raises AddressRefused, AddressUnknown."""
        found = await _resolved(host, port)
        if self.allows(host, port):
            return found
        for each in found:
            if not is_public(each):
                raise AddressRefused(
                    f"{host} is at {each}, which is no public address",
                    hint="a person can allow it: tools.web.fetch.allowPrivate",
                )
        return found

    def allows(self, host: str, port: int) -> bool:
        """Whether a person named this host."""
        name = host.strip("[]").rstrip(".").casefold()
        return bool(self.allowed & {name, f"{name}:{port}", f"[{name}]:{port}"})


async def _resolved(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except (OSError, UnicodeError) as error:
        raise AddressUnknown(f"{host} has no address that can be found: {error}") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_public(text: str) -> bool:
    """Whether an address is one of the open internet."""
    try:
        address = _inner(ipaddress.ip_address(text))
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        is_special = address not in _UNICAST or any(address in each for each in _TUNNELS)
    else:
        is_special = address.is_reserved
    return address.is_global and not (is_special or address.is_multicast or address.is_private)


def _inner(address: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 address stands for, else itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address
