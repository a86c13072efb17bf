"""One server, supervised: started on first use, kept warm, started again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from colleague.errors import ConfigError
from colleague.mcp import diagnosis
from colleague.mcp.backoff import Backoff, BackoffWaits
from colleague.mcp.call import McpCall, OnLate, OnProgress, encoded
from colleague.mcp.connection import Connection, ConnectionContext, load_library
from colleague.mcp.errors import CallNotSent, LoginNeeded, ServerDown, UnknownTool
from colleague.mcp.launch import Launch, prepare, shown_command
from colleague.mcp.launch_digest import launch_digest
from colleague.mcp.log import ServerLog, log_file
from colleague.mcp.login_record import LoginRedactor, LoginStore
from colleague.mcp.mcp_tool import McpTool, is_used
from colleague.mcp.pid_file import PidFile
from colleague.mcp.tool_limits import LimitedTools, limit_tools
from colleague.mcp.tool_record import ToolRecord
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.config.settings import McpServer
    from colleague.mcp.answer import ToolAnswer
    from colleague.mcp.elicitation import GivenAnswer, QuestionAnswer
    from colleague.mcp.oauth import StoredLogin
    from colleague.mcp.sampling import OnSampling

log = logging.getLogger(__name__)

START_AGAIN_SECONDS = 30.0
"""Added to the time of a start that a caller waits for: its process, its end and a second try take some."""
STOP_SECONDS = 60.0
State = Literal["disabled", "held", "idle", "starting", "up", "waiting", "needs_login", "stopped"]
_DOWN = {
    "disabled": ("is disabled", "set mcp.servers.{}.enabled to true"),
    "held": (
        "waits for a yes: its entry in the settings is new or has changed while the gateway runs",
        "look at it, then run: colleague mcp accept {}; or start the gateway again",
    ),
    "stopped": ("is stopped", "start Colleague again"),
}
"""Why a server is not started, and what to do."""


@dataclass(frozen=True)
class ServerStatus:
    """How a server is now."""

    name: str
    transport: str
    where: str
    state: State
    pid: int | None = None
    software: str = ""
    protocol_version: str = ""
    tools: int | None = None
    calls: int = 0
    starts: int = 0
    error: str = ""
    retry_seconds: float = 0.0
    findings: tuple[str, ...] = ()
    """What of its tools is cut or left out."""
    changes: tuple[str, ...] = ()
    """What of its tools is not as a person accepted it; see tool_record.py."""


@dataclass(frozen=True)
class ServerContext:
    """What all servers of a process share."""

    environ: Mapping[str, str]
    records: PidFile
    logs: Path
    pace: BackoffWaits
    on_late: OnLate | None = None
    sandboxes: Path | None = None
    """Where confined servers have folders of their own."""


class Server:
    """Holds at most one open connection; the task that opens connections lives until `stop`."""

    def __init__(self, name: str, settings: McpServer, around: ServerContext, *, held: bool = False) -> None:
        self.name = name
        self.launch_digest = launch_digest(settings, around.environ)
        self._settings, self._around = settings, around
        self._mode = "auto"
        self._link: Connection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._retiring: dict[asyncio.Task[None], Connection] = {}
        self._wanted = asyncio.Event()
        self._waiters: list[asyncio.Future[Connection]] = []
        self._backoff = Backoff(around.pace)
        self._error: CallNotSent | None = None
        self._state: State = "disabled" if not settings.enabled else "held" if held else "idle"
        self._starts = 0
        self._listed: Sequence[McpTool] | None = None
        self._offered = LimitedTools(())
        self._record = ToolRecord.of(around.records.folder, name)
        self._logins = LoginStore.of(around.records.folder, name)
        self._refused_token = ""
        self._turn = asyncio.Lock() if _is_serial(settings) else None

    @property
    def _seconds(self) -> float:
        return self._settings.request_timeout_ms / 1000

    async def tools(self) -> list[McpTool]:
        """Those its filter lets through, within the limits of tool_limits.py."""
        link = await self._up()
        listed = await link.tools(self._seconds)
        if listed is not self._listed:
            self._listed, self._offered = listed, self._limited(listed)
            await asyncio.to_thread(self._record.compare, listed, self.launch_digest)
        return self._record.believed(self._offered.tools)

    async def resources(self) -> list[dict[str, Any]]:
        """Addresses of what can be read from it, and templates of addresses."""
        return await (await self._up()).readings.resources(self._seconds)

    async def read(self, uri: str) -> str:
        return await (await self._up()).readings.read(uri, self._seconds)

    async def prompts(self) -> list[dict[str, Any]]:
        """Texts that it offers, and what each has to be given."""
        return await (await self._up()).readings.prompts(self._seconds)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        return await (await self._up()).readings.prompt(name, arguments, self._seconds)

    def _limited(self, listed: Sequence[McpTool]) -> LimitedTools:
        limited = limit_tools(each for each in listed if is_used(each.name, self._settings.tool_filter))
        for each in limited.findings:
            log.warning("MCP server %s: %s", self.name, each)
        return limited

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        key: str,
        timeout: float | None,
        on_progress: OnProgress | None = None,
        answer: GivenAnswer | None = None,
        given: Sequence[tuple[str, QuestionAnswer]] = (),
        on_sampling: OnSampling | None = None,
    ) -> ToolAnswer:
        call = McpCall(self.name, tool, encoded(self.name, tool, arguments, key), key, on_progress)
        call.given, call.on_sampling = list(given), on_sampling
        self._check_tool(tool, [each.name for each in await self.tools()])
        seconds = self._seconds if timeout is None else timeout
        async with self._turn or contextlib.nullcontext():
            link = await self._up()
            return await (link.call(call, seconds) if answer is None else link.resume(call, answer, seconds))

    def _check_tool(self, tool: str, known: list[str]) -> None:
        if tool in known:
            return
        hint = did_you_mean(tool, known) or f"run colleague mcp probe {self.name} to see its tools"
        raise UnknownTool(
            f"MCP server {self.name} has no tool {tool!r} that may be used", server=self.name, hint=hint
        )

    async def _up(self) -> Connection:
        """The open link; starts the server when there is none. ServerDown when it cannot be had."""
        if self._link and not self._link.lost.is_set():
            return self._link
        self._check_usable()
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep(), name=f"mcp keeper {self.name}")
        waiter: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._wanted.set()
        return await self._link_of(waiter)

    async def _link_of(self, waiter: asyncio.Future[Connection]) -> Connection:
        """What the keeper gives, within the time of two starts: the second is one in the older protocol."""
        seconds = (
            self._around.pace.patience + 2 * self._settings.connection_timeout_ms / 1000 + START_AGAIN_SECONDS
        )
        try:
            async with asyncio.timeout(seconds):
                return await waiter
        except TimeoutError:
            raise diagnosis.down(
                self.name,
                f"did not come up within {seconds:.0f} s",
                f"run colleague mcp probe {self.name}, or read {self._log_file}",
            ) from None

    def _check_usable(self) -> None:
        if self._state in _DOWN:
            what, hint = _DOWN[self._state]
            raise diagnosis.down(self.name, what, hint.format(self.name))
        if isinstance(self._error, LoginNeeded) and self._token != self._refused_token:
            self._backoff.reset()
        if self._error and self._backoff.left > self._around.pace.patience:
            raise self._resting(self._error)

    def _resting(self, error: CallNotSent) -> ServerDown:
        if isinstance(error, LoginNeeded):
            return LoginNeeded(error.message, server=self.name, hint=error.hint)
        message = f"{error.message} (it is tried again in {self._backoff.left:.0f} s)"
        return ServerDown(message, server=self.name, hint=error.hint)

    @property
    def _token(self) -> str:
        """The token of the last login, as the file has it now."""
        record = self._logins.any()
        return record.access if record else ""

    async def _keep(self) -> None:
        """Opens a link whenever one is wanted, and again when it is lost. Only `stop` ends it: whatever goes
        wrong, also what nobody foresaw, is told to those who wait, and tried again after a pause."""
        while True:
            try:
                await self._keep_one()
            except CallNotSent as error:
                self._failed(error)
            except asyncio.CancelledError:
                # A library may raise this by itself; only a cancel of this very task ends it.
                if (task := asyncio.current_task()) and task.cancelling():
                    raise
                self._failed(diagnosis.unforeseen(self.name, "the connection was cancelled"))
            except Exception as error:
                log.exception("MCP server %s: its keeper failed and goes on after a pause", self.name)
                self._failed(diagnosis.unforeseen(self.name, diagnosis.sentence_of(error)))

    async def _keep_one(self) -> None:
        """One link, from the wish for it to its end."""
        await self._wanted.wait()
        self._state = "waiting"
        await asyncio.sleep(self._backoff.left)
        self._state = "starting"
        link = await self._open()
        self._opened(link)
        await link.lost.wait()
        retiring = self._lost(link)
        if self._settings.protocol == "stdio":
            await asyncio.wait({retiring})

    async def _open(self) -> Connection:
        try:
            launch = await asyncio.to_thread(
                prepare, self.name, self._settings, self._around.environ, sandboxes=self._around.sandboxes
            )
        except ConfigError as error:
            raise diagnosis.misconfigured(self.name, error) from None
        launch = replace(launch, redact=LoginRedactor(launch.redact, self._logins))
        await asyncio.to_thread(load_library)
        self._starts += 1
        own_log = ServerLog(self._log_file, launch.redact)
        login = self._login(launch)
        parts = ConnectionContext(launch, own_log, self._around.records, self._around.on_late, login)
        link = Connection(parts, mode=self._mode)
        try:
            await link.open()
        except ServerDown:
            if self._mode == "legacy" or not link.hung_up:
                raise
            # Some older servers end when the first message is not the one they know.
            link = Connection(parts, mode="legacy")
            await link.open()
            self._mode = "legacy"
        return link

    def _login(self, launch: Launch) -> StoredLogin | None:
        """None for a server that is given its credentials, or none at all."""
        if launch.protocol == "stdio" or launch.sends_credentials:
            return None
        from colleague.mcp.oauth import StoredLogin
        from colleague.mcp.oauth_requests import OAuthRequests

        requests = OAuthRequests(launch.key, launch.url, self._settings.oauth.allow_private)
        return StoredLogin(launch.url, self._logins, requests)

    @property
    def _log_file(self) -> Path:
        return log_file(self._around.logs, self.name)

    def _opened(self, link: Connection) -> None:
        self._link, self._error, self._state = link, None, "up"
        for waiter in self._take_waiters():
            waiter.set_result(link)

    def _failed(self, error: CallNotSent) -> None:
        """Tried again when somebody wants it, not before the wait is over."""
        self._error, self._state = error, "waiting"
        self._backoff.failed(0)
        if isinstance(error, LoginNeeded):
            self._state, self._refused_token = "needs_login", self._token
            self._backoff.rest()
        self._wanted.clear()
        for waiter in self._take_waiters():
            waiter.set_exception(error)

    def _lost(self, link: Connection) -> asyncio.Task[None]:
        """Wanted still, so that it is warm again soon; not beside what is left of the old process."""
        self._link, self._state = None, "waiting"
        self._backoff.failed(time.monotonic() - link.since)
        self._error = diagnosis.down(self.name, "ended by itself", diagnosis.lost(self._log_file))
        retiring = asyncio.create_task(link.retire())
        self._retiring[retiring] = link
        retiring.add_done_callback(lambda task: self._retiring.pop(task, None))
        return retiring

    def _take_waiters(self) -> list[asyncio.Future[Connection]]:
        waiters, self._waiters = self._waiters, []
        return [each for each in waiters if not each.done()]

    async def stop(self) -> None:
        """Ends the server. Calls under way end as Unknown."""
        if self._state not in ("disabled", "held"):
            self._state = "stopped"
        if self._keeper:
            self._keeper.cancel()
            await asyncio.wait({self._keeper}, timeout=STOP_SECONDS)
        for waiter in self._take_waiters():
            waiter.set_exception(diagnosis.down(self.name, *_DOWN["stopped"]))
        links = [*self._retiring.values(), *([self._link] if self._link else [])]
        retiring = list(self._retiring)
        ends = [*(link.close() for link in links), *retiring]
        for error in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(error, Exception):
                log.error("MCP server %s did not end well: %s", self.name, diagnosis.sentence_of(error))

    def status(self) -> ServerStatus:
        link = self._link
        return ServerStatus(
            name=self.name,
            transport=self._settings.protocol,
            where=shown_command(self._settings),
            state=self._state,
            pid=link.pid if link else None,
            software=link.software if link else "",
            protocol_version=link.protocol_version if link else "",
            tools=link.known_tools if link else None,
            calls=link.calls if link else 0,
            starts=self._starts,
            error=self._error.message if self._error else "",
            retry_seconds=round(self._backoff.left, 1) if self._state == "waiting" else 0.0,
            findings=self._offered.findings,
            changes=self._record.changes() if link else (),
        )


def _is_serial(settings: McpServer) -> bool:
    """Only when the settings say so: calls run at once by default."""
    said = "supports_parallel_tool_calls" in settings.model_fields_set
    return said and not settings.supports_parallel_tool_calls
