"""One connection to a server: a task of its own enters and leaves the client, callers only wait."""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague import __version__
from colleague.mcp import diagnosis
from colleague.mcp.answer import ToolAnswer, asks_for_input, read_answer
from colleague.mcp.call import IDEMPOTENCY_KEY, McpCall, OnLate, under_way
from colleague.mcp.errors import CallNotSent, ServerDown, Unknown
from colleague.mcp.launch import Launch
from colleague.mcp.log import ServerLog
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.pid_file import PidFile
from colleague.mcp.tool_list import ToolList

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.shared.exceptions import MCPError

    from colleague.mcp.http import HttpConnection
    from colleague.mcp.stdio import StdioServer

LATE_SECONDS = 15 * 60.0
CLOSE_SECONDS = 10.0
_EXIT_SECONDS = 0.5
_LOST = (
    "Connection closed",
    "SSE stream",
    "Failed to parse",
    "Unexpected content type",
    "Redirect to",
    "server answered a request with 202",
)
"""How the library words the end of a connection: an error as a server would send it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConnectionContext:
    """What a connection is made of and shares with the next one."""

    launch: Launch
    log: ServerLog
    records: PidFile
    on_late: OnLate | None = None


class Connection:
    """Opened once and closed once. `lost` is set when it takes no more calls."""

    def __init__(self, parts: ConnectionContext, *, mode: str = "auto") -> None:
        self._launch, self._log, self._on_late = parts.launch, parts.log, parts.on_late
        self._mode = mode
        self._client: Client | None = None
        self._listing: ToolList | None = None
        self._error: BaseException | None = None
        self._owner: asyncio.Task[None] | None = None
        self._opened, self._closing = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._telling: set[asyncio.Task[None]] = set()
        self._calls: set[McpCall] = set()
        self.lost = asyncio.Event()
        self.since = time.monotonic()
        self._server = _transport(parts, self.lost.set)

    async def open(self) -> None:
        """Starts or reaches the server; ServerDown says why it cannot be."""
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self._launch.name}")
        try:
            async with asyncio.timeout(self._launch.start_seconds):
                await self._opened.wait()
        except TimeoutError:
            await self.close()
            raise await self._not_started(None) from None
        except BaseException:
            await self.close()
            raise
        if self._client is None:
            await self.close()
            raise await self._not_started(self._error or RuntimeError("the connection was closed"))

    async def _not_started(self, error: BaseException | None) -> ServerDown:
        return await diagnosis.not_started(self._launch, self._server, self._log, error)

    @property
    def hung_up(self) -> bool:
        """The server ended the connection by itself."""
        return bool(getattr(self._server, "hung_up", False))

    async def _own(self) -> None:
        from mcp.client import Client
        from mcp_types import Implementation

        from colleague.mcp.watched_streams import watched

        _quieten()
        transport = watched(self._server.connected(), self._closing.set)
        info = Implementation(name="colleague", version=__version__)
        try:
            async with Client(
                transport, mode=self._mode, cache=None, client_info=info, message_handler=self._hear
            ) as client:
                self._begin(client)
                await self._closing.wait()
                self.lost.set()
        except Exception as error:  # noqa: BLE001 - whatever ends the client ends this connection and no more
            self._error = error
        finally:
            self.lost.set()
            self._opened.set()
            await self._end_tasks()

    def _begin(self, client: Client) -> None:
        self._client, self._listing = client, ToolList(self._launch.name, client, self._launch.digest)
        self.since = time.monotonic()
        self._spawn(self._listing.follow_changes())
        self._opened.set()

    async def _hear(self, message: object) -> None:
        from mcp_types import ToolListChangedNotification

        if self._listing and isinstance(message, ToolListChangedNotification):
            self._listing.forget()

    async def retire(self) -> None:
        """Closes once the calls under way have ended."""
        while waiting := [each.task for each in self._calls if each.task and not each.abandoned]:
            await asyncio.wait(waiting)
        await self.close()

    async def close(self) -> None:
        """Ends the connection and, over stdio, the server with all it started."""
        self.lost.set()
        self._closing.set()
        if self._owner is None or self._owner.done():
            return
        if not self._opened.is_set():
            self._owner.cancel()
        _, late = await asyncio.wait({self._owner}, timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()
        _, left = await asyncio.wait({self._owner}, timeout=CLOSE_SECONDS)
        if left:
            logger.error("the connection to MCP server %s does not end; it is left", self._launch.name)

    async def _end_tasks(self) -> None:
        """Calls hear of the end from the client; whoever has not by now never will."""
        calls = {each.task for each in self._calls if each.task and not each.abandoned}
        if calls:
            await asyncio.wait(calls, timeout=_EXIT_SECONDS * 2)
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        if self._telling:
            await asyncio.wait(self._telling, timeout=_EXIT_SECONDS * 2)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    @property
    def calls(self) -> int:
        return sum(not each.abandoned for each in self._calls)

    @property
    def pid(self) -> int | None:
        return getattr(self._server, "pid", None)

    @property
    def protocol_version(self) -> str:
        return (
            (self._client.session.protocol_version or "") if self._client and not self.lost.is_set() else ""
        )

    @property
    def software(self) -> str:
        """What the server says it is."""
        info = self._client.session.server_info if self._client and not self.lost.is_set() else None
        return f"{info.name} {info.version}".strip() if info else ""

    @property
    def known_tools(self) -> int | None:
        known = self._listing.known if self._listing else None
        return None if known is None else len(known)

    async def tools(self, seconds: float) -> tuple[McpTool, ...]:
        """All tools of the server; ServerDown when it does not list them."""
        from mcp.shared.exceptions import MCPError

        if self._listing is None:
            raise RuntimeError("the link is not open")
        hint = f"run colleague mcp probe {self._launch.name}"
        try:
            return await self._listing.get(seconds)
        except TimeoutError:
            what = f"did not list its tools within {seconds:g} s"
        except MCPError as error:
            reason = getattr(self._server, "problem", "") or await self._end_text(error)
            what = self._launch.redact(f"did not list its tools: {reason}")
        raise diagnosis.down(self._launch.name, what, hint)

    async def call(self, call: McpCall, seconds: float) -> ToolAnswer:
        """Sends a call once and waits for its answer. Ends in an answer, NotSent or Unknown."""
        if self.lost.is_set():
            raise self._not_sent(call, "the connection was just lost")
        self._calls.add(call)
        call.task = self._spawn(self._send(call))
        try:
            await asyncio.wait({call.task}, timeout=seconds)
        except asyncio.CancelledError:
            self._abandon(call, "nobody waits for it any more")
            raise
        if not call.task.done():
            self._abandon(call, f"no answer within {seconds:g} s")
            raise self._unknown(call, f"no answer came within {seconds:g} s")
        self._calls.discard(call)
        if call.task.cancelled():
            raise self._unknown(call, "the connection was closed before an answer came")
        return call.task.result()

    async def _send(self, call: McpCall) -> ToolAnswer:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        under_way.set(call)
        try:
            return await self._request(call)
        except MCPError as error:
            return await self._judged(call, error)
        except ValidationError as error:
            text = f"the server's answer is not a valid tool result: {error.error_count()} faults in it"
            return ToolAnswer(text, is_error=True)

    async def _request(self, call: McpCall) -> ToolAnswer:
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, InputRequiredResult
        from pydantic import TypeAdapter

        if self._client is None:
            raise RuntimeError("the link is not open")
        answers: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
        meta: Any = {IDEMPOTENCY_KEY: call.key}
        params = CallToolRequestParams(name=call.tool, arguments=dict(call.arguments), _meta=meta)
        result = await self._client.session.send_request(
            CallToolRequest(params=params), answers, progress_callback=call.tell
        )
        return asks_for_input(result) if isinstance(result, InputRequiredResult) else read_answer(result)

    async def _judged(self, call: McpCall, error: MCPError) -> ToolAnswer:
        """An error of the protocol: the server's answer, or the end of the connection."""
        if call.refused:
            raise self._not_sent(call, f"{self._launch.where} {call.refused}")
        if not call.written:
            raise self._not_sent(call, "the connection was just lost")
        if call.trouble:
            raise self._unknown(call, f"{self._launch.where} {call.trouble}")
        if error.message.startswith(_LOST):
            raise self._unknown(call, await self._end_text(error))
        return ToolAnswer(self._launch.redact(error.message), is_error=True)

    async def _end_text(self, error: MCPError) -> str:
        exit_text = getattr(self._server, "exit_text", None)
        ended = await exit_text(_EXIT_SECONDS) if exit_text else ""
        if ended:
            return f"the server {ended} before it answered"
        closed = error.message.startswith(("Connection closed", "SSE stream"))
        return "the connection was closed before it answered" if closed else error.message

    def _not_sent(self, call: McpCall, reason: str) -> CallNotSent:
        return CallNotSent(
            f"{call.name} was not sent: {self._launch.redact(reason)}",
            server=call.server,
            hint=f"call it again; if that fails, run colleague mcp probe {call.server}",
        )

    def _unknown(self, call: McpCall, reason: str) -> Unknown:
        return Unknown(
            f"{call.name} may have happened: {self._launch.redact(reason)}",
            server=call.server,
            hint="look at the other side whether it happened before it is sent again",
        )

    def _abandon(self, call: McpCall, reason: str) -> None:
        call.abandoned = True
        self._spawn(self._cancel(call, reason))
        self._spawn(self._wait_late(call))

    async def _cancel(self, call: McpCall, reason: str) -> None:
        """Asks the server to stop working on it."""
        from mcp_types import CancelledNotification, CancelledNotificationParams

        if call.request_id is None or not self._client or self.lost.is_set():
            return
        params = CancelledNotificationParams(request_id=call.request_id, reason=reason)
        await self._client.session.send_notification(CancelledNotification(params=params))

    async def _wait_late(self, call: McpCall) -> None:
        """A call that is not out yet is stopped; one that is may still be answered."""
        if call.task is None:
            return
        if call.handed_over:
            await asyncio.wait({call.task}, timeout=LATE_SECONDS)
        call.task.cancel()
        await asyncio.wait({call.task}, timeout=CLOSE_SECONDS)
        self._calls.discard(call)
        if not call.task.done():
            return
        if self._on_late and not call.task.cancelled() and call.task.exception() is None:
            telling = asyncio.create_task(_tell_late(self._on_late, call, call.task.result()))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)


async def _tell_late(on_late: OnLate, call: McpCall, answer: ToolAnswer) -> None:
    try:
        await on_late(call.key, answer)
    except Exception:
        logger.exception("the late answer of %s could not be taken", call.name)


def load_library() -> None:
    """Imports what a connection needs; it takes most of a second the first time."""
    for name in ("mcp.client", "colleague.mcp.stdio", "colleague.mcp.http", "colleague.mcp.watched_streams"):
        importlib.import_module(name)


def _transport(parts: ConnectionContext, on_lost: Callable[[], None]) -> StdioServer | HttpConnection:
    if parts.launch.protocol == "stdio":
        from colleague.mcp.stdio import StdioServer

        return StdioServer(parts.launch, parts.log, parts.records, on_lost)
    from colleague.mcp.http import HttpConnection

    return HttpConnection(parts.launch, on_lost)


def _quieten() -> None:
    """The library logs tracebacks of what we say in a sentence; unheard, they would reach the terminal."""
    for name in ("mcp.client", "mcp.shared"):
        found = logging.getLogger(name)
        if not any(isinstance(each, logging.NullHandler) for each in found.handlers):
            found.addHandler(logging.NullHandler())
            found.propagate = False
