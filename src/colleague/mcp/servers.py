"""All MCP servers of a home, for one process."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from colleague.mcp import diagnosis
from colleague.mcp.backoff import Pace
from colleague.mcp.call import OnLate, OnProgress
from colleague.mcp.errors import ServerDown
from colleague.mcp.records import Records
from colleague.mcp.server import Server, ServerStatus, Surroundings

if TYPE_CHECKING:
    from colleague.config.settings import McpServer, Settings
    from colleague.home import Home
    from colleague.mcp.answer import ToolAnswer
    from colleague.mcp.tool import McpTool


class Servers:
    """The servers of the settings, each started on its first use. Belongs to one event loop.

    `folder` holds the records by which a successor finds what a killed process left behind; `on_late` is
    offered the answer of a call that had ended as Unknown.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        folder: Path,
        *,
        logs: Path,
        on_late: OnLate | None = None,
        pace: Pace = Pace(),  # noqa: B008 - frozen
    ) -> None:
        self._records = Records(folder)
        self._around = Surroundings(dict(environ), self._records, logs, pace, on_late)
        self._wanted = dict(settings.mcp.servers)
        self._made: dict[str, McpServer] = {}
        self._servers = {name: self._new(name) for name in self._wanted}
        self._busy: Counter[str] = Counter()
        self._leaving: set[asyncio.Task[None]] = set()

    @classmethod
    def of(
        cls, home: Home, settings: Settings, environ: Mapping[str, str], *, on_late: OnLate | None = None
    ) -> Self:
        """With the folders of a home."""
        return cls(settings, environ, home.state / "mcp", logs=home.logs, on_late=on_late)

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
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolAnswer:
        """Calls a tool once: an answer, or NotSent, or Unknown when it may have happened.

        `timeout` counts from the sending. A caller that is cancelled leaves it as unknown as a timeout does.
        """
        found = self._server(server)
        with self._using(server):
            return await found.call(tool, arguments, key=key, timeout=timeout, on_progress=on_progress)

    async def status(self) -> list[ServerStatus]:
        return [server.status() for server in self._servers.values()]

    async def stop(self) -> None:
        """Ends every server and everything they started."""
        self._wanted = dict(self._made)
        await asyncio.gather(*(server.stop() for server in self._servers.values()), *self._leaving)

    def reconfigure(self, settings: Settings) -> None:
        """The servers of other settings. Unchanged ones stay; one that changed or is gone ends once idle."""
        self._wanted = dict(settings.mcp.servers)
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
        made, wanted = self._made.get(name), self._wanted.get(name)
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
        self._made[name] = self._wanted[name]
        return Server(name, self._wanted[name], self._around)

    def _server(self, name: str) -> Server:
        if found := self._servers.get(name):
            return found
        raise unknown_server(name, self._servers)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def unknown_server(name: str, known: Mapping[str, object]) -> ServerDown:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"add it with: colleague mcp add {name} -- COMMAND"
    return diagnosis.down(name, "is not configured", hint)
