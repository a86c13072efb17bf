"""A web server on this machine, whose answers are written byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """`answers` by path; `asked` is what came in, the whole head of each request."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            answer = self.answers.get(head.split(" ")[1].partition("?")[0], page("", status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort() if writer.is_closing() else writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(5):
                    await writer.wait_closed()


def page(
    body: str | bytes, content_type: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str
) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(data)}\r\n{more}"
    return f"{head}Connection: close\r\n\r\n".encode() + data


def redirect(location: str) -> bytes:
    return page("", status="302 Found", Location=location)


@asynccontextmanager
async def site(**answers: Answer) -> AsyncIterator[Site]:
    """`answers` by the path without its slash."""
    made = Site({f"/{path}": answer for path, answer in answers.items()})
    tasks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(made.serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
