"""The layers around the routes: counting, errors, who may come in, how much they may bring."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colleague.errors import ColleagueError, DatabaseUnavailable
from colleague.gateway.api_error import ApiError, for_path, refusal_of, unavailable
from colleague.gateway.client_address import client_address
from colleague.gateway.limits import Limits
from colleague.gateway.live_settings import LiveSettings
from colleague.gateway.metrics import Metrics
from colleague.gateway.page.paths import reads_pages, wants_page, without_secret
from colleague.gateway.page.problem import refused_page
from colleague.gateway.request_origin import origin_of, set_origin
from colleague.gateway.same_origin import check_host, check_json, check_origin, header_values
from colleague.gateway.throttle import Throttle, network_of
from colleague.shortage import is_shortage

log = logging.getLogger(__name__)

OPEN = frozenset(("/healthz", "/readyz", "/openapi.json"))
"""What anybody may see. Hooks have secrets of their own, and the page knows who is signed in."""
HOOKS = "/hooks/"
UNEXPECTED = ApiError(
    500, "internal", "something went wrong here; the log of the gateway has it", {"Connection": "close"}
)
SHORT = ApiError(
    503,
    "short-of-resources",
    "this machine is short of descriptors, threads or memory now; send it again",
    {"Retry-After": "2"},
)
ENDLESS = ("/events", "/mcp")
"""Streams, of which nobody could tell the head alone."""


class MetricsMiddleware:
    """Outermost: one line of the metrics for each answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = 0
        began = time.monotonic()

        async def counting(message: Message) -> None:
            nonlocal seen
            if message["type"] == "http.response.start":
                seen = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counting)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.answered(scope["method"], route, seen, time.monotonic() - began)


class ErrorMiddleware:
    """Every error becomes an answer in one shape; what nobody expected is in the log, not in the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, path = False, scope["path"]

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ApiError as refusal:
            await answer(refusal, scope, send)
        except ColleagueError as error:
            await answer(refusal_of(error), scope, send)
        except DatabaseUnavailable as error:
            if begun:
                raise
            await answer(unavailable(error), scope, send)
        except TimeoutError:
            log.info("a caller read too slowly and was left")
            raise
        except Exception as error:
            if is_shortage(error) and not begun:
                log.warning("%s %s is told to come again: %s", scope["method"], without_secret(path), error)
                await answer(SHORT, scope, send)
                return
            log.exception("%s %s could not be answered", scope["method"], without_secret(path))
            if begun:
                raise
            await answer(UNEXPECTED, scope, send)


async def answer(refusal: ApiError, scope: Scope, send: Send) -> None:
    """The connection is closed after it: something of the request may be left unread, and without an end."""
    path = scope["path"]
    response = (
        refused_page(path, refusal)
        if wants_page(scope) and reads_pages(scope)
        else Response(for_path(refusal, path).body, refusal.status, refusal.headers, "application/json")
    )
    response.headers["Connection"] = "close"
    await response(scope, _nothing_more, send)


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}


class AuthMiddleware:
    """Who may come in: the right Host on loopback, no page of another site, and the gateway's token."""

    def __init__(self, app: ASGIApp, live: LiveSettings, throttle: Throttle) -> None:
        self._app, self._live, self._throttle = app, live, throttle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        hook = path.startswith(HOOKS)
        check_host(scope, loopback=self._live.listening.loopback and not hook)
        check_origin(scope)
        if not hook and path not in OPEN and not wants_page(scope):
            self._check_token(scope)
            check_json(scope)
        set_origin(origin_of(scope, self._live.settings.gateway.trusted_proxies))
        if "\x00" in path:
            raise ApiError(404, "not-found", "there is nothing here")
        await self._app(scope, receive, send)

    def _check_token(self, scope: Scope) -> None:
        """The token first: who has it is let in, however many others have failed."""
        if not self._live.keys.gateway:
            return
        given = header_values(scope, b"authorization")
        if len(given) == 1 and self._live.keys.opens(given[0].encode("latin-1")):
            return
        if given:
            client = client_address(scope, self._live.settings.gateway.trusted_proxies)
            slow_down(self._throttle, (network_of(client),))
        message = (
            "the token is missing: send Authorization: Bearer TOKEN" if not given else "the token is wrong"
        )
        raise ApiError(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})


def slow_down(throttle: Throttle, key: tuple[str, ...]) -> None:
    """Counts a failed try; raises ApiError when there were too many."""
    if left := throttle.failed(key):
        raise ApiError(429, "too-many-failures", "too many failed tries; wait", {"Retry-After": str(left)})


class LimitMiddleware:
    """Reads the whole body first, within its limits of size and time; bounds how long a reader may take."""

    def __init__(self, app: ASGIApp, limits: Limits, most_bytes: Callable[[Scope], Awaitable[int]]) -> None:
        self._app, self._limits, self._most_bytes = app, limits, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = await self._most_bytes(scope)
        _check_length(scope, most)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await _read(receive, most)
        except TimeoutError:
            raise ApiError(408, "too-slow", "the body of the request took too long") from None
        if body is None:
            return
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return given.pop() if given else await receive()

        async def bounded(message: Message) -> None:
            async with asyncio.timeout(self._limits.send_seconds):
                await send(message)

        await self._app(scope, replay, bounded)


def _check_length(scope: Scope, most: int) -> None:
    for length in header_values(scope, b"content-length"):
        if not length.isascii() or not length.isdigit():
            raise ApiError(400, "bad-request", "Content-Length is no number")
        if len(length) > 18 or int(length) > most:
            raise _too_large(most)


async def _read(receive: Receive, most: int) -> bytes | None:
    """None when the caller went away."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> ApiError:
    return ApiError(413, "too-large", f"the body is larger than {most} bytes")


class MethodMiddleware:
    """HEAD is GET without the body; OPTIONS says what an address takes."""

    def __init__(self, app: ASGIApp, allowed: Callable[[dict[str, Any]], list[str]]) -> None:
        self._app, self._allowed = app, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            await self._tell(scope, send)
        elif scope["method"] == "HEAD":
            if scope["path"].endswith(ENDLESS):
                raise ApiError(405, "method-not-allowed", "this address takes other verbs", {"Allow": "GET"})
            await self._app({**scope, "method": "GET"}, receive, _without_body(send))
        else:
            await self._app(scope, receive, send)

    async def _tell(self, scope: Scope, send: Send) -> None:
        methods = self._allowed(dict(scope))
        if not methods:
            raise ApiError(404, "not-found", "there is nothing at this address; see /openapi.json")
        headers = [(b"allow", ", ".join(methods).encode())]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sending
