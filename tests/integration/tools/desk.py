"""An expert's folders and its file tools, as a run uses them; also from another process."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from colleague.agent.tool import PreparedTool, ToolOutput, ToolRequest
from colleague.agent.tools.file_tools import file_tools
from colleague.agent.tools.reconcile import Reconciled, reconcile
from colleague.agent.tools.tree import Root, Tree
from colleague.agent.tools.versioned import VersionedTree
from colleague.clock import MovableClock
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Database
from colleague.store.versions import FileKey, Pending, Version, history, pending_version

T = TypeVar("T")

OWNER = "sales"
WRITABLE = ("state", "scratch", "learnings")
PACKAGED = ("functions", "processes", "knowledge", "persona")

_processes = multiprocessing.get_context("fork")
_numbers = itertools.count()


@dataclass(frozen=True)
class Desk:
    """A home with one expert. It can be sent to another process."""

    home: Path
    database_url: str
    hidden: frozenset[str] = frozenset()
    mounts: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def on_sqlite(cls, home: Path) -> Desk:
        return cls.set_up(home, f"sqlite:///{home}/state/colleague.sqlite")

    @classmethod
    def set_up(cls, home: Path, database_url: str) -> Desk:
        return cls(home, database_url)._with_folders()

    def _with_folders(self) -> Desk:
        for name in WRITABLE:
            (self.workspace / name).mkdir(parents=True)
        for name in PACKAGED:
            (self.package / name).mkdir(parents=True)
        self.file("state/pipeline.md").write_text("# Pipeline\n\n- Ada\n- Bob\n")
        (self.package / "orchestrator.md").write_text("secret recipe")
        (self.package / "knowledge/pricing.md").write_text("Ten euros.\n")
        (self.package / "functions/qualify.md").write_text("Ask twice.\n")
        return self

    @property
    def workspace(self) -> Path:
        return self.home / "workspace/expert-state/sales"

    @property
    def package(self) -> Path:
        return self.home / "state/packages/d1"

    @property
    def locks(self) -> Path:
        return self.home / "state/locks"

    @property
    def tree(self) -> Tree:
        roots = {name: Root(self.workspace / name, writable=True) for name in WRITABLE}
        roots |= {name: Root(self.package / name, trusted=True) for name in PACKAGED}
        return Tree(roots, hidden=self.hidden, mounts=self.mounts)

    def file(self, path: str) -> Path:
        return self.workspace / path

    def open_database(self) -> Database:
        if self.database_url.startswith("sqlite"):
            return SqliteDatabase(Path(self.database_url.removeprefix("sqlite:///")), MovableClock())
        return PostgresDatabase(self.database_url, MovableClock(), connections=2)

    def run(self, work: Callable[[Session], Awaitable[T]], *, run_id: str = "run-1") -> T:
        """Lets a run work at the desk. Each time stands for a process that starts anew."""

        async def session() -> T:
            database = self.open_database()
            try:
                return await work(Session(self, database, run_id))
            finally:
                await database.close()

        return asyncio.run(session())

    def call(self, name: str, *, run_id: str = "run-1", call_id: str = "", **arguments: Any) -> ToolOutput:
        """One call, in a process of its own as it were."""
        return self.run(lambda session: session.call(name, call_id=call_id, **arguments), run_id=run_id)

    def versions(self, path: str = "state/pipeline.md") -> list[Version]:
        """Oldest first."""
        return self.run(lambda session: session.versions(path))

    def start_process(self, target: Callable[..., None], *arguments: Any) -> BaseProcess:
        process = _processes.Process(target=target, args=(self, *arguments))
        process.start()
        return process


@dataclass
class Session:
    """The tools of one run, on one open database."""

    desk: Desk
    database: Database
    run_id: str
    tools: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        made = file_tools(
            self.desk.tree, self.database, owner=OWNER, run_id=self.run_id, locks=self.desk.locks
        )
        self.tools = {tool.spec.name: tool for tool in made}

    @property
    def files(self) -> VersionedTree:
        return VersionedTree(self.desk.tree, self.database, OWNER, self.desk.locks)

    def request(self, call_id: str = "", **arguments: Any) -> ToolRequest:
        call_id = call_id or f"{self.run_id}-{os.getpid()}-{next(_numbers)}"
        return ToolRequest(self.run_id, call_id, f"key-{call_id}", arguments)

    async def call(self, name: str, *, call_id: str = "", **arguments: Any) -> ToolOutput:
        return await self.tools[name].call(self.request(call_id, **arguments))

    async def ok(self, name: str, *, call_id: str = "", **arguments: Any) -> str:
        output = await self.call(name, call_id=call_id, **arguments)
        assert not output.is_error, output.text
        return output.text

    async def prepare(self, name: str, *, call_id: str, **arguments: Any) -> str:
        tool: PreparedTool = self.tools[name]
        return await tool.prepare(self.request(call_id, **arguments))

    async def recover(self, name: str, prepared: str, *, call_id: str, **arguments: Any) -> ToolOutput:
        tool: PreparedTool = self.tools[name]
        return await tool.recover(self.request(call_id, **arguments), prepared)

    async def versions(self, path: str) -> list[Version]:
        """Oldest first."""
        key = FileKey(OWNER, path)
        found = await self.database.read(lambda tx: history(tx, key, limit=10_000))
        return found[::-1]

    async def pending(self, path: str) -> Pending | None:
        return await self.database.read(lambda tx: pending_version(tx, FileKey(OWNER, path)))

    async def reconcile(self) -> list[Reconciled]:
        return await reconcile(self.desk.tree, self.database, owner=OWNER, locks=self.desk.locks)
