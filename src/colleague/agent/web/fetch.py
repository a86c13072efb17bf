"""Gets what is at an address of the web: by GET, without cookies, credentials or proxies, each redirect
checked, within limits."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache

from colleague import __version__
from colleague.agent.web.body import ENCODINGS, Body, read_body
from colleague.errors import ColleagueError
from colleague.web_addresses import AddressRules

_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "user-agent": f"colleague/{__version__}",
    "accept": "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5",
    "accept-encoding": ENCODINGS,
}
_LONGEST_URL = 8_000


class FetchFailed(ColleagueError):
    """Nothing came back that can be used."""


@dataclass(frozen=True)
class FetchLimits:
    """What one fetch may take."""

    response_bytes: int
    redirects: int
    seconds: float


@dataclass(frozen=True)
class FetchedPage:
    """An answer of a server. `url` is where it came from in the end."""

    url: str
    status: int
    content_type: str
    charset: str
    body: Body


async def fetch(
    url: str, rules: AddressRules, limits: FetchLimits, headers: Mapping[str, str] | None = None
) -> FetchedPage:
    """Raises ColleagueError: FetchFailed, AddressRefused, AddressUnknown, BodyUnreadable."""
    try:
        async with asyncio.timeout(limits.seconds):
            return await _fetch(url, rules, limits, {**_HEADERS, **(headers or {})})
    except TimeoutError:
        raise FetchFailed(f"{url} did not answer in full within {limits.seconds:g} seconds") from None


async def _fetch(
    url: str, rules: AddressRules, limits: FetchLimits, headers: Mapping[str, str]
) -> FetchedPage:
    context = await asyncio.to_thread(_trusted)
    for _ in range(limits.redirects + 1):
        target = parsed_url(url)
        async with _answer(target, rules, context, headers) as (status, said, stream):
            location = said.get("location", "")
            if status not in _REDIRECTS or not location:
                body = await read_body(stream, said.get("content-encoding", ""), limits.response_bytes)
                kind, _, rest = said.get("content-type", "").partition(";")
                return FetchedPage(target, status, kind.strip().lower(), _charset(rest), body)
        url = _joined(target, location)
    raise FetchFailed(f"{url} is one redirect too many", hint=f"{limits.redirects} are followed")


def parsed_url(url: str) -> str:
    """The address in its full form. Raises FetchFailed for what is no address on the web."""
    import httpx2

    try:
        found = httpx2.URL(url.strip()[: _LONGEST_URL + 1])
    except (httpx2.InvalidURL, ValueError) as error:
        raise FetchFailed(f"{url[:200]!r} is no address: {error}") from None
    if len(url) > _LONGEST_URL:
        raise FetchFailed(f"the address has more than {_LONGEST_URL:,} characters")
    if found.scheme not in ("http", "https") or not found.host:
        raise FetchFailed(
            f"{url[:200]!r} is no address on the web", hint="it begins with http:// or https://"
        )
    if found.userinfo:
        raise FetchFailed("an address with a name or password in it is not fetched", hint="leave them out")
    return str(found.copy_with(fragment=None))


def _joined(base: str, location: str) -> str:
    import httpx2

    try:
        return str(httpx2.URL(base).join(location))
    except (httpx2.InvalidURL, ValueError) as error:
        raise FetchFailed(f"{base} redirects to what is no address: {error}") from None


@asynccontextmanager
async def _answer(
    url: str, rules: AddressRules, context: ssl.SSLContext, headers: Mapping[str, str]
) -> AsyncIterator[tuple[int, dict[str, str], AsyncIterator[bytes]]]:
    import httpcore2

    from colleague.checked_backend import CheckedBackend

    try:
        async with (
            httpcore2.AsyncConnectionPool(
                ssl_context=context, max_keepalive_connections=0, network_backend=CheckedBackend(rules)
            ) as pool,
            pool.stream("GET", url, headers=[("Host", _host(url)), *headers.items()]) as response,
        ):
            said = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
            }
            yield response.status, said, response.aiter_stream()
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise FetchFailed(f"{url} gave no answer: {error or type(error).__name__}") from None


def _host(url: str) -> str:
    import httpx2

    return httpx2.URL(url).netloc.decode("ascii")


@cache
def _trusted() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _charset(parameters: str) -> str:
    for each in parameters.split(";"):
        name, _, value = each.partition("=")
        if name.strip().lower() == "charset":
            return value.strip(" \"'")
    return ""
