"""Reads HTTP requests, with limits that hold before a caller is authenticated."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from colleague.gateway.api_error import ApiError
from colleague.gateway.limits import Limits

log = logging.getLogger(__name__)

MALFORMED = ApiError(400, "bad-request", "this is no HTTP request that makes sense")
TOO_SLOW = ApiError(408, "too-slow", "the headers of the request took too long")
TOO_LARGE = ApiError(431, "headers-too-large", "the headers of the request are too many or too long")
TOO_MANY = ApiError(503, "too-many-connections", "too many connections are open; try again later")


_WHOLE_URL = re.compile(rb"https?://([^/?#]*)/.*", re.IGNORECASE | re.DOTALL)


def _names_this_host(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """A target is a path. A whole URL counts when it names the same host as the header, which is checked."""
    if target.startswith(b"/"):
        return True
    match = _WHOLE_URL.fullmatch(target)
    hosts = [value.strip().lower() for name, value in headers if name == b"host"]
    return match is not None and hosts == [match[1].lower()]


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's own, which has no limits for the head of a request."""

    def __init__(self, *arguments: Any, limits: Limits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.logger = log
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._refusal = MALFORMED
        self._in_head = True
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= self._limits.connections:
            self.transport = transport
            self._refuse(TOO_MANY)
            return
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._head_bytes > self._limits.head_bytes and not self.transport.is_closing():
            self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._start_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        size = sum(len(each) for header in self.headers for each in header)
        if len(self.headers) > self._limits.headers or size > self._limits.head_bytes:
            self._refusal = TOO_LARGE
            raise ValueError(TOO_LARGE.message)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        if not _names_this_host(self.url, self.headers):
            raise ValueError(MALFORMED.message)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._head_bytes = True, 0

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says the same in JSON
        self._refuse(self._refusal)

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self._limits.head_seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._start_timer()  # the request before this one is still being answered
        elif not self.transport.is_closing():
            self._refuse(TOO_SLOW)

    def _refuse(self, refusal: ApiError) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(
                refusal.body
            )
            self.transport.write(STATUS_LINE[refusal.status] + head + refusal.body)
        self.transport.close()
