"""A proxy on this machine that lets a browser reach only addresses that were checked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from colleague.errors import ColleagueError
from colleague.web_addresses import AddressRules

_HEAD_SECONDS = 30
_CONNECT_SECONDS = 20
_LONGEST_HEAD = 65_536
_CHUNK = 65_536
_CLOSE_SECONDS = 5


@dataclass(frozen=True)
class _Request:
    """The head of a request to the proxy."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, head: bytes) -> _Request:
        """Raises ValueError."""
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        pairs = [line.partition(":") for line in lines]
        return cls(method, target, tuple((name.strip(), value.strip()) for name, _, value in pairs))

    @property
    def place(self) -> tuple[str, int]:
        """Raises ValueError for what is no address on the web."""
        url = urlsplit(f"//{self.target}" if self.method == "CONNECT" else self.target)
        if not url.hostname or (self.method != "CONNECT" and url.scheme != "http"):
            raise ValueError(self.target)
        return url.hostname, url.port or (443 if self.method == "CONNECT" else 80)

    @property
    def body_bytes(self) -> int:
        """Raises ValueError for a body without a length."""
        given = {name.lower(): value for name, value in self.headers}
        if "transfer-encoding" in given:
            raise ValueError("transfer-encoding")
        return int(given.get("content-length", "0"))

    def forwarded(self) -> bytes:
        """As the server gets it: one request on a connection, so that no second one goes to a wrong host."""
        url = urlsplit(self.target)
        path = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
        own = ("proxy-", "connection", "keep-alive")
        kept = [f"{name}: {value}" for name, value in self.headers if not name.lower().startswith(own)]
        lines = [f"{self.method} {path} HTTP/1.1", *kept, "Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(frozen=True)
class FilterProxy:
    """Serves CONNECT (for https and WebSockets) and plain http. `most_bytes` is for one connection."""

    rules: AddressRules
    most_bytes: int

    @asynccontextmanager
    async def serving(self, door: Path | None = None) -> AsyncIterator[str]:
        """Its address, while the block lasts: a port of this machine, or a Unix socket at `door`."""
        open_now: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer))
            open_now.add(task)
            task.add_done_callback(open_now.discard)

        if door is None:
            server = await asyncio.start_server(begin, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        else:
            server = await asyncio.start_unix_server(begin, door, limit=_LONGEST_HEAD)
        try:
            name = server.sockets[0].getsockname()
            yield str(door) if door else f"http://127.0.0.1:{name[1]}"
        finally:
            server.close()
            for task in open_now:
                task.cancel()
            await asyncio.gather(*open_now, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broken = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        async with _closing(writer):
            with contextlib.suppress(*broken):
                await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            request = _Request.parse(head)
            host, port = request.place
            left = 0 if request.method == "CONNECT" else request.body_bytes
        except ValueError:
            return _refuse(writer, "400 Bad Request", "this is no request to the web")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                there, back = await self._connected(host, port)
        except ColleagueError as error:
            return _refuse(writer, "403 Forbidden", error.message)
        except (OSError, TimeoutError):
            return _refuse(writer, "502 Bad Gateway", f"{host} does not answer")
        async with _closing(back):
            if request.method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._joined(reader, writer, there, back)
            else:
                back.write(request.forwarded() + (await reader.readexactly(left) if left else b""))
                await self._copied(there, writer)
        return None

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To an address that was checked, and to no other."""
        addresses = await self.rules.addresses(host, port)
        for address in addresses[:-1]:
            with contextlib.suppress(OSError):
                return await asyncio.open_connection(address, port)
        return await asyncio.open_connection(addresses[-1], port)

    async def _joined(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> None:
        """Ends when one side does."""
        tasks = [
            asyncio.create_task(self._copied(reader, back)),
            asyncio.create_task(self._copied(there, writer)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _copied(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.most_bytes
        while left > 0 and (chunk := await reader.read(min(_CHUNK, left))):
            left -= len(chunk)
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await writer.wait_closed()


def _refuse(writer: asyncio.StreamWriter, status: str, why: str) -> None:
    body = f"{why}\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
    )
    writer.write(f"{head}\r\n\r\n".encode() + body)
