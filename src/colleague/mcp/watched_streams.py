"""The streams between client and transport, watched: what was sent, and when the connection ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from colleague.mcp.call import under_way

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class WatchedReadStream:
    """Passes messages on, and tells when there will be no more."""

    def __init__(self, inner: Any, on_end: Callable[[], None]) -> None:
        self._inner, self._on_end = inner, on_end

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end()
            raise
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class WatchedWriteStream:
    """Passes messages on, and notes on a call how far it got."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        call, message = under_way.get(), item.message
        if call is None or not isinstance(message, JSONRPCRequest) or message.method != "tools/call":
            await self._inner.send(item)
            return
        call.request_id, call.written = message.id, True
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            call.written = False
            raise
        call.handed_over = True

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[TransportStreams], on_end: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """The same transport with both streams watched."""
    async with transport as (reads, writes):
        yield WatchedReadStream(reads, on_end), WatchedWriteStream(writes)
