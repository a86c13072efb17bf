"""One connection to a server: a task of its own enters and leaves the client, callers only wait."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague import __version__
from colleague.mcp import diagnosis
from colleague.mcp.answer import ToolAnswer, read_answer
from colleague.mcp.call import IDEMPOTENCY_KEY, McpCall, OnLate, under_way
from colleague.mcp.elicitation import GivenAnswer, InputRequired
from colleague.mcp.errors import CallNotSent, LoginNeeded, ServerDown, Unknown
from colleague.mcp.held_calls import HeldCalls, asking_call
from colleague.mcp.input_rounds import CannotAnswer, ask_next, next_round, with_answer
from colleague.mcp.launch import Launch
from colleague.mcp.log import ServerLog
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.pid_file import PidFile
from colleague.mcp.readings import Readings
from colleague.mcp.sampling import answer_samples, sample_or_refuse
from colleague.mcp.tool_list import ToolList

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        CallToolResult,
        CreateMessageResult,
        ElicitResult,
        ErrorData,
        InputRequiredResult,
        ListRootsResult,
        LoggingMessageNotificationParams,
    )

    from colleague.mcp.http import HttpConnection
    from colleague.mcp.oauth import NewLogin, StoredLogin
    from colleague.mcp.stdio import StdioServer

LATE_SECONDS = 15 * 60.0
CLOSE_SECONDS = 10.0
_EXIT_SECONDS = 0.5
_STATE_ONLY_SECONDS = 0.2
"""Before a call is sent again whose server asked nothing and only wants more time."""
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
    login: StoredLogin | NewLogin | None = None


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
        self._held = HeldCalls()
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
                transport,
                mode=self._mode,
                cache=None,
                client_info=info,
                message_handler=self._hear,
                elicitation_callback=self._elicit,
                sampling_callback=self._sampled if self._launch.sampling.allow else None,
                list_roots_callback=self._roots if self._launch.roots else None,
                logging_callback=self._log_message,
                log_level="info",
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

    async def _roots(self, context: object) -> ListRootsResult:  # noqa: ARG002 - as called
        from mcp_types import ListRootsResult, Root

        return ListRootsResult(roots=[Root(uri=each) for each in self._launch.roots])  # type: ignore[arg-type]

    async def _log_message(self, params: LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, default=str)
        self._log.say(params.level, text)

    @property
    def readings(self) -> Readings:
        if self._client is None:
            raise RuntimeError("the link is not open")
        return Readings(self._launch.name, self._client, self._launch.redact)

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
            if getattr(self._server, "needs_login", False):
                raise self._login_needed() from None
            reason = getattr(self._server, "problem", "") or await self._end_text(error)
            what = self._launch.redact(f"did not list its tools: {reason}")
        raise diagnosis.down(self._launch.name, what, hint)

    def _login_needed(self) -> LoginNeeded:
        problem = getattr(self._server, "problem", "")
        return diagnosis.login_needed(self._launch.name, self._launch.where, problem)

    async def call(self, call: McpCall, seconds: float) -> ToolAnswer:
        """Sends a call once and waits for its answer. Ends in an answer, NotSent or Unknown."""
        if self.lost.is_set():
            raise self._not_sent(call, "the connection was just lost")
        self._calls.add(call)
        call.task = self._spawn(self._send(call))
        return await self._settled(call, call.task, seconds)

    async def resume(self, call: McpCall, given: GivenAnswer, seconds: float) -> ToolAnswer:
        """Goes on with a call whose question is answered now."""
        if given.pending:
            call.round = with_answer(json.loads(given.pending), given.answer)
            ask_next(call.round)
            return await self.call(call, seconds)
        held = self._held.take(call.key)
        if held is None or held.task is None:
            raise self._unknown(call, "its server's question was lost with the connection")
        held.on_progress = call.on_progress
        held.answered(given.answer)
        return await self._settled(held, held.task, seconds)

    async def _settled(self, call: McpCall, task: asyncio.Task[ToolAnswer], seconds: float) -> ToolAnswer:
        """Its end, or the question that it waits with. The time counts anew after each answer."""
        asked = asyncio.create_task(call.asked.wait())
        try:
            await asyncio.wait({task, asked}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            while call.sampling and not task.done() and call.question is None:
                await asyncio.wait({task, asked}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._abandon(call, "nobody waits for it any more")
            raise
        finally:
            asked.cancel()
        if call.question is not None and not task.done():
            self._held.keep(call)
            task.add_done_callback(lambda _: self._ended_while_held(call))
            raise InputRequired(call.question, "")
        return self._ended(call, task, seconds)

    def _ended_while_held(self, call: McpCall) -> None:
        """The server went on without an answer: what came of it closes the question."""
        task = call.task
        if self._held.take(call.key) is None or task is None or task.cancelled() or task.exception():
            return
        self._calls.discard(call)
        self._tell_late(call, task.result())

    def _ended(self, call: McpCall, task: asyncio.Task[ToolAnswer], seconds: float) -> ToolAnswer:
        if not task.done():
            self._abandon(call, f"no answer within {seconds:g} s")
            raise self._unknown(call, f"no answer came within {seconds:g} s")
        self._calls.discard(call)
        if task.cancelled():
            raise self._unknown(call, "the connection was closed before an answer came")
        return task.result()

    async def _elicit(self, context: object, params: Any) -> ElicitResult:  # noqa: ARG002 - as called
        return (await self._held.ask(params, self._calls)).result()

    async def _sampled(self, context: object, params: Any) -> CreateMessageResult | ErrorData:  # noqa: ARG002
        return await sample_or_refuse(asking_call(self._calls), params, self._launch.sampling, self._log)

    async def _send(self, call: McpCall) -> ToolAnswer:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        under_way.set(call)
        try:
            return await self._request(call)
        except CannotAnswer as error:
            return ToolAnswer(str(error), is_error=True)
        except MCPError as error:
            return await self._judged(call, error)
        except ValidationError as error:
            text = f"the server's answer is not a valid tool result: {error.error_count()} faults in it"
            return ToolAnswer(text, is_error=True)

    async def _request(self, call: McpCall) -> ToolAnswer:
        """Raises InputRequired, CannotAnswer."""
        from mcp_types import InputRequiredResult

        while True:
            result = await self._send_request(call)
            if not isinstance(result, InputRequiredResult):
                return read_answer(result)
            allowed = self._launch.sampling.allow
            document = next_round(result, call.round.get("rounds", 0), self._launch.roots, sampling=allowed)
            await answer_samples(call, document, self._launch.sampling)
            ask_next(document)
            call.round = document
            if not document["answers"]:
                await asyncio.sleep(_STATE_ONLY_SECONDS)

    async def _send_request(self, call: McpCall) -> CallToolResult | InputRequiredResult:
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, InputRequiredResult
        from pydantic import TypeAdapter

        if self._client is None:
            raise RuntimeError("the link is not open")
        answers: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
        meta: Any = {IDEMPOTENCY_KEY: call.key}
        given = call.round.get("answers") or None
        params = CallToolRequestParams(
            name=call.tool,
            arguments=dict(call.arguments),
            input_responses=given,
            request_state=call.round.get("state"),
            _meta=meta,
        )
        result: CallToolResult | InputRequiredResult = await self._client.session.send_request(
            CallToolRequest(params=params), answers, progress_callback=call.tell
        )
        return result

    async def _judged(self, call: McpCall, error: MCPError) -> ToolAnswer:
        """An error of the protocol: the server's answer, or the end of the connection."""
        if call.needs_login:
            raise self._login_needed()
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
        if not call.task.cancelled() and call.task.exception() is None:
            self._tell_late(call, call.task.result())

    def _tell_late(self, call: McpCall, answer: ToolAnswer) -> None:
        if self._on_late is None:
            return
        telling = asyncio.create_task(_tell_late(self._on_late, call, answer))
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

    return HttpConnection(parts.launch, on_lost, parts.login)


def _quieten() -> None:
    """The library logs tracebacks of what we say in a sentence; unheard, they would reach the terminal."""
    for name in ("mcp.client", "mcp.shared"):
        found = logging.getLogger(name)
        if not any(isinstance(each, logging.NullHandler) for each in found.handlers):
            found.addHandler(logging.NullHandler())
            found.propagate = False
