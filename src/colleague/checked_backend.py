"""Connections of the HTTP client, made only to addresses that were checked."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore2

from colleague.web_addresses import AddressRules


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Looks a name up once, checks every address, and connects to one of those."""

    def __init__(self, rules: AddressRules) -> None:
        self._rules = rules
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._rules.addresses(host, port)
        for last, address in enumerate(addresses, 1 - len(addresses)):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if last == 0:
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError(f"{path} is no address on the web")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
