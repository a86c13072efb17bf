"""Experts on a stage: a home with packages written by the test, a real store, the scripted model, a real MCP
server in its own process, and a clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.advance import Advancer
from colleague.agent.events import EventBus
from colleague.agent.models.connections import Connections
from colleague.agent.tracing.switches import TraceSwitches
from colleague.agent.tracing.tracer import open_tracer
from colleague.clock import MovableClock
from colleague.config import Settings, load_settings
from colleague.experts.delivery.sender import Channel, OutboxSender, channels
from colleague.experts.expert import find_expert
from colleague.experts.install import install_expert
from colleague.experts.runs.assembly import ExpertRuns
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation
from colleague.experts.runs.redacted_report import run_report
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.update import apply_update, prepared_update
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.servers import Servers
from colleague.packages.source import Source
from colleague.run_event import RunEvent
from colleague.runtime.host import record_late_answer
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Approval, approvals_of, decide
from colleague.store.claims import release_all
from colleague.store.journal import Call
from colleague.store.outbox import OutboxMessage, outbox_of
from colleague.store.report import calls_in_order
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.sweep import sweep
from colleague.store.tables import is_open, runs
from colleague.store.tx import Database, Tx
from colleague.store.worker import Worker
from tests.integration.experts.package import CLERK, Package
from tests.integration.store.databases import Opener

LEDGER = Path(__file__).with_name("ledger.py")


@dataclass(frozen=True)
class Shown:
    """What a model has before it when it is asked: all its texts together, and the last ones."""

    model: str
    system: str
    tools: list[str]
    texts: list[str]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Shown:
        parts = [part for message in entry["messages"] for part in message["parts"]]
        texts = [part["content"] for part in parts if part["part_kind"] in ("user-prompt", "tool-return")]
        return cls(entry["model"], entry["system"], [tool["name"] for tool in entry["tools"]], texts)


def returned(text: str) -> Any:
    """What an isolated function gave back, out of the wrapper that says whose word it is."""
    head, body, end = text.split("\n")
    assert head.startswith('<data source="function.')
    assert end == "</data>"
    return json.loads(body)


@dataclass
class Stage:
    """One home and whoever works on it. `restart` is another process on the same home and store."""

    root: Path
    open_database: Opener
    clock: MovableClock = field(default_factory=MovableClock)
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    connected: dict[str, Channel] = field(default_factory=dict)
    events: list[RunEvent] = field(default_factory=list)
    run_id: str = ""

    @property
    def home(self) -> Home:
        return Home(self.root)

    @property
    def settings(self) -> Settings:
        return load_settings(self.home)

    @property
    def book(self) -> list[str]:
        """Every line that the ledger has seen, in order."""
        file = self.root / "book.txt"
        return file.read_text().splitlines() if file.exists() else []

    async def __aenter__(self) -> Stage:
        import pydantic_ai.direct  # noqa: F401 - its first import takes longer than some limits here

        server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(self.root / "book.txt")]}
        self.configure(mcp={"servers": {"ledger": server}})
        await self._open()
        return self

    def configure(self, **settings: Any) -> None:
        """Lays settings over those of the home; they count from the next start."""
        file = self.home.settings_file
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(before | settings))

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def restart(self) -> None:
        """The next process: nothing is left of this one but its files and its rows."""
        await self._stack.aclose()
        await self._open()

    async def _open(self) -> None:
        async def late(key: str, answer: ToolAnswer) -> None:
            await record_late_answer(self.database, key, answer)

        self._stack = AsyncExitStack()
        self.database: Database = self.open_database(self.clock)
        self._stack.push_async_callback(self.database.close)
        if not self.database.shared:
            await self.database.write(release_all)
        settings, home = self.settings, self.home
        servers = Servers.of(home, settings, self.environ, on_late=late)
        self.servers = await self._stack.enter_async_context(servers)
        connections = await self._stack.enter_async_context(Connections())
        experts = ExpertRuns(home, settings, self.environ, self.database, servers, RunPackages(home))
        bus = EventBus()
        bus.watch(self.events.append)
        self.tracer = open_tracer(TraceSwitches(payloads=self.root))
        self._stack.callback(self.tracer.close)
        bus.watch(self.tracer.on_event)
        self.advancer = Advancer(self.database, experts, bus, connections, self.tracer)
        self.sender = OutboxSender(self.database, channels(settings.workspace) | self.connected)

    def install(self, package: Package, **bindings: Any) -> None:
        folder = package.write(self.root / "source" / package.name)
        source = Source("folder", str(folder))
        install_expert(self.home, self.settings.workspace, source, name=package.name, progress=_silent)
        if "tools/ledger.yaml" in package.files:
            bindings = {"tools": {"ledger": "ledger"}} | bindings
        self.bind(package.name, **bindings)

    def bind(self, expert: str = CLERK, **bindings: Any) -> None:
        (self.home.expert(expert) / "bindings.yaml").write_text(json.dumps(bindings))

    def update(self, package: Package) -> None:
        package.write(self.root / "source" / package.name)
        with prepared_update(self.home, package.name, _silent) as update:
            apply_update(self.home, self.settings.workspace, update)

    def play(self, *replies: dict[str, Any], name: str = "play", **more: Any) -> str:
        """A script as a model; returns the model's name."""
        script = {"log": f"{name}.log", "replies": list(replies), **more}
        (self.root / f"{name}.yaml").write_text(json.dumps(script, ensure_ascii=False))
        return f"script/{name}.yaml"

    def shown(self, run_id: str = "") -> list[Shown]:
        """What the model was shown, each time it was asked in this run."""
        self.tracer.flush()
        files = sorted(self.root.glob("*-payload.jsonl"))
        entries = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [Shown.of(each) for each in entries if each["run"] == (run_id or self.run_id)]

    def workspace(self, expert: str = CLERK) -> Workspace:
        return Workspace.of(self.settings.workspace, expert)

    def invocation(self, model: str = "script/play.yaml", expert: str = CLERK) -> Invocation:
        found = find_expert(self.home, expert)
        return Invocation(self.home, found, found.load(), model)

    async def accept(self, arrival: Arrival) -> str:
        accepted = await self.database.write(lambda tx: accept(tx, arrival))
        self.run_id = str(accepted.run_id)
        return self.run_id

    async def ask(
        self, process: str = "work", inputs: dict[str, Any] | None = None, **invocation: Any
    ) -> str:
        """Accepts a run of a process; returns its id."""
        asked = self.invocation(**invocation)
        return await self.accept(asked.process(find_process(asked.package, process), inputs or {}))

    async def run(self, *replies: dict[str, Any], process: str = "work", **inputs: Any) -> Run:
        """A run of a process that says these replies, as far as it goes."""
        self.play(*replies)
        await self.ask(process, inputs)
        return await self.go_on()

    async def task(self, text: str, *replies: dict[str, Any]) -> Run:
        self.play(*replies)
        await self.accept(self.invocation().task(text))
        return await self.go_on()

    async def go_on(self, run_id: str = "") -> Run:
        """Works on everything until nothing moves at this time of the clock; tells people what there is to
        tell; returns the run of the test."""
        await sweep(self.database)
        worker = Worker(self.database, self.advancer, limit=8)
        async with _working(worker):
            while worker.busy or await self.database.read(_moves):
                await asyncio.sleep(0.02)
        await self.sender.deliver_all()
        return await self.current(run_id)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work goes on beside the block; afterwards what is under way is given back, as at a stop."""
        async with _working(Worker(self.database, self.advancer, limit=8)):
            yield

    async def until_written(self, line: str) -> None:
        """Waits until the ledger has seen a line."""
        for _ in range(12_000):
            if line in self.book:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{line!r} was never written: {self.book}")

    async def later(self, *, seconds: float = 0, days: float = 0) -> Run:
        """The clock moves, and work goes on."""
        self.clock.move(seconds=seconds, days=days)
        return await self.go_on()

    async def current(self, run_id: str = "") -> Run:
        return await self.database.read(lambda tx: get_run(tx, run_id or self.run_id))

    async def report(self, run_id: str = "") -> dict[str, Any]:
        return await self.database.read(lambda tx: run_report(tx, self.home, run_id or self.run_id))

    async def calls(self, operation: str = "", run_id: str = "") -> list[Call]:
        found = await self.database.read(lambda tx: calls_in_order(tx, run_id or self.run_id))
        return [call for call in found if operation in ("", call.operation)]

    async def messages(self, kind: str = "", run_id: str = "") -> list[OutboxMessage]:
        found = await self.database.read(lambda tx: outbox_of(tx, run_id or self.run_id))
        return [message for message in found if kind in ("", message.kind)]

    async def notice(self, kind: str) -> dict[str, Any]:
        """The body of the only message of its kind."""
        [message] = await self.messages(kind)
        body: dict[str, Any] = json.loads(message.body)
        return body

    async def approvals(self, run_id: str = "") -> list[Approval]:
        return await self.database.read(lambda tx: approvals_of(tx, run_id or self.run_id))

    async def pending(self, run_id: str = "") -> Approval:
        [approval] = [each for each in await self.approvals(run_id) if each.status == "pending"]
        return approval

    async def decide(self, decision: Any, approval: Approval | None = None, **more: Any) -> Approval:
        """Ann decides the only question there is, or the one that is given."""
        asked = approval or await self.pending()
        answer = Answer(asked.id, asked.digest, decision, "ann", **more)
        return await self.database.write(lambda tx: decide(tx, answer))

    async def decided(self, decision: Any, **more: Any) -> Run:
        """Ann decides, and work goes on."""
        await self.decide(decision, **more)
        return await self.go_on()


def _silent(_: str) -> None:
    pass


def _moves(tx: Tx) -> bool:
    """Whether some run can go on at this time of the clock."""
    for row in tx.all(select(runs.c.id).where(is_open())):
        run = get_run(tx, row.id)
        due = run.status == "retrying" and (run.retry_at or 0) <= tx.now
        if due or run.status == "running" or (run.status == "queued" and run.ready):
            return True
    return False


@contextlib.asynccontextmanager
async def _working(worker: Worker) -> AsyncIterator[None]:
    working = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await working


def on_stage(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that is one story on an open stage."""

    @functools.wraps(story)
    def test(stage: Stage, **more: Any) -> None:
        async def play() -> None:
            async with stage:
                await story(stage, **more)

        asyncio.run(play())

    return test


@pytest.fixture
def stage(tmp_path: Path, opener: Opener) -> Stage:
    return Stage(tmp_path, opener)
