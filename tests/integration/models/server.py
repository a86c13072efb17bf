"""A provider on loopback that says exactly what a test wants, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True)
class Page:
    """An answer in one piece."""

    status: int
    body: object = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()

    @property
    def kind(self) -> str:
        return "text/html" if isinstance(self.body, str) else "application/json"


@dataclass(frozen=True)
class Stream:
    """Server-sent events. `end` is what comes after them."""

    events: Sequence[str]
    end: str = "whole"
    """whole; cut: the connection breaks; eof: it closes as if all were said; stall: silence; drip: comments
    for as long as somebody listens."""


@dataclass
class Request:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class WireServer:
    """Gives its answers in turn, the last one for ever."""

    answers: Sequence[Page | Stream]
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    _open: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[writer] = asyncio.current_task()
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while (request := await _read(reader)) is not None:
                    self.requests.append(request)
                    answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
                    if not await self._answer(answer, reader, writer):
                        break
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def hang_up(self) -> None:
        """Ends what serves connections, so that nothing is left when the loop closes."""
        for writer in self._open:
            writer.close()
        await asyncio.gather(*filter(None, self._open.values()))

    async def _answer(
        self, answer: Page | Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection stays open."""
        if isinstance(answer, Page):
            _head(
                writer, answer.status, {"Content-Length": str(len(answer.raw)), **answer.headers}, answer.kind
            )
            writer.write(answer.raw)
            await writer.drain()
            return True
        closes = answer.end == "eof"
        way = {"Connection": "close"} if closes else {"Transfer-Encoding": "chunked"}
        _head(writer, 200, way, "text/event-stream")
        for event in answer.events:
            raw = event.encode()
            writer.write(raw if closes else b"%x\r\n%s\r\n" % (len(raw), raw))
            await writer.drain()
            await asyncio.sleep(0)
        while answer.end == "drip" and not writer.is_closing():
            writer.write(b"3\r\n:\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)
        if answer.end == "stall":
            try:
                await reader.read(1)
            finally:  # a caller who leaves what was sent unread resets the connection
                self.hung_up.set()
        if answer.end == "whole":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return answer.end == "whole"


@contextlib.asynccontextmanager
async def serving(*answers: Page | Stream) -> AsyncIterator[WireServer]:
    wire = WireServer(answers)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
        await wire.hang_up()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    body = dict(parse_qsl(raw.decode())) if form else json.loads(raw) if raw else None
    return Request(first.split(" ")[1], headers, body)


def _head(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], kind: str) -> None:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())


def sse(data: object, event: str = "") -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "") + f"data: {text}\n\n"
