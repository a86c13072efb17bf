"""A run on a stage: a real store, the real loop, a scripted model, and a tool whose effects are counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from colleague.agent.advance import Advancer
from colleague.agent.events import EventBus
from colleague.agent.gate import Verdict
from colleague.agent.models.connections import Connections
from colleague.agent.models.resolve import Routes, resolve_model
from colleague.agent.run_spec import RunSpec
from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec, UnknownEnd
from colleague.agent.toolbox import Toolbox
from colleague.agent.tracing.switches import TraceSwitches
from colleague.agent.tracing.tracer import open_tracer
from colleague.clock import MovableClock
from colleague.config import Settings
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.mcp.servers import Servers
from colleague.run_event import RunEvent
from colleague.runtime.host import Host
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Approval, approvals_of, decide
from colleague.store.journal import Call, read_calls
from colleague.store.run import Run
from colleague.store.tx import Database

LINE = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}


@dataclass
class Ledger:
    """A tool that appends lines, and can be told to misbehave."""

    name: str = "ledger.append"
    server: str = "ledger-mcp"
    parameters: dict[str, Any] = field(default_factory=lambda: dict(LINE))
    read_only: bool = False
    repeatable: bool = False
    lines: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    lose_answers: int = 0
    fail: bool = False

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            self.name,
            "Append a line",
            self.parameters,
            self.read_only,
            self.repeatable,
            self.server,
            "append",
        )

    async def call(self, request: ToolRequest) -> ToolOutput:
        self.lines.append(request.arguments.get("line", ""))
        self.keys.append(request.key)
        if self.lose_answers:
            self.lose_answers -= 1
            raise UnknownEnd("the connection was closed")
        return ToolOutput(f"appended {self.lines[-1]}", is_error=self.fail, source="ledger")


@dataclass
class Tiers:
    """A gate by operation; `confirm` for the rest."""

    tiers: dict[str, str] = field(default_factory=dict)
    expires_ms: int | None = None
    on_timeout: str = "reject"

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        tier = self.tiers.get(spec.name, "confirm")
        kind = {"auto": "allow", "confirm": "ask", "manual": "draft", "never": "refuse"}[tier]
        return Verdict(kind, tier, expires_ms=self.expires_ms, on_timeout=self.on_timeout)  # type: ignore[arg-type]


@dataclass
class Stage:
    """Everything a test changes between two acts of one run."""

    folder: Path
    open_database: Callable[[MovableClock], Database]
    script: str
    tools: list[Ledger] = field(default_factory=lambda: [Ledger()])
    gate: Tiers = field(default_factory=Tiers)
    run_spec: dict[str, Any] = field(default_factory=dict)
    clock: MovableClock = field(default_factory=MovableClock)
    events: list[RunEvent] = field(default_factory=list)
    hooks: PluginHooks = NO_HOOKS
    run_id: str = ""

    @property
    def ledger(self) -> Ledger:
        return self.tools[0]

    async def __aenter__(self) -> Stage:
        (self.folder / "script.yaml").write_text(self.script)
        self.database = self.open_database(self.clock)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.database.close()

    async def restart(self) -> None:
        """Another process goes on with the same store."""
        await self.database.close()
        self.database = self.open_database(self.clock)

    async def assemble(self, run: Run) -> RunSpec:
        model = resolve_model(Settings(), {}, "script/script.yaml", folder=self.folder)
        base = RunSpec(
            owner="test", routes=Routes((model,)), system="", toolbox=Toolbox(self.tools), gate=self.gate
        )
        return replace(base, **self.run_spec)

    async def begin(self, **more: Any) -> Run:
        await self.accept(**more)
        return await self.go_on()

    async def accept(self, **more: Any) -> None:
        arrival = Arrival(
            expert="test", trigger="t", source="test", payload="{}", session_key="s", lane="test/t",
            inputs=json.dumps({"message": "go"}),
        )  # fmt: skip
        accepted = await self.database.write(lambda tx: accept(tx, replace(arrival, **more)))
        self.run_id = str(accepted.run_id)

    async def go_on(self) -> Run:
        """Works on the run until it ends, waits or stands behind another."""
        bus = EventBus()
        bus.watch(self.events.append)
        servers = Servers(Settings(), {}, self.folder / "mcp", logs=self.folder / "logs")
        async with Connections() as connections:
            tracer = open_tracer(TraceSwitches(payloads=self.folder))
            bus.watch(tracer.on_event)
            advancer = Advancer(self.database, self, bus, connections, tracer, self.hooks)
            host = Host(self.database, servers, bus, advancer, 8)
            try:
                [run] = await host.advance_only([self.run_id])
            finally:
                tracer.close()
        return run

    async def calls(self) -> list[Call]:
        return await self.database.read(lambda tx: read_calls(tx, self.run_id))

    async def approvals(self) -> list[Approval]:
        return await self.database.read(lambda tx: approvals_of(tx, self.run_id))

    async def pending(self) -> Approval:
        [approval] = [each for each in await self.approvals() if each.status == "pending"]
        return approval

    async def decide(self, decision: Any, *, digest: str = "", by: str = "ann", **more: Any) -> Approval:
        asked = await self.pending()
        answer = Answer(asked.id, digest or asked.digest, decision, by, **more)
        return await self.database.write(lambda tx: decide(tx, answer))
