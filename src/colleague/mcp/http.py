"""A server elsewhere, spoken to over HTTP: streamable, or the older SSE."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from colleague.errors import ColleagueError
from colleague.mcp.call import under_way
from colleague.mcp.launch import Launch
from colleague.plain_text import plain

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from colleague.mcp.oauth import NewLogin, StoredLogin

_CONNECT_SECONDS = 10.0
_GOODBYE_SECONDS = 3.0
_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
_LONGEST_REASON = 300
_TURNED_AWAY = frozenset([401, 403, 404, 405, 406, 413, 414, 415, 429, 431])
"""Statuses that a request gets before any tool is looked at."""


class HttpConnection:
    """One HTTP connection to a server. `on_lost` is told when only a new connection can help."""

    def __init__(
        self, launch: Launch, on_lost: Callable[[], None], login: StoredLogin | NewLogin | None = None
    ) -> None:
        self._launch, self._on_lost, self._login = launch, on_lost, login
        self.status: int | None = None
        self.needs_login = False
        self.hint = ""
        """What to do about the problem, where it is known."""
        self.problem = ""
        """What went wrong last, as the end of a sentence that begins with the URL."""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[TransportStreams]:
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        if self._launch.protocol == "sse":
            async with sse_client(self._launch.url, httpx_client_factory=self._client) as streams:
                yield streams
            return
        async with (
            self._client() as client,
            streamable_http_client(self._launch.url, http_client=client, max_sse_event_size=None) as streams,
        ):
            yield streams

    def _client(self, *_: object, **__: object) -> httpx2.AsyncClient:
        """Answers also as the factory that the SSE transport asks for; our own settings count."""
        timeout = httpx2.Timeout(None, connect=min(_CONNECT_SECONDS, self._launch.start_seconds))
        return _Client(self, headers=dict(self._launch.headers), timeout=timeout, auth=self._login)

    def accepted(self) -> None:
        self.status, self.problem, self.needs_login, self.hint = None, "", False, ""

    def not_logged_in(self, error: OAuthFlowError | ColleagueError) -> None:
        """A login, or its renewal, failed: the request was not sent."""
        if isinstance(error, ColleagueError):
            self.problem, self.hint = f"could not be logged in to: {error.message}", error.hint
        else:
            self.problem = f"could not be logged in to: {_one_line(str(error))}"
        if call := under_way.get():
            call.refused = self.problem

    def failed(self, error: httpx2.TransportError) -> None:
        """A request got no response."""
        self.problem = _transport_error(error)
        call = under_way.get()
        if not isinstance(error, _NEVER_SENT):
            if call:
                call.trouble = self.problem
            return
        if call:
            call.refused = self.problem
        self._on_lost()

    async def rejected(self, response: httpx2.Response) -> None:
        """A request got an error status; one with a JSON-RPC error in it is the server's own answer."""
        self.status = response.status_code
        self.problem = f"answered HTTP {response.status_code}"
        if self._login and self._login.problem:
            self.problem, self.needs_login = self._login.problem, True
        elif await _is_answer(response):
            return
        if call := under_way.get():
            call.needs_login = self.needs_login
            if response.status_code in _TURNED_AWAY:
                call.refused = self.problem
            else:
                call.trouble = self.problem
        session_gone = response.status_code == 404 and MCP_SESSION_ID in response.request.headers
        if session_gone or (self._launch.protocol == "sse" and response.request.method == "POST"):
            self._on_lost()


class _Client(httpx2.AsyncClient):
    """A failed request is the failure of that request alone; left as it is it would end all others."""

    def __init__(self, server: HttpConnection, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        seconds = _GOODBYE_SECONDS if request.method == "DELETE" else None
        try:
            async with asyncio.timeout(seconds):
                response = await super().send(request, **options)
        except (OAuthFlowError, ColleagueError) as error:
            self._server.not_logged_in(error)
            return httpx2.Response(503, request=request)
        except httpx2.TransportError as error:
            self._server.failed(error)
            return httpx2.Response(503, request=request)
        except TimeoutError:
            return httpx2.Response(504, request=request)
        if response.status_code >= 400:
            await self._server.rejected(response)
            return response
        self._server.accepted()
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Body(response.stream)
        return response


class _Body(httpx2.AsyncByteStream):
    """A body that breaks off in the way the transport expects of one request."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx2.TransportError as error:
            if call := under_way.get():
                call.trouble = _transport_error(error)
            raise httpx2.StreamError(_transport_error(error)) from None

    async def aclose(self) -> None:
        await self._inner.aclose()


def _one_line(text: str) -> str:
    """Words of another server, cut to a size that a person reads."""
    return " ".join(plain(text).split())[:_LONGEST_REASON]


async def _is_answer(response: httpx2.Response) -> bool:
    try:
        body = json.loads(await response.aread())
        return isinstance(body["error"]["code"], int)
    except (httpx2.TransportError, ValueError, TypeError, LookupError):
        return False


def _transport_error(error: httpx2.TransportError) -> str:
    cause = str(error)
    if isinstance(error, httpx2.ConnectTimeout):
        return "cannot be reached: nothing answers there"
    if isinstance(error, httpx2.LocalProtocolError):
        return "cannot be asked: a header in the settings is not valid"
    if isinstance(error, httpx2.UnsupportedProtocol):
        return "is not an http or https address"
    if isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE" in cause or "SSL" in cause:
        return f"cannot be trusted: {cause}"
    if "Name or service not known" in cause or "nodename nor servname" in cause or "getaddrinfo" in cause:
        return "cannot be reached: its host is not known"
    if isinstance(error, httpx2.ConnectError):
        return "refused the connection: nothing listens there"
    return "closed the connection"
