"""HTTP to a gateway on this machine: one request, or one stream, over a connection of its own.

Small on purpose: a command that asks a gateway is quick because it imports no HTTP library."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httptools

READ_BYTES = 1 << 16


class ConnectionLost(Exception):
    """The other side cannot be reached, or went away before it had answered."""


@dataclass
class _Answer:
    """What httptools tells of an answer while it is read."""

    body: bytearray = field(default_factory=bytearray)
    begun: bool = False
    complete: bool = False

    def on_headers_complete(self) -> None:
        self.begun = True

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.complete = True

    def take(self) -> bytes:
        taken = bytes(self.body)
        self.body.clear()
        return taken


@dataclass(frozen=True)
class HttpAddress:
    """Where a gateway listens, and the token for it."""

    host: str
    port: int
    token: str = field(default="", repr=False)
    by: str = ""
    """Who asks, for the audit log of the gateway."""

    async def send(self, method: str, path: str, body: Any, *, seconds: float) -> tuple[int, bytes]:
        """Status and body of the answer. Raises ConnectionLost."""
        async with self._open(method, path, body, seconds) as (reader, answer, parser):
            while not answer.complete:
                await _read(reader, parser, seconds)
            return parser.get_status_code(), answer.take()

    async def stream(self, path: str, *, connect: float, silence: float) -> AsyncIterator[bytes]:
        """The pieces of an answer as they come. Raises ConnectionLost, also after `silence` seconds.

        An answer other than 200 is raised as HttpRefused."""
        async with self._open("GET", path, None, connect) as (reader, answer, parser):
            while not answer.begun:
                await _read(reader, parser, connect)
            status = parser.get_status_code()
            while not answer.complete:
                if status == 200 and answer.body:
                    yield answer.take()
                await _read(reader, parser, silence)
            if status != 200:
                raise HttpRefused(status, answer.take())
            yield answer.take()

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, path: str, body: Any, seconds: float
    ) -> AsyncIterator[tuple[asyncio.StreamReader, _Answer, Any]]:
        answer = _Answer()
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(self.host, self.port)
        except (OSError, TimeoutError) as error:
            raise ConnectionLost(_reason(error)) from None
        try:
            writer.write(self._request(method, path, body))
            with contextlib.suppress(OSError):  # it may have answered without reading all of it
                await writer.drain()
            yield reader, answer, httptools.HttpResponseParser(answer)
        finally:
            writer.close()

    def _request(self, method: str, path: str, body: Any) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{self.port}", "Connection: close"]
        lines += [f"Authorization: Bearer {self.token}"] if self.token else []
        lines += [f"X-Colleague-By: {quote(self.by)}"] if self.by else []
        if body is not None or method != "GET":
            lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        return "\r\n".join([*lines, "", ""]).encode() + data


@dataclass
class HttpRefused(Exception):
    """An answer that is no stream."""

    status: int
    body: bytes


async def _read(reader: asyncio.StreamReader, parser: Any, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            data = await reader.read(READ_BYTES)
    except (OSError, TimeoutError) as error:
        raise ConnectionLost(_reason(error)) from None
    if not data:
        raise ConnectionLost("it closed the connection")
    try:
        parser.feed_data(data)
    except httptools.HttpParserError as error:
        raise ConnectionLost(f"its answer is no HTTP: {error}") from None


def _reason(error: OSError | TimeoutError) -> str:
    return "it takes too long" if isinstance(error, TimeoutError) else error.strerror or str(error)
