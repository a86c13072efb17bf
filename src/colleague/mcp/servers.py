"""All MCP servers of a home, for one process."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from colleague.mcp import diagnosis
from colleague.mcp.backoff import BackoffWaits
from colleague.mcp.call import OnLate, OnProgress
from colleague.mcp.errors import CallNotSent, ServerDown
from colleague.mcp.pid_file import PidFile
from colleague.mcp.server import Server, ServerContext, ServerStatus
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.config.settings import McpServer, Settings
    from colleague.home import Home
    from colleague.mcp.answer import ToolAnswer
    from colleague.mcp.elicitation import GivenAnswer, QuestionAnswer
    from colleague.mcp.mcp_tool import McpTool
    from colleague.mcp.sampling import OnSampling


class Servers:
    """The servers of the settings, each started on its first use. Belongs to one event loop.

    `folder` holds the records by which a successor finds what a killed process left behind; `on_late` is
    offered the answer of a call that had ended as Unknown. Those that are `held` are not started.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        folder: Path,
        *,
        logs: Path,
        on_late: OnLate | None = None,
        held: Collection[str] = (),
        pace: BackoffWaits = BackoffWaits(),  # noqa: B008 - frozen
    ) -> None:
        self._records = PidFile(folder)
        self._around = ServerContext(
            dict(environ), self._records, logs, pace, on_late, folder.parent / "sandboxes"
        )
        self._wanted = dict(settings.mcp.servers)
        self._held = frozenset(held)
        self._made: dict[str, tuple[McpServer, bool]] = {}
        self._servers = {name: self._new(name) for name in self._wanted}
        self._busy: Counter[str] = Counter()
        self._leaving: set[asyncio.Task[None]] = set()

    @classmethod
    def of(
        cls,
        home: Home,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        on_late: OnLate | None = None,
        held: Collection[str] = (),
    ) -> Self:
        """With the folders of a home."""
        return cls(settings, environ, home.state / "mcp", logs=home.logs, on_late=on_late, held=held)

    async def start(self) -> list[str]:
        """Ends the servers that a dead predecessor left running; their names. Starts nothing."""
        return await self._records.end_orphans()

    async def tools(self, server: str) -> list[McpTool]:
        """Its tools but those its filter hides, kept until they change. ServerDown when it is not there."""
        found = self._server(server)
        with self._using(server):
            return await found.tools()

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        key: str,
        launch_digest: str = "",
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        answer: GivenAnswer | None = None,
        given: Sequence[tuple[str, QuestionAnswer]] = (),
        on_sampling: OnSampling | None = None,
    ) -> ToolAnswer:
        """Calls a tool once: an answer, or NotSent, or Unknown when it may have happened, or InputRequired
        when its server asks a person first; then the same call is made again, with the `answer`. `given` are
        answers of an earlier send, for the case that the server asks the same. `on_sampling` asks a model for
        a server that may.

        With `launch_digest`, only to the server as it was configured then. `timeout` counts from the sending.
        A caller that is cancelled leaves it as unknown as a timeout does.
        """
        found = self._server(server)
        with self._using(server):
            _check_launch(found, launch_digest)
            return await found.call(
                tool,
                arguments,
                key=key,
                timeout=timeout,
                on_progress=on_progress,
                answer=answer,
                given=given,
                on_sampling=on_sampling,
            )

    async def resources(self, server: str) -> list[dict[str, Any]]:
        found = self._server(server)
        with self._using(server):
            return await found.resources()

    async def read(self, server: str, uri: str) -> str:
        """One resource. CallNotSent says why it cannot be read."""
        found = self._server(server)
        with self._using(server):
            return await found.read(uri)

    async def prompts(self, server: str) -> list[dict[str, Any]]:
        found = self._server(server)
        with self._using(server):
            return await found.prompts()

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """One prompt, filled in."""
        found = self._server(server)
        with self._using(server):
            return await found.prompt(name, arguments)

    async def status(self) -> list[ServerStatus]:
        return [server.status() for server in self._servers.values()]

    async def stop(self) -> None:
        """Ends every server and everything they started."""
        self._wanted = {name: settings for name, (settings, _) in self._made.items()}
        self._held = frozenset(name for name, (_, held) in self._made.items() if held)
        await asyncio.gather(*(server.stop() for server in self._servers.values()), *self._leaving)

    def reconfigure(self, settings: Settings, held: Collection[str] = ()) -> None:
        """The servers of other settings. Unchanged ones stay; one that changed or is gone ends once idle."""
        self._wanted, self._held = dict(settings.mcp.servers), frozenset(held)
        for name in {**self._servers, **self._wanted}:
            self._renew_if_idle(name)

    @contextlib.contextmanager
    def _using(self, name: str) -> Iterator[None]:
        self._busy[name] += 1
        try:
            yield
        finally:
            self._busy[name] -= 1
            self._renew_if_idle(name)

    def _renew_if_idle(self, name: str) -> None:
        made, wanted = self._made.get(name), self._entry(name)
        if made == wanted or (made is not None and self._busy[name]):
            return
        if made is not None:
            del self._made[name]
            leaving = asyncio.create_task(self._servers.pop(name).stop(), name=f"mcp leaving {name}")
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        if wanted is not None:
            self._servers[name] = self._new(name)

    def _new(self, name: str) -> Server:
        settings, held = self._made[name] = (self._wanted[name], name in self._held)
        return Server(name, settings, self._around, held=held)

    def _entry(self, name: str) -> tuple[McpServer, bool] | None:
        wanted = self._wanted.get(name)
        return None if wanted is None else (wanted, name in self._held)

    def _server(self, name: str) -> Server:
        if found := self._servers.get(name):
            return found
        raise unknown_server(name, self._servers)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def _check_launch(server: Server, launch_digest: str) -> None:
    """A call that was decided on for one server is not sent to another of the same name."""
    if launch_digest and server.launch_digest != launch_digest:
        raise CallNotSent(
            f"MCP server {server.name} was configured anew after this call was decided on; nothing was sent",
            server=server.name,
            hint="the run uses the new one when it is continued next time",
        )


def unknown_server(name: str, known: Mapping[str, object]) -> ServerDown:
    hint = did_you_mean(name, known) or f"add it with: colleague mcp add {name} -- COMMAND"
    return diagnosis.down(name, "is not configured", hint)
