"""OAuth's own requests: to the addresses that a server names, which are not believed.

They go to public addresses, to the server's own, and to those that a person allowed; without cookies, proxies
or redirects, within limits."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from functools import cache

import httpcore2
import httpx2

from colleague import __version__
from colleague.checked_backend import CheckedBackend
from colleague.errors import ColleagueError
from colleague.web_addresses import AddressRefused, AddressRules, AddressUnknown

_SECONDS = 30.0
_MOST_BYTES = 1_000_000
_PORTS = {"http": 80, "https": 443}


class LoginTrouble(ColleagueError):
    """A login, or the renewal of one, did not come to its end."""


class OAuthRequests:
    """Sends them for the MCP server at `url`. `allowed` are hosts that may have a private address."""

    def __init__(self, key: str, url: str, allowed: Iterable[str]) -> None:
        own = httpx2.URL(url)
        self._key = f"{key}.oauth.allowPrivate"
        self._rules = AddressRules.of([f"{own.host}:{_port(own)}", *allowed])

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Raises LoginTrouble."""
        where = str(request.url.copy_with(query=None, fragment=None))
        self._check_scheme(request.url)
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._answer(request)
        except AddressRefused as error:
            raise self._refused(error) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, AddressUnknown, TimeoutError) as error:
            raise LoginTrouble(
                f"the authorization server gave no answer at {where}: {error or type(error).__name__}",
                hint="try again later",
            ) from None

    async def check(self, address: str) -> None:
        """Raises LoginTrouble for an address that no browser should be sent to."""
        url = httpx2.URL(address)
        self._check_scheme(url)
        try:
            await self._rules.addresses(url.host, _port(url))
        except AddressRefused as error:
            raise self._refused(error) from None
        except AddressUnknown as error:
            raise LoginTrouble(error.message) from None

    def _check_scheme(self, url: httpx2.URL) -> None:
        plain = url.scheme == "http" and self._rules.allows(url.host, _port(url))
        where = url.copy_with(query=None, userinfo=b"")
        if (url.scheme != "https" and not plain) or url.userinfo:
            raise LoginTrouble(
                f"the server sends the login to {where}, which is not https",
                hint=f"if that is right, name {url.host} in {self._key}",
            )

    def _refused(self, error: AddressRefused) -> LoginTrouble:
        return LoginTrouble(
            f"the server sends the login elsewhere: {error.message}",
            hint=f"if that is right, name the host in {self._key}",
        )

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        headers = [(b"user-agent", f"colleague/{__version__}".encode()), (b"accept", b"application/json")]
        async with (
            httpcore2.AsyncConnectionPool(
                ssl_context=_context(),
                max_keepalive_connections=0,
                network_backend=CheckedBackend(self._rules),
            ) as pool,
            pool.stream(
                request.method,
                str(request.url),
                headers=[*request.headers.raw, *headers],
                content=await request.aread(),
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise LoginTrouble("the authorization server answers with more than a megabyte")
            return httpx2.Response(response.status, content=bytes(body), request=request)


def _port(url: httpx2.URL) -> int:
    return url.port or _PORTS.get(url.scheme, 0)


@cache
def _context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
